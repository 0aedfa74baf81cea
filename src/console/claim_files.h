/*
 * claim_files.h - the files of one claim's folder, blocking: for pool threads, with the file
 * rights of the calling thread (loop/fs_user.h). No path and no link leads out of the folder: the
 * kernel resolves them below its descriptor. Negative errnos.
 */
#ifndef MUSTER_CONSOLE_CLAIM_FILES_H
#define MUSTER_CONSOLE_CLAIM_FILES_H

#include <limits.h>
#include <sys/stat.h>

#include "base/json.h"

#define CLAIM_NAMES_LIMIT 20000u          /* entries read per folder */
#define CLAIM_LIST_LIMIT 2000u            /* and returned, the first by name */
#define CLAIM_MEASURE_LIMIT 500000u       /* entries counted per claim */
#define CLAIM_TEMPORARY ".muster-upload-" /* incomplete uploads; not listed */

/* An O_PATH descriptor of a file or folder. */
int claim_find(int folder_fd, const char *path, struct stat *ret) must_check;
/* A found regular file, opened for reading. */
int claim_read(int found_fd) must_check;
/* {"entries": [{"name", "type": "file"|"folder"|"link"|"other", "bytes", "modifiedMs"}...],
 * "more": there are others}, folders first, each by name. */
int claim_list(struct arena *a, int found_fd, struct json **ret) must_check;

struct claim_size {
    int64_t bytes, entries; /* disk usage */
    bool partial;           /* there is more */
};
int claim_measure(int folder_fd, struct claim_size *ret) must_check;

/* A file being written beside the one it becomes. What root writes belongs to the folder's owner.
 */
struct claim_upload {
    int folder_fd, fd; /* -1: none */
    char name[NAME_MAX + 1], temporary[NAME_MAX + 1];
};
int claim_upload_begin(struct claim_upload *u, int folder_fd, const char *path,
                       bool replaces) must_check;
int claim_upload_end(struct claim_upload *u, bool replaces) must_check; /* moves it into place */
void claim_upload_drop(struct claim_upload *u); /* removes what is left of it; also call it
                                                 * afterwards */
int claim_make_folder(int folder_fd, const char *path) must_check;

#endif
