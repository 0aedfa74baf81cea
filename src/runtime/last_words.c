/*
 * last_words.c - see last_words.h.
 *
 * The last line alone is often the wrong one: torch writes a stack of C++ frames or advice after
 * the exception, and torchrun a box about it. So the exception of the last traceback is kept, and
 * what comes after it is only appended. A traceback long ago was about something survived.
 *
 * All of torchrun's processes write here, and when one fails the others lose their connection to
 * it: the last exception is then a victim's. torchrun's box names the rank that failed first. Newer
 * torch marks the lines of tracebacks with the rank; otherwise the one that is not about a peer is
 * taken. If the first is a victim all the same (torchrun saw two ends at once) it gives way to
 * another.
 */
#include "runtime/last_words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/peer_words.h"
#include "base/utf8.h"

#define TRACEBACK "Traceback (most recent call last):"
#define TORCHRUN_REPORT "ChildFailedError"
#define TORCHRUN_NO_REASON "To enable traceback see"
#define LINES_AFTER_LIMIT 100   /* lines after which an exception is history */
#define REPORT_LINES_LIMIT 4000 /* the same for torchrun's report: eight lines per process */

/* --- cleaning --- */

/* Length of a terminal escape sequence (ESC [ ... letter), else 0. */
static size_t escape_sequence(const char *text, size_t left)
{
    size_t n = 2;

    if (left < 2 || text[0] != '\x1b' || text[1] != '[')
        return 0;
    while (n < left && text[n] >= 0x20 && text[n] < 0x40)
        n++;
    return n < left ? n + 1 : n;
}

/* Appends only if it fits completely. */
static void put(char *out, size_t *len, const char *text, size_t n)
{
    if (*len + n >= LAST_WORDS_LINE_BYTES)
        return;
    memcpy(out + *len, text, n);
    *len += n;
}

static void put_character(char *out, size_t *len, const char *text, size_t n)
{
    if (n == 0)
        put(out, len, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
    else if (*text == '\t')
        put(out, len, " ", 1);
    else if (!utf8_is_control(text, n))
        put(out, len, text, n);
}

static void clean(const char *text, size_t left, char out[LAST_WORDS_LINE_BYTES])
{
    size_t len = 0;

    while (left > 0) {
        size_t n = escape_sequence(text, left);

        if (n == 0) {
            n = utf8_sequence(text, left);
            /* a character truncated by our own limit is not the program's fault */
            if (n > 0 || left >= 4)
                put_character(out, &len, text, n);
            n = n ? n : 1;
        }
        text += n;
        left -= n;
    }
    while (len > 0 && out[len - 1] == ' ')
        len--;
    out[len] = '\0';
}

/* --- lines --- */

static bool says_something(const char *line)
{
    for (; *line; line++)
        if (isalnum((unsigned char)*line) || (unsigned char)*line >= 0x80)
            return true;
    return false;
}

/* torch marks lines with the rank: "[rank0]: RuntimeError: ..." */
static const char *without_rank(const char *line, int *ret_mark)
{
    const char *end = strncmp(line, "[rank", 5) == 0 ? strstr(line, "]: ") : NULL;
    int rank = end ? atoi(line + 5) : -1;

    *ret_mark = rank >= 0 && rank < INT32_MAX ? rank + 1 : 0;
    return end ? end + 3 : line;
}

static void copy(char to[LAST_WORDS_LINE_BYTES], const char *line)
{
    memcpy(to, line, strlen(line) + 1);
}

/* --- torchrun --- */

static const char *said_by(const struct last_words *w, int mark)
{
    for (size_t i = 0; i < LAST_WORDS_RANKS; i++)
        if (w->ranks[i].mark == mark && w->ranks[i].exception[0])
            return w->ranks[i].exception;
    return "";
}

static void note_rank(struct last_words *w, int mark, const char *line)
{
    size_t i = 0;

    while (i < LAST_WORDS_RANKS && w->ranks[i].exception[0] && w->ranks[i].mark != mark)
        i++;
    for (size_t j = 0; i == LAST_WORDS_RANKS && j < LAST_WORDS_RANKS; j++)
        if (peer_words(w->ranks[j].exception))
            i = j;
    if (i == LAST_WORDS_RANKS || (w->ranks[i].mark == mark && w->ranks[i].exception[0] &&
                                  peer_words(line) && !peer_words(w->ranks[i].exception)))
        return;
    w->ranks[i].mark = mark;
    copy(w->ranks[i].exception, line);
}

static void end_failure(struct last_words *w)
{
    struct torchrun_failure *f = &w->failure;
    const char *said = f->said[0] ? f->said : said_by(w, f->rank + 1);

    if (f->any && *said && !peer_words(said) && !w->other.any) {
        w->other = *f;
        if (!f->said[0])
            copy(w->other.said, said);
    }
    *f = (struct torchrun_failure){.any = false};
}

/* A line of the box, including blanks. */
static void take_report(struct last_words *w, const char *line)
{
    struct torchrun_failure *f = &w->failure;
    const char *reason = strstr(line, "traceback : ");
    int value;

    if (line[0] == '[') {
        end_failure(w);
    } else if (sscanf(line, " rank : %d", &value) == 1) {
        f->rank = value;
        f->any = true;
    } else if (sscanf(line, " exitcode : %d", &value) == 1) {
        f->code = value;
    } else if (reason && strstr(line, TRACEBACK)) {
        f->in_traceback = true;
    } else if (reason && !strstr(line, TORCHRUN_NO_REASON)) {
        copy(f->said, reason + strlen("traceback : "));
    } else if (f->in_traceback && strspn(line, " ") == 2) {
        copy(f->said, line + 2);
    }
}

static const char *report_text(const struct last_words *w, struct arena *a)
{
    const struct torchrun_failure *f = &w->failure;
    const char *said = f->said;

    if (!*said)
        said = said_by(w, f->rank + 1);
    if (!*said)
        said = said_by(w, 0);
    if (w->other.any && peer_words(said)) {
        f = &w->other;
        said = f->said;
    }
    return *said ? arena_printf(a, "rank %d: %s", f->rank, said)
                 : arena_printf(a, "rank %d exited with code %d", f->rank, f->code);
}

/* --- all lines --- */

static void take_exception(struct last_words *w, const char *line, int mark)
{
    w->by_torchrun = strstr(line, TORCHRUN_REPORT) != NULL;
    w->last[0] = '\0';
    w->lines_since = 0;
    w->failure = w->other = (struct torchrun_failure){.any = false};
    if (!w->by_torchrun)
        note_rank(w, mark, line);
    if (!w->by_torchrun || !w->exception[0])
        copy(w->exception, line);
}

static void forget_exceptions(struct last_words *w)
{
    w->exception[0] = '\0';
    w->by_torchrun = false;
    memset(w->ranks, 0, sizeof(w->ranks));
}

static void take_line(struct last_words *w)
{
    char cleaned[LAST_WORDS_LINE_BYTES];
    const char *line;
    uint64_t bit;
    int mark;

    clean(w->raw, w->raw_len, cleaned);
    w->raw_len = 0;
    line = without_rank(cleaned, &mark);
    bit = UINT64_C(1) << (mark % 64);
    if (!says_something(line))
        return;
    if (w->by_torchrun)
        take_report(w, line);
    if (strstr(line, TRACEBACK)) {
        if (!w->by_torchrun || line[0] != ' ')
            w->in_traceback |= bit;
        return;
    }
    if (w->in_traceback & bit) {
        if (*line != ' ') {
            w->in_traceback &= ~bit;
            take_exception(w, line, mark);
        }
        return;
    }
    if (++w->lines_since > (w->by_torchrun ? REPORT_LINES_LIMIT : LINES_AFTER_LIMIT))
        forget_exceptions(w);
    if (strncmp(line, "frame #", 7) != 0)
        copy(w->last, line + strspn(line, " "));
}

void last_words_feed(struct last_words *w, const char *data, size_t len)
{
    while (len > 0) {
        size_t n = 0;

        /* progress bars end lines with just a carriage return */
        while (n < len && data[n] != '\n' && data[n] != '\r')
            n++;
        memcpy(w->raw + w->raw_len, data, min_size(n, sizeof(w->raw) - w->raw_len));
        w->raw_len += min_size(n, sizeof(w->raw) - w->raw_len);
        if (n == len)
            return;
        take_line(w);
        data += n + 1;
        len -= n + 1;
    }
}

const char *last_words_text(struct last_words *w, struct arena *a)
{
    const char *text;

    take_line(w);
    if (w->by_torchrun && w->failure.any)
        text = report_text(w, a);
    else if (!w->exception[0])
        text = arena_strdup(a, w->last);
    else if (w->by_torchrun || !w->last[0])
        text = arena_strdup(a, w->exception);
    else
        text = arena_printf(a, "%s ... %s", w->exception, w->last);
    return text ? text : "";
}
