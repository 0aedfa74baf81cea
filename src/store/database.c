/*
 * database.c - every write is a row of one SQLite table, and rows are only added (layout.h).
 *
 * Objects are looked up in memory, never here, so the table needs no index besides its revision: a
 * write touches one leaf page, at the end of the tree. Rows that are only history are deleted in
 * the transactions of later writes, some at a time, and free pages are returned the same way, so
 * that housekeeping costs no extra sync.
 *
 * When the disk is full (space.h) history is given up first: rows are then replaced, not added.
 *
 * locking_mode=EXCLUSIVE: the file has one owner, a second is refused, and the log's index is in
 * our memory instead of a shared file.
 */
#include "store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/history.h"
#include "store/log_check.h"
#include "store/presence.h"
#include "store/space.h"

/* Pages in the log. Long enough that a checkpoint writes each hot page once for many commits, short
 * enough that the following commit waits tens of milliseconds at most. */
#define CHECKPOINT_IDLE_PAGES 500
#define CHECKPOINT_BUSY_PAGES 4000
#define CHECKPOINT_FULL_PAGES 64 /* the log must not outgrow its reserved space */

/* History kept for watches: replaced rows, and roughly their bytes. */
#define HISTORY_ROWS 4096u
#define HISTORY_BYTES (8 * 1024 * 1024)
/* A revision this far beyond the newest row that is whole is damage, not a number to continue from.
 */
#define REVISION_LEAP ((int64_t)1 << 32)
#define TRIM_ROWS 128u /* deleted at once, and twice what the transaction adds */

/* Some free pages are kept for reuse; the rest are returned, at most this many per transaction. */
#define FREE_PAGES_KEPT 256
#define VACUUM_PAGES 32
/* Overwriting is faster than growing: the log is truncated only while idle. */
#define LOG_AT_REST_BYTES (CHECKPOINT_IDLE_PAGES * 5 * 1024)

/* Upper bound of new pages for a row with its names and numbers, and for the pages that point to
 * them. Asking SQLite costs a quarter of adding a row. */
#define PAGES_OF(bytes) ((int64_t)((bytes) + 256) / 4000 + 1)
#define PARENT_PAGES 12

/* Reserved for existing objects: they can still grow on a full disk. */
#define SPARE_PAGES 32

/* The lock first: any earlier read of the file would set up sharing. secure_delete=FAST: deleted
 * secrets are wiped where that costs no extra page. */
static const char lock_setting[] = "PRAGMA locking_mode=EXCLUSIVE;";
static const char settings[] = "PRAGMA cache_size=-1024;"
                               "PRAGMA temp_store=MEMORY;"
                               "PRAGMA secure_delete=FAST;"
                               "PRAGMA synchronous=FULL;"
                               "PRAGMA journal_mode=WAL;"
                               "PRAGMA wal_autocheckpoint=0;";
/* For an empty file. Switching to the log syncs what this wrote. */
static const char first_settings[] = "PRAGMA page_size=4096;"
                                     "PRAGMA synchronous=OFF;"
                                     "PRAGMA auto_vacuum=INCREMENTAL;";

enum statement {
    BEGIN,
    COMMIT,
    ROLLBACK,
    ADD,
    FIND,
    REMOVE,
    SEAL,
    COUNT_PAGES,
    COUNT_FREE,
    VACUUM,
    STATEMENTS
};

static const char seal_text[] =
    "UPDATE meta SET value = CASE name WHEN 'revision' THEN ?1 WHEN 'horizon' THEN ?2"
    " WHEN 'rows' THEN ?3 WHEN 'sum' THEN ?4 ELSE ?5 END";

static const char *const statement_texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [ADD] = "INSERT INTO writes VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [FIND] = "SELECT crc FROM writes WHERE revision=?1",
    [REMOVE] = "DELETE FROM writes WHERE revision=?1",
    [SEAL] = seal_text,
    [COUNT_PAGES] = "PRAGMA page_count",
    [COUNT_FREE] = "PRAGMA freelist_count",
    [VACUUM] = "PRAGMA incremental_vacuum(" STRINGIFY(VACUUM_PAGES) ")",
};

struct database {
    sqlite3 *handle;
    sqlite3_stmt *statements[STATEMENTS];
    char *path, *log_path;
    int log_pages;      /* after the last commit */
    int log_pages_left; /* by the last checkpoint that could not finish */
    int64_t most_pages; /* the file can have by now */
    bool has_spare;     /* free pages, perhaps more than are kept */
    struct seal seal;   /* of the last commit */
    struct history history;
    struct space space;
    struct presence presence;
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

static const char missing_rows_hint[] =
    "restore the file from a backup, or see \"Rows that are missing\" in docs/storage.md";

static int open_error(struct database *d, int code, struct err *err)
{
    int r;

    switch (code & 0xff) {
    case SQLITE_BUSY:
        r = err_set(err, ERR_UNAVAILABLE, "the database %s is in use by another process", d->path);
        err_hint(err, "stop the other one first, or use another data folder");
        return r;
    case SQLITE_DONE:
        r = err_set(err, ERR_INTERNAL,
                    "the database %s is damaged: rows of its table meta are missing", d->path);
        err_hint(err, missing_rows_hint);
        return r;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        r = err_set(err, ERR_INTERNAL, "the database %s is damaged: %s", d->path,
                    sqlite3_errcode(d->handle) == SQLITE_OK ? sqlite3_errstr(code)
                                                            : sqlite3_errmsg(d->handle));
        err_hint(err, "restore the file from a backup");
        return r;
    case SQLITE_CANTOPEN:
        return err_set(err, ERR_UNAVAILABLE, "cannot open the database %s: %s", d->path,
                       strerror(sqlite3_system_errno(d->handle)));
    default:
        return err_set(err, reason_of(code), "cannot open the database %s: %s", d->path,
                       d->handle ? sqlite3_errmsg(d->handle) : sqlite3_errstr(code));
    }
}

/* SQLite silently stays in another mode where it cannot use the log. */
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

/* A damaged one is left as it is: closing would else move what SQLite found of it. */
static int check_log(struct database *d, struct err *err)
{
    int r = log_check(d->log_path, d->space.fd, err);

    if (r < 0)
        (void)sqlite3_db_config(d->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return r;
}

static int prepare_layout(struct database *d, struct err *err)
{
    int code = SQLITE_OK, r = layout_prepare(d->handle, d->path, &code, err);

    return code == SQLITE_OK ? r : open_error(d, code, err);
}

/* Files of older versions return no pages until they are rewritten. If that is impossible now they
 * stay as they are. */
static void allow_vacuum(struct database *d)
{
    int64_t mode = 0;

    if (layout_query(d->handle, "PRAGMA auto_vacuum", &mode) == SQLITE_OK && mode != 2)
        (void)sqlite3_exec(d->handle, "PRAGMA auto_vacuum=INCREMENTAL; VACUUM", NULL, NULL, NULL);
}

static int remember_log_length(void *arg, sqlite3 *handle, const char *name, int pages)
{
    struct database *d = arg;

    (void)handle;
    (void)name;
    d->log_pages = pages;
    return SQLITE_OK;
}

/* SQLite would make it readable for others. An existing one is left to SQLite: closing another
 * descriptor of it would drop this process's locks. */
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

/* At each checkpoint SQLite truncates the file to a multiple of this. */
static void keep_size(struct database *d, int64_t bytes)
{
    int64_t times = bytes / SPACE_STEP_BYTES / SPACE_MOST_STEPS + 1;
    int64_t steps = (bytes / times + SPACE_STEP_BYTES - 1) / SPACE_STEP_BYTES;
    int chunk = (int)max_i64(steps, 1) * SPACE_STEP_BYTES;

    (void)sqlite3_file_control(d->handle, NULL, SQLITE_FCNTL_CHUNK_SIZE, &chunk);
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
    int code, keep = 1, r = create_file(d->path, err);
    struct stat st = {0};

    if (r < 0)
        return r;
    code = sqlite3_open_v2(d->path, &d->handle, flags, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(d->handle, lock_setting, NULL, NULL, NULL);
    if (code == SQLITE_OK && stat(d->path, &st) == 0 && st.st_size == 1)
        code = SQLITE_NOTADB; /* SQLite would take it for empty */
    if (code == SQLITE_OK && st.st_size == 0)
        code = sqlite3_exec(d->handle, first_settings, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(d->handle, settings, NULL, NULL, NULL);
    if (code == SQLITE_OK) /* takes the lock, which is then kept */
        code = sqlite3_exec(d->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return open_error(d, code, err);
    space_init(&d->space, d->path, d->log_path);
    r = check_log_mode(d, err);
    if (r == 0)
        r = check_log(d, err);
    if (r == 0)
        r = prepare_layout(d, err);
    if (r < 0)
        return r;
    code = sqlite3_exec(d->handle, "COMMIT", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return open_error(d, code, err);
    allow_vacuum(d);
    sqlite3_wal_hook(d->handle, remember_log_length, d);
    (void)sqlite3_file_control(d->handle, NULL, SQLITE_FCNTL_PERSIST_WAL, &keep);
    if (stat(d->path, &st) == 0)
        keep_size(d, st.st_size);
    d->has_spare = true;
    presence_note(&d->presence, d->path, d->log_path);
    return prepare_statements(d, err);
}

struct database *database_open(const char *path, struct err *err)
{
    struct database *d = calloc(1, sizeof(*d));

    if (!d || !(d->path = strdup(path)) || asprintf(&d->log_path, "%s-wal", path) < 0) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        if (d)
            free(d->path);
        free(d);
        return NULL;
    }
    if (open_checked(d, err) < 0) {
        database_close(d);
        return NULL;
    }
    return d;
}

/* Only if it was opened successfully, and everything in the log was moved to the file. */
static bool empties_log(struct database *d)
{
    int pages = -1, moved = -2;

    return !presence_check(&d->presence) &&
           sqlite3_wal_checkpoint_v2(d->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &moved) ==
               SQLITE_OK &&
           pages == moved;
}

void database_close(struct database *d)
{
    bool emptied;

    if (!d)
        return;
    for (size_t i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(d->statements[i]);
    emptied = d->presence.inodes[0] && empties_log(d);
    if (sqlite3_close(d->handle) == SQLITE_OK && emptied)
        space_empty_log(d->log_path);
    space_release(&d->space);
    history_release(&d->history);
    free(d->log_path);
    free(d->path);
    free(d);
}

/* --- loading */

static void read_row(sqlite3_stmt *s, struct row *row)
{
    row->revision = sqlite3_column_int64(s, 0);
    row->previous = sqlite3_column_int64(s, 1);
    row->deletion = sqlite3_column_int(s, 2) != 0;
    row->collection = (const char *)sqlite3_column_text(s, 3);
    row->collection_len = (size_t)sqlite3_column_bytes(s, 3);
    row->key = (const char *)sqlite3_column_text(s, 4);
    row->key_len = (size_t)sqlite3_column_bytes(s, 4);
    row->value = sqlite3_column_blob(s, 5);
    row->value_len = (size_t)sqlite3_column_bytes(s, 5);
    row->crc = sqlite3_column_int64(s, 6);
}

static bool is_damaged(struct row *row)
{
    bool damaged = !row->collection || !row->key || (!row->value && row->value_len) ||
                   !row_is_whole(row);

    row->collection = row->collection ? row->collection : "";
    row->key = row->key ? row->key : "";
    return damaged;
}

/* A row that is only history now, and for a deletion its own row, too. */
static int add_history(struct database *d, const struct row *row, bool damaged,
                       const struct database_loading *l)
{
    int64_t bytes = (int64_t)(row->key_len + row->value_len);
    int64_t since = min_i64(row->revision, l->newest);

    if (history_reserve(&d->history, 2) < 0)
        return -ENOMEM;
    if (l->past)
        history_add(&d->history, (struct history_row){l->past, since, bytes});
    if (row->deletion && !damaged && l->past != row->revision)
        history_add(&d->history, (struct history_row){row->revision, since, bytes});
    return 0;
}

static int refuse_rows(struct database *d, int64_t found, struct err *err)
{
    int r = !d->seal.whole
                ? err_set(err, ERR_INTERNAL,
                          "the database %s is damaged: the seal in its table meta is, and does not "
                          "prove that all rows are there",
                          d->path)
            : d->seal.rows == found
                ? err_set(err, ERR_INTERNAL,
                          "the database %s is damaged: rows in it are not those that were written",
                          d->path)
                : err_set(err, ERR_INTERNAL,
                          "the database %s is damaged: it had %" PRId64 " rows, and %" PRId64
                          " are there",
                          d->path, d->seal.rows, found);

    err_hint(err, missing_rows_hint);
    return r;
}

static int load_rows(struct database *d, sqlite3_stmt *s, struct database_loading *l,
                     struct err *err)
{
    struct seal read = {.revision = l->newest, .horizon = l->horizon};
    bool any_damaged = false;
    int code, r;

    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        struct row row;
        bool damaged;

        read_row(s, &row);
        seal_add(&read, row.crc, 1);
        damaged = is_damaged(&row);
        any_damaged |= damaged;
        l->past = 0;
        r = l->row(l, &row, damaged, err);
        if (r == 0 && add_history(d, &row, damaged, l) < 0)
            r = err_set(err, ERR_INTERNAL, "out of memory");
        if (r < 0)
            return r;
    }
    if (code != SQLITE_DONE)
        return open_error(d, code, err);
    if (!seal_matches(&d->seal, &read, any_damaged))
        return refuse_rows(d, read.rows, err);
    d->seal = read;
    return 0;
}

#define ROW_COLUMNS "revision, previous, deletion, collection, key, value, crc"

static int newest_whole_row(struct database *d, int64_t *ret)
{
    static const char sql[] = "SELECT " ROW_COLUMNS " FROM writes ORDER BY revision DESC";
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(d->handle, sql, -1, &s, NULL);
    struct row row;

    *ret = 0;
    while (code == SQLITE_OK && *ret == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
        code = SQLITE_OK;
        read_row(s, &row);
        if (!is_damaged(&row))
            *ret = row.revision;
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* A damaged row's revision must not be given away again either, unless it is absurd. */
static int newest_row(struct database *d, int64_t most, int64_t *ret)
{
    char sql[96];

    (void)snprintf(sql, sizeof(sql), "SELECT max(revision) FROM writes WHERE revision <= %" PRId64,
                   most);
    return layout_query(d->handle, sql, ret);
}

static int read_meta(struct database *d, struct database_loading *l)
{
    int64_t last = 0, most;
    int code = newest_whole_row(d, &last);

    most = last + REVISION_LEAP;
    if (code == SQLITE_OK)
        code = newest_row(d, most, &last);
    if (code == SQLITE_OK)
        code = layout_read_seal(d->handle, &d->seal);
    l->newest = max_i64(d->seal.revision > most ? 0 : d->seal.revision, last);
    l->newest = max_i64(l->newest, d->seal.horizon > most ? 0 : d->seal.horizon);
    l->horizon = d->seal.whole ? min_i64(d->seal.horizon, l->newest) : l->newest;
    return code;
}

int database_load(struct database *d, struct database_loading *l, struct err *err)
{
    sqlite3_stmt *s = NULL;
    int r, code = read_meta(d, l);

    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(d->handle, "SELECT " ROW_COLUMNS " FROM writes ORDER BY revision",
                                  -1, &s, NULL);
    if (code != SQLITE_OK)
        return open_error(d, code, err);
    l->horizon = max_i64(l->horizon, l->newest - (int64_t)HISTORY_ROWS);
    r = load_rows(d, s, l, err);
    sqlite3_finalize(s);
    sqlite3_db_release_memory(d->handle); /* the pages just read will not be read again */
    return r;
}

/* --- writing */

static int run(struct database *d, enum statement which)
{
    sqlite3_stmt *s = d->statements[which];
    int code;

    do {
        code = sqlite3_step(s);
    } while (code == SQLITE_ROW);
    (void)sqlite3_reset(s); /* repeats step's result */
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int run_with(struct database *d, enum statement which, int64_t number)
{
    (void)sqlite3_bind_int64(d->statements[which], 1, number);
    return run(d, which);
}

static int64_t count(struct database *d, enum statement which)
{
    sqlite3_stmt *s = d->statements[which];
    int64_t n = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;

    (void)sqlite3_reset(s);
    return n;
}

static int add(struct database *d, const struct change *c, struct seal *seal)
{
    sqlite3_stmt *s = d->statements[ADD];
    struct row row = {.revision = c->revision,
                      .previous = c->replaces,
                      .deletion = c->deletion,
                      .collection = c->collection_name,
                      .collection_len = strlen(c->collection_name),
                      .key = c->key,
                      .key_len = c->key_len,
                      .value = c->value->data,
                      .value_len = c->value->len};

    /* the change outlives the step, so nothing is copied; binding prepared parameters cannot
     * fail */
    (void)sqlite3_bind_int64(s, 1, row.revision);
    (void)sqlite3_bind_int64(s, 2, row.previous);
    (void)sqlite3_bind_int(s, 3, row.deletion);
    (void)sqlite3_bind_text(s, 4, row.collection, (int)row.collection_len, SQLITE_STATIC);
    (void)sqlite3_bind_text(s, 5, row.key, (int)row.key_len, SQLITE_STATIC);
    /* TOOBIG leaves NULL, which the column refuses */
    (void)sqlite3_bind_text64(s, 6, row.value, row.value_len, SQLITE_STATIC, SQLITE_UTF8);
    row.crc = row_crc(&row);
    (void)sqlite3_bind_int64(s, 7, row.crc);
    seal_add(seal, row.crc, 1);
    return run(d, ADD);
}

static int remove_row(struct database *d, int64_t revision, struct seal *seal)
{
    sqlite3_stmt *find = d->statements[FIND];
    int code;

    (void)sqlite3_bind_int64(find, 1, revision);
    code = sqlite3_step(find);
    if (code == SQLITE_ROW)
        seal_add(seal, sqlite3_column_int64(find, 0), -1);
    (void)sqlite3_reset(find);
    return code == SQLITE_DONE  ? SQLITE_OK
           : code == SQLITE_ROW ? run_with(d, REMOVE, revision)
                                : code;
}

static int write_seal(struct database *d, const struct seal *seal)
{
    sqlite3_stmt *s = d->statements[SEAL];
    const int64_t values[] = {seal->revision, seal->horizon, seal->rows, seal->sum, seal_crc(seal)};

    for (size_t i = 0; i < ELEMS(values); i++)
        (void)sqlite3_bind_int64(s, (int)i + 1, values[i]);
    return run(d, SEAL);
}

/* One transaction: new rows and deleted ones. */
struct transaction {
    const struct change *first;
    size_t count, trimmed;
    int64_t newest, most_pages;
    struct seal seal;
    bool creates;
    bool in_place; /* no history: rows are replaced */
};

static struct transaction transaction_of(const struct change *first)
{
    struct transaction t = {.first = first};

    for (const struct change *c = first; c; c = c->next) {
        t.count++;
        t.newest = c->revision;
        t.most_pages += PAGES_OF(c->key_len + c->value->len);
        t.creates |= !c->replaces;
    }
    return t;
}

static int write_changes(struct database *d, struct transaction *t)
{
    int code = SQLITE_OK;

    for (const struct change *c = t->first; c && code == SQLITE_OK; c = c->next) {
        if (t->in_place && c->replaces)
            code = remove_row(d, c->replaces, &t->seal);
        if (code == SQLITE_OK && !(t->in_place && c->deletion))
            code = add(d, c, &t->seal);
    }
    t->seal.revision = t->newest;
    return code;
}

/* How many of the oldest history rows to delete. Those of one write go together. */
static size_t too_many(const struct history *h, const struct transaction *t)
{
    size_t rows = t->in_place ? 0 : HISTORY_ROWS, n = 0;
    int64_t bytes = t->in_place ? 0 : HISTORY_BYTES, left = h->bytes;
    size_t most = min_size(h->count, TRIM_ROWS + 2 * t->count);

    if (!t->in_place && h->count < rows + TRIM_ROWS && left < bytes + bytes / 16)
        return 0;
    while (n < most && (h->count - n > rows || left > bytes))
        left -= history_at(h, n++)->bytes;
    while (n > 0 && n < h->count && history_at(h, n)->since == history_at(h, n - 1)->since)
        n++;
    return n;
}

static int trim(struct database *d, struct transaction *t)
{
    int64_t horizon = t->in_place ? t->newest : t->seal.horizon;
    int code = SQLITE_OK;

    t->trimmed = too_many(&d->history, t);
    for (size_t i = 0; i < t->trimmed && code == SQLITE_OK; i++) {
        code = remove_row(d, history_at(&d->history, i)->revision, &t->seal);
        horizon = max_i64(horizon, history_at(&d->history, i)->since);
    }
    t->seal.horizon = horizon;
    return code == SQLITE_OK ? write_seal(d, &t->seal) : code;
}

static int give_back_pages(struct database *d, const struct transaction *t)
{
    int64_t spare;

    d->has_spare |= t->trimmed > 0 || t->in_place;
    if (!d->has_spare || t->in_place)
        return SQLITE_OK;
    spare = count(d, COUNT_FREE);
    d->has_spare = spare > FREE_PAGES_KEPT && spare > count(d, COUNT_PAGES) / 4;
    if (!d->has_spare)
        return SQLITE_OK;
    d->space.allocated_pages = 0; /* the next checkpoint truncates the file */
    return run(d, VACUUM);
}

static int take_pages(struct database *d, const struct transaction *t)
{
    int64_t spare = t->in_place && !t->creates ? 0 : SPARE_PAGES;

    d->most_pages += t->most_pages;
    if (!t->trimmed && d->most_pages + PARENT_PAGES + spare <= d->space.allocated_pages)
        return SQLITE_OK;
    d->most_pages = count(d, COUNT_PAGES);
    if (!space_want_pages(&d->space, d->most_pages + spare))
        return SQLITE_FULL;
    if (spare)
        keep_size(d, d->space.allocated_pages * SPACE_PAGE_BYTES);
    return SQLITE_OK;
}

static int write_all(struct database *d, struct transaction *t)
{
    int code = run(d, BEGIN);

    t->seal = d->seal;
    if (code == SQLITE_OK)
        code = write_changes(d, t);
    if (code == SQLITE_OK)
        code = trim(d, t);
    if (code == SQLITE_OK)
        code = give_back_pages(d, t);
    if (code == SQLITE_OK)
        code = take_pages(d, t);
    return code == SQLITE_OK ? run(d, COMMIT) : code;
}

static void roll_back(struct database *d)
{
    d->space.allocated_pages = 0; /* the counted pages were not added */
    if (!sqlite3_get_autocommit(d->handle))
        (void)run(d, ROLLBACK); /* if even this fails the next BEGIN does, and reports it */
}

/* A transaction that failed at the very end is complete in the log, and recovery would find it.
 * Another commit in the same place makes sure it does not, and that its revisions are not reused.
 * If the disk refuses that too, the outcome is open until it does not. */
static void bury(struct database *d, int64_t newest)
{
    struct seal seal = d->seal;
    int code = run(d, BEGIN);

    seal.revision = newest;
    if (code == SQLITE_OK)
        code = write_seal(d, &seal);
    if (code == SQLITE_OK)
        code = run(d, COMMIT);
    if (code == SQLITE_OK)
        d->seal = seal;
    else
        roll_back(d);
}

static void checkpoint_now(struct database *d)
{
    if (sqlite3_wal_checkpoint_v2(d->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL) ==
        SQLITE_OK)
        d->log_pages = d->log_pages_left = 0;
    else
        d->log_pages_left = d->log_pages; /* not again on every commit */
}

/* Retries without adding anything, from the start of an empty log. */
static int write_in_place(struct database *d, struct transaction *t)
{
    checkpoint_now(d);
    t->in_place = true;
    return write_all(d, t);
}

static void committed(struct database *d, const struct transaction *t)
{
    d->seal = t->seal;
    history_drop(&d->history, t->trimmed);
    for (const struct change *c = t->first; c && !t->in_place; c = c->next) {
        int64_t bytes = (int64_t)(c->key_len + c->value->len);

        if (c->replaces)
            history_add(&d->history, (struct history_row){c->replaces, c->revision, bytes});
        if (c->deletion)
            history_add(&d->history, (struct history_row){c->revision, c->revision, bytes});
    }
}

static int refuse(struct database_failure *failure, enum err_reason reason, const char *text)
{
    failure->reason = reason;
    (void)snprintf(failure->text, sizeof(failure->text), "%s", text);
    return err_errno(reason);
}

int database_commit(struct database *d, const struct change *first,
                    struct database_failure *ret_failure)
{
    struct transaction t = transaction_of(first);
    const char *gone = presence_check(&d->presence);
    int code, r;

    if (gone)
        return refuse(ret_failure, ERR_UNAVAILABLE, gone);
    if (history_reserve(&d->history, 2 * t.count) < 0)
        return refuse(ret_failure, ERR_INTERNAL, "out of memory");
    space_look_again(&d->space);
    t.in_place = d->space.scarce;
    code = write_all(d, &t);
    if ((code & 0xff) == SQLITE_FULL && !t.in_place) {
        roll_back(d);
        d->space.scarce = true;
        if (!t.creates)
            code = write_in_place(d, &t);
    }
    if (code == SQLITE_OK) {
        committed(d, &t);
        return 0;
    }
    r = refuse(ret_failure, reason_of(code), sqlite3_errstr(code));
    roll_back(d);
    bury(d, t.newest);
    return r;
}

bool database_is_full(struct database *d)
{
    space_look_again(&d->space);
    return d->space.scarce;
}

void database_checkpoint(struct database *d, bool idle)
{
    int limit = d->space.scarce ? CHECKPOINT_FULL_PAGES
                : idle          ? CHECKPOINT_IDLE_PAGES
                                : CHECKPOINT_BUSY_PAGES;

    if (d->log_pages - d->log_pages_left >= limit)
        checkpoint_now(d);
}

static int tidy(struct database *d, struct transaction *t)
{
    int code = run(d, BEGIN);

    t->seal = d->seal;
    if (code == SQLITE_OK)
        code = trim(d, t);
    for (int64_t spare = count(d, COUNT_FREE); code == SQLITE_OK && spare > FREE_PAGES_KEPT;
         spare -= VACUUM_PAGES)
        code = run(d, VACUUM);
    return code == SQLITE_OK ? run(d, COMMIT) : code;
}

/* Whether file or log have more slack than is worth a transaction. */
static bool is_loose(struct database *d)
{
    struct stat file, log;
    int64_t used = count(d, COUNT_PAGES) - count(d, COUNT_FREE);

    return stat(d->path, &file) == 0 && stat(d->log_path, &log) == 0 &&
           (log.st_size > LOG_AT_REST_BYTES ||
            file.st_size / SPACE_PAGE_BYTES > used + 3 * FREE_PAGES_KEPT / 2);
}

void database_rest(struct database *d)
{
    struct transaction t = {.count = d->history.count};

    sqlite3_db_release_memory(d->handle); /* its cache is of no use to writes that do not come */
    if (d->space.scarce || presence_check(&d->presence) || !is_loose(d))
        return;
    if (tidy(d, &t) == SQLITE_OK)
        committed(d, &t);
    else
        roll_back(d);
    d->space.allocated_pages = 0;
    d->most_pages = count(d, COUNT_PAGES);
    keep_size(d, d->most_pages * SPACE_PAGE_BYTES);
    if (sqlite3_wal_checkpoint_v2(d->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
        SQLITE_OK)
        d->log_pages = d->log_pages_left = 0;
    space_reserve_log(&d->space);
}
