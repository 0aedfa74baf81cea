/* budget.h - what a PodDisruptionBudget allows, computed on request, never stored. */
#ifndef MUSTER_SERVER_BUDGET_H
#define MUSTER_SERVER_BUDGET_H

#include "server/request.h"

/* Which state of the pods counts. */
enum budget_view {
    BUDGET_COMMITTED, /* as readers see it */
    BUDGET_HEAD,      /* as writes see it: including writes under way */
};

struct budget_count {
    int64_t expected; /* pods it covers */
    int64_t healthy;
    int64_t desired; /* of them required to be healthy */
    int64_t allowed; /* evictions allowed now */
};

bool budget_selects(const struct json *budget, const struct json *pod);
bool budget_pod_is_ready(const struct json *pod);
struct budget_count budget_count(const struct server *s, const struct json *budget,
                                 enum budget_view view);
/* Fills in the status of a budget that is about to be returned. */
void budget_set_status(const struct server *s, struct arena *a, struct json *budget);

#endif
