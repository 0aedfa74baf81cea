/*
 * volume_files.h - folders of small files that make up a volume, and their removal. Paths inside a
 * volume come from users: every name is checked and no link is followed.
 */
#ifndef MUSTER_AGENT_VOLUME_FILES_H
#define MUSTER_AGENT_VOLUME_FILES_H

#include <sys/types.h>

#include "base/err.h"

/* Writes path below dir_fd, creating its folders. group: may read it, 0: none. */
int volume_file_write(int dir_fd, const char *path, const void *data, size_t len, mode_t mode,
                      uint32_t group, struct err *err) must_check;
/* Whether text is a relative path that stays inside: no "..", no leading slash, not empty. */
bool volume_path_is_safe(const char *text);

/* Creates an empty folder, replacing whatever was there. Its mode becomes mode; group (0: none)
 * becomes its group and that of new files in it. Returns its descriptor or a negative errno. */
int volume_folder_renew(const char *path, mode_t mode, uint32_t group) must_check;
/* The same, but keeps the contents. */
int volume_folder_make(const char *path, mode_t mode, uint32_t group) must_check;
/* Removes everything below path and path itself as far as possible; returns whether it is gone.
 * Unbounded, until stop (NULL: never) is true: for pool threads. */
bool volume_tree_remove(const char *path, const _Atomic bool *stop);
/* The disk usage of everything below, as du counts it; once it certainly exceeds `enough`, some
 * larger number. Links are not followed. For pool threads. */
int64_t volume_tree_bytes(const char *path, int64_t enough);

#endif
