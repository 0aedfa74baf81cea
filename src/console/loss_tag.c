/* loss_tag.c - see loss_tag.h. */
#include "console/loss_tag.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "board/points.h"

#define RATE_SPAN_S 60.0
#define RATE_SPAN_MIN_S 0.5

static bool is_letter(char c)
{
    return isalpha((unsigned char)c);
}

static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = text; (at = strcasestr(at, word)); at++)
        if ((at == text || !is_letter(at[-1])) && !is_letter(at[len]))
            return true;
    return false;
}

static bool names_other_data(const char *tag)
{
    static const char *const words[] = {"val", "valid", "validation", "eval", "test", "dev"};

    for (size_t i = 0; i < ELEMS(words); i++)
        if (has_word(tag, words[i]))
            return true;
    return false;
}

static const char *last_part(const char *tag)
{
    const char *part = tag;

    for (const char *c = tag; *c; c++)
        if (*c == '/' || *c == '.' || *c == ':')
            part = c + 1;
    return part;
}

int loss_tag_rank(const char *tag)
{
    static const char *const names[] = {"loss",          "train_loss",    "train/loss",
                                        "training_loss", "training/loss", "loss/train"};
    const char *part = last_part(tag);
    size_t len = strlen(part);

    if (names_other_data(tag))
        return 0;
    for (size_t i = 0; i < ELEMS(names); i++)
        if (strcasecmp(tag, names[i]) == 0)
            return 1;
    if (strcasecmp(part, "loss") == 0 || strncasecmp(part, "loss_", 5) == 0 ||
        (len > 5 && strcasecmp(part + len - 5, "_loss") == 0))
        return 2;
    return has_word(tag, "loss") ? 3 : 0;
}

/* --- progress --------------------------------------------------------------------------- */

struct choice {
    const struct tag *loss, *newest;
    int rank;
};

static bool is_better(const struct tag *tag, int rank, const struct choice *c)
{
    double a = tag->series.last.wall_time, b;
    int order;

    if (!rank || !c->loss || rank != c->rank)
        return rank && (!c->loss || rank < c->rank);
    b = c->loss->series.last.wall_time;
    if (a != b)
        return a > b;
    order = (int)tag->name_len - (int)c->loss->name_len;
    return order ? order < 0 : strcmp(tag->name, c->loss->name) < 0;
}

static void choose(struct choice *c, const struct run *run)
{
    size_t len;
    const struct tag **tags = run_tags(run, &len);

    for (size_t i = 0; i < len; i++) {
        int rank = loss_tag_rank(tags[i]->name);

        if (tags[i]->kind != TAG_SCALAR || !tags[i]->series.any)
            continue;
        if (is_better(tags[i], rank, c)) {
            c->loss = tags[i];
            c->rank = rank;
        }
        if (!c->newest || tags[i]->series.last.wall_time > c->newest->series.last.wall_time)
            c->newest = tags[i];
    }
    free(tags);
}

static void find_rate(const struct series *s, struct board_progress *ret)
{
    const struct points_range all = {.from = INT64_MIN, .to = INT64_MAX};
    size_t len, from;
    struct point *p = points_of(s, &all, &len);
    double seconds;

    if (!p || len < 2)
        goto out;
    from = len - 1;
    while (from > 0 && p[len - 1].wall_time - p[from - 1].wall_time <= RATE_SPAN_S)
        from--;
    if (from == len - 1)
        from--; /* points are further apart than the span */
    seconds = p[len - 1].wall_time - p[from].wall_time;
    ret->has_rate = seconds >= RATE_SPAN_MIN_S && p[len - 1].step > p[from].step;
    if (ret->has_rate)
        ret->steps_per_second = (double)(p[len - 1].step - p[from].step) / seconds;
out:
    free(p);
}

void board_progress_of(const struct board *b, struct board_progress *ret)
{
    struct choice c = {.rank = 0};
    const struct tag *steps;

    *ret = (struct board_progress){.has_step = false};
    map_for_each (node, board_runs(b))
        choose(&c, node->value);
    steps = c.loss ? c.loss : c.newest;
    if (!steps)
        return;
    ret->has_step = true;
    ret->step = steps->series.last.step;
    ret->wall_time = steps->series.last.wall_time;
    ret->has_loss = c.loss != NULL;
    if (c.loss)
        ret->loss = c.loss->series.last.value;
    find_rate(&steps->series, ret);
}
