/* priority.c - sets a new pod's priority from its PriorityClass. */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "server/internal.h"

static const struct {
    const char *name;
    int64_t value;
} of_system[] = {{"system-cluster-critical", 2000000000}, {"system-node-critical", 2000001000}};

static const struct json *class_named(struct server_request *r, const char *name)
{
    const struct store_item *item = store_head(server_collection(r->server, &kind_priority_class),
                                               name);

    return item ? blob_parse(r->arena, item->value, NULL) : NULL;
}

struct search {
    struct arena *arena;
    const struct json *found;
};

/* If there are several, the lowest, as in Kubernetes. */
static bool see_default(void *arg, const struct store_item *item)
{
    struct search *s = arg;
    const struct json *class = blob_parse(s->arena, item->value, NULL);

    if (json_get_bool(class, "globalDefault", false) &&
        (!s->found || json_get_int(class, "value", 0) < json_get_int(s->found, "value", 0)))
        s->found = class;
    return true;
}

static void use_class(struct server_request *r, struct json *spec, const struct json *class)
{
    json_set_int(r->arena, spec, "priority", json_get_int(class, "value", 0));
    json_set_string(r->arena, spec, "preemptionPolicy",
                    json_get_string(class, "preemptionPolicy", "PreemptLowerPriority"));
}

static int use_named(struct server_request *r, struct json *spec, const char *name, struct err *err)
{
    const struct json *class = class_named(r, name);
    const char *shown;

    for (size_t i = 0; i < ELEMS(of_system) && !class; i++)
        if (strcmp(of_system[i].name, name) == 0) {
            json_set_int(r->arena, spec, "priority", of_system[i].value);
            return 0;
        }
    if (class) {
        use_class(r, spec, class);
        return 0;
    }
    shown = utf8_without_controls(r->arena, name, strlen(name));
    return err_set(err, ERR_FORBIDDEN,
                   "pods is forbidden: no PriorityClass with name %s was found "
                   "(spec.priorityClassName)",
                   shown ? shown : "");
}

static int find_class(struct server_request *r, struct json *spec, struct err *err)
{
    struct store_collection *c = server_collection(r->server, &kind_priority_class);
    const char *name = json_get_string(spec, "priorityClassName", "");
    struct search search = {.arena = r->arena};

    if (*name)
        return use_named(r, spec, name, err);
    if (store_count(c) == 0)
        return 0;
    store_list(c, NULL, NULL, see_default, &search);
    if (search.found) {
        json_set_string(r->arena, spec, "priorityClassName", object_name(search.found));
        use_class(r, spec, search.found);
    }
    return 0;
}

int priority_apply(struct server_request *r, struct json *pod, struct err *err)
{
    struct json *spec = r->route.kind == &kind_pod ? json_get_mut(pod, "spec") : NULL;
    bool given = json_is(json_get(spec, "priority"), JSON_INT);
    int64_t said = json_get_int(spec, "priority", 0), is = 0;
    int rc = json_is(spec, JSON_OBJECT) ? find_class(r, spec, err) : 0;

    if (*json_get_string(spec, "priorityClassName", ""))
        is = json_get_int(spec, "priority", 0);
    if (rc < 0 || !given || said == is)
        return rc;
    return err_set(err, ERR_FORBIDDEN,
                   "pods \"%s\" is forbidden: the integer value of priority (%" PRId64
                   ") must not be provided in pod spec; priority admission controller computed "
                   "%" PRId64 " from the given PriorityClass name",
                   object_name(pod), said, is);
}
