/* folder_search.h - finds a job's (or a TensorBoard's) folders of event files, asking the API for
 * the claims its filesets name. See log_folder.h for where they are. */
#ifndef MUSTER_CONSOLE_FOLDER_SEARCH_H
#define MUSTER_CONSOLE_FOLDER_SEARCH_H

#include "console/log_folder.h"
#include "port/transport.h"

struct folder_search;

/* folder is in the arena, or NULL with err set. Called once; from inside folder_search_start only
 * when there is nothing to ask. */
typedef void folder_search_fn(void *arg, const struct log_folder *folder, const struct err *err);

/* In the caller's memory; must live until fn is called, or folder_search_stop. */
struct folder_search {
    struct transport *transport;
    struct arena *arena;
    const char *ns, *outside;
    const char *const *volumes;
    uid_t uid; /* whose rights count; 0: this process's */
    gid_t gid;
    struct json *filesets;
    size_t at;
    struct log_folder folder;
    folder_search_fn *fn;
    void *arg;
};

/* Where this process may read. It must live as long. */
struct folder_place {
    const char *machine; /* this one's name */
    const char *outside; /* muster's own folder on it, or NULL: what is in there is found through
                            claims only, never by its path */
    /* Not NULL: the jobs run elsewhere, and of their claims these are mounted here,
     * "NAMESPACE/NAME=FOLDER", until NULL. No other folder is read, whatever a job says. */
    const char *const *volumes;
};

void folder_search_start(struct folder_search *s, struct transport *t, struct arena *a,
                         const struct json *job, const struct folder_place *place,
                         folder_search_fn *fn, void *arg);
void folder_search_stop(struct folder_search *s); /* fn is not called any more */

#endif
