/*
 * volume_files.h - folders of small files that are a volume's content, and their end. Paths inside
 * a volume come from users: every name is checked and no link is followed.
 */
#ifndef MUSTER_AGENT_VOLUME_FILES_H
#define MUSTER_AGENT_VOLUME_FILES_H

#include <sys/types.h>

#include "base/err.h"

/* path, of names between slashes, below the folder dir_fd; its folders are made. group: who may
 * read it besides, 0: nobody. */
int volume_file_write(int dir_fd, const char *path, const void *data, size_t len, mode_t mode,
                      uint32_t group, struct err *err) must_check;
/* Whether text is a relative path that stays where it is: no "..", no leading slash, not empty. */
bool volume_path_is_safe(const char *text);

/* An empty folder, whatever was there. Its mode becomes mode, with group (0: none) as its group and
 * that of what is made in it. Answers its descriptor or a negative errno. */
int volume_folder_renew(const char *path, mode_t mode, uint32_t group) must_check;
/* The same, but what is in it stays. */
int volume_folder_make(const char *path, mode_t mode, uint32_t group) must_check;
/* Everything below and the thing itself, as far as that can be; whether it is gone. Takes as long
 * as it takes, or until stop (NULL: never) is true: for pool threads. */
bool volume_tree_remove(const char *path, const _Atomic bool *stop);
/* What everything below takes on the disk, as du counts it, or somewhat more than enough as soon as
 * that is certain. Links are not followed. For pool threads too. */
int64_t volume_tree_bytes(const char *path, int64_t enough);

#endif
