/* images.c - see images.h. */
#include "agent/images.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "runtime/image_store.h"

#define PROGRESS_MS 3000 /* each change is a write per waiting pod */
#define PULL_ARENA_LIMIT_BYTES (64u * 1024u * 1024u)

struct image_job {
    struct images *images;
    struct image_job *next; /* waiting ones, the next first */
    char *name, *auth, *problem;
    unsigned users;
    bool over, given_up;
    int64_t began_ms, took_ms;
    struct image_pull pull;
    struct err err;
};

struct images {
    struct images_options o;
    char *data;
    struct image_job *first; /* the one under way, then those that wait */
    bool running, ended;
    struct image_progress reported;
    struct clock_timer *timer; /* while one is under way */
};

struct images *images_new(const struct images_options *o)
{
    struct images *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->o = *o;
    s->data = strdup(o->data);
    if (!s->data) {
        free(s);
        return NULL;
    }
    return s;
}

const char *images_data(const struct images *s)
{
    return s->data;
}

static void job_free(struct image_job *j)
{
    err_release(&j->err);
    free(j->name);
    free(j->auth);
    free(j->problem);
    free(j);
}

static void drop(struct image_job *j)
{
    if (--j->users == 0)
        job_free(j);
}

/* A pull that no pod waits for any more makes others wait. */
static void give_up(struct image_job *j)
{
    struct image_job **at = &j->images->first;

    if (j == *at && j->images->running) {
        j->given_up = true;
        image_pull_end(&j->pull);
        return;
    }
    while (*at && *at != j)
        at = &(*at)->next;
    if (*at) {
        *at = j->next;
        drop(j);
    }
}

void image_job_release(struct image_job *j)
{
    if (!j)
        return;
    if (j->users == 2 && !j->over)
        give_up(j);
    drop(j);
}

const char *image_job_name(const struct image_job *j)
{
    return j->name;
}

bool image_job_is_over(const struct image_job *j)
{
    return j->over;
}

const char *image_job_problem(const struct image_job *j)
{
    return j->problem;
}

int64_t image_job_took_ms(const struct image_job *j)
{
    return j->took_ms;
}

bool image_job_waits(const struct image_job *j)
{
    return !j->over && j != j->images->first;
}

struct image_progress image_job_progress(const struct image_job *j)
{
    return image_pull_progress(&j->pull);
}

/* On a pool thread. Room is made after a pull, when nothing waits for it. */
static void pull(void *arg)
{
    struct image_job *j = arg;
    struct arena a = ARENA_INIT(PULL_ARENA_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    struct image image;

    if (image_pull(&a, &j->pull, &image, &j->err) == 0 &&
        image_prune(&a, j->images->data, j->began_ms, IMAGES_AGE_MS, j->images->o.limit_bytes,
                    &err) < 0)
        log_warn("images cannot be removed: %s", err.text);
    arena_release(&a);
}

static void begin(struct images *s);

static void look_again(void *arg)
{
    struct images *s = arg;
    struct image_progress now = image_job_progress(s->first);
    bool changed = now.layers != s->reported.layers || now.unpacks != s->reported.unpacks ||
                   now.bytes_done != s->reported.bytes_done;

    s->timer = clock_start(loop_clock(s->o.loop), PROGRESS_MS, look_again, s);
    s->reported = now;
    if (changed)
        s->o.on_change(s->o.arg);
}

static void stop_looking(struct images *s)
{
    clock_stop(loop_clock(s->o.loop), s->timer);
    s->timer = NULL;
}

static void on_pulled(void *arg)
{
    struct image_job *j = arg;
    struct images *s = j->images;

    stop_looking(s);
    s->first = j->next;
    s->running = false;
    j->over = true;
    j->took_ms = clock_now_ms(loop_clock(s->o.loop)) - j->began_ms;
    if (err_is_set(&j->err))
        j->problem = strdup(j->err.text ? j->err.text : "out of memory");
    drop(j);
    if (s->ended) {
        images_free(s);
        return;
    }
    s->o.on_change(s->o.arg);
    begin(s);
}

static void begin(struct images *s)
{
    struct image_job *j = s->first;

    if (!j || s->running)
        return;
    j->began_ms = clock_now_ms(loop_clock(s->o.loop));
    j->pull = (struct image_pull){.data = s->data, .name = j->name, .auth = j->auth};
    s->running = true;
    s->reported = (struct image_progress){0};
    s->timer = clock_start(loop_clock(s->o.loop), PROGRESS_MS, look_again, s);
    if (loop_work(s->o.loop, pull, on_pulled, j) == 0)
        return;
    (void)err_set(&j->err, ERR_INTERNAL, "out of memory");
    on_pulled(j);
}

static bool is_same(const struct image_job *j, const char *name, const char *auth)
{
    return !j->given_up && strcmp(j->name, name) == 0 &&
           (auth && j->auth ? strcmp(auth, j->auth) == 0 : auth == j->auth);
}

struct image_job *images_pull(struct images *s, const char *name, const char *auth)
{
    struct image_job **at = &s->first, *j;

    for (; *at; at = &(*at)->next)
        if (is_same(*at, name, auth)) {
            (*at)->users++;
            return *at;
        }
    j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    *j = (struct image_job){.images = s, .users = 2, .err = ERR_INIT}; /* the caller's and ours */
    j->name = strdup(name);
    j->auth = auth ? strdup(auth) : NULL;
    if (!j->name || (auth && !j->auth)) {
        job_free(j);
        return NULL;
    }
    *at = j;
    begin(s);
    return j; // NOLINT(clang-analyzer-unix.Malloc): the caller's share is left
}

/* With a pull under way it is freed when that is over, which is soon. */
void images_free(struct images *s)
{
    struct image_job *next;

    if (!s)
        return;
    if (s->running) {
        stop_looking(s);
        s->ended = true;
        image_pull_end(&s->first->pull);
        return;
    }
    for (struct image_job *j = s->first; j; j = next) {
        next = j->next;
        drop(j);
    }
    free(s->data);
    free(s);
}
