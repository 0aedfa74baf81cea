/* client_test.c - what calls look like, against a server that the test plays. */
#include "client/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/object.h"
#include "api/protobuf.h"
#include "script_transport.h"

static void note(void *arg, const struct json *object, const struct err *err)
{
    char *said = arg;

    (void)snprintf(said, 64, "%s", err ? err->text : object_resource_version(object));
}

static void create(struct script_transport *t, const struct kind *k, const char *object, char *said)
{
    struct arena a = ARENA_INIT(1u << 20);

    client_create(&t->transport, k, json_parse(&a, object, strlen(object), NULL), note, said);
    arena_release(&a);
}

static void answer_in_protobuf(struct script_transport *t, int status, const struct kind *k,
                               const char *object)
{
    struct arena a = ARENA_INIT(1u << 20);
    struct buf body = BUF_INIT(1u << 20);
    struct script_call *c = t->calls;

    assert_true(protobuf_write(&body, &a, k, json_parse(&a, object, strlen(object), NULL)));
    t->calls = c->next;
    c->fn(c->arg, &(struct api_reply){.status = status, .body = body.data, .body_len = body.len});
    script_call_free(c);
    buf_release(&body);
    arena_release(&a);
}

/* Whole, or not at all. */
static void what_protobuf_can_say_is_made_in_it(void **state)
{
    static const struct {
        const struct kind *kind;
        const char *object, *content_type;
        bool protobuf;
    } cases[] = {
        {&kind_pod, "{\"metadata\":{\"name\":\"a\"}}", PROTOBUF_TYPE, true},
        {&kind_pod, "{\"metadata\":{\"name\":\"a\"}}", "application/json", false},
        {&kind_pod, "{\"spec\":{\"ofTomorrow\":{}}}", "application/json", true},
        {&kind_pod_group, "{\"metadata\":{\"name\":\"a\"}}", "application/json", true},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct script_transport t;
        char said[64] = "";

        script_transport_init(&t);
        t.transport.protobuf = cases[i].protobuf;
        create(&t, cases[i].kind, cases[i].object, said);
        assert_string_equal(t.calls->content_type, cases[i].content_type);
        script_answer(&t, 201, "{\"metadata\":{\"resourceVersion\":\"5\"}}");
        assert_string_equal(said, "5");
        transport_free(&t.transport);
    }
}

static void answers_in_protobuf_are_read(void **state)
{
    struct script_transport t;
    char said[64] = "";

    (void)state;
    script_transport_init(&t);
    t.transport.protobuf = true;
    create(&t, &kind_pod, "{\"metadata\":{\"name\":\"a\"}}", said);
    answer_in_protobuf(&t, 201, &kind_pod, "{\"metadata\":{\"resourceVersion\":\"8\"}}");
    assert_string_equal(said, "8");
    create(&t, &kind_pod, "{\"metadata\":{\"name\":\"a\"}}", said);
    answer_in_protobuf(
        &t, 409, &kind_status,
        "{\"status\":\"Failure\",\"reason\":\"AlreadyExists\",\"message\":\"taken\"}");
    assert_string_equal(said, "taken");
    transport_free(&t.transport);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_protobuf_can_say_is_made_in_it),
        cmocka_unit_test(answers_in_protobuf_are_read),
    };

    return cmocka_run_group_tests_name("client/client", tests, NULL, NULL);
}
