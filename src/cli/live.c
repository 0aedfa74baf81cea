#include "cli/live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/cache.h"
#include "core/job.h"

#define PAUSE_MS 250

struct live {
    const struct live_options *options;
    struct loop *loop;
    struct cache *caches[JOB_KINDS_LIMIT];
    struct clock_timer *timer;
    bool changed, urgent, stopped;
    char typed[256]; /* not processed yet */
    size_t typed_len;
    struct err *err;
};

static void wake(void *arg)
{
    struct live *l = arg;

    loop_stop(l->loop);
}

static void on_timer(void *arg)
{
    struct live *l = arg;

    l->timer = NULL;
    l->changed = true;
    loop_stop(l->loop);
}

static void on_change(void *arg, enum cache_event event, const struct json *object,
                      const struct json *old)
{
    struct live *l = arg;

    (void)event, (void)object, (void)old;
    l->changed = true;
    loop_stop(l->loop);
}

static void on_trouble(void *arg, const struct err *err)
{
    struct live *l = arg;

    if (err->reason != ERR_FORBIDDEN && err->reason != ERR_BAD_REQUEST)
        return; /* it will be retried */
    err_set(l->err, err->reason, "%s", err->text);
    loop_stop(l->loop);
}

void live_quit(struct live *l)
{
    l->stopped = true;
    loop_stop(l->loop);
}

static void on_signal(void *arg, int signum)
{
    struct live *l = arg;

    if (signum == SIGWINCH)
        l->urgent = true;
    else
        l->stopped = true;
    loop_stop(l->loop);
}

/* --- keys ------------------------------------------------------------------------------- */

static const struct {
    const char *bytes;
    enum live_key key;
} sequences[] = {{"\033[A", LIVE_KEY_UP},       {"\033[B", LIVE_KEY_DOWN},
                 {"\033[C", LIVE_KEY_RIGHT},    {"\033[D", LIVE_KEY_LEFT},
                 {"\033[5~", LIVE_KEY_PAGE_UP}, {"\033[6~", LIVE_KEY_PAGE_DOWN},
                 {"\033OA", LIVE_KEY_UP},       {"\033OB", LIVE_KEY_DOWN}};

/* The key at the start of text, and how many bytes it takes. */
static size_t read_key(const char *text, size_t len, int *ret)
{
    for (size_t i = 0; i < ELEMS(sequences); i++) {
        size_t n = strlen(sequences[i].bytes);

        if (len >= n && memcmp(text, sequences[i].bytes, n) == 0) {
            *ret = (int)sequences[i].key;
            return n;
        }
    }
    *ret = (unsigned char)*text;
    return 1;
}

/* One at a time, with a drawing in between: a key refers to what is on the screen. */
static void take_key(struct live *l)
{
    int key;
    size_t n;

    if (l->typed_len == 0)
        return;
    n = read_key(l->typed, l->typed_len, &key);
    l->typed_len -= n;
    memmove(l->typed, l->typed + n, l->typed_len);
    l->options->key(l->options->arg, l, key);
    l->urgent = true;
}

static void on_input(void *arg, unsigned events)
{
    struct live *l = arg;
    size_t room = sizeof(l->typed) - l->typed_len;
    char spare[64]; /* what is typed beyond a full buffer is lost */
    ssize_t len = room ? read(STDIN_FILENO, l->typed + l->typed_len, room)
                       : read(STDIN_FILENO, spare, sizeof(spare));

    (void)events;
    if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR))
        l->stopped = true;
    if (len > 0 && room)
        l->typed_len += (size_t)len;
    l->urgent = true;
    loop_stop(l->loop);
}

/* --- running ---------------------------------------------------------------------------- */

static int open_caches(struct live *l, struct err *err)
{
    const struct live_options *o = l->options;
    const char *query = o->labels ? session_labels_query(o->session->arena, o->labels) : NULL;

    for (size_t i = 0; i < ELEMS(l->caches) && job_kinds[i]; i++) {
        l->caches[i] = cache_new(&(struct cache_options){.transport = o->session->transport,
                                                         .clock = loop_clock(l->loop),
                                                         .kind = job_kinds[i]->kind,
                                                         .ns = o->ns,
                                                         .query = query,
                                                         .on_change = on_change,
                                                         .on_synced = wake,
                                                         .on_trouble = on_trouble,
                                                         .arg = l});
        if (!l->caches[i])
            return err_set(err, ERR_INTERNAL, "out of memory");
    }
    return 0;
}

static bool is_synced(const struct live *l)
{
    for (size_t i = 0; i < ELEMS(l->caches) && l->caches[i]; i++)
        if (!cache_is_synced(l->caches[i]))
            return false;
    return true;
}

static int draw(struct live *l, struct err *err)
{
    struct arena scratch = ARENA_INIT(CLI_ARENA_LIMIT_BYTES), *own = l->options->session->arena;
    int r;

    l->changed = l->urgent = false;
    l->options->session->arena = &scratch;
    r = l->options->draw(l->options->arg, l, err);
    l->options->session->arena = own;
    arena_release(&scratch);
    (void)fflush(stdout);
    return r;
}

static void pause_after(struct live *l)
{
    struct clock *clock = loop_clock(l->loop);
    int64_t until = loop_monotonic_ms(l->loop) + PAUSE_MS;
    struct clock_timer *timer = clock_start(clock, PAUSE_MS, wake, l);

    while (timer && !l->stopped && !l->urgent && loop_monotonic_ms(l->loop) < until)
        loop_run(l->loop);
    if (loop_monotonic_ms(l->loop) < until)
        clock_stop(clock, timer);
}

static int run(struct live *l, struct err *err)
{
    bool drawn = false;
    int r = open_caches(l, err);

    while (r == 0 && !l->stopped && !err_is_set(err)) {
        if (!is_synced(l) || (drawn && !l->changed && !l->urgent)) {
            loop_run(l->loop);
            continue;
        }
        take_key(l);
        if (l->stopped)
            break;
        r = draw(l, err);
        l->urgent = l->urgent || l->typed_len;
        drawn = true;
        if (l->options->every_ms && !l->timer)
            l->timer = clock_start(loop_clock(l->loop), l->options->every_ms, on_timer, l);
        if (r == 0)
            pause_after(l);
    }
    return r ? r : err_is_set(err) ? -EACCES : 0;
}

int live_run(const struct live_options *options, struct err *err)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGWINCH};
    struct live l = {.options = options, .loop = options->session->loop, .err = err};
    struct loop_signal *watched[ELEMS(signals)];
    struct loop_fd *keys = NULL;
    bool ok = true;
    int r;

    for (size_t i = 0; i < ELEMS(signals); i++) {
        watched[i] = loop_signal_watch(l.loop, signals[i], on_signal, &l);
        ok = ok && watched[i];
    }
    if (ok && options->key)
        ok = (keys = loop_fd_watch(l.loop, STDIN_FILENO, LOOP_READABLE, on_input, &l)) != NULL;
    r = ok ? run(&l, err) : err_set(err, ERR_INTERNAL, "out of memory");
    loop_fd_stop(keys);
    clock_stop(loop_clock(l.loop), l.timer);
    for (size_t i = 0; i < ELEMS(l.caches); i++)
        if (l.caches[i])
            cache_free(l.caches[i]);
    for (size_t i = 0; i < ELEMS(signals); i++)
        if (watched[i])
            loop_signal_stop(watched[i]);
    return r;
}
