/*
 * cgroup.h - the control groups of pods: where limits are enforced and usage is counted. Both
 * versions, and machines that have both; only below the group this process is in (or the nearest
 * one above it that may be divided), so that limits set for us hold for our pods too.
 *
 *   <our group>/<name>/<pod uid>/<container>     in every hierarchy that helps
 *
 * Where it is not allowed, nothing is made and cgroups_problem says why: pods run without.
 */
#ifndef MUSTER_RUNTIME_CGROUP_H
#define MUSTER_RUNTIME_CGROUP_H

#include <sys/types.h>

#include "port/runtime.h"

enum cgroup_controller {
    CGROUP_CPU = 1,
    CGROUP_MEMORY = 2,
    CGROUP_PIDS = 4,
    CGROUP_CPUACCT = 8, /* v1 only: v2 counts CPU time everywhere */
};

/* Of the names of daemons' folders: muster-NAMESPACE-PID-TICKS, which tells whether the daemon
 * still runs to those who see the same processes. */
#define CGROUP_NAME_PREFIX "muster-"
#define CGROUP_NAME_BYTES 80
#define CGROUP_PATH_BYTES 4096
#define CGROUP_PLACES_LIMIT 32
#define CGROUP_ABANDONED_LIMIT 256   /* the others next time */
#define CGROUP_PODS_PIDS_LIMIT 32768 /* tasks of one pod: room for any training, not for a bomb */

/* A folder in one hierarchy that holds the groups of our pods. */
struct cgroup_place {
    unsigned controllers;
    bool unified; /* version 2 */
    bool current; /* new pods get groups here; else of an earlier daemon */
    char *path;
};

struct cgroups {
    struct cgroup_place places[CGROUP_PLACES_LIMIT];
    size_t len;
    int64_t processors;
    char *problem; /* why limits are not enforced, or NULL */
    char *memory;  /* the file that remembers the places for the next daemon */
    char *abandoned[CGROUP_ABANDONED_LIMIT]; /* folders of daemons that are gone */
    size_t abandoned_len;
};

struct cgroups_options {
    const char *root;   /* "" or, in tests, a folder with proc and sys in it */
    const char *name;   /* of our folder in each hierarchy: other daemons have other names */
    const char *memory; /* a file; NULL: earlier daemons' places are not remembered */
    int64_t processors; /* 0: as many as there are */
};

/* What the calling process, a daemon, calls its folders. */
void cgroup_daemon_name(char name[CGROUP_NAME_BYTES]);
/* Finds out what is allowed, by doing it. Only -ENOMEM. */
int cgroups_init(struct cgroups *g, const struct cgroups_options *options) must_check;
void cgroups_release(struct cgroups *g);
/* Removes folders of other daemons that were gone at cgroups_init, where nothing runs. To be called
 * some time later: what such a daemon was starting when it was killed may have been about to enter
 * its group. */
void cgroups_remove_abandoned(struct cgroups *g);
/* NULL: CPU and memory limits are enforced. */
const char *cgroups_problem(const struct cgroups *g);

/* Makes the pod's groups: with the weight of what its containers request, in one that has the
 * weight of the machine's processors. */
int cgroups_pod_make(struct cgroups *g, const struct pod_start *pod, struct err *err) must_check;
/* Returns, for one container, the folders its program must enter: a NULL-terminated list, empty
 * where nothing is allowed. NULL when the arena failed. */
const char *const *cgroups_container_make(struct cgroups *g, struct arena *a, const char *uid,
                                          const char *container,
                                          const struct container_limits *limits);
/* Of a dead pod: kills what is left in its groups and removes them. */
void cgroups_pod_remove(struct cgroups *g, const char *uid);
/* Removes the groups of pods that is_alive does not know: an earlier daemon's leftovers. */
void cgroups_clean(struct cgroups *g, bool (*is_alive)(void *arg, const char *uid), void *arg);

/* cgroup_enter.c. A fork() whose child is in the version 2 group among the folders already, where
 * that works: then born is true, in parent and child. */
pid_t cgroup_fork(const char *const *folders, bool *ret_born);
/* Between fork and exec: the calling process, of one thread, enters (the others, when born in one).
 * Only system calls. 0 or negative errno. */
int cgroup_enter(const char *const *folders, bool born);

/* cgroup_limits.c: writes what limits say into one folder. */
void cgroup_limits_write(const struct cgroup_place *place, const char *folder,
                         const struct container_limits *limits);
/* What the containers of a pod request together: init containers run one by one, before the others.
 */
int64_t cgroup_pod_request_milli(const struct pod_start *pod);
int cgroup_file_write(const char *folder, const char *name, const char *text) must_check;
/* The file's text, or its first bytes; -1 when it cannot be read. Ends with NUL. */
int cgroup_file_read(const char *folder, const char *name, char *out, size_t size) must_check;

/* cgroup_find.c: this process's own folder in each hierarchy that is mounted. */
struct cgroup_own {
    unsigned controllers; /* v2: not filled, the folder says */
    bool unified;
    char mount[CGROUP_PATH_BYTES]; /* where the hierarchy is mounted; the folder is below it */
    char folder[CGROUP_PATH_BYTES];
};
size_t cgroup_find_own(const char *root, struct cgroup_own *out, size_t limit);
unsigned cgroup_controllers_parse(const char *list); /* separated by commas or spaces */
/* What the groups around this process leave to it: -1 where there is no limit. */
void cgroup_own_limits(const char *root, int64_t *ret_cpu_milli, int64_t *ret_memory_bytes);

#endif
