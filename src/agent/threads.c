/* threads.c - see threads.h. Pure. */
#include "agent/threads.h"

#include <inttypes.h>
#include <stdlib.h>

#include "api/object.h"

int64_t threads_of(struct arena *a, const struct json *pod, const struct json *container,
                   const struct pod_machine *machine, const char **ret_why)
{
    struct container_limits l = pod_container_limits(container);
    const char *said = object_annotation(pod, ANNOTATION_PROCESSES);
    int64_t processes = max_i64(said ? strtoll(said, NULL, 10) : 1, 1);
    int64_t replicas = max_i64(machine->replicas, 1);
    int64_t milli = l.cpu_milli;

    *ret_why = "its CPU limit";
    if (milli <= 0) {
        milli = l.cpu_request_milli;
        *ret_why = "the CPU it asks for";
    }
    if (milli <= 0) {
        milli = machine->allocatable.cpu_milli / replicas;
        *ret_why = replicas > 1
                       ? arena_printf(a, "the machine's cores for each of %" PRId64 " replicas",
                                      replicas)
                       : "the machine's cores";
    }
    if (processes > 1)
        *ret_why = arena_printf(a, "%s, divided by %" PRId64 " processes", *ret_why, processes);
    return max_i64(milli / 1000 / processes, 1);
}
