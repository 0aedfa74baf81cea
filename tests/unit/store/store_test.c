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

struct reading {
    struct fixture *f;
    const struct blob *kept;
    int told;
};

static bool read_item(void *arg, const struct store_item *item)
{
    struct reading *r = arg;
    char expected[64];

    snprintf(expected, sizeof(expected), "a value like others %d@%d", r->told, r->told + 1);
    assert_true(is_at(item, expected));
    if (r->told == 7)
        r->kept = store_get(r->f->pods, item->key)->value;
    r->told++;
    return true;
}

static void values_that_were_shrunk_are_read_as_they_were(void **state)
{
    struct fixture *f = *state;
    struct store_watch *watch;
    struct store_event e;
    struct written w;
    char key[16], text[64];

    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof(key), "k%02d", i);
        snprintf(text, sizeof(text), "a value like others %d", i);
        put_now(f, f->pods, key, text);
    }
    for (int round = 0; round < 2; round++) {
        struct reading r = {.f = f};

        turn(f);
        store_list(f->pods, NULL, NULL, read_item, &r);
        assert_int_equal(r.told, 20);
        assert_memory_equal(r.kept->data, "a value like others 7", 21); /* asked for meanwhile */
        r.told = 0;
        store_list_heads(f->pods, read_item, &r);
        assert_int_equal(r.told, 20);
        assert_int_equal(store_count(f->pods), 20);
        assert_int_equal(store_count_after(f->pods, NULL, "k04"), 15);
        assert_int_equal(store_damaged(f->pods, "k04"), 0);
        fixture_reopen(f);
    }
    assert_int_equal(store_watch_open(f->pods, 20, do_nothing, NULL, &watch, NULL), 0);
    put(f, f->pods, "k03", "new", &w);
    settle_all(f);
    assert_int_equal(store_watch_next(watch, &e), 1);
    assert_int_equal(e.type, STORE_MODIFIED);
    assert_memory_equal(e.previous->data, "a value like others 3", 21);
    store_watch_free(watch);
    remove_key(f, f->pods, "k05", &w);
    settle_all(f);
    assert_null(store_get(f->pods, "k05"));
    assert_int_equal(store_count(f->pods), 19);
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

static void copy(const char *from, const char *to)
{
    char command[320];

    snprintf(command, sizeof(command), "cp %s %s", from, to);
    assert_int_equal(system(command), 0);
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

/* SQLite takes a file of one byte for an empty one. */
static void file_that_was_cut_is_not_a_new_one(void **state)
{
    struct fixture *f = *state;

    put_now(f, f->pods, "a", "x");
    store_close(f->store);
    f->store = NULL;
    for (int size = 1; size < 4; size++) {
        assert_int_equal(truncate(f->path, size), 0);
        assert_refused(f, f->path, "is damaged: file is not a database");
    }
    assert_int_equal(truncate(f->path, 0), 0);
}

static void other_layout_version_is_refused(void **state)
{
    struct fixture *f = *state;

    put_now(f, f->pods, "a", "x");
    store_close(f->store);
    f->store = NULL;
    run_sql(f->path, "PRAGMA user_version=5");
    assert_refused(f, f->path, "layout 5, this muster knows layout 4");
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

static int64_t number_from(const char *path, const char *sql)
{
    sqlite3 *handle;
    sqlite3_stmt *statement;
    int64_t n;

    assert_int_equal(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, fault.real->zName),
                     SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    n = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return n;
}

/* As the version before wrote them. */
static void database_of_layout_1_is_brought_up(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    snprintf(f->path, sizeof(f->path), "%s/old.db", f->folder);
    run_sql(f->path,
            "PRAGMA page_size=4096; PRAGMA journal_mode=WAL;"
            "CREATE TABLE objects(id INTEGER PRIMARY KEY, revision INTEGER NOT NULL,"
            " collection TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL);"
            "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
            "INSERT INTO meta VALUES('revision', 9);"
            "INSERT INTO objects VALUES(1, 7, '/pods', 'a', 'x@7'), (2, 3, '/pods', 'b', 'y@3');"
            "PRAGMA application_id=0x6d757374; PRAGMA user_version=1;");
    fixture_open(f);
    assert_true(is_at(store_get(f->pods, "a"), "x@7"));
    assert_true(is_at(store_get(f->pods, "b"), "y@3"));
    assert_int_equal(store_revision(f->store), 9);
    put_now(f, f->pods, "a", "z");
    fixture_reopen(f);
    assert_true(is_at(store_get(f->pods, "a"), "z@10"));
    assert_int_equal(store_count(f->pods), 2);
    assert_int_equal(store_damage_count(f->store), 0);
    store_close(f->store);
    f->store = NULL;
    assert_int_equal(number_from(f->path, "PRAGMA auto_vacuum"), 2);
}

/* --- damage */

#define UNSEAL "PRAGMA user_version=3" /* rows are counted anew */

static void damage(struct fixture *f, const char *sql)
{
    fixture_close(f);
    run_sql(f->path, sql);
    fixture_open(f);
}

static void note_damage(void *arg, const struct store_damage *d)
{
    char *text = arg;

    snprintf(text + strlen(text), 128, "%s %s %" PRId64 ";", d->collection ? d->collection : "?",
             d->key ? d->key : "?", d->revision);
}

static void assert_damage(struct fixture *f, const char *wanted)
{
    char text[512] = "";

    store_each_damage(f->store, note_damage, text);
    assert_string_equal(text, wanted);
}

static void damaged_value_is_named_and_the_rest_served(void **state)
{
    struct fixture *f = *state;

    put_now(f, f->pods, "a", "x");
    put_now(f, f->pods, "b", "y");
    put_now(f, f->pods, "b", "y");
    put_now(f, f->jobs, "c", "z");
    damage(f, "UPDATE writes SET value='garbage' WHERE revision=3");
    assert_damage(f, "/pods b 3;");
    assert_int_equal(store_damaged(f->pods, "b"), 3);
    assert_null(store_get(f->pods, "b")); /* above all not as it was at 2 */
    assert_null(store_head(f->pods, "b"));
    assert_int_equal(store_count(f->pods), 1);
    assert_true(is_at(store_get(f->pods, "a"), "x@1"));
    assert_true(is_at(store_get(f->jobs, "c"), "z@4"));
    assert_int_equal(store_revision(f->store), 4);
    fixture_reopen(f);
    assert_damage(f, "/pods b 3;");
}

static void damage_ends_with_a_write(void **state)
{
    struct fixture *f = *state;

    put_now(f, f->pods, "a", "x");
    put_now(f, f->pods, "b", "y");
    damage(f, "UPDATE writes SET value='garbage'");
    assert_int_equal(store_damage_count(f->store), 2);
    put_now(f, f->pods, "a", "new");
    assert_damage(f, "/pods b 2;");
    remove_now(f, f->pods, "b");
    assert_damage(f, "");
    fixture_reopen(f);
    assert_damage(f, "");
    assert_true(is_at(store_get(f->pods, "a"), "new@3"));
    assert_int_equal(store_count(f->pods), 1);
}

static void damaged_key_hides_what_it_was_of(void **state)
{
    struct fixture *f = *state;

    put_now(f, f->pods, "a", "x");
    put_now(f, f->pods, "a", "y");
    put_now(f, f->pods, "b", "z");
    damage(f, "UPDATE writes SET key='q' WHERE revision=2");
    assert_damage(f, "/pods a 2;"); /* its second checksum proves that it is not q's */
    assert_null(store_get(f->pods, "a"));
    assert_true(is_at(store_get(f->pods, "b"), "z@3"));
}

static void every_column_is_checked(void **state)
{
    static const char *const changes[] = {"deletion=1", "previous=7",      "collection='/nodes'",
                                          "key='q'",    "crc=crc+1",       "value='x@2'",
                                          "revision=9", "key='a'||char(0)"};
    struct fixture *f = *state;
    char sql[128];

    for (size_t i = 0; i < ELEMS(changes); i++) {
        int64_t revision = store_next_revision(f->store);

        put_now(f, f->pods, "a", "x");
        snprintf(sql, sizeof(sql), "UPDATE writes SET %s WHERE revision=%" PRId64, changes[i],
                 revision);
        damage(f, sql);
        if (store_get(f->pods, "a") && store_get(f->pods, "a")->revision == revision)
            fail_msg("%s was not noticed", changes[i]);
        assert_true(store_damage_count(f->store) > 0);
    }
}

static void old_damage_that_was_overwritten_is_nobodys(void **state)
{
    struct fixture *f = *state;

    put_now(f, f->pods, "a", "x");
    put_now(f, f->pods, "a", "y");
    damage(f, "UPDATE writes SET value='garbage' WHERE revision=1");
    assert_damage(f, "");
    assert_true(is_at(store_get(f->pods, "a"), "y@2"));
}

static void put_json(struct fixture *f, const char *key, const char *kind)
{
    char text[256];
    int n = snprintf(text, sizeof(text),
                     "{\"apiVersion\":\"v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\","
                     "\"resourceVersion\":\"%" PRId64 "\"}}",
                     kind, key, store_next_revision(f->store));
    struct blob *value = blob_new(text, (size_t)n);
    struct written w = write_started(f);

    assert_int_equal(store_put(f->pods, key, value, ended, &w), 0);
    blob_unref(value);
    settle_all(f);
}

static void identity_is_found_in_the_value(void **state)
{
    static const char *const changes[] = {"collection='/podt'", "key='q'", "collection='', key=''",
                                          "collection='/podt', value=value||' '"};
    struct fixture *f = *state;
    char sql[160], wanted[64];

    for (size_t i = 0; i < ELEMS(changes); i++) {
        int64_t revision = store_next_revision(f->store);

        put_json(f, "a", "Pod");
        snprintf(sql, sizeof(sql), "UPDATE writes SET %s WHERE revision=%" PRId64, changes[i],
                 revision);
        damage(f, sql);
        snprintf(wanted, sizeof(wanted), "/pods a %" PRId64 ";", revision);
        assert_damage(f, wanted);
        assert_int_equal(store_damage_unidentified(f->pods), 0);
        remove_now(f, f->pods, "a");
    }
}

/* What reads as a collection in use is of that one; else it may be of any. */
static void unknown_object_may_be_any_until_it_is_given_up(void **state)
{
    static const struct {
        const char *change;
        bool any;
    } cases[] = {{"collection='', key='', value=''", true},
                 {"key='q', value='garbage'", false},
                 {"crc=crc & 0xffffffff, value='garbage'", false}}; /* as layout 2 wrote it */
    struct fixture *f = *state;
    char sql[160];
    struct written w;

    for (size_t i = 0; i < ELEMS(cases); i++) {
        int64_t revision = store_next_revision(f->store);

        put_now(f, f->pods, "a", "x");
        snprintf(sql, sizeof(sql), "UPDATE writes SET %s WHERE revision=%" PRId64, cases[i].change,
                 revision);
        damage(f, sql);
        assert_int_equal(store_damage_unidentified(f->pods), revision);
        assert_int_equal(store_damage_unidentified(f->jobs), cases[i].any ? revision : 0);
        put_now(f, f->jobs, "c", "made meanwhile");
        fixture_reopen(f);
        assert_int_equal(store_damage_unidentified(f->pods), revision);
        assert_int_equal(store_damage_forget(f->store, revision + 100, NULL, NULL), -ENOENT);
        w = write_started(f);
        assert_int_equal(store_damage_forget(f->store, revision, ended, &w), 0);
        settle_all(f);
        assert_int_equal(w.reason, 0);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(store_damage_count(f->store), 0);
            assert_int_equal(store_damage_unidentified(f->pods), 0);
            assert_int_equal(store_damaged(f->pods, "q"), 0);
            assert_non_null(store_get(f->jobs, "c"));
            fixture_reopen(f);
        }
    }
}

/* A row that says it took the place of the damaged one proves that it is history. */
static void unknown_object_that_was_written_again_is_known(void **state)
{
    struct fixture *f = *state;

    put_now(f, f->pods, "a", "x");
    put_now(f, f->pods, "a", "y");
    damage(f, "UPDATE writes SET key='q', value='garbage' WHERE revision=1");
    assert_damage(f, "");
    assert_true(is_at(store_get(f->pods, "a"), "y@2"));
    assert_int_equal(store_damage_unidentified(f->pods), 0);
}

static void damaged_revision_neither_counts_nor_shows_an_older_state(void **state)
{
    static const char *const revisions[] = {"9223372036854775807", "-3", "0"};
    struct fixture *f = *state;
    char sql[128];

    for (size_t i = 0; i < ELEMS(revisions); i++) {
        int64_t revision;

        put_now(f, f->pods, "a", "older");
        revision = store_next_revision(f->store);
        put_now(f, f->pods, "a", "newer");
        snprintf(sql, sizeof(sql), "UPDATE writes SET revision=%s WHERE revision=%" PRId64,
                 revisions[i], revision);
        damage(f, sql);
        assert_null(store_get(f->pods, "a"));
        assert_int_not_equal(store_damaged(f->pods, "a"), 0);
        assert_true(store_revision(f->store) <= revision);
        assert_true(store_revision(f->store) >= revision - 1);
        put_now(f, f->jobs, "c", "made meanwhile");
        snprintf(sql, sizeof(sql), "DELETE FROM writes WHERE revision=%s;" UNSEAL, revisions[i]);
        damage(f, sql);
        assert_true(store_get(f->pods, "a"));
    }
}

static void absurd_meta_is_not_believed(void **state)
{
    struct fixture *f = *state;

    put_now(f, f->pods, "a", "x");
    damage(f, "UPDATE meta SET value=9223372036854775807 WHERE name IN ('revision', 'horizon')");
    assert_int_equal(store_revision(f->store), 1);
    put_now(f, f->pods, "a", "y");
    fixture_reopen(f);
    assert_true(is_at(store_get(f->pods, "a"), "y@2"));
}

static void assert_refused_after(struct fixture *f, const char *sql, const char *words)
{
    store_close(f->store);
    f->store = NULL;
    run_sql(f->path, sql);
    assert_refused(f, f->path, words);
    loop_free(f->loop);
}

/* The newest of an object, and others: else it would be missing, or in an older state. */
static void missing_and_foreign_rows_are_refused(void **state)
{
    struct fixture *f = *state;

    put_json(f, "a", "Pod");
    put_json(f, "a", "Pod");
    put_json(f, "b", "Pod");
    assert_refused_after(f,
                         "CREATE TABLE kept AS SELECT * FROM writes;"
                         "DELETE FROM writes WHERE revision=2",
                         "it had 3 rows, and 2 are there");
    run_sql(f->path, "INSERT INTO writes SELECT * FROM kept WHERE revision=2");
    fixture_open(f);
    assert_non_null(store_get(f->pods, "a"));
    put_json(f, "b", "Pod");
    assert_refused_after(f,
                         "INSERT INTO kept SELECT * FROM writes WHERE revision=4;"
                         "DELETE FROM writes WHERE revision=4",
                         "it had 4 rows, and 3 are there");
    run_sql(f->path, "INSERT INTO writes SELECT * FROM kept WHERE revision=4;"
                     "UPDATE meta SET value=value+1 WHERE name='rows'");
    fixture_open(f); /* the sum says that none is missing */
    put_json(f, "c", "Pod");
    assert_refused_after(f, "DELETE FROM writes WHERE revision=5",
                         "it had 5 rows, and 4 are there");
    run_sql(f->path, UNSEAL); /* as docs/storage.md says */
    fixture_open(f);
    assert_null(store_get(f->pods, "c"));
    assert_int_equal(store_count(f->pods), 2);
}

/* Its number of rows may be what is damaged in it, and agree with a missing row. */
static void damaged_seal_proves_nothing_by_its_number(void **state)
{
    static const char *const harmless[] = {"sum", "rows", "crc", "horizon", "revision"};
    struct fixture *f = *state;
    char sql[128];

    put_json(f, "a", "Pod");
    put_json(f, "b", "Pod");
    for (size_t i = 0; i < ELEMS(harmless); i++) { /* the others prove that all rows are there */
        put_json(f, "a", "Pod");
        snprintf(sql, sizeof(sql), "UPDATE meta SET value=value+1 WHERE name='%s'", harmless[i]);
        damage(f, sql);
        assert_int_equal(store_count(f->pods), 2);
    }
    put_json(f, "a", "Pod");
    assert_refused_after(f,
                         "UPDATE meta SET value=value-1 WHERE name='rows';"
                         "DELETE FROM writes WHERE revision=(SELECT max(revision) FROM writes)",
                         "does not prove that all rows are there");
    run_sql(f->path, UNSEAL);
    fixture_open(f);
    assert_int_equal(store_count(f->pods), 2);
}

static void missing_rows_of_meta_are_named_and_made_anew(void **state)
{
    static const char *const missing[] = {"1",           "name='horizon'", "name='revision'",
                                          "name='rows'", "name='sum'",     "name='crc'"};
    struct fixture *f = *state;
    struct store_watch *w;
    char sql[128];

    assert_refused_after(f, "DELETE FROM meta", "rows of its table meta are missing");
    run_sql(f->path, UNSEAL); /* as docs/storage.md says */
    fixture_open(f);
    for (size_t i = 0; i < ELEMS(missing); i++) {
        auto_err err = ERR_INIT;

        put_json(f, "a", "Pod");
        snprintf(sql, sizeof(sql), "DELETE FROM meta WHERE %s", missing[i]);
        assert_refused_after(f, sql, "is damaged: rows of its table meta are missing");
        run_sql(f->path, UNSEAL);
        fixture_open(f);
        assert_int_equal(store_revision(f->store), 3 * i + 1);
        assert_int_equal(store_get(f->pods, "a")->revision, 3 * i + 1);
        if (i < 2) /* the horizon was missing */
            assert_int_equal(store_watch_open(f->pods, 0, do_nothing, NULL, &w, &err), -ESTALE);
        put_json(f, "b", "Pod");
        remove_now(f, f->pods, "b");
        fixture_reopen(f);
        assert_int_equal(store_count(f->pods), 1);
    }
}

/* --- the log of a daemon that was killed */

#define FRAME_BYTES (4096 + 24)

static void name_of_log(const struct fixture *f, char ret[128])
{
    snprintf(ret, 128, "%s-wal", f->path);
}

/* Its files are set aside as they are while it runs; nothing is closed in them. */
static void kill_store(struct fixture *f)
{
    char log[128], kept[128], kept_log[132];

    name_of_log(f, log);
    snprintf(kept, sizeof(kept), "%s/kept.db", f->folder);
    snprintf(kept_log, sizeof(kept_log), "%s-wal", kept);
    copy(f->path, kept);
    copy(log, kept_log);
    store_close(f->store);
    f->store = NULL;
}

static void restore_killed(struct fixture *f)
{
    char log[128], kept[128], kept_log[132];

    name_of_log(f, log);
    snprintf(kept, sizeof(kept), "%s/kept.db", f->folder);
    snprintf(kept_log, sizeof(kept_log), "%s-wal", kept);
    copy(kept, f->path);
    copy(kept_log, log);
}

static void flip_bit(const char *path, long at)
{
    FILE *file = fopen(path, "r+");
    int byte;

    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    fputc(byte ^ 1, file);
    fclose(file);
}

/* Whether frame i of the log ends a transaction of the generation the header is of. */
static bool is_commit(const char *log, int i)
{
    unsigned char header[32], frame[24] = {0};
    FILE *file = fopen(log, "r");
    bool yes;

    assert_int_equal(fread(header, sizeof(header), 1, file), 1);
    assert_int_equal(fseek(file, 32 + (long)i * FRAME_BYTES, SEEK_SET), 0);
    yes = fread(frame, sizeof(frame), 1, file) == 1 && memcmp(frame + 8, header + 16, 8) == 0 &&
          (frame[4] || frame[5] || frame[6] || frame[7]);
    fclose(file);
    return yes;
}

/* The frame that ends the transaction with so many behind it. */
static int commit_before_last(const char *log, int behind)
{
    int commits[64], n = 0;

    for (int i = 0; i < 64; i++)
        if (is_commit(log, i))
            commits[n++] = i;
    assert_true(n > behind);
    return commits[n - 1 - behind];
}

/* In the header of a frame, its salts, its checksum and its page, and in the log's header. */
static void damaged_log_is_refused(void **state)
{
    static const long places[] = {1, 5, 9, 17, 24 + 100, 24 + 4000};
    struct fixture *f = *state;
    char log[128], words[64];

    name_of_log(f, log);
    for (int i = 0; i < 6; i++)
        put_json(f, "a", "Pod");
    kill_store(f);
    restore_killed(f);
    for (int frame = 0, end = commit_before_last(log, 2); frame <= end; frame++)
        for (size_t i = 0; i < ELEMS(places); i++) {
            restore_killed(f);
            flip_bit(log, 32 + (long)frame * FRAME_BYTES + places[i]);
            snprintf(words, sizeof(words), "-wal is damaged: frame %d is not", frame + 1);
            assert_refused(f, f->path, words);
            assert_refused(f, f->path, words); /* it was left as it is */
        }
    for (int at = 0; at < 32; at++) {
        restore_killed(f);
        flip_bit(log, at);
        assert_refused(f, f->path, "-wal is damaged: its header is not");
    }
    restore_killed(f);
    loop_free(f->loop);
    fixture_open(f);
    assert_int_equal(store_get(f->pods, "a")->revision, 6);
}

/* The way out that docs/storage.md describes. */
static void damaged_log_can_be_given_up(void **state)
{
    struct fixture *f = *state;
    char log[128];

    name_of_log(f, log);
    for (int i = 0; i < 6; i++)
        put_json(f, "a", "Pod");
    kill_store(f);
    restore_killed(f);
    flip_bit(log, 32 + (long)commit_before_last(log, 2) * FRAME_BYTES + 100);
    assert_refused(f, f->path, "is damaged: frame");
    run_sql(f->path, "PRAGMA wal_checkpoint(TRUNCATE)");
    loop_free(f->loop);
    fixture_open(f);
    assert_int_equal(store_get(f->pods, "a")->revision, 3);
    fixture_reopen(f);
    assert_int_equal(store_get(f->pods, "a")->revision, 3);
}

/* That is what a loss of power leaves, and nothing in it was acknowledged. */
static void log_that_was_cut_off_is_read_up_to_there(void **state)
{
    struct fixture *f = *state;
    char log[128];

    name_of_log(f, log);
    for (int i = 0; i < 6; i++)
        put_json(f, "a", "Pod");
    kill_store(f);
    restore_killed(f);
    flip_bit(log, 32 + (long)commit_before_last(log, 0) * FRAME_BYTES + 100);
    loop_free(f->loop);
    fixture_open(f);
    assert_int_equal(store_get(f->pods, "a")->revision, 5);
}

/* Else watches that continue from an older revision would miss writes. */
static void horizon_that_went_back_is_not_believed(void **state)
{
    struct fixture *f = *state;
    struct store_watch *w;
    auto_err err = ERR_INIT;

    for (int i = 0; i < 3; i++)
        put_json(f, "a", "Pod");
    damage(f, "DELETE FROM writes WHERE revision < 3; UPDATE meta SET value=3 WHERE "
              "name='horizon';" UNSEAL);
    put_json(f, "b", "Pod");
    damage(f, "UPDATE meta SET value=1 WHERE name='horizon'");
    assert_int_equal(store_watch_open(f->pods, 1, do_nothing, NULL, &w, &err), -ESTALE);
}

/* a and c have lost their history: revisions 1, 4 and 6 are somebody's previous, and nobody's. */
static void make_trimmed(struct fixture *f)
{
    static const char *const keys[] = {"a", "a", "b", "c", "b", "c", "c", "a", "d"};

    for (size_t i = 0; i < ELEMS(keys); i++)
        put_json(f, keys[i], "Pod");
    remove_now(f, f->pods, "d");
    put_json(f, "e", "Pod");
    damage(f, "DELETE FROM writes WHERE revision IN (1, 2, 4, 6);"
              "UPDATE meta SET value=8 WHERE name='horizon';" UNSEAL);
    put_json(f, "f", "Pod");
}

/* What is there without damage, and of which revision. */
static void look_at_all(struct fixture *f, int64_t revisions[6])
{
    for (int k = 0; k < 6; k++) {
        char key[] = {(char)('a' + k), '\0'};
        const struct store_item *item = store_get(f->pods, key);

        revisions[k] = item ? item->revision : store_damaged(f->pods, key) ? -1 : 0;
    }
}

/* No flipped bit of these columns hides an object, brings one back or shows an older state. */
static void no_bit_of_a_revision_is_silent(void **state)
{
    static const char *const columns[] = {"revision", "previous"};
    static const int rows[] = {3, 5, 7, 8, 9, 10, 11, 12};
    struct fixture *f = *state;
    int64_t before[6], after[6];
    char kept[128], sql[256];

    make_trimmed(f);
    look_at_all(f, before);
    fixture_close(f);
    snprintf(kept, sizeof(kept), "%s/kept.db", f->folder);
    copy(f->path, kept);
    for (int bit = 0; bit < 64; bit++)
        for (size_t i = 0; i < ELEMS(columns) * ELEMS(rows); i++) {
            const char *column = columns[i / ELEMS(rows)];
            int row = rows[i % ELEMS(rows)];

            copy(kept, f->path);
            snprintf(sql, sizeof(sql),
                     "UPDATE OR IGNORE writes SET %s = (%s | %" PRId64 ") - (%s & %" PRId64 ")"
                     " WHERE revision=%d",
                     column, column, (int64_t)(1ull << bit), column, (int64_t)(1ull << bit), row);
            run_sql(f->path, sql);
            fixture_open(f);
            look_at_all(f, after);
            for (int k = 0; k < 6; k++)
                if (after[k] != before[k] && after[k] != -1)
                    fail_msg("bit %d of %s of row %d: %c is at %" PRId64 " instead of %" PRId64,
                             bit, column, row, 'a' + k, after[k], before[k]);
            fixture_close(f);
        }
    fixture_open(f);
}

/* Else the older one would be the object again once the deletion is trimmed. */
static void what_a_damaged_row_hid_does_not_come_back(void **state)
{
    struct fixture *f = *state;
    struct written w, *many;

    put_json(f, "a", "Pod");
    put_json(f, "a", "Pod");
    damage(f, "UPDATE writes SET value='garbage' WHERE revision=2");
    assert_damage(f, "/pods a 2;");
    w = write_started(f);
    assert_int_equal(store_damage_forget(f->store, 2, ended, &w), 0);
    settle_all(f);
    many = calloc(5000, sizeof(*many));
    for (int i = 0; i < 5000; i++)
        put(f, f->pods, "b", "x", &many[i]);
    settle_all(f);
    free(many);
    put_now(f, f->pods, "b", "trims");
    fixture_reopen(f);
    assert_null(store_get(f->pods, "a"));
    assert_int_equal(store_damage_count(f->store), 0);
}

/* --- files that are gone */

static void write_refused(struct fixture *f, const char *words)
{
    struct written w;

    put(f, f->pods, "a", "lost", &w);
    settle_all(f);
    assert_int_equal(w.reason, ERR_UNAVAILABLE);
    if (!strstr(w.text, words))
        fail_msg("\"%s\" does not say \"%s\"", w.text, words);
}

static void writes_are_refused_while_the_files_are_gone(void **state)
{
    static const char *const files[] = {"muster.db", "muster.db-wal"};
    struct fixture *f = *state;
    char path[128], aside[128];

    put_now(f, f->pods, "a", "x");
    for (size_t i = 0; i < ELEMS(files); i++) {
        snprintf(path, sizeof(path), "%s/%s", f->folder, files[i]);
        snprintf(aside, sizeof(aside), "%s/aside", f->folder);
        assert_int_equal(rename(path, aside), 0);
        write_refused(f, "removed or replaced");
        assert_non_null(store_get(f->pods, "a"));
        fclose(fopen(path, "w"));
        write_refused(f, "removed or replaced");
        assert_int_equal(rename(aside, path), 0);
        put_now(f, f->pods, "a", "there again");
    }
}

/* --- size */

static void put_and_remove(struct fixture *f, int from, int to, bool removing)
{
    static struct written w[500];
    char key[16], *bytes = calloc(1, 8000);
    struct blob *value = blob_new(bytes, 8000);

    for (int i = from; i < to; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        w[i - from] = write_started(f);
        assert_int_equal(removing ? store_delete(f->pods, key, value, ended, &w[i - from])
                                  : store_put(f->pods, key, value, ended, &w[i - from]),
                         0);
    }
    settle_all(f);
    blob_unref(value);
    free(bytes);
}

static int64_t file_bytes(struct fixture *f)
{
    struct stat st;

    store_close(f->store);
    assert_int_equal(stat(f->path, &st), 0);
    loop_free(f->loop);
    fixture_open(f);
    return st.st_size;
}

static void space_is_given_back(void **state)
{
    struct fixture *f = *state;
    int64_t full;

    for (int i = 0; i < 4000; i += 500)
        put_and_remove(f, i, i + 500, false);
    full = file_bytes(f);
    assert_true(full > 4000 * 8000);
    for (int i = 0; i < 4000; i += 500)
        put_and_remove(f, i, i + 500, true);
    for (int i = 0; i < 300; i++)
        put_now(f, f->pods, "heartbeat", "x");
    assert_in_range(file_bytes(f), 1, full / 2);
    assert_int_equal(store_count(f->pods), 1);
}

/* However often it is written, an object takes no more than the history that is kept. */
static void updates_do_not_grow_the_file(void **state)
{
    struct fixture *f = *state;
    int64_t before;

    for (int i = 0; i < 8; i++)
        put_and_remove(f, 0, 500, false);
    before = file_bytes(f);
    for (int i = 0; i < 24; i++)
        put_and_remove(f, 0, 500, false);
    assert_in_range(file_bytes(f), 1, before + before / 10);
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
        TEST(values_that_were_shrunk_are_read_as_they_were),
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
        TEST(file_that_was_cut_is_not_a_new_one),
        TEST(other_layout_version_is_refused),
        TEST(damaged_page_is_told_when_opening),
        TEST(database_of_layout_1_is_brought_up),
        TEST(damaged_value_is_named_and_the_rest_served),
        TEST(damage_ends_with_a_write),
        TEST(damaged_key_hides_what_it_was_of),
        TEST(every_column_is_checked),
        TEST(old_damage_that_was_overwritten_is_nobodys),
        TEST(identity_is_found_in_the_value),
        TEST(unknown_object_may_be_any_until_it_is_given_up),
        TEST(unknown_object_that_was_written_again_is_known),
        TEST(damaged_revision_neither_counts_nor_shows_an_older_state),
        TEST(absurd_meta_is_not_believed),
        TEST(missing_and_foreign_rows_are_refused),
        TEST(damaged_seal_proves_nothing_by_its_number),
        TEST(missing_rows_of_meta_are_named_and_made_anew),
        TEST(damaged_log_is_refused),
        TEST(damaged_log_can_be_given_up),
        TEST(log_that_was_cut_off_is_read_up_to_there),
        TEST(horizon_that_went_back_is_not_believed),
        TEST(no_bit_of_a_revision_is_silent),
        TEST(what_a_damaged_row_hid_does_not_come_back),
        TEST(writes_are_refused_while_the_files_are_gone),
        TEST(space_is_given_back),
        TEST(updates_do_not_grow_the_file),
        TEST(log_does_not_grow_without_end),
    };

    fault_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
