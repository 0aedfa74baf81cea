/* pod_group.h - the PodGroup of a job of any kind (job_group.c). Pure. */
#ifndef MUSTER_CORE_POD_GROUP_H
#define MUSTER_CORE_POD_GROUP_H

#include "core/job.h"

struct group_wish {
    struct arena *arena;
    const struct kind *kind; /* the job's */
    const struct json *job;
    const struct json *group; /* the existing one, or NULL */
    const char *queue;        /* "": the default queue */
    int64_t priority;
    int64_t least, members;      /* that start together; currently wanted */
    bool elastic;                /* its minimum may change while it waits */
    const struct json *deadline; /* seconds; NULL: none */
    int64_t start_ms;            /* of the job; 0: not yet */
};

/* Creates it before the pods, keeps it up to date, and deletes it at the end. */
void group_make(const struct group_wish *w, struct plan *plan);
void group_keep(const struct group_wish *w, struct plan *plan);
void group_end(const struct group_wish *w, struct plan *plan);

/* Notes on a pod what the scheduler must not take from the PodGroup alone, as its user may edit
 * that. */
void group_note(const struct group_wish *w, struct json *annotations);

#endif
