/* pod_sync.h - decides what to do about one pod next. Pure: from the API's state, what runs, and
 * the time. */
#ifndef MUSTER_AGENT_POD_SYNC_H
#define MUSTER_AGENT_POD_SYNC_H

#include "base/json.h"
#include "port/runtime.h"

/* How long a pod waits for the Service named by its MASTER_ADDR. */
#define POD_SERVICE_WAIT_MS 10000
/* Grace period for the remains of a pod that was deleted without our seeing it. */
#define POD_ORPHAN_GRACE_SECONDS 2
/* Grace period for a pod that the node evicts. */
#define POD_EVICTION_GRACE_SECONDS 1
/* How often a pod that waits for those checks again, in case their end is not reported. */
#define POD_ROOM_RECHECK_MS 200

#define POD_REASON_EVICTED "Evicted"

struct pod_view {
    const struct json *pod;    /* with the right UID; NULL: not in the cache */
    const struct pod_run *run; /* NULL: nothing was started here */
    bool synced;               /* the cache was filled at least once */
    bool newer;                /* than the API's database, which does not know it */
    bool gone;                 /* according to the API itself */
    bool service_seen;         /* the Service named by MASTER_ADDR, if any */
    bool room_held;         /* remains of a pod the API has forgotten or given up still run here */
    bool in_image;          /* what it runs may be the image's own command */
    int64_t seen_ms;        /* when the agent first saw the pod */
    const char *over_limit; /* why it is evicted, or NULL */
    int64_t now_ms;
};

enum pod_step {
    POD_STEP_NONE,
    POD_STEP_VERIFY, /* ask the API whether the pod is really gone */
    POD_STEP_WAIT,   /* for its Service or for room; check again after wake_ms at the latest */
    POD_STEP_START,
    POD_STEP_FAIL,  /* cannot run; failure says why */
    POD_STEP_EVICT, /* failure says why; its programs are stopped once that is written */
    POD_STEP_STOP,
    POD_STEP_DELETE, /* over and being deleted: delete it from the API */
    POD_STEP_REMOVE, /* gone from the API: remove it here too */
};

/* A pod that ends, or does not start, without its programs causing it. */
struct pod_failure {
    bool waiting; /* it may still start: ignore exit_code */
    int exit_code;
    const char *reason, *message;
};

struct pod_decision {
    enum pod_step step;
    int64_t grace_seconds; /* POD_STEP_STOP */
    int64_t wake_ms;       /* POD_STEP_WAIT */
    bool service_missing;  /* POD_STEP_START: the wait is over */
    struct pod_failure failure;
};

struct pod_decision pod_decide(const struct pod_view *v);

bool pod_run_has_running(const struct pod_run *run);
/* Its status says that the node evicts it: it fails however its programs end. */
bool pod_is_evicted(const struct json *pod);

/* It has ended, according to this node's report about each container: nothing of it runs or will. A
 * pod that was given up (its node seemed lost) may still run. */
bool pod_is_settled(const struct json *pod);

/* The Service that must exist before the pod starts, or NULL. */
const char *pod_awaited_service(struct arena *a, const struct json *pod);

#endif
