/*
 * space.h - disk space reserved for the database, so that a full disk refuses only what would make
 * it fuller. It is inside the database's own files, where nothing else can take it: the log is
 * preallocated, and the file grows before a transaction that needs it is committed. It grows in
 * steps, and SQLite must not truncate it below (SQLITE_FCNTL_CHUNK_SIZE): otherwise each checkpoint
 * would release what was added, and the next commit request it again.
 */
#ifndef MUSTER_STORE_SPACE_H
#define MUSTER_STORE_SPACE_H

#include "base/base.h"

#define SPACE_PAGE_BYTES 4096
#define SPACE_STEP_BYTES (256 * 1024)
#define SPACE_MOST_STEPS 4096 /* SQLite's limit: it counts bytes in an int */

struct space {
    const char *path, *log_path; /* owned by the caller */
    int fd;                      /* of the file */
    int64_t allocated_pages;     /* for which the file has space; 0: unknown */
    bool scarce;
};

/* SQLite must hold its lock on the file until after space_release: closing a descriptor of it drops
 * all locks this process has on it. */
void space_init(struct space *s, const char *path, const char *log_path);
void space_release(struct space *s);
void space_reserve_log(const struct space *s); /* after it was truncated */
/* Makes room for this many pages in the file. False, and scarce is set: there is none. */
bool space_want_pages(struct space *s, int64_t pages);
void space_look_again(struct space *s); /* clears scarce when there is room */
/* Requires that everything in the log is in the file, and both are closed. */
void space_empty_log(const char *log_path);

#endif
