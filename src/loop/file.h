/* file.h - whole small files and folders, blocking: for start-up, records and pool threads.
 * Fallible functions return 0 or a negative errno. */
#ifndef MUSTER_LOOP_FILE_H
#define MUSTER_LOOP_FILE_H

#include <sys/types.h>

#include "base/buf.h"

/* Appends the file to out. -EFBIG when it is longer than limit_bytes (or out's own limit); out is
 * then unchanged. */
int file_read(const char *path, size_t limit_bytes, struct buf *out) must_check;
/* Crash-safe: the file is always either the old or the new one, complete and on disk. Its mode
 * becomes mode. */
int file_write_atomic(const char *path, const void *data, size_t len, mode_t mode) must_check;
/* Writes everything, in as many calls as it takes. */
int file_write_all(int fd, const void *data, size_t len) must_check;
/* Closes the descriptor unless it is negative, and sets it to -1. */
void file_close(int *fd);
/* mkdir -p: creates parents too, with the same mode; an existing folder is left unchanged. -ENOTDIR
 * when something else is there. */
int file_make_dirs(const char *path, mode_t mode) must_check;
/* rm -rf of our own files: folders without permissions are opened first. Stays on one file system;
 * 0 when there is nothing. */
int file_remove_tree(const char *path);

#endif
