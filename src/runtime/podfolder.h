/*
 * podfolder.h - the files of one pod's folder and what is in them. The folder is the whole truth
 * about a pod on this machine: agent and supervisor share nothing else.
 *
 *   run.json        what to run; written by the agent before the supervisor exists
 *   lock            write-locked (OFD) by the supervisor's processes for as long as one lives
 *   started         made once, under the lock: this pod was started and never will be again
 *   state.json      its current state; replaced by rename at every change
 *   stop.json       how long the pod may take to end; read by the supervisor at SIGTERM
 *   newer           the database is older than the pod and does not know it: it is not ended
 *   executed        made before the first command is run beside the pod's own (exec)
 *   NAME.R.S.log    a container's output (cri.h)
 *   .supervisor.log the supervisor's own errors
 */
#ifndef MUSTER_RUNTIME_PODFOLDER_H
#define MUSTER_RUNTIME_PODFOLDER_H

#include "base/json.h"
#include "port/runtime.h"

/* Next to the folder of pods: <POD_LOGS_FOLDER>/<namespace>/<name>/<uid>, for removed pods. */
#define POD_LOGS_FOLDER "logs"

#define POD_FILE_RUN "run.json"
#define POD_FILE_LOCK "lock"
#define POD_FILE_STARTED "started"
#define POD_FILE_STATE "state.json"
#define POD_FILE_STOP "stop.json"
#define POD_FILE_EXECUTED "executed"
#define POD_FILE_NEWER "newer"
/* Cannot clash: container names start with a letter or digit. */
#define POD_FILE_SUPERVISOR_LOG ".supervisor.log"

/* In the environment of every process of a pod: how the leftovers of a dead supervisor are
 * found. */
#define POD_ENV_UID "MUSTER_POD_UID"
#define POD_ENV_CONTAINER "MUSTER_CONTAINER"

#define POD_FILE_LIMIT_BYTES (8u * 1024u * 1024u)
/* For one pod's state or start record with all its strings. */
#define POD_ARENA_LIMIT_BYTES (32u * 1024u * 1024u)

/* The contents of state.json. Only the worker writes it; a new worker does so first of all, so that
 * the two processes it names are alive, except while a killed one is being replaced. The last
 * record is the keeper's, when there is no worker any more. */
struct pod_record {
    struct pod_run run;       /* alive is not stored: the lock tells */
    int64_t pid, start_ticks; /* of the worker; when final, of the keeper */
    int64_t keeper_pid;
    bool final; /* nothing will change any more */
};

/* Whether a name is a plain file name that cannot leave the folder. */
bool pod_name_is_safe(const char *name);

/* An ephemeral container is a pod of its own to the runtime, with this UID in place of its pod's.
 * NULL when out of memory. */
#define POD_LATE_MARK '+'
const char *pod_late_uid(struct arena *a, const char *uid, const char *container);

/* Small files in dir_fd. durable: on disk before it returns. */
enum pod_durability { POD_NOT_SYNCED, POD_SYNCED };
int pod_file_write(int dir_fd, const char *name, const char *data, size_t len,
                   enum pod_durability durability) must_check;
/* Makes sure that the first write of a small file succeeds on a full disk; later ones of similar
 * length do. */
void pod_file_keep_room(int dir_fd, const char *name);
void pod_file_give_up_room(int dir_fd, const char *name);
struct json *pod_file_read_json(int dir_fd, const char *name, struct arena *a,
                                struct err *err) must_check;

int pod_record_write(int dir_fd, const struct pod_record *s,
                     enum pod_durability durability) must_check;
/* Whether ROOT/UID is the folder of the pod of that name: a UID alone does not say whose it is. */
bool pod_folder_is_of(struct arena *a, const char *root, const char *uid, const char *ns,
                      const char *name);
/* -ENOENT when there is none yet. Strings are in the arena. */
int pod_record_read(int dir_fd, struct arena *a, struct pod_record *ret,
                    struct err *err) must_check;
/* NULL: no container of that name. */
const struct container_state *pod_record_container(const struct pod_record *s, const char *name);

struct json *pod_start_to_json(struct arena *a, const struct pod_start *p);
int pod_start_from_json(struct arena *a, const struct json *v, struct pod_start *ret,
                        struct err *err) must_check;

/* The lock file's descriptor, locked (-EAGAIN when it is taken). */
int pod_lock_take(int dir_fd) must_check;
/* Checks without taking it: taking it, even for a moment, could turn a starting supervisor away.
 * True also when it cannot be told: nothing is concluded from that. */
bool pod_lock_is_held(int dir_fd);
/* Under the lock. -EEXIST when it was already marked. */
int pod_mark_started(int dir_fd) must_check;
bool pod_is_started(int dir_fd);
/* Commands run in the pod are not the supervisor's children: it must search for them. */
int pod_mark_executed(int dir_fd) must_check;
bool pod_is_executed(int dir_fd);
int pod_mark_newer(int dir_fd) must_check;
bool pod_is_newer(int dir_fd);

/* The environment plus the two marks that identify a container's processes. */
const char *const *pod_marked_env(struct arena *a, const char *const *env, const char *uid,
                                  const char *container);

#endif
