/* database.h - the SQLite file: loading, transactions, keeping it small. One thread at a time. */
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

/* Passed to a reader of rows, oldest first. */
struct database_loading {
    int64_t newest;  /* newest revision ever */
    int64_t horizon; /* every write after it is included */
    int64_t past;    /* set by row: the revision of a row that is only history now */
    /* A row, valid during the call; damaged: its contents are not what was written, and its
     * revision may be anything. A negative errno with err set stops. */
    int (*row)(struct database_loading *l, const struct row *row, bool damaged, struct err *err);
};

/* newest and horizon are set before the first row. */
int database_load(struct database *d, struct database_loading *l, struct err *err) must_check;

/* All of them or, with *ret_failure filled in, none. On disk when it returns 0. */
int database_commit(struct database *d, const struct change *first,
                    struct database_failure *ret_failure) must_check;

/* Whether there is no room for new objects. Checks again on each call. */
bool database_is_full(struct database *d);

/* Moves the log into the file when it is large enough to be worth it (idle), or too long (not
 * idle). Failure is harmless: the log stays and grows. */
void database_checkpoint(struct database *d, bool idle);
/* After some seconds without writes: returns excess space of file and log. */
void database_rest(struct database *d);

#endif
