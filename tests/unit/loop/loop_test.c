/* loop_test.c - the event loop: order within a turn, what may be stopped when, and a clean end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "loop/loop.h"

#define TRACE_LIMIT 64

/* What happened, a letter each. */
struct trace {
    struct loop *loop;
    char text[TRACE_LIMIT];
    size_t len;
    int left;
    struct loop_hook *hook;
    struct loop_fd *fd_watch;
    struct clock_timer *timer;
    int fd;
};

static void note(struct trace *t, char c)
{
    assert_true(t->len < TRACE_LIMIT - 1);
    t->text[t->len++] = c;
    t->text[t->len] = '\0';
}

static int set_up(void **state)
{
    static struct trace t;

    memset(&t, 0, sizeof(t));
    t.loop = loop_new(NULL);
    *state = &t;
    return t.loop ? 0 : -1;
}

static int tear_down(void **state)
{
    struct trace *t = *state;

    loop_free(t->loop);
    return 0;
}

static void note_d(void *arg)
{
    note(arg, 'd');
}

static void note_h(void *arg)
{
    note(arg, 'h');
}

static void note_stop(void *arg)
{
    struct trace *t = arg;

    note(t, 's');
    loop_stop(t->loop);
}

static void defer_again(void *arg)
{
    struct trace *t = arg;

    note(t, 'a');
    assert_int_equal(loop_defer(t->loop, t->left-- > 0 ? defer_again : note_stop, t), 0);
}

static void deferred_runs_later_in_order_and_before_hooks(void **state)
{
    struct trace *t = *state;

    t->hook = loop_before_sleep(t->loop, note_h, t);
    assert_non_null(t->hook);
    assert_int_equal(loop_defer(t->loop, note_d, t), 0);
    assert_int_equal(loop_defer(t->loop, defer_again, t), 0);
    assert_int_equal(t->len, 0);
    loop_run(t->loop);
    assert_string_equal(t->text, "dahsh");
}

static void free_own_hook(void *arg)
{
    struct trace *t = arg;

    note(t, '1');
    loop_hook_free(t->hook);
}

static void free_next_hook(void *arg)
{
    struct trace *t = arg;

    note(t, '2');
    loop_hook_free(t->hook);
    t->hook = NULL;
}

static void hook_may_free_itself_or_the_next(void **state)
{
    struct trace *t = *state;
    struct loop_hook *second;

    t->hook = loop_before_sleep(t->loop, free_own_hook, t);
    assert_int_equal(loop_defer(t->loop, note_d, t), 0);
    loop_run_once(t->loop);
    assert_string_equal(t->text, "d1");

    second = loop_before_sleep(t->loop, free_next_hook, t);
    t->hook = loop_before_sleep(t->loop, note_h, t);
    assert_int_equal(loop_defer(t->loop, note_d, t), 0);
    loop_run_once(t->loop);
    assert_string_equal(t->text, "d1d2");
    loop_hook_free(second);
}

/* --- time */

static void timer_restarts_itself(void *arg)
{
    struct trace *t = arg;

    note(t, 't');
    assert_non_null(
        clock_start(loop_clock(t->loop), 0, t->left-- > 0 ? timer_restarts_itself : note_stop, t));
}

static void zero_timer_runs_next_turn_and_lets_others_run(void **state)
{
    struct trace *t = *state;

    t->left = 2;
    t->hook = loop_before_sleep(t->loop, note_h, t);
    assert_non_null(clock_start(loop_clock(t->loop), 0, timer_restarts_itself, t));
    assert_int_equal(t->len, 0);
    loop_run(t->loop);
    assert_string_equal(t->text, "ththth"
                                 "sh");
}

static int64_t real_monotonic_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void timers_fire_in_order_and_not_early(void **state)
{
    struct trace *t = *state;
    int64_t began = real_monotonic_ms();

    while (real_monotonic_ms() < began + 20)
        ; /* the loop's cached time is now old */
    began = real_monotonic_ms();
    assert_non_null(clock_start(loop_clock(t->loop), 15, note_stop, t));
    assert_non_null(clock_start(loop_clock(t->loop), 5, note_d, t));
    loop_run(t->loop);
    assert_string_equal(t->text, "ds");
    assert_true(real_monotonic_ms() - began >= 14);
}

static void stopped_timers_do_not_fire(void **state)
{
    struct trace *t = *state;
    struct clock *c = loop_clock(t->loop);
    struct clock_timer *zero = clock_start(c, 0, note_d, t), *one = clock_start(c, 1, note_d, t);

    clock_stop(c, zero);
    clock_stop(c, one);
    clock_stop(c, NULL);
    assert_non_null(clock_start(c, 3, note_stop, t));
    loop_run(t->loop);
    assert_string_equal(t->text, "s");
}

static void wall_time_is_wall_time(void **state)
{
    struct trace *t = *state;
    int64_t before = (int64_t)time(NULL) * 1000, now = clock_now_ms(loop_clock(t->loop));
    struct timespec after;

    clock_gettime(CLOCK_REALTIME, &after);
    assert_true(now >= before);
    assert_true(now <= (int64_t)after.tv_sec * 1000 + after.tv_nsec / 1000000);
    assert_true(loop_monotonic_ms(t->loop) > 0);
}

/* A timer that is due runs at the start of the turn; the turn must not sleep after it. */
static void run_once_returns_after_a_due_timer(void **state)
{
    struct trace *t = *state;
    int64_t began = real_monotonic_ms();

    assert_non_null(clock_start(loop_clock(t->loop), 1, note_d, t));
    while (real_monotonic_ms() < began + 3)
        ;
    loop_run_once(t->loop);
    assert_string_equal(t->text, "d");
}

/* --- descriptors */

static void read_one(void *arg, unsigned events)
{
    struct trace *t = arg;
    char c;

    assert_true(events & LOOP_READABLE);
    if (read(t->fd, &c, 1) == 1) {
        note(t, c);
        return;
    }
    note(t, '.');
    loop_fd_stop(t->fd_watch);
    loop_stop(t->loop);
}

static void readable_is_told_until_used_up_and_at_the_end(void **state)
{
    struct trace *t = *state;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    t->fd = fds[0];
    t->fd_watch = loop_fd_watch(t->loop, fds[0], LOOP_READABLE, read_one, t);
    assert_non_null(t->fd_watch);
    assert_int_equal(write(fds[1], "xyz", 3), 3);
    close(fds[1]);
    loop_run(t->loop);
    assert_string_equal(t->text, "xyz.");
    close(fds[0]);
}

static void deferring_for_ever_does_not_starve_descriptors(void **state)
{
    struct trace *t = *state;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    t->left = 20;
    t->fd = fds[0];
    t->fd_watch = loop_fd_watch(t->loop, fds[0], LOOP_READABLE, read_one, t);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(loop_defer(t->loop, defer_again, t), 0);
    loop_run(t->loop);
    assert_non_null(strchr(t->text, 'x'));
    assert_true(strchr(t->text, 'x') < t->text + 4);
    loop_fd_stop(t->fd_watch);
    close(fds[0]);
    close(fds[1]);
}

static void count_events(void *arg, unsigned events)
{
    struct trace *t = arg;

    note(t, (char)('0' + events));
    loop_stop(t->loop);
}

static void broken_pipe_is_told_as_everything_asked_for(void **state)
{
    struct trace *t = *state;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    t->fd_watch = loop_fd_watch(t->loop, fds[1], 0, count_events, t);
    assert_non_null(t->fd_watch);
    assert_int_equal(loop_fd_change(t->fd_watch, LOOP_WRITABLE), 0);
    loop_run(t->loop);
    close(fds[0]);
    loop_run(t->loop);
    assert_string_equal(t->text, "26");
    loop_fd_stop(t->fd_watch);
    close(fds[1]);
}

static void what_cannot_be_watched_is_refused(void **state)
{
    struct trace *t = *state;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    assert_null(loop_fd_watch(t->loop, fd, LOOP_READABLE, count_events, t));
    close(fd);
    loop_fd_stop(NULL);
}

/* --- threads and signals */

#define SENDS 1000

struct threaded {
    struct trace *trace;
    struct loop_wake *wake;
    atomic_int sent;
    int seen;
};

static void *send_many(void *arg)
{
    struct threaded *th = arg;

    for (int i = 0; i < SENDS; i++) {
        atomic_fetch_add(&th->sent, 1);
        loop_wake_send(th->wake);
    }
    return NULL;
}

static void woken(void *arg)
{
    struct threaded *th = arg;

    th->seen = atomic_load(&th->sent);
    if (th->seen == SENDS)
        loop_stop(th->trace->loop);
}

static void wake_from_another_thread_is_never_lost(void **state)
{
    struct threaded th = {.trace = *state};
    pthread_t thread;

    th.wake = loop_wake_new(th.trace->loop, woken, &th);
    assert_non_null(th.wake);
    assert_int_equal(pthread_create(&thread, NULL, send_many, &th), 0);
    loop_run(th.trace->loop);
    assert_int_equal(th.seen, SENDS);
    pthread_join(thread, NULL);
    loop_wake_free(th.wake);
}

struct wakes {
    struct trace *trace;
    struct loop_wake *first, *second, *third;
};

static void wake_first(void *arg)
{
    struct wakes *w = arg;

    note(w->trace, '1');
    if (w->trace->left-- > 0)
        loop_wake_send(w->first);
    else
        loop_stop(w->trace->loop);
}

static void wake_second(void *arg)
{
    struct wakes *w = arg;

    note(w->trace, '2');
    loop_wake_free(w->third);
}

static void wake_all(void *arg)
{
    struct wakes *w = arg;

    loop_wake_send(w->first);
    loop_wake_send(w->first);
    loop_wake_send(w->second);
    loop_wake_send(w->third);
    note(w->trace, 'w');
}

static void wake_from_its_own_thread_comes_once_in_order_and_before_hooks(void **state)
{
    struct wakes w = {.trace = *state};
    struct loop *l = w.trace->loop;

    w.first = loop_wake_new(l, wake_first, &w);
    w.second = loop_wake_new(l, wake_second, &w);
    w.third = loop_wake_new(l, note_d, w.trace);
    w.trace->left = 2;
    assert_non_null(loop_before_sleep(l, note_h, w.trace));
    assert_int_equal(loop_defer(l, wake_all, &w), 0);
    loop_run(l);
    assert_string_equal(w.trace->text, "w12h1h1h");
}

static void signalled(void *arg, int signum)
{
    struct trace *t = arg;

    note(t, signum == SIGUSR1 ? 'u' : '?');
    loop_stop(t->loop);
}

static void signal_comes_as_a_callback(void **state)
{
    struct trace *t = *state;
    struct loop_signal *s = loop_signal_watch(t->loop, SIGUSR1, signalled, t);

    assert_non_null(s);
    raise(SIGUSR1);
    loop_run(t->loop);
    assert_string_equal(t->text, "u");
    loop_signal_stop(s);
    assert_null(loop_signal_watch(t->loop, SIGKILL, signalled, t));
}

struct job {
    struct trace *trace;
    pthread_t ran_on;
};

static void work(void *arg)
{
    struct job *j = arg;

    j->ran_on = pthread_self();
}

static void work_done(void *arg)
{
    struct job *j = arg;

    assert_false(pthread_equal(j->ran_on, pthread_self()));
    note(j->trace, 'w');
    loop_stop(j->trace->loop);
}

static void work_runs_elsewhere_and_done_here(void **state)
{
    struct job j = {.trace = *state, .ran_on = pthread_self()};

    assert_int_equal(loop_work(j.trace->loop, work, work_done, &j), 0);
    loop_run(j.trace->loop);
    assert_string_equal(j.trace->text, "w");
}

/* --- the end */

static void free_closes_whatever_is_open(void **state)
{
    struct trace *t = *state;
    static struct job j;
    int fds[2];

    j.trace = t;
    j.ran_on = pthread_self();
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_non_null(loop_fd_watch(t->loop, fds[0], LOOP_READABLE, read_one, t));
    assert_non_null(clock_start(loop_clock(t->loop), 0, note_d, t));
    assert_non_null(clock_start(loop_clock(t->loop), 100000, note_d, t));
    assert_non_null(loop_wake_new(t->loop, note_d, t));
    assert_non_null(loop_signal_watch(t->loop, SIGUSR2, signalled, t));
    assert_non_null(loop_before_sleep(t->loop, note_h, t));
    assert_int_equal(loop_defer(t->loop, note_d, t), 0);
    assert_int_equal(loop_work(t->loop, work, work_done, &j), 0);
    loop_free(t->loop);
    assert_string_equal(t->text, "w");
    close(fds[0]);
    close(fds[1]);
    loop_free(NULL);
    t->loop = loop_new(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
        TEST(deferred_runs_later_in_order_and_before_hooks),
        TEST(deferring_for_ever_does_not_starve_descriptors),
        TEST(hook_may_free_itself_or_the_next),
        TEST(zero_timer_runs_next_turn_and_lets_others_run),
        TEST(timers_fire_in_order_and_not_early),
        TEST(stopped_timers_do_not_fire),
        TEST(wall_time_is_wall_time),
        TEST(run_once_returns_after_a_due_timer),
        TEST(readable_is_told_until_used_up_and_at_the_end),
        TEST(broken_pipe_is_told_as_everything_asked_for),
        TEST(what_cannot_be_watched_is_refused),
        TEST(wake_from_another_thread_is_never_lost),
        TEST(wake_from_its_own_thread_comes_once_in_order_and_before_hooks),
        TEST(signal_comes_as_a_callback),
        TEST(work_runs_elsewhere_and_done_here),
        TEST(free_closes_whatever_is_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
