/*
 * database.c - objects in one SQLite table, written by row id.
 *
 * The key of an object is looked up in memory, never here, so the table needs no index beside its
 * row id: a write touches one leaf page, and creates go to the end of the tree. The newest revision
 * is that of the newest row; only a deletion takes it away, so only a transaction with deletions
 * writes it down besides.
 *
 * locking_mode=EXCLUSIVE: the file has one owner, a second is refused at the door, and the log's
 * index lives in our memory instead of a shared file.
 */
#include "store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAYOUT_VERSION 1
#define APPLICATION_ID 0x6d757374 /* "must" */

/* Pages in the log. Long enough that a checkpoint writes each hot page once for many commits, short
 * enough that the commit behind it waits tens of milliseconds at most. */
#define CHECKPOINT_IDLE_PAGES 500
#define CHECKPOINT_BUSY_PAGES 4000

#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x

/* The lock first: whatever reads the file before it would set up sharing. secure_delete=FAST:
 * deleted secrets are wiped where that costs no extra page. */
static const char settings[] = "PRAGMA locking_mode=EXCLUSIVE;"
                               "PRAGMA page_size=4096;"
                               "PRAGMA auto_vacuum=NONE;"
                               "PRAGMA cache_size=-1024;"
                               "PRAGMA temp_store=MEMORY;"
                               "PRAGMA secure_delete=FAST;"
                               "PRAGMA journal_mode=WAL;"
                               "PRAGMA synchronous=FULL;"
                               "PRAGMA wal_autocheckpoint=0;";

static const char layout[] = "CREATE TABLE objects("
                             "id INTEGER PRIMARY KEY, revision INTEGER NOT NULL,"
                             " collection TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL);"
                             "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
                             "INSERT INTO meta VALUES('revision', 0);"
                             "PRAGMA application_id=" TEXT(
                                 APPLICATION_ID) ";"
                                                 "PRAGMA user_version=" TEXT(LAYOUT_VERSION) ";";

enum statement { BEGIN, COMMIT, ROLLBACK, PUT, REMOVE, SET_REVISION, STATEMENTS };

static const char *const statement_texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [PUT] = "INSERT OR REPLACE INTO objects VALUES(?1, ?2, ?3, ?4, ?5)",
    [REMOVE] = "DELETE FROM objects WHERE id=?1",
    [SET_REVISION] = "UPDATE meta SET value=?1 WHERE name='revision'",
};

struct database {
    sqlite3 *handle;
    sqlite3_stmt *statements[STATEMENTS];
    char *path;
    int log_pages;      /* after the last commit */
    int log_pages_left; /* by the last checkpoint that could not do its work */
};

static enum err_reason reason_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
        return ERR_UNAVAILABLE;
    default:
        return ERR_INTERNAL;
    }
}

/* --- opening */

static int open_error(struct database *d, int code, struct err *err)
{
    int r;

    switch (code & 0xff) {
    case SQLITE_BUSY:
        r = err_set(err, ERR_UNAVAILABLE, "the database %s is in use by another process", d->path);
        err_hint(err, "stop the other one first, or use another data folder");
        return r;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_DONE: /* a row that must be there is not */
        r = err_set(err, ERR_INTERNAL, "the database %s is damaged: %s", d->path,
                    sqlite3_errmsg(d->handle));
        err_hint(err, "restore the file from a copy, or move it away to start empty");
        return r;
    case SQLITE_CANTOPEN:
        return err_set(err, ERR_UNAVAILABLE, "cannot open the database %s: %s", d->path,
                       strerror(sqlite3_system_errno(d->handle)));
    default:
        return err_set(err, reason_of(code), "cannot open the database %s: %s", d->path,
                       d->handle ? sqlite3_errmsg(d->handle) : sqlite3_errstr(code));
    }
}

static int query_int(struct database *d, const char *sql, int64_t *ret)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(d->handle, sql, -1, &s, NULL);

    if (code == SQLITE_OK) {
        code = sqlite3_step(s);
        if (code == SQLITE_ROW) {
            *ret = sqlite3_column_int64(s, 0);
            code = SQLITE_OK;
        }
    }
    sqlite3_finalize(s);
    return code;
}

/* SQLite stays in another mode without an error where it cannot have the log. */
static int check_log_mode(struct database *d, struct err *err)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(d->handle, "PRAGMA journal_mode", -1, &s, NULL);
    bool wal = code == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW &&
               strcmp((const char *)sqlite3_column_text(s, 0), "wal") == 0;

    sqlite3_finalize(s);
    if (code != SQLITE_OK)
        return open_error(d, code, err);
    return wal ? 0
               : err_set(err, ERR_UNAVAILABLE,
                         "cannot open the database %s: its disk does not allow a write-ahead log",
                         d->path);
}

/* A fresh file gets the layout; any other must be ours and of this version. */
static int check_layout(struct database *d, struct err *err)
{
    int64_t application = 0, version = 0, tables = 0;
    int code = query_int(d, "PRAGMA application_id", &application);

    if (code == SQLITE_OK)
        code = query_int(d, "PRAGMA user_version", &version);
    if (code == SQLITE_OK)
        code = query_int(d, "SELECT count(*) FROM sqlite_master", &tables);
    if (code == SQLITE_OK && application == 0 && version == 0 && tables == 0)
        code = sqlite3_exec(d->handle, layout, NULL, NULL, NULL);
    else if (code == SQLITE_OK && application != APPLICATION_ID)
        return err_set(err, ERR_INTERNAL, "%s is not a database of muster", d->path);
    else if (code == SQLITE_OK && version != LAYOUT_VERSION) {
        int r = err_set(err, ERR_INTERNAL,
                        "the database %s has layout %" PRId64 ", this muster knows layout %d",
                        d->path, version, LAYOUT_VERSION);

        err_hint(err, "use the version of muster that wrote it");
        return r;
    }
    return code == SQLITE_OK ? 0 : open_error(d, code, err);
}

static int remember_log_length(void *arg, sqlite3 *handle, const char *name, int pages)
{
    struct database *d = arg;

    (void)handle;
    (void)name;
    d->log_pages = pages;
    return SQLITE_OK;
}

/* SQLite would make it readable for others. One that is there is left to SQLite: closing another
 * descriptor of it would give up the locks this process holds. */
static int create_file(const char *path, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0 && errno != EEXIST)
        return err_set(err, ERR_UNAVAILABLE, "cannot open the database %s: %s", path,
                       strerror(errno));
    if (fd >= 0)
        close(fd);
    return 0;
}

static int prepare_statements(struct database *d, struct err *err)
{
    for (size_t i = 0; i < STATEMENTS; i++) {
        int code = sqlite3_prepare_v3(d->handle, statement_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                      &d->statements[i], NULL);

        if (code != SQLITE_OK)
            return open_error(d, code, err);
    }
    return 0;
}

static int open_checked(struct database *d, struct err *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int code, r = create_file(d->path, err);

    if (r < 0)
        return r;
    code = sqlite3_open_v2(d->path, &d->handle, flags, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(d->handle, settings, NULL, NULL, NULL);
    if (code == SQLITE_OK) /* takes the lock, which is then kept */
        code = sqlite3_exec(d->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return open_error(d, code, err);
    r = check_log_mode(d, err);
    if (r == 0)
        r = check_layout(d, err);
    if (r < 0)
        return r;
    code = sqlite3_exec(d->handle, "COMMIT", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return open_error(d, code, err);
    sqlite3_wal_hook(d->handle, remember_log_length, d);
    return prepare_statements(d, err);
}

struct database *database_open(const char *path, struct err *err)
{
    struct database *d = calloc(1, sizeof(*d));

    if (!d || !(d->path = strdup(path))) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        free(d);
        return NULL;
    }
    if (open_checked(d, err) < 0) {
        database_close(d);
        return NULL;
    }
    return d;
}

void database_close(struct database *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(d->statements[i]);
    sqlite3_close(d->handle);
    free(d->path);
    free(d);
}

/* --- loading */

static void read_row(sqlite3_stmt *s, struct database_row *row)
{
    row->id = sqlite3_column_int64(s, 0);
    row->revision = sqlite3_column_int64(s, 1);
    row->collection = (const char *)sqlite3_column_text(s, 2);
    row->collection_len = (size_t)sqlite3_column_bytes(s, 2);
    row->key = (const char *)sqlite3_column_text(s, 3);
    row->key_len = (size_t)sqlite3_column_bytes(s, 3);
    row->value = sqlite3_column_blob(s, 4);
    row->value_len = (size_t)sqlite3_column_bytes(s, 4);
}

static int load_rows(struct database *d, sqlite3_stmt *s,
                     int (*fn)(void *arg, const struct database_row *row, struct err *err),
                     void *arg, int64_t *revision, struct err *err)
{
    int code, r;

    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        struct database_row row;

        read_row(s, &row);
        if (!row.collection || !row.key || (!row.value && row.value_len))
            return err_set(err, ERR_INTERNAL, "the database %s is damaged: row %" PRId64, d->path,
                           row.id);
        *revision = max_i64(*revision, row.revision);
        r = fn(arg, &row, err);
        if (r < 0)
            return r;
    }
    return code == SQLITE_DONE ? 0 : open_error(d, code, err);
}

int database_load(struct database *d,
                  int (*fn)(void *arg, const struct database_row *row, struct err *err), void *arg,
                  int64_t *ret_revision, struct err *err)
{
    sqlite3_stmt *s = NULL;
    int64_t revision = 0;
    int r, code = query_int(d, "SELECT value FROM meta WHERE name='revision'", &revision);

    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(
            d->handle, "SELECT id, revision, collection, key, value FROM objects", -1, &s, NULL);
    if (code != SQLITE_OK)
        return open_error(d, code, err);
    r = load_rows(d, s, fn, arg, &revision, err);
    sqlite3_finalize(s);
    if (r < 0)
        return r;
    sqlite3_db_release_memory(d->handle); /* the pages just read will not be read again */
    *ret_revision = revision;
    return 0;
}

/* --- writing */

static int run(struct database *d, enum statement which)
{
    sqlite3_stmt *s = d->statements[which];
    int code = sqlite3_step(s);

    (void)sqlite3_reset(s); /* says again what step said */
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int put(struct database *d, const struct change *c)
{
    sqlite3_stmt *s = d->statements[PUT];

    /* the change outlives the step, so nothing is copied; binding prepared places cannot fail */
    (void)sqlite3_bind_int64(s, 1, c->id);
    (void)sqlite3_bind_int64(s, 2, c->revision);
    (void)sqlite3_bind_text(s, 3, c->collection_name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(s, 4, c->key, (int)c->key_len, SQLITE_STATIC);
    /* TOOBIG leaves NULL in its place, which the column refuses */
    (void)sqlite3_bind_text64(s, 5, c->value->data, c->value->len, SQLITE_STATIC, SQLITE_UTF8);
    return run(d, PUT);
}

static int remove_row(struct database *d, const struct change *c)
{
    (void)sqlite3_bind_int64(d->statements[REMOVE], 1, c->id);
    return run(d, REMOVE);
}

static int set_revision(struct database *d, int64_t revision)
{
    (void)sqlite3_bind_int64(d->statements[SET_REVISION], 1, revision);
    return run(d, SET_REVISION);
}

static int write_all(struct database *d, const struct change *first, int64_t newest)
{
    bool deletions = false;
    int code = run(d, BEGIN);

    for (const struct change *c = first; c && code == SQLITE_OK; c = c->next) {
        code = c->deletion ? remove_row(d, c) : put(d, c);
        deletions |= c->deletion;
    }
    if (code == SQLITE_OK && deletions)
        code = set_revision(d, newest);
    return code == SQLITE_OK ? run(d, COMMIT) : code;
}

static void roll_back(struct database *d)
{
    if (!sqlite3_get_autocommit(d->handle))
        (void)run(d, ROLLBACK); /* when even this fails the next BEGIN does, and says so */
}

/* A transaction that failed at the very end lies whole in the log, and recovery would find it. A
 * commit of its own in the same place makes sure that it does not, and that its revisions are not
 * used again. When the disk does not take that either, the outcome is open until it does. */
static void bury(struct database *d, int64_t newest)
{
    int code = run(d, BEGIN);

    if (code == SQLITE_OK)
        code = set_revision(d, newest);
    if (code == SQLITE_OK)
        code = run(d, COMMIT);
    if (code != SQLITE_OK)
        roll_back(d);
}

static int64_t newest_of(const struct change *first)
{
    while (first->next)
        first = first->next;
    return first->revision;
}

int database_commit(struct database *d, const struct change *first,
                    struct database_failure *ret_failure)
{
    int64_t newest = newest_of(first);
    int code = write_all(d, first, newest);

    if (code == SQLITE_OK)
        return 0;
    ret_failure->reason = reason_of(code);
    snprintf(ret_failure->text, sizeof(ret_failure->text), "%s", sqlite3_errmsg(d->handle));
    roll_back(d);
    bury(d, newest);
    return err_errno(ret_failure->reason);
}

void database_checkpoint(struct database *d, bool idle)
{
    int limit = idle ? CHECKPOINT_IDLE_PAGES : CHECKPOINT_BUSY_PAGES;

    if (d->log_pages - d->log_pages_left < limit)
        return;
    if (sqlite3_wal_checkpoint_v2(d->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL) ==
        SQLITE_OK)
        d->log_pages = d->log_pages_left = 0;
    else
        d->log_pages_left = d->log_pages; /* not again on every commit */
}
