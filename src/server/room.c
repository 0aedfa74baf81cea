/*
 * room.c - checks that nodes and queues have room for a scheduler's writes. Schedulers decide on
 * what they have seen; two of them, or one that is behind, could assign the same room twice. Here
 * every write is known, including those under way.
 *
 * The scheduler's own ledger keeps the count and is updated by each write, so a check costs the
 * same however many pods there are. It is created when something is first placed, and rebuilt after
 * failed writes.
 */
#include "core/admit.h"
#include "core/app.h"
#include "core/job.h"
#include "server/caller.h"
#include "server/internal.h"
#include "server/rbac.h"

#define PARSE_LIMIT_BYTES (OBJECT_LIMIT_BYTES * 16)

typedef void tell_fn(struct ledger *l, const struct json *object, bool gone);

static const struct {
    const struct kind *kind;
    tell_fn *tell;
} told[] = {{&kind_node, ledger_node},
            {&kind_queue, ledger_queue},
            {&kind_pod_group, ledger_group},
            {&kind_pod, ledger_pod}};

static const struct json *find_nothing(void *arg, const struct kind *k, const char *ns,
                                       const char *name)
{
    (void)arg;
    (void)k;
    (void)ns;
    (void)name;
    return NULL; /* only decisions look things up */
}

struct telling {
    struct ledger *ledger;
    tell_fn *tell;
    struct arena arena;
};

static bool tell_one(void *arg, const struct store_item *item)
{
    struct telling *t = arg;
    const struct json *object;

    arena_reset(&t->arena);
    if (t->tell == ledger_pod) {
        object = json_skim(&t->arena, item->value->data, item->value->len, ledger_pod_parts, NULL);
        if (object && ledger_ignores_pod(t->ledger, object))
            return true;
    }
    object = blob_parse(&t->arena, item->value, NULL);
    if (object)
        t->tell(t->ledger, object, false);
    else
        t->ledger->broken = true;
    return !t->ledger->broken;
}

void room_free(struct server *s)
{
    ledger_free(s->room);
    s->room = NULL;
}

static struct ledger *open_ledger(struct server *s)
{
    struct telling t = {.arena = ARENA_INIT(PARSE_LIMIT_BYTES)};

    if (s->room && !s->room->broken && s->room_epoch == store_epoch(s->store))
        return s->room;
    room_free(s);
    s->room = t.ledger = ledger_new(find_nothing, NULL, s->overcommit);
    s->room_epoch = store_epoch(s->store);
    if (s->room)
        s->room->keeps_all = true;
    for (size_t i = 0; i < ELEMS(told) && s->room; i++) {
        t.tell = told[i].tell;
        store_list_heads(server_collection(s, told[i].kind), tell_one, &t);
    }
    arena_release(&t.arena);
    return s->room && !s->room->broken ? s->room : NULL;
}

void room_written(struct server *s, const struct kind *k, const struct json *object, bool gone)
{
    for (size_t i = 0; i < ELEMS(told) && s->room; i++)
        if (told[i].kind == k)
            told[i].tell(s->room, object, gone);
    if (s->room && gone)
        ledger_rest(s->room);
}

static int refuse(struct server_request *r, const char *resource, const char *why, struct err *err)
{
    return err_set(err, ERR_CONFLICT, "Operation cannot be fulfilled on %s \"%s\": %s", resource,
                   r->route.name, why);
}

int room_check_group(struct server_request *r, const struct json *old, const struct json *next,
                     struct err *err)
{
    const struct json *places = json_at(next, "status", "placements");
    struct ledger *l;
    const char *why;

    if (r->route.kind != &kind_pod_group || json_len(places) == 0 ||
        json_equal(places, json_at(old, "status", "placements")))
        return 0;
    l = open_ledger(r->server);
    if (!l)
        return out_of_memory(err);
    why = admit_group(l, r->arena, next);
    return why ? refuse(r, "podgroups.scheduler.tensorstack.dev/status", why, err) : 0;
}

int room_check_new_group(struct server_request *r, const struct json *group, struct err *err)
{
    struct ledger *l;
    const char *why;

    /* A job recreates its own unchanged. */
    if (r->route.kind != &kind_pod_group ||
        (object_controller(group) && caller_may_everything(r->caller)))
        return 0;
    l = open_ledger(r->server);
    if (!l)
        return out_of_memory(err);
    why = admit_new_group(l, r->arena, group);
    if (!why)
        return 0;
    r->route.name = object_name(group);
    return err_set(err, ERR_FORBIDDEN,
                   "podgroups.scheduler.tensorstack.dev \"%s\" is forbidden: spec.queue: pods "
                   "that are labelled with its name run %s",
                   object_name(group), why);
}

/* The scheduler adds up extended resources; here each pod is checked on its own. */
static const char *not_offered(struct server_request *r, const struct json *pod, const char *node)
{
    const struct json *spec = json_get(pod, "spec"), *object;
    const struct store_item *item;
    const char *lacking;

    if (!pod_unoffered(spec, NULL, NULL, NULL))
        return NULL;
    item = store_head(server_collection(r->server, &kind_node), node);
    object = item ? blob_parse(r->arena, item->value, NULL) : NULL;
    lacking = pod_unoffered(spec, json_at(object, "status", "allocatable"), NULL, NULL);
    return lacking ? arena_printf(r->arena, "node \"%s\" does not offer enough %s", node, lacking)
                   : NULL;
}

const struct group *room_find_group(struct server *s, const char *ns, const char *name)
{
    struct ledger *l = open_ledger(s);

    return l ? ledger_find_group(l, ns, name, false) : NULL;
}

static bool may_bind(const struct server_request *r)
{
    const struct access what = {.verb = "create",
                                .group = "",
                                .resource = "pods",
                                .subresource = "binding",
                                .ns = r->route.ns,
                                .name = ""};

    return rbac_allows(r->server, r->arena, r->caller, &what);
}

/* Our controllers may bind pods; who wrote the template perhaps may not. */
static bool is_from_template(const struct json *pod)
{
    const struct json *owner = object_controller(pod);
    const struct kind *k = owner ? kind_of_object(owner) : NULL;

    return k && (job_is_kind(k) || batch_is_kind(k) || app_is_kind(k));
}

void room_ask_for_node(struct server_request *r, struct json *pod)
{
    struct json *spec = r->route.kind == &kind_pod ? json_get_mut(pod, "spec") : NULL;

    if (!*json_get_string(spec, "nodeName", "") || (!is_from_template(pod) && may_bind(r)))
        return;
    job_ask_for_node(r->arena, spec);
    request_warn(r, "spec.nodeName: became a required node affinity, and the scheduler places the "
                    "pod there in its turn: only who may create pods/binding assigns nodes");
}

/* From now on it counts there, whatever becomes of its PodGroup. */
static void note_queue(struct server_request *r, const struct ledger *l, struct json *pod)
{
    const char *name = object_label(pod, LABEL_GROUP_NAME);
    const struct group *g = name ? ledger_find_group(l, object_namespace(pod), name, false) : NULL;
    struct json *meta = json_make_object(r->arena, pod, "metadata");

    if (g)
        json_set_string(r->arena, json_make_object(r->arena, meta, "annotations"),
                        ANNOTATION_BOUND_QUEUE, g->queue->name);
}

int room_check_pod(struct server_request *r, const struct json *old, struct json *next,
                   struct err *err)
{
    const char *node = json_string(json_at(next, "spec", "nodeName"), "");
    struct ledger *l;
    const char *why;

    if (r->route.kind != &kind_pod || !*node || *json_string(json_at(old, "spec", "nodeName"), ""))
        return 0;
    l = open_ledger(r->server);
    if (!l)
        return out_of_memory(err);
    why = admit_pod(l, r->arena, next);
    if (!why)
        why = not_offered(r, next, node);
    if (!why) {
        note_queue(r, l, next);
        return 0;
    }
    if (old)
        return refuse(r, "pods/binding", why, err);
    r->route.name = object_name(next);
    return err_set(err, ERR_FORBIDDEN, "pods \"%s\" is forbidden: spec.nodeName: %s",
                   object_name(next), why);
}
