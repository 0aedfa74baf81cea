/*
 * applier.h - carries out plans (core/plan.h) through the API: the steps of a stage in parallel,
 * stages in order, with a limited number of calls under way over all plans.
 */
#ifndef MUSTER_CONTROL_APPLIER_H
#define MUSTER_CONTROL_APPLIER_H

#include "control/events.h"
#include "core/plan.h"
#include "port/clock.h"
#include "port/transport.h"

struct applier;

struct applier *applier_new(struct transport *t, struct clock *clock,
                            struct event_recorder *events) must_check;
void applier_free(struct applier *a);            /* plans under way are dropped silently */
bool applier_is_making(const struct applier *a); /* whether anything is being created */

enum apply_outcome {
    APPLY_DONE,
    APPLY_AGAIN,  /* the plan's assumptions did not hold; the rest was dropped: reconsider */
    APPLY_FAILED, /* the API refused or was unreachable; the rest was dropped */
};

#define APPLY_KINDS_LIMIT 8
#define APPLY_IN_FLIGHT_LIMIT 64 /* over all plans */

struct apply_result {
    enum apply_outcome outcome;
    const struct err *err; /* why not APPLY_DONE; otherwise NULL */
    /* APPLY_FAILED because the API refuses objects of this kind: a quota, an admission webhook. */
    const struct kind *refused;
    const char *refusal; /* the API's message, or "" */
    bool unclear;        /* APPLY_FAILED, but the request may have been carried out */
    /* The failed steps' beneficiaries (plan_step.whom); NULL: several. */
    const char *failed[APPLY_IN_FLIGHT_LIMIT];
    size_t failed_len;
    /* Newest revision written of each kind: a cache that has it has seen the plan's writes. */
    struct {
        const struct kind *kind;
        int64_t revision;
    } written[APPLY_KINDS_LIMIT];
    size_t written_len;
};

typedef void apply_done_fn(void *arg, const struct apply_result *result);

/* The plan is copied. done is called once, after this returns. -ENOMEM: it will not be called. */
int apply_plan(struct applier *a, const struct plan *plan, apply_done_fn *done,
               void *arg) must_check;

#endif
