/*
 * folder.h - finds event files below a folder, and opens them without leaving it: symbolic links
 * below the folder are not followed, and ".." is refused.
 */
#ifndef MUSTER_BOARD_FOLDER_H
#define MUSTER_BOARD_FOLDER_H

#include <sys/stat.h>

#include "base/base.h"

/* Limits of one walk. What is beyond them is not found. */
#define FOLDER_DEPTH_LIMIT 16u
#define FOLDER_ENTRIES_LIMIT 200000u
#define FOLDER_PATH_LIMIT 4096u

/* The limits of a reader. */
struct folder_fence {
    const char *path;  /* a folder that is never entered, whatever path leads to it; NULL: none */
    bool trusted_base; /* the base is trusted: it may be below path, and is opened with the
                          process's own rights */
    uid_t uid;         /* the user whose rights count; 0: the process's own */
    gid_t gid;
};

/* base may contain links; relative ("" is base itself) may not. A descriptor or a negative errno:
 * -ELOOP for a link, -EINVAL for "..", -EACCES behind the fence. */
int folder_open(const char *base, const char *relative, struct folder_fence fence) must_check;
/* A regular file below the folder. Never blocks, not even on a pipe without a writer. */
int folder_open_file(int folder_fd, const char *relative, struct folder_fence fence) must_check;

enum folder_scope {
    FOLDER_ALL,
    FOLDER_WORKING, /* a user's working folder: skips hidden folders and those of packages */
};

/* path: the file's folder, relative; "" is the folder itself. */
typedef void folder_file_fn(void *arg, const char *path, const char *name, const struct stat *st);
/* Calls fn for each regular file that could be an event file, in no particular order, except behind
 * the fence. False when limits were reached. Adds the number of entries seen to *entries. */
bool folder_walk(int folder_fd, enum folder_scope scope, struct folder_fence fence,
                 folder_file_fn *fn, void *arg, size_t *entries);

#endif
