/* scratch.c - see scratch.h. */
#include "agent/scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/volume_files.h"
#include "base/log.h"

#define GONE ".gone-" /* no UID starts with a dot */

/* The pool thread's part; it may outlive the rest. */
struct job {
    struct scratch *owner; /* NULL: freed */
    _Atomic bool stop;
    unsigned left; /* folders that could not be deleted */
    char root[];
};

struct scratch {
    struct loop *loop;
    struct clock *clock;
    struct clock_timer *retry;
    int64_t retry_ms;
    struct job *job; /* under way, or NULL */
    bool again;      /* something was moved aside meanwhile */
    unsigned told;   /* how many are left, as last logged */
    char root[];
};

static void begin(struct scratch *s);

const char *scratch_root(const struct scratch *s)
{
    return s->root;
}

struct scratch *scratch_new(struct loop *l, struct clock *clock, const char *root, int64_t retry_ms)
{
    size_t size = strlen(root) + 1;
    struct scratch *s = calloc(1, sizeof(*s) + size);

    if (!s)
        return NULL;
    s->loop = l;
    s->clock = clock;
    s->retry_ms = retry_ms;
    memcpy(s->root, root, size);
    return s;
}

void scratch_free(struct scratch *s)
{
    if (!s)
        return;
    if (s->job) {
        s->job->owner = NULL;
        s->job->stop = true;
    }
    clock_stop(s->clock, s->retry);
    free(s);
}

/* --- the job --- */

static void delete_aside(void *arg)
{
    struct job *j = arg;
    DIR *d = opendir(j->root);
    const struct dirent *e;

    while (d && !j->stop && (e = readdir(d)) != NULL) {
        char *path;

        if (strncmp(e->d_name, GONE, strlen(GONE)) != 0)
            continue;
        if (asprintf(&path, "%s/%s", j->root, e->d_name) < 0)
            break;
        j->left += !volume_tree_remove(path, &j->stop);
        free(path);
    }
    if (d)
        (void)closedir(d);
}

static void on_retry(void *arg)
{
    struct scratch *s = arg;

    s->retry = NULL;
    begin(s);
}

static void on_deleted(void *arg)
{
    struct job *j = arg;
    struct scratch *s = j->owner;

    if (s) {
        s->job = NULL;
        if (j->left > 0 && j->left != s->told)
            log_warn("%s: %u folders of deleted pods cannot be removed (immutable?); retrying "
                     "every %lld s",
                     s->root, j->left, (long long)(s->retry_ms / 1000));
        s->told = j->left;
        if (s->again)
            begin(s);
        else if (j->left > 0 && !s->retry)
            s->retry = clock_start(s->clock, s->retry_ms, on_retry, s);
    }
    free(j);
}

/* If it cannot start, it does with the next removed folder. */
static void begin(struct scratch *s)
{
    size_t size = strlen(s->root) + 1;
    struct job *j;

    s->again = s->job != NULL;
    if (s->job)
        return;
    j = calloc(1, sizeof(*j) + size);
    if (!j)
        return;
    j->owner = s;
    memcpy(j->root, s->root, size);
    if (loop_work(s->loop, delete_aside, on_deleted, j) == 0)
        s->job = j;
    else
        free(j);
}

/* --- removal --- */

static bool move_aside(const struct scratch *s, const char *uid)
{
    char *path = NULL, *aside = NULL;
    bool moved;

    if (asprintf(&path, "%s/%s", s->root, uid) < 0)
        path = NULL;
    if (asprintf(&aside, "%s/" GONE "%s", s->root, uid) < 0)
        aside = NULL;
    moved = path && aside && rename(path, aside) == 0;
    free(aside);
    free(path);
    return moved;
}

void scratch_remove(struct scratch *s, const char *uid)
{
    if (move_aside(s, uid))
        begin(s);
}

void scratch_sweep(struct scratch *s, const struct map *uids)
{
    DIR *d = opendir(s->root);
    const struct dirent *e;
    bool found = false;

    while (d && (e = readdir(d)) != NULL) {
        if (strncmp(e->d_name, GONE, strlen(GONE)) == 0)
            found = true;
        else if (e->d_name[0] != '.' && !map_gets(uids, e->d_name))
            found = move_aside(s, e->d_name) || found;
    }
    if (d)
        (void)closedir(d);
    if (found)
        begin(s);
}
