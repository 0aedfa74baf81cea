/* pod_state.h - a pod's status reduced to what decisions need. Pure. */
#ifndef MUSTER_CORE_POD_STATE_H
#define MUSTER_CORE_POD_STATE_H

#include "base/json.h"

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

/* A condition the node sets on a pod being deleted: its programs had ended before they were asked
 * to. */
#define POD_ENDED_BY_ITSELF "muster.dev/EndedByItself"
/* Keeps an evicted pod until its job's status has accounted for its end. */
#define FINALIZER_TRACKING "muster.dev/job-tracking"
/* The same for every pod of a batch Job. */
#define FINALIZER_BATCH "batch.kubernetes.io/job-tracking"

struct pod_state {
    enum pod_phase phase;
    bool deleting;
    bool ended_first; /* deleting, but its containers had ended before the deletion */
    bool by_itself;   /* deleting, and according to its node its programs ended only after they were
                       * asked to */
    bool over;        /* deleting, and its node has nothing more to report */
    bool lost;      /* failed through no fault of its own: its node is gone, or it was preempted */
    int exit_code;  /* of the container at fault; 0: succeeded; -1: unknown */
    int64_t ran_ms; /* how long that container ran; 0: unknown */
    int64_t finished_ms;   /* when it ended; 0: unknown */
    bool lost_peer;        /* its last output reports a lost peer */
    const char *container; /* at fault, or "" */
    bool aside;            /* not the training container */
    const char *reason;    /* its own, else the pod's; or "" */
    const char *message;   /* likewise */
};

/* main_container: the one to blame if several failed; may be NULL. */
struct pod_state pod_state_of(const struct json *pod, const char *main_container);
bool pod_is_finished(const struct json *pod);
bool finalizer_is_tracking(const struct json *finalizer); /* either of them */
/* Over, and kept only by such a finalizer. */
bool pod_is_held(const struct json *pod);
bool pod_is_placed(const struct json *pod); /* on a node */
bool pod_is_for_default_scheduler(const struct json *pod);
/* The scheduler it asks for if that is not ours, else NULL. */
const char *pod_foreign_scheduler(const struct json *pod);
/* For messages: `NAME failed with exit code 137 (killed ...)`. Only for failed pods. */
const char *pod_failure_text(struct arena *a, const char *pod_name, const struct pod_state *s);
/* The same, machine-readable: replica, exitCode, container, reason, message; unknown members are
 * left out. */
struct json *pod_failure_data(struct arena *a, const char *pod_name, const struct pod_state *s);
/* Why a pod that should run does not; both "" when unknown. */
void pod_waiting_for(const struct json *pod, const char **ret_reason, const char **ret_message);

#endif
