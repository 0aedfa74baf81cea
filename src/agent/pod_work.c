/*
 * pod_work.c - carries out what pod_sync.c decides for one pod: by the runtime at once, by the API
 * with a later answer. The queue makes sure that a pod is processed once at a time, so its calls
 * never overtake each other.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "agent/ephemeral.h"
#include "agent/image_helper.h"
#include "agent/newer.h"
#include "agent/pod_events.h"
#include "agent/pod_files.h"
#include "agent/pod_status.h"
#include "agent/pod_token.h"
#include "agent/rights.h"
#include "agent/scratch.h"
#include "agent/start_folder.h"
#include "agent/volumes.h"
#include "api/object.h"
#include "base/hash.h"
#include "base/log.h"
#include "client/client.h"
#include "core/pod_state.h"
#include "loop/descriptors.h"
#include "runtime/mounts.h"

#define COMPLAINT_MS 3600000
#define START_AGAIN_MS 1000
#define START_AGAIN_LAST_MS 60000
#define PULL_AGAIN_MS 10000
#define PULL_AGAIN_LAST_MS 300000
#define WORK_ARENA_LIMIT_BYTES (64u * 1024u * 1024u)
#define IN_DOUBT "waits for the programs of pod %s/%s, which may use the same GPUs and ports: %s"
#define HOST_ADDRESS "127.0.0.1"

static void look(struct pod_work *w);

static const struct json *cached_pod(const struct pod_work *w)
{
    const struct json *pod = cache_get(w->agent->pods, w->ns, w->name);

    return pod && strcmp(object_uid(pod), w->uid) == 0 ? pod : NULL;
}

static const struct pod_run *known_run(const struct pod_work *w)
{
    return w->agent->runtime->ops->find(w->agent->runtime, w->uid);
}

static void drop_refs(struct pod_work *w)
{
    arena_release(&w->refs_arena);
    w->refs = NULL;
    w->refs_known = false;
    pod_token_drop(w);
}

static void done(struct pod_work *w, enum queue_result result)
{
    const struct json *pod = cached_pod(w);
    const struct pod_run *run = known_run(w);
    bool over = result == QUEUE_OK &&
                (pod ? pod_is_settled(pod) && !(run && run->alive) : run == NULL) &&
                !ephemeral_any(w, true);

    queue_done(w->agent->queue, w->key, result);
    if (!over)
        return;
    w->agent->runtime->ops->rest(w->agent->runtime, w->uid);
    agent_forget_pod(w);
}

/* A persistent problem is retried every second, but logged once an hour. */
static void complain(struct pod_work *w, const char *what, const struct err *err)
{
    const char *text = err->text ? err->text : "out of memory";
    uint64_t hash = fnv1a_64(fnv1a_64(FNV1A_64_START, what, strlen(what)), text, strlen(text));
    int64_t now = clock_now_ms(w->agent->clock);

    if (hash == w->complained && now - w->complained_ms < COMPLAINT_MS)
        return;
    w->complained = hash;
    w->complained_ms = now;
    log_warn("pod %s/%s: %s: %s", w->ns, w->name, what, text);
}

/* Named events are created only once; for the latest ones this is known without asking the
 * server. */
static bool was_said(struct agent *a, const char *ns, const char *name)
{
    uint64_t hash = fnv1a_64(fnv1a_64(FNV1A_64_START, ns, strlen(ns) + 1), name, strlen(name));

    for (size_t i = 0; i < ELEMS(a->said); i++)
        if (a->said[i] == hash)
            return true;
    a->said[a->said_next++ % ELEMS(a->said)] = hash;
    return false;
}

static void say(struct pod_work *w, const struct json *pod, const char *name, const char *type,
                const char *reason, const char *message)
{
    struct pod_event e = {.about = pod,
                          .type = type,
                          .reason = reason,
                          .message = message ? message : "out of memory",
                          .component = AGENT_COMPONENT,
                          .host = w->agent->node_name,
                          .name = name,
                          .now_ms = clock_now_ms(w->agent->clock)};

    if (name && was_said(w->agent, w->ns, name))
        return;
    pod_event_send(w->agent->transport, &e, w->agent);
}

/* --- removal --- */

static void remove_run(struct pod_work *w)
{
    auto_err err = ERR_INIT;
    int rc;

    ephemeral_remove(w);
    rc = w->agent->runtime->ops->remove(w->agent->runtime, w->uid, &err);

    if (rc != 0)
        complain(w, "cannot remove its folder", &err);
    else
        scratch_remove(w->agent->scratch, w->uid);
    done(w, rc == 0 ? QUEUE_OK : QUEUE_RETRY);
}

static void on_deleted(void *arg, const struct json *object, const struct err *err)
{
    struct pod_work *w = arg;

    (void)object;
    if (err && err->reason != ERR_NOT_FOUND && err->reason != ERR_CONFLICT) {
        complain(w, "cannot delete it", err);
        done(w, QUEUE_RETRY);
        return;
    }
    remove_run(w);
}

static void delete_pod(struct pod_work *w)
{
    client_delete(w->agent->transport, &kind_pod, w->ns, w->name, w->uid, 0, "Background",
                  on_deleted, w);
}

static void on_verified(void *arg, const struct json *object, const struct err *err)
{
    struct pod_work *w = arg;

    free(w->agent->in_doubt);
    w->agent->in_doubt = NULL;
    if (err) {
        complain(w, "cannot be asked for", err);
        if (asprintf(&w->agent->in_doubt, IN_DOUBT, w->ns, w->name, err->text ? err->text : "") < 0)
            w->agent->in_doubt = NULL;
        done(w, QUEUE_RETRY);
        return;
    }
    json_each (pod, json_get(object, "items"))
        if (strcmp(object_uid(pod), w->uid) == 0) {
            done(w, QUEUE_OK); /* it exists: the cache will learn of it */
            return;
        }
    w->gone = true;
    look(w);
}

/* By a list: about a deleted pod a cluster answers its node nothing else. */
static void verify(struct pod_work *w)
{
    struct arena a = ARENA_INIT(WORK_ARENA_LIMIT_BYTES);

    client_list(w->agent->transport, &kind_pod, w->ns,
                arena_printf(&a, "%s%%2Cmetadata.name%%3D%s", w->agent->pods_query, w->name),
                on_verified, w);
    arena_release(&a);
}

static void stop_pod(struct pod_work *w, const struct json *pod, int64_t grace_seconds)
{
    auto_err err = ERR_INIT;

    if (w->stop_grace >= 0 && grace_seconds >= w->stop_grace)
        return;
    if (w->agent->runtime->ops->stop(w->agent->runtime, w->uid, grace_seconds, &err) != 0) {
        complain(w, "cannot be stopped", &err);
        queue_add_after(w->agent->queue, w->key, 1000);
        return;
    }
    if (w->stop_grace < 0 && pod)
        say(w, pod, NULL, "Normal", "Killing", "Stopping the pod's programs");
    else if (w->stop_grace < 0)
        log_info("pod %s/%s is ended: the API does not know it", w->ns, w->name);
    w->stop_grace = grace_seconds;
}

/* --- status --- */

static void on_status(void *arg, const struct json *object, const struct err *err)
{
    struct pod_work *w = arg;
    bool refused = err && (err->reason == ERR_NOT_FOUND || err->reason == ERR_CONFLICT);

    (void)object;
    if (err && !refused) {
        complain(w, "cannot write its status", err);
        done(w, QUEUE_RETRY);
    } else if (w->delete_next && !refused) {
        delete_pod(w);
    } else { /* refused: another pod has the name, as the cache will show, or it was too early */
        done(w, refused && cached_pod(w) ? QUEUE_RETRY : QUEUE_OK);
    }
}

/* Where other machines reach the node, and its pods, which share its network. */
static const char *address_of(const struct agent *a)
{
    return a->door_host ? a->door_host : HOST_ADDRESS;
}

/* True: a status is being written, and on_status continues. */
static bool send_status(struct pod_work *w, const struct json *pod, const struct pod_failure *f)
{
    struct arena a = ARENA_INIT(WORK_ARENA_LIMIT_BYTES);
    const struct pod_run *run = known_run(w);
    const struct pod_run with = run ? ephemeral_with(&a, w, pod, run)
                                    : (struct pod_run){.uid = NULL};
    struct json *patch = pod_status_patch(&a, pod, run ? &with : NULL, f, address_of(w->agent),
                                          clock_now_ms(w->agent->clock));
    bool sent = patch && !arena_failed(&a);

    if (sent)
        client_patch(w->agent->transport, &kind_pod, w->ns, w->name, "status", patch, on_status, w);
    arena_release(&a);
    return sent;
}

static void say_started(struct pod_work *w, const struct json *pod)
{
    const struct pod_run *run = known_run(w);
    struct arena a = ARENA_INIT(WORK_ARENA_LIMIT_BYTES);

    /* A status of Running or later is from before a restart of the daemon: already reported. */
    for (size_t i = 0; run && i < run->containers_len && !w->said_started; i++)
        if (run->containers[i].pid > 0 && !run->containers[i].init) {
            w->said_started = true;
            if (!json_string_is(json_at(pod, "status", "phase"), "Running") &&
                !pod_is_finished(pod))
                say(w, pod, NULL, "Normal", "Started",
                    arena_printf(&a, "Started container %s as process %" PRId64,
                                 run->containers[i].name, run->containers[i].pid));
        }
    arena_release(&a);
}

/* Named by pod and number: after a restart of the daemon the event already exists. */
static void say_pod_notes(struct pod_work *w, const struct json *pod)
{
    const struct pod_run *run = known_run(w);
    struct arena a = ARENA_INIT(WORK_ARENA_LIMIT_BYTES);

    for (size_t i = 0; run && i < run->notes_len; i++) {
        const struct pod_note *n = &run->notes[i];

        if (n->number <= w->said_note)
            continue;
        w->said_note = n->number;
        say(w, pod, arena_printf(&a, "%s.%.8s-%" PRId64, w->name, w->uid, n->number),
            n->warning ? "Warning" : "Normal", n->reason, n->message);
    }
    arena_release(&a);
}

/* --- starting --- */

static void on_ref(void *arg, const struct json *object, const struct err *err)
{
    struct pod_work *w = arg;
    struct pod_ref *r = w->refs;

    while (r && r->asked)
        r = r->next;
    if (!r || (err && err->reason != ERR_NOT_FOUND)) {
        if (err)
            complain(w, "cannot read what its environment refers to", err);
        drop_refs(w);
        done(w, QUEUE_RETRY);
        return;
    }
    r->asked = true;
    r->object = err ? NULL : json_clone(&w->refs_arena, object);
    if (claims_keeper(w->agent->claims) == CLAIMS_CLUSTERS)
        volumes_add_claim_refs(&w->refs_arena, r, w->agent->node_name, &w->refs);
    look(w);
}

/* True: all there. False: the next one was requested, and look() continues. */
static bool have_refs(struct pod_work *w, const struct json *pod)
{
    if (!w->refs_known) {
        struct json *copy = json_clone(&w->refs_arena, pod); /* the refs point into it */

        w->refs = pod_refs(&w->refs_arena, copy);
        w->refs_known = true;
    }
    for (const struct pod_ref *r = w->refs; r; r = r->next)
        if (!r->asked) {
            client_get(w->agent->transport, r->kind, w->ns, r->name, on_ref, w);
            return false;
        }
    return true;
}

struct in_namespace {
    struct agent *agent;
    const char *ns;
    bool alive;
};

static void see_alive(void *arg, const struct pod_run *run)
{
    struct in_namespace *n = arg;

    n->alive = n->alive || (run->alive && strcmp(run->ns, n->ns) == 0);
}

static bool add_service(void *arg, const struct json *service)
{
    const struct in_namespace *n = arg;

    if (strcmp(object_namespace(service), n->ns) == 0 &&
        hosts_add(n->agent->hosts, n->ns, object_name(service)) != 0)
        log_warn("service %s/%s: cannot be put into the hosts file", n->ns, object_name(service));
    return true;
}

/* The pod's name within the headless service that it names, as operators use it. */
static int add_subdomain(const struct pod_work *w, const struct json *pod, const char *hostname)
{
    const char *subdomain = json_string(json_at(pod, "spec", "subdomain"), "");
    char name[NAME_MAX + 1];

    if (!*subdomain)
        return 0;
    if (snprintf(name, sizeof(name), "%s.%s", hostname, subdomain) >= (int)sizeof(name))
        return -ENAMETOOLONG;
    return hosts_add(w->agent->hosts, w->ns, name);
}

static int prepare_hosts(struct pod_work *w, const struct json *pod, const char *hostname,
                         const char **ret_path, struct err *err)
{
    struct agent *a = w->agent;
    struct in_namespace n = {.agent = a, .ns = w->ns, .alive = true};
    bool was_open = hosts_is_open(a->hosts, w->ns);
    int rc;

    /* Checking all pods, including dead ones, is too expensive for every start. */
    if (hosts_wants_renewal(a->hosts, w->ns, cache_count(a->services))) {
        n.alive = false;
        a->runtime->ops->each(a->runtime, see_alive, &n);
    }
    rc = hosts_open(a->hosts, w->ns, n.alive ? HOSTS_IN_USE : HOSTS_UNUSED, ret_path, err);
    if (rc == 0 && (!was_open || !n.alive))
        cache_each(a->services, add_service, &n);
    if (rc == 0 &&
        (hosts_add(a->hosts, w->ns, w->name) != 0 || hosts_add(a->hosts, w->ns, hostname) != 0 ||
         add_subdomain(w, pod, hostname) != 0))
        rc = err_set(err, ERR_INTERNAL, "cannot write %s", *ret_path);
    return rc;
}

/* Named after its owner: reported once for a job's pods. */
static void say_once_per_job(struct pod_work *w, const struct json *pod, struct arena *arena,
                             const char *type, const char *subject, const char *reason,
                             const char *message)
{
    const struct json *owner = object_controller(pod);

    say(w, pod,
        arena_printf(arena, "%s.%s-%.8s", json_get_string(owner, "name", w->name), subject,
                     json_get_string(owner, "uid", w->uid)),
        type, reason, message);
}

/* After a restart of the daemon the event already exists. */
static void say_notes(struct pod_work *w, const struct json *pod, struct arena *arena,
                      const struct start_note *notes)
{
    for (unsigned n = 0; notes; notes = notes->next, n++) {
        const char *type = notes->warning ? "Warning" : "Normal";

        if (notes->of_job)
            say_once_per_job(w, pod, arena, type, notes->subject, notes->reason, notes->message);
        else
            say(w, pod, arena_printf(arena, "%s.note-%u-%.8s", w->name, n, w->uid), type,
                notes->reason, notes->message);
        if (notes->claim)
            claims_create(w->agent->claims, w->ns, notes->claim);
    }
}

static int prepare_volumes(struct pod_work *w, const struct json *pod, struct arena *arena,
                           const struct pod_machine *machine, struct pod_start *start,
                           const struct start_note **notes, struct err *err)
{
    struct volume_places places = {.claims = w->agent->claims,
                                   .node_name = w->agent->node_name,
                                   .scratch = scratch_root(w->agent->scratch),
                                   .obstacle = machine->users.obstacle,
                                   .machine = &machine->users,
                                   .token = w->token,
                                   .gives_account = machine->token != NULL,
                                   .ca_pem = machine->ca_pem,
                                   .start = w->agent->start};
    return volumes_prepare(arena, pod, w->refs, &places, start, notes, err);
}

static bool count_replica(void *arg, const struct json *pod)
{
    int64_t *n = arg;

    *n += !pod_is_finished(pod);
    return true;
}

/* Of the pod's job. Those of a gang may not be bound yet. */
static int64_t replicas_here(const struct agent *a, const struct json *pod)
{
    const struct json *owner = object_controller(pod);
    const char *gang = object_annotation(pod, ANNOTATION_MIN_MEMBER);
    int64_t n = 0;

    if (owner)
        cache_each_of_controller(a->pods, json_get_string(owner, "uid", ""), count_replica, &n);
    return max_i64(n, gang ? strtoll(gang, NULL, 10) : 0);
}

/* Root's pods run as root: without mounts nothing protects the daemon's files from them. */
static void add_not_contained(const struct start_note **notes, struct arena *arena, const char *why)
{
    start_note_add(arena, notes,
                   &(struct start_note){
                       .reason = "NotContained",
                       .warning = true,
                       .of_job = true,
                       .subject = "contained",
                       .message = arena_printf(arena,
                                               "The pod sees muster's own folder and all of the "
                                               "machine's devices and kernel settings: %s",
                                               why)});
}

/* images: NULL for a pod that runs without. late: the ephemeral container to start, which is the
 * only one of pod; or NULL. */
static int build_and_start(struct pod_work *w, const struct json *pod, const struct image *images,
                           const struct json *late, struct arena *arena, struct err *err)
{
    struct agent *a = w->agent;
    bool mounts = a->runtime->ops->has_mounts(a->runtime);
    struct pod_machine machine = {
        .env = environ,
        .hidden = geteuid() == 0 && mounts ? a->folder : NULL,
        .host_address = mounts ? NULL : HOST_ADDRESS,
        .address = address_of(a),
        .has_gpus = a->machine.gpus > 0,
        .users = {.uid = geteuid(),
                  .gid = getegid(),
                  .capabilities = rights_own_capabilities(),
                  .home = mounts ? start_folder_of_others() : NULL,
                  .obstacle = mounts ? NULL : mounts_obstacle(),
                  .find_user = identity_find_user},
        .exe = images ? IMAGE_HELPER_EXE : a->exe,
        .server = a->server,
        .token = pod_token_is_own(pod) ? w->token : NULL,
        .ca_pem = a->ca_pem,
        .allocatable = {.cpu_milli = a->machine.cpu_milli, .memory_bytes = a->machine.memory_bytes},
        .open_files = descriptors_before(),
        .replicas = replicas_here(a, pod),
        .images = images};
    const struct start_note *notes = NULL;
    const char *helper = NULL;
    struct pod_start start;
    int rc;

    if (images && !mounts)
        return err_set(err, ERR_INVALID, "the pod cannot run in its image: %s",
                       machine.users.obstacle);
    rc = pod_start_build(arena, pod, w->refs, &machine, &start, &notes, err);
    if (rc == 0 && mounts)
        rc = prepare_hosts(w, pod, start.hostname, &start.hosts_path, err);
    if (rc == 0 && late)
        rc = ephemeral_prepare(arena, cached_pod(w), late, known_run(w), &start, err);
    if (rc == 0)
        rc = prepare_volumes(w, pod, arena, &machine, &start, &notes, err);
    if (rc == 0 && images)
        rc = image_helper_make(arena, a->folder, a->exe, &helper, err);
    if (rc == 0 && images)
        rc = pod_images_mount(arena, pod, images,
                              arena_printf(arena, "%s/%s", scratch_root(a->scratch), w->uid),
                              helper, &start, err);
    if (rc == 0)
        rc = a->runtime->ops->start(a->runtime, &start, err);
    if (rc == 0 && geteuid() == 0 && !mounts)
        add_not_contained(&notes, arena, machine.users.obstacle);
    say_notes(w, pod, arena, notes);
    return rc;
}

/* Once per pod, however often the daemon starts: the event is named after the pod. */
static void say_unlimited(struct pod_work *w, const struct json *pod, struct arena *arena)
{
    const char *problem = w->agent->runtime->limits_problem;

    if (problem && pod_has_limits(pod))
        say(w, pod, arena_printf(arena, "%s.limits-%.8s", w->name, w->uid), "Warning",
            "LimitsNotEnforced",
            arena_printf(arena, "The pod's limits are measured but not enforced: %s", problem));
}

static void on_token(struct pod_work *w, const struct err *err)
{
    const struct json *pod = cached_pod(w);
    struct arena arena = ARENA_INIT(WORK_ARENA_LIMIT_BYTES);

    if (!err) {
        look(w);
        return;
    }
    complain(w, "cannot get its service account's token", err);
    if (pod)
        say(w, pod, arena_printf(&arena, "%s.token-%.8s", w->name, w->uid), "Warning", "Failed",
            arena_printf(&arena, "No token for service account %s: %s", pod_token_account(pod),
                         err->text));
    arena_release(&arena);
    drop_refs(w);
    done(w, QUEUE_RETRY);
}

/* Even if the status is written meanwhile; other changes of the pod do not shorten it. */
static void start_later(struct pod_work *w)
{
    queue_add_after(w->agent->queue, w->key, w->start_after_ms - clock_now_ms(w->agent->clock));
}

/* --- images --- */

static void say_image_notes(struct pod_work *w, const struct json *pod,
                            const struct start_note *notes)
{
    for (; notes; notes = notes->next)
        say(w, pod, NULL, notes->warning ? "Warning" : "Normal", notes->reason, notes->message);
}

static void report_images(struct pod_work *w, const struct json *pod, const struct pod_failure *f)
{
    if (!send_status(w, pod, f))
        done(w, QUEUE_OK);
}

/* The next pull of what failed is a new one. */
static void pull_later(struct pod_work *w, const struct json *pod, const struct pod_failure *f)
{
    int64_t wait_ms = min_i64((int64_t)PULL_AGAIN_MS << min_i64(w->failed_pulls++, 16),
                              PULL_AGAIN_LAST_MS);

    pod_images_release(&w->images);
    free(w->pull_problem);
    w->pull_problem = strcmp(f->reason, "ErrImagePull") == 0 ? strdup(f->message) : NULL;
    w->start_after_ms = clock_now_ms(w->agent->clock) + wait_ms;
    start_later(w);
    report_images(w, pod, f);
}

/* After ErrImagePull, as in Kubernetes. */
static void report_back_off(struct pod_work *w, const struct json *pod)
{
    struct arena a = ARENA_INIT(WORK_ARENA_LIMIT_BYTES);
    struct pod_failure f = {
        .waiting = true,
        .reason = "ImagePullBackOff",
        .message = arena_printf(&a, "Back-off pulling image: %s", w->pull_problem)};

    report_images(w, pod, &f);
    arena_release(&a);
}

/* False: they are not there, and the step is over. */
static bool have_images(struct pod_work *w, const struct json *pod, struct arena *arena,
                        const struct image **ret)
{
    struct pod_images_answer answer;

    *ret = NULL;
    if (!pod_is_in_image(pod, w->agent->in_image))
        return true;
    pod_images_get(arena, w->agent->images, pod, w->refs, &w->images, &answer);
    w->awaits_image = answer.state == POD_IMAGES_PULLING;
    say_image_notes(w, pod, answer.notes);
    *ret = answer.images;
    if (answer.state == POD_IMAGES_READY)
        return true;
    drop_refs(w);
    agent_await(w, false);
    if (answer.state == POD_IMAGES_PULLING)
        report_images(w, pod, &answer.failure);
    else
        pull_later(w, pod, &answer.failure);
    return false;
}

static void start_pod(struct pod_work *w, const struct json *pod, bool service_missing)
{
    struct arena arena = ARENA_INIT(WORK_ARENA_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    struct pod_failure waiting = {.waiting = true, .reason = "CreateContainerConfigError"};
    const struct image *images;
    int rc;

    if (clock_now_ms(w->agent->clock) < w->start_after_ms) {
        start_later(w);
        if (w->pull_problem)
            report_back_off(w, pod);
        else
            done(w, QUEUE_OK);
        return;
    }
    if (!have_refs(w, pod) || !pod_token_have(w, pod, on_token))
        return;
    free(w->pull_problem);
    w->pull_problem = NULL;
    if (!have_images(w, pod, &arena, &images)) {
        arena_release(&arena);
        return;
    }
    rc = build_and_start(w, pod, images, NULL, &arena, &err);
    drop_refs(w);
    agent_await(w, false);
    if (rc == 0) {
        w->failed_starts = w->failed_pulls = 0;
        pod_images_release(&w->images);
        if (service_missing)
            say(w, pod, NULL, "Warning", "ServiceNotFound",
                "The Service named by MASTER_ADDR did not appear; started without it");
        if (!images)
            say_once_per_job(
                w, pod, &arena, "Normal", "image", "ImageNotPulled",
                "The image is not pulled: the program runs with this machine's own software");
        say_unlimited(w, pod, &arena);
        arena_release(&arena);
        done(w, QUEUE_OK);
        return;
    }
    complain(w, "cannot be started", &err);
    waiting.message = err.text ? err.text : "out of memory";
    say(w, pod,
        arena_printf(&arena, "%s.start-%.8s-%08" PRIx64, w->name, w->uid,
                     fnv1a_64(FNV1A_64_START, waiting.message, strlen(waiting.message)) >> 32),
        "Warning", "Failed", waiting.message);
    arena_release(&arena);
    w->start_after_ms = clock_now_ms(w->agent->clock) +
                        min_i64((int64_t)START_AGAIN_MS << min_i64(w->failed_starts++, 16),
                                START_AGAIN_LAST_MS);
    start_later(w);
    if (!send_status(w, pod, &waiting))
        done(w, QUEUE_RETRY);
}

/* --- one step --- */

struct departed {
    const struct agent *agent;
    bool any;
};

static void see_departed(void *arg, const struct pod_run *run)
{
    struct departed *d = arg;
    const struct json *pod = run->alive ? cache_get(d->agent->pods, run->ns, run->name) : NULL;

    if (!run->alive || run->uid[ephemeral_base_len(run->uid)])
        return;
    d->any |= !pod || strcmp(object_uid(pod), run->uid) != 0 ||
              (pod_is_finished(pod) && pod_run_has_running(run)); /* failed as lost, by others */
}

static bool room_is_held(const struct agent *a)
{
    struct departed d = {.agent = a, .any = a->departed.count > 0};

    a->runtime->ops->each(a->runtime, see_departed, &d);
    return d.any;
}

static struct pod_view view_of(struct pod_work *w, const struct json *pod)
{
    struct arena a = ARENA_INIT(WORK_ARENA_LIMIT_BYTES);
    const char *service = pod ? pod_awaited_service(&a, pod) : NULL;
    struct pod_view v = {
        .pod = pod,
        .run = known_run(w),
        .synced = cache_is_synced(w->agent->pods),
        .gone = w->gone,
        .newer = w->newer,
        .service_seen = !service || cache_get(w->agent->services, w->ns, service),
        .room_held = pod && !known_run(w) && room_is_held(w->agent),
        .in_image = pod && pod_is_in_image(pod, w->agent->in_image),
        .seen_ms = w->seen_ms,
        .over_limit = w->over_limit,
        .now_ms = clock_now_ms(w->agent->clock),
    };

    arena_release(&a);
    return v;
}

static void fail_pod(struct pod_work *w, const struct json *pod, const struct pod_failure *f)
{
    log_info("pod %s/%s: %s", w->ns, w->name, f->message);
    say(w, pod, NULL, "Warning", "Failed", f->message);
    if (!send_status(w, pod, f))
        done(w, QUEUE_OK);
}

/* The event has a name, so it is created once. */
static void evict_pod(struct pod_work *w, const struct json *pod, const struct pod_failure *f)
{
    struct arena a = ARENA_INIT(WORK_ARENA_LIMIT_BYTES);
    struct json *patch = pod_status_eviction(&a, pod, f);

    log_info("pod %s/%s is evicted: %s", w->ns, w->name, f->message);
    say(w, pod, arena_printf(&a, "%s.evicted-%.8s", w->name, w->uid), "Warning", f->reason,
        f->message);
    if (arena_failed(&a))
        done(w, QUEUE_RETRY);
    else
        client_patch(w->agent->transport, &kind_pod, w->ns, w->name, "status", patch, on_status, w);
    arena_release(&a);
}

static void report(struct pod_work *w, const struct json *pod)
{
    bool sent = pod && send_status(w, pod, NULL);

    if (pod) {
        say_started(w, pod);
        say_pod_notes(w, pod);
    }
    if (sent)
        return;
    if (w->delete_next)
        delete_pod(w);
    else
        done(w, QUEUE_OK);
}

/* Why new pods wait for one whose programs run here: how long that lasts is up to the owner. NULL:
 * it is being ended. */
static const char *doubt(struct arena *arena, const struct agent *a)
{
    if (a->in_doubt)
        return a->in_doubt;
    map_for_each (node, &a->works) {
        const struct pod_work *w = node->value;

        if (w->newer)
            return arena_printf(arena, IN_DOUBT, w->ns, w->name,
                                newer_text(arena, a->pod_root, w->uid));
    }
    return NULL;
}

/* False: there is no reason to report. */
static bool say_doubt(struct pod_work *w, const struct json *pod)
{
    struct arena arena = ARENA_INIT(WORK_ARENA_LIMIT_BYTES);
    const struct pod_failure waiting = {
        .waiting = true, .reason = "PodInDoubt", .message = doubt(&arena, w->agent)};
    bool said = waiting.message != NULL;

    if (said && !send_status(w, pod, &waiting))
        done(w, QUEUE_OK);
    arena_release(&arena);
    return said;
}

static void start_late(struct pod_work *w, const struct json *pod, const struct json *container)
{
    struct arena arena = ARENA_INIT(WORK_ARENA_LIMIT_BYTES);
    const char *name = json_get_string(container, "name", "");
    const struct json *own = ephemeral_pod(&arena, pod, container);
    auto_err err = ERR_INIT;
    int rc;

    if (own && !have_refs(w, own)) {
        arena_release(&arena);
        return;
    }
    rc = own ? build_and_start(w, own, NULL, container, &arena, &err)
             : err_set(&err, ERR_INTERNAL, "out of memory");
    drop_refs(w);
    if (rc == 0) {
        say(w, pod, NULL, "Normal", "Started",
            arena_printf(&arena, "Started ephemeral container %s", name));
    } else {
        complain(w, "an ephemeral container cannot be started", &err);
        say(w, pod, arena_printf(&arena, "%s.late-%.8s-%s", w->name, w->uid, name), "Warning",
            "Failed", arena_printf(&arena, "Ephemeral container %s: %s", name, err.text));
        w->start_after_ms = clock_now_ms(w->agent->clock) + START_AGAIN_LAST_MS;
        start_later(w);
    }
    arena_release(&arena);
    report(w, pod);
}

/* True: they end first, and their end leads back here. */
static bool end_late(struct pod_work *w, const struct pod_view *v, const struct pod_decision *d)
{
    bool over = v->run ? !v->run->alive : v->synced && !v->pod;

    if (d->step == POD_STEP_STOP)
        ephemeral_stop(w, d->grace_seconds);
    else if (over && ephemeral_any(w, true))
        ephemeral_stop(w, 0);
    else
        return false;
    return d->step == POD_STEP_DELETE || d->step == POD_STEP_REMOVE;
}

static const struct json *late_to_start(const struct pod_work *w, const struct pod_view *v)
{
    return v->pod && clock_now_ms(w->agent->clock) >= w->start_after_ms
               ? ephemeral_next(w, v->pod, v->run)
               : NULL;
}

static void look(struct pod_work *w)
{
    const struct json *pod = cached_pod(w), *late;
    struct pod_view view = view_of(w, pod);
    struct pod_decision d = pod_decide(&view);

    if (pod && w->newer) { /* the list was an old one */
        w->newer = false;
        newer_forget(w->agent->pod_root, w->uid);
    }
    if (end_late(w, &view, &d)) {
        done(w, QUEUE_OK);
        return;
    }

    agent_await(w, d.step == POD_STEP_WAIT);
    w->delete_next = d.step == POD_STEP_DELETE;
    switch (d.step) {
    case POD_STEP_VERIFY:
        verify(w);
        return;
    case POD_STEP_START:
        start_pod(w, pod, d.service_missing);
        return;
    case POD_STEP_FAIL:
        fail_pod(w, pod, &d.failure);
        return;
    case POD_STEP_EVICT:
        evict_pod(w, pod, &d.failure);
        return;
    case POD_STEP_REMOVE:
        remove_run(w);
        return;
    case POD_STEP_WAIT:
        queue_add_after(w->agent->queue, w->key, d.wake_ms);
        if (view.room_held && say_doubt(w, pod))
            return;
        break;
    case POD_STEP_STOP:
        stop_pod(w, pod, d.grace_seconds);
        break;
    case POD_STEP_NONE:
        if (pod && view.run && pod_run_has_running(view.run)) {
            pod_token_keep(w, pod);
            pod_files_keep(w, pod);
        }
        late = late_to_start(w, &view);
        if (late) {
            start_late(w, pod, late);
            return;
        }
        if (!pod && !view.run)
            ephemeral_remove(w);
        break;
    case POD_STEP_DELETE:
        break;
    }
    report(w, pod);
}

void pod_work_begin(struct pod_work *w)
{
    drop_refs(w);
    look(w);
}

void pod_work_free(struct pod_work *w)
{
    client_forget(w);
    agent_await(w, false);
    pod_images_release(&w->images);
    free(w->pull_problem);
    arena_release(&w->refs_arena);
    arena_release(&w->files_arena);
    pod_token_drop(w);
    free(w->key);
    free(w->ns);
    free(w->name);
    free(w->uid);
    free(w->over_limit);
    free(w);
}
