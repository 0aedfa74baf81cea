/*
 * webhook_call.c - calls of webhooks: by address, or to a pod behind a service, where only a port
 * that a process of that pod holds is connected to. When the last call of a request is over, the
 * request runs again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/list.h"
#include "base/log.h"
#include "base/share.h"
#include "base/version.h"
#include "server/endpoints.h"
#include "server/webhooks.h"

#define CALLS_LIMIT 256u       /* under way */
#define CALLS_OF_REQUEST 2048u /* one after the other: a collection that is deleted */
#define REQUEST_WAIT_MS 60000  /* for all its calls */
#define QUESTIONS_LIMIT_BYTES (128u * 1024u * 1024u)
#define ANSWER_LIMIT_BYTES OBJECT_LIMIT_BYTES
#define ANSWERS_LIMIT_BYTES (4u * ANSWER_LIMIT_BYTES) /* of one request */
#define DEFAULT_TIMEOUT_S 10
#define DEFAULT_PORT 443
#define CA_MEMORY_BYTES (4u * 1024u * 1024u)
#define URL_MEMORY_BYTES (8u * 1024u * 1024u)
#define NOT_TO_BE_RESOLVED "127.0.0.1:1" /* the connection exists already */

static const char envelope[] =
    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":\"";

/* Of one request. */
struct webhook_calls {
    struct webhook_calls *prev, *next;
    struct server *server;
    struct server_request *request;
    char *user;
    struct webhook_call *all;
    size_t count, left;
    size_t answer_bytes;
    struct clock_timer *timer;
    bool listens; /* for the client's end */
};

bool webhook_calls_wait(const struct webhook_calls *calls)
{
    return calls && calls->left > 0;
}

/* --- ends ------------------------------------------------------------------------------ */

static void call_stop(struct webhook_call *c)
{
    struct server *s = c->of->server;

    if (c->over)
        return;
    c->over = true;
    c->of->left--;
    s->webhooks->question_bytes -= c->question_len;
    clock_stop(s->clock, c->timer);
    if (c->exchange)
        http_exchange_cancel(c->exchange);
    if (c->dial)
        s->node->ops->cancel_dial(s->node, c->dial);
    free(c->question);
    c->question = NULL;
    hook_set_unref(c->hook->set);
    c->hook = NULL;
}

static void listen_for_end(struct webhook_calls *calls, void (*fn)(void *arg))
{
    const struct server_front *front = calls->request->front;

    if (front->on_gone && calls->listens != (fn != NULL))
        front->on_gone(calls->request, fn, calls);
    calls->listens = fn != NULL;
}

void webhook_calls_free(struct webhook_calls *calls)
{
    struct server *s = calls ? calls->server : NULL;

    if (!calls)
        return;
    if (calls->listens) {
        listen_for_end(calls, NULL);
        calls->request->asked = NULL;
    }
    for (struct webhook_call *c = calls->all, *next; c; c = next) {
        next = c->next;
        call_stop(c);
        free(c->error);
        buf_release(&c->answer);
        free(c);
    }
    clock_stop(s->clock, calls->timer);
    list_remove(&s->webhooks->asking, calls);
    free(calls->user);
    free(calls);
}

static void refuse(struct webhook_calls *calls, enum err_reason reason, const char *text)
{
    struct server_request *r = calls->request;
    auto_err err = ERR_INIT;

    webhook_calls_free(calls);
    err_set(&err, reason, "%s", text);
    reply_err(r, &err);
}

static void client_is_gone(void *arg)
{
    refuse(arg, ERR_UNAVAILABLE, "the client is gone");
}

static void time_is_over(void *arg)
{
    struct webhook_calls *calls = arg;

    calls->timer = NULL;
    refuse(calls, ERR_TIMEOUT, "request did not complete within the allotted timeout: webhooks");
}

void webhooks_free(struct server *s)
{
    if (!s->webhooks)
        return;
    while (s->webhooks->asking)
        refuse(s->webhooks->asking, ERR_UNAVAILABLE, "the server is stopping");
    hook_sets_free(s->webhooks);
    free(s->webhooks);
    s->webhooks = NULL;
}

static int64_t timeout_s(const struct hook *hook)
{
    return json_get_int(hook->config, "timeoutSeconds", DEFAULT_TIMEOUT_S);
}

static const char *url_of(struct arena *a, const struct hook *hook)
{
    const struct json *client = json_get(hook->config, "clientConfig");
    const struct json *service = json_get(client, "service");
    long long seconds = timeout_s(hook);

    if (!service)
        return arena_printf(a, "%s?timeout=%llds", json_get_string(client, "url", ""), seconds);
    return arena_printf(a, "https://%s.%s.svc:%lld%s?timeout=%llds",
                        json_get_string(service, "name", ""),
                        json_get_string(service, "namespace", ""),
                        (long long)json_get_int(service, "port", DEFAULT_PORT),
                        json_get_string(service, "path", "/"), seconds);
}

/* What went wrong in Kubernetes' words. NULL: out of memory. */
static char *failure(const struct hook *hook, const char *why)
{
    struct arena a = ARENA_INIT(URL_MEMORY_BYTES);
    const char *url = url_of(&a, hook);
    char *text = NULL;

    if (asprintf(&text, "failed to call webhook: Post \"%s\": %s", url ? url : "", why) < 0)
        text = NULL;
    arena_release(&a);
    return text;
}

/* error NULL: it is answered. */
static void call_over(struct webhook_call *c, const char *error)
{
    struct webhook_calls *calls = c->of;

    if (error) {
        c->error = failure(c->hook, error);
        buf_release(&c->answer); /* nor is the beginning of one an answer */
        log_warn("webhook %s: %s", c->hook->name, c->error ? c->error : error);
    }
    call_stop(c);
    if (calls->left > 0)
        return;
    listen_for_end(calls, NULL);
    server_handle(calls->server, calls->request);
}

static void call_timed_out(void *arg)
{
    struct webhook_call *c = arg;

    c->timer = NULL;
    call_over(c, "context deadline exceeded");
}

/* --- sending --------------------------------------------------------------------------- */

static void on_end(void *arg, const struct http_result *result)
{
    struct webhook_call *c = arg;
    const char *error = NULL;
    char text[64];

    c->exchange = NULL;
    if (result->status == 200)
        buf_add(&c->answer, result->body, result->body_len);
    c->of->answer_bytes += c->answer.len;
    (void)snprintf(text, sizeof(text), "the server responded with the status code %d",
                   result->status);
    if (result->status == 0)
        error = result->error;
    else if (result->status != 200)
        error = text;
    else if (c->answer.failed || c->of->answer_bytes > ANSWERS_LIMIT_BYTES)
        error = "the answer is too large";
    call_over(c, error);
}

/* One per webhook, as each has its own authorities. */
static int make_client(struct server *s, struct hook *hook, struct err *err)
{
    struct arena a = ARENA_INIT(CA_MEMORY_BYTES);
    const struct json *client = json_get(hook->config, "clientConfig");
    const struct json *bundle = json_get(client, "caBundle");
    struct reach reach = {.proxy = ""};
    size_t len;

    if (json_get(client, "service"))
        reach.connect_to = NOT_TO_BE_RESOLVED;
    if (json_is(bundle, JSON_STRING) && bundle->len)
        reach.ca_pem = base64_decode(&a, bundle->u.text, bundle->len, &len);
    if (arena_failed(&a))
        (void)out_of_memory(err);
    else
        hook->client = http_client_new(s->loop, &reach, err);
    arena_release(&a);
    return hook->client ? 0 : -1;
}

/* Calls back later, or returns why it cannot. */
static int send_question(struct webhook_call *c, int fd, struct err *err)
{
    static const char *const headers[] = {"Content-Type: application/json",
                                          "Accept: application/json",
                                          "User-Agent: muster/" MUSTER_VERSION, NULL};
    struct arena a = ARENA_INIT(URL_MEMORY_BYTES);
    struct http_request request = {.method = "POST",
                                   .headers = headers,
                                   .body = c->question,
                                   .body_len = c->question_len,
                                   .body_limit_bytes = ANSWER_LIMIT_BYTES,
                                   .fd = fd};

    request.url = url_of(&a, c->hook);
    if (request.url && (c->hook->client || make_client(c->of->server, c->hook, err) == 0))
        c->exchange = http_client_start(c->hook->client, &request,
                                        &(struct http_handler){.on_end = on_end, .arg = c});
    arena_release(&a);
    free(c->question);
    c->question = NULL;
    if (!c->exchange && fd)
        (void)close(fd);
    return c->exchange ? 0 : err_is_set(err) ? -1 : out_of_memory(err);
}

static void on_dialed(void *arg, int fd, const char *token)
{
    struct webhook_call *c = arg;
    auto_err err = ERR_INIT;
    char error[128];

    (void)token;
    c->dial = NULL;
    if (fd < 0) {
        (void)snprintf(error, sizeof(error), "the pod cannot be connected to: %s", strerror(-fd));
        call_over(c, error);
    } else if (send_question(c, fd, &err) < 0) {
        call_over(c, err.text);
    }
}

static int dial(struct server_request *r, struct webhook_call *c, const struct json *service,
                struct err *err)
{
    struct server *s = r->server;
    struct node_pod pod;
    unsigned port;
    int rc = endpoints_choose(r, json_get_string(service, "namespace", ""),
                              json_get_string(service, "name", ""),
                              json_get_int(service, "port", DEFAULT_PORT), &pod, &port, err);

    if (rc < 0)
        return rc;
    c->dial = s->node->ops->dial(s->node, &pod, port, on_dialed, c);
    return c->dial ? 0 : out_of_memory(err);
}

/* --- asking ---------------------------------------------------------------------------- */

static int check_share(const struct webhook_calls *calls, struct err *err)
{
    const struct webhooks *w = calls->server->webhooks;
    struct share share = {.limit = CALLS_LIMIT};

    for (const struct webhook_calls *one = w->asking; one; one = one->next)
        for (size_t i = 0; i < one->left; i++)
            share_count(&share, one->user, "", calls->user, "");
    if (calls->count >= CALLS_OF_REQUEST)
        return err_set(err, ERR_TOO_LARGE,
                       "the request needs more than %u calls of webhooks: delete fewer objects at "
                       "a time",
                       CALLS_OF_REQUEST);
    if (share_ask(&share, !*calls->user) != SHARE_LEFT || w->question_bytes > QUESTIONS_LIMIT_BYTES)
        return err_set(err, ERR_TOO_MANY_REQUESTS, "too many calls of webhooks are under way");
    return 0;
}

static struct webhook_calls *calls_of(struct server_request *r)
{
    struct webhook_calls *calls = r->asked;

    if (calls)
        return calls;
    calls = calloc(1, sizeof(*calls));
    if (!calls)
        return NULL;
    *calls = (struct webhook_calls){
        .server = r->server, .request = r, .user = strdup(caller_share(r->caller))};
    calls->timer = clock_start(r->server->clock, REQUEST_WAIT_MS, time_is_over, calls);
    if (!calls->user || !calls->timer) {
        clock_stop(r->server->clock, calls->timer);
        free(calls->user);
        free(calls);
        return NULL;
    }
    list_push(&r->server->webhooks->asking, calls);
    r->asked = calls;
    return calls;
}

static struct webhook_call *call_new(struct webhook_calls *calls, struct hook *hook,
                                     const unsigned char hash[SHA256_BYTES], const char *question,
                                     size_t len)
{
    struct webhook_call *c = calloc(1, sizeof(*c));
    struct buf text = BUF_INIT(SIZE_MAX);

    if (!c)
        return NULL;
    *c = (struct webhook_call){.of = calls, .hook = hook, .answer = BUF_INIT(ANSWER_LIMIT_BYTES)};
    memcpy(c->hash, hash, sizeof(c->hash));
    random_uid(c->uid);
    buf_addf(&text, "%s%s\",", envelope, c->uid);
    buf_add(&text, question, len);
    c->question = buf_take(&text, &c->question_len);
    c->timer = clock_start(calls->server->clock, timeout_s(hook) * 1000, call_timed_out, c);
    buf_release(&text);
    if (!c->question || !c->timer) {
        clock_stop(calls->server->clock, c->timer);
        free(c->question);
        free(c);
        return NULL;
    }
    calls->server->webhooks->question_bytes += c->question_len;
    (void)hook_set_ref(hook->set);
    list_push(&calls->all, c);
    calls->count++;
    calls->left++;
    return c;
}

static void hash_question(const struct hook *hook, const char *question, size_t len,
                          unsigned char out[SHA256_BYTES])
{
    struct sha256 sum;

    sha256_init(&sum);
    sha256_add(&sum, &hook->set->revision, sizeof(hook->set->revision));
    sha256_add(&sum, hook->name, strlen(hook->name) + 1);
    sha256_add(&sum, question, len);
    sha256_end(&sum, out);
}

static void fail_now(void *arg)
{
    struct webhook_call *c = arg;
    char *error = c->error;

    c->timer = NULL;
    c->error = NULL;
    call_over(c, error);
    free(error);
}

/* Never at once: a run that asks does not go on. */
static int fail_soon(struct webhook_call *c, const char *error, struct err *err)
{
    struct clock *clock = c->of->server->clock;

    clock_stop(clock, c->timer);
    c->timer = clock_start(clock, 0, fail_now, c);
    c->error = strdup(error ? error : "");
    if (c->timer && c->error)
        return -EINPROGRESS;
    call_stop(c);
    return out_of_memory(err);
}

int webhook_ask(struct server_request *r, struct hook *hook, const char *question, size_t len,
                const struct webhook_call **ret, struct err *err)
{
    const struct json *service = json_at(hook->config, "clientConfig", "service");
    struct webhook_calls *calls = calls_of(r);
    unsigned char hash[SHA256_BYTES];
    auto_err problem = ERR_INIT;
    struct webhook_call *c;
    int rc;

    if (!calls)
        return out_of_memory(err);
    hash_question(hook, question, len, hash);
    for (c = calls->all; c; c = c->next)
        if (memcmp(c->hash, hash, sizeof(hash)) == 0) {
            *ret = c;
            return c->over ? 0 : -EINPROGRESS;
        }
    rc = check_share(calls, calls->left > 0 ? NULL : err);
    if (rc < 0)
        return calls->left > 0 ? -EINPROGRESS : rc; /* then the rest */
    c = call_new(calls, hook, hash, question, len);
    if (!c)
        return out_of_memory(err);
    listen_for_end(calls, client_is_gone);
    rc = service ? dial(r, c, service, &problem) : send_question(c, 0, &problem);
    return rc == 0 ? -EINPROGRESS : fail_soon(c, problem.text, err);
}
