/*
 * plan.h - what a decision asks to be done. Pure data: core makes plans, control carries them out.
 *
 * Steps of one stage may be carried out together; a stage starts when the one before it has
 * succeeded. When a step fails the rest is dropped and the object is looked at again: every plan
 * must be safe to lose from any step on.
 */
#ifndef MUSTER_CORE_PLAN_H
#define MUSTER_CORE_PLAN_H

#include "api/kind.h"

enum plan_op {
    PLAN_CREATE, /* object; "already exists" counts as done */
    PLAN_DELETE, /* kind, ns, name, uid as precondition; "not found" and a conflict count as done:
                    what was meant is not there any more */
    PLAN_UPDATE_STATUS, /* object with resourceVersion: PUT to /status; a conflict drops the rest
                           and looks again */
    PLAN_CHECK, /* kind, ns, name, version: one that is another by now drops the rest, too */
    PLAN_EVICT, /* a pod: object is a patch that adds FINALIZER_TRACKING, for the version seen; then
                   the deletion of what it gave; "not found" and a conflict count as done */
    PLAN_PATCH, /* object is a merge patch; subresource says which part it is for */
    PLAN_BIND,  /* pod ns/name to a node: object is a Binding, its target and annotations */
    PLAN_EVENT, /* object: an Event without name; repeated ones are counted by the code that carries
                   it out */
};

struct plan_step {
    struct plan_step *next;
    enum plan_op op;
    unsigned stage;
    const struct kind *kind;
    const char *ns, *name;
    const char *whom;    /* the planner's name for the beneficiary; NULL: several */
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
    unsigned stage; /* given to steps added next, like whom */
    const char *whom;
    bool may_wait;      /* as long as it only tells: nothing follows from what it writes */
    int64_t wake_at_ms; /* look again at this time at the latest; 0: only when something changes */
};

void plan_init(struct plan *p, struct arena *a);
void plan_next_stage(struct plan *p);
void plan_wake_at(struct plan *p, int64_t at_ms); /* the earliest asked for wins; 0 is ignored */
void plan_create(struct plan *p, const struct kind *k, const struct json *object);
/* One that is there and has another controller, or none, is a refusal: nothing that follows is
 * done.
 */
void plan_create_own(struct plan *p, const struct kind *k, const struct json *object);
void plan_delete(struct plan *p, const struct kind *k, const struct json *object,
                 int64_t grace_seconds);
/* Only if it is still as it was looked at. */
void plan_delete_as_seen(struct plan *p, const struct kind *k, const struct json *object,
                         int64_t grace_seconds);
/* Only if it is still as it was looked at; it stays until its job's controller has counted how it
 * ended, and releases it. */
void plan_evict(struct plan *p, const struct json *pod);
void plan_release(struct plan *p, const struct json *pod);
void plan_update_status(struct plan *p, const struct kind *k, const struct json *object);
/* What follows is done only if it is still as it was looked at. */
void plan_check(struct plan *p, const struct kind *k, const struct json *object);
/* A patch that carries metadata.resourceVersion is meant for that version only (409 otherwise). */
void plan_patch(struct plan *p, const struct kind *k, const struct json *target,
                const struct json *patch);
void plan_bind(struct plan *p, const struct json *pod, const struct json *binding);
/* type: "Normal" or "Warning". */
void plan_event(struct plan *p, const struct kind *k, const struct json *about, const char *type,
                const char *reason, const char *fmt, ...) printf_like(6, 7);
bool plan_is_empty(const struct plan *p);
/* It writes a status and says events, if anything. */
bool plan_only_tells(const struct plan *p);

#endif
