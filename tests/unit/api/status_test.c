/* status_test.c - errors to Status objects and back. */
#include "fixture.h"

#include "api/status.h"

static void not_found_names_the_resource(void **state)
{
    auto_err err = ERR_INIT;

    (void)state;
    err_set(&err, ERR_NOT_FOUND, "pytorchtrainingjobs.batch.tensorstack.dev \"x\" not found");
    assert_json(status_from_err(&arena, &err, &kind_pytorch_training_job, "x"),
                "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
                "\"message\":\"pytorchtrainingjobs.batch.tensorstack.dev \\\"x\\\" not found\","
                "\"reason\":\"NotFound\",\"details\":{\"name\":\"x\",\"group\":\"batch.tensorstack."
                "dev\",\"kind\":\"pytorchtrainingjobs\"},\"code\":404}");
}

static void invalid_names_the_kind_and_its_causes(void **state)
{
    auto_err err = ERR_INIT;
    const struct json *s;

    (void)state;
    assert_true(
        admit(&kind_pod, parse("metadata: {name: p}"), NULL, FIELD_VALIDATION_STRICT, &err) < 0);
    s = status_from_err(&arena, &err, &kind_pod, "p");
    assert_json(json_get(s, "details"),
                "{\"name\":\"p\",\"kind\":\"Pod\",\"causes\":[{\"reason\":\"FieldValueRequired\","
                "\"message\":\"Required value\",\"field\":\"spec\"}]}");
    assert_json(json_get(s, "code"), "422");
    assert_json(json_get(s, "message"), "\"Pod \\\"p\\\" is invalid: spec: Required value\"");
}

static void a_hint_follows_the_message(void **state)
{
    auto_err err = ERR_INIT;

    (void)state;
    err_set(&err, ERR_UNAVAILABLE, "the store is full");
    err_hint(&err, "free some space");
    assert_json(status_from_err(&arena, &err, NULL, NULL),
                "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
                "\"message\":\"the store is full; free some space\",\"reason\":"
                "\"ServiceUnavailable\",\"code\":503}");
}

static void a_status_comes_back_as_the_same_error(void **state)
{
    auto_err err = ERR_INIT;
    auto_err back = ERR_INIT;
    const char *body;

    (void)state;
    assert_true(
        admit(&kind_pod, parse("metadata: {name: P}"), NULL, FIELD_VALIDATION_STRICT, &err) < 0);
    body = as_json(status_from_err(&arena, &err, &kind_pod, "p"));
    status_to_err(422, body, strlen(body), &back);
    assert_int_equal(back.reason, ERR_INVALID);
    assert_string_equal(back.text, err.text);
    assert_string_equal(back.causes->type, err.causes->type);
    assert_string_equal(back.causes->field, err.causes->field);
    assert_string_equal(back.causes->text, err.causes->text);
    assert_string_equal(back.causes->next->field, err.causes->next->field);
    assert_null(back.causes->next->next);
}

static void other_answers_are_judged_by_their_code(void **state)
{
    static const struct {
        int code;
        const char *body;
        enum err_reason reason;
        const char *text;
    } cases[] = {
        {404, "404 page not found", ERR_NOT_FOUND,
         "the server does not have what was asked for (404); a cluster has it once muster is "
         "installed: muster manifests | kubectl apply -f -"},
        {409, "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"message\":\"m\"}",
         ERR_ALREADY_EXISTS, "m"},
        {409, "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"message\":\"m\"}", ERR_CONFLICT, "m"},
        {410, "{\"kind\":\"Status\",\"reason\":\"Gone\",\"message\":\"m\"}", ERR_EXPIRED, "m"},
        {500, "{\"kind\":\"Status\"}", ERR_INTERNAL, "the server gave no message"},
        {502, "", ERR_INTERNAL, "the server answered 502: "},
        {418, "tea", ERR_BAD_REQUEST, "the server answered 418: tea"},
        {429, "{\"kind\":\"Pod\"}", ERR_TOO_MANY_REQUESTS,
         "the server answered 429: {\"kind\":\"Pod\"}"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;

        status_to_err(cases[i].code, cases[i].body, strlen(cases[i].body), &err);
        assert_int_equal(err.reason, cases[i].reason);
        assert_string_equal(err.text, cases[i].text);
    }
    status_to_err(500, "", 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(not_found_names_the_resource, reset),
        cmocka_unit_test_setup(invalid_names_the_kind_and_its_causes, reset),
        cmocka_unit_test_setup(a_hint_follows_the_message, reset),
        cmocka_unit_test_setup(a_status_comes_back_as_the_same_error, reset),
        cmocka_unit_test_setup(other_answers_are_judged_by_their_code, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
