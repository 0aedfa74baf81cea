/*
 * oom.c - see oom.h. Both cgroup versions are read: memory.events of v2, memory.oom_control of v1.
 * A container's own group counts for itself and its children. Without groups, ours is shared with
 * other pods; the machine's count (/proc/vmstat) includes all cgroups, so if it is unchanged there
 * was no OOM kill.
 */
#include "runtime/oom.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/quantity.h"

#define EXIT_KILLED 137
#define PATH_BYTES 4096
#define LINE_BYTES 4096

/* The number after "oom_kill " in such a file; -1 when there is none. */
static int64_t read_count(const char *path)
{
    FILE *f = fopen(path, "re");
    char line[LINE_BYTES];
    int64_t count = -1;

    if (!f)
        return -1;
    while (fgets(line, sizeof(line), f))
        if (strncmp(line, "oom_kill ", 9) == 0)
            count = strtoll(line + 9, NULL, 10);
    (void)fclose(f);
    return count;
}

/* The path of the counter for one line of /proc/self/cgroup, "7:memory:/path" or "0::/path". */
static bool counter_path(const char *root, const char *line, char path[PATH_BYTES])
{
    const char *names = strchr(line, ':');
    const char *folder = names ? strchr(names + 1, ':') : NULL;

    if (!folder)
        return false;
    if (strncmp(names, "::", 2) == 0)
        return snprintf(path, PATH_BYTES, "%s/sys/fs/cgroup%s/memory.events", root, folder + 1) <
               PATH_BYTES;
    if (strncmp(names, ":memory:", 8) == 0)
        return snprintf(path, PATH_BYTES, "%s/sys/fs/cgroup/memory%s/memory.oom_control", root,
                        folder + 1) < PATH_BYTES;
    return false;
}

static int64_t read_cgroup_count(const char *root)
{
    char path[PATH_BYTES], line[LINE_BYTES];
    int64_t count = -1;
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    f = fopen(path, "re");
    if (!f)
        return -1;
    while (count < 0 && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (counter_path(root, line, path))
            count = read_count(path);
    }
    (void)fclose(f);
    return count;
}

struct oom_count oom_count_read(const char *root)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/proc/vmstat", root);
    return (struct oom_count){.cgroup = read_cgroup_count(root), .machine = read_count(path)};
}

static bool rose(int64_t before, int64_t after)
{
    return before >= 0 && after > before;
}

const char *oom_words(struct arena *a, struct oom_count before, struct oom_count after,
                      const char **ret_reason)
{
    const char *text = "";

    *ret_reason = "Error";
    if (rose(before.cgroup, after.cgroup)) {
        *ret_reason = OOM_REASON;
        text = arena_printf(a, "its cgroup's oom_kill went from %" PRId64 " to %" PRId64,
                            before.cgroup, after.cgroup);
    } else if (rose(before.machine, after.machine)) {
        text = arena_printf(a,
                            "likely for lack of memory: the machine's oom_kill went from %" PRId64
                            " to %" PRId64 " meanwhile",
                            before.machine, after.machine);
    } else if (before.machine >= 0 && after.machine >= 0) {
        text = "not for lack of memory: the kernel counts no such kill";
    }
    return text ? text : "";
}

/* --- a container's own group --- */

/* Kills in the container's groups; -1: not counted. */
static int64_t group_kills(const char *const *folders)
{
    static const char *const files[] = {"memory.events", "memory.oom_control"};

    for (; folders && *folders; folders++)
        for (size_t i = 0; i < ELEMS(files); i++) {
            char path[PATH_BYTES];
            int64_t n;

            if (snprintf(path, sizeof(path), "%s/%s", *folders, files[i]) >= PATH_BYTES)
                continue;
            n = read_count(path);
            if (n >= 0)
                return n;
        }
    return -1;
}

int64_t oom_group_kills(const struct container_start *c)
{
    return group_kills(c->cgroups);
}

bool oom_explain_end(struct arena *a, const struct container_start *c, int64_t before,
                     int exit_code, const char *said, const char **ret_reason,
                     const char **ret_message)
{
    int64_t kills = exit_code == 0 ? -1 : group_kills(c->cgroups) - max_i64(before, 0);
    char limit[QUANTITY_TEXT_SIZE];
    const char *which = "the machine's memory";

    if (kills < 0 || (kills == 0 && exit_code != EXIT_KILLED))
        return false;
    if (kills == 0) {
        *ret_message = "not for lack of memory: the kernel counts no such kill";
        return true;
    }
    if (c->limits.memory_bytes > 0)
        which = arena_printf(a, "limit %s", quantity_format_bytes(c->limits.memory_bytes, limit));
    *ret_reason = OOM_REASON;
    *ret_message = exit_code == EXIT_KILLED
                       ? arena_printf(a, "ran out of memory: %s", which ? which : "")
                       : arena_printf(a, "%s%sa process it had started ran out of memory: %s", said,
                                      *said ? "; " : "", which ? which : "");
    if (!*ret_message)
        *ret_message = "";
    return true;
}

/* --- protecting the supervisors --- */

#define SCORE_FILE "/proc/self/oom_score_adj"
#define SCORE_NEVER "-1000"

static char score_before[16]; /* "": unchanged */

static bool write_score(const char *text)
{
    int fd = open(SCORE_FILE, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        (void)close(fd);
    return written;
}

void oom_protect(void)
{
    int fd = open(SCORE_FILE, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, score_before, sizeof(score_before) - 1) : -1;

    if (fd >= 0)
        (void)close(fd);
    if (n <= 0 || !write_score(SCORE_NEVER)) /* an ordinary user may not */
        score_before[0] = '\0';
}

void oom_unprotect(void)
{
    if (score_before[0])
        (void)write_score(score_before);
}
