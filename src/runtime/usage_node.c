/*
 * usage_node.c - the usage of the whole machine, from /proc: CPU (stat), memory (meminfo), network
 * without loopback (net/dev), disks without their partitions (diskstats). In a container too these
 * are the machine's.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cgroup.h"
#include "runtime/usage.h"

#define SECTOR_BYTES 512.0
#define LINE_BYTES 1024

static FILE *open_proc(const char *root, const char *name)
{
    char path[CGROUP_PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/proc/%s", root, name);
    return fopen(path, "re");
}

static double read_cpu_seconds(const char *root)
{
    FILE *f = open_proc(root, "stat");
    unsigned long long user, nice, system, idle, wait, irq, soft, stolen;
    double ticks = NAN;

    if (f && fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
                    &wait, &irq, &soft, &stolen) == 8)
        ticks = (double)(user + nice + system + irq + soft);
    if (f)
        (void)fclose(f);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

static void read_memory(const char *root, struct usage_sample *s)
{
    FILE *f = open_proc(root, "meminfo");
    char line[LINE_BYTES];
    double total = NAN, available = NAN;
    unsigned long long kib;

    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "MemTotal: %llu", &kib) == 1)
            total = (double)kib * 1024;
        else if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            available = (double)kib * 1024;
        else if (sscanf(line, "AnonPages: %llu", &kib) == 1)
            s->v[USAGE_RSS] = (float)kib * 1024;
    }
    if (f)
        (void)fclose(f);
    s->v[USAGE_MEMORY] = (float)(total - available);
}

static void read_network(const char *root, double *rx, double *tx)
{
    FILE *f = open_proc(root, "net/dev");
    char line[LINE_BYTES], name[64];
    unsigned long long in, out;

    *rx = *tx = f ? 0 : NAN;
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, " %63[^:]: %llu %*u %*u %*u %*u %*u %*u %*u %llu", name, &in, &out) == 3 &&
            strcmp(name, "lo") != 0) {
            *rx += (double)in;
            *tx += (double)out;
        }
    if (f)
        (void)fclose(f);
}

/* A whole disk has a folder in /sys/block and a device; partitions would be counted twice, loop and
 * ram disks are not disks. */
static bool is_disk(const char *root, const char *name)
{
    char path[CGROUP_PATH_BYTES];

    if (strncmp(name, "loop", 4) == 0 || strncmp(name, "ram", 3) == 0 ||
        strncmp(name, "dm-", 3) == 0 || strncmp(name, "md", 2) == 0)
        return false;
    (void)snprintf(path, sizeof(path), "%s/sys/block/%s", root, name);
    return access(path, F_OK) == 0;
}

static void read_disks(const char *root, double *read, double *written)
{
    FILE *f = open_proc(root, "diskstats");
    char line[LINE_BYTES], name[64];
    unsigned long long in, out;

    *read = *written = f ? 0 : NAN;
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, " %*u %*u %63s %*u %*u %llu %*u %*u %*u %llu", name, &in, &out) == 3 &&
            is_disk(root, name)) {
            *read += (double)in * SECTOR_BYTES;
            *written += (double)out * SECTOR_BYTES;
        }
    if (f)
        (void)fclose(f);
}

static float rate(double before, double after, double seconds)
{
    return seconds > 0 && after >= before ? (float)((after - before) / seconds) : NAN;
}

void usage_node_look(struct usage_node *n, const char *root, int64_t now_ms,
                     struct usage_sample *ret)
{
    struct usage_node now = {.time_ms = now_ms, .cpu_s = read_cpu_seconds(root)};
    double seconds = n->time_ms ? (double)(now_ms - n->time_ms) / 1000.0 : 0;

    usage_sample_clear(ret, now_ms);
    read_memory(root, ret);
    read_network(root, &now.rx, &now.tx);
    read_disks(root, &now.read, &now.written);
    ret->v[USAGE_CPU] = rate(n->cpu_s, now.cpu_s, seconds);
    ret->v[USAGE_NET_RX] = rate(n->rx, now.rx, seconds);
    ret->v[USAGE_NET_TX] = rate(n->tx, now.tx, seconds);
    ret->v[USAGE_DISK_READ] = rate(n->read, now.read, seconds);
    ret->v[USAGE_DISK_WRITE] = rate(n->written, now.written, seconds);
    *n = now;
}
