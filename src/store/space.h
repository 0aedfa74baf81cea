/*
 * space.h - room on the disk that is kept for the database, so that a full disk refuses only what
 * would make it fuller. It lies inside the database's own files, where nobody else can take it: the
 * log is allocated ahead, and the file grows before a transaction that needs it is committed. It
 * grows in steps, and SQLite must not cut it shorter (SQLITE_FCNTL_CHUNK_SIZE): each checkpoint
 * would give up what was added, and the next commit ask for it again.
 */
#ifndef MUSTER_STORE_SPACE_H
#define MUSTER_STORE_SPACE_H

#include "base/base.h"

#define SPACE_PAGE_BYTES 4096
#define SPACE_STEP_BYTES (256 * 1024)
#define SPACE_MOST_STEPS 4096 /* that SQLite can be told of: it counts bytes in an int */

struct space {
    const char *path, *log_path; /* the caller's */
    int fd;                      /* of the file */
    int64_t allocated_pages;     /* the file has room for so many; 0: not known */
    bool scarce;
};

/* SQLite must hold its lock on the file until after space_release: closing a descriptor of it gives
 * up all locks this process has on it. */
void space_init(struct space *s, const char *path, const char *log_path);
void space_release(struct space *s);
void space_reserve_log(const struct space *s); /* after it was cut */
/* The file is to have so many pages. false, and scarce: there is no room for them. */
bool space_want_pages(struct space *s, int64_t pages);
void space_look_again(struct space *s); /* scarce no more when there is room */
/* All that is in the log is in the file, and both are closed. */
void space_empty_log(const char *log_path);

#endif
