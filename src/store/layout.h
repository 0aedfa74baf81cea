/*
 * layout.h - the tables of the database, how a file gets them, and what a row's checksum covers.
 *
 *   writes(revision, previous, deletion, collection, key, value, crc)
 *
 * A row per write, never changed. The newest row of a key is the object, or its deletion; older
 * ones are kept for a while for watches. previous is the revision of the row it replaced, 0 if
 * there was none. meta is the seal: 'revision', the newest assigned; 'horizon': every write after
 * it is present; the number of 'rows' and the 'sum' of their digests, so that none goes missing
 * unnoticed; 'crc' of these four. Each transaction writes it.
 *
 * crc has two checksums: of the whole row in its lower half, and of revision, collection and key in
 * its upper half, so that the object of a row with a damaged value is still known. Rows written by
 * layout 2 have no upper half.
 */
#ifndef MUSTER_STORE_LAYOUT_H
#define MUSTER_STORE_LAYOUT_H

#include <sqlite3.h>

#include "base/err.h"

struct row {
    int64_t revision, previous;
    bool deletion;
    const char *collection, *key, *value;
    size_t collection_len, key_len, value_len;
    int64_t crc; /* as stored */
};

int64_t row_crc(const struct row *row); /* as it should be stored */
bool row_is_whole(const struct row *row);
/* Whether one of the stored checksums proves revision, collection and key. */
bool row_is_identified(const struct row *row);

struct seal {
    int64_t revision, horizon;
    int64_t rows; /* -1: not counted yet */
    int64_t sum;
    int64_t crc; /* as read */
    bool whole;  /* as read */
};

void seal_add(struct seal *seal, int64_t crc, int count); /* a row, count 1; one that goes, -1 */
int64_t seal_crc(const struct seal *seal);
/* Whether read, counted from the rows, is what was sealed. damaged: rows are, so their digests may
 * be too. */
bool seal_matches(const struct seal *seal, const struct seal *read, bool damaged);
int layout_read_seal(sqlite3 *handle, struct seal *ret);

/* One number; SQLITE_DONE when there is no row. */
int layout_query(sqlite3 *handle, const char *sql, int64_t *ret);

/* Inside a transaction: creates the tables in a new file, upgrades the previous layout, and refuses
 * any other. *ret_code is set instead of err when SQLite itself failed. */
int layout_prepare(sqlite3 *handle, const char *path, int *ret_code, struct err *err) must_check;

#endif
