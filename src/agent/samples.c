/*
 * samples.c - see samples.h. One timer, and at most one look under way: on a machine that is too
 * busy samples become fewer, never more work. A file that cannot be written (a full disk) costs its
 * samples and nothing else.
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
    struct usage_target usage;
    char *uid, *dir, *gpus;
};

struct samples {
    struct samples_options o;
    char *pod_root;
    struct clock_timer *timer;
    bool busy, closing;
    /* Of the look under way; the pool thread's while busy. */
    struct usage_target *usages;
    struct target *targets;
    size_t len, cap;
    int64_t now_ms;
    struct usage_reader *reader;
    struct usage_node node;
    struct samples_gpu gpu;
    struct usage_file node_file;
    struct map files; /* uid -> usage_file */
};

/* --- on the pool thread --- */

static void write_sample(struct usage_file *f, const struct usage_sample *s,
                         const struct usage_container *containers, size_t len)
{
    int64_t window = f->last_ms > 0 ? s->time_ms - f->last_ms : 0;

    (void)!usage_file_add(f, s, window, containers, len);
}

static struct usage_file *file_of(struct samples *s, const char *uid, const char *dir)
{
    struct usage_file *f = map_gets(&s->files, uid);
    char *path = NULL;

    if (f)
        return f;
    f = calloc(1, sizeof(*f));
    if (!f || asprintf(&path, "%s/%s", dir, POD_FILE_SAMPLES) < 0) {
        free(f);
        return NULL;
    }
    if (usage_file_open(f, path) != 0 || map_puts(&s->files, uid, f, NULL) != 0) {
        usage_file_close(f);
        free(f);
        f = NULL;
    }
    free(path);
    return f;
}

static void free_file(void *value)
{
    usage_file_close(value);
    free(value);
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
            struct usage_file *f = map_removes(&s->files, uid);

            free_file(f);
        }
        node = map_after(&s->files, uid, strlen(uid));
    }
}

static void look(void *arg)
{
    struct samples *s = arg;
    struct usage_sample node;

    usage_node_look(&s->node, "", s->now_ms, &node);
    samples_gpu_look(&s->gpu, s->o.gpus, &node);
    write_sample(&s->node_file, &node, NULL, 0);
    usage_reader_look(s->reader, s->usages, s->len, s->now_ms);
    for (size_t i = 0; i < s->len; i++) {
        struct usage_target *t = &s->usages[i];
        struct usage_file *f = file_of(s, t->uid, t->dir);

        samples_gpu_add(&s->gpu, s->targets[i].gpus, t);
        if (f)
            write_sample(f, &t->sample, t->containers, t->containers_len);
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
    s->len = 0;
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
    free(s->targets);
    free(s->usages);
    usage_reader_free(s->reader);
    samples_gpu_release(&s->gpu);
    usage_file_close(&s->node_file);
    map_release(&s->files, free_file);
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
    s->node_file.fd = -1;
    s->reader = usage_reader_new();
    s->pod_root = strdup(options->pod_root);
    if (!s->reader || !s->pod_root || asprintf(&path, "%s.samples", s->pod_root) < 0) {
        destroy(s);
        return NULL;
    }
    if (usage_file_open(&s->node_file, path) != 0)
        log_warn("%s cannot be written: the machine's figures are not kept", path);
    free(path);
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
