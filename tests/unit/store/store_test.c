/* store_test.c - what is visible when, what survives a restart, and what a file must be to be
 * opened. */
#include "fixture.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "fault_vfs.h"

static bool count_item(void *arg, const struct store_item *item)
{
    (void)item;
    ++*(int *)arg;
    return true;
}

static int listed(struct store_collection *c)
{
    int n = 0;

    store_list(c, NULL, NULL, count_item, &n);
    return n;
}

/* Also shows that a commit waits for the disk: without the sync the gate would not be reached. */
static void write_is_visible_only_once_on_disk(void **state)
{
    struct fixture *f = *state;
    struct store_watch *watch;
    struct store_event event;
    struct written w;

    assert_int_equal(store_watch_open(f->pods, 0, do_nothing, NULL, &watch, NULL), 0);
    fault_hold();
    put(f, f->pods, "ns/a", "one", &w);
    assert_int_equal(w.revision, 1);
    assert_true(is_at(store_head(f->pods, "ns/a"), "one@1"));
    turn(f);
    fault_wait_held();
    turn(f);
    assert_int_equal(w.order, 0);
    assert_null(store_get(f->pods, "ns/a"));
    assert_int_equal(store_count(f->pods), 0);
    assert_int_equal(listed(f->pods), 0);
    assert_int_equal(store_revision(f->store), 0);
    assert_int_equal(store_next_revision(f->store), 2);
    assert_int_equal(store_watch_next(watch, &event), 0);
    fault_let_go();
    settle_all(f);
    assert_int_equal(w.reason, ERR_NONE);
    assert_true(is_at(store_get(f->pods, "ns/a"), "one@1"));
    assert_int_equal(store_get(f->pods, "ns/a")->revision, 1);
    assert_string_equal(store_get(f->pods, "ns/a")->key, "ns/a");
    assert_int_equal(store_count(f->pods), 1);
    assert_int_equal(listed(f->pods), 1);
    assert_int_equal(store_revision(f->store), 1);
    assert_int_equal(store_watch_next(watch, &event), 1);
    assert_int_equal(event.revision, 1);
    store_watch_free(watch);
}

static void writes_of_one_turn_are_one_commit(void **state)
{
    struct fixture *f = *state;
    struct written w[50];
    char key[16];
    int syncs;

    put_now(f, f->pods, "first", "x");
    syncs = fault_syncs();
    for (int i = 0; i < 50; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        put(f, f->pods, key, "x", &w[i]);
    }
    settle_all(f);
    assert_int_equal(fault_syncs(), syncs + 1);
}

static void writes_behind_a_busy_disk_are_one_commit(void **state)
{
    struct fixture *f = *state;
    struct written w[20];
    int syncs;

    put_now(f, f->pods, "first", "x");
    fault_hold();
    put(f, f->pods, "held", "x", &w[0]);
    turn(f);
    fault_wait_held();
    syncs = fault_syncs();
    for (int i = 1; i < 20; i++) {
        put(f, f->pods, "many", "x", &w[i]);
        turn(f);
    }
    fault_let_go();
    settle_all(f);
    assert_int_equal(fault_syncs(), syncs + 1);
}

static void callbacks_come_in_revision_order_with_their_state(void **state)
{
    struct fixture *f = *state;
    struct written w[5];

    put(f, f->pods, "b", "1", &w[0]);
    put(f, f->jobs, "a", "2", &w[1]);
    put(f, f->pods, "b", "3", &w[2]);
    turn(f);
    remove_key(f, f->pods, "b", &w[3]);
    put(f, f->pods, "a", "5", &w[4]);
    settle_all(f);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(w[i].revision, i + 1);
        assert_int_equal(w[i].order, i + 1);
        assert_int_equal(w[i].store_revision, i + 1);
    }
}

static void head_follows_every_queued_write(void **state)
{
    struct fixture *f = *state;
    struct written w[6];
    struct blob *value = blob_new("x", 1);

    put_now(f, f->pods, "a", "old");
    fault_hold();
    put(f, f->pods, "a", "new", &w[0]);
    assert_true(is_at(store_head(f->pods, "a"), "new@2"));
    assert_true(is_at(store_get(f->pods, "a"), "old@1"));
    remove_key(f, f->pods, "a", &w[1]);
    assert_null(store_head(f->pods, "a"));
    assert_int_equal(store_delete(f->pods, "a", value, ended, &w[5]), -ENOENT);
    assert_int_equal(store_delete(f->pods, "none", value, ended, &w[5]), -ENOENT);
    put(f, f->pods, "a", "again", &w[2]);
    assert_true(is_at(store_head(f->pods, "a"), "again@4"));
    put(f, f->pods, "b", "b", &w[3]);
    remove_key(f, f->pods, "b", &w[4]);
    turn(f);
    fault_let_go();
    settle_all(f);
    assert_true(is_at(store_get(f->pods, "a"), "again@4"));
    assert_true(is_at(store_head(f->pods, "a"), "again@4"));
    assert_null(store_get(f->pods, "b"));
    assert_int_equal(store_count(f->pods), 1);
    fixture_reopen(f);
    assert_true(is_at(store_get(f->pods, "a"), "again@4"));
    assert_int_equal(store_count(f->pods), 1);
    blob_unref(value);
}

static void objects_survive_reopening(void **state)
{
    struct fixture *f = *state;
    char key[32], value[32];

    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "ns/p%d", i);
        put_now(f, i % 2 ? f->pods : f->jobs, key, "v");
    }
    put_now(f, f->pods, "ns/p1", "changed");
    remove_now(f, f->pods, "ns/p3");
    fixture_reopen(f);
    assert_int_equal(store_count(f->pods), 49);
    assert_int_equal(store_count(f->jobs), 50);
    assert_int_equal(store_revision(f->store), 102);
    assert_true(is_at(store_get(f->pods, "ns/p1"), "changed@101"));
    assert_int_equal(store_get(f->pods, "ns/p1")->revision, 101);
    assert_null(store_get(f->pods, "ns/p3"));
    for (int i = 4; i < 100; i++) {
        snprintf(key, sizeof(key), "ns/p%d", i);
        snprintf(value, sizeof(value), "v@%d", i + 1);
        assert_true(is_at(store_get(i % 2 ? f->pods : f->jobs, key), value));
    }
    put_now(f, f->pods, "ns/p3", "new");
    fixture_reopen(f);
    assert_true(is_at(store_get(f->pods, "ns/p3"), "new@103"));
}

static void revision_never_goes_back(void **state)
{
    struct fixture *f = *state;

    put_now(f, f->pods, "a", "x");
    put_now(f, f->pods, "b", "x");
    remove_now(f, f->pods, "b");
    fixture_reopen(f);
    assert_int_equal(store_revision(f->store), 3);
    remove_now(f, f->pods, "a");
    fixture_reopen(f);
    assert_int_equal(store_revision(f->store), 4);
    assert_int_equal(store_next_revision(f->store), 5);
    put_now(f, f->pods, "a", "x");
    assert_int_equal(store_get(f->pods, "a")->revision, 5);
}

static void values_of_every_size_and_byte_survive(void **state)
{
    static const size_t sizes[] = {0, 1, 4000, 4096, 100000, 3000000};
    struct fixture *f = *state;
    char *bytes = malloc(3000000), key[16];
    struct written w;

    for (size_t i = 0; i < 3000000; i++)
        bytes[i] = (char)(i * 31 % 256);
    for (size_t i = 0; i < ELEMS(sizes); i++) {
        struct blob *b = blob_new(bytes, sizes[i]);

        snprintf(key, sizeof(key), "k%zu", i);
        w = write_started(f);
        assert_int_equal(store_put(f->pods, key, b, ended, &w), 0);
        blob_unref(b);
        settle_all(f);
        assert_int_equal(w.reason, ERR_NONE);
    }
    fixture_reopen(f);
    for (size_t i = 0; i < ELEMS(sizes); i++) {
        const struct store_item *item;

        snprintf(key, sizeof(key), "k%zu", i);
        item = store_get(f->pods, key);
        assert_non_null(item);
        assert_int_equal(item->value->len, sizes[i]);
        assert_memory_equal(item->value->data, bytes, sizes[i]);
    }
    free(bytes);
}

struct listing {
    char text[128];
    int left;
};

static bool add_key(void *arg, const struct store_item *item)
{
    struct listing *l = arg;

    strcat(l->text, item->key);
    strcat(l->text, " ");
    return --l->left != 0;
}

static const char *list_of(struct fixture *f, const char *prefix, const char *after, int limit)
{
    static struct listing l;

    l = (struct listing){.left = limit};
    store_list(f->pods, prefix, after, add_key, &l);
    return l.text;
}

static void lists_are_ordered_by_key_within_prefix_and_after(void **state)
{
    static const char *const keys[] = {"b/2", "a/1", "b/1", "b-c/1", "b/10", "c/1", "b0/1"};
    struct fixture *f = *state;
    struct written pending;

    for (size_t i = 0; i < ELEMS(keys); i++)
        put_now(f, f->pods, keys[i], "x");
    put(f, f->pods, "b/3", "not yet", &pending);
    assert_string_equal(list_of(f, NULL, NULL, -1), "a/1 b-c/1 b/1 b/10 b/2 b0/1 c/1 ");
    assert_string_equal(list_of(f, "b/", NULL, -1), "b/1 b/10 b/2 ");
    assert_string_equal(list_of(f, "b/", "b/1", -1), "b/10 b/2 ");
    assert_string_equal(list_of(f, "b/", "b/11", 1), "b/2 ");
    assert_string_equal(list_of(f, "b/", "a/9", -1), "b/1 b/10 b/2 ");
    assert_string_equal(list_of(f, "b/", "c", -1), "");
    assert_string_equal(list_of(f, NULL, "b/2", -1), "b0/1 c/1 ");
    assert_string_equal(list_of(f, "", "", 2), "a/1 b-c/1 ");
    assert_string_equal(list_of(f, "zz", NULL, -1), "");
    settle_all(f);
}

static void write_again(void *arg, const struct err *err)
{
    struct written *w = arg;
    struct blob *value = blob_new("x", 1);

    ended(w, err);
    assert_int_equal(store_put(w->fixture->pods, "late", value, ended, w), -ESHUTDOWN);
    blob_unref(value);
}

static void close_commits_and_tells_what_is_queued(void **state)
{
    struct fixture *f = *state;
    struct written w[2];
    struct blob *value = blob_new("y", 1);

    put(f, f->pods, "a", "x", &w[0]);
    turn(f);
    w[1] = write_started(f);
    assert_int_equal(store_put(f->pods, "b", value, write_again, &w[1]), 0);
    fixture_reopen(f);
    assert_int_equal(w[0].order, 1);
    assert_int_equal(w[1].order, 2);
    assert_int_equal(store_count(f->pods), 2);
    assert_int_equal(store_put(f->pods, "c", value, NULL, NULL), 0); /* nobody listens */
    fixture_reopen(f);
    assert_int_equal(store_count(f->pods), 3);
    blob_unref(value);
}

static void too_long_a_key_is_refused(void **state)
{
    struct fixture *f = *state;
    char key[1100];
    struct blob *value = blob_new("y", 1);

    memset(key, 'k', sizeof(key));
    key[1025] = '\0';
    assert_int_equal(store_put(f->pods, key, value, NULL, NULL), -ENAMETOOLONG);
    key[1024] = '\0';
    assert_int_equal(store_put(f->pods, key, value, NULL, NULL), 0);
    blob_unref(value);
}

/* --- the file */

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *handle;

    assert_int_equal(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                                     fault.real->zName),
                     SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(handle);
}

static void assert_refused(struct fixture *f, const char *path, const char *words)
{
    auto_err err = ERR_INIT;

    assert_null(store_open(f->loop, path, NULL, &err));
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void file_is_private(void **state)
{
    struct fixture *f = *state;
    char path[128];
    struct stat st;

    put_now(f, f->pods, "a", "x");
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    snprintf(path, sizeof(path), "%s-wal", f->path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void second_owner_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_refused(f, f->path, "in use by another process");
}

static void what_is_not_our_database_is_refused(void **state)
{
    struct fixture *f = *state;
    char path[128];
    FILE *file;

    assert_refused(f, "/nonexistent/x.db", "No such file");
    assert_refused(f, f->folder, "Is a directory");
    snprintf(path, sizeof(path), "%s/text.db", f->folder);
    file = fopen(path, "w");
    for (int i = 0; i < 1000; i++)
        fputs("this is not a database, it is a text\n", file);
    fclose(file);
    assert_refused(f, path, "damaged");
    snprintf(path, sizeof(path), "%s/other.db", f->folder);
    run_sql(path, "CREATE TABLE objects(a)");
    assert_refused(f, path, "not a database of muster");
}

static void other_layout_version_is_refused(void **state)
{
    struct fixture *f = *state;

    put_now(f, f->pods, "a", "x");
    store_close(f->store);
    f->store = NULL;
    run_sql(f->path, "PRAGMA user_version=2");
    assert_refused(f, f->path, "layout 2, this muster knows layout 1");
}

static void damaged_page_is_told_when_opening(void **state)
{
    struct fixture *f = *state;
    char key[16], junk[4096];
    FILE *file;

    for (int i = 0; i < 500; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        put_now(f, f->pods, key, "some value that fills the pages up to their end, more or less");
    }
    store_close(f->store);
    f->store = NULL;
    memset(junk, 0xff, sizeof(junk));
    file = fopen(f->path, "r+");
    fseek(file, 4096 * 4, SEEK_SET);
    fwrite(junk, sizeof(junk), 1, file);
    fclose(file);
    assert_refused(f, f->path, "damaged");
}

static void doubled_key_is_told_when_opening(void **state)
{
    struct fixture *f = *state;

    put_now(f, f->pods, "a", "x");
    store_close(f->store);
    f->store = NULL;
    run_sql(f->path,
            "INSERT INTO objects SELECT id+1, revision, collection, key, value FROM objects");
    assert_refused(f, f->path, "it has /pods a twice");
}

static void log_does_not_grow_without_end(void **state)
{
    struct fixture *f = *state;
    char *bytes = calloc(1, 100000), path[128], key[16];
    struct blob *value = blob_new(bytes, 100000);
    struct stat st;

    for (int i = 0; i < 600; i++) { /* 60 MB in all */
        struct written w = write_started(f);

        snprintf(key, sizeof(key), "k%d", i % 10);
        assert_int_equal(store_put(f->pods, key, value, ended, &w), 0);
        settle_all(f);
    }
    snprintf(path, sizeof(path), "%s-wal", f->path);
    assert_int_equal(stat(path, &st), 0);
    assert_in_range(st.st_size, 1, 20000000);
    blob_unref(value);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fixture_set_up, fixture_tear_down)
        TEST(write_is_visible_only_once_on_disk),
        TEST(writes_of_one_turn_are_one_commit),
        TEST(writes_behind_a_busy_disk_are_one_commit),
        TEST(callbacks_come_in_revision_order_with_their_state),
        TEST(head_follows_every_queued_write),
        TEST(objects_survive_reopening),
        TEST(revision_never_goes_back),
        TEST(values_of_every_size_and_byte_survive),
        TEST(lists_are_ordered_by_key_within_prefix_and_after),
        TEST(close_commits_and_tells_what_is_queued),
        TEST(too_long_a_key_is_refused),
        TEST(file_is_private),
        TEST(second_owner_is_refused),
        TEST(what_is_not_our_database_is_refused),
        TEST(other_layout_version_is_refused),
        TEST(damaged_page_is_told_when_opening),
        TEST(doubled_key_is_told_when_opening),
        TEST(log_does_not_grow_without_end),
    };

    fault_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
