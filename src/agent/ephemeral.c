/* ephemeral.c - see ephemeral.h. */
#include "agent/ephemeral.h"

#include <string.h>

#include "agent/pod_resources.h"
#include "agent/scratch.h"
#include "agent/volumes.h"
#include "api/object.h"
#include "base/log.h"
#include "runtime/podfolder.h"

#define UIDS_ARENA_LIMIT_BYTES (1024u * 1024u)

size_t ephemeral_base_len(const char *uid)
{
    return strcspn(uid, (const char[]){POD_LATE_MARK, '\0'});
}

static const struct pod_run *run_of(const struct pod_work *w, struct arena *a,
                                    const struct json *container)
{
    const char *uid = pod_late_uid(a, w->uid, json_get_string(container, "name", ""));

    return uid ? w->agent->runtime->ops->find(w->agent->runtime, uid) : NULL;
}

/* --- starting --- */

const struct json *ephemeral_next(const struct pod_work *w, const struct json *pod,
                                  const struct pod_run *run)
{
    struct arena a = ARENA_INIT(UIDS_ARENA_LIMIT_BYTES);
    const struct json *next = NULL;

    if (run && run->alive && run->known && !object_is_deleting(pod))
        json_each (c, json_at(pod, "spec", "ephemeralContainers"))
            if (!next && !run_of(w, &a, c))
                next = c;
    arena_release(&a);
    return next;
}

struct json *ephemeral_pod(struct arena *a, const struct json *pod, const struct json *container)
{
    static const char *const without[] = {"initContainers", "ephemeralContainers", "volumes"};
    struct json *copy = json_clone(a, pod), *spec = json_get_mut(copy, "spec");

    if (!spec)
        return NULL;
    for (size_t i = 0; i < ELEMS(without); i++)
        json_remove(spec, without[i]);
    json_remove(spec, "containers");
    (void)json_append(json_make_array(a, spec, "containers"), json_clone(a, container));
    return arena_failed(a) ? NULL : copy;
}

/* As many resources as all of the pod's containers together may have, where each has a limit. */
static struct container_limits limits_of(const struct json *pod)
{
    struct container_limits sum = {.cpu_milli = 0};
    bool cpu = true, memory = true;

    json_each (c, json_at(pod, "spec", "containers")) {
        struct container_limits one = pod_container_limits(c);

        cpu = cpu && one.cpu_milli > 0;
        memory = memory && one.memory_bytes > 0;
        sum.cpu_milli += one.cpu_milli;
        sum.memory_bytes += one.memory_bytes;
    }
    return (struct container_limits){.cpu_milli = cpu ? sum.cpu_milli : 0,
                                     .memory_bytes = memory ? sum.memory_bytes : 0};
}

/* NULL: none runs. */
static const struct container_state *target_of(const struct json *container,
                                               const struct pod_run *run)
{
    const char *name = json_get_string(container, "targetContainerName", "");

    for (size_t i = 0; i < run->containers_len; i++) {
        const struct container_state *c = &run->containers[i];

        if (c->phase == CONTAINER_RUNNING && c->pid > 0 &&
            (*name ? strcmp(c->name, name) == 0 : !c->init))
            return c;
    }
    return NULL;
}

int ephemeral_prepare(struct arena *a, const struct json *pod, const struct json *container,
                      const struct pod_run *run, struct pod_start *start, struct err *err)
{
    struct container_start *c = container_starts_copy(a, start, err);
    const struct container_state *target = target_of(container, run);

    start->uid = pod_late_uid(a, start->uid, json_get_string(container, "name", ""));
    if (!c || !start->uid)
        return err_set(err, ERR_INTERNAL, "out of memory");
    start->owner = NULL;
    start->attempt = -1;
    start->restart = POD_RESTART_NEVER;
    c->limits = limits_of(pod);
    if (target) {
        c->join_pid = target->pid;
        c->join_ticks = target->start_ticks;
        start->hosts_path = NULL; /* from a namespace of its own no other can be joined */
        c->cwd = json_get_string(container, "workingDir", "/");
    }
    return 0;
}

/* --- what runs --- */

struct pod_run ephemeral_with(struct arena *a, const struct pod_work *w, const struct json *pod,
                              const struct pod_run *run)
{
    const struct json *list = json_at(pod, "spec", "ephemeralContainers");
    struct container_state *states = arena_alloc(a, max_size(json_len(list), 1) * sizeof(*states));
    struct pod_run with = *run;

    with.late = states;
    with.late_len = 0;
    json_each (c, list) {
        const struct pod_run *own = states ? run_of(w, a, c) : NULL;

        if (own && own->known && own->containers_len == 1)
            states[with.late_len++] = own->containers[0];
    }
    return with;
}

struct uids {
    const struct pod_work *work;
    struct arena *arena;
    struct json *list;
    bool alive_only;
};

static void gather(void *arg, const struct pod_run *run)
{
    struct uids *u = arg;
    size_t len = ephemeral_base_len(run->uid);

    if (run->uid[len] && strlen(u->work->uid) == len && strncmp(run->uid, u->work->uid, len) == 0 &&
        (run->alive || !u->alive_only))
        json_append_string(u->arena, u->list, run->uid);
}

/* Their UIDs, as strings. */
static const struct json *uids_of(const struct pod_work *w, struct arena *a, bool alive_only)
{
    struct uids u = {.work = w, .arena = a, .list = json_new_array(a), .alive_only = alive_only};

    w->agent->runtime->ops->each(w->agent->runtime, gather, &u);
    return u.list;
}

bool ephemeral_any(const struct pod_work *w, bool alive_only)
{
    struct arena a = ARENA_INIT(UIDS_ARENA_LIMIT_BYTES);
    bool any = json_len(uids_of(w, &a, alive_only)) > 0;

    arena_release(&a);
    return any;
}

void ephemeral_stop(const struct pod_work *w, int64_t grace_seconds)
{
    struct arena a = ARENA_INIT(UIDS_ARENA_LIMIT_BYTES);
    auto_err err = ERR_INIT;

    json_each (uid, uids_of(w, &a, true))
        if (w->agent->runtime->ops->stop(w->agent->runtime, json_string(uid, ""), grace_seconds,
                                         &err) != 0)
            log_warn("pod %s/%s: an ephemeral container cannot be stopped: %s", w->ns, w->name,
                     err.text);
    arena_release(&a);
}

void ephemeral_remove(const struct pod_work *w)
{
    struct arena a = ARENA_INIT(UIDS_ARENA_LIMIT_BYTES);
    auto_err err = ERR_INIT;

    json_each (uid, uids_of(w, &a, false))
        if (w->agent->runtime->ops->remove(w->agent->runtime, json_string(uid, ""), &err) == 0)
            scratch_remove(w->agent->scratch, json_string(uid, ""));
    arena_release(&a);
}
