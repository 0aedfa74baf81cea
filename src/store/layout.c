/* layout.c - see layout.h. */
#include "store/layout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/crc32c.h"

#define LAYOUT_VERSION 4
#define APPLICATION_ID 0x6d757374 /* "must" */

#define NOT_COUNTED -1

#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x

static const char writes_table[] =
    "CREATE TABLE writes("
    "revision INTEGER PRIMARY KEY, previous INTEGER NOT NULL, deletion INTEGER NOT NULL,"
    " collection TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, crc INTEGER NOT NULL);";

static const char meta_table[] = "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
                                 "INSERT INTO meta VALUES('revision', 0), ('horizon', 0);";

static const char seal_rows[] = "INSERT OR REPLACE INTO meta VALUES('rows', " TEXT(
    NOT_COUNTED) "), ('sum', 0), ('crc', 0);";

static const char version[] = "PRAGMA application_id=" TEXT(
    APPLICATION_ID) ";"
                    "PRAGMA user_version=" TEXT(LAYOUT_VERSION) ";";

/* Without them nothing is known of the history. */
static const char missing_rows[] =
    "INSERT OR IGNORE INTO meta SELECT column1, (SELECT ifnull(max(revision), 0) FROM writes)"
    " FROM (VALUES('revision'), ('horizon'));";

/* Layout 1 was objects(id, revision, collection, key, value), without history or checksums. */
static const char from_layout_1[] =
    "INSERT INTO writes SELECT revision, 0, 0, collection, key, value,"
    " row_crc(revision, collection, key, value) FROM objects ORDER BY revision;"
    "UPDATE meta SET value=max(value, (SELECT ifnull(max(revision), 0) FROM writes));"
    "INSERT INTO meta SELECT 'horizon', value FROM meta WHERE name='revision';"
    "DROP TABLE objects;";

static uint32_t add_number(uint32_t crc, int64_t n)
{
    unsigned char bytes[8];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)((uint64_t)n >> (8 * i));
    return crc32c_add(crc, bytes, sizeof(bytes));
}

/* Includes lengths: bytes that moved from one column to the next are damage. */
static uint32_t whole_crc(const struct row *row)
{
    uint32_t crc = add_number(0, row->revision);

    crc = add_number(crc, (int64_t)((uint64_t)row->previous * 2 + row->deletion));
    crc = add_number(crc, (int64_t)(row->collection_len << 32 | row->key_len));
    crc = crc32c_add(crc, row->collection, row->collection_len);
    crc = crc32c_add(crc, row->key, row->key_len);
    return crc32c_add(crc, row->value, row->value_len);
}

static uint32_t identity_crc(const struct row *row)
{
    uint32_t crc = add_number(0, row->revision);

    crc = crc32c_add(crc, row->collection, row->collection_len + 1); /* with its NUL */
    return crc32c_add(crc, row->key, row->key_len);
}

int64_t row_crc(const struct row *row)
{
    return (int64_t)((uint64_t)identity_crc(row) << 32 | whole_crc(row));
}

bool row_is_whole(const struct row *row)
{
    return row->previous >= 0 && (uint32_t)row->crc == whole_crc(row);
}

bool row_is_identified(const struct row *row)
{
    uint32_t identity = (uint32_t)((uint64_t)row->crc >> 32);

    return (identity && identity == identity_crc(row)) || row_is_whole(row);
}

/* Of the lower half: the upper one may be damaged in a row that is whole. Mixed, so that two rows
 * cannot make up for each other by small differences. */
void seal_add(struct seal *seal, int64_t crc, int count)
{
    uint64_t digest = ((uint64_t)(uint32_t)crc + 1) * 0x9e3779b97f4a7c15u;

    digest = (digest ^ (digest >> 31)) * 0xbf58476d1ce4e5b9u;
    seal->rows += count;
    seal->sum = (int64_t)((uint64_t)seal->sum + (count > 0 ? digest : -digest));
}

int64_t seal_crc(const struct seal *seal)
{
    uint32_t crc = add_number(add_number(0, seal->revision), seal->horizon);

    return add_number(add_number(crc, seal->rows), seal->sum);
}

bool seal_matches(const struct seal *seal, const struct seal *read, bool damaged)
{
    bool rows = seal->rows == read->rows, sum = seal->sum == read->sum;

    if (!seal->whole) {
        struct seal counted = *seal;

        counted.rows = read->rows;
        counted.sum = read->sum;
        return sum || seal_crc(&counted) == seal->crc; /* a number of rows proves nothing */
    }
    return seal->rows == NOT_COUNTED || (rows && (sum || damaged));
}

static void sql_row_crc(sqlite3_context *context, int count, sqlite3_value **v)
{
    struct row row = {.revision = sqlite3_value_int64(v[0])};

    (void)count;
    row.collection = (const char *)sqlite3_value_text(v[1]);
    row.collection_len = (size_t)sqlite3_value_bytes(v[1]);
    row.key = (const char *)sqlite3_value_text(v[2]);
    row.key_len = (size_t)sqlite3_value_bytes(v[2]);
    row.value = (const char *)sqlite3_value_text(v[3]);
    row.value_len = (size_t)sqlite3_value_bytes(v[3]);
    sqlite3_result_int64(context, row_crc(&row));
}

int layout_query(sqlite3 *handle, const char *sql, int64_t *ret)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(handle, sql, -1, &s, NULL);

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

int layout_read_seal(sqlite3 *handle, struct seal *ret)
{
    static const char *const names[] = {"revision", "horizon", "rows", "sum", "crc"};
    int64_t *const values[] = {&ret->revision, &ret->horizon, &ret->rows, &ret->sum, &ret->crc};
    int code = SQLITE_OK;
    char sql[64];

    for (size_t i = 0; i < ELEMS(names) && code == SQLITE_OK; i++) {
        (void)snprintf(sql, sizeof(sql), "SELECT value FROM meta WHERE name='%s'", names[i]);
        code = layout_query(handle, sql, values[i]);
    }
    ret->whole = ret->rows == NOT_COUNTED || ret->crc == seal_crc(ret);
    return code;
}

static int run(sqlite3 *handle, int code, const char *sql)
{
    return code == SQLITE_OK ? sqlite3_exec(handle, sql, NULL, NULL, NULL) : code;
}

static int make(sqlite3 *handle)
{
    int code = run(handle, run(handle, SQLITE_OK, writes_table), meta_table);

    return run(handle, run(handle, code, seal_rows), version);
}

static int bring_up(sqlite3 *handle)
{
    int code = sqlite3_create_function(handle, "row_crc", 4, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                       NULL, sql_row_crc, NULL, NULL);

    code = run(handle, code, writes_table);
    code = run(handle, code, from_layout_1);
    return run(handle, run(handle, code, seal_rows), version);
}

static int refuse_version(const char *path, int64_t found, struct err *err)
{
    int r = err_set(err, ERR_INTERNAL,
                    "the database %s has layout %" PRId64 ", this muster knows layout %d", path,
                    found, LAYOUT_VERSION);

    err_hint(err, "use the version of muster that wrote it");
    return r;
}

int layout_prepare(sqlite3 *handle, const char *path, int *ret_code, struct err *err)
{
    int64_t application = 0, found = 0, count = 0;
    int code = layout_query(handle, "PRAGMA application_id", &application);

    if (code == SQLITE_OK)
        code = layout_query(handle, "PRAGMA user_version", &found);
    if (code == SQLITE_OK)
        code = layout_query(handle, "SELECT count(*) FROM sqlite_master", &count);
    if (code == SQLITE_OK && application == 0 && found == 0 && count == 0)
        code = make(handle);
    else if (code == SQLITE_OK && application != APPLICATION_ID)
        return err_set(err, ERR_INTERNAL, "%s is not a database of muster", path);
    else if (code == SQLITE_OK && found == 1)
        code = bring_up(handle);
    else if (code == SQLITE_OK && (found == 2 || found == 3)) /* rows are valid here */
        code = run(handle, run(handle, run(handle, code, missing_rows), seal_rows), version);
    else if (code == SQLITE_OK && found != LAYOUT_VERSION)
        return refuse_version(path, found, err);
    *ret_code = code;
    return code == SQLITE_OK ? 0 : -EIO;
}
