/*
 * cgroup_find.c - finds this process's position in the hierarchies, from /proc/self/cgroup (the
 * path within a hierarchy) and /proc/self/mountinfo (which part of it is mounted where). In a
 * container the mount may start at our own group: then the mount's root is removed from the path.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cgroup.h"

#define LINE_BYTES 8192
/* v1's value for "unlimited" is above this. */
#define V1_UNLIMITED (INT64_MAX / 2)

static const struct {
    const char *name;
    enum cgroup_controller bit;
} controllers[] = {{"cpu", CGROUP_CPU},
                   {"memory", CGROUP_MEMORY},
                   {"pids", CGROUP_PIDS},
                   {"cpuacct", CGROUP_CPUACCT}};

unsigned cgroup_controllers_parse(const char *list)
{
    unsigned found = 0;

    while (*list) {
        size_t n = strcspn(list, ", \n");

        for (size_t i = 0; i < ELEMS(controllers); i++)
            if (strlen(controllers[i].name) == n && memcmp(controllers[i].name, list, n) == 0)
                found |= controllers[i].bit;
        list += n;
        list += strspn(list, ", \n");
    }
    return found;
}

static FILE *open_proc(const char *root, const char *name)
{
    char path[CGROUP_PATH_BYTES];

    if (snprintf(path, sizeof(path), "%s/proc/self/%s", root, name) >= (int)sizeof(path))
        return NULL;
    return fopen(path, "re");
}

struct mount {
    char root[CGROUP_PATH_BYTES], point[CGROUP_PATH_BYTES], type[16], options[1024];
};

/* "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755" */
static bool parse_mount(const char *line, struct mount *m)
{
    const char *tail = strstr(line, " - ");

    return tail && sscanf(line, "%*d %*d %*s %4095s %4095s", m->root, m->point) == 2 &&
           sscanf(tail + 3, "%15s %*s %1023s", m->type, m->options) == 2;
}

/* The mount of the hierarchy that own describes (v2, or the v1 one with these controllers). */
static bool find_mount(const char *root, const struct cgroup_own *own, struct mount *m)
{
    FILE *f = open_proc(root, "mountinfo");
    char line[LINE_BYTES];
    bool found = false;

    while (f && !found && fgets(line, sizeof(line), f)) {
        if (!parse_mount(line, m))
            continue;
        found = own->unified ? strcmp(m->type, "cgroup2") == 0
                             : strcmp(m->type, "cgroup") == 0 &&
                                   (cgroup_controllers_parse(m->options) & own->controllers) ==
                                       own->controllers;
    }
    if (f)
        (void)fclose(f);
    return found;
}

/* path is within the hierarchy; the mount shows what is below its root. */
static bool place_own(const char *root, const char *path, const struct mount *m,
                      struct cgroup_own *own)
{
    size_t n = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);
    int len;

    if (strncmp(path, m->root, n) != 0 || (path[n] && path[n] != '/'))
        path = "", n = 0; /* mounted from elsewhere: only its top is visible */
    path += n;
    if (strcmp(path, "/") == 0)
        path = "";
    if (strstr(path, "/..")) /* above the cgroup namespace */
        return false;
    if (snprintf(own->mount, sizeof(own->mount), "%s%s", root, m->point) >= (int)sizeof(own->mount))
        return false;
    len = snprintf(own->folder, sizeof(own->folder), "%s%s%s", root, m->point, path);
    return len < (int)sizeof(own->folder);
}

/* One line of /proc/self/cgroup: "4:memory:/job" or "0::/user.slice". */
static bool parse_own(const char *root, char *line, struct cgroup_own *own)
{
    char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
    struct mount m;

    if (!path)
        return false;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    names++;
    own->unified = *names == '\0';
    own->controllers = own->unified ? 0 : cgroup_controllers_parse(names);
    if (!own->unified && !own->controllers)
        return false;
    return find_mount(root, own, &m) && place_own(root, path, &m, own);
}

size_t cgroup_find_own(const char *root, struct cgroup_own *out, size_t limit)
{
    FILE *f = open_proc(root, "cgroup");
    char line[LINE_BYTES];
    size_t n = 0;

    while (f && n < limit && fgets(line, sizeof(line), f))
        n += parse_own(root, line, &out[n]);
    if (f)
        (void)fclose(f);
    return n;
}

/* --- limits around us --- */

static void lower(int64_t *value, int64_t limit)
{
    if (limit > 0 && (*value < 0 || limit < *value))
        *value = limit;
}

static void see_memory(const char *folder, bool unified, int64_t *memory)
{
    char text[64];
    int64_t limit;

    if (cgroup_file_read(folder, unified ? "memory.max" : "memory.limit_in_bytes", text,
                         sizeof(text)) < 0)
        return;
    limit = strtoll(text, NULL, 10); /* "max" parses as 0 */
    if (limit < V1_UNLIMITED)
        lower(memory, limit);
}

static void see_cpu(const char *folder, bool unified, int64_t *cpu)
{
    long long quota = -1, period = 0;
    char text[64];

    if (unified) {
        if (cgroup_file_read(folder, "cpu.max", text, sizeof(text)) < 0 ||
            sscanf(text, "%lld %lld", &quota, &period) != 2)
            return;
    } else {
        if (cgroup_file_read(folder, "cpu.cfs_quota_us", text, sizeof(text)) < 0)
            return;
        quota = strtoll(text, NULL, 10);
        if (cgroup_file_read(folder, "cpu.cfs_period_us", text, sizeof(text)) < 0)
            return;
        period = strtoll(text, NULL, 10);
    }
    if (quota > 0 && period > 0)
        lower(cpu, max_i64(quota * 1000 / period, 1));
}

/* From our own group up to the top of the mount: the tightest limit applies. */
static void see_all(struct cgroup_own *own, int64_t *cpu, int64_t *memory)
{
    size_t top = strlen(own->mount);

    for (;;) {
        char *slash;

        if (own->unified || (own->controllers & CGROUP_MEMORY))
            see_memory(own->folder, own->unified, memory);
        if (own->unified || (own->controllers & CGROUP_CPU))
            see_cpu(own->folder, own->unified, cpu);
        slash = strrchr(own->folder, '/');
        if (!slash || (size_t)(slash - own->folder) < top)
            return;
        *slash = '\0';
    }
}

void cgroup_own_limits(const char *root, int64_t *ret_cpu_milli, int64_t *ret_memory_bytes)
{
    struct cgroup_own *own = calloc(CGROUP_PLACES_LIMIT, sizeof(*own));
    size_t n = own ? cgroup_find_own(root, own, CGROUP_PLACES_LIMIT) : 0;

    *ret_cpu_milli = *ret_memory_bytes = -1;
    for (size_t i = 0; i < n; i++)
        see_all(&own[i], ret_cpu_milli, ret_memory_bytes);
    free(own);
}
