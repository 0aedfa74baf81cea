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

/* Prefix of daemons' folders: muster-NAMESPACE-PID-TICKS tells observers in the same pid namespace
 * whether the daemon still runs. */
#define CGROUP_NAME_PREFIX "muster-"
#define CGROUP_NAME_BYTES 80
#define CGROUP_PATH_BYTES 4096
#define CGROUP_PLACES_LIMIT 32
#define CGROUP_ABANDONED_LIMIT 256 /* the rest next time */
#define CGROUP_PODS_PIDS_LIMIT                                                                     \
    32768 /* tasks per pod: enough for any training, not for a fork                                \
           * bomb */

/* A folder in one hierarchy that contains our pods' groups. */
struct cgroup_place {
    unsigned controllers;
    bool unified; /* version 2 */
    bool current; /* for new pods; otherwise an earlier daemon's */
    char *path;
};

struct cgroups {
    struct cgroup_place places[CGROUP_PLACES_LIMIT];
    size_t len;
    int64_t processors;
    char *problem;                           /* why limits are not enforced, or NULL */
    char *memory;                            /* file that records the places for the next daemon */
    char *abandoned[CGROUP_ABANDONED_LIMIT]; /* folders of daemons that are gone */
    size_t abandoned_len;
};

struct cgroups_options {
    const char *root;   /* "" or, in tests, a folder with proc and sys in it */
    const char *name;   /* of our folder in each hierarchy, unique per daemon */
    const char *memory; /* a file; NULL: places are not recorded */
    int64_t processors; /* 0: all of the machine's */
};

/* The name the calling daemon uses for its folders. */
void cgroup_daemon_name(char name[CGROUP_NAME_BYTES]);
/* Finds out what is allowed, by trying. Fails only with -ENOMEM. */
int cgroups_init(struct cgroups *g, const struct cgroups_options *options) must_check;
void cgroups_release(struct cgroups *g);
/* Removes folders of daemons that were already gone at cgroups_init, where nothing runs. Call it
 * some time later: what such a daemon was starting when it was killed may have been about to enter
 * its group. */
void cgroups_remove_abandoned(struct cgroups *g);
/* NULL when CPU and memory limits are enforced. */
const char *cgroups_problem(const struct cgroups *g);

/* Creates the pod's groups: with the weight of its containers' requests, inside one with the weight
 * of the machine's processors. */
int cgroups_pod_make(struct cgroups *g, const struct pod_start *pod, struct err *err) must_check;
/* The folders one container's program must enter: a NULL-terminated list, empty where nothing is
 * allowed. NULL when the arena failed. */
const char *const *cgroups_container_make(struct cgroups *g, struct arena *a, const char *uid,
                                          const char *container,
                                          const struct container_limits *limits);
/* For a dead pod: kills what is left in its groups and removes them. */
void cgroups_pod_remove(struct cgroups *g, const char *uid);
/* Removes the groups of pods that is_alive does not know: left over from an earlier daemon. */
void cgroups_clean(struct cgroups *g, bool (*is_alive)(void *arg, const char *uid), void *arg);

/* cgroup_enter.c. A fork() whose child already starts in the version 2 group among the folders,
 * where possible: then born is true, in parent and child. */
pid_t cgroup_fork(const char *const *folders, bool *ret_born);
/* Between fork and exec: the calling single-threaded process enters the folders (if born in one,
 * only the others). Only system calls. 0 or negative errno. */
int cgroup_enter(const char *const *folders, bool born);

/* cgroup_limits.c: writes the limits into one folder. */
void cgroup_limits_write(const struct cgroup_place *place, const char *folder,
                         const struct container_limits *limits);
/* The combined request of a pod's containers: init containers run one by one before the others. */
int64_t cgroup_pod_request_milli(const struct pod_start *pod);
int cgroup_file_write(const char *folder, const char *name, const char *text) must_check;
/* The file's text, truncated to size; -1 when it cannot be read. NUL-terminated. */
int cgroup_file_read(const char *folder, const char *name, char *out, size_t size) must_check;

/* cgroup_find.c: this process's own folder in each mounted hierarchy. */
struct cgroup_own {
    unsigned controllers; /* v2: not filled in; the folder lists them */
    bool unified;
    char mount[CGROUP_PATH_BYTES]; /* the hierarchy's mount point, above the folder */
    char folder[CGROUP_PATH_BYTES];
};
size_t cgroup_find_own(const char *root, struct cgroup_own *out, size_t limit);
unsigned cgroup_controllers_parse(const char *list); /* separated by commas or spaces */
/* Limits of the groups around this process; -1: none. */
void cgroup_own_limits(const char *root, int64_t *ret_cpu_milli, int64_t *ret_memory_bytes);

#endif
