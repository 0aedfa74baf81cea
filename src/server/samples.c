/*
 * samples.c - GET pods/NAME/samples and nodes/NAME/samples: what they used, as columns. Ours,
 * beside the Kubernetes API: that has no history.
 *
 * What may stand in the query:
 *
 * - since, until: times (2026-01-31T15:04:05Z), or numbers as the answer's times are
 *
 * - step: seconds, for one value per step; else the finest there is
 *
 * - uid: the pod that had this UID, also when it is gone
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "server/internal.h"

#define ANSWER_LIMIT_BYTES (4u * 1024u * 1024u)
#define STEP_MOST_S (7 * 86400)

static int read_pod(struct server_request *r, const struct node_samples_query *q,
                    const char **ret_uid, struct buf *out, struct err *err)
{
    const struct store_item *item;
    const char *key, *uid = *ret_uid;
    const struct json *pod = request_load(r, &key, &item, uid ? NULL : err);
    struct node_pod which = {r->route.ns, r->route.name, uid};
    struct node *node = r->server->node;
    bool found;

    if (!pod && !uid)
        return -1;
    if (!uid)
        *ret_uid = which.uid = object_uid(pod);
    found = node && node->ops->samples(node, &which, q, out);
    /* Of one that is there: none yet is none, not an error. */
    if (!found && (!pod || strcmp(object_uid(pod), which.uid) != 0))
        return err_set(err, ERR_NOT_FOUND, "pod \"%s\" with UID \"%s\" left no samples",
                       r->route.name, which.uid);
    return 0;
}

static int read_node(struct server_request *r, const struct node_samples_query *q,
                     const char **ret_uid, struct buf *out, struct err *err)
{
    const struct store_item *item;
    const char *key;
    const struct json *object = request_load(r, &key, &item, err);
    struct node *node = server_node(r->server, r->route.name);

    if (!object)
        return -1;
    *ret_uid = object_uid(object);
    if (node)
        (void)node->ops->samples(node, NULL, q, out);
    return 0;
}

static void reply_samples(struct server_request *r, const char *uid, const struct buf *samples)
{
    struct buf b = BUF_INIT(2 * ANSWER_LIMIT_BYTES);
    const struct route *route = &r->route;

    buf_adds(&b, "{\"kind\":\"Samples\",\"apiVersion\":\"muster.dev/v1\",\"metadata\":{\"name\":");
    json_write_string(&b, route->name, strlen(route->name));
    if (*route->ns) {
        buf_adds(&b, ",\"namespace\":");
        json_write_string(&b, route->ns, strlen(route->ns));
    }
    buf_adds(&b, ",\"uid\":");
    json_write_string(&b, uid, strlen(uid));
    buf_adds(&b, "},");
    if (samples->len)
        buf_add(&b, samples->data, samples->len);
    else
        buf_adds(&b, "\"time\":[],\"columns\":{}");
    buf_addc(&b, '}');
    reply_buf(r, 200, JSON_TYPE, &b);
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
    struct node_samples_query q = {0};
    struct buf samples = BUF_INIT(ANSWER_LIMIT_BYTES);
    const char *uid = query_get(r, "uid");
    int rc = parse_moment(r, "since", &q.since_ms, err);

    if (rc == 0)
        rc = parse_moment(r, "until", &q.until_ms, err);
    if (rc == 0)
        rc = query_int(r, "step", 0, &q.step_ms, err);
    if (rc < 0)
        return rc;
    q.step_ms = min_i64(q.step_ms, STEP_MOST_S) * 1000;
    if (uid && !*uid)
        uid = NULL;
    rc = r->route.kind == &kind_node ? read_node(r, &q, &uid, &samples, err)
                                     : read_pod(r, &q, &uid, &samples, err);
    if (rc == 0 && samples.failed)
        rc = out_of_memory(err);
    if (rc == 0)
        reply_samples(r, uid, &samples);
    buf_release(&samples);
    return rc;
}
