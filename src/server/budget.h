/* budget.h - what a PodDisruptionBudget allows, counted on request, never stored. */
#ifndef MUSTER_SERVER_BUDGET_H
#define MUSTER_SERVER_BUDGET_H

#include "server/request.h"

/* Which state of the pods counts. */
enum budget_view {
    BUDGET_COMMITTED, /* as readers see it */
    BUDGET_HEAD,      /* as writes see it: what is on its way to the disk too */
};

struct budget_count {
    int64_t expected; /* pods it is about */
    int64_t healthy;
    int64_t desired; /* of them healthy */
    int64_t allowed; /* evictions now */
};

bool budget_selects(const struct json *budget, const struct json *pod);
bool budget_pod_is_ready(const struct json *pod);
struct budget_count budget_count(const struct server *s, const struct json *budget,
                                 enum budget_view view);
/* Fills the status of a budget that is about to be shown. */
void budget_set_status(const struct server *s, struct arena *a, struct json *budget);

#endif
