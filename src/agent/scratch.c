/* scratch.c - see scratch.h. */
#include "agent/scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/volume_files.h"

#define GONE ".gone-" /* no UID begins with a dot */

static void remove_now(void *path)
{
    volume_tree_remove(path);
}

/* Takes path. What cannot be queued is found again by the next sweep. */
static void remove_later(struct loop *l, char *path)
{
    if (loop_work(l, remove_now, free, path) != 0)
        free(path);
}

void scratch_remove(struct loop *l, const char *root, const char *uid)
{
    char *path = NULL, *aside = NULL;

    if (asprintf(&path, "%s/%s", root, uid) < 0)
        path = NULL;
    if (asprintf(&aside, "%s/" GONE "%s", root, uid) < 0)
        aside = NULL;
    if (path && aside && rename(path, aside) == 0)
        remove_later(l, aside);
    else
        free(aside);
    free(path);
}

void scratch_sweep(struct loop *l, const char *root, struct runtime *runtime)
{
    DIR *d = opendir(root);
    const struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        char *path;

        if (strncmp(e->d_name, GONE, strlen(GONE)) == 0) {
            if (asprintf(&path, "%s/%s", root, e->d_name) >= 0)
                remove_later(l, path);
        } else if (e->d_name[0] != '.' && !runtime->ops->find(runtime, e->d_name)) {
            scratch_remove(l, root, e->d_name);
        }
    }
    if (d)
        (void)closedir(d);
}
