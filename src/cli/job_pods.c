#include "cli/job_pods.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "cli/columns.h"
#include "cli/command.h"
#include "cli/follow.h"
#include "core/exit_words.h"
#include "core/replica_names.h"

/* Maximum number of replicas considered. */
#define PODS_LIMIT 8192
/* Our own phase for a pod that was cleaned up but is in the job's status. */
#define POD_GONE "Gone"
#define NAME_SIZE 512

static unsigned long type_order(const struct json *job, const struct json *pod)
{
    const char *type = object_label(pod, LABEL_REPLICA_TYPE);
    unsigned long at = 0;

    json_each (spec, json_at(job, "status", "tasks")) {
        if (type && json_string_is(json_get(spec, "type"), type))
            break;
        at++;
    }
    return at;
}

static unsigned long index_order(const struct json *pod)
{
    const char *index = object_label(pod, LABEL_REPLICA_INDEX);

    return index ? strtoul(index, NULL, 10) : 0;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct job_pod *x = a, *y = b;

    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool is_listed(const struct job_pods *pods, const char *uid)
{
    for (size_t i = 0; i < pods->len; i++)
        if (strcmp(object_uid(pods->list[i].pod), uid) == 0)
            return true;
    return false;
}

static void add_pod(struct job_pods *pods, const struct json *job, const struct json *pod)
{
    if (pods->len < PODS_LIMIT)
        pods->list[pods->len++] = (struct job_pod){
            .type = type_order(job, pod), .index = index_order(pod), .pod = pod};
}

/* One without its own template has a container named after its type. */
static void set_containers(struct arena *a, struct json *pod, const char *type,
                           const struct json *containers)
{
    struct json *spec = json_make_object(a, pod, "spec");

    if (json_len(containers) > 0)
        json_set(a, spec, "containers", json_clone(a, containers));
    else
        json_set_string(a, json_append(json_make_array(a, spec, "containers"), json_new_object(a)),
                        "name", type);
}

/* A deleted pod, as far as the job's status records it: enough to request its log, which outlives
 * it. */
static const struct json *gone_pod(struct arena *a, const struct json *job, const char *type,
                                   const struct json *replica)
{
    const char *name = json_get_string(replica, "name", ""), *dash = strrchr(name, '-');
    const struct json *containers = NULL;
    struct json *pod = json_new_object(a), *metadata = json_make_object(a, pod, "metadata");
    struct json *labels = json_make_object(a, metadata, "labels");

    json_set_string(a, metadata, "name", name);
    json_set_string(a, metadata, "namespace", object_namespace(job));
    json_set_string(a, metadata, "uid", json_get_string(replica, "uid", ""));
    json_set_string(a, labels, LABEL_REPLICA_TYPE, type);
    json_set_string(a, labels, LABEL_REPLICA_INDEX,
                    dash && strcmp(dash + 1, type) != 0 ? dash + 1 : "0");
    json_each (spec, json_at(job, "spec", "replicaSpecs"))
        if (json_string_is(json_get(spec, "type"), type))
            containers = json_at(spec, "template", "spec", "containers");
    set_containers(a, pod, type, containers);
    json_set_string(a, json_make_object(a, pod, "status"), "phase", POD_GONE);
    return pod;
}

static void add_gone_pods(struct arena *a, struct job_pods *pods, const struct json *job)
{
    json_each (task, json_at(job, "status", "tasks"))
        json_each (replica, json_get(task, "replicas")) {
            const char *uid = json_get_string(replica, "uid", "");

            if (*uid && !is_listed(pods, uid))
                add_pod(pods, job, gone_pod(a, job, json_get_string(task, "type", ""), replica));
        }
}

int job_pods_find(struct session *s, const struct json *job, struct job_pods *ret, struct err *err)
{
    struct json *list = NULL;
    int r = session_list(
        s, &kind_pod, object_namespace(job),
        session_selector(s->arena, "labelSelector", LABEL_OWNER_NAME, object_name(job)), &list,
        err);

    if (r)
        return r;
    ret->list = arena_alloc(s->arena, sizeof(*ret->list) * PODS_LIMIT);
    if (!ret->list)
        return err_set(err, ERR_INTERNAL, "out of memory");
    json_each (pod, json_get(list, "items"))
        if (object_is_controlled_by(pod, object_uid(job)))
            add_pod(ret, job, pod);
    add_gone_pods(s->arena, ret, job);
    qsort(ret->list, ret->len, sizeof(*ret->list), compare_ranks);
    return arena_failed(s->arena) ? err_set(err, ERR_INTERNAL, "out of memory") : 0;
}

/* --- deleted jobs --- */

/* "worker-0" of "NAME-3fa85-worker-0"; NULL: another job's. */
static const char *replica_part(const struct json *line, const char *job)
{
    const char *pod = json_get_string(line, "pod", "");
    char prefix[NAME_SIZE], hash[HASH5_SIZE];
    int len;

    replica_hash5(job, json_get_string(line, "owner", ""), hash);
    len = snprintf(prefix, sizeof(prefix), "%s-%s-", job, hash);
    return len < (int)sizeof(prefix) && strncmp(pod, prefix, (size_t)len) == 0 ? pod + len : NULL;
}

/* A line of podlogs as a pod that is gone. */
static const struct json *kept_pod(struct arena *a, const char *ns, const char *replica,
                                   const struct json *line)
{
    const char *dash = strrchr(replica, '-');
    bool numbered = dash && dash[1] && !dash[1 + strspn(dash + 1, "0123456789")];
    struct json *pod = json_new_object(a), *metadata = json_make_object(a, pod, "metadata");
    struct json *labels = json_make_object(a, metadata, "labels"), *containers;

    json_set_string(a, metadata, "name", json_get_string(line, "pod", ""));
    json_set_string(a, metadata, "namespace", ns);
    json_set_string(a, metadata, "uid", json_get_string(line, "uid", ""));
    json_set_string(a, labels, LABEL_REPLICA_TYPE,
                    numbered ? arena_strndup(a, replica, (size_t)(dash - replica)) : replica);
    json_set_string(a, labels, LABEL_REPLICA_INDEX, numbered ? dash + 1 : "0");
    containers = json_make_array(a, json_make_object(a, pod, "spec"), "containers");
    json_each (name, json_get(line, "containers"))
        json_set_string(a, json_append(containers, json_new_object(a)), "name",
                        json_string(name, ""));
    json_set_string(a, json_make_object(a, pod, "status"), "phase", POD_GONE);
    return pod;
}

struct kept {
    const char *replica;
    const struct json *line;
};

/* Whether a later attempt of the same replica is kept. */
static bool is_superseded(const struct kept *all, size_t len, const struct kept *one)
{
    for (size_t i = 0; i < len; i++)
        if (strcmp(all[i].replica, one->replica) == 0 &&
            json_string_is(json_get(all[i].line, "owner"),
                           json_get_string(one->line, "owner", "")) &&
            json_get_int(all[i].line, "attempt", 0) > json_get_int(one->line, "attempt", 0))
            return true;
    return false;
}

/* Lines of the job's pods; *ret_owner: the UID of the job that was deleted last. */
static size_t read_kept(struct session *s, const char *text, const char *name, struct kept *all,
                        const char **ret_owner)
{
    int64_t newest = -1;
    size_t len = 0;

    while (*text && len < PODS_LIMIT) {
        size_t n = strcspn(text, "\n");
        auto_err ignored = ERR_INIT;
        const struct json *line = json_parse(s->arena, text, n, &ignored);
        const char *replica = replica_part(line, name);

        if (replica)
            all[len++] = (struct kept){replica, line};
        if (replica && json_get_int(line, "leftMs", 0) > newest) {
            newest = json_get_int(line, "leftMs", 0);
            *ret_owner = json_get_string(line, "owner", "");
        }
        text += n + (text[n] == '\n');
    }
    return len;
}

void job_pods_find_deleted(struct session *s, const char *name, struct job_pods *ret)
{
    struct buf body = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    auto_err ignored = ERR_INIT;
    struct kept *all = arena_alloc(s->arena, sizeof(*all) * PODS_LIMIT);
    const char *path = arena_printf(s->arena, "/apis/muster.dev/v1/namespaces/%s/podlogs", s->ns);
    const char *owner = "";
    size_t len = 0;

    ret->list = arena_alloc(s->arena, sizeof(*ret->list) * PODS_LIMIT);
    if (all && path && ret->list && session_fetch(s, path, &body, &ignored) == 0 && body.len)
        len = read_kept(s, body.data, name, all, &owner);
    for (size_t i = 0; i < len; i++)
        if (json_string_is(json_get(all[i].line, "owner"), owner) &&
            !is_superseded(all, len, &all[i]))
            add_pod(ret, NULL, kept_pod(s->arena, s->ns, all[i].replica, all[i].line));
    if (ret->list)
        qsort(ret->list, ret->len, sizeof(*ret->list), compare_ranks);
    buf_release(&body);
}

bool job_pod_is_gone(const struct json *pod)
{
    return json_string_is(json_at(pod, "status", "phase"), POD_GONE);
}

/* "exit code 137: killed ..." of a failed run; NULL: it succeeded or has not ended. */
static const char *failure(struct arena *a, const struct json *state)
{
    const struct json *end = json_get(state, "terminated");
    const char *message = json_get_string(end, "message", "");
    int code = (int)json_get_int(end, "exitCode", 0);
    const char *meaning = exit_words(code, json_get_string(end, "reason", ""), *message);

    if (code == 0)
        return NULL;
    return arena_printf(a, "exit code %d%s%s%s%s%s", code, meaning ? " (" : "",
                        meaning ? meaning : "", meaning ? ")" : "", *message ? ": " : "", message);
}

static const char *container_why(struct arena *a, const struct json *status)
{
    const struct json *waiting = json_at(status, "state", "waiting");
    const char *failed = failure(a, json_get(status, "state")), *before;

    if (failed)
        return failed;
    if (waiting)
        return json_get_string(waiting, "message", json_get_string(waiting, "reason", ""));
    before = failure(a, json_get(status, "lastState"));
    return before ? arena_printf(a, "before: %s", before) : "";
}

const char *job_pod_why(struct arena *a, const struct json *pod)
{
    const char *why = json_string(json_at(pod, "status", "message"), "");

    json_each (status, json_at(pod, "status", "containerStatuses"))
        if (!why || !*why)
            why = container_why(a, status);
    if ((!why || !*why) && json_string_is(json_at(pod, "status", "phase"), "Pending"))
        why = json_get_string(object_condition(pod, "PodScheduled"), "message", "");
    return why ? why : "";
}

void job_pods_write(struct arena *a, const struct job_pods *pods, size_t width, struct buf *out)
{
    static const char *const header[] = {"REPLICA", "PHASE", "RESTARTS", "NODE", "POD", "WHY"};
    struct columns table;

    columns_init(&table, header, ELEMS(header));
    for (size_t i = 0; i < pods->len; i++) {
        const struct json *pod = pods->list[i].pod;
        int64_t restarts = 0;

        json_each (c, json_at(pod, "status", "containerStatuses"))
            restarts += json_get_int(c, "restartCount", 0);
        columns_add(&table, follow_label(a, pod, NULL));
        columns_add(&table, json_string(json_at(pod, "status", "phase"), ""));
        columns_addf(&table, "%" PRId64, restarts);
        columns_add(&table, json_string(json_at(pod, "spec", "nodeName"), ""));
        columns_add(&table, object_name(pod));
        columns_add(&table, job_pod_why(a, pod));
    }
    columns_write(&table, width, out);
    columns_release(&table);
}
