/*
 * log_progress.c - see log_progress.h.
 *
 * A bar or a step with a total counts within the last epoch mentioned; without epochs it is the
 * whole, until it is seen to start over: then it was a part of something of unknown size.
 */
#include "console/log_progress.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LINE_LIMIT 1024u /* longer lines lose their start, as bars are at the end */
#define DIGITS_LIMIT 15  /* digits of a plausible count */

/* --- numbers in a line ------------------------------------------------------------------ */

/* An integer at *at; advances it. */
static bool read_count(const char **at, int64_t *ret)
{
    size_t digits = strspn(*at, "0123456789");

    if (digits == 0 || digits > DIGITS_LIMIT)
        return false;
    *ret = strtoll(*at, NULL, 10);
    *at += digits;
    return true;
}

/* "3/10", "3 / 10", "3 of 10", optionally after "[" or "(". total is 0 when there is none. */
static bool read_pair(const char *at, int64_t *count, int64_t *total)
{
    const char *rest;

    at += strspn(at, " \t:=#[(");
    *total = 0;
    if (!read_count(&at, count))
        return false;
    if (*at == '.' && isdigit((unsigned char)at[1]))
        return false; /* 1.37: not a count */
    rest = at + strspn(at, " ");
    if (*rest == '/')
        rest += 1;
    else if (strncasecmp(rest, "of ", 3) == 0)
        rest += 3;
    else
        return true;
    rest += strspn(rest, " ");
    if (!read_count(&rest, total))
        *total = 0;
    return true;
}

/* --steps 100, -epoch 3: arguments of the program, not its progress. */
static bool is_option(const char *line, const char *at)
{
    return at > line && at[-1] == '-' &&
           (at - 1 == line || at[-2] == '-' || isspace((unsigned char)at[-2]));
}

/* The position after the word, which stands alone or with a plural "s". */
static const char *after_word(const char *line, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = line; (at = strcasestr(at, word)); at += len)
        if ((at == line || !isalnum((unsigned char)at[-1])) && !is_option(line, at) &&
            !isalpha((unsigned char)at[len + (at[len] == 's')]))
            return at + len + (at[len] == 's');
    return NULL;
}

/* --- parsing a line --------------------------------------------------------------------- */

static void set_epoch(struct log_progress *p, int64_t epoch, int64_t epochs, bool done)
{
    if (epoch != p->epoch || epochs != p->epochs) {
        p->step = p->steps = 0;
        p->has_step = false;
    }
    p->epochs_from_zero = p->epochs_from_zero || epoch == 0;
    p->epoch = epoch;
    p->epochs = epochs;
    p->epoch_done = done;
    p->epoch_alone = epochs == 0;
}

static void take_epoch(struct log_progress *p, const char *line)
{
    const char *at = after_word(line, "epoch");
    int64_t epoch, epochs;

    if (!at || !read_pair(at, &epoch, &epochs) || (epochs && epoch > epochs))
        return;
    if (epochs || p->epochs == 0) /* a known total is kept */
        set_epoch(p, epoch, epochs,
                  after_word(at, "done") || after_word(at, "finished") ||
                      after_word(at, "completed"));
}

static void set_step(struct log_progress *p, int64_t step, int64_t steps)
{
    /* From near its end back to its start. Ranks printing into one log are some steps apart, and a
     * restarted program broke off somewhere. */
    if (p->compares && steps && steps == p->steps && step < p->step && step <= steps / 4 &&
        p->step >= steps / 4 * 3 && !p->epochs)
        p->steps_are_part = true;
    p->has_step = p->compares = true;
    p->step = step;
    p->steps = steps;
}

/* tqdm: "desc:  45%|####      | 450/1000 [00:10<00:12, 41.2it/s]" */
static bool take_bar(struct log_progress *p, const char *line)
{
    const char *bar = strstr(line, "%|"), *end = bar ? strchr(bar + 2, '|') : NULL;
    int64_t step, steps;

    if (!end || bar == line || !isdigit((unsigned char)bar[-1]) ||
        !read_pair(end + 1, &step, &steps) || steps <= 0 || step > steps)
        return false;
    set_step(p, step, steps);
    return true;
}

static void take_step(struct log_progress *p, const char *line)
{
    static const char *const words[] = {"step", "global_step", "iter", "iteration", "batch"};
    int64_t step, steps;

    for (size_t i = 0; i < ELEMS(words); i++) {
        const char *at = after_word(line, words[i]);

        if (!at || !read_pair(at, &step, &steps) || (steps && step > steps))
            continue;
        set_step(p, step, steps);
        return;
    }
}

/* Losses of other data than the training data do not count. */
static bool is_other_loss(const char *line, const char *loss)
{
    static const char *const others[] = {"val", "valid", "validation", "eval", "test", "dev"};
    const char *start = loss;

    while (start > line && (isspace((unsigned char)start[-1]) || strchr("_/-.", start[-1])))
        start--;
    for (size_t i = 0; i < ELEMS(others); i++) {
        size_t len = strlen(others[i]);

        if ((size_t)(start - line) >= len && strncasecmp(start - len, others[i], len) == 0 &&
            ((size_t)(start - line) == len || !isalpha((unsigned char)start[-(long)len - 1])))
            return true;
    }
    return false;
}

static void take_loss(struct log_progress *p, const char *line)
{
    for (const char *at = line; (at = strcasestr(at, "loss")); at += 4) {
        const char *value = at + 4 + strspn(at + 4, " \t:='\"");
        char *end;
        double loss;

        if (is_other_loss(line, at) || (at > line && isalpha((unsigned char)at[-1])))
            continue;
        if (!isdigit((unsigned char)*value) && *value != '-' && *value != '.' &&
            strncasecmp(value, "nan", 3) != 0)
            continue;
        loss = strtod(value, &end);
        if (end == value)
            continue;
        p->loss = loss;
        p->has_loss = true;
        return;
    }
}

static void take_line(struct log_progress *p, const char *text, size_t len)
{
    char line[LINE_LIMIT + 1];

    if (len > LINE_LIMIT) {
        text += len - LINE_LIMIT;
        len = LINE_LIMIT;
    }
    memcpy(line, text, len);
    line[len] = '\0';
    take_epoch(p, line);
    if (!take_bar(p, line))
        take_step(p, line);
    take_loss(p, line);
}

void log_progress_take(struct log_progress *p, const char *text, size_t len)
{
    p->compares = false;
    const char *end = text + len;

    while (text < end) {
        size_t n = 0;

        while (text + n < end && text[n] != '\n' && text[n] != '\r')
            n++;
        if (n)
            take_line(p, text, n);
        text += n + 1;
    }
}

/* --- results ---------------------------------------------------------------------------- */

bool log_progress_fraction(const struct log_progress *p, double *ret)
{
    double part = p->steps > 0 ? (double)p->step / (double)p->steps : 0;
    int64_t done = p->epochs_from_zero || p->epoch_done ? p->epoch : p->epoch - 1;

    if (p->epochs > 0) {
        if (p->epoch_done)
            part = p->epochs_from_zero ? 1 : 0;
        *ret = ((double)done + part) / (double)p->epochs;
        *ret = *ret > 1 ? 1 : *ret;
        return true;
    }
    if (p->steps <= 1 || p->epoch_alone || p->steps_are_part)
        return false;
    *ret = part;
    return true;
}

void log_progress_words(const struct log_progress *p, char *out, size_t size)
{
    char epoch[64] = "", step[64] = "";

    if (p->epochs > 0)
        (void)snprintf(epoch, sizeof(epoch), "epoch %lld/%lld", (long long)p->epoch,
                       (long long)p->epochs);
    if (p->steps > 0)
        (void)snprintf(step, sizeof(step), "%lld/%lld", (long long)p->step, (long long)p->steps);
    (void)snprintf(out, size, "%s%s%s", epoch, *epoch && *step ? ", " : "", step);
}
