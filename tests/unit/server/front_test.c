/* front_test.c - the HTTP front over real sockets: who gets in, headers, tables in watches; and
 * what is served beside objects: discovery, OpenAPI, health, logs. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "fixture.h"

#define TOKEN "s3cret"

struct client {
    struct fixture *fixture;
    int fd;
    struct loop_fd *watch;
    struct buf in;
    bool closed;
};

static void client_reads(void *arg, unsigned events)
{
    struct client *c = arg;
    char bytes[4096];
    ssize_t n;

    (void)events;
    while ((n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        buf_add(&c->in, bytes, (size_t)n);
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        c->closed = true;
        loop_fd_stop(c->watch);
        c->watch = NULL;
    }
}

static void client_open(struct fixture *f, struct client *c)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)server_port(f->server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    *c = (struct client){.fixture = f, .in = BUF_INIT(16u << 20)};
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(c->fd, (struct sockaddr *)&to, sizeof(to)), 0);
    c->watch = loop_fd_watch(f->loop, c->fd, LOOP_READABLE, client_reads, c);
}

static void client_close(struct client *c)
{
    loop_fd_stop(c->watch);
    close(c->fd);
    buf_release(&c->in);
}

static void client_wait(struct client *c, const char *text)
{
    while (!c->in.data || !strstr(c->in.data, text)) {
        if (c->closed)
            fail_msg("closed without \"%s\": %s", text, c->in.data ? c->in.data : "");
        loop_run_once(c->fixture->loop);
    }
}

static int listen_set_up(void **state)
{
    return fixture_set_up_listening(state, TOKEN);
}

/* One request on a connection of its own; the code of the answer, all of it in *ret (malloc). */
static int http(struct fixture *f, const char *request, char **ret)
{
    struct client c;
    int code;

    client_open(f, &c);
    assert_int_equal(send(c.fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    while (!c.closed)
        loop_run_once(f->loop);
    assert_non_null(c.in.data);
    code = atoi(c.in.data + strlen("HTTP/1.1 "));
    if (ret)
        *ret = arena_strdup(&f->arena, c.in.data);
    client_close(&c);
    return code;
}

#define AUTH "Authorization: Bearer " TOKEN "\r\n"
#define GET(path, headers) "GET " path " HTTP/1.1\r\nConnection: close\r\n" headers "\r\n"
#define LOCAL "Host: 127.0.0.1:7447\r\n"

static void lets_in_who_may(void **state)
{
    static const struct {
        const char *request;
        int code;
        const char *says;
    } cases[] = {
        {GET("/api/v1/pods", LOCAL AUTH), 200, "PodList"},
        {GET("/api/v1/pods", "Host: localhost\r\n" AUTH), 200, "PodList"},
        {GET("/api/v1/pods", "Host: [::1]:80\r\n" AUTH), 200, "PodList"},
        {GET("/api/v1/pods", "Host: LOCALHOST:1\r\n" AUTH), 200, "PodList"},
        {GET("/api/v1/pods", LOCAL), 401, "\"reason\":\"Unauthorized\""},
        {GET("/api/v1/pods", LOCAL "Authorization: Bearer wrong\r\n"), 401, "Unauthorized"},
        {GET("/api/v1/pods", LOCAL "Authorization: Bearer \r\n"), 401, "Unauthorized"},
        {GET("/api/v1/pods", LOCAL "Authorization: Bearer s3cre\r\n"), 401, "Unauthorized"},
        {GET("/api/v1/pods", LOCAL "Authorization: Bearer s3crets3cret\r\n"), 401, "Unauthorized"},
        {GET("/api/v1/pods", LOCAL "Authorization: Basic czNjcmV0\r\n"), 401, "Unauthorized"},
        {GET("/api/v1/pods", LOCAL "Authorization: Basic bXVzdGVyOnMzY3JldA==\r\n"), 401,
         "Unauthorized"}, /* muster:s3cret */
        {GET("/api/v1/pods", LOCAL "Authorization: Basic bXVzdGVyOnMzY3Jlcg==\r\n"), 401,
         "Unauthorized"},
        {GET("/api/v1/pods", LOCAL "Authorization: Basic !!\r\n"), 401, "Unauthorized"},
        {GET("/token/" TOKEN "/api/v1/pods", LOCAL), 401, "Unauthorized"},
        {GET("/api/v1/pods", "Host: evil.example\r\n" AUTH), 403, "not this machine"},
        {GET("/api/v1/pods", "Host: localhost.evil.example\r\n" AUTH), 403, "not this machine"},
        {GET("/api/v1/pods", "Host: 127.0.0.1:80@evil\r\n" AUTH), 403, "not this machine"},
        {GET("/healthz", "Host: evil.example\r\n"), 403, "not this machine"},
        {GET("/api/v1/pods", LOCAL AUTH "Origin: http://evil.example\r\n"), 403, "may not use"},
        {GET("/api/v1/pods", LOCAL AUTH "Origin: null\r\n"), 403, "may not use"},
        {GET("/api/v1/pods", LOCAL AUTH "Origin: http://127.0.0.1:9999\r\n"), 403, "may not use"},
        {GET("/api/v1/pods", LOCAL AUTH "Origin: http://127.0.0.1:7447\r\n"), 200, "PodList"},
        {GET("/healthz", LOCAL), 200, "ok"},
        {GET("/livez", LOCAL), 200, "ok"},
        {GET("/readyz", LOCAL), 200, "ok"},
        {GET("/readyz/poststarthook", LOCAL), 401, "Unauthorized"},
        {GET("/version", LOCAL), 200, "\"gitVersion\":\"v1.32.0+muster\""},
        {GET("/metrics", LOCAL AUTH), 200, "muster_store_revision "},
        {GET("/metrics", LOCAL), 401, "Unauthorized"},
        {GET("/figures", LOCAL AUTH), 404, "could not find"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMS(cases); i++) {
        char *answer;
        int code = http(f, cases[i].request, &answer);

        if (code != cases[i].code || !strstr(answer, cases[i].says))
            fail_msg("case %zu: %s", i, answer);
    }
}

static void says_warnings_in_headers(void **state)
{
    static const char body[] = "{\"metadata\":{\"name\":\"a\"},\"bo\\\"gus\":1}";
    struct fixture *f = *state;
    char request[512], *answer;

    (void)snprintf(request, sizeof(request),
                   "POST /api/v1/namespaces/default/configmaps?fieldValidation=Warn HTTP/1.1\r\n"
                   "Connection: close\r\n" LOCAL AUTH "Content-Length: %zu\r\n\r\n%s",
                   strlen(body), body); /* no Content-Type, as kubectl 1.20 */
    assert_int_equal(http(f, request, &answer), 201);
    assert_non_null(strstr(answer, "Warning: 299 - \"unknown field \\\"bo"));
    assert_non_null(strstr(answer, "Content-Type: application/json\r\n"));
}

/* Of kinds that the walk over all fields of pods and jobs does not see. */
static void what_is_not_carried_out_is_said(void **state)
{
    static const struct {
        const char *collection, *body, *says;
    } cases[] = {
        {"persistentvolumeclaims",
         "\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"storageClassName\":\"fast\","
         "\"resources\":"
         "{\"requests\":{\"storage\":\"1Gi\"}}}",
         "spec.storageClassName has no effect here"},
        {"persistentvolumeclaims",
         "\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"volumeName\":\"v\",\"resources\":"
         "{\"requests\":{\"storage\":\"1Gi\"}}}",
         "spec.volumeName has no effect here"},
        {"services", "\"spec\":{\"type\":\"LoadBalancer\",\"ports\":[{\"port\":80}]}",
         "spec.type has no effect here"},
        {"services", "\"spec\":{\"externalIPs\":[\"1.2.3.4\"],\"ports\":[{\"port\":80}]}",
         "spec.externalIPs has no effect here"},
        {"secrets", "\"type\":\"kubernetes.io/service-account-token\"",
         "such a Secret gets no token here"},
        {"pods",
         "\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{"
         "\"ephemeral-storage\":\"1Gi\"}}}]}",
         "requests[ephemeral-storage] has no effect here"},
        {"pods",
         "\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"limits\":{"
         "\"ephemeral-storage\":\"9000Ti\"}}}]}",
         "limits[ephemeral-storage] is enforced, but no node is chosen by it"},
    };
    struct fixture *f = *state;
    char request[1024], body[512], *answer;

    for (size_t i = 0; i < ELEMS(cases); i++) {
        (void)snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"a%zu\"},%s}", i,
                       cases[i].body);
        (void)snprintf(request, sizeof(request),
                       "POST /api/v1/namespaces/default/%s HTTP/1.1\r\n"
                       "Connection: close\r\n" LOCAL AUTH "Content-Length: %zu\r\n\r\n%s",
                       cases[i].collection, strlen(body), body);
        assert_int_equal(http(f, request, &answer), 201);
        assert_non_null(strstr(answer, "Warning: 299 - "));
        assert_non_null(strstr(answer, cases[i].says));
    }
}

static void refuses_bodies_that_are_too_large(void **state)
{
    struct fixture *f = *state;
    char *answer;

    assert_int_equal(http(f,
                          "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\n" LOCAL AUTH
                          "Content-Length: 99999999\r\n\r\n",
                          &answer),
                     413);
    assert_non_null(strstr(answer, "RequestEntityTooLarge"));
}

static void watches_tables_with_columns_once(void **state)
{
    struct fixture *f = *state;
    struct client c;
    char *second;
    static const char request[] =
        "GET /api/v1/namespaces/default/configmaps?watch=true HTTP/1.1\r\n" LOCAL AUTH
        "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json\r\n\r\n";

    client_open(f, &c);
    assert_int_equal(send(c.fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    client_wait(&c, "\r\n\r\n"); /* the header comes before anything happens */
    assert_non_null(strstr(c.in.data, "Transfer-Encoding: chunked"));
    expect(f, "POST", "/api/v1/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"a\"}}",
           201);
    client_wait(&c, "]}}\n");
    assert_non_null(strstr(c.in.data, "\"columnDefinitions\":[{"));
    assert_non_null(strstr(c.in.data, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Table\""));
    buf_clear(&c.in);
    expect(f, "POST", "/api/v1/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"b\"}}",
           201);
    client_wait(&c, "]}}\n");
    second = strstr(c.in.data, "\"columnDefinitions\":");
    assert_true(!second || strncmp(second, "\"columnDefinitions\":null", 24) == 0);
    client_close(&c);
}

static void ends_streams_with_the_server(void **state)
{
    struct fixture *f = *state;
    struct client c;
    static const char request[] = "GET /api/v1/pods?watch=true HTTP/1.1\r\n" LOCAL AUTH "\r\n";

    client_open(f, &c);
    assert_int_equal(send(c.fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    client_wait(&c, "\r\n\r\n");
    transport_free(f->transport);
    f->transport = NULL;
    server_free(f->server);
    while (!c.closed)
        loop_run_once(f->loop);
    client_close(&c);
    store_close(f->store);
    loop_free(f->loop);
}

static void says_what_it_serves(void **state)
{
    struct fixture *f = *state;
    struct answer a, v3;
    const struct json *paths;

    a = expect(f, "GET", "/api?timeout=32s", NULL, 200);
    assert_string_equal(json_get_string(a.object, "kind", ""), "APIVersions");
    a = expect(f, "GET", "/apis", NULL, 200);
    assert_string_equal(json_get_string(a.object, "kind", ""), "APIGroupList");
    assert_non_null(strstr(a.body, "batch.tensorstack.dev/v1beta1"));
    a = expect(f, "GET", "/apis/batch.tensorstack.dev", NULL, 200);
    assert_string_equal(json_get_string(a.object, "kind", ""), "APIGroup");
    a = expect(f, "GET", "/api/v1", NULL, 200);
    assert_string_equal(json_get_string(a.object, "groupVersion", ""), "v1");
    assert_non_null(strstr(a.body, "\"name\":\"pods/log\""));
    a = expect(f, "GET", "/apis/batch.tensorstack.dev/v1beta1", NULL, 200);
    assert_non_null(strstr(a.body, "\"name\":\"pytorchtrainingjobs/status\""));
    expect(f, "GET", "/apis/nothing.dev", NULL, 404);
    expect(f, "GET", "/apis/batch.tensorstack.dev/v9", NULL, 404);
    expect(f, "POST", "/apis", "{}", 405);
    ask_with(f, &a, "GET", "/apis", NULL,
             "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
             "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
             "application/json",
             NULL);
    a = wait_for(f, &a);
    assert_string_equal(json_get_string(a.object, "kind", ""), "APIGroupDiscoveryList");
    assert_string_equal(json_get_string(a.object, "apiVersion", ""), "apidiscovery.k8s.io/v2");
    v3 = expect(f, "GET", "/openapi/v3", NULL, 200);
    paths = json_get(v3.object, "paths");
    assert_true(json_len(paths) >= 2);
    json_each (p, paths)
        expect(f, "GET", json_get_string(p, "serverRelativeURL", ""), NULL, 200);
    expect(f, "GET", "/openapi/v3/apis/nothing.dev/v1", NULL, 404);
    a = expect(f, "GET", "/openapi/v2", NULL, 200);
    assert_string_equal(json_get_string(a.object, "swagger", ""), "2.0");
    assert_int_equal(json_len(json_at(a.object, "definitions", "io.k8s.api.core.v1.Pod",
                                      "x-kubernetes-group-version-kind")),
                     1);
    assert_non_null(
        json_at(a.object, "paths", "/api/v1/namespaces/{namespace}/pods/{name}", "patch"));
    ask_with(f, &a, "GET", "/openapi/v2", NULL,
             "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", NULL);
    a = wait_for(f, &a);
    assert_memory_equal(a.body, "\n\0032.0", 5);
}

static void the_root_lists_the_paths(void **state)
{
    struct fixture *f = *state;
    struct answer a = expect(f, "GET", "/", NULL, 200);
    const char *before = "";

    assert_non_null(strstr(a.body, "\"/apis/batch/v1\""));
    assert_non_null(strstr(a.body, "\"/openapi/v2\""));
    json_each (path, json_get(a.object, "paths")) {
        assert_true(strcmp(before, json_string(path, "")) < 0);
        before = json_string(path, "");
        expect(f, "GET", before, NULL, 200);
    }
    expect(f, "POST", "/", "{}", 405);
}

static void answers_end_with_a_newline(void **state)
{
    struct fixture *f = *state;
    const char *body = expect(f, "GET", "/api/v1/namespaces/default/pods/absent", NULL, 404).body;

    assert_string_equal(body + strlen(body) - 2, "}\n");
}

static void aggregated_discovery_names_its_type(void **state)
{
    static const char *const versions[] = {"v2", "v2beta1"};
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMS(versions); i++) {
        char request[512], wanted[160], *answer;

        (void)snprintf(wanted, sizeof(wanted),
                       "application/json;g=apidiscovery.k8s.io;v=%s;as=APIGroupDiscoveryList",
                       versions[i]);
        (void)snprintf(request, sizeof(request), GET("/api", LOCAL AUTH "Accept: %s\r\n"), wanted);
        assert_int_equal(http(f, request, &answer), 200);
        assert_non_null(strstr(answer, wanted));
        assert_non_null(strstr(answer, "\"resource\":\"pods\""));
    }
}

static void empties_namespaces_it_deletes(void **state)
{
    struct fixture *f = *state;
    struct answer a;
    static const char pod[] = "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\","
                              "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}";

    assert_says(expect(f, "DELETE", "/api/v1/namespaces/default", NULL, 403), "Forbidden",
                "may not be deleted");
    expect(f, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"team\"}}", 201);
    expect(f, "POST", "/api/v1/namespaces/team/configmaps", "{\"metadata\":{\"name\":\"a\"}}", 201);
    expect(f, "POST", "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\"}}", 201);
    expect(f, "POST", "/api/v1/namespaces/team/pods", pod, 201);
    a = expect(f, "DELETE", "/api/v1/namespaces/team", NULL, 200);
    assert_string_equal(json_string(json_at(a.object, "status", "phase"), ""), "Terminating");
    assert_says(expect(f, "POST", "/api/v1/namespaces/team/configmaps",
                       "{\"metadata\":{\"name\":\"b\"}}", 403),
                "Forbidden", "because it is being terminated");
    do
        fake_clock_advance(&f->clock, 100);
    while (ask(f, "GET", "/api/v1/namespaces/team/configmaps/a", NULL).status != 404);
    a = expect(f, "GET", "/api/v1/namespaces/team/pods/p", NULL, 200); /* the agent's to end */
    assert_true(object_is_deleting(a.object));
    expect(f, "GET", "/api/v1/namespaces/team", NULL, 200);
    expect(f, "DELETE", "/api/v1/namespaces/team/pods/p?gracePeriodSeconds=0", NULL, 200);
    do
        fake_clock_advance(&f->clock, 1000);
    while (ask(f, "GET", "/api/v1/namespaces/team", NULL).status != 404);
}

static void forgets_old_events(void **state)
{
    static const char event[] =
        "{\"metadata\":{\"name\":\"%s\"},\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"p\","
        "\"namespace\":\"default\"},\"reason\":\"R\",\"message\":\"m\",\"type\":\"Normal\"}";
    struct fixture *f = *state;
    char body[512];
    struct answer a;

    (void)snprintf(body, sizeof(body), event, "old");
    expect(f, "POST", "/api/v1/namespaces/default/events", body, 201);
    fake_clock_advance(&f->clock, 3599 * 1000);
    (void)snprintf(body, sizeof(body), event, "new");
    expect(f, "POST", "/api/v1/namespaces/default/events", body, 201);
    expect(f, "GET", "/api/v1/namespaces/default/events/old", NULL, 200);
    /* the sweep's deletion takes as long as the disk does: time must not run on meanwhile */
    for (int64_t passed = 0;
         ask(f, "GET", "/api/v1/namespaces/default/events/old", NULL).status != 404;)
        if (passed < 20 * 60000) {
            fake_clock_advance(&f->clock, 5000);
            passed += 5000;
        }
    a = expect(f, "GET",
               "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp,"
               "involvedObject.kind%3DPod",
               NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 1);
}

static void says_why_there_is_no_log(void **state)
{
    static const struct {
        const char *query, *says;
    } cases[] = {
        {"", "a container name must be specified for pod p, choose one of: [a b]"},
        {"?container=x", "container x is not valid for pod p"},
        {"?container=a", "container \"a\" in pod \"p\" is waiting to start: ContainerCreating"},
        {"?container=a&tailLines=-1", "tailLines"},
        {"?container=a&sinceTime=yesterday", "sinceTime"},
    };
    static const char *const of_the_node[] = {
        "/api/v1/namespaces/default/pods/p/log?container=a",
        "/api/v1/namespaces/default/pods/p/log?container=a&previous=true",
    };
    struct fixture *f = *state;

    expect(f, "POST", "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\"}}", 201);
    expect(f, "POST", "/api/v1/namespaces/default/pods",
           "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\",\"containers\":["
           "{\"name\":\"a\",\"image\":\"i\"},{\"name\":\"b\",\"image\":\"i\"}]}}",
           201);
    expect(f, "DELETE", "/api/v1/nodes/n", NULL, 200);
    for (size_t i = 0; i < ELEMS(cases); i++) {
        char path[256];

        (void)snprintf(path, sizeof(path), "/api/v1/namespaces/default/pods/p/log%s",
                       cases[i].query);
        assert_says(expect(f, "GET", path, NULL, 400), "BadRequest", cases[i].says);
    }
    expect(f, "GET", "/api/v1/namespaces/default/pods/none/log", NULL, 404);
    expect(f, "GET", "/api/v1/namespaces/default/configmaps/none/log", NULL, 404);
    expect(f, "PATCH", "/api/v1/namespaces/default/pods/p/status",
           "{\"status\":{\"containerStatuses\":[{\"name\":\"a\",\"state\":{\"running\":{}}}]}}",
           200);
    for (size_t i = 0; i < ELEMS(of_the_node); i++)
        assert_says(expect(f, "GET", of_the_node[i], NULL, 404), "NotFound",
                    "pod \"p\": node \"n\" is gone");
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, listen_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(lets_in_who_may),
        test(says_warnings_in_headers),
        test(what_is_not_carried_out_is_said),
        test(refuses_bodies_that_are_too_large),
        test(watches_tables_with_columns_once),
        test(ends_streams_with_the_server),
        test(says_what_it_serves),
        test(the_root_lists_the_paths),
        test(answers_end_with_a_newline),
        test(aggregated_discovery_names_its_type),
        test(empties_namespaces_it_deletes),
        test(forgets_old_events),
        test(says_why_there_is_no_log),
    };

    return cmocka_run_group_tests_name("front", tests, NULL, NULL);
}
