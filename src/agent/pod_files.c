/*
 * pod_files.c - see pod_files.h. The objects are read again every minute, as a kubelet does, and
 * sooner in a pod's first minute: operators write the certificate that they mount when they start.
 */
#include "agent/pod_files.h"

#include <string.h>
#include <unistd.h>

#include "agent/scratch.h"
#include "agent/volume_content.h"
#include "agent/volumes.h"
#include "api/object.h"
#include "base/log.h"
#include "client/client.h"

#define FIRST_MS 2000
#define LAST_MS 60000
#define FILES_LIMIT_BYTES (64u * 1024u * 1024u)

static void over(struct pod_work *w)
{
    arena_release(&w->files_arena);
    w->files_refs = NULL;
    w->files_asked = false;
    w->files_delay_ms = min_i64(2 * w->files_delay_ms, LAST_MS);
    w->files_due_ms = clock_now_ms(w->agent->clock) + w->files_delay_ms;
    queue_add_after(w->agent->queue, w->key, w->files_delay_ms);
}

static void renew(struct pod_work *w)
{
    const struct json *pod = cache_get(w->agent->pods, w->ns, w->name);
    struct identity_machine machine = {.uid = geteuid(), .gid = getegid()};
    struct volume_places places = {.scratch = scratch_root(w->agent->scratch), .machine = &machine};
    auto_err err = ERR_INIT;

    /* What is missing or wrong now leaves the files as they were. */
    if (pod && strcmp(object_uid(pod), w->uid) == 0 &&
        volumes_renew_files(&w->files_arena, pod, w->files_refs, &places, &err) != 0)
        log_debug("pod %s/%s: its files stay as they are: %s", w->ns, w->name, err.text);
}

static struct pod_ref *next_ref(const struct pod_work *w)
{
    struct pod_ref *r = w->files_refs;

    while (r && r->asked)
        r = r->next;
    return r;
}

static void on_object(void *arg, const struct json *object, const struct err *err);

static void go_on(struct pod_work *w)
{
    const struct pod_ref *r = next_ref(w);

    if (r) {
        client_get(w->agent->transport, r->kind, w->ns, r->name, on_object, w);
        return;
    }
    renew(w);
    over(w);
}

static void on_object(void *arg, const struct json *object, const struct err *err)
{
    struct pod_work *w = arg;
    struct pod_ref *r = next_ref(w);

    if (!r || (err && err->reason != ERR_NOT_FOUND)) {
        over(w);
        return;
    }
    r->asked = true;
    r->object = err ? NULL : json_clone(&w->files_arena, object);
    go_on(w);
}

static bool has_files(const struct json *pod)
{
    json_each (volume, json_at(pod, "spec", "volumes"))
        json_each (source, volume)
            if (json_is(source, JSON_OBJECT) && volume_content_is(source->key))
                return true;
    return false;
}

static void begin(struct pod_work *w, const struct json *pod)
{
    const struct json *copy; /* the references point into it */

    arena_init(&w->files_arena, FILES_LIMIT_BYTES);
    copy = json_clone(&w->files_arena, pod);
    w->files_asked = true;
    volumes_add_refs(&w->files_arena, copy, &w->files_refs);
    for (struct pod_ref *r = w->files_refs; r; r = r->next)
        r->asked = r->kind == &kind_persistent_volume_claim;
    go_on(w);
}

void pod_files_keep(struct pod_work *w, const struct json *pod)
{
    int64_t now_ms = clock_now_ms(w->agent->clock);

    if (w->files_asked || !w->agent->runtime->ops->has_mounts(w->agent->runtime) || !has_files(pod))
        return;
    if (!w->files_due_ms) {
        w->files_delay_ms = FIRST_MS;
        w->files_due_ms = now_ms + FIRST_MS;
    }
    if (w->files_due_ms > now_ms)
        queue_add_after(w->agent->queue, w->key, w->files_due_ms - now_ms);
    else
        begin(w, pod);
}
