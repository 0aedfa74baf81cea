/* traits_test.c - what is kept beside an object answers selectors as the object itself does. */
#include "server/traits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "api/object.h"

static const char *const objects[] = {
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"labels\":{\"app\":\"x\",\"tier\":\"\","
    "\"n\":\"5\"}},\"spec\":{\"nodeName\":\"m1\",\"hostNetwork\":true},\"status\":{\"phase\":"
    "\"Running\"}}",
    ("{\"metadata\":{\"name\":\"b\",\"namespace\":\"n\",\"labels\":{\"tier\":\"app\"}},\"spec\":{},"
     "\"status\":{\"phase\":\"Failed\",\"podIP\":7}}"),
    "{\"metadata\":{\"name\":\"c\",\"namespace\":\"\\u00e9\",\"labels\":{\"app\":1}}}",
    "{\"metadata\":{\"name\":\"d\",\"labels\":{}}}",
    "{\"spec\":{\"containers\":[{\"name\":\"}\"}],\"restartPolicy\":\"Never\",\"schedulerName\":"
    "\"s\","
    "\"serviceAccountName\":\"acc\"},\"status\":{\"nominatedNodeName\":\"m2\"}}",
    "{}",
};

static const char *const label_selectors[] = {
    NULL,
    "app=x",
    "app!=x",
    "app",
    "!app",
    "tier=",
    "tier=app",
    "app in (x, y)",
    "app notin (x)",
    "n>4",
    "n>5",
    "n<6,app=x",
    "tier,!n",
    "x",
    "app=x,tier=app",
};

static const char *const field_selectors[] = {
    NULL,
    "metadata.name=a",
    "metadata.name!=a",
    "metadata.namespace=n",
    "metadata.namespace=\xc3\xa9",
    "status.phase=Running",
    "status.phase!=Failed,spec.nodeName=",
    "spec.nodeName=m1",
    "status.podIP=7",
    "spec.hostNetwork=true",
    "spec.restartPolicy=Never",
    "spec.schedulerName=s",
    "spec.serviceAccountName=acc",
    "status.nominatedNodeName=m2",
};

static void same_answers(struct arena *a, const char *text, const char *labels, const char *fields)
{
    struct arena scratch = ARENA_INIT(1u << 20);
    struct blob *b = blob_new(text, strlen(text));
    const struct label_selector *by_label;
    const struct field_selector *by_field;
    const struct json *object = json_parse(a, text, strlen(text), NULL);
    const struct traits *t = traits_of(&kind_pod, b, &scratch);

    assert_non_null(object);
    assert_non_null(t);
    assert_int_equal(label_selector_parse(a, labels, &by_label, NULL), 0);
    assert_int_equal(field_selector_parse(a, &kind_pod, fields, &by_field, NULL), 0);
    if (traits_match(t, by_label, by_field) !=
        (label_selector_matches(by_label, object_labels(object)) &&
         field_selector_matches(by_field, object)))
        fail_msg("%s by \"%s\" and \"%s\"", text, labels ? labels : "", fields ? fields : "");
    assert_ptr_equal(traits_of(&kind_pod, b, &scratch), t); /* taken once */
    blob_unref(b);
    arena_release(&scratch);
}

static void answers_are_those_of_the_object(void **state)
{
    struct arena a = ARENA_INIT(64u << 20);

    (void)state;
    for (size_t o = 0; o < ELEMS(objects); o++)
        for (size_t l = 0; l < ELEMS(label_selectors); l++)
            for (size_t f = 0; f < ELEMS(field_selectors); f++)
                same_answers(&a, objects[o], label_selectors[l], field_selectors[f]);
    arena_release(&a);
}

static void other_faces_and_changed_definitions_have_none(void **state)
{
    static const char *const paths[] = {"spec.color", NULL};
    struct kind changed = kind_pod;
    struct arena scratch = ARENA_INIT(1u << 20);
    struct blob *b = blob_new(objects[0], strlen(objects[0]));
    struct blob *broken = blob_new("{", 1);

    (void)state;
    assert_null(traits_of(&kind_event_v1, b, &scratch));
    assert_non_null(traits_of(&kind_pod, b, &scratch));
    changed.field_selectors = paths;
    assert_null(traits_of(&changed, b, &scratch));
    assert_null(traits_of(&kind_pod, broken, &scratch));
    blob_unref(b);
    blob_unref(broken);
    arena_release(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_object),
        cmocka_unit_test(other_faces_and_changed_definitions_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
