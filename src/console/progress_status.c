/* progress_status.c - see progress_status.h. */
#include "console/progress_status.h"

#include <math.h>
#include <stdio.h>

#define PACE_SPAN_MIN_MS 3000
#define PACE_MOVE_MIN 0.001
#define STALE_S 120.0 /* older points say nothing about the current rate */

void progress_pace_note(struct progress_pace *pace, double fraction, int64_t now_ms)
{
    if (!pace->any || fraction < pace->last) { /* started, or started over */
        *pace = (struct progress_pace){.any = true, .last = fraction};
    } else if (fraction > pace->last) {
        pace->last = fraction;
        pace->moved_ms = now_ms;
        if (pace->moves++ == 0) {
            pace->first = fraction;
            pace->first_ms = now_ms;
        }
    }
}

bool progress_pace_left(const struct progress_pace *pace, int64_t now_ms, double *ret)
{
    double span_s = (double)(pace->moved_ms - pace->first_ms) / 1000;
    double moved = pace->last - pace->first;

    if (pace->moves < 2 || pace->moved_ms - pace->first_ms < PACE_SPAN_MIN_MS ||
        moved < PACE_MOVE_MIN)
        return false;
    *ret = (1 - pace->last) * span_s / moved - (double)(now_ms - pace->moved_ms) / 1000;
    *ret = *ret < 0 ? 0 : *ret;
    return true;
}

static struct json *real(struct arena *a, double value, int digits)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%.*g", digits, value);
    return json_new_real(a, text);
}

/* JSON has no NaN: such a loss is written as text. */
static struct json *loss_value(struct arena *a, double loss)
{
    if (isfinite(loss))
        return real(a, loss, 6);
    return json_new_string(a, isnan(loss) ? "NaN" : loss > 0 ? "Infinity" : "-Infinity");
}

static void set(struct arena *a, struct json *o, const char *key, struct json *value)
{
    json_set(a, o, key, value ? value : json_new_null(a));
}

static void set_pace(struct arena *a, struct json *out, const struct progress_facts *f)
{
    double fraction = 0, left = 0;
    bool known = log_progress_fraction(f->log, &fraction);
    bool has_left;

    if (known && f->succeeded)
        fraction = 1;
    if (known)
        progress_pace_note(f->pace, fraction, f->now_ms);
    has_left = known && !f->ended && progress_pace_left(f->pace, f->now_ms, &left);
    set(a, out, "fraction", known ? real(a, fraction, 4) : NULL);
    set(a, out, "secondsLeft", has_left ? json_new_int(a, (int64_t)ceil(left)) : NULL);
}

struct json *progress_status(struct arena *a, const struct progress_facts *f)
{
    const struct board_progress *b = f->board;
    const struct log_progress *l = f->log;
    bool fresh = (double)f->now_ms / 1000 - b->wall_time < STALE_S;
    struct json *out = json_new_object(a);
    char words[128];

    log_progress_words(l, words, sizeof(words));
    if (!b->has_step && !l->has_step && !l->has_loss && !*words)
        return NULL;
    set(a, out, "step",
        b->has_step   ? json_new_int(a, b->step)
        : l->has_step ? json_new_int(a, l->step)
                      : NULL);
    set(a, out, "loss",
        b->has_loss   ? loss_value(a, b->loss)
        : l->has_loss ? loss_value(a, l->loss)
                      : NULL);
    set(a, out, "stepsPerSecond",
        b->has_rate && fresh && !f->ended ? real(a, b->steps_per_second, 4) : NULL);
    set_pace(a, out, f);
    /* The last line parsed is often not the program's last: "9/10" for a success. */
    set(a, out, "message", *words && !f->succeeded ? json_new_string(a, words) : NULL);
    return out;
}
