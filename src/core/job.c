/* job.c - the list of job kinds. Adding one is one line here. */
#include "core/job.h"

const struct job_kind *const job_kinds[] = {
    &job_kind_pytorch,
    &job_kind_mpi,
    NULL,
};

bool job_is_kind(const struct kind *k)
{
    for (size_t i = 0; job_kinds[i]; i++)
        if (job_kinds[i]->kind == k)
            return true;
    return false;
}
