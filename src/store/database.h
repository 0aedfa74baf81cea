/* database.h - the SQLite file: layout, loading, transactions. One thread at a time. */
#ifndef MUSTER_STORE_DATABASE_H
#define MUSTER_STORE_DATABASE_H

#include "store/change.h"

struct database;

struct database_row {
    int64_t id, revision;
    const char *collection, *key, *value; /* valid during the call */
    size_t collection_len, key_len, value_len;
};

struct database_failure {
    enum err_reason reason;
    char text[256];
};

struct database *database_open(const char *path, struct err *err) must_check;
void database_close(struct database *d);

/* Every object, in no order that means anything, and the newest revision there ever was. fn returns
 * 0 or a negative errno with err set, which ends it. */
int database_load(struct database *d,
                  int (*fn)(void *arg, const struct database_row *row, struct err *err), void *arg,
                  int64_t *ret_revision, struct err *err) must_check;

/* All of them or, with *ret_failure filled, none. On disk when it returns 0. */
int database_commit(struct database *d, const struct change *first,
                    struct database_failure *ret_failure) must_check;

/* Moves the log into the file when it has grown enough to be worth it (idle), or long (not idle).
 * Failing is harmless: the log stays and grows. */
void database_checkpoint(struct database *d, bool idle);

#endif
