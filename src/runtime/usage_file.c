/*
 * usage_file.c - see usage_file.h. Numbers are in native format, as the file stays on the machine.
 * Nothing is synced: a power cut loses some minutes of samples.
 */
#include "runtime/usage_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

#define MAGIC "MUSTUSE1"
#define LATEST_OFFSET 4096
#define RINGS_OFFSET 12288
#define READ_TRIES 3 /* for a block being written */

static const struct {
    int64_t step_ms;
    size_t slots;
} rings[] = {{USAGE_STEP_MS, 300}, {30 * 1000, 360}, {300 * 1000, 2016}};

#define SLOTS_MOST 2016

struct record {
    int64_t time_ms;
    float v[USAGE_COLUMNS];
    uint32_t check;
};

struct latest_block {
    struct usage_latest latest;
    uint32_t check;
};

_Static_assert(sizeof(struct latest_block) <= RINGS_OFFSET - LATEST_OFFSET, "latest block fits");

const struct usage_column_info usage_columns[USAGE_COLUMNS] = {
    [USAGE_CPU] = {"cpu", "cores", false},
    [USAGE_MEMORY] = {"memory", "bytes", true},
    [USAGE_RSS] = {"rss", "bytes", true},
    [USAGE_NET_RX] = {"networkReceive", "bytes/s", false},
    [USAGE_NET_TX] = {"networkTransmit", "bytes/s", false},
    [USAGE_DISK_READ] = {"diskRead", "bytes/s", false},
    [USAGE_DISK_WRITE] = {"diskWrite", "bytes/s", false},
    [USAGE_GPU] = {"gpu", "gpus", false},
    [USAGE_GPU_MEMORY] = {"gpuMemory", "bytes", true},
};

void usage_sample_clear(struct usage_sample *s, int64_t time_ms)
{
    s->time_ms = time_ms;
    for (size_t i = 0; i < USAGE_COLUMNS; i++)
        s->v[i] = NAN;
}

static uint32_t check_of(const void *data, size_t len)
{
    uint64_t h = fnv1a_64(FNV1A_64_START, data, len);

    return (uint32_t)(h ^ h >> 32);
}

static off_t ring_offset(size_t ring)
{
    size_t at = RINGS_OFFSET;

    for (size_t i = 0; i < ring; i++)
        at += rings[i].slots * sizeof(struct record);
    return (off_t)at;
}

static size_t slot_of(size_t ring, int64_t time_ms)
{
    return (size_t)(time_ms / rings[ring].step_ms) % rings[ring].slots;
}

static bool is_record(size_t ring, size_t slot, const struct record *r)
{
    return r->time_ms > 0 && r->check == check_of(r, offsetof(struct record, check)) &&
           slot_of(ring, r->time_ms) == slot;
}

/* --- combining samples --- */

struct summary {
    double sum[USAGE_COLUMNS];
    unsigned count[USAGE_COLUMNS], samples;
};

static void summary_add(struct summary *s, const float v[USAGE_COLUMNS])
{
    s->samples++;
    for (size_t i = 0; i < USAGE_COLUMNS; i++) {
        if (isnan(v[i]))
            continue;
        s->count[i]++;
        if (!usage_columns[i].peak)
            s->sum[i] += (double)v[i];
        else if (s->count[i] == 1 || (double)v[i] > s->sum[i])
            s->sum[i] = (double)v[i];
    }
}

static void summary_take(const struct summary *s, float v[USAGE_COLUMNS])
{
    for (size_t i = 0; i < USAGE_COLUMNS; i++)
        v[i] = s->count[i] == 0        ? NAN
               : usage_columns[i].peak ? (float)s->sum[i]
                                       : (float)(s->sum[i] / s->count[i]);
}

/* --- writing --- */

static int write_all(int fd, const void *data, size_t len, off_t at)
{
    ssize_t n = pwrite(fd, data, len, at);

    return n == (ssize_t)len ? 0 : n < 0 ? -errno : -ENOSPC;
}

static int write_record(const struct usage_file *f, size_t ring, const struct usage_sample *s)
{
    struct record r = {.time_ms = s->time_ms};

    memcpy(r.v, s->v, sizeof(r.v));
    r.check = check_of(&r, offsetof(struct record, check));
    return write_all(f->fd, &r, sizeof(r),
                     ring_offset(ring) +
                         (off_t)(slot_of(ring, s->time_ms) * sizeof(struct record)));
}

/* All records of a ring; invalid ones have time 0. */
static int read_ring(int fd, size_t ring, struct record out[SLOTS_MOST])
{
    size_t size = rings[ring].slots * sizeof(*out);
    ssize_t n = pread(fd, out, size, ring_offset(ring));

    if (n < 0)
        return -errno;
    memset((char *)out + n, 0, size - (size_t)n);
    for (size_t i = 0; i < rings[ring].slots; i++)
        if (!is_record(ring, i, &out[i]))
            out[i].time_ms = 0;
    return 0;
}

/* Computes the record of one finished step of a coarser ring from the next finer one. */
static int write_summary(const struct usage_file *f, size_t ring, int64_t begin_ms)
{
    struct record *records = malloc(SLOTS_MOST * sizeof(*records));
    struct summary sum = {.samples = 0};
    struct usage_sample s;
    int rc = records ? read_ring(f->fd, ring - 1, records) : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < rings[ring - 1].slots; i++)
        if (records[i].time_ms >= begin_ms && records[i].time_ms < begin_ms + rings[ring].step_ms)
            summary_add(&sum, records[i].v);
    free(records);
    if (rc != 0 || sum.samples == 0)
        return rc;
    usage_sample_clear(&s, begin_ms);
    summary_take(&sum, s.v);
    return write_record(f, ring, &s);
}

static int write_summaries(const struct usage_file *f, int64_t now_ms)
{
    int rc = 0;

    for (size_t ring = 1; ring < ELEMS(rings) && f->last_ms > 0 && rc == 0; ring++) {
        int64_t step = rings[ring].step_ms, before = f->last_ms / step;

        if (now_ms / step != before)
            rc = write_summary(f, ring, before * step);
    }
    return rc;
}

static int write_latest(const struct usage_file *f, const struct usage_sample *s, int64_t window_ms,
                        const struct usage_container *containers, size_t len)
{
    struct latest_block b;

    memset(&b, 0, sizeof(b)); /* padding is part of the checksum */
    b.latest.sample = *s;
    b.latest.window_ms = window_ms;
    b.latest.containers_len = (uint32_t)min_size(len, POD_CONTAINERS_LIMIT);
    if (len > 0)
        memcpy(b.latest.containers, containers, b.latest.containers_len * sizeof(containers[0]));
    b.check = check_of(&b.latest, sizeof(b.latest));
    return write_all(f->fd, &b, sizeof(b), LATEST_OFFSET);
}

int usage_file_add(struct usage_file *f, const struct usage_sample *s, int64_t window_ms,
                   const struct usage_container *containers, size_t len)
{
    int rc = write_summaries(f, s->time_ms);

    if (rc == 0)
        rc = write_record(f, 0, s);
    if (rc == 0)
        rc = write_latest(f, s, window_ms, containers, len);
    if (rc == 0)
        f->last_ms = s->time_ms;
    return rc;
}

static int open_format(int fd)
{
    char magic[8];
    off_t size = ring_offset(ELEMS(rings));
    struct stat st;

    if (pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
        memcmp(magic, MAGIC, sizeof(magic)) == 0 && fstat(fd, &st) == 0 && st.st_size == size)
        return 0;
    if (ftruncate(fd, 0) != 0 || ftruncate(fd, size) != 0)
        return -errno;
    return write_all(fd, MAGIC, sizeof(magic), 0);
}

static int64_t newest(int fd)
{
    struct record *records = malloc(SLOTS_MOST * sizeof(*records));
    int64_t last = 0;

    if (records && read_ring(fd, 0, records) == 0)
        for (size_t i = 0; i < rings[0].slots; i++)
            last = max_i64(last, records[i].time_ms);
    free(records);
    return last;
}

int usage_file_open(struct usage_file *f, const char *path)
{
    int rc;

    f->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (f->fd < 0)
        return -errno;
    rc = open_format(f->fd);
    if (rc != 0) {
        usage_file_close(f);
        return rc;
    }
    f->last_ms = newest(f->fd);
    return 0;
}

void usage_file_close(struct usage_file *f)
{
    if (f->fd >= 0)
        (void)close(f->fd);
    f->fd = -1;
}

/* --- reading --- */

static int open_to_read(const char *path)
{
    char magic[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return -errno;
    if (pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
        memcmp(magic, MAGIC, sizeof(magic)) == 0)
        return fd;
    (void)close(fd);
    return -ENOENT;
}

int usage_file_read_latest(const char *path, struct usage_latest *ret)
{
    int fd = open_to_read(path), rc = -ENOENT;
    struct latest_block b;

    if (fd < 0)
        return fd;
    for (int i = 0; i < READ_TRIES && rc != 0; i++)
        if (pread(fd, &b, sizeof(b), LATEST_OFFSET) == (ssize_t)sizeof(b) &&
            b.check == check_of(&b.latest, sizeof(b.latest)) && b.latest.sample.time_ms > 0 &&
            b.latest.containers_len <= POD_CONTAINERS_LIMIT) {
            *ret = b.latest;
            rc = 0;
        }
    (void)close(fd);
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const struct usage_sample *x = a, *y = b;

    return (x->time_ms > y->time_ms) - (x->time_ms < y->time_ms);
}

/* Adds a ring's records that end before those of the finer rings (until_ms) and not before
 * since_ms. Returns where the ring starts. */
static int64_t take_ring(const struct record *records, size_t ring, int64_t since_ms,
                         int64_t until_ms, struct usage_sample *out, size_t *len)
{
    int64_t begin = until_ms;

    for (size_t i = 0; i < rings[ring].slots; i++) {
        const struct record *r = &records[i];
        int64_t length = ring == 0 ? 0 : rings[ring].step_ms;

        if (r->time_ms == 0 || r->time_ms + length > until_ms)
            continue;
        begin = min_i64(begin, r->time_ms);
        if (r->time_ms + length < since_ms)
            continue;
        out[*len].time_ms = r->time_ms;
        memcpy(out[*len].v, r->v, sizeof(r->v));
        (*len)++;
    }
    return begin;
}

static size_t bring_together(struct usage_sample *list, size_t len, int64_t step_ms)
{
    size_t n = 0;

    for (size_t i = 0; i < len;) {
        int64_t step = list[i].time_ms / step_ms;
        struct summary sum = {.samples = 0};

        for (; i < len && list[i].time_ms / step_ms == step; i++)
            summary_add(&sum, list[i].v);
        list[n].time_ms = step * step_ms;
        summary_take(&sum, list[n].v);
        n++;
    }
    return n;
}

int usage_file_read(const char *path, int64_t since_ms, int64_t step_ms, struct arena *a,
                    struct usage_sample **ret, size_t *ret_len)
{
    struct record *records = malloc(SLOTS_MOST * sizeof(*records));
    size_t slots = 0, len = 0;
    int64_t until_ms = INT64_MAX;
    struct usage_sample *list;
    int fd = open_to_read(path), rc = fd < 0 ? fd : 0;

    for (size_t i = 0; i < ELEMS(rings); i++)
        slots += rings[i].slots;
    list = arena_alloc(a, slots * sizeof(*list));
    if (rc == 0 && (!list || !records))
        rc = -ENOMEM;
    for (size_t ring = 0; ring < ELEMS(rings) && rc == 0; ring++) {
        rc = read_ring(fd, ring, records);
        if (rc == 0)
            until_ms = take_ring(records, ring, since_ms, until_ms, list, &len);
    }
    free(records);
    if (fd >= 0)
        (void)close(fd);
    if (rc != 0)
        return rc;
    qsort(list, len, sizeof(*list), by_time);
    if (step_ms > 0)
        len = bring_together(list, len, step_ms);
    *ret = list;
    *ret_len = len;
    return 0;
}
