/*
 * layout.h - the tables of the database, how a file gets them, and what a row's checksum covers.
 *
 *   writes(revision, previous, deletion, collection, key, value, crc)
 *
 * A row per write, never changed. The newest row of a key is the object, or its deletion; older
 * ones are kept for a while for watches. previous is the revision of the row it took the place of,
 * 0 when there was none. meta has 'revision', one that was given away (rows may have newer ones),
 * and 'horizon': every write after it is there.
 *
 * crc has two checksums: of the whole row in its lower half, and of revision, collection and key in
 * its upper half, so that a damaged value does not put in doubt whose it was. Rows written by
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

/* One number; SQLITE_DONE when there is no row. */
int layout_query(sqlite3 *handle, const char *sql, int64_t *ret);

/* Inside a transaction: creates the tables in a new file, upgrades the previous layout, and refuses
 * any other. *ret_code is set instead of err when SQLite itself failed. */
int layout_prepare(sqlite3 *handle, const char *path, int *ret_code, struct err *err) must_check;

#endif
