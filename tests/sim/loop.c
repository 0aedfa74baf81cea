/*
 * loop.c - loop/loop.h and loop/random.h on simulated time: a heap of timers, and turns. Linked in
 * place of the real ones.
 *
 * A turn is one event, then what was deferred, then the before-sleep hooks: the smallest turn the
 * real loop could have, so that whatever may fall between two events does.
 */
#include "loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "loop/random.h"
#include "sim.h"

#define EPOCH_MS 1763193600000 /* the wall clock when a run begins */

/* --- random numbers */

static uint64_t random_state = 1;

void rand_seed(uint64_t seed)
{
    random_state = seed;
}

uint64_t rand_next(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t rand_below(int64_t bound)
{
    return bound > 0 ? (int64_t)(rand_next() % (uint64_t)bound) : 0;
}

int64_t rand_range(int64_t low, int64_t high)
{
    return low + rand_below(high - low + 1);
}

bool rand_chance(double probability)
{
    return (double)(rand_next() >> 11) / 9007199254740992.0 < probability;
}

void random_bytes(void *out, size_t len)
{
    unsigned char *p = out;

    while (len--)
        *p++ = (unsigned char)rand_next();
}

void random_suffix(char out[RANDOM_SUFFIX_SIZE])
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";

    for (size_t i = 0; i < RANDOM_SUFFIX_SIZE - 1; i++)
        out[i] = letters[rand_below((int64_t)sizeof(letters) - 1)];
    out[RANDOM_SUFFIX_SIZE - 1] = '\0';
}

/* A job's first choice of a MASTER_PORT follows from its UID. Only UIDs that choose one of the
 * first few are given out, so that jobs want the same port now and then. */
#define PORT_CHOICES 40
#define PORTS 10000

void random_uid(char out[RANDOM_UID_SIZE])
{
    uint64_t high = rand_next(), low = rand_next();

    (void)snprintf(out, RANDOM_UID_SIZE, "%08x-%04x-4%03x-8%03x-%012llx", (unsigned)(high >> 32),
                   (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xfff),
                   (unsigned)(low >> 48 & 0xfff), (unsigned long long)(low & 0xffffffffffff));
    for (;;) { /* the last digits are tried until it fits */
        static const char digits[] = "0123456789abcdef";
        uint64_t start = fnv1a_64(FNV1A_64_START, out, 33);

        for (unsigned i = 0; i < 4096; i++) {
            const char tail[3] = {digits[i >> 8], digits[i >> 4 & 15], digits[i & 15]};

            if (fnv1a_64(start, tail, 3) % PORTS < PORT_CHOICES) {
                memcpy(out + 33, tail, 3);
                return;
            }
        }
        out[32] = digits[rand_below(16)];
    }
}

/* --- timers */

struct clock_timer {
    int64_t due_ms;
    uint64_t order;
    size_t at; /* in the heap */
    void (*fn)(void *arg);
    void *arg;
};

struct loop_hook {
    struct loop *loop;
    struct loop_hook *next;
    void (*fn)(void *arg);
    void *arg;
};

struct call {
    void (*fn)(void *arg);
    void *arg;
};

struct loop {
    struct clock clock;
    int64_t now_ms, offset_ms;
    uint64_t started;
    struct clock_timer **heap;
    size_t len, cap;
    struct loop_hook *hooks;
    struct call *deferred;
    size_t deferred_len, deferred_cap;
};

static bool before(const struct clock_timer *a, const struct clock_timer *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void place(struct loop *l, size_t i, struct clock_timer *t)
{
    l->heap[i] = t;
    t->at = i;
}

static void sift_up(struct loop *l, size_t i, struct clock_timer *t)
{
    while (i > 0 && before(t, l->heap[(i - 1) / 2])) {
        place(l, i, l->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    place(l, i, t);
}

static void sift_down(struct loop *l, size_t i, struct clock_timer *t)
{
    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= l->len)
            break;
        if (child + 1 < l->len && before(l->heap[child + 1], l->heap[child]))
            child++;
        if (!before(l->heap[child], t))
            break;
        place(l, i, l->heap[child]);
        i = child;
    }
    place(l, i, t);
}

static void take_out(struct loop *l, struct clock_timer *t)
{
    size_t i = t->at;
    struct clock_timer *last = l->heap[--l->len];

    if (last == t)
        return;
    if (i > 0 && before(last, l->heap[(i - 1) / 2]))
        sift_up(l, i, last);
    else
        sift_down(l, i, last);
}

static int64_t now_ms(struct clock *c)
{
    struct loop *l = container_of(c, struct loop, clock);

    return EPOCH_MS + l->now_ms + l->offset_ms;
}

static struct clock_timer *start(struct clock *c, int64_t delay_ms, void (*fn)(void *arg),
                                 void *arg)
{
    struct loop *l = container_of(c, struct loop, clock);
    struct clock_timer *t = calloc(1, sizeof(*t));

    assert(t);
    if (l->len == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 256;
        l->heap = reallocarray(l->heap, l->cap, sizeof(*l->heap));
        assert(l->heap);
    }
    *t = (struct clock_timer){
        .due_ms = l->now_ms + max_i64(delay_ms, 0), .order = ++l->started, .fn = fn, .arg = arg};
    sift_up(l, l->len++, t);
    return t;
}

static void stop(struct clock *c, struct clock_timer *t)
{
    take_out(container_of(c, struct loop, clock), t);
    free(t);
}

static const struct clock_ops clock_ops = {.now_ms = now_ms, .start = start, .stop = stop};

/* --- the loop */

struct loop *loop_new(struct err *err)
{
    struct loop *l = calloc(1, sizeof(*l));

    (void)err;
    if (l)
        l->clock.ops = &clock_ops;
    return l;
}

void loop_free(struct loop *l)
{
    while (l->len)
        free(l->heap[--l->len]);
    free(l->heap);
    free(l->deferred);
    free(l);
}

struct clock *loop_clock(struct loop *l)
{
    return &l->clock;
}

int64_t loop_monotonic_ms(struct loop *l)
{
    return l->now_ms;
}

int64_t sim_loop_now(const struct loop *l)
{
    return l->now_ms;
}

int64_t sim_loop_next(const struct loop *l)
{
    return l->len ? l->heap[0]->due_ms : -1;
}

void sim_loop_jump(struct loop *l, int64_t ms)
{
    l->offset_ms += ms;
}

int loop_defer(struct loop *l, void (*fn)(void *arg), void *arg)
{
    if (l->deferred_len == l->deferred_cap) {
        l->deferred_cap = l->deferred_cap ? l->deferred_cap * 2 : 16;
        l->deferred = reallocarray(l->deferred, l->deferred_cap, sizeof(*l->deferred));
        assert(l->deferred);
    }
    l->deferred[l->deferred_len++] = (struct call){.fn = fn, .arg = arg};
    return 0;
}

struct loop_hook *loop_before_sleep(struct loop *l, void (*fn)(void *arg), void *arg)
{
    struct loop_hook *h = malloc(sizeof(*h));

    assert(h);
    *h = (struct loop_hook){.loop = l, .next = l->hooks, .fn = fn, .arg = arg};
    l->hooks = h;
    return h;
}

void loop_hook_free(struct loop_hook *h)
{
    struct loop_hook **at;

    if (!h)
        return;
    for (at = &h->loop->hooks; *at != h; at = &(*at)->next)
        ;
    *at = h->next;
    free(h);
}

bool sim_loop_step(struct loop *l)
{
    struct clock_timer *t;

    if (l->len == 0)
        return false;
    t = l->heap[0];
    take_out(l, t);
    l->now_ms = max_i64(l->now_ms, t->due_ms);
    t->fn(t->arg);
    free(t);
    for (size_t i = 0; i < l->deferred_len; i++)
        l->deferred[i].fn(l->deferred[i].arg);
    l->deferred_len = 0;
    for (struct loop_hook *h = l->hooks, *next; h; h = next) {
        next = h->next;
        h->fn(h->arg);
    }
    return true;
}

/* --- waking */

struct loop_wake {
    struct loop *loop;
    struct clock_timer *pending;
    void (*fn)(void *arg);
    void *arg;
};

struct loop_wake *loop_wake_new(struct loop *l, void (*fn)(void *arg), void *arg)
{
    struct loop_wake *w = calloc(1, sizeof(*w));

    assert(w);
    *w = (struct loop_wake){.loop = l, .fn = fn, .arg = arg};
    return w;
}

static void woken(void *arg)
{
    struct loop_wake *w = arg;

    w->pending = NULL;
    w->fn(w->arg);
}

void loop_wake_send(struct loop_wake *w)
{
    if (!w->pending)
        w->pending = clock_start(&w->loop->clock, 0, woken, w);
}

void loop_wake_free(struct loop_wake *w)
{
    if (!w)
        return;
    clock_stop(&w->loop->clock, w->pending);
    free(w);
}

/* --- what a simulation has none of */

void loop_run(struct loop *l)
{
    (void)l;
    abort();
}

void loop_run_once(struct loop *l)
{
    (void)l;
    abort();
}

void loop_stop(struct loop *l)
{
    (void)l;
    abort();
}

struct loop_fd *loop_fd_watch(struct loop *l, int fd, unsigned events,
                              void (*fn)(void *arg, unsigned events), void *arg)
{
    (void)l;
    (void)fd;
    (void)events;
    (void)fn;
    (void)arg;
    errno = ENOSYS;
    return NULL;
}

int loop_fd_change(struct loop_fd *w, unsigned events)
{
    (void)w;
    (void)events;
    return -ENOSYS;
}

void loop_fd_stop(struct loop_fd *w)
{
    assert(!w);
}

struct loop_signal *loop_signal_watch(struct loop *l, int signum, void (*fn)(void *arg, int signum),
                                      void *arg)
{
    (void)l;
    (void)signum;
    (void)fn;
    (void)arg;
    return NULL;
}

void loop_signal_stop(struct loop_signal *s)
{
    assert(!s);
}

int loop_work(struct loop *l, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
    (void)l;
    (void)work;
    (void)done;
    (void)arg;
    return -EAGAIN;
}
