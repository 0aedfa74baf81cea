/* webhook_answer_test.c - what webhooks may answer, and what it means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "server/webhooks.h"

#define UID "705ab4f5-6393-11e8-b7cc-42010a800002"
#define REVIEW(response)                                                                           \
    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":" response  \
    "}"

struct reading {
    struct arena arena;
    struct webhook_answer answer;
    struct err err;
};

static void reading_begin(struct reading *t)
{
    *t = (struct reading){.arena = ARENA_INIT(1u << 20), .err = ERR_INIT};
}

static void reading_end(struct reading *t)
{
    arena_release(&t->arena);
    err_release(&t->err);
}

static bool reads(struct reading *t, const char *text)
{
    reading_end(t);
    reading_begin(t);
    return webhook_answer_read(&t->arena, text, strlen(text), UID, &t->answer, &t->err) == 0;
}

static void answers_are_read(void **state)
{
    struct reading t;

    (void)state;
    reading_begin(&t);
    assert_true(reads(&t, REVIEW("{\"uid\":\"" UID "\",\"allowed\":true,\"warnings\":[\"w\"]}")));
    assert_true(t.answer.allowed);
    assert_null(t.answer.patch);
    assert_true(json_has(t.answer.warnings, "w"));
    /* [{"op":"remove","path":"/a"}] */
    assert_true(
        reads(&t, REVIEW("{\"uid\":\"" UID "\",\"allowed\":true,\"patchType\":\"JSONPatch\","
                         "\"patch\":\"W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2EifV0=\"}")));
    assert_int_equal(json_len(t.answer.patch), 1);
    assert_true(reads(&t, REVIEW("{\"uid\":\"" UID "\",\"allowed\":true,\"patch\":null}")));
    reading_end(&t);
}

static void others_are_not(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "not JSON"},
        {"[]", "expected webhook response of"},
        {"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1beta1\"}",
         "got admission.k8s.io/v1beta1"},
        {REVIEW("null"), "absent"},
        {REVIEW("{\"allowed\":true}"), "expected response.uid=\"" UID "\", got \"\""},
        {REVIEW("{\"uid\":\"other\",\"allowed\":true}"), "got \"other\""},
        {REVIEW("{\"uid\":\"" UID "\"}"), "whether it is allowed"},
        {REVIEW("{\"uid\":\"" UID "\",\"allowed\":\"true\"}"), "whether it is allowed"},
        {REVIEW("{\"uid\":\"" UID "\",\"allowed\":true,\"patch\":\"e30=\"}"), "patchType"},
        {REVIEW("{\"uid\":\"" UID "\",\"allowed\":true,\"patchType\":\"JSONPatch\",\"patch\":{}}"),
         "not base64"},
        {REVIEW("{\"uid\":\"" UID
                "\",\"allowed\":true,\"patchType\":\"JSONPatch\",\"patch\":\"e30=\"}"),
         "not a list"},
        {REVIEW("{\"uid\":\"" UID
                "\",\"allowed\":true,\"patchType\":\"JSONPatch\",\"patch\":\"e30\\u0000\"}"),
         "patch"},
    };
    struct reading t;

    (void)state;
    reading_begin(&t);
    for (size_t i = 0; i < ELEMS(bad); i++) {
        assert_false(reads(&t, bad[i].text));
        if (!strstr(t.err.text, bad[i].why))
            fail_msg("%s: %s", bad[i].text, t.err.text);
    }
    reading_end(&t);
}

/* The answer's code counts if it is a refusal's; a name that goes with it says which one. */
static void refusals_say_why(void **state)
{
    static const struct {
        const char *status, *text;
        int code;
        enum err_reason reason;
    } all[] = {
        {"null", "admission webhook \"h\" denied the request without explanation", 400,
         ERR_BAD_REQUEST},
        {"{\"message\":\"no\"}", "admission webhook \"h\" denied the request: no", 400,
         ERR_BAD_REQUEST},
        {"{\"reason\":\"Because\"}", "admission webhook \"h\" denied the request: Because", 400,
         ERR_BAD_REQUEST},
        {"{\"message\":\"no\",\"code\":200}", "admission webhook \"h\" denied the request: no", 400,
         ERR_BAD_REQUEST},
        {"{\"message\":\"no\",\"code\":403,\"reason\":\"some text\"}",
         "admission webhook \"h\" denied the request: no", 403, ERR_FORBIDDEN},
        {"{\"message\":\"no\",\"code\":409,\"reason\":\"AlreadyExists\"}",
         "admission webhook \"h\" denied the request: no", 409, ERR_ALREADY_EXISTS},
        {"{\"message\":\"no\",\"code\":418}", "admission webhook \"h\" denied the request: no", 400,
         ERR_BAD_REQUEST},
        {"{\"message\":\"no\",\"code\":99999}", "admission webhook \"h\" denied the request: no",
         400, ERR_BAD_REQUEST},
    };
    char text[1024];
    struct reading t;

    (void)state;
    reading_begin(&t);
    for (size_t i = 0; i < ELEMS(all); i++) {
        (void)snprintf(text, sizeof(text),
                       REVIEW("{\"uid\":\"" UID "\",\"allowed\":false,\"status\":%s}"),
                       all[i].status);
        assert_true(reads(&t, text));
        assert_int_equal(webhook_answer_refuse(&t.answer, "h", &t.err), err_errno(all[i].reason));
        assert_string_equal(t.err.text, all[i].text);
        assert_int_equal(t.err.reason, all[i].reason);
        assert_int_equal(err_http_code(t.err.reason), all[i].code);
    }
    reading_end(&t);
}

static void a_long_message_is_cut(void **state)
{
    struct buf b = BUF_INIT(1u << 20);
    struct reading t;

    (void)state;
    reading_begin(&t);
    buf_adds(&b,
             "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":"
             "{\"uid\":\"" UID "\",\"allowed\":false,\"status\":{\"message\":\"");
    for (size_t i = 0; i < 200000; i++)
        buf_addc(&b, 'x');
    buf_adds(&b, "\"}}}");
    assert_true(reads(&t, b.data));
    assert_true(webhook_answer_refuse(&t.answer, "h", &t.err) < 0);
    assert_in_range(strlen(t.err.text), 16000, 17000);
    buf_release(&b);
    reading_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_read),
        cmocka_unit_test(others_are_not),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(a_long_message_is_cut),
    };

    return cmocka_run_group_tests_name("server/webhook_answer", tests, NULL, NULL);
}
