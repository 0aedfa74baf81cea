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
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "runtime/podfolder.h"
#include "runtime/usage_file.h"
#include "server/internal.h"

#define ANSWER_LIMIT_BYTES (4u * 1024u * 1024u)
#define STEP_MOST_S (7 * 86400)

/* --- where they are ---------------------------------------------------------------------- */

const char *pod_samples_path(struct server_request *r, const struct json *pod)
{
    const char *root = *json_string(json_at(pod, "spec", "nodeName"), "") ? pod_root(r, pod, NULL)
                                                                          : NULL;

    return root ? arena_printf(r->arena, "%s/%s/" POD_FILE_SAMPLES, root, object_uid(pod)) : NULL;
}

const char *node_samples_path(struct server_request *r, const struct json *node)
{
    const char *root = object_annotation(node, ANNOTATION_POD_ROOT);

    return root ? arena_printf(r->arena, "%s.samples", root) : NULL;
}

struct query {
    struct server_request *request;
    const char *uid;
    int64_t since_ms, until_ms, step_ms; /* until_ms 0: to the newest */
    struct usage_sample *samples;
    size_t len;
    bool found;
};

static bool try_path(struct query *q, const char *path)
{
    q->found = path && usage_file_read(path, q->since_ms, q->step_ms, q->request->arena,
                                       &q->samples, &q->len) == 0;
    while (q->found && q->until_ms && q->len && q->samples[q->len - 1].time_ms > q->until_ms)
        q->len--;
    return q->found;
}

/* Among the living, then among what was put aside of the gone; as attempt_log.c. */
static bool try_node(void *arg, const struct store_item *item)
{
    struct query *q = arg;
    struct arena *a = q->request->arena;
    const struct json *node = blob_parse(a, item->value, NULL);
    const char *root = node ? object_annotation(node, ANNOTATION_POD_ROOT) : NULL;
    const char *slash = root ? strrchr(root, '/') : NULL;

    if (!slash)
        return true;
    if (pod_folder_is_of(a, root, q->uid, q->request->route.ns, q->request->route.name) &&
        try_path(q, arena_printf(a, "%s/%s/" POD_FILE_SAMPLES, root, q->uid)))
        return false;
    return !try_path(q, arena_printf(a, "%.*s/" POD_LOGS_FOLDER "/%s/%s/%s/" POD_FILE_SAMPLES,
                                     (int)(slash - root), root, q->request->route.ns,
                                     q->request->route.name, q->uid));
}

static int read_pod(struct query *q, struct err *err)
{
    struct server_request *r = q->request;
    const struct store_item *item;
    const char *key;
    const struct json *pod = request_load(r, &key, &item, q->uid ? NULL : err);

    if (!pod && !q->uid)
        return -1;
    if (pod && (!q->uid || strcmp(object_uid(pod), q->uid) == 0)) {
        q->uid = object_uid(pod);
        (void)try_path(q, pod_samples_path(r, pod));
        q->found = true; /* none yet is none, not an error */
    } else if (pod_name_is_safe(r->route.ns) && pod_name_is_safe(r->route.name) &&
               pod_name_is_safe(q->uid)) {
        store_list(server_collection(r->server, &kind_node), "", NULL, try_node, q);
    }
    if (!q->found)
        return err_set(err, ERR_NOT_FOUND, "pod \"%s\" with UID \"%s\" left no samples",
                       r->route.name, q->uid);
    return 0;
}

static int read_node(struct query *q, struct err *err)
{
    const struct store_item *item;
    const char *key;
    const struct json *node = request_load(q->request, &key, &item, err);

    if (!node)
        return -1;
    q->uid = object_uid(node);
    (void)try_path(q, node_samples_path(q->request, node));
    return 0;
}

/* --- the answer -------------------------------------------------------------------------- */

static void add_column(struct buf *b, const struct query *q, size_t column)
{
    buf_addf(b, "%s\"%s\":{\"unit\":\"%s\",\"values\":[", column ? "," : "",
             usage_columns[column].name, usage_columns[column].unit);
    for (size_t i = 0; i < q->len; i++) {
        double v = (double)q->samples[i].v[column];

        if (i)
            buf_addc(b, ',');
        if (isnan(v) || isinf(v))
            buf_adds(b, "null");
        else
            buf_addf(b, usage_columns[column].peak ? "%.0f" : "%.6g", v);
    }
    buf_adds(b, "]}");
}

static void reply_columns(const struct query *q)
{
    struct buf b = BUF_INIT(ANSWER_LIMIT_BYTES);
    const struct route *route = &q->request->route;

    buf_adds(&b, "{\"kind\":\"Samples\",\"apiVersion\":\"muster.dev/v1\",\"metadata\":{\"name\":");
    json_write_string(&b, route->name, strlen(route->name));
    if (*route->ns) {
        buf_adds(&b, ",\"namespace\":");
        json_write_string(&b, route->ns, strlen(route->ns));
    }
    buf_adds(&b, ",\"uid\":");
    json_write_string(&b, q->uid, strlen(q->uid));
    buf_adds(&b, "},\"time\":[");
    for (size_t i = 0; i < q->len; i++)
        buf_addf(&b, "%s%" PRId64, i ? "," : "", q->samples[i].time_ms);
    buf_adds(&b, "],\"columns\":{");
    for (size_t i = 0; i < USAGE_COLUMNS; i++)
        add_column(&b, q, i);
    buf_adds(&b, "}}");
    reply_buf(q->request, 200, JSON_TYPE, &b);
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
    struct query q = {.request = r, .uid = query_get(r, "uid")};
    int rc = parse_moment(r, "since", &q.since_ms, err);

    if (rc == 0)
        rc = parse_moment(r, "until", &q.until_ms, err);
    if (rc == 0)
        rc = query_int(r, "step", 0, &q.step_ms, err);
    if (rc < 0)
        return rc;
    q.step_ms = min_i64(q.step_ms, STEP_MOST_S) * 1000;
    if (q.uid && !*q.uid)
        q.uid = NULL;
    rc = r->route.kind == &kind_node ? read_node(&q, err) : read_pod(&q, err);
    if (rc == 0 && arena_failed(r->arena))
        rc = out_of_memory(err);
    if (rc == 0)
        reply_columns(&q);
    return rc;
}
