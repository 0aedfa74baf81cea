/*
 * mpi_wait.c - see mpi_wait.h. One watch per worker: the launcher's role names the pods, and a list
 * restricted to a name is allowed only one at a time.
 */
#include "cli/mpi_wait.h"

#include <errno.h>
#include <string.h>

#include "api/object.h"
#include "cli/session.h"
#include "client/client.h"
#include "client/http_transport.h"
#include "client/reflector.h"
#include "loop/loop.h"

#define LOOPBACK "127."
#define RIGHTS_HINT                                                                                \
    "the launcher's service account needs get, list and watch of pods, create and get of "         \
    "pods/exec"

struct waiting {
    struct arena *arena;
    struct loop *loop;
    const struct mpi_wait *how;
    struct worker *workers;
    size_t ready;
    bool timed_out;
    struct clock_timer *forbidden; /* since the server first refused, until it permits it */
    bool barred;
    enum err_reason said;
    struct mpi_workers *found;
};

struct worker {
    struct waiting *all;
    const char *name;
    struct reflector *reflector;
    bool ready;
    const char *why; /* why it is not ready, in the arena */
};

/* --- one worker ------------------------------------------------------------------------ */

static const char *first_text(const char *a, const char *b)
{
    return *a ? a : b;
}

/* What its containers wait for, or how they ended. */
static const char *container_words(struct arena *a, const struct json *pod)
{
    json_each (c, json_at(pod, "status", "containerStatuses")) {
        const struct json *state = json_get(c, "state");
        const struct json *waits = json_get(state, "waiting"),
                          *over = json_get(state, "terminated");
        const struct json *words = over ? over : waits;
        const char *message = json_get_string(words, "message", "");

        if (words)
            return arena_printf(a, "container %s %s: %s", json_get_string(c, "name", ""),
                                over ? "has ended" : "waits",
                                first_text(message, json_get_string(words, "reason", "")));
    }
    return NULL;
}

static const char *condition_words(const struct json *pod, const char *type)
{
    const struct json *c = object_condition(pod, type);

    if (!c || json_string_is(json_get(c, "status"), "True"))
        return NULL;
    return first_text(json_get_string(c, "message", ""), json_get_string(c, "reason", ""));
}

static const char *why_not(struct arena *a, const struct json *pod)
{
    const char *phase = json_string(json_at(pod, "status", "phase"), "Pending");
    const char *words;

    if (object_is_deleting(pod))
        return "its pod is being deleted";
    words = container_words(a, pod);
    if (!words || !*words)
        words = condition_words(pod, "PodScheduled");
    if (!words || !*words)
        words = condition_words(pod, "Ready");
    return words && *words ? arena_printf(a, "its pod is %s: %s", phase, words)
                           : arena_printf(a, "its pod is %s", phase);
}

static bool is_ready(const struct json *pod)
{
    return !object_is_deleting(pod) && object_condition_is(pod, "Ready");
}

/* The manifest's worker container; by name if there are several. */
static const char *choose_container(struct arena *a, const struct json *pod)
{
    static const char *const names[] = {"worker", "mpi-worker"};
    const struct json *list = json_at(pod, "spec", "containers");

    for (size_t i = 0; i < ELEMS(names); i++)
        json_each (c, list)
            if (json_string_is(json_get(c, "name"), names[i]))
                return names[i];
    return json_len(list) ? arena_strdup(a, json_get_string(json_first(list), "name", "")) : NULL;
}

static void set_ready(struct worker *w, bool ready)
{
    struct waiting *all = w->all;

    all->ready += (size_t)ready - (size_t)w->ready;
    w->ready = ready;
    if (all->ready == all->how->workers_len)
        loop_stop(all->loop);
}

static int on_pod(void *arg, enum reflector_source source, const struct json *pod)
{
    struct worker *w = arg;
    struct mpi_workers *found = w->all->found;
    const char *address = json_string(json_at(pod, "status", "podIP"), "");

    (void)source;
    if (!is_ready(pod)) {
        w->why = why_not(w->all->arena, pod);
        set_ready(w, false);
        return 0;
    }
    if (strncmp(address, LOOPBACK, strlen(LOOPBACK)) != 0)
        found->one_machine = false;
    found->container = choose_container(w->all->arena, pod);
    found->addresses[w - w->all->workers] = arena_strdup(w->all->arena, address);
    set_ready(w, true);
    return 0;
}

static void on_gone(void *arg, const struct json *pod)
{
    struct worker *w = arg;

    (void)pod;
    w->why = "its pod was deleted";
    set_ready(w, false);
}

static void on_barred(void *arg)
{
    struct waiting *all = arg;

    all->forbidden = NULL;
    all->barred = true;
    loop_stop(all->loop);
}

static void on_trouble(void *arg, const struct err *err)
{
    struct worker *w = arg;

    struct waiting *all = w->all;

    w->why = arena_strdup(all->arena, err->text ? err->text : "out of memory");
    if (all->said != err->reason)
        talk_warn(all->how->talk, "worker %s cannot be watched, still trying: %s", w->name, w->why);
    all->said = err->reason;
    if ((err->reason == ERR_FORBIDDEN || err->reason == ERR_UNAUTHORIZED) && !all->forbidden)
        all->forbidden = clock_start(loop_clock(all->loop), MPI_FORBIDDEN_SECONDS * 1000, on_barred,
                                     all);
}

static void on_list(void *arg)
{
    (void)arg;
}

static void on_listed(void *arg)
{
    struct worker *w = arg;

    clock_stop(loop_clock(w->all->loop), w->all->forbidden);
    w->all->forbidden = NULL;
}

static int watch_worker(struct worker *w, struct transport *t)
{
    struct waiting *all = w->all;
    struct reflector_options o = {
        .transport = t,
        .clock = loop_clock(all->loop),
        .kind = &kind_pod,
        .ns = all->how->ns,
        .query = session_selector(all->arena, "fieldSelector", "metadata.name", w->name),
        .handler = {.list_begin = on_list,
                    .put = on_pod,
                    .remove = on_gone,
                    .list_end = on_listed,
                    .on_trouble = on_trouble,
                    .arg = w}};

    w->why = "its pod does not exist";
    w->reflector = o.query ? reflector_new(&o) : NULL;
    return w->reflector ? 0 : -ENOMEM;
}

/* --- all of them ----------------------------------------------------------------------- */

static void on_timeout(void *arg)
{
    struct waiting *all = arg;

    all->timed_out = true;
    loop_stop(all->loop);
}

static int say_who_is_missing(const struct waiting *all, struct err *err)
{
    const struct worker *first = NULL;
    size_t missing = all->how->workers_len - all->ready;

    for (size_t i = all->how->workers_len; i > 0; i--)
        if (!all->workers[i - 1].ready)
            first = &all->workers[i - 1];
    if (!first)
        return 0;
    if (all->barred)
        return err_set(err, ERR_FORBIDDEN, "worker %s cannot be watched: %s; " RIGHTS_HINT,
                       first->name, first->why);
    if (missing > 1)
        return err_set(
            err, ERR_TIMEOUT,
            "worker %s was not ready after %lld s: %s (%zu of %zu workers are not ready)",
            first->name, (long long)all->how->timeout_seconds, first->why, missing,
            all->how->workers_len);
    return err_set(err, ERR_TIMEOUT, "worker %s was not ready after %lld s: %s", first->name,
                   (long long)all->how->timeout_seconds, first->why);
}

struct asking {
    struct loop *loop;
    bool over, denied;
};

/* If it cannot be determined, it is left to mpirun. */
static void on_review(void *arg, const struct json *review, const struct err *err)
{
    struct asking *a = arg;

    a->over = true;
    a->denied = !err && !json_bool(json_at(review, "status", "allowed"), true);
    loop_stop(a->loop);
}

/* Before mpirun, which only says that a failed remote shell could mean many things. */
static int check_exec(struct waiting *all, struct transport *t, struct err *err)
{
    struct asking ask = {.loop = all->loop};

    client_review(t,
                  &(struct client_access){.ns = all->how->ns,
                                          .verb = "create",
                                          .group = "",
                                          .resource = "pods",
                                          .subresource = "exec",
                                          .name = all->how->workers[0]},
                  on_review, &ask);
    while (!ask.over)
        loop_run(all->loop);
    return ask.denied ? err_set(err, ERR_FORBIDDEN,
                                "nothing can be started in worker %s: create of pods/exec is "
                                "forbidden; " RIGHTS_HINT,
                                all->how->workers[0])
                      : 0;
}

static int wait_for_all(struct waiting *all, struct transport *t, struct err *err)
{
    struct clock_timer *timer = clock_start(loop_clock(all->loop), all->how->timeout_seconds * 1000,
                                            on_timeout, all);
    int rc = timer ? 0 : -ENOMEM;

    for (size_t i = 0; i < all->how->workers_len && rc == 0; i++) {
        all->workers[i] = (struct worker){.all = all, .name = all->how->workers[i]};
        rc = watch_worker(&all->workers[i], t);
    }
    while (rc == 0 && !all->timed_out && !all->barred && all->ready < all->how->workers_len)
        loop_run(all->loop);
    if (!all->timed_out)
        clock_stop(loop_clock(all->loop), timer);
    clock_stop(loop_clock(all->loop), all->forbidden);
    if (rc < 0)
        rc = err_set(err, ERR_INTERNAL, "out of memory");
    else
        rc = say_who_is_missing(all, err);
    if (rc == 0 && !all->how->by_ssh)
        rc = check_exec(all, t, err);
    for (size_t i = 0; i < all->how->workers_len; i++)
        if (all->workers[i].reflector)
            reflector_free(all->workers[i].reflector);
    return rc;
}

int mpi_wait_for_workers(struct arena *a, const struct mpi_wait *wait, struct mpi_workers *ret,
                         struct err *err)
{
    struct waiting all = {.arena = a, .how = wait, .found = ret};
    struct transport *t = NULL;
    int rc = -EIO;

    *ret = (struct mpi_workers){
        .one_machine = true,
        .addresses = arena_alloc(a, max_size(wait->workers_len, 1) * sizeof(*ret->addresses))};
    all.workers = arena_alloc(a, max_size(wait->workers_len, 1) * sizeof(*all.workers));
    all.loop = loop_new(err);
    if (all.loop && all.workers && ret->addresses)
        t = http_transport_new(all.loop, wait->config, err);
    if (t)
        rc = wait_for_all(&all, t, err);
    transport_free(t);
    if (all.loop)
        loop_free(all.loop);
    return rc;
}
