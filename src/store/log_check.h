/*
 * log_check.h - whether acknowledged writes in SQLite's log are unreadable.
 *
 * SQLite reads the log up to the first frame that is not whole: there a loss of power cut the last
 * transaction off. A damaged frame in the middle of the log looks the same to it, and all later
 * transactions would be dropped without a word.
 */
#ifndef MUSTER_STORE_LOG_CHECK_H
#define MUSTER_STORE_LOG_CHECK_H

#include "base/err.h"

/* database_fd: the file the log belongs to. With the lock held, and before anything is written. */
int log_check(const char *log_path, int database_fd, struct err *err) must_check;

#endif
