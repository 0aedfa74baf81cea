/*
 * pod_token.c - see pod_token.h. The token is valid only while the pod exists. In files it has the
 * lifetime given by its volume and is renewed, as in a kubelet; a variable cannot be renewed in a
 * running program, so that one is requested for a long time. A restarted agent does not know how
 * old its pods' tokens are, and renews them.
 */
#include "agent/pod_token.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/scratch.h"
#include "agent/volumes.h"
#include "api/object.h"
#include "base/log.h"
#include "client/client.h"

#define VARIABLE_SECONDS (366LL * 24 * 3600)
#define FILE_SECONDS 3600 /* Kubernetes' default, if its volume has none */
#define OLDEST_MS (24 * INT64_C(3600000))
#define RETRY_MS (60 * INT64_C(1000))
#define REQUEST_LIMIT_BYTES 65536u

#define DEFAULT_ACCOUNT "default"

bool pod_token_is_own(const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    const char *name = json_get_string(spec, "serviceAccountName", DEFAULT_ACCOUNT);

    return strcmp(name, DEFAULT_ACCOUNT) != 0 &&
           json_get_bool(spec, "automountServiceAccountToken", true);
}

/* The lifetime of its file, as a cluster's admission sets it in every pod; 0: there is none. */
static int64_t file_seconds(const struct json *pod)
{
    json_each (volume, json_at(pod, "spec", "volumes"))
        json_each (source, json_at(volume, "projected", "sources"))
            if (json_get(source, "serviceAccountToken"))
                return json_get_int(json_get(source, "serviceAccountToken"), "expirationSeconds",
                                    FILE_SECONDS);
    return 0;
}

const char *pod_token_account(const struct json *pod)
{
    if (!pod_token_is_own(pod) && file_seconds(pod) == 0)
        return NULL;
    return json_string(json_at(pod, "spec", "serviceAccountName"), DEFAULT_ACCOUNT);
}

void pod_token_drop(struct pod_work *w)
{
    if (w->token)
        explicit_bzero(w->token, strlen(w->token));
    free(w->token);
    w->token = NULL;
}

int64_t pod_token_due_ms(int64_t now_ms, int64_t seconds)
{
    return now_ms + max_i64(min_i64(multiply_i64(seconds, 800), OLDEST_MS), RETRY_MS);
}

static void on_token(void *arg, const struct json *object, const struct err *err)
{
    struct pod_work *w = arg;
    const struct json *status = json_get(object, "status");
    const char *token = json_get_string(status, "token", "");
    int64_t now_ms = clock_now_ms(w->agent->clock);
    auto_err none = ERR_INIT;

    w->token_asked = false;
    w->token_due_ms = now_ms + RETRY_MS;
    if (!err) {
        pod_token_drop(w);
        w->token = *token ? strdup(token) : NULL;
        if (w->token)
            w->token_due_ms = pod_token_due_ms(
                now_ms, json_int(json_at(object, "spec", "expirationSeconds"), 0));
        else
            (void)err_set(&none, ERR_INTERNAL, "the API server's answer holds no token");
    }
    w->on_token(w, err_is_set(&none) ? &none : err);
}

static bool is_renewed(const struct pod_work *w)
{
    return w->agent->runtime->ops->has_mounts(w->agent->runtime);
}

static void ask(struct pod_work *w, const struct json *pod,
                void (*then)(struct pod_work *w, const struct err *err))
{
    struct arena a = ARENA_INIT(REQUEST_LIMIT_BYTES);
    struct json *request, *spec, *bound;

    w->on_token = then;
    w->token_asked = true;
    request = json_new_object(&a);
    json_set_string(&a, request, "apiVersion", "authentication.k8s.io/v1");
    json_set_string(&a, request, "kind", "TokenRequest");
    spec = json_make_object(&a, request, "spec");
    json_set_int(&a, spec, "expirationSeconds",
                 pod_token_is_own(pod) || !is_renewed(w) ? VARIABLE_SECONDS : file_seconds(pod));
    bound = json_make_object(&a, spec, "boundObjectRef");
    json_set_string(&a, bound, "kind", "Pod");
    json_set_string(&a, bound, "apiVersion", "v1");
    json_set_string(&a, bound, "name", w->name);
    json_set_string(&a, bound, "uid", w->uid);
    client_create_sub(w->agent->transport, &kind_service_account, w->ns, pod_token_account(pod),
                      "token", arena_failed(&a) ? NULL : request, on_token, w);
    arena_release(&a);
}

bool pod_token_have(struct pod_work *w, const struct json *pod,
                    void (*then)(struct pod_work *w, const struct err *err))
{
    if (!pod_token_account(pod) || w->token || !w->agent->server)
        return true;
    ask(w, pod, then);
    return false;
}

static void renewed(struct pod_work *w, const struct err *err)
{
    const struct json *pod = cache_get(w->agent->pods, w->ns, w->name);
    struct arena a = ARENA_INIT(REQUEST_LIMIT_BYTES);
    auto_err failed = ERR_INIT;

    if (!err && pod && strcmp(object_uid(pod), w->uid) == 0) {
        struct identity_machine machine = {.uid = geteuid(), .gid = getegid()};
        struct volume_places places = {.scratch = scratch_root(w->agent->scratch),
                                       .machine = &machine,
                                       .token = w->token,
                                       .gives_account = pod_token_is_own(pod)};

        if (volumes_renew_token(&a, pod, &places, &failed) != 0)
            err = &failed;
    }
    if (err) {
        log_warn("pod %s/%s: its token cannot be renewed: %s", w->ns, w->name, err->text);
        w->token_due_ms = clock_now_ms(w->agent->clock) + RETRY_MS;
    }
    pod_token_drop(w);
    queue_add(w->agent->queue, w->key);
    arena_release(&a);
}

void pod_token_keep(struct pod_work *w, const struct json *pod)
{
    int64_t left_ms = w->token_due_ms - clock_now_ms(w->agent->clock);

    if (!pod_token_account(pod) || !w->agent->server || w->token_asked || !is_renewed(w))
        return;
    if (left_ms > 0)
        queue_add_after(w->agent->queue, w->key, left_ms);
    else
        ask(w, pod, renewed);
}
