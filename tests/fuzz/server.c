/*
 * server.c - whole requests to the server's core: methods, paths, queries, types and bodies,
 * mutated.
 *
 * An input is METHOD, path, content type and body, separated by spaces and a line. The server may
 * refuse it; it must answer, never with 500, and its own answer must be JSON where it says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "fuzz.h"
#include "server/local.h"
#include "server/server.h"

#define REQUESTS_PER_SERVER 5000 /* then a new one: what was made before would only grow */
#define PATIENCE_MS 200          /* a watch, or a revision to come: not waited for */
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct {
    char folder[64], path[96];
    struct loop *loop;
    struct store *store;
    struct server *server;
    struct transport *transport;
    int requests, status;
    bool came, late;
} s;

static void open_server(void)
{
    auto_err err = ERR_INIT;
    struct server_options o = {0};

    (void)snprintf(s.folder, sizeof(s.folder), "%s/muster-fuzz-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(s.folder))
        fuzz_fail("a folder can be made");
    (void)snprintf(s.path, sizeof(s.path), "%s/muster.db", s.folder);
    o.loop = s.loop = loop_new(&err);
    o.store = s.store = s.loop ? store_open(s.loop, s.path, &(struct store_options){0}, &err)
                               : NULL;
    s.server = s.store ? server_new(&o, &err) : NULL;
    s.transport = s.server ? server_local_transport(s.server, &caller_owner) : NULL;
    if (!s.transport)
        fuzz_fail("a server can be made");
    s.requests = 0;
}

void fuzz_server_close(void)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    char name[160];

    if (!s.server)
        return;
    transport_free(s.transport);
    server_free(s.server);
    store_close(s.store);
    loop_free(s.loop);
    s.server = NULL;
    for (size_t i = 0; i < ELEMS(suffixes); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", s.path, suffixes[i]);
        (void)unlink(name);
    }
    (void)rmdir(s.folder);
}

static void answer_came(void *arg, const struct api_reply *reply)
{
    (void)arg;
    s.came = true;
    s.status = reply->status;
    if (reply->status >= 400) {
        struct arena a = ARENA_INIT(16u << 20);

        FUZZ_CHECK(json_parse(&a, reply->body, reply->body_len, NULL) || arena_failed(&a));
        arena_release(&a);
    }
}

static void patience_over(void *arg)
{
    (void)arg;
    s.late = true;
}

static void ask(const struct api_call *call)
{
    struct clock_timer *timer = clock_start(loop_clock(s.loop), PATIENCE_MS, patience_over, NULL);

    s.came = s.late = false;
    transport_call(s.transport, call, answer_came, NULL);
    while (!s.came && !s.late)
        loop_run_once(s.loop);
    if (!s.late)
        clock_stop(loop_clock(s.loop), timer);
    if (!s.came) {
        transport_free(s.transport);
        s.transport = server_local_transport(s.server, &caller_owner);
        FUZZ_CHECK(s.transport);
        return;
    }
    FUZZ_CHECK(s.status != 500);
}

/* The text up to the first stop, which becomes its end; what is behind it stays in *rest. */
static char *word(char **rest, char stop)
{
    char *text = *rest, *end = strchr(text, stop);

    *rest = end ? end + 1 : text + strlen(text);
    if (end)
        *end = '\0';
    return text;
}

static void run_server(struct chance *c, char *data, size_t len)
{
    struct api_call call;
    char *rest = data;

    (void)c;
    if (s.server && s.requests++ == REQUESTS_PER_SERVER)
        fuzz_server_close();
    if (!s.server)
        open_server();
    call.method = word(&rest, ' ');
    call.path = word(&rest, ' ');
    call.content_type = word(&rest, '\n');
    call.accept = NULL;
    call.body = rest;
    call.body_len = (size_t)(data + len - rest);
    ask(&call);
}

#define MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define JOBS "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"
#define POD                                                                                        \
    "{\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":" \
    "\"c\",\"image\":\"i\"}]}}"

const struct fuzz_target fuzz_server = {
    "server",
    LIST("GET " MAPS "?limit=1&labelSelector=a%3Db&fieldSelector=metadata.name%3Dx ",
         "GET " PODS "?continue=MSBkZWZhdWx0L2E.&limit=2 ",
         "POST " MAPS "?dryRun=All&fieldValidation=Strict "
         "application/json\n{\"metadata\":{\"name\":\"x\"},\"data\":{\"a\":\"b\"}}",
         "POST " MAPS
         " application/json\n{\"metadata\":{\"generateName\":\"x-\"},\"data\":{\"a\":\"b\"}}",
         "PUT " MAPS "/x application/json\n{\"metadata\":{\"name\":\"x\"},\"data\":{\"a\":\"c\"}}",
         "PATCH " MAPS "/x?fieldManager=f&force=true application/apply-patch+yaml\nkind: "
         "ConfigMap\napiVersion: v1\nmetadata: {name: x}\ndata: {a: b}\n",
         "PATCH " MAPS
         "/x application/json-patch+json\n[{\"op\":\"add\",\"path\":\"/data/z\",\"value\":\"1\"}]",
         "PATCH " PODS "/p "
         "application/"
         "strategic-merge-patch+json\n{\"spec\":{\"containers\":[{\"name\":\"c\","
         "\"image\":\"j\"}]}}",
         "PATCH " PODS "/p application/merge-patch+json\n{\"metadata\":{\"finalizers\":[\"a/b\"]}}",
         "POST " PODS " application/json\n" POD, "PUT " PODS "/p application/yaml\n" POD,
         "PUT " PODS "/p/status "
         "application/"
         "json\n{\"metadata\":{\"name\":\"p\"},\"status\":{\"phase\":\"Failed\","
         "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
         "POST " PODS "/p/binding application/json\n{\"target\":{\"name\":\"n\"}}",
         "POST " PODS "/p/eviction "
         "application/json\n{\"deleteOptions\":{\"dryRun\":[\"All\"],\"gracePeriodSeconds\":0}}",
         "GET " PODS "/p/log?container=c&tailLines=1&sinceSeconds=5 ",
         "POST " JOBS
         " application/yaml\nmetadata: {name: j}\nspec: {replicaSpecs: [{type: worker, replicas: "
         "2, template: {spec: {containers: [{name: python, command: [x]}]}}}]}\n",
         "DELETE " PODS "/p "
         "application/"
         "json\n{\"gracePeriodSeconds\":0,\"propagationPolicy\":\"Foreground\","
         "\"preconditions\":{\"uid\":\"u\"}}",
         "DELETE " MAPS "?labelSelector=a ", "GET /apis ", "GET /openapi/v3/api/v1 ",
         "GET /api/v1 ",
         "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews "
         "application/json\n{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\"}}}",
         "POST /api/v1/namespaces application/json\n{\"metadata\":{\"name\":\"n\"}}",
         "DELETE /api/v1/namespaces/n "),
    LIST("/", "..", "%2e", "%00", "%", "?", "&", "=",
         "limit=", "resourceVersion=", "resourceVersion=0", "dryRun=All", "metadata",
         "\"name\":", "\"finalizers\":[\"x/y\"],", "\"ownerReferences\":[{\"uid\":\"1\"}],", "null",
         "{", "}", "[", "]", "status", "/status", "/scale", "/log", "-1", "99999999999999999999",
         "\"labels\":{\"a\":1},", "DELETE ", "PATCH ", "\"deletionTimestamp\":\"x\",",
         "\"generateName\":\"g-\",", "\"metadata\":null,", "\"spec\":[],", "\xff", "\n"),
    run_server};
