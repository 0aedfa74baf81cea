/*
 * endpoints.c - Endpoints and EndpointSlices: the pods behind a Service, computed from Services and
 * pods when requested or watched (endpoints_watch.h). Nothing is stored, so they are never stale,
 * but they cannot be created either. Their resourceVersion is the revision they were computed at,
 * because a removed pod leaves no other trace in them.
 */
#include "server/endpoints.h"

#include <inttypes.h>
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/metadata.h"
#include "api/selector.h"
#include "server/internal.h"
#include "server/list.h"

#define SERVICE_LABEL "kubernetes.io/service-name"
#define MANAGED_BY_LABEL "endpointslice.kubernetes.io/managed-by"
#define SCRATCH_BYTES (OBJECT_LIMIT_BYTES * 16)
#define ANSWER_LIMIT_BYTES (64u * 1024u * 1024u)
#define PODS_LIMIT_BYTES (256u * 1024u * 1024u) /* of the extracts of all pods */
#define CELL_LIMIT_BYTES 4096u
#define SHOWN 3 /* addresses in a cell */

/* --- selecting pods -------------------------------------------------------------------- */

/* Extracts of the pods that have an address, for one request: each is parsed once however many
 * Services there are. */
struct gathering {
    struct arena *arena;
    struct arena scratch;
    struct json *pods;
};

static void keep_ports(struct arena *a, struct json *kept, const struct json *pod)
{
    struct json *ports = json_make_object(a, kept, "named");

    json_each (c, json_at(pod, "spec", "containers"))
        json_each (p, json_get(c, "ports"))
            if (*json_get_string(p, "name", ""))
                json_set_int(a, ports, json_get_string(p, "name", ""),
                             json_get_int(p, "containerPort", 0));
}

static void keep_pod(struct gathering *g, const struct json *pod)
{
    struct arena *a = g->arena;
    struct json *kept = json_append(g->pods, json_new_object(a)), *ref;

    json_set(a, kept, "labels", json_clone(a, object_labels(pod)));
    json_set_string(a, kept, "ip", json_string(json_at(pod, "status", "podIP"), ""));
    json_set_string(a, kept, "nodeName", json_string(json_at(pod, "spec", "nodeName"), ""));
    json_set_bool(a, kept, "serving", object_condition_is(pod, "Ready"));
    json_set_bool(a, kept, "terminating", object_is_deleting(pod));
    ref = json_make_object(a, kept, "targetRef");
    json_set_string(a, ref, "kind", "Pod");
    json_set_string(a, ref, "namespace", object_namespace(pod));
    json_set_string(a, ref, "name", object_name(pod));
    json_set_string(a, ref, "uid", object_uid(pod));
    keep_ports(a, kept, pod);
}

static void gather_value(struct gathering *g, const struct blob *value)
{
    const struct json *pod;

    arena_reset(&g->scratch);
    pod = blob_parse(&g->scratch, value, NULL);
    if (pod && json_len(object_labels(pod)) && !object_has_ended(pod) &&
        *json_string(json_at(pod, "status", "podIP"), ""))
        keep_pod(g, pod);
}

static bool gather_pod(void *arg, const struct store_item *item)
{
    struct gathering *g = arg;

    gather_value(g, item->value);
    return !arena_failed(g->arena);
}

static const struct json *gather_pods(struct server_request *r, const char *prefix)
{
    struct gathering g = {
        .arena = r->arena, .scratch = ARENA_INIT(SCRATCH_BYTES), .pods = json_new_array(r->arena)};

    store_list(server_collection(r->server, &kind_pod), prefix, NULL, gather_pod, &g);
    arena_release(&g.scratch);
    return g.pods;
}

static bool is_behind(const struct json *service, const struct json *pod)
{
    return strcmp(json_string(json_at(pod, "targetRef", "namespace"), ""),
                  object_namespace(service)) == 0 &&
           label_map_matches(json_at(service, "spec", "selector"), json_get(pod, "labels"));
}

static bool counts_as_ready(const struct json *service, const struct json *pod)
{
    if (json_bool(json_at(service, "spec", "publishNotReadyAddresses"), false))
        return true;
    return json_get_bool(pod, "serving", false) && !json_get_bool(pod, "terminating", false);
}

/* Resolves named target ports; those the pod does not have are omitted. */
static struct json *make_ports(struct arena *a, const struct json *service, const struct json *pod)
{
    struct json *ports = json_new_array(a);

    json_each (p, json_at(service, "spec", "ports")) {
        const struct json *target = json_get(p, "targetPort");
        struct json *port;

        if (!target)
            target = json_get(p, "port");
        if (json_is(target, JSON_STRING))
            target = json_get(json_get(pod, "named"), json_string(target, ""));
        if (!target)
            continue;
        port = json_append(ports, json_new_object(a));
        if (*json_get_string(p, "name", ""))
            json_set_string(a, port, "name", json_get_string(p, "name", ""));
        json_set_int(a, port, "port", json_int(target, 0));
        json_set_string(a, port, "protocol", json_get_string(p, "protocol", "TCP"));
    }
    return ports;
}

/* Named ports are resolved by the first pod. */
static struct json *ports_of(struct arena *a, const struct json *service, const struct json *pods)
{
    json_each (pod, pods)
        if (is_behind(service, pod))
            return make_ports(a, service, pod);
    return json_new_array(a);
}

/* --- the two forms --------------------------------------------------------------------- */

static struct json *new_object(struct arena *a, const struct kind *k, const struct json *service,
                               const char *name)
{
    struct json *v = json_new_object(a), *meta;

    json_set_string(a, v, "kind", k->name);
    json_set_string(a, v, "apiVersion", kind_api_version(a, k));
    meta = json_make_object(a, v, "metadata");
    json_set_string(a, meta, "name", name);
    json_set_string(a, meta, "namespace", object_namespace(service));
    json_set_string(a, meta, "uid", object_uid(service));
    json_set(a, meta, "creationTimestamp",
             json_clone(a, json_at(service, "metadata", "creationTimestamp")));
    if (json_len(object_labels(service)))
        json_set(a, meta, "labels", json_clone(a, object_labels(service)));
    return v;
}

static void copy_member(struct arena *a, struct json *to, const struct json *from, const char *name)
{
    json_set(a, to, name, json_clone(a, json_get(from, name)));
}

static struct json *make_endpoints(struct arena *a, const struct json *service,
                                   const struct json *pods)
{
    struct json *v = new_object(a, &kind_endpoints, service, object_name(service));
    struct json *subset = json_new_object(a), *address;

    json_each (pod, pods) {
        bool ready = counts_as_ready(service, pod);

        if (!is_behind(service, pod) || (!ready && json_get_bool(pod, "terminating", false)))
            continue;
        address = json_append(json_make_array(a, subset, ready ? "addresses" : "notReadyAddresses"),
                              json_new_object(a));
        copy_member(a, address, pod, "ip");
        copy_member(a, address, pod, "nodeName");
        copy_member(a, address, pod, "targetRef");
    }
    if (json_len(subset) == 0)
        return v;
    json_set(a, subset, "ports", ports_of(a, service, pods));
    (void)json_append(json_make_array(a, v, "subsets"), subset);
    return v;
}

static const struct json *service_port(const struct json *service, int64_t port)
{
    json_each (p, json_at(service, "spec", "ports"))
        if (json_get_int(p, "port", 0) == port)
            return p;
    return NULL;
}

int endpoints_choose(struct server_request *r, const char *ns, const char *name, int64_t port,
                     struct node_pod *ret, unsigned *ret_port, struct err *err)
{
    const struct node *node = r->server->node;
    const char *prefix = arena_printf(r->arena, "%s/", ns);
    const char *key = object_key(r->arena, &kind_service, ns, name);
    const struct store_item *item = key ? store_get(server_collection(r->server, &kind_service),
                                                    key)
                                        : NULL;
    const struct json *service = item ? blob_parse(r->arena, item->value, NULL) : NULL;
    const struct json *wanted = service_port(service, port), *subset;

    if (!prefix || !key)
        return out_of_memory(err);
    if (!service)
        return err_set(err, ERR_UNAVAILABLE, "service \"%s\" not found", name);
    if (json_len(json_at(service, "spec", "selector")) == 0)
        return err_set(err, ERR_UNAVAILABLE,
                       "service \"%s\" has no selector: only services of pods are reached", name);
    if (!wanted)
        return err_set(err, ERR_UNAVAILABLE, "no service port %lld found for service \"%s\"",
                       (long long)port, name);
    subset = json_index(
        json_get(make_endpoints(r->arena, service, gather_pods(r, prefix)), "subsets"), 0);
    json_each (address, json_get(subset, "addresses"))
        if (node && json_string_is(json_get(address, "nodeName"), node->name)) {
            const struct json *pod = json_get(address, "targetRef");

            json_each (p, json_get(subset, "ports"))
                if (strcmp(json_get_string(p, "name", ""), json_get_string(wanted, "name", "")) ==
                    0) {
                    *ret_port = (unsigned)json_get_int(p, "port", 0);
                    *ret = (struct node_pod){ns, json_get_string(pod, "name", ""),
                                             json_get_string(pod, "uid", "")};
                    return 0;
                }
        }
    return err_set(err, ERR_UNAVAILABLE, "no endpoints available for service \"%s\"%s", name,
                   json_len(json_get(subset, "addresses")) ? " on the machine of the API server"
                                                           : "");
}

static void add_slice_meta(struct arena *a, struct json *v, const struct json *service)
{
    struct json *meta = json_make_object(a, v, "metadata");
    struct json *labels = json_make_object(a, meta, "labels"), *owner;

    json_set_string(a, labels, SERVICE_LABEL, object_name(service));
    json_set_string(a, labels, MANAGED_BY_LABEL, "muster");
    owner = json_append(json_make_array(a, meta, "ownerReferences"), json_new_object(a));
    json_set_string(a, owner, "apiVersion", "v1");
    json_set_string(a, owner, "kind", "Service");
    json_set_string(a, owner, "name", object_name(service));
    json_set_string(a, owner, "uid", object_uid(service));
    json_set_bool(a, owner, "controller", true);
}

static struct json *make_slice(struct arena *a, const struct json *service, const struct json *pods)
{
    const char *name = arena_printf(a, "%s-%.5s", object_name(service), object_uid(service));
    struct json *v = new_object(a, &kind_endpoint_slice, service, name), *list;

    add_slice_meta(a, v, service);
    json_set_string(a, v, "addressType", "IPv4");
    list = json_make_array(a, v, "endpoints");
    json_each (pod, pods) {
        struct json *e, *conditions;

        if (!is_behind(service, pod))
            continue;
        e = json_append(list, json_new_object(a));
        conditions = json_make_object(a, e, "conditions");
        json_append_string(a, json_make_array(a, e, "addresses"), json_get_string(pod, "ip", ""));
        json_set_bool(a, conditions, "ready", counts_as_ready(service, pod));
        copy_member(a, conditions, pod, "serving");
        copy_member(a, conditions, pod, "terminating");
        copy_member(a, e, pod, "nodeName");
        copy_member(a, e, pod, "targetRef");
    }
    json_set(a, v, "ports", ports_of(a, service, pods));
    return v;
}

/* --- columns --------------------------------------------------------------------------- */

static void add_more(struct buf *out, size_t count)
{
    if (count > SHOWN)
        buf_addf(out, " + %zu more...", count - SHOWN);
}

static struct json *take_cell(struct arena *a, struct buf *out, const char *empty)
{
    struct json *cell = out->len ? json_new_string_len(a, out->data, out->len)
                                 : json_new_string(a, empty);

    buf_release(out);
    return cell;
}

static void add_address(struct buf *out, size_t *count, const struct json *address,
                        const struct json *port)
{
    if ((*count)++ >= SHOWN)
        return;
    buf_addf(out, "%s%s", out->len ? "," : "", json_get_string(address, "ip", ""));
    if (port)
        buf_addf(out, ":%lld", (long long)json_get_int(port, "port", 0));
}

static struct json *render_endpoints(struct arena *a, const struct json *object, int64_t now_ms)
{
    struct buf out = BUF_INIT(CELL_LIMIT_BYTES);
    size_t count = 0;

    (void)now_ms;
    json_each (subset, json_get(object, "subsets")) {
        const struct json *ports = json_get(subset, "ports");

        json_each (port, ports)
            json_each (address, json_get(subset, "addresses"))
                add_address(&out, &count, address, port);
        if (json_len(ports) == 0)
            json_each (address, json_get(subset, "addresses"))
                add_address(&out, &count, address, NULL);
    }
    add_more(&out, count);
    return take_cell(a, &out, "<none>");
}

static struct json *render_slice_ports(struct arena *a, const struct json *object, int64_t now_ms)
{
    struct buf out = BUF_INIT(CELL_LIMIT_BYTES);
    size_t count = 0;

    (void)now_ms;
    json_each (port, json_get(object, "ports"))
        if (count++ < SHOWN)
            buf_addf(&out, "%s%lld", out.len ? "," : "", (long long)json_get_int(port, "port", 0));
    add_more(&out, count);
    return take_cell(a, &out, "<unset>");
}

static struct json *render_slice_endpoints(struct arena *a, const struct json *object,
                                           int64_t now_ms)
{
    struct buf out = BUF_INIT(CELL_LIMIT_BYTES);
    size_t count = 0;

    (void)now_ms;
    json_each (e, json_get(object, "endpoints"))
        if (count++ < SHOWN)
            buf_addf(&out, "%s%s", out.len ? "," : "",
                     json_string(json_index(json_get(e, "addresses"), 0), ""));
    add_more(&out, count);
    return take_cell(a, &out, "<unset>");
}

static const struct column endpoints_columns[] = {
    COLUMN_NAME,
    COLUMN("Endpoints", "string", "Addresses of ready pods.", .render = render_endpoints),
    COLUMN_AGE,
    {0}};

static const struct column slice_columns[] = {
    COLUMN_NAME,
    COLUMN("AddressType", "string", "Kind of the addresses.", .path = ".addressType"),
    COLUMN("Ports", "string", "Ports of the pods.", .render = render_slice_ports),
    COLUMN("Endpoints", "string", "Addresses of the pods.", .render = render_slice_endpoints),
    COLUMN_AGE,
    {0}};

/* --- fields ---------------------------------------------------------------------------- */

#define FIELD_TARGET(node, target)                                                                 \
    F_STR("nodeName", "Node the pod runs on.", PZ(node)),                                          \
        F_OBJ("targetRef", object_reference_fields, "The pod that has the address.", P(target))

#define PORT_FIELDS(number, protocol)                                                              \
    F_STR("name", "Name of the service's port.", P(1)),                                            \
        F_INT32("port", "Port of the pods.", PZ(number)),                                          \
        F_STR("protocol", "TCP, UDP or SCTP.", P(protocol))

static const struct field port_fields[] = {PORT_FIELDS(2, 3), {0}};
static const struct field slice_port_fields[] = {PORT_FIELDS(3, 2), {0}};

static const struct field address_fields[] = {
    F_STR("ip", "The address.", PZ(1)), FIELD_TARGET(4, 2), {0}};

static const struct field subset_fields[] = {
    F_OBJS("addresses", address_fields, "Addresses of pods that are ready.", P(1)),
    F_OBJS("notReadyAddresses", address_fields, "Addresses of pods that are not.", P(2)),
    F_OBJS("ports", port_fields, "Ports they are reached at.", P(3)),
    {0}};

static const struct field endpoints_fields[] = {
    F_OBJS("subsets", subset_fields, "Pods behind the service, and their ports.", P(2)), {0}};

static const struct field condition_fields[] = {
    F_BOOL("ready", "Whether the pod should be used.", PZ(1)),
    F_BOOL("serving", "Whether it is ready, also while it ends.", PZ(2)),
    F_BOOL("terminating", "Whether it is being deleted.", PZ(3)),
    {0}};

static const struct field endpoint_fields[] = {
    F_STRS("addresses", "Its addresses.", P(1)),
    F_OBJ("conditions", condition_fields, "State of the pod.", P(2)),
    FIELD_TARGET(6, 4),
    {0}};

static const struct field slice_fields[] = {
    F_STR("addressType", "IPv4.", PZ(4)),
    F_OBJS("endpoints", endpoint_fields, "Pods behind the service.", P(2)),
    F_OBJS("ports", slice_port_fields, "Ports they are reached at.", P(3)),
    {0}};

/* --- the two kinds --------------------------------------------------------------------- */

const struct kind kind_endpoints = {KIND_NAMES("", "v1", "Endpoints", "endpoints", "endpoints"),
                                    .short_names = (const char *const[]){"ep", NULL},
                                    .namespaced = true,
                                    .doc = "Endpoints lists the pods behind a service.",
                                    .fields = endpoints_fields,
                                    .columns = endpoints_columns};
const struct kind kind_endpoint_slice = {
    KIND_NAMES("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "endpointslice"),
    .namespaced = true, .doc = "EndpointSlice lists the pods behind a service.",
    .fields = slice_fields, .columns = slice_columns};

static const struct form {
    const struct kind *kind;
    struct json *(*make)(struct arena *a, const struct json *service, const struct json *pods);
} forms[] = {{&kind_endpoints, make_endpoints}, {&kind_endpoint_slice, make_slice}};

static const struct form *form_of(const struct kind *k)
{
    for (size_t i = 0; i < ELEMS(forms); i++)
        if (forms[i].kind == k)
            return &forms[i];
    return NULL;
}

bool endpoints_are(const struct kind *k)
{
    return form_of(k);
}

void endpoints_stamp(struct arena *a, struct json *object, int64_t revision)
{
    json_set_stringf(a, json_make_object(a, object, "metadata"), "resourceVersion", "%" PRId64,
                     revision);
}

/* NULL for a Service without a selector: its endpoints are managed elsewhere. */
static struct json *make_of(const struct form *form, struct arena *scratch,
                            const struct blob *service, const struct json *pods)
{
    const struct json *parsed;

    arena_reset(scratch);
    parsed = blob_parse(scratch, service, NULL);
    return json_len(json_at(parsed, "spec", "selector")) ? form->make(scratch, parsed, pods) : NULL;
}

int endpoints_each(const struct kind *k, const struct map *services, const struct map *pods,
                   endpoints_fn *fn, void *arg, struct err *err)
{
    struct arena kept = ARENA_INIT(PODS_LIMIT_BYTES), scratch = ARENA_INIT(SCRATCH_BYTES);
    struct gathering g = {
        .arena = &kept, .scratch = ARENA_INIT(SCRATCH_BYTES), .pods = json_new_array(&kept)};
    int rc = 0;

    map_for_each (node, pods)
        gather_value(&g, node->value);
    map_for_each (node, services) {
        struct json *object = make_of(form_of(k), &scratch, node->value, g.pods);

        if (object && rc == 0 && !arena_failed(&scratch))
            rc = fn(arg, &scratch, object);
        if (arena_failed(&scratch) || arena_failed(&kept))
            rc = -1;
    }
    arena_release(&scratch);
    arena_release(&g.scratch);
    arena_release(&kept);
    return rc < 0 ? out_of_memory(err) : 0;
}

/* --- requests -------------------------------------------------------------------------- */

struct answer {
    struct server_request *request;
    const struct form *form;
    struct selection selection;
    struct shape shape;
    const struct json *pods;
    struct arena scratch; /* for one Service */
    struct buf out;
    size_t count;
    struct err *err;
    int rc;
};

static bool is_asked_for(const struct answer *w, const struct json *object)
{
    const char *name = w->request->route.name;

    return (!name || strcmp(name, object_name(object)) == 0) &&
           selection_matches(&w->selection, object);
}

static bool answer_service(void *arg, const struct store_item *item)
{
    struct answer *w = arg;
    struct json *object = make_of(w->form, &w->scratch, item->value, w->pods);

    if (object)
        endpoints_stamp(&w->scratch, object, store_revision(w->request->server->store));
    if (object && !arena_failed(&w->scratch) && is_asked_for(w, object)) {
        arena_reset(&w->shape.scratch);
        w->count++;
        w->rc = w->request->route.name ? shape_event(&w->shape, NULL, object, true, &w->out, w->err)
                                       : shape_item(&w->shape, NULL, object, &w->out, w->err);
    }
    if (arena_failed(&w->scratch))
        w->rc = out_of_memory(w->err);
    return w->rc == 0;
}

static int write_answer(struct answer *w)
{
    struct server_request *r = w->request;
    bool one = r->route.name;

    w->pods = gather_pods(r, w->selection.prefix);
    if (arena_failed(r->arena))
        return out_of_memory(w->err);
    if (!one)
        shape_list_begin(&w->shape, &w->out);
    store_list(server_collection(r->server, &kind_service), w->selection.prefix, NULL,
               answer_service, w);
    if (w->rc < 0)
        return w->rc;
    if (one && !w->count)
        return err_set(w->err, ERR_NOT_FOUND, "%s \"%s\" not found",
                       resource_name(r->arena, r->route.kind), r->route.name);
    if (!one)
        shape_list_end(&w->shape, store_revision(r->server->store), NULL, 0, &w->out);
    reply_shaped(r, &w->shape, &w->out);
    return 0;
}

int endpoints_answer(struct server_request *r, struct err *err)
{
    struct answer w = {.request = r,
                       .form = form_of(r->route.kind),
                       .scratch = ARENA_INIT(SCRATCH_BYTES),
                       .out = BUF_INIT(ANSWER_LIMIT_BYTES),
                       .err = err};
    int rc;

    if (strcmp(r->method, "GET") == 0 && !r->route.name && query_is_true(r, "watch")) {
        rc = request_choose_media(r, MEDIA_WATCH, err);
        return rc < 0 ? rc : verb_watch(r, err);
    }
    if (strcmp(r->method, "GET") != 0 || *r->route.subresource)
        return err_set(err, ERR_METHOD_NOT_ALLOWED,
                       "the server does not allow this method on the requested resource");
    rc = request_choose_media(r, MEDIA_ANSWER, err);
    if (rc < 0)
        return rc;
    rc = shape_init(&w.shape, r, err);
    if (rc == 0)
        rc = selection_init(&w.selection, r, r->arena, err);
    if (rc == 0)
        rc = write_answer(&w);
    buf_release(&w.out);
    shape_release(&w.shape);
    arena_release(&w.scratch);
    return rc;
}
