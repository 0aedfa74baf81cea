/* active_pods.c - see active_pods.h. */
#include "control/active_pods.h"

#include <stdio.h>

#include "api/object.h"
#include "base/log.h"
#include "core/pod_state.h"

#define KEY_SIZE 512 /* namespace 253, name 253 */
#define NAMESPACE_SIZE 256

/* What the map's values point at. */
static char waits, holds;

/* &waits, &holds, or NULL when it is no matter of the scheduler: pods that name another are not
 * ours to place; once placed, by whomever, they count. */
static void *mark_of(const struct json *pod)
{
    if (pod_is_finished(pod))
        return NULL;
    if (pod_is_placed(pod))
        return &holds;
    return !pod_foreign_scheduler(pod) && !object_is_deleting(pod) ? &waits : NULL;
}

static void set_mark(struct active_pods *p, const char *key, void *mark)
{
    void *old = NULL;

    if (!mark)
        old = map_removes(&p->pods, key);
    else if (map_puts(&p->pods, key, mark, &old) < 0)
        p->out_of_memory = true;
    p->waiting += mark == &waits;
    p->waiting -= old == &waits;
}

void active_pods_note(struct active_pods *p, enum cache_event event, const struct json *pod)
{
    char key[KEY_SIZE];

    (void)snprintf(key, sizeof(key), "%s/%s", object_namespace(pod), object_name(pod));
    set_mark(p, key, event == CACHE_DELETED ? NULL : mark_of(pod));
}

struct collecting {
    struct map gangs; /* controllers whose finished pods were collected */
    struct object_list *list;
};

static bool add_finished(void *arg, const struct json *pod)
{
    struct collecting *c = arg;

    if (pod_is_finished(pod) && (pod_is_placed(pod) || !pod_foreign_scheduler(pod)))
        object_list_add(c->list, pod);
    return true;
}

/* A gang that has members which are done has started, and need not be complete again. */
static void add_gang(struct collecting *c, const struct cache *pods, const struct json *waiting)
{
    const char *uid = json_get_string(object_controller(waiting), "uid", "");

    if (!*uid || map_gets(&c->gangs, uid))
        return;
    if (map_puts(&c->gangs, uid, &waits, NULL) < 0)
        log_debug("scheduling: a gang is collected twice: out of memory");
    cache_each_of_controller(pods, uid, add_finished, c);
}

static bool add_any(void *arg, const struct json *pod)
{
    struct collecting *c = arg;

    if (mark_of(pod) || pod_is_finished(pod))
        object_list_add(c->list, pod);
    return true;
}

void active_pods_collect(const struct active_pods *p, const struct cache *pods,
                         struct object_list *ret)
{
    struct collecting c = {.list = ret};

    if (p->out_of_memory) {
        cache_each(pods, add_any, &c);
        return;
    }
    map_for_each (node, &p->pods) {
        const char *slash = strchr(node->key, '/');
        const struct json *pod;
        char ns[NAMESPACE_SIZE];

        (void)snprintf(ns, sizeof(ns), "%.*s", (int)(slash - node->key), node->key);
        pod = cache_get(pods, ns, slash + 1);
        if (!pod)
            continue;
        object_list_add(ret, pod);
        if (node->value == &waits)
            add_gang(&c, pods, pod);
    }
    map_release(&c.gangs, NULL);
}

void active_pods_release(struct active_pods *p)
{
    map_release(&p->pods, NULL);
}
