/*
 * attempt_log.c - the log of one attempt, named by its pod's UID: GET pods/NAME/log?uid=UID. A
 * replica that is replaced keeps its name, so the name alone may mean a newer pod, or none; logs
 * outlive their pods (the runtime puts them aside, beside the folder of those that live).
 */
#include <string.h>

#include "runtime/kept.h"
#include "runtime/podfolder.h"
#include "runtime/podlog.h"
#include "server/internal.h"

struct search {
    struct server_request *request;
    const char *uid, *container;
    const char *not_uid; /* earlier_log */
    int64_t attempt;
    const struct podlog_options *options;
    struct stream *found;
};

static bool try_folder(struct search *s, const char *folder)
{
    return folder && podlog_open(s->request->server->loop, folder, s->uid, s->container, s->options,
                                 &s->found, NULL) == 0;
}

/* Of each node whose folders are on this machine: among the living first, it may just be going. The
 * rights that were asked for are to the namespace and the name, so it must be of those. */
static bool try_node(void *arg, const struct store_item *item)
{
    struct search *s = arg;
    struct arena *a = s->request->arena;
    const struct json *node = blob_parse(a, item->value, NULL);
    const char *root = node ? object_annotation(node, ANNOTATION_POD_ROOT) : NULL;
    const char *slash = root ? strrchr(root, '/') : NULL;

    if (!slash)
        return true;
    if (pod_folder_is_of(a, root, s->uid, s->request->route.ns, s->request->route.name) &&
        try_folder(s, root))
        return false;
    return !try_folder(s, arena_printf(a, "%.*s/" POD_LOGS_FOLDER "/%s/%s", (int)(slash - root),
                                       root, s->request->route.ns, s->request->route.name));
}

static bool try_earlier(void *arg, const struct store_item *item)
{
    struct search *s = arg;
    struct arena *a = s->request->arena;
    const struct json *node = blob_parse(a, item->value, NULL);
    const char *root = node ? object_annotation(node, ANNOTATION_POD_ROOT) : NULL;
    const char *slash = root ? strrchr(root, '/') : NULL, *folder;
    char uid[KEPT_UID_SIZE];

    if (!slash)
        return true;
    folder = arena_printf(a, "%.*s/" POD_LOGS_FOLDER "/%s/%s", (int)(slash - root), root,
                          s->request->route.ns, s->request->route.name);
    if (!folder || !kept_find(folder, s->not_uid, s->attempt, uid))
        return true;
    s->uid = uid;
    return !try_folder(s, folder);
}

int earlier_log(struct server_request *r, const char *uid, const char *container, int64_t attempt,
                const struct podlog_options *options, struct err *err)
{
    struct podlog_options newest = *options;
    struct search s = {.request = r,
                       .container = container,
                       .not_uid = uid,
                       .attempt = attempt,
                       .options = &newest};

    newest.previous = newest.follow = false;
    if (!container || !*container)
        return err_set(err, ERR_BAD_REQUEST, "a container name must be specified with attempt");
    if (pod_name_is_safe(r->route.ns) && pod_name_is_safe(r->route.name))
        store_list(server_collection(r->server, &kind_node), "", NULL, try_earlier, &s);
    if (s.found)
        reply_stream(r, "text/plain", s.found);
    else if (attempt >= 0)
        return err_set(err, ERR_NOT_FOUND, "attempt %lld of pod \"%s\" left no log",
                       (long long)attempt, r->route.name);
    else
        return err_set(err, ERR_BAD_REQUEST,
                       "previous terminated container \"%s\" in pod \"%s\" not found", container,
                       r->route.name);
    return 0;
}

int attempt_log(struct server_request *r, const char *uid, const struct podlog_options *options,
                struct err *err)
{
    struct search s = {
        .request = r, .uid = uid, .container = query_get(r, "container"), .options = options};

    if (!s.container || !*s.container)
        return err_set(err, ERR_BAD_REQUEST, "a container name must be specified with uid");
    if (pod_name_is_safe(r->route.ns) && pod_name_is_safe(r->route.name))
        store_list(server_collection(r->server, &kind_node), "", NULL, try_node, &s);
    if (!s.found)
        return err_set(err, ERR_NOT_FOUND, "pod \"%s\" with UID \"%s\" left no log", r->route.name,
                       uid);
    reply_stream(r, "text/plain", s.found);
    return 0;
}
