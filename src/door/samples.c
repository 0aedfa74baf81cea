/* samples.c - past usage of a pod or the machine, from the agent's files (agent/samples.h). */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "door/door_internal.h"
#include "runtime/podfolder.h"
#include "runtime/usage_file.h"

#define SAMPLES_LIMIT_BYTES (4u * 1024u * 1024u)

static bool find_file(const struct door *d, const struct node_pod *pod, char out[PATH_MAX])
{
    char *kept;

    if (!pod)
        return (size_t)snprintf(out, PATH_MAX, "%s.samples", d->pod_root) < PATH_MAX;
    if (door_runs(d, pod))
        return (size_t)snprintf(out, PATH_MAX, "%s/%s/" POD_FILE_SAMPLES, d->pod_root, pod->uid) <
               PATH_MAX;
    kept = pod_name_is_safe(pod->uid) ? door_kept_folder(d, pod) : NULL;
    if (!kept ||
        (size_t)snprintf(out, PATH_MAX, "%s/%s/" POD_FILE_SAMPLES, kept, pod->uid) >= PATH_MAX)
        *out = '\0';
    free(kept);
    return *out != '\0';
}

static void add_value(struct buf *b, size_t column, double v)
{
    if (isnan(v) || isinf(v))
        buf_adds(b, "null");
    else
        buf_addf(b, usage_columns[column].peak ? "%.0f" : "%.6g", v);
}

static void add_column(struct buf *b, const struct usage_sample *samples, size_t len, size_t column)
{
    buf_addf(b, "%s\"%s\":{\"unit\":\"%s\",\"values\":[", column ? "," : "",
             usage_columns[column].name, usage_columns[column].unit);
    for (size_t i = 0; i < len; i++) {
        if (i)
            buf_addc(b, ',');
        add_value(b, column, (double)samples[i].v[column]);
    }
    buf_adds(b, "]}");
}

/* "gpu.3" next to "gpu", at the same times. */
static void add_gpu_column(struct buf *b, size_t gpu, size_t column,
                           const struct usage_sample *times, size_t times_len,
                           const struct usage_sample *samples, size_t len)
{
    size_t k = 0;

    buf_addf(b, ",\"%s.%zu\":{\"unit\":\"%s\",\"values\":[", usage_columns[column].name, gpu,
             usage_columns[column].unit);
    for (size_t i = 0; i < times_len; i++) {
        while (k < len && samples[k].time_ms < times[i].time_ms)
            k++;
        if (i)
            buf_addc(b, ',');
        add_value(b, column,
                  k < len && samples[k].time_ms == times[i].time_ms ? (double)samples[k].v[column]
                                                                    : (double)NAN);
    }
    buf_adds(b, "]}");
}

static void add_gpus(struct buf *b, const char *path, const struct node_samples_query *q,
                     const struct usage_sample *times, size_t times_len)
{
    for (size_t gpu = 0; gpu < USAGE_GPUS_LIMIT; gpu++) {
        struct arena a = ARENA_INIT(SAMPLES_LIMIT_BYTES);
        struct usage_sample *samples;
        char file[PATH_MAX + 32];
        size_t len;

        (void)snprintf(file, sizeof(file), "%s" USAGE_GPU_SUFFIX, path, gpu);
        if (access(file, F_OK) == 0 &&
            usage_file_read(file, q->since_ms, q->step_ms, &a, &samples, &len) == 0) {
            add_gpu_column(b, gpu, USAGE_GPU, times, times_len, samples, len);
            add_gpu_column(b, gpu, USAGE_GPU_MEMORY, times, times_len, samples, len);
        }
        arena_release(&a);
    }
}

bool door_samples(struct node *n, const struct node_pod *pod, const struct node_samples_query *q,
                  struct buf *out)
{
    struct arena a = ARENA_INIT(SAMPLES_LIMIT_BYTES);
    struct usage_sample *samples = NULL;
    char path[PATH_MAX];
    size_t len = 0;
    bool found = find_file(door_of(n), pod, path) &&
                 usage_file_read(path, q->since_ms, q->step_ms, &a, &samples, &len) == 0;

    if (!found)
        len = 0;
    while (q->until_ms && len && samples[len - 1].time_ms > q->until_ms)
        len--;
    buf_adds(out, "\"time\":[");
    for (size_t i = 0; i < len; i++)
        buf_addf(out, "%s%" PRId64, i ? "," : "", samples[i].time_ms);
    buf_adds(out, "],\"columns\":{");
    for (size_t i = 0; i < USAGE_COLUMNS; i++)
        add_column(out, samples, len, i);
    if (len > 0)
        add_gpus(out, path, q, samples, len);
    buf_addc(out, '}');
    arena_release(&a);
    return found;
}

int door_latest(struct node *n, const struct node_pod *pod, struct usage_latest *ret)
{
    char path[PATH_MAX];

    return find_file(door_of(n), pod, path) ? usage_file_read_latest(path, ret) : -ENOENT;
}
