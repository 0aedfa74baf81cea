/* file.h - whole small files and folders, blocking: for start-up, records and pool threads. What
 * can fail returns 0 or a negative errno. */
#ifndef MUSTER_LOOP_FILE_H
#define MUSTER_LOOP_FILE_H

#include <sys/types.h>

#include "base/buf.h"

/* Appends the file to out. -EFBIG when it is longer than limit_bytes (or out's own limit); out is
 * then as it was. */
int file_read(const char *path, size_t limit_bytes, struct buf *out) must_check;
/* The file is the old one or the new one, whole and on disk, whenever the machine stops. Its mode
 * becomes mode. */
int file_write_atomic(const char *path, const void *data, size_t len, mode_t mode) must_check;
/* All of it, in as many pieces as it takes. */
int file_write_all(int fd, const void *data, size_t len) must_check;
/* Closes the descriptor, if there is one, and sets it to -1. */
void file_close(int *fd);
/* mkdir -p: parents too, with the same mode; a folder that is there is left as it is. -ENOTDIR when
 * something else is. */
int file_make_dirs(const char *path, mode_t mode) must_check;

#endif
