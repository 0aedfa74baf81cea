/*
 * plan.h - the actions a decision asks for. Pure data: core makes plans, control carries them out.
 *
 * Steps of one stage may run in parallel; a stage starts when the previous one has succeeded. When
 * a step fails the rest is dropped and the object is considered again: every plan must be safe to
 * abandon after any step.
 */
#ifndef MUSTER_CORE_PLAN_H
#define MUSTER_CORE_PLAN_H

#include "api/kind.h"

enum plan_op {
    PLAN_CREATE, /* object; "already exists" counts as done */
    PLAN_DELETE, /* kind, ns, name, uid as precondition; "not found" and a conflict count as done:
                  * the object that was meant is gone */
    PLAN_UPDATE_STATUS, /* object with resourceVersion: PUT to /status; a conflict drops the rest
                         * and reconsiders */
    PLAN_CHECK,         /* kind, ns, name, version: if it has changed, drops the rest too */
    PLAN_EVICT, /* a pod: object is a patch that adds FINALIZER_TRACKING to the version seen; then
                 * deletes the result; "not found" and a conflict count as done */
    PLAN_PATCH, /* object is a merge patch, for the given subresource */
    PLAN_BIND,  /* pod ns/name to a node: object is a Binding, its target and annotations */
    PLAN_EVENT, /* object: an Event without a name; repeats are counted when it is carried out */
};

struct plan_step {
    struct plan_step *next;
    enum plan_op op;
    unsigned stage;
    const struct kind *kind;
    const char *ns, *name;
    const char *whom;    /* the planner's name for the group it is for; NULL: several */
    const char *uid;     /* PLAN_DELETE, PLAN_EVICT, PLAN_PATCH, PLAN_BIND: precondition, or NULL */
    const char *version; /* PLAN_CHECK, PLAN_DELETE: resourceVersion as precondition, or NULL */
    const char *subresource; /* PLAN_PATCH: "status" when the patch has a status, else NULL */
    int64_t grace_seconds;   /* PLAN_DELETE, PLAN_EVICT: -1 the object's own */
    bool own;                /* PLAN_CREATE: as plan_create_own */
    const struct json *object;
};

struct plan {
    struct arena *arena;
    struct plan_step *first, *last;
    unsigned stage; /* of steps added from now on, like whom */
    const char *whom;
    bool may_wait;      /* as long as it only reports: nothing depends on its writes */
    int64_t wake_at_ms; /* reconsider at this time at the latest; 0: only on changes */
};

void plan_init(struct plan *p, struct arena *a);
void plan_next_stage(struct plan *p);
void plan_wake_at(struct plan *p, int64_t at_ms); /* the earliest wins; 0 is ignored */
void plan_create(struct plan *p, const struct kind *k, const struct json *object);
/* An existing one with another controller, or none, is a failure: nothing that follows is done. */
void plan_create_own(struct plan *p, const struct kind *k, const struct json *object);
void plan_delete(struct plan *p, const struct kind *k, const struct json *object,
                 int64_t grace_seconds);
/* Only if unchanged since it was read. */
void plan_delete_as_seen(struct plan *p, const struct kind *k, const struct json *object,
                         int64_t grace_seconds);
/* Only if unchanged since it was read; the pod stays until its job's controller has counted its end
 * and releases it. */
void plan_evict(struct plan *p, const struct json *pod);
void plan_release(struct plan *p, const struct json *pod);
void plan_update_status(struct plan *p, const struct kind *k, const struct json *object);
/* What follows is done only if this is unchanged since it was read. */
void plan_check(struct plan *p, const struct kind *k, const struct json *object);
/* A patch with metadata.resourceVersion applies to that version only (409 otherwise). */
void plan_patch(struct plan *p, const struct kind *k, const struct json *target,
                const struct json *patch);
void plan_bind(struct plan *p, const struct json *pod, const struct json *binding);
/* type: "Normal" or "Warning". */
void plan_event(struct plan *p, const struct kind *k, const struct json *about, const char *type,
                const char *reason, const char *fmt, ...) printf_like(6, 7);
bool plan_is_empty(const struct plan *p);
/* Whether it only writes statuses and events. */
bool plan_only_tells(const struct plan *p);

#endif
