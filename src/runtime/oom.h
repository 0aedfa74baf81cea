/*
 * oom.h - whether the kernel killed something for lack of memory. It counts such kills per cgroup
 * and for the machine; if a program died of SIGKILL while a count rose, it was most likely that
 * one.
 */
#ifndef MUSTER_RUNTIME_OOM_H
#define MUSTER_RUNTIME_OOM_H

#include "base/arena.h"
#include "port/runtime.h"

#define OOM_REASON "OOMKilled" /* Kubernetes' name */

struct oom_count {
    int64_t cgroup, machine; /* -1: unknown */
    int64_t group;           /* of the container's own group; not set by oom_count_read */
};

/* root is "" or, in tests, a folder with proc and sys in it. The cgroup is our own. */
struct oom_count oom_count_read(const char *root);

/* What is known about a SIGKILL between two counts, or "". ret_reason is OOM_REASON if it was this
 * cgroup, else "Error". */
const char *oom_words(struct arena *a, struct oom_count before, struct oom_count after,
                      const char **ret_reason);

int64_t oom_group_kills(const struct container_start *c); /* -1: not counted */
/* What the container's own groups say about its end (before: oom_group_kills at its start): that
 * its program, or one it had started (said: the program's last output), was killed for lack of
 * memory, or that a SIGKILL had another reason. False: nothing, and the outputs are unchanged. */
bool oom_explain_end(struct arena *a, const struct container_start *c, int64_t before,
                     int exit_code, const char *said, const char **ret_reason,
                     const char **ret_message);

/* Makes the calling process and its forks the last to be OOM-killed, as far as permitted; until
 * oom_unprotect, in a child that is to be killed like any other. */
void oom_protect(void);
void oom_unprotect(void);

#endif
