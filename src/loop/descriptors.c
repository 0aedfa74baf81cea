/* descriptors.c - see descriptors.h. Called before there is a second thread. */
#include "loop/descriptors.h"

#include <stdbool.h>
#include <sys/resource.h>

static bool raised;
static rlim_t before;

void descriptors_raise(uint64_t wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    if (!raised)
        before = limit.rlim_cur;
    raised = true;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

uint64_t descriptors_before(void)
{
    struct rlimit limit = {0};

    if (raised)
        return before;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}
