/* media_test.c - what a client accepts, and what it gets: JSON, YAML, protobuf, tables, metadata.
 */
#include "fixture.h"

#include "api/protobuf.h"
#include "server/caller.h"
#include "server/request.h"

#define PODS "/api/v1/namespaces/default/pods"
#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define JOBS "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"
#define PARTIAL ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define PARTIAL_LIST ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
#define TABLE ";as=Table;g=meta.k8s.io;v=v1"

static void choices(void **state)
{
    static const struct {
        const char *accept;
        bool protobuf; /* whether the kind has it */
        const char *want;
    } cases[] = {
        {NULL, true, "json plain"},
        {"", true, "json plain"},
        {"*/*", true, "json plain"},
        {"application/*", true, "json plain"},
        {"application/yaml", false, "yaml plain"},
        {PROTOBUF_TYPE, true, "protobuf plain"},
        {PROTOBUF_TYPE, false, "none"},
        {PROTOBUF_TYPE ", application/json", false, "json plain"},
        {PROTOBUF_TYPE ",application/json", true, "protobuf plain"},
        {"application/json," PROTOBUF_TYPE, true, "json plain"},
        {"application/json;q=0.5," PROTOBUF_TYPE, true, "protobuf plain"},
        {"application/json;q=0.5," PROTOBUF_TYPE ";q=0.4,application/yaml;q=0.7", true,
         "yaml plain"},
        {"*/*," PROTOBUF_TYPE, true, "protobuf plain"}, /* what names more */
        {"text/html,application/xhtml+xml,*/*;q=0.8", true, "json plain"},
        {"application/json" TABLE, true, "json table"},
        {"application/yaml" TABLE, true, "yaml table"},
        {PROTOBUF_TYPE TABLE, true, "none"},
        {PROTOBUF_TYPE TABLE ",application/json" TABLE, true, "json table"},
        {PROTOBUF_TYPE PARTIAL, true, "protobuf partial"},
        {PROTOBUF_TYPE PARTIAL, false, "protobuf partial"},
        {PROTOBUF_TYPE ";as=Pod;g=meta.k8s.io;v=v1,application/json", true, "json plain"},
        {PROTOBUF_TYPE ";stream=watch", true, "protobuf plain"},
        {PROTOBUF_TYPE ";stream=other", true, "none"},
        {"application/yaml;stream=watch", true, "none"},
        {"image/png", true, "none"},
    };
    static const char *const formats[] = {"plain", "table", "partial"};
    static const char *const encodings[] = {"json", "yaml", "protobuf"};

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct arena a = ARENA_INIT(1u << 20);
        struct format_choice c;
        auto_err err = ERR_INIT;
        char got[64] = "none";

        if (media_choose(&a, cases[i].accept, MEDIA_ANSWER, cases[i].protobuf, &c, &err) == 0)
            (void)snprintf(got, sizeof(got), "%s %s", encodings[c.encoding], formats[c.format]);
        else
            assert_string_equal(err.text, "only the following media types are accepted: "
                                          "application/json, application/yaml, " PROTOBUF_TYPE);
        if (strcmp(got, cases[i].want) != 0)
            fail_msg("%s: %s, not %s", cases[i].accept, got, cases[i].want);
        arena_release(&a);
    }
}

struct raw {
    struct fixture *fixture;
    bool came;
    int status;
    const char *body;
    size_t len;
};

static void raw_came(void *arg, const struct api_reply *reply)
{
    struct raw *raw = arg;

    raw->came = true;
    raw->status = reply->status;
    raw->len = reply->body_len;
    raw->body = arena_strndup(&raw->fixture->arena, reply->body, reply->body_len);
}

static struct raw ask_raw(struct fixture *f, const char *method, const char *path,
                          const char *accept, const char *body, int status)
{
    struct raw raw = {.fixture = f};
    struct api_call call = {.method = method,
                            .path = path,
                            .accept = accept,
                            .content_type = body ? "application/json" : NULL,
                            .body = body,
                            .body_len = body ? strlen(body) : 0};

    transport_call(f->transport, &call, raw_came, &raw);
    while (!raw.came)
        loop_run_once(f->loop);
    if (raw.status != status)
        fail_msg("%s %s: %d, %s", method, path, raw.status, raw.body);
    return raw;
}

static struct json *read_protobuf(struct fixture *f, const struct kind *k, struct raw raw)
{
    auto_err err = ERR_INIT;
    struct json *v = protobuf_parse(&f->arena, k, raw.body, raw.len, NULL, NULL, &err);

    if (!v)
        fail_msg("%s", err.text);
    assert_string_equal(json_get_string(v, "kind", ""), k->name);
    return v;
}

#define CONFIG_MAP "{\"metadata\":{\"name\":\"c\"},\"data\":{\"k\":\"v\"}}"

static void objects_in_protobuf(void **state)
{
    struct fixture *f = *state;
    struct json *v;

    v = read_protobuf(f, &kind_config_map,
                      ask_raw(f, "POST", CONFIG_MAPS, PROTOBUF_TYPE, CONFIG_MAP, 201));
    assert_true(*object_uid(v) && *object_resource_version(v));
    v = read_protobuf(f, &kind_config_map,
                      ask_raw(f, "GET", CONFIG_MAPS "/c", PROTOBUF_TYPE, NULL, 200));
    assert_string_equal(json_string(json_at(v, "data", "k"), ""), "v");
    /* nothing changes, and that is said in the same way */
    v = read_protobuf(f, &kind_config_map,
                      ask_raw(f, "PUT", CONFIG_MAPS "/c", PROTOBUF_TYPE, CONFIG_MAP, 200));
    assert_string_equal(object_name(v), "c");
    v = read_protobuf(f, &kind_partial,
                      ask_raw(f, "GET", CONFIG_MAPS "/c", PROTOBUF_TYPE PARTIAL, NULL, 200));
    assert_null(json_get(v, "data"));
    v = read_protobuf(f, &kind_partial,
                      ask_raw(f, "PUT", CONFIG_MAPS "/c", PROTOBUF_TYPE PARTIAL,
                              "{\"metadata\":{\"name\":\"c\"},\"data\":{\"k\":\"w\"}}", 200));
    assert_string_equal(object_name(v), "c");
    v = read_protobuf(f, &kind_status,
                      ask_raw(f, "GET", CONFIG_MAPS "/no", PROTOBUF_TYPE, NULL, 404));
    assert_string_equal(json_get_string(v, "reason", ""), "NotFound");
    assert_int_equal(json_get_int(v, "code", 0), 404);
    assert_string_equal(json_string(json_at(v, "details", "name"), ""), "no");
    v = read_protobuf(f, &kind_status,
                      ask_raw(f, "DELETE", CONFIG_MAPS "/c", PROTOBUF_TYPE, NULL, 200));
    assert_string_equal(json_get_string(v, "status", ""), "Success");
    v = read_protobuf(
        f, &kind_access_review,
        ask_raw(f, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", PROTOBUF_TYPE,
                "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\"}}}",
                201));
    assert_true(json_bool(json_at(v, "status", "allowed"), false));
}

static size_t count_of(struct raw raw, const char *text)
{
    size_t n = 0, len = strlen(text);

    for (size_t i = 0; i + len <= raw.len; i++)
        n += memcmp(raw.body + i, text, len) == 0;
    return n;
}

static void lists_in_protobuf(void **state)
{
    struct fixture *f = *state;
    struct raw raw;

    ask_raw(f, "POST", CONFIG_MAPS, NULL, CONFIG_MAP, 201);
    ask_raw(f, "POST", CONFIG_MAPS, NULL, "{\"metadata\":{\"name\":\"d\"}}", 201);
    raw = ask_raw(f, "GET", CONFIG_MAPS, PROTOBUF_TYPE, NULL, 200);
    assert_memory_equal(raw.body,
                        "k8s\0\x0a\x13\x0a\x02v1\x12\x0d"
                        "ConfigMapList\x12",
                        26);
    assert_int_equal(count_of(raw, "\x0a\x01"
                                   "d"),
                     1);
    raw = ask_raw(f, "GET", CONFIG_MAPS "?limit=1", PROTOBUF_TYPE PARTIAL_LIST, NULL, 200);
    assert_int_equal(count_of(raw, "PartialObjectMetadataList"), 1);
    assert_int_equal(count_of(raw, "\x20\x01"), 1); /* one more is behind it */
    /* of what is never there, too */
    raw = ask_raw(f, "GET", "/apis/apps/v1/deployments", PROTOBUF_TYPE, NULL, 200);
    assert_int_equal(count_of(raw, "DeploymentList"), 1);
}

static void our_own_kinds_have_none(void **state)
{
    struct fixture *f = *state;
    struct raw raw = ask_raw(f, "GET", JOBS, PROTOBUF_TYPE, NULL, 406);

    assert_non_null(strstr(raw.body, "only the following media types are accepted: "));
    raw = ask_raw(f, "GET", JOBS, PROTOBUF_TYPE ",application/json", NULL, 200);
    assert_int_equal(raw.body[0], '{');
    raw = ask_raw(f, "GET", JOBS, PROTOBUF_TYPE PARTIAL_LIST, NULL, 200);
    assert_int_equal(count_of(raw, "PartialObjectMetadataList"), 1);
    /* before anything is done */
    ask_raw(f, "POST", CONFIG_MAPS, "image/png", CONFIG_MAP, 406);
    ask_raw(f, "GET", CONFIG_MAPS "/c", NULL, NULL, 404);
}

static void yaml_answers(void **state)
{
    struct fixture *f = *state;
    struct raw raw = ask_raw(f, "POST", CONFIG_MAPS, "application/yaml", CONFIG_MAP, 201);

    assert_int_equal(count_of(raw, "data:\n  k: v\n"), 1);
    raw = ask_raw(f, "GET", CONFIG_MAPS "/c", "application/yaml", NULL, 200);
    assert_int_equal(count_of(raw, "kind: ConfigMap\n"), 1);
    raw = ask_raw(f, "GET", CONFIG_MAPS, "application/yaml", NULL, 200);
    assert_int_equal(count_of(raw, "kind: ConfigMapList\n"), 1);
    raw = ask_raw(f, "GET", CONFIG_MAPS "/no", "application/yaml", NULL, 404);
    assert_int_equal(count_of(raw, "reason: NotFound\n"), 1);
    ask_raw(f, "GET", CONFIG_MAPS "?watch=true", "application/yaml", NULL, 406);
}

/* --- watches, read as a front reads them ---------------------------------------------------- */

struct watched {
    struct server_request request;
    struct stream *stream;
    char type[128];
    char bytes[16384];
    size_t len;
};

static void take_stream(struct server_request *r, const char *type, struct stream *stream)
{
    struct watched *w = container_of(r, struct watched, request);

    (void)snprintf(w->type, sizeof(w->type), "%s", type);
    w->stream = stream;
}

static void take_refusal(struct server_request *r, const struct server_reply *reply)
{
    (void)r;
    fail_msg("%d: %.*s", reply->code, (int)reply->body->len, reply->body->data);
}

static void open_watch(struct fixture *f, struct watched *w, const char *path, const char *query,
                       const char *accept)
{
    static const struct server_front front = {.reply = take_refusal, .stream = take_stream};

    *w = (struct watched){.request = {.front = &front,
                                      .method = "GET",
                                      .path = path,
                                      .query = query,
                                      .accept = accept,
                                      .arena = &f->arena,
                                      .caller = &caller_owner}};
    server_handle(f->server, &w->request);
    assert_non_null(w->stream);
}

static size_t frame_len(const struct watched *w)
{
    size_t len = 0;

    for (size_t i = 0; i < 4; i++)
        len = len << 8 | (unsigned char)w->bytes[i];
    return len;
}

/* Its length in four bytes, WatchEvent{1 type, 2 {1 the object}}. */
static struct json *next_frame(struct fixture *f, struct watched *w, const struct kind *k,
                               const char *type)
{
    struct json *v;
    size_t len, at = 6;

    while (w->len < 4 || w->len < 4 + frame_len(w)) {
        ssize_t n = w->stream->ops->read(w->stream, w->bytes + w->len, sizeof(w->bytes) - w->len);

        assert_true(n >= 0);
        w->len += (size_t)n;
        if (n == 0)
            loop_run_once(f->loop);
    }
    len = 4 + frame_len(w);
    assert_int_equal(w->bytes[4], 0x0a);
    assert_int_equal((size_t)w->bytes[5], strlen(type));
    assert_memory_equal(w->bytes + 6, type, strlen(type));
    while (at + 4 < len && memcmp(w->bytes + at, "k8s", 4) != 0)
        at++;
    v = protobuf_parse(&f->arena, k, w->bytes + at, len - at, NULL, NULL, NULL);
    assert_non_null(v);
    w->len -= len;
    memmove(w->bytes, w->bytes + len, w->len);
    return v;
}

static void watches_in_frames(void **state)
{
    struct fixture *f = *state;
    struct watched w, partial;
    struct json *v;

    ask_raw(f, "POST", CONFIG_MAPS, NULL, CONFIG_MAP, 201);
    open_watch(f, &w, CONFIG_MAPS,
               "watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch="
               "NotOlderThan",
               PROTOBUF_TYPE ";stream=watch,application/json");
    assert_string_equal(w.type, PROTOBUF_TYPE ";stream=watch");
    open_watch(f, &partial, CONFIG_MAPS, "watch=true", PROTOBUF_TYPE PARTIAL);
    v = next_frame(f, &w, &kind_config_map, "ADDED");
    assert_string_equal(json_string(json_at(v, "data", "k"), ""), "v");
    v = next_frame(f, &w, &kind_config_map, "BOOKMARK");
    assert_string_equal(
        json_string(json_at(v, "metadata", "annotations", "k8s.io/initial-events-end"), ""),
        "true");
    ask_raw(f, "PUT", CONFIG_MAPS "/c", NULL,
            "{\"metadata\":{\"name\":\"c\"},\"data\":{\"k\":\"w\"}}", 200);
    v = next_frame(f, &w, &kind_config_map, "MODIFIED");
    assert_string_equal(json_string(json_at(v, "data", "k"), ""), "w");
    v = next_frame(f, &partial, &kind_partial, "ADDED");
    assert_string_equal(object_name(v), "c");
    assert_string_equal(json_get_string(v, "kind", ""), "PartialObjectMetadata");
    w.stream->ops->close(w.stream);
    partial.stream->ops->close(partial.stream);
    open_watch(f, &w, CONFIG_MAPS, "watch=true&resourceVersion=999999", PROTOBUF_TYPE);
    w.stream->ops->close(w.stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices),
        cmocka_unit_test_setup_teardown(objects_in_protobuf, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(lists_in_protobuf, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(our_own_kinds_have_none, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(yaml_answers, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(watches_in_frames, fixture_set_up, fixture_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
