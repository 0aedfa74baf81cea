/* pod_group.h - the PodGroup of a job of any kind (job_group.c). Pure. */
#ifndef MUSTER_CORE_POD_GROUP_H
#define MUSTER_CORE_POD_GROUP_H

#include "core/job.h"

struct group_wish {
    struct arena *arena;
    const struct kind *kind; /* the job's */
    const struct json *job;
    const struct json *group; /* the existing one, or NULL */
    int64_t priority;
    int64_t least, members;      /* that start together; currently wanted */
    bool elastic;                /* its minimum may change while it waits */
    const struct json *deadline; /* seconds; NULL: none */
    int64_t start_ms;            /* of the job; 0: not yet */
};

/* The kinds that have PodGroups, in turn; NULL: no more. */
const struct kind *group_owner_kind(size_t i);
/* Whether a PodGroup's controller, or NULL, is of one of them. */
bool group_is_jobs(const struct json *controller);
/* The queue such a job is in. */
const char *group_queue(const struct json *job);

/* Creates it before the pods, keeps it up to date, and deletes it at the end. */
void group_make(const struct group_wish *w, struct plan *plan);
void group_keep(const struct group_wish *w, struct plan *plan);
void group_end(const struct group_wish *w, struct plan *plan);

/* Notes on a pod what the scheduler must not take from the PodGroup alone, as its user may edit
 * that. */
void group_note(const struct group_wish *w, struct json *annotations);

#endif
