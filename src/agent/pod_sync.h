/* pod_sync.h - what to do about one pod next. Pure: what the API says, what runs, and the time. */
#ifndef MUSTER_AGENT_POD_SYNC_H
#define MUSTER_AGENT_POD_SYNC_H

#include "base/json.h"
#include "port/runtime.h"

/* How long a pod waits for the Service that its MASTER_ADDR names. */
#define POD_SERVICE_WAIT_MS 10000
/* What still runs of a pod that was deleted behind our back gets this long. */
#define POD_ORPHAN_GRACE_SECONDS 2
/* What still runs of a pod that the node evicts. */
#define POD_EVICTION_GRACE_SECONDS 1
/* How often a pod that waits for that looks again, should nobody tell of the end. */
#define POD_ROOM_RECHECK_MS 200

#define POD_REASON_EVICTED "Evicted"

struct pod_view {
    const struct json *pod;    /* with the right UID; NULL: the cache has none */
    const struct pod_run *run; /* NULL: nothing was started here */
    bool synced;               /* the cache was filled at least once */
    bool gone;                 /* the API itself said so */
    bool service_seen;         /* the one MASTER_ADDR names, if any */
    bool room_held;  /* something still runs here of a pod the API has forgotten or given up on */
    int64_t seen_ms; /* when the agent first saw the pod */
    const char *over_limit; /* why it may not stay, or NULL */
    int64_t now_ms;
};

enum pod_step {
    POD_STEP_NONE,
    POD_STEP_VERIFY, /* ask the API whether the pod is really gone */
    POD_STEP_WAIT,   /* for its Service or for room; look again after wake_ms at the latest */
    POD_STEP_START,
    POD_STEP_FAIL,  /* cannot run: failure says why */
    POD_STEP_EVICT, /* failure says why; its programs are stopped when that is written */
    POD_STEP_STOP,
    POD_STEP_DELETE, /* over and asked to go: let the API forget it */
    POD_STEP_REMOVE, /* the API has forgotten it: so do we */
};

/* A pod that ends, or does not begin, without its programs having said so. */
struct pod_failure {
    bool waiting; /* it may still begin: exit_code means nothing */
    int exit_code;
    const char *reason, *message;
};

struct pod_decision {
    enum pod_step step;
    int64_t grace_seconds; /* POD_STEP_STOP */
    int64_t wake_ms;       /* POD_STEP_WAIT */
    bool service_missing;  /* POD_STEP_START: waited long enough */
    struct pod_failure failure;
};

struct pod_decision pod_decide(const struct pod_view *v);

bool pod_run_has_running(const struct pod_run *run);
/* Its status says that the node ends it: it fails however its programs end. */
bool pod_is_evicted(const struct json *pod);

/* It has ended, as this node reported of each of its containers: nothing of it runs or will. One
 * that was given up on (its node was thought lost) may still run. */
bool pod_is_settled(const struct json *pod);

/* The Service that must be there before the pod starts, or NULL. */
const char *pod_awaited_service(struct arena *a, const struct json *pod);

#endif
