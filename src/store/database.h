/* database.h - the SQLite file: loading, transactions, and keeping it small. One thread at a time.
 */
#ifndef MUSTER_STORE_DATABASE_H
#define MUSTER_STORE_DATABASE_H

#include "store/change.h"
#include "store/layout.h"

struct database;

struct database_failure {
    enum err_reason reason;
    char text[256];
};

struct database *database_open(const char *path, struct err *err) must_check;
void database_close(struct database *d);

/* What is handed to a reader of rows, oldest first. */
struct database_loading {
    int64_t newest;  /* revision there ever was */
    int64_t horizon; /* every write after it comes */
    /* A row, valid during the call; damaged: it is not what was written, whatever it says. Returns
     * 1 when it took the place of a row that came before, 0 when not, a negative errno with err set
     * to end it. */
    int (*row)(struct database_loading *l, const struct row *row, bool damaged, struct err *err);
};

/* newest and horizon are set before the first row. */
int database_load(struct database *d, struct database_loading *l, struct err *err) must_check;

/* All of them or, with *ret_failure filled, none. On disk when it returns 0. */
int database_commit(struct database *d, const struct change *first,
                    struct database_failure *ret_failure) must_check;

/* Is there no room for new objects? Asked again it looks again. */
bool database_is_full(struct database *d);

/* Moves the log into the file when it has grown enough to be worth it (idle), or long (not idle).
 * Failing is harmless: the log stays and grows. */
void database_checkpoint(struct database *d, bool idle);
/* Nobody has written for some seconds: gives back what file and log have too much. */
void database_rest(struct database *d);

#endif
