/*
 * pod_token.c - see pod_token.h. The token is good while the pod exists and no longer, so it is
 * asked for once, at the start, for a long time: a variable cannot be renewed in a running program.
 */
#include "agent/pod_token.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "client/client.h"

#define TOKEN_SECONDS (366LL * 24 * 3600)
#define REQUEST_LIMIT_BYTES 65536u

#define DEFAULT_ACCOUNT "default"

bool pod_token_is_own(const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    const char *name = json_get_string(spec, "serviceAccountName", DEFAULT_ACCOUNT);

    return strcmp(name, DEFAULT_ACCOUNT) != 0 &&
           json_get_bool(spec, "automountServiceAccountToken", true);
}

/* As the admission of a cluster writes it into every pod. */
static bool is_projected(const struct json *pod)
{
    json_each (volume, json_at(pod, "spec", "volumes"))
        json_each (source, json_at(volume, "projected", "sources"))
            if (json_get(source, "serviceAccountToken"))
                return true;
    return false;
}

const char *pod_token_account(const struct json *pod)
{
    if (!pod_token_is_own(pod) && !is_projected(pod))
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

static void on_token(void *arg, const struct json *object, const struct err *err)
{
    struct pod_work *w = arg;
    const char *token = json_string(json_at(object, "status", "token"), "");
    auto_err none = ERR_INIT;

    if (!err) {
        pod_token_drop(w);
        w->token = *token ? strdup(token) : NULL;
        if (!w->token)
            (void)err_set(&none, ERR_INTERNAL, "the API server's answer holds no token");
    }
    w->on_token(w, err_is_set(&none) ? &none : err);
}

bool pod_token_have(struct pod_work *w, const struct json *pod,
                    void (*then)(struct pod_work *w, const struct err *err))
{
    const char *account = pod_token_account(pod);
    struct arena a = ARENA_INIT(REQUEST_LIMIT_BYTES);
    struct json *request, *spec, *bound;

    if (!account || w->token || !w->agent->server)
        return true;
    w->on_token = then;
    request = json_new_object(&a);
    json_set_string(&a, request, "apiVersion", "authentication.k8s.io/v1");
    json_set_string(&a, request, "kind", "TokenRequest");
    spec = json_make_object(&a, request, "spec");
    json_set_int(&a, spec, "expirationSeconds", TOKEN_SECONDS);
    bound = json_make_object(&a, spec, "boundObjectRef");
    json_set_string(&a, bound, "kind", "Pod");
    json_set_string(&a, bound, "apiVersion", "v1");
    json_set_string(&a, bound, "name", w->name);
    json_set_string(&a, bound, "uid", w->uid);
    client_create_sub(w->agent->transport, &kind_service_account, w->ns, account, "token",
                      arena_failed(&a) ? NULL : request, on_token, w);
    arena_release(&a);
    return false;
}
