#include "cli/job_events.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "cli/columns.h"
#include "core/job.h"

static int64_t last_seen(const struct json *event)
{
    int64_t last = object_time(event, "lastTimestamp");

    return last ? last : object_time(event, "eventTime");
}

static int by_time(const void *a, const void *b)
{
    const struct json *x = *(struct json *const *)a, *y = *(struct json *const *)b;
    int64_t x_ms = last_seen(x), y_ms = last_seen(y);

    return x_ms != y_ms ? (x_ms < y_ms ? -1 : 1)
                        : strverscmp(object_resource_version(x), object_resource_version(y));
}

/* About the object itself, and for a job its PodGroup and pods, including deleted ones. */
static bool is_about(struct arena *a, const struct json *event, const struct json *object)
{
    const struct json *about = json_get(event, "involvedObject");
    const char *name = json_get_string(about, "name", "");
    const struct kind *k = kind_of_object(object);
    const char *child = k && job_is_kind(k) ? job_child_name(a, object) : NULL;
    size_t len = child ? strlen(child) : 0;

    return json_string_is(json_get(about, "uid"), object_uid(object)) ||
           (child && strncmp(name, child, len) == 0 && (!name[len] || name[len] == '-'));
}

void job_events_write(const struct json *list, int64_t now_ms, size_t width, struct buf *out)
{
    static const char *const header[] = {"LAST", "COUNT", "TYPE", "REASON", "OBJECT", "MESSAGE"};
    struct columns table;

    columns_init(&table, header, ELEMS(header));
    json_each (event, json_get(list, "items")) {
        char age[TIME_TEXT_SIZE];

        columns_add(&table, time_age(now_ms - last_seen(event), age));
        columns_addf(&table, "%lld", (long long)json_get_int(event, "count", 1));
        columns_add(&table, json_get_string(event, "type", ""));
        columns_add(&table, json_get_string(event, "reason", ""));
        columns_add(&table, json_string(json_at(event, "involvedObject", "name"), ""));
        columns_add(&table, json_get_string(event, "message", ""));
    }
    columns_write(&table, width, out);
    columns_release(&table);
}

/* The wanted ones, oldest first. */
static struct json *choose(struct arena *a, struct json *list, const struct json *object,
                           bool warnings)
{
    struct json *items = json_get_mut(list, "items"), *chosen = json_new_object(a), *out;
    struct json **all = arena_alloc(a, max_size(json_len(items), 1) * sizeof(*all));
    size_t n = 0;

    json_set_string(a, chosen, "apiVersion", "v1");
    json_set_string(a, chosen, "kind", "List");
    out = json_make_array(a, chosen, "items");
    for (struct json *e = json_first_mut(items); e && all; e = e->next)
        if ((!object || is_about(a, e, object)) &&
            (!warnings || json_string_is(json_get(e, "type"), "Warning")))
            all[n++] = e;
    if (n)
        qsort(all, n, sizeof(struct json *), by_time);
    for (size_t i = 0; i < n; i++) {
        json_set_string(a, all[i], "apiVersion", "v1");
        json_set_string(a, all[i], "kind", "Event");
        (void)json_append(out, json_clone(a, all[i]));
    }
    return all ? chosen : NULL;
}

/* Events about an object without a namespace are in the default one. */
static const char *namespace_of(const struct session *s, const struct json *object)
{
    const char *ns = object ? object_namespace(object) : s->ns;

    return *ns ? ns : "default";
}

int job_events_find(struct session *s, const struct json *object, bool warnings, struct json **ret,
                    struct err *err)
{
    struct json *list = NULL;
    int r = session_list(s, &kind_event, namespace_of(s, object), NULL, &list, err);

    if (r)
        return r;
    *ret = choose(s->arena, list, object, warnings);
    return *ret ? 0 : err_set(err, ERR_INTERNAL, "out of memory");
}
