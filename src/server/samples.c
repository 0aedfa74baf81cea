/*
 * samples.c - GET pods/NAME/samples and nodes/NAME/samples: their past usage, as columns. Our own
 * addition: the Kubernetes API has no history.
 *
 * Query parameters:
 *
 * - since, until: times (2026-01-31T15:04:05Z), or numbers as the answer's times are
 *
 * - step: seconds, for one value per step; default: the finest resolution
 *
 * - uid: the pod with this UID, even if it is deleted
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "server/internal.h"

#define STEP_MOST_S (7 * 86400)

struct reading {
    struct server_request *request;
    struct node_samples_query query;
    const char *uid;
    struct node_pod which;
    struct node_round round; /* for a deleted pod */
};

static void reply_samples(const struct reading *d, const char *samples)
{
    struct buf b = BUF_INIT(2 * NODE_SAMPLES_LIMIT_BYTES);
    const struct route *route = &d->request->route;

    buf_adds(&b, "{\"kind\":\"Samples\",\"apiVersion\":\"muster.dev/v1\",\"metadata\":{\"name\":");
    json_write_string(&b, route->name, strlen(route->name));
    if (*route->ns) {
        buf_adds(&b, ",\"namespace\":");
        json_write_string(&b, route->ns, strlen(route->ns));
    }
    buf_adds(&b, ",\"uid\":");
    json_write_string(&b, d->uid, strlen(d->uid));
    buf_addf(&b, "},%s}", samples);
    reply_buf(d->request, 200, JSON_TYPE, &b);
}

/* For an existing pod, no samples yet is not an error. */
static void on_samples(void *arg, const char *samples, bool found, const struct err *err)
{
    struct reading *d = arg;

    (void)found;
    if (err)
        reply_node_err(d->request, err);
    else
        reply_samples(d, samples);
}

static int read_node(struct reading *d, struct err *err)
{
    struct server_request *r = d->request;
    const struct store_item *item;
    const char *key;
    const struct json *object = request_load(r, &key, &item, err);
    struct node *node = object ? server_node(r->server, r->arena, r->route.name, err) : NULL;

    if (!node)
        return -1;
    d->uid = object_uid(object);
    node->ops->samples(node, NULL, &d->query, on_samples, d);
    return 0;
}

static void ask_next(struct reading *d);

static void on_gone(void *arg, const char *samples, bool found, const struct err *err)
{
    struct reading *d = arg;

    if (!err && found) {
        reply_samples(d, samples);
        return;
    }
    if (err)
        node_round_heard(&d->round, d->request->arena, err);
    ask_next(d);
}

static void ask_next(struct reading *d)
{
    struct node *node = server_next_node(d->request, &d->round);
    auto_err err = ERR_INIT;

    if (node) {
        node->ops->samples(node, &d->which, &d->query, on_gone, d);
        return;
    }
    if (d->round.text)
        (void)err_set(&err, d->round.reason, "%s", d->round.text);
    else
        (void)err_set(&err, ERR_NOT_FOUND, "pod \"%s\" with UID \"%s\" left no samples",
                      d->which.name, d->uid);
    reply_node_err(d->request, &err);
}

static int read_pod(struct reading *d, struct err *err)
{
    struct server_request *r = d->request;
    const struct store_item *item;
    const char *key;
    const struct json *pod = request_load(r, &key, &item, d->uid ? NULL : err);
    struct node *node;

    if (!pod && !d->uid)
        return -1;
    if (!d->uid)
        d->uid = object_uid(pod);
    d->which = (struct node_pod){r->route.ns, r->route.name, d->uid};
    if (!pod || strcmp(object_uid(pod), d->uid) != 0) {
        ask_next(d);
        return 0;
    }
    if (!*json_string(json_at(pod, "spec", "nodeName"), "")) {
        reply_samples(d, "\"time\":[],\"columns\":{}");
        return 0;
    }
    node = pod_node(r, pod, &d->which, err);
    if (!node)
        return -1;
    node->ops->samples(node, &d->which, &d->query, on_samples, d);
    return 0;
}

static int parse_moment(const struct server_request *r, const char *name, int64_t *ret,
                        struct err *err)
{
    const char *text = query_get(r, name);
    char *end;

    *ret = 0;
    if (!text || !*text)
        return 0;
    errno = 0;
    *ret = strtoll(text, &end, 10);
    if (!*end && !errno && *ret >= 0)
        return 0;
    if (time_parse(text, ret) == 0)
        return 0;
    return err_set(err, ERR_BAD_REQUEST,
                   "%s: Invalid value: \"%s\": must be a time like 2026-01-31T15:04:05Z, or "
                   "milliseconds since 1970",
                   name, text);
}

int verb_samples(struct server_request *r, struct err *err)
{
    struct reading *d = arena_alloc(r->arena, sizeof(*d));
    int rc;

    if (!d)
        return out_of_memory(err);
    rc = parse_moment(r, "since", &d->query.since_ms, err);
    if (rc == 0)
        rc = parse_moment(r, "until", &d->query.until_ms, err);
    if (rc == 0)
        rc = query_int(r, "step", 0, &d->query.step_ms, err);
    if (rc < 0)
        return rc;
    d->request = r;
    d->query.step_ms = min_i64(d->query.step_ms, STEP_MOST_S) * 1000;
    d->uid = query_get(r, "uid");
    if (d->uid && !*d->uid)
        d->uid = NULL;
    return r->route.kind == &kind_node ? read_node(d, err) : read_pod(d, err);
}
