/* mpi_words.c - mpirun's messages when it fails (mpi_watch.h). Its boxes are between two lines of
 * dashes; the ranks' own output comes before. Pure. */
#include <stdlib.h>
#include <string.h>

#include "cli/mpi_watch.h"
#include "core/exit_words.h"

#define RULE_MIN 40 /* dashes */
#define EXIT_NOT_STARTED 127

void mpi_words_init(struct mpi_words *w)
{
    memset(w, 0, sizeof(*w));
    buf_init(&w->box, MPI_BOX_LIMIT_BYTES);
    buf_init(&w->last_box, MPI_BOX_LIMIT_BYTES);
}

void mpi_words_release(struct mpi_words *w)
{
    buf_release(&w->box);
    buf_release(&w->last_box);
}

static void swap_boxes(struct mpi_words *w)
{
    struct buf box = w->last_box;

    w->last_box = w->box;
    w->box = box;
    buf_clear(&w->box);
}

/* Joins words by single spaces. */
static void add_words(struct buf *out, const char *line)
{
    while (*line) {
        size_t n;

        line += strspn(line, " \t\r");
        n = strcspn(line, " \t\r");
        if (n > 0 && out->len + n + 1 < MPI_BOX_LIMIT_BYTES)
            buf_addf(out, "%s%.*s", out->len ? " " : "", (int)n, line);
        line += n;
    }
}

/* "[HOST:PID] PMIX ERROR: ...", which Open MPI 4 prints for every rank it ignores; and messages
 * about its own remote shell. */
static bool is_of_mpi(const char *line)
{
    return line[0] == '[' &&
           (strstr(line, "] PMIX ERROR: ") || strstr(line, "] plm:rsh: Warning: "));
}

static void take_line(struct mpi_words *w)
{
    size_t len;

    w->line[w->line_len] = '\0';
    len = w->line_len;
    w->line_len = 0;
    if (len >= RULE_MIN && strspn(w->line, "-") == len) {
        if (w->in_box && w->box.len > 0)
            swap_boxes(w);
        w->in_box = !w->in_box;
        buf_clear(&w->box);
    } else if (w->in_box) {
        add_words(&w->box, w->line);
    } else if (!is_of_mpi(w->line)) {
        last_words_feed(&w->ranks, w->line, len);
        last_words_feed(&w->ranks, "\n", 1);
    }
}

void mpi_words_feed(struct mpi_words *w, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (data[i] == '\n')
            take_line(w);
        else if (w->line_len < MPI_LINE_SIZE - 1)
            w->line[w->line_len++] = data[i];
}

/* "... Process name: [[9642,1],2] Exit code: 3" (in Open MPI 5, [prterun-HOST-681@1,2]): the rank's
 * own output says more than the box. The very last line may be another rank's, stopped in the
 * middle of its own. */
static const char *rank_failed(const struct mpi_words *w, struct arena *a, const char *box)
{
    const char *name = strstr(box, "Process name: ["), *code = strstr(box, "Exit code: ");
    const char *rank = name && code > name ? memrchr(name, ',', (size_t)(code - name)) : NULL;
    struct last_words ranks = w->ranks;
    const char *said;

    if (!rank)
        return NULL;
    said = last_words_text(&ranks, a);
    return arena_printf(a, "rank %d exited with code %d%s%s", atoi(rank + 1),
                        atoi(code + strlen("Exit code: ")), *said ? "; it last said: " : "", said);
}

/* As reported by the rank's parent, which alone can know whether memory was short. */
static const char *rank_ended(const struct mpi_words *w, struct arena *a, const struct mpi_end *end)
{
    struct last_words ranks = w->ranks;
    const char *said = last_words_text(&ranks, a), *words;
    const char *who = end->rank < 0 ? "a rank" : arena_printf(a, "rank %d", end->rank);

    words = exit_words(end->code, "", *said || exit_by_signal(end->code));
    return arena_printf(a, "%s on %s exited with code %d%s%s%s%s%s%s%s", who ? who : "a rank",
                        end->host, end->code, words ? " (" : "", words ? words : "",
                        words ? ")" : "", *end->why ? ": " : "", end->why,
                        *said ? "; it last said: " : "", said);
}

static bool was_not_started(const char *box)
{
    static const char *const signs[] = {
        "unable to launch", "failed to start", "agent was not found",
        "unable to find the specified executable", "could not access or execute an executable"};

    for (size_t i = 0; i < ELEMS(signs); i++)
        if (strstr(box, signs[i]))
            return true;
    return false;
}

const char *mpi_words_cause(const struct mpi_words *w, struct arena *a,
                            const struct mpi_end *failed, int *code)
{
    const char *box = w->last_box.len > 0 && !w->last_box.failed ? w->last_box.data : NULL;
    const char *rank = box ? rank_failed(w, a, box) : NULL;
    bool unstarted = box && was_not_started(box);

    if (*code == 0 && failed)
        *code = failed->code;
    else if (*code == 0 && !unstarted)
        return NULL;
    /* A killed rank may be mpirun's own victim: then mpirun's message is the cause. */
    if (failed && !unstarted && (!box || rank || !exit_by_signal(failed->code)))
        return rank_ended(w, a, failed);
    if (rank || !box)
        return rank;
    if (unstarted)
        *code = EXIT_NOT_STARTED;
    else if (*code > 128 && !strstr(box, "signal"))
        *code = 1;
    return arena_strdup(a, box);
}
