/*
 * queue_check.c - whether an object may use the queue it names: rules R001 to R003, R026 and R027,
 * and closed queues. Jobs are checked when they are created; their groups and pods are created by a
 * controller and not checked again. Only what could never start is refused here; reasons for
 * waiting are reported by the scheduler.
 */
#include <string.h>

#include "api/mpi_rules.h"
#include "api/problem.h"
#include "api/quantity.h"
#include "api/selector.h"
#include "api/yaml.h"
#include "core/app.h"
#include "core/batch_job.h"
#include "core/job.h"
#include "core/ledger.h"
#include "core/mpi.h"
#include "core/pod_state.h"
#include "core/resources.h"
#include "server/internal.h"
#include "server/rbac.h"

#define GROUP "scheduler.tensorstack.dev"
#define SHAPES_CONFIG_MAP "resource-shapes"
#define GPU_SHARE "nvidia.com/gpu.shared"
#define POD_SPECS_LIMIT 64

static const char *const container_lists[] = {"initContainers", "containers"};

/* A pod spec in the object, and the number of such pods. */
struct pods {
    const struct json *spec;
    int64_t count;
    const struct field_path *at;
};

struct wish {
    struct server_request *request;
    const struct json *object;
    const char *queue; /* NULL: none, and the object is not a job */
    const struct field_path *queue_at;
    struct pods members[POD_SPECS_LIMIT];
    size_t members_len;
    const struct field_path *members_at; /* the path for errors about all of them together */
    const struct kind *kind;             /* for shapes: the object's, or that of a group's pods */
    const char *pod;                     /* the name of a group's pod that is checked, or NULL */
    struct err *err;
};

static const struct json *load(struct server_request *r, const struct kind *k, const char *ns,
                               const char *name)
{
    const char *key = object_key(r->arena, k, ns, name);
    const struct store_item *item = key ? store_head(server_collection(r->server, k), key) : NULL;

    return item ? blob_parse(r->arena, item->value, NULL) : NULL;
}

static int refuse_at(const struct wish *w, const struct field_path *field, const char *rule,
                     const char *text)
{
    struct buf at = BUF_INIT(PATH_TEXT_LIMIT);

    field_path_write(&at, w->pod ? w->queue_at : field);
    if (w->pod)
        text = arena_printf(w->request->arena, "pod \"%s\", which is labelled with its name: %s",
                            w->pod, text);
    err_set(w->err, ERR_FORBIDDEN, "%s \"%s\" is forbidden: %s: %s%s%s",
            resource_name(w->request->arena, w->request->route.kind), object_name(w->object),
            at.data ? at.data : "", text ? text : "", *rule ? " " : "", rule);
    buf_release(&at);
    return err_errno(ERR_FORBIDDEN);
}

static int refuse(const struct wish *w, const char *rule, const char *text)
{
    return refuse_at(w, w->queue_at, rule, text);
}

/* --- queue and pods ------------------------------------------------------------------------ */

static const struct field_path *keep(struct arena *a, const struct field_path *at)
{
    struct field_path *copy = arena_alloc(a, sizeof(*copy));

    if (copy)
        *copy = *at;
    return copy;
}

static const struct field_path *member_path(struct arena *a, const struct field_path *up,
                                            const char *name)
{
    return keep(a, PATH_MEMBER(up, name));
}

static void add_members(struct wish *w, const struct json *spec, int64_t count,
                        const struct field_path *replica)
{
    struct arena *a = w->request->arena;

    if (w->members_len < POD_SPECS_LIMIT)
        w->members[w->members_len++] = (struct pods){
            .spec = spec,
            .count = count,
            .at = member_path(a, member_path(a, replica, "template"), "spec")};
}

/* An MPIJob always has a launcher, with a default container if needed. */
static void add_replicas(struct wish *w)
{
    const struct json *spec = json_get(w->object, "spec");
    bool is_mpi = w->request->route.kind == &kind_mpi_job;
    struct arena *a = w->request->arena;
    const struct field_path *list = member_path(a, member_path(a, NULL, "spec"), "replicaSpecs");
    const struct field_path *launcher = list;
    struct json *container;
    size_t i = 0;

    w->members_at = list;
    json_each (r, json_get(spec, "replicaSpecs")) {
        const struct field_path *at = keep(a, PATH_INDEX(list, i++));

        if (is_mpi && json_string_is(json_get(r, "type"), MPI_LAUNCHER))
            launcher = at;
        else
            add_members(w, json_at(r, "template", "spec"), json_get_int(r, "replicas", 1), at);
    }
    if (is_mpi)
        add_members(w, mpi_launcher_base(a, spec, &container), 1, launcher);
}

static void read_job(struct wish *w)
{
    const struct json *ours = json_at(w->object, "spec", "scheduler", "t9kScheduler");
    const char *named = json_get_string(ours, "queue", "");
    struct arena *a = w->request->arena;
    const struct field_path *at = member_path(a, member_path(a, NULL, "spec"), "scheduler");

    w->queue = *named ? named : DEFAULT_QUEUE;
    w->queue_at = member_path(a, member_path(a, at, "t9kScheduler"), "queue");
    add_replicas(w);
}

/* For a Job, or those of a CronJob; without a label its pods are in no queue, except for gangs. */
static void read_batch(struct wish *w)
{
    struct arena *a = w->request->arena;
    const struct field_path *at = member_path(a, NULL, "spec");
    const struct json *job = w->object, *spec;
    int64_t count; /* that start together */

    if (w->request->route.kind == &kind_cron_job) {
        job = json_at(job, "spec", "jobTemplate");
        at = member_path(a, member_path(a, at, "jobTemplate"), "spec");
    }
    spec = json_get(job, "spec");
    w->queue = json_string(json_at(spec, "template", "metadata", "labels", LABEL_QUEUE),
                           batch_job_is_gang(job) ? DEFAULT_QUEUE : NULL);
    w->queue_at = member_path(a, member_path(a, at, "template"), "metadata");
    w->queue_at = keep(a, PATH_KEY(member_path(a, w->queue_at, "labels"), LABEL_QUEUE));
    count = json_get_int(spec, "parallelism", 1);
    count = batch_job_is_gang(job) ? min_i64(count, json_get_int(spec, "completions", count)) : 1;
    add_members(w, json_at(spec, "template", "spec"), count, at);
    w->members_at = w->members[0].at;
}

/* Without a scheduler section its pod is treated like any other. */
static void read_notebook(struct wish *w)
{
    read_job(w);
    add_members(w, json_at(w->object, "spec", "template", "spec"), 1,
                member_path(w->request->arena, NULL, "spec"));
    w->members_at = w->members[w->members_len - 1].at;
}

static void read_pod(struct wish *w)
{
    struct arena *a = w->request->arena;
    const struct field_path *labels = member_path(a, member_path(a, NULL, "metadata"), "labels");

    const char *group = object_label(w->object, LABEL_GROUP_NAME);
    const struct json *of = group ? load(w->request, &kind_pod_group, w->request->route.ns, group)
                                  : NULL;

    w->queue = group ? json_string(json_at(of, "spec", "queue"), NULL)
                     : object_label(w->object, LABEL_QUEUE);
    w->queue_at = keep(a, PATH_KEY(labels, group ? LABEL_GROUP_NAME : LABEL_QUEUE));
    w->members[w->members_len++] = (struct pods){
        .spec = json_get(w->object, "spec"), .count = 1, .at = member_path(a, NULL, "spec")};
    w->members_at = member_path(a, w->members[0].at, "containers");
}

static void read_group(struct wish *w)
{
    w->queue = json_string(json_at(w->object, "spec", "queue"), DEFAULT_QUEUE);
    w->queue_at = member_path(w->request->arena, member_path(w->request->arena, NULL, "spec"),
                              "queue");
}

/* --- the queue itself ---------------------------------------------------------------------- */

struct names {
    struct arena *arena;
    struct buf list;
};

static bool add_name(void *arg, const struct store_item *item)
{
    struct names *n = arg;
    const struct json *queue = blob_parse(n->arena, item->value, NULL);

    buf_addf(&n->list, "%s%s", n->list.len ? ", " : "", object_name(queue));
    return true;
}

static int refuse_unknown(struct wish *w)
{
    struct server_request *r = w->request;
    struct names names = {.arena = r->arena, .list = BUF_INIT(4096)};
    int rc;

    if (!*w->queue)
        return refuse(w, "", "names no queue: leave it out for the queue \"" DEFAULT_QUEUE "\"");
    store_list(server_collection(r->server, &kind_queue), NULL, NULL, add_name, &names);
    rc = refuse(w, "",
                arena_printf(r->arena,
                             "there is no queue \"%.63s\" in namespace " QUEUE_NAMESPACE
                             "; queues are: %s; 'muster queue create %.63s' makes it",
                             w->queue, names.list.data ? names.list.data : "none", w->queue));
    buf_release(&names.list);
    return rc;
}

/* Even the owner, who may do anything, must match the selector. */
static bool is_granted(struct wish *w)
{
    struct server_request *r = w->request;
    const struct access use = {.verb = "use",
                               .group = GROUP,
                               .resource = "queues",
                               .subresource = "",
                               .ns = QUEUE_NAMESPACE,
                               .name = w->queue};

    return !caller_may_everything(r->caller) && rbac_allows(r->server, r->arena, r->caller, &use);
}

static int check_namespace(struct wish *w, const struct json *queue)
{
    struct server_request *r = w->request;
    const struct json *selector = json_at(queue, "spec", "namespaceSelector");
    const struct json *ns = load(r, &kind_namespace, NULL, r->route.ns);

    if (strcmp(w->queue, DEFAULT_QUEUE) == 0 ||
        (json_len(selector) > 0 && label_map_matches(selector, object_labels(ns))) || is_granted(w))
        return 0;
    return refuse(w, "(R001)",
                  arena_printf(r->arena,
                               json_len(selector) > 0
                                   ? "namespace \"%s\" may not use queue \"%s\": its "
                                     "namespaceSelector does not select it; name another queue, or "
                                     "have the namespace labelled as it asks"
                                   : "namespace \"%s\" may not use queue \"%s\": it has no "
                                     "namespaceSelector, or an empty one, and admits none; name "
                                     "another queue, or have it given one",
                               r->route.ns, w->queue));
}

/* --- quota --------------------------------------------------------------------------------- */

static int64_t asks(const struct json *container, const char *resource)
{
    const struct json *resources = json_get(container, "resources");
    const struct json *v = json_at(resources, "requests", resource);

    return quantity_json_milli(v ? v : json_at(resources, "limits", resource), 0);
}

/* An elastic job may start with less. */
static int64_t needed(const struct wish *w, int64_t all, int64_t replicas)
{
    const struct json *elastic = json_at(w->object, "spec", "elastic");
    int64_t least = json_get_int(elastic, "minReplicas", replicas);

    if (!json_get_bool(elastic, "enabled", false) || replicas < 1)
        return all;
    return all / replicas * min_i64(least, replicas);
}

static int check_declared(struct wish *w, const char *resource)
{
    if (strcmp(resource, "cpu") != 0 && strcmp(resource, "memory") != 0)
        return 0;
    for (size_t i = 0; i < w->members_len * ELEMS(container_lists); i++) {
        const struct pods *m = &w->members[i / ELEMS(container_lists)];
        const char *name = container_lists[i % ELEMS(container_lists)];
        const struct field_path *list = PATH_MEMBER(m->at, name);
        size_t n = 0;

        json_each (c, json_get(m->spec, name)) {
            const struct field_path *at = PATH_MEMBER(PATH_INDEX(list, n++), "resources");

            if (asks(c, resource) == 0)
                return refuse_at(w, PATH_KEY(PATH_MEMBER(at, "requests"), resource), "(R002)",
                                 arena_printf(w->request->arena,
                                              "queue \"%s\" has a quota of %s, so every container "
                                              "must ask for more than 0 in resources.requests.%s; "
                                              "\"%.63s\" does not",
                                              w->queue, resource, resource,
                                              json_get_string(c, "name", "")));
        }
    }
    return 0;
}

static int check_quota(struct wish *w, const struct json *queue)
{
    int rc = 0;

    json_each (limit, json_at(queue, "spec", "quota", "requests")) {
        int64_t sum = 0, replicas = 0;

        for (size_t i = 0; i < w->members_len; i++) {
            sum = add_i64(
                sum, multiply_i64(w->members[i].count,
                                  pod_amount_milli(w->members[i].spec, "requests", limit->key)));
            replicas += w->members[i].count;
        }
        sum = needed(w, sum, replicas);
        if (rc == 0)
            rc = check_declared(w, limit->key);
        if (rc == 0 && sum > quantity_json_milli(limit, 0)) {
            char text[QUANTITY_TEXT_SIZE];

            if (strcmp(limit->key, "memory") == 0)
                (void)quantity_format_bytes(sum / 1000, text);
            else
                (void)quantity_format_milli(sum == INT64_MAX ? sum / 1000 * 1000 : sum, text);
            rc = refuse_at(
                w, w->members_at, "(R002)",
                arena_printf(w->request->arena,
                             "it asks for %s%s %s, and the quota of queue \"%s\" is %s: it "
                             "could never start",
                             sum == INT64_MAX ? "more than " : "", text, limit->key, w->queue,
                             quantity_json_text(w->request->arena, limit)));
        }
    }
    return rc;
}

/* --- shapes -------------------------------------------------------------------------------- */

static bool names_one(const struct json *list, const char *word)
{
    return json_len(list) == 0 || json_has(list, "*") || json_has(list, word);
}

/* A container without a request is given its limit. */
static const char *part_of(const struct json *container, const char *part, const char *resource)
{
    bool by_limit = !json_at(container, "resources", part, resource) &&
                    json_at(container, "resources", "limits", resource);

    return by_limit ? "limits" : part;
}

static int check_container(struct wish *w, const struct json *c, const struct field_path *at,
                           const char *part, const struct json *limit, const struct json *overhead)
{
    struct arena *a = w->request->arena;
    const struct json *v;

    part = part_of(c, part, limit->key);
    v = json_at(c, "resources", part, limit->key);
    if (add_i64(quantity_json_milli(v, 0), quantity_json_milli(overhead, 0)) <=
        quantity_json_milli(limit, 0))
        return 0;
    return refuse_at(
        w, PATH_KEY(PATH_MEMBER(PATH_MEMBER(at, "resources"), part), limit->key), "(R003)",
        arena_printf(a, "container \"%.63s\" has %s.%s %s%s%s, and queue \"%s\" allows %s",
                     json_get_string(c, "name", ""), part, limit->key,
                     v ? quantity_json_text(a, v) : "0", overhead ? " and the pod's overhead " : "",
                     overhead ? quantity_json_text(a, overhead) : "", w->queue,
                     quantity_json_text(a, limit)));
}

static int check_shape(struct wish *w, const struct json *shape, const char *part)
{
    int rc = 0;

    json_each (limit, json_get(shape, part))
        for (size_t i = 0; i < w->members_len * ELEMS(container_lists); i++) {
            const struct pods *m = &w->members[i / ELEMS(container_lists)];
            const char *list = container_lists[i % ELEMS(container_lists)];
            size_t n = 0;

            json_each (c, json_get(m->spec, list))
                rc = rc ? rc
                        : check_container(w, c, PATH_INDEX(PATH_MEMBER(m->at, list), n++), part,
                                          limit, json_at(m->spec, "overhead", limit->key));
        }
    return rc;
}

/* A profile is a key of the ConfigMap: a list of rules {apiGroups, resources, resourceShape}. */
static int check_shapes(struct wish *w, const struct json *queue)
{
    struct server_request *r = w->request;
    const char *profile = json_string(json_at(queue, "spec", "resourceShapeProfile"), "");
    const struct json *map = *profile
                                 ? load(r, &kind_config_map, QUEUE_NAMESPACE, SHAPES_CONFIG_MAP)
                                 : NULL;
    const struct json *text = json_at(map, "data", profile), *documents;
    auto_err unread = ERR_INIT;
    int rc = 0;

    if (!*profile)
        return 0;
    documents = json_is(text, JSON_STRING)
                    ? yaml_parse(r->arena, text->u.text, text->len, NULL, NULL, &unread)
                    : NULL;
    if (!json_is(json_index(documents, 0), JSON_ARRAY))
        return refuse(w, "(R003)",
                      arena_printf(r->arena,
                                   "queue \"%s\" has the resourceShapeProfile \"%.63s\", and "
                                   "ConfigMap " QUEUE_NAMESPACE "/" SHAPES_CONFIG_MAP
                                   " has no list of rules of that name: docs/queues.md shows one",
                                   w->queue, profile));
    json_each (rule, json_index(documents, 0)) {
        const struct json *shape = json_get(rule, "resourceShape");

        if (!names_one(json_get(rule, "apiGroups"), w->kind->group) ||
            !names_one(json_get(rule, "resources"), w->kind->plural))
            continue;
        rc = rc ? rc : check_shape(w, shape, "requests");
        rc = rc ? rc : check_shape(w, shape, "limits");
    }
    return rc;
}

/* --- every pod ----------------------------------------------------------------------------- */

static int check_shares(struct wish *w)
{
    static const char *const parts[] = {"requests", "limits"};

    for (size_t i = 0; i < w->members_len * ELEMS(container_lists); i++) {
        const struct pods *m = &w->members[i / ELEMS(container_lists)];
        const char *name = container_lists[i % ELEMS(container_lists)];
        size_t n = 0;

        json_each (c, json_get(m->spec, name)) {
            const struct field_path *list = PATH_MEMBER(m->at, name);
            const struct field_path *at = PATH_MEMBER(PATH_INDEX(list, n++), "resources");

            for (size_t k = 0; k < ELEMS(parts); k++) {
                const struct json *v = json_at(c, "resources", parts[k], GPU_SHARE);

                if (quantity_json_milli(v, 0) > 1000)
                    problem_invalid(w->err, PATH_KEY(PATH_MEMBER(at, parts[k]), GPU_SHARE), v,
                                    "a container may have one share of a GPU, not more (R026)");
            }
        }
    }
    if (!w->err->causes)
        return 0;
    problem_summary(w->err, w->request->route.kind, w->object);
    return err_errno(ERR_INVALID);
}

static int check_scheduler(struct wish *w)
{
    bool wants = json_at(w->object, "spec", "scheduler", "t9kScheduler") ||
                 object_label(w->object, LABEL_QUEUE) || object_label(w->object, LABEL_GROUP_NAME);

    for (size_t i = 0; wants && i < w->members_len; i++) {
        struct json *pod = json_new_object(w->request->arena);
        const char *foreign;

        json_set(w->request->arena, pod, "spec", json_clone(w->request->arena, w->members[i].spec));
        foreign = pod_foreign_scheduler(pod);
        if (foreign)
            problem_invalid(w->err, PATH_MEMBER(w->members[i].at, "schedulerName"),
                            json_get(w->members[i].spec, "schedulerName"),
                            "queues are for t9k-scheduler: leave schedulerName out (R027)");
    }
    if (!w->err->causes)
        return 0;
    problem_summary(w->err, w->request->route.kind, w->object);
    return err_errno(ERR_INVALID);
}

static int check_amounts(struct wish *w, const struct json *queue)
{
    int rc = check_quota(w, queue);

    return rc == 0 ? check_shapes(w, queue) : rc;
}

/* Those that were there before it. A job creates its pods after its group. */
static int check_group_pods(struct wish *w, const struct json *queue)
{
    struct server_request *r = w->request;
    const struct group *g = room_find_group(r->server, r->route.ns, object_name(w->object));
    int rc = 0;

    w->kind = &kind_pod;
    w->members_len = 1;
    for (const struct member *m = g ? g->first : NULL; m && rc == 0; m = m->next) {
        const struct json *pod = member_is_live(m) && !m->bound
                                     ? load(r, &kind_pod, r->route.ns, m->name)
                                     : NULL;

        w->pod = m->name;
        w->members[0] = (struct pods){.spec = json_get(pod, "spec"), .count = 1};
        rc = pod ? check_amounts(w, queue) : 0;
    }
    return rc;
}

int queue_check(struct server_request *r, const struct json *object, struct err *err)
{
    const struct kind *k = r->route.kind;
    struct wish w = {.request = r, .object = object, .kind = k, .err = err};
    bool is_notebook = k == &kind_notebook || k->stored_as == &kind_notebook;
    const struct json *queue;
    int rc;

    if (!job_is_kind(k) && !batch_is_kind(k) && !is_notebook && k != &kind_pod &&
        k != &kind_pod_group)
        return 0;
    if (is_notebook && !app_is_grouped(object))
        return 0;
    /* A job's own, checked when the job was created. */
    if ((k == &kind_pod || k == &kind_pod_group) && object_controller(object) &&
        caller_may_everything(r->caller))
        return 0;
    if (job_is_kind(k))
        read_job(&w);
    else if (batch_is_kind(k))
        read_batch(&w);
    else if (is_notebook)
        read_notebook(&w);
    else if (k == &kind_pod)
        read_pod(&w);
    else
        read_group(&w);
    rc = check_shares(&w);
    if (rc == 0)
        rc = check_scheduler(&w);
    if (rc != 0 || !w.queue)
        return rc;
    queue = load(r, &kind_queue, QUEUE_NAMESPACE, w.queue);
    if (k == &kind_pod && object_label(object, LABEL_GROUP_NAME)) /* its group is in already */
        return queue ? check_amounts(&w, queue) : 0;
    if (!queue)
        return refuse_unknown(&w);
    if (json_bool(json_at(queue, "spec", "closed"), false))
        return refuse(&w, "",
                      arena_printf(r->arena,
                                   "queue \"%s\" is closed: muster queue open %s opens it", w.queue,
                                   w.queue));
    rc = check_namespace(&w, queue);
    if (rc != 0)
        return rc;
    return k == &kind_pod_group ? check_group_pods(&w, queue) : check_amounts(&w, queue);
}
