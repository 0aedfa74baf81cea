/*
 * samples.c - see samples.h. One timer, and at most one measurement under way: on an overloaded
 * machine there are fewer samples, never more work. A file that cannot be written (a full disk)
 * only loses its samples.
 */
#include "agent/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/samples_gpu.h"
#include "base/log.h"
#include "base/map.h"
#include "runtime/usage_file.h"

#define PODS_LIMIT 10000u

struct target {
    char *uid, *dir, *gpus;
};

struct files {
    char *path;                     /* of the totals; those of single GPUs are next to it */
    struct usage_file *all, **gpus; /* by index; NULL before the first */
};

struct samples {
    struct samples_options o;
    char *pod_root;
    struct clock_timer *timer;
    bool busy, closing;
    /* For the measurement under way; the pool thread's while busy. */
    struct usage_target *usages;
    struct target *targets;
    size_t len, cap;
    int64_t now_ms;
    struct usage_reader *reader;
    struct usage_node node;
    struct samples_gpu gpu;
    struct files *node_files;
    struct map files; /* uid -> files */
};

/* --- on the pool thread --- */

static void free_file(struct usage_file *f)
{
    if (f)
        usage_file_close(f);
    free(f);
}

static void free_files(void *value)
{
    struct files *f = value;

    if (!f)
        return;
    for (size_t i = 0; f->gpus && i < USAGE_GPUS_LIMIT; i++)
        free_file(f->gpus[i]);
    free(f->gpus);
    free_file(f->all);
    free(f->path);
    free(f);
}

static void write_sample(struct usage_file *f, const struct usage_sample *s,
                         const struct usage_container *containers, size_t len)
{
    int64_t window = f->last_ms > 0 ? s->time_ms - f->last_ms : 0;

    (void)!usage_file_add(f, s, window, containers, len);
}

/* suffix: "" for the totals, otherwise of a GPU's file. */
static struct usage_file *open_file(const char *path, const char *suffix)
{
    struct usage_file *f = calloc(1, sizeof(*f));
    char *whole = NULL;

    if (!f || asprintf(&whole, "%s%s", path, suffix) < 0 || usage_file_open(f, whole) != 0) {
        free(f);
        f = NULL;
    }
    free(whole);
    return f;
}

/* Takes path, allocated by asprintf. NULL when the file cannot be opened. */
static struct files *files_new(char *path)
{
    struct files *f = path ? calloc(1, sizeof(*f)) : NULL;

    if (!f) {
        free(path);
        return NULL;
    }
    f->path = path;
    f->all = open_file(path, "");
    if (f->all)
        return f;
    free_files(f);
    return NULL;
}

static struct files *files_of(struct samples *s, const char *uid, const char *dir)
{
    struct files *f = map_gets(&s->files, uid);
    char *path;

    if (f)
        return f;
    f = asprintf(&path, "%s/" POD_FILE_SAMPLES, dir) < 0 ? NULL : files_new(path);
    if (f && map_puts(&s->files, uid, f, NULL) != 0) {
        free_files(f);
        return NULL;
    }
    return f;
}

static void write_gpu(void *arg, size_t gpu, const struct usage_sample *sample)
{
    struct files *f = arg;
    char suffix[32];

    if (f && !f->gpus)
        f->gpus = calloc(USAGE_GPUS_LIMIT, sizeof(struct usage_file *));
    if (!f || !f->gpus)
        return;
    (void)snprintf(suffix, sizeof(suffix), USAGE_GPU_SUFFIX, gpu);
    if (!f->gpus[gpu])
        f->gpus[gpu] = open_file(f->path, suffix);
    if (f->gpus[gpu])
        write_sample(f->gpus[gpu], sample, NULL, 0);
}

static bool is_target(const struct samples *s, const char *uid)
{
    for (size_t i = 0; i < s->len; i++)
        if (strcmp(s->targets[i].uid, uid) == 0)
            return true;
    return false;
}

static void close_files_of_the_dead(struct samples *s)
{
    struct map_node *node = s->files.count > s->len ? map_first(&s->files) : NULL;

    while (node) {
        char uid[256];

        (void)snprintf(uid, sizeof(uid), "%s", node->key);
        if (!is_target(s, uid)) {
            free_files(map_removes(&s->files, uid));
        }
        node = map_after(&s->files, uid, strlen(uid));
    }
}

static void look(void *arg)
{
    struct samples *s = arg;
    struct usage_sample node;

    usage_node_look(&s->node, "", s->now_ms, &node);
    samples_gpu_look(&s->gpu, s->o.gpus);
    samples_gpu_add_node(&s->gpu, &node, write_gpu, s->node_files);
    if (s->node_files)
        write_sample(s->node_files->all, &node, NULL, 0);
    usage_reader_look(s->reader, s->usages, s->len, s->now_ms);
    for (size_t i = 0; i < s->len; i++) {
        struct usage_target *t = &s->usages[i];
        struct files *f = files_of(s, t->uid, t->dir);

        samples_gpu_add(&s->gpu, s->targets[i].gpus, t, write_gpu, f);
        if (f)
            write_sample(f->all, &t->sample, t->containers, t->containers_len);
    }
    close_files_of_the_dead(s);
}

/* --- on the loop --- */

static void drop_targets(struct samples *s)
{
    for (size_t i = 0; i < s->len; i++) {
        free(s->targets[i].uid);
        free(s->targets[i].dir);
        free(s->targets[i].gpus);
    }
    free(s->targets); /* kilobytes each, needed briefly every few seconds */
    free(s->usages);
    s->targets = NULL;
    s->usages = NULL;
    s->len = s->cap = 0;
}

static bool grow(struct samples *s)
{
    size_t cap = s->cap ? s->cap * 2 : 16;
    struct target *targets;
    struct usage_target *usages;

    if (s->len < s->cap)
        return true;
    if (cap > PODS_LIMIT * 2)
        return false;
    targets = realloc(s->targets, cap * sizeof(*targets));
    if (targets)
        s->targets = targets;
    usages = targets ? realloc(s->usages, cap * sizeof(*usages)) : NULL;
    if (!usages)
        return false;
    s->usages = usages;
    s->cap = cap;
    return true;
}

static void add_target(void *arg, const struct pod_run *run)
{
    struct samples *s = arg;
    struct target t = {0};

    if (!run->alive || !run->known || !grow(s))
        return;
    t.uid = strdup(run->uid);
    t.gpus = strdup(s->o.leased_gpus ? s->o.leased_gpus(s->o.arg, run) : "");
    if (!t.uid || !t.gpus || asprintf(&t.dir, "%s/%s", s->pod_root, run->uid) < 0) {
        free(t.uid);
        free(t.gpus);
        return;
    }
    s->usages[s->len].uid = t.uid;
    s->usages[s->len].dir = t.dir;
    s->targets[s->len++] = t;
}

static void destroy(struct samples *s)
{
    drop_targets(s);
    usage_reader_free(s->reader);
    samples_gpu_release(&s->gpu);
    free_files(s->node_files);
    map_release(&s->files, free_files);
    free(s->pod_root);
    free(s);
}

static void begin(void *arg);

static void again(struct samples *s)
{
    s->timer = clock_start(loop_clock(s->o.loop), USAGE_STEP_MS, begin, s);
}

static void on_done(void *arg)
{
    struct samples *s = arg;

    s->busy = false;
    drop_targets(s);
    if (s->closing)
        destroy(s);
}

static void begin(void *arg)
{
    struct samples *s = arg;

    again(s);
    if (s->busy)
        return;
    s->now_ms = clock_now_ms(loop_clock(s->o.loop));
    s->o.runtime->ops->each(s->o.runtime, add_target, s);
    s->busy = loop_work(s->o.loop, look, on_done, s) == 0;
    if (!s->busy)
        drop_targets(s);
}

struct samples *samples_new(const struct samples_options *options)
{
    struct samples *s = calloc(1, sizeof(*s));
    char *path = NULL;

    if (!s)
        return NULL;
    s->o = *options;
    s->reader = usage_reader_new();
    s->pod_root = strdup(options->pod_root);
    if (!s->reader || !s->pod_root || asprintf(&path, "%s.samples", s->pod_root) < 0) {
        destroy(s);
        return NULL;
    }
    s->node_files = files_new(path);
    if (!s->node_files)
        log_warn("%s.samples cannot be written: the machine's usage is not recorded", s->pod_root);
    again(s);
    return s;
}

void samples_free(struct samples *s)
{
    if (!s)
        return;
    clock_stop(loop_clock(s->o.loop), s->timer);
    s->closing = true;
    if (!s->busy)
        destroy(s);
}
