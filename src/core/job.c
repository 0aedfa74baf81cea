/* job.c - the list of job kinds. Adding one is one line here. */
#include "core/job.h"

const struct job_kind *const job_kinds[] = {
    &job_kind_pytorch,
    &job_kind_mpi,
    NULL,
};

const struct job_kind *const batch_kinds[] = {&job_kind_batch, &job_kind_cron, NULL};

static bool is_in(const struct job_kind *const *list, const struct kind *k)
{
    for (; *list; list++)
        if ((*list)->kind == k)
            return true;
    return false;
}

bool job_is_kind(const struct kind *k)
{
    return is_in(job_kinds, k);
}

bool batch_is_kind(const struct kind *k)
{
    return is_in(batch_kinds, k);
}
