/* folder_search.h - finds a job's (or TensorBoard's) folders of event files, asking the API for the
 * claims in its filesets. See log_folder.h for where they are. */
#ifndef MUSTER_CONSOLE_FOLDER_SEARCH_H
#define MUSTER_CONSOLE_FOLDER_SEARCH_H

#include "console/log_folder.h"
#include "port/transport.h"

struct folder_search;

/* folder is in the arena, or NULL with err set. Called once; before folder_search_start returns
 * only when nothing has to be asked. */
typedef void folder_search_fn(void *arg, const struct log_folder *folder, const struct err *err);

/* Owned by the caller; must live until fn is called, or folder_search_stop. */
struct folder_search {
    struct transport *transport;
    struct arena *arena;
    const char *ns, *outside;
    const char *const *volumes;
    uid_t uid; /* whose permissions apply; 0: this process's */
    gid_t gid;
    struct json *filesets;
    size_t at;
    struct log_folder folder;
    folder_search_fn *fn;
    void *arg;
};

/* Where this process may read. Must live as long. */
struct folder_place {
    const char *machine; /* this one's name */
    const char *outside; /* muster's own folder on it, or NULL: readable through claims only, never
                          * by path */
    /* Not NULL: the jobs run elsewhere, and these of their claims are mounted here,
     * "NAMESPACE/NAME=FOLDER", NULL-terminated. No other folder is read, whatever a job says. */
    const char *const *volumes;
};

void folder_search_start(struct folder_search *s, struct transport *t, struct arena *a,
                         const struct json *job, const struct folder_place *place,
                         folder_search_fn *fn, void *arg);
void folder_search_stop(struct folder_search *s); /* fn will not be called */

#endif
