/*
 * board_cache.c - see board_cache.h.
 *
 * A turn on the pool looks for new files (at most every board_rest_ms), reads some, and answers the
 * waiting questions. The rest is read in further turns, so that first answers come early however
 * long the files are. When many boards are asked at once, as for a comparison of jobs, each reads
 * less per turn, so that all answer soon.
 */
#include "console/board_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* About 30 ms: a question waits for at most two turns, and a hundred boards asked at once take no
 * longer together. */
#define TURN_BYTES (24u * 1024u * 1024u)
#define TURN_LEAST_BYTES (256u * 1024u)
#define WORKERS_LIMIT 2u /* of the pool's threads */

struct board_cache_board {
    struct board_cache *boards; /* NULL: the board cache is gone */
    char *uid;
    struct log_rule rule;
    struct board *board;
    struct board_cache_question *first, **last; /* waiting */
    struct board_cache_question *asked;         /* being answered */
    bool busy, more, look;
    size_t share, bytes; /* of points: its limit, and its size after the last turn */
    uint64_t budget;     /* bytes to read in its turn */
    int64_t used_ms, look_again_ms;
    struct err err; /* of the last look */
};

struct board_cache {
    struct loop *loop;
    struct board_cache_options options;
    struct map boards; /* UID of the job -> struct board_cache_board */
    size_t workers, waiting;
    struct clock_timer *timer;
};

static void start_turns(struct board_cache *s);

/* --- boards ----------------------------------------------------------------------------- */

static bool wants(void *arg, const char *file_name, uid_t owner)
{
    const struct board_cache_board *sb = arg;

    return log_rule_wants(&sb->rule, file_name, owner);
}

static void board_cache_board_free(struct board_cache_board *sb)
{
    board_free(sb->board);
    err_release(&sb->err);
    free(sb->uid);
    free(sb);
}

static struct board_cache_board *board_cache_board_new(struct board_cache *s, const char *uid,
                                                       const struct log_folder *folder)
{
    struct board_cache_board *sb = calloc(1, sizeof(*sb));

    if (!sb)
        return NULL;
    sb->boards = s;
    sb->rule = folder->rule;
    sb->last = &sb->first;
    sb->err = (struct err)ERR_INIT;
    sb->uid = strdup(uid);
    sb->board = board_new(&(struct board_options){.roots = folder->roots,
                                                  .roots_len = folder->roots_len,
                                                  .wants = wants,
                                                  .arg = sb,
                                                  .capacity = s->options.capacity,
                                                  .limit_bytes = s->options.points_limit_bytes});
    if (sb->uid && sb->board && map_puts(&s->boards, uid, sb, NULL) == 0)
        return sb;
    board_cache_board_free(sb);
    return NULL;
}

/* The least recently used of the idle ones. */
static struct board_cache_board *oldest(const struct board_cache *s)
{
    struct board_cache_board *found = NULL;

    map_for_each (node, &s->boards) {
        struct board_cache_board *sb = node->value;

        if (!sb->busy && !sb->first && (!found || sb->used_ms < found->used_ms))
            found = sb;
    }
    return found;
}

static void put_away(struct board_cache *s, struct board_cache_board *sb)
{
    (void)map_removes(&s->boards, sb->uid);
    board_cache_board_free(sb);
}

static void put_away_idle(void *arg)
{
    struct board_cache *s = arg;
    int64_t now = loop_monotonic_ms(s->loop);
    struct board_cache_board *sb = oldest(s);

    s->timer = NULL;
    while (sb && now - sb->used_ms >= BOARD_CACHE_IDLE_MS) {
        put_away(s, sb);
        sb = oldest(s);
    }
    if (s->boards.count)
        s->timer = clock_start(loop_clock(s->loop), BOARD_CACHE_IDLE_MS, put_away_idle, s);
}

static struct board_cache_board *find_or_make(struct board_cache *s, const char *uid,
                                              const struct log_folder *folder)
{
    struct board_cache_board *sb = map_gets(&s->boards, uid), *old;

    if (sb || !folder)
        return sb;
    old = s->boards.count >= s->options.boards_limit ? oldest(s) : NULL;
    if (old)
        put_away(s, old);
    if (s->boards.count >= s->options.boards_limit)
        return NULL;
    sb = board_cache_board_new(s, uid, folder);
    if (sb && !s->timer)
        s->timer = clock_start(loop_clock(s->loop), BOARD_CACHE_IDLE_MS, put_away_idle, s);
    return sb;
}

/* --- turns ------------------------------------------------------------------------------ */

/* Each board's memory limit: halves whenever their number doubles. */
static size_t share_of(const struct board_cache *s)
{
    size_t share = s->options.points_limit_bytes;

    for (size_t full = s->options.full_boards; full && full < s->boards.count; full *= 2)
        share /= 2;
    return share;
}

static uint64_t budget_of(const struct board_cache *s)
{
    size_t asked = 1;

    map_for_each (node, &s->boards) {
        const struct board_cache_board *sb = node->value;

        asked += sb->first != NULL;
    }
    return max_size(TURN_BYTES / asked, TURN_LEAST_BYTES);
}

/* On the pool. */
static void turn(void *arg)
{
    struct board_cache_board *sb = arg;

    bool ok = !err_is_set(&sb->err);

    if (sb->look) {
        err_release(&sb->err);
        sb->err = (struct err)ERR_INIT;
        ok = board_look(sb->board, &sb->err) == 0;
    }
    board_limit(sb->board, sb->share);
    sb->more = board_read(sb->board, sb->budget);
    sb->bytes = board_bytes(sb->board);
    if (ok)
        for (struct board_cache_question *q = sb->asked; q; q = q->next)
            q->work(q, sb->board, sb->more);
}

static void answer_all(struct board_cache_question *q, const struct err *failed)
{
    struct board_cache_question *next;

    for (; q; q = next) {
        next = q->next;
        q->done(q, failed);
    }
}

static void turn_done(void *arg)
{
    struct board_cache_board *sb = arg;
    struct board_cache *s = sb->boards;
    struct board_cache_question *asked = sb->asked;

    sb->asked = NULL;
    sb->busy = false;
    if (sb->look && s)
        sb->look_again_ms = loop_monotonic_ms(s->loop) + board_rest_ms(sb->board);
    if (!s) {
        auto_err gone = ERR_INIT;

        err_set(&gone, ERR_UNAVAILABLE, "the server is stopping");
        answer_all(asked, &gone);
        board_cache_board_free(sb);
        return;
    }
    s->workers--;
    answer_all(asked, err_is_set(&sb->err) ? &sb->err : NULL);
    start_turns(s);
}

static void take_back(struct board_cache *s, struct board_cache_board *sb)
{
    sb->first = sb->asked;
    sb->last = &sb->first;
    for (; *sb->last; sb->last = &(*sb->last)->next)
        s->waiting++;
    sb->asked = NULL;
}

/* Everything the pool thread reads is set before the work is queued. */
static bool start_turn(struct board_cache *s, struct board_cache_board *sb)
{
    int64_t now = loop_monotonic_ms(s->loop);

    sb->look = now >= sb->look_again_ms;
    sb->budget = budget_of(s);
    sb->share = share_of(s);
    sb->asked = sb->first;
    sb->first = NULL;
    sb->last = &sb->first;
    for (const struct board_cache_question *q = sb->asked; q; q = q->next)
        s->waiting--;
    if (loop_work(s->loop, turn, turn_done, sb) < 0) {
        take_back(s, sb);
        return false;
    }
    sb->busy = true;
    s->workers++;
    return true;
}

/* Questions first, then unread files, and boards over their limit. */
static void start_turns(struct board_cache *s)
{
    size_t share = share_of(s);

    for (int pass = 0; pass < 2; pass++)
        map_for_each (node, &s->boards) {
            struct board_cache_board *sb = node->value;

            if (s->workers >= WORKERS_LIMIT)
                return;
            if (sb->busy ||
                (pass == 0 ? !sb->first : !sb->more && (sb->bytes <= share || sb->share <= share)))
                continue;
            if (!start_turn(s, sb))
                return;
        }
}

/* --- the board cache -------------------------------------------------------------------------- */

struct board_cache *board_cache_new(struct loop *loop, const struct board_cache_options *options)
{
    struct board_cache *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->loop = loop;
    s->options = *options;
    return s;
}

void board_cache_free(struct board_cache *s)
{
    auto_err gone = ERR_INIT;
    struct map_node *node;

    if (!s)
        return;
    clock_stop(loop_clock(s->loop), s->timer);
    err_set(&gone, ERR_UNAVAILABLE, "the server is stopping");
    while ((node = map_first(&s->boards))) {
        struct board_cache_board *sb = node->value;
        struct board_cache_question *waiting = sb->first;

        sb->first = NULL;
        sb->boards = NULL;
        (void)map_removes(&s->boards, sb->uid);
        answer_all(waiting, &gone);
        if (!sb->busy)
            board_cache_board_free(sb);
    }
    free(s);
}

bool board_cache_has(const struct board_cache *s, const char *uid)
{
    return map_gets(&s->boards, uid) != NULL;
}

int board_cache_ask(struct board_cache *s, const char *uid, const struct log_folder *folder,
                    struct board_cache_question *q, struct err *err)
{
    struct board_cache_board *sb = s->waiting < BOARD_CACHE_QUESTIONS_LIMIT
                                       ? find_or_make(s, uid, folder)
                                       : NULL;

    if (!sb)
        return err_set(err, ERR_TOO_MANY_REQUESTS,
                       "the curves of too many jobs are in use: try again");
    q->next = NULL;
    *sb->last = q;
    sb->last = &q->next;
    s->waiting++;
    sb->used_ms = loop_monotonic_ms(s->loop);
    start_turns(s);
    return 0;
}
