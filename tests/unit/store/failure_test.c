/* failure_test.c - commits that fail, and a process that is killed: nothing acknowledged is lost,
 * nothing that failed is seen. */
#include "fixture.h"

#include <signal.h>
#include <sys/wait.h>

#include "fault_vfs.h"
#include "loop/random.h"

static void assert_failed(const struct written *w, const char *words)
{
    assert_true(w->order > 0);
    assert_int_equal(w->reason, ERR_UNAVAILABLE);
    assert_non_null(strstr(w->text, "cannot write the database"));
    if (!strstr(w->text, words))
        fail_msg("\"%s\" does not say \"%s\"", w->text, words);
}

static void failed_commit_takes_everything_behind_it_along(void **state)
{
    struct fixture *f = *state;
    struct written w[4];
    struct store_watch *watch;
    struct store_event event;

    put_now(f, f->pods, "a", "old");
    assert_int_equal(store_watch_open(f->pods, 1, do_nothing, NULL, &watch, NULL), 0);
    fault_hold();
    put(f, f->pods, "a", "lost", &w[0]);
    turn(f);
    fault_wait_held();
    put(f, f->pods, "a", "behind it", &w[1]);
    turn(f);
    remove_key(f, f->pods, "a", &w[2]);
    put(f, f->jobs, "b", "elsewhere", &w[3]);
    fault_set(0, SQLITE_IOERR_FSYNC);
    fault_let_go();
    settle_all(f);
    for (int i = 0; i < 4; i++) {
        assert_failed(&w[i], "disk I/O error");
        assert_int_equal(w[i].order, i + 2);
        assert_int_equal(w[i].store_revision, 1);
    }
    assert_true(is_at(store_head(f->pods, "a"), "old@1"));
    assert_true(is_at(store_get(f->pods, "a"), "old@1"));
    assert_null(store_head(f->jobs, "b"));
    assert_int_equal(store_watch_next(watch, &event), 0);

    fault_set(0, 0);
    put_now(f, f->pods, "a", "new");
    assert_int_equal(store_get(f->pods, "a")->revision, 6); /* lost revisions do not come again */
    assert_int_equal(store_watch_next(watch, &event), 1);
    assert_int_equal(event.revision, 6);
    assert_string_equal(event.previous->data, "old@1");
    store_watch_free(watch);
    fixture_reopen(f);
    assert_true(is_at(store_get(f->pods, "a"), "new@6"));
    assert_int_equal(store_count(f->jobs), 0);
    assert_int_equal(store_revision(f->store), 6);
}

static void full_disk_fails_writes_until_there_is_room(void **state)
{
    struct fixture *f = *state;
    struct written w;

    put_now(f, f->pods, "a", "old");
    fault_set(SQLITE_FULL, 0);
    for (int i = 0; i < 3; i++) {
        put(f, f->pods, "a", "lost", &w);
        settle_all(f);
        assert_failed(&w, "full");
        remove_key(f, f->pods, "a", &w);
        settle_all(f);
        assert_failed(&w, "full");
    }
    fault_set(0, 0);
    put_now(f, f->pods, "b", "room again");
    fixture_reopen(f);
    assert_true(is_at(store_get(f->pods, "a"), "old@1"));
    assert_int_equal(store_count(f->pods), 2);
}

/* Larger than SQLite's cache, so that a write inside the transaction fails and not the commit. */
static void large_transaction_fails_as_a_whole(void **state)
{
    static struct written w[400];
    struct fixture *f = *state;
    char *bytes = calloc(1, 8000), key[16];
    struct blob *value = blob_new(bytes, 8000);

    fault_set(SQLITE_FULL, 0);
    for (int i = 0; i < 400; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        w[i] = write_started(f);
        assert_int_equal(store_put(f->pods, key, value, ended, &w[i]), 0);
    }
    settle_all(f);
    for (int i = 0; i < 400; i++)
        assert_failed(&w[i], "full");
    fault_set(0, 0);
    put_now(f, f->pods, "a", "x");
    fixture_reopen(f);
    assert_int_equal(store_count(f->pods), 1);
    blob_unref(value);
    free(bytes);
}

struct retry {
    struct written first, second;
};

static void put_again(void *arg, const struct err *err)
{
    struct retry *r = arg;
    struct fixture *f = r->first.fixture;

    ended(&r->first, err);
    fault_set(0, 0);
    assert_true(
        is_at(store_head(f->pods, "a"), "old@1")); /* though those behind are not told yet */
    put(f, f->pods, "a", "retried", &r->second);
}

static void failed_write_may_be_retried_from_its_callback(void **state)
{
    struct fixture *f = *state;
    struct written behind;
    struct retry r;
    struct blob *value = blob_new("x", 1);

    put_now(f, f->pods, "a", "old");
    fault_hold();
    r.first = write_started(f);
    assert_int_equal(store_put(f->pods, "a", value, put_again, &r), 0);
    turn(f);
    fault_wait_held();
    put(f, f->pods, "a", "behind", &behind);
    turn(f);
    fault_set(0, SQLITE_IOERR_FSYNC);
    fault_let_go();
    settle_all(f);
    assert_failed(&r.first, "I/O");
    assert_failed(&behind, "I/O");
    assert_int_equal(r.second.reason, ERR_NONE);
    assert_true(is_at(store_get(f->pods, "a"), "retried@4"));
    fixture_reopen(f);
    assert_true(is_at(store_get(f->pods, "a"), "retried@4"));
    blob_unref(value);
}

static void put_on_top(void *arg, const struct err *err)
{
    struct retry *r = arg;
    struct fixture *f = r->first.fixture;

    ended(&r->first, err);
    put(f, f->pods, "b", "on top of what fails", &r->second);
}

/* Whether the failure has come back with the success before it or not. */
static void write_from_a_callback_fails_with_what_it_saw(void **state)
{
    struct fixture *f = *state;
    struct written lost;
    struct retry r;
    struct blob *value = blob_new("x", 1);
    int syncs;

    put_now(f, f->pods, "a", "old");
    fault_hold();
    r.first = write_started(f);
    assert_int_equal(store_put(f->pods, "a", value, put_on_top, &r), 0);
    turn(f);
    fault_wait_held();
    syncs = fault_syncs();
    put(f, f->pods, "b", "lost", &lost);
    turn(f);
    fault_set_sync_after(1, SQLITE_IOERR_FSYNC);
    fault_let_go();
    fault_wait_syncs(syncs + 1);
    settle_all(f);
    fault_set(0, 0);
    assert_int_equal(r.first.reason, ERR_NONE);
    assert_failed(&lost, "I/O");
    assert_failed(&r.second, "I/O");
    assert_null(store_head(f->pods, "b"));
    assert_int_equal(store_get(f->pods, "a")->revision, 2);
    blob_unref(value);
}

/* As a machine that stopped now would leave it. */
static void open_copy(struct fixture *f)
{
    char command[512];

    snprintf(command, sizeof(command),
             "cd %s && cp muster.db copy.db && cp muster.db-wal copy.db-wal", f->folder);
    assert_int_equal(system(command), 0);
    fixture_close(f);
    snprintf(f->path, sizeof(f->path), "%s/copy.db", f->folder);
    fixture_open(f);
}

/* The log then holds the whole of the transaction that failed, and recovery would find it. */
static void failed_write_does_not_come_back_after_a_crash(void **state)
{
    struct fixture *f = *state;
    struct written w;

    put_now(f, f->pods, "b", "x");
    put(f, f->pods, "a", "x", &w);
    fault_set_sync_once(SQLITE_IOERR_FSYNC);
    settle_all(f);
    assert_failed(&w, "I/O");
    open_copy(f);
    assert_non_null(store_get(f->pods, "b"));
    assert_null(store_get(f->pods, "a"));
    assert_int_equal(store_next_revision(f->store), 3); /* nor does its revision */
    fault_set(0, 0);
}

static void close_tells_of_a_failed_commit(void **state)
{
    struct fixture *f = *state;
    struct written w;

    put(f, f->pods, "a", "x", &w);
    fault_set_sync_once(SQLITE_IOERR_FSYNC);
    fixture_reopen(f);
    fault_set(0, 0);
    assert_failed(&w, "I/O");
    assert_null(store_get(f->pods, "a"));
}

/* --- kill -9 */

#define KILL_ROUNDS 20
#define KILL_CLIENTS 16
#define KILL_ACKS_LIMIT 250

struct ack {
    int32_t client, number;
    int64_t revision;
};

struct killed_client {
    struct fixture *fixture;
    int pipe, round, number;
    int32_t id;
    int64_t revision;
};

static void client_key(char out[64], int round, int client, int number)
{
    snprintf(out, 64, "r%d/c%d-%d", round, client, number);
}

static bool deletes(int number)
{
    return number % 5 == 4;
}

static void client_write(struct killed_client *c);

static void client_done(void *arg, const struct err *err)
{
    struct killed_client *c = arg;
    struct ack ack = {.client = c->id, .number = c->number, .revision = c->revision};

    if (err || write(c->pipe, &ack, sizeof(ack)) != sizeof(ack))
        _exit(3);
    c->number++;
    client_write(c);
}

/* Every fifth write deletes what the one before it made. */
static void client_write(struct killed_client *c)
{
    struct blob *value = value_for(c->fixture, "value of a client that may be killed any time");
    char key[64];
    int r;

    c->revision = store_next_revision(c->fixture->store);
    client_key(key, c->round, c->id, c->number - deletes(c->number));
    r = deletes(c->number) ? store_delete(c->fixture->pods, key, value, client_done, c)
                           : store_put(c->fixture->pods, key, value, client_done, c);
    blob_unref(value);
    if (r < 0)
        _exit(4);
}

static void run_child(struct fixture *f, int round, int fd)
{
    static struct killed_client clients[KILL_CLIENTS];

    f->loop = loop_new(NULL);
    f->store = store_open(f->loop, f->path, NULL, NULL);
    if (!f->store)
        _exit(2);
    f->pods = store_collection(f->store, "/pods");
    for (int32_t i = 0; i < KILL_CLIENTS; i++) {
        clients[i] = (struct killed_client){.fixture = f, .pipe = fd, .round = round, .id = i};
        client_write(&clients[i]);
    }
    loop_run(f->loop);
    _exit(0);
}

/* Reads acknowledgements, kills after so many, and reads what was still in the pipe. */
static void kill_after(pid_t child, int fd, int acks, int last[KILL_CLIENTS], int64_t *newest)
{
    struct ack ack;
    int status, seen = 0;

    while (read(fd, &ack, sizeof(ack)) == sizeof(ack)) {
        last[ack.client] = ack.number;
        *newest = max_i64(*newest, ack.revision);
        if (++seen == acks)
            assert_int_equal(kill(child, SIGKILL), 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(seen >= acks);
}

/* The write behind the last acknowledged one may or may not have been made. */
static void check_client(struct fixture *f, int round, int client, int last)
{
    char key[64];

    for (int n = 0; n <= last; n++) {
        bool deleted = n + 1 <= last && deletes(n + 1);
        bool unsure = n == last && deletes(n + 1);
        bool there;

        if (deletes(n) || unsure)
            continue;
        client_key(key, round, client, n);
        there = store_get(f->pods, key) != NULL;
        if (there == deleted)
            fail_msg("%s is %s", key, there ? "there again" : "lost");
    }
}

static void nothing_acknowledged_is_lost_by_kill_9(void **state)
{
    struct fixture *f = *state;
    int64_t newest = 0;

    fixture_close(f);
    for (int round = 0; round < KILL_ROUNDS; round++) {
        int fds[2], last[KILL_CLIENTS];
        uint16_t random;
        pid_t child;

        random_bytes(&random, sizeof(random));
        memset(last, -1, sizeof(last));
        assert_int_equal(pipe(fds), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0)
            run_child(f, round, fds[1]);
        close(fds[1]);
        kill_after(child, fds[0], 1 + random % KILL_ACKS_LIMIT, last, &newest);
        close(fds[0]);
        fixture_open(f);
        for (int i = 0; i < KILL_CLIENTS; i++)
            check_client(f, round, i, last[i]);
        assert_true(store_revision(f->store) >= newest);
        newest = store_revision(f->store);
        fixture_close(f);
    }
    fixture_open(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fixture_set_up, fixture_tear_down)
        TEST(nothing_acknowledged_is_lost_by_kill_9),
        TEST(failed_commit_takes_everything_behind_it_along),
        TEST(full_disk_fails_writes_until_there_is_room),
        TEST(large_transaction_fails_as_a_whole),
        TEST(failed_write_may_be_retried_from_its_callback),
        TEST(write_from_a_callback_fails_with_what_it_saw),
        TEST(failed_write_does_not_come_back_after_a_crash),
        TEST(close_tells_of_a_failed_commit),
    };

    fault_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
