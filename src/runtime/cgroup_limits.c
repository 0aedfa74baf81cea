/*
 * cgroup_limits.c - writes limits and requests into the files of groups. The conversions are those
 * of the kubelet and its runtimes, so that CPU shares mean the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cgroup.h"

#define PERIOD_US 100000
#define QUOTA_LEAST_US 1000 /* the kernel's minimum */
#define SHARES_PER_CPU 1024
#define SHARES_LEAST 2
#define SHARES_MOST 262144

int64_t cgroup_pod_request_milli(const struct pod_start *pod)
{
    int64_t together = 0, most = 0;

    for (size_t i = 0; i < pod->containers_len; i++) {
        int64_t milli = pod->containers[i].limits.cpu_request_milli;

        if (pod->containers[i].init)
            most = max_i64(most, milli);
        else
            together += min_i64(milli, INT64_MAX / 2 / POD_CONTAINERS_LIMIT);
    }
    return max_i64(together, most);
}

int cgroup_file_write(const char *folder, const char *name, const char *text)
{
    char path[CGROUP_PATH_BYTES];
    size_t len = strlen(text);
    ssize_t n;
    int fd, rc;

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    /* In a real hierarchy nothing can be created: a missing file is an error. */
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    n = write(fd, text, len);
    rc = n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
    (void)close(fd);
    return rc;
}

int cgroup_file_read(const char *folder, const char *name, char *out, size_t size)
{
    char path[CGROUP_PATH_BYTES];
    size_t len = 0;
    ssize_t n;
    int fd;

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    while (len < size - 1 && (n = read(fd, out + len, size - 1 - len)) > 0)
        len += (size_t)n;
    (void)close(fd);
    out[len] = '\0';
    return 0;
}

static int64_t shares_of(const struct container_limits *l)
{
    int64_t milli = min_i64(l->cpu_request_milli, (int64_t)SHARES_MOST * 1000 / SHARES_PER_CPU);

    return max_i64(SHARES_LEAST, milli * SHARES_PER_CPU / 1000);
}

/* Maps 2 ... 262144 shares to 1 ... 10000. */
static int64_t weight_of(const struct container_limits *l)
{
    return 1 + (shares_of(l) - SHARES_LEAST) * 9999 / (SHARES_MOST - SHARES_LEAST);
}

static int64_t quota_of(const struct container_limits *l)
{
    return l->cpu_milli > 0 ? max_i64(QUOTA_LEAST_US, l->cpu_milli * PERIOD_US / 1000) : 0;
}

static int64_t period_of(const struct container_limits *l)
{
    return l->cpu_milli > 0 ? PERIOD_US : 0;
}

static int64_t memory_of(const struct container_limits *l)
{
    return l->memory_bytes;
}

/* A file, its number (0: not written) and format. In this order, because v1 requires the memory
 * limit before the combined limit of memory and swap. */
static const struct {
    bool unified;
    enum cgroup_controller controller;
    const char *file;
    int64_t (*number)(const struct container_limits *l);
    const char *format;
} files[] = {
    {true, CGROUP_CPU, "cpu.weight", weight_of, "%" PRId64},
    {true, CGROUP_CPU, "cpu.max", quota_of, "%" PRId64 " 100000"},
    {true, CGROUP_MEMORY, "memory.swap.max", memory_of, "0"},
    {true, CGROUP_MEMORY, "memory.max", memory_of, "%" PRId64},
    {false, CGROUP_CPU, "cpu.shares", shares_of, "%" PRId64},
    {false, CGROUP_CPU, "cpu.cfs_period_us", period_of, "%" PRId64},
    {false, CGROUP_CPU, "cpu.cfs_quota_us", quota_of, "%" PRId64},
    {false, CGROUP_MEMORY, "memory.limit_in_bytes", memory_of, "%" PRId64},
    {false, CGROUP_MEMORY, "memory.memsw.limit_in_bytes", memory_of, "%" PRId64},
};

/* The table's formats are literals with at most one number. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
void cgroup_limits_write(const struct cgroup_place *place, const char *folder,
                         const struct container_limits *limits)
{
    for (size_t i = 0; i < ELEMS(files); i++) {
        int64_t number = files[i].number(limits);
        char text[64];

        if (files[i].unified != place->unified || !(files[i].controller & place->controllers) ||
            number <= 0)
            continue;
        (void)snprintf(text, sizeof(text), files[i].format, number);
        /* A kernel without swap accounting has no such file, and nothing to limit. */
        (void)!cgroup_file_write(folder, files[i].file, text);
    }
}
