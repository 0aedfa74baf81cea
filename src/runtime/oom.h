/*
 * oom.h - did the kernel kill something for lack of memory? It counts such kills per cgroup and for
 * the whole machine; a program that died of SIGKILL while a count rose was most likely it.
 */
#ifndef MUSTER_RUNTIME_OOM_H
#define MUSTER_RUNTIME_OOM_H

#include "base/arena.h"
#include "port/runtime.h"

#define OOM_REASON "OOMKilled" /* as Kubernetes calls it */

struct oom_count {
    int64_t cgroup, machine; /* -1: the kernel does not say */
    int64_t group;           /* of the container's own group; not filled by oom_count_read */
};

/* root is "" or, in tests, a folder with proc and sys in it. The cgroup is our own. */
struct oom_count oom_count_read(const char *root);

/* What can be said of a SIGKILL between two counts; "" when nothing. ret_reason is OOM_REASON when
 * it was this cgroup, else "Error". */
const char *oom_words(struct arena *a, struct oom_count before, struct oom_count after,
                      const char **ret_reason);

int64_t oom_group_kills(const struct container_start *c); /* -1: nobody counts them */
/* What the container's own groups say of its end, before being oom_group_kills at its start: that
 * its program, or one that it had started (said is what the program said last), was killed for lack
 * of memory, or that a SIGKILL was for something else. false: they say nothing about it, and the
 * outputs are as they were. */
bool oom_explain_end(struct arena *a, const struct container_start *c, int64_t before,
                     int exit_code, const char *said, const char **ret_reason,
                     const char **ret_message);

/* The calling process and what it forks are the last to be killed for lack of memory, as far as the
 * kernel lets us; until oom_unprotect, in a child that is to be killed like any other. */
void oom_protect(void);
void oom_unprotect(void);

#endif
