/* job.c - the list of job kinds. Adding one is one line here. */
#include "core/job.h"

const struct job_kind *const job_kinds[] = {
    &job_kind_pytorch,
    &job_kind_mpi,
    NULL,
};
