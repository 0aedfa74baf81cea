/* selector_test.c - label and field selectors. */
#include "fixture.h"

#include "api/selector.h"

static void label_selectors_match_sets(void **state)
{
    static const struct {
        const char *selector;
        bool matches;
    } cases[] = {
        {"", true},
        {"  ", true},
        {"a=b", true},
        {"a==b", true},
        {" a = b ", true},
        {"a=c", false},
        {"a!=b", false},
        {"a!=c", true},
        {"x!=c", true},
        {"a in (b,c)", true},
        {"a in (c, d)", false},
        {"a in(b)", true},
        {"x in (b)", false},
        {"a notin (c)", true},
        {"a notin (b)", false},
        {"x notin (b)", true},
        {"a", true},
        {"x", false},
        {"!x", true},
        {"!a", false},
        {"! a", false},
        {"a=b,n=5", true},
        {"a=b,n=6", false},
        {"n>4", true},
        {"n>5", false},
        {"n<6", true},
        {"a>1", false},
        {"e=", true},
        {"a=", false},
        {"e in (,x)", true},
        {"k.io/in=notin", true},
        {"in", false},
    };
    const struct json *labels = parse("{\"a\":\"b\",\"n\":\"5\",\"e\":\"\",\"k.io/in\":\"notin\"}");

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const struct label_selector *s;
        auto_err err = ERR_INIT;

        if (label_selector_parse(&arena, cases[i].selector, &s, &err) < 0)
            fail_msg("%s: %s", cases[i].selector, err.text);
        if (label_selector_matches(s, labels) != cases[i].matches)
            fail_msg("'%s' gave %d", cases[i].selector, !cases[i].matches);
    }
}

static void everything_is_selected_by_no_selector(void **state)
{
    const struct label_selector *s;

    (void)state;
    assert_int_equal(label_selector_parse(&arena, NULL, &s, NULL), 0);
    assert_true(label_selector_matches(s, NULL));
    assert_true(label_selector_matches(NULL, NULL));
}

static void malformed_label_selectors_are_refused(void **state)
{
    static const char *const texts[] = {"=b",   "a=b c", "a,,b",  ",",   "a in b", "a in (b",
                                        "a in", "a x b", "a=b=c", "(a)", "a!",     "a=b/c",
                                        "-a=b", "a>x",   "a=b,",  "a!b"};

    (void)state;
    for (size_t i = 0; i < ELEMS(texts); i++) {
        const struct label_selector *s;
        auto_err err = ERR_INIT;

        if (label_selector_parse(&arena, texts[i], &s, &err) == 0)
            fail_msg("'%s' was taken", texts[i]);
        assert_int_equal(err.reason, ERR_BAD_REQUEST);
        assert_non_null(strstr(err.text, "unable to parse label selector"));
    }
}

static void selectors_have_ceilings(void **state)
{
    struct buf text = BUF_INIT(1u << 20);
    const struct label_selector *s;
    const struct field_selector *f;

    (void)state;
    for (int i = 0; i < 2000; i++)
        buf_adds(&text, "a=b,");
    buf_adds(&text, "a=b");
    assert_true(label_selector_parse(&arena, text.data, &s, NULL) < 0);
    buf_clear(&text);
    for (int i = 0; i < 100; i++)
        buf_adds(&text, "metadata.name=b,");
    assert_true(field_selector_parse(&arena, &kind_pod, text.data, &f, NULL) < 0);
    buf_release(&text);
}

static void objects_hold_selectors_too(void **state)
{
    static const struct {
        const char *wanted;
        bool matches;
    } cases[] = {
        {"{}", true},
        {"{a: b}", true},
        {"{a: b, x: b}", false},
        {"{matchLabels: {a: b}}", true},
        {"{matchLabels: {a: c}}", false},
        {"{matchExpressions: [{key: a, operator: In, values: [b, c]}]}", true},
        {"{matchExpressions: [{key: a, operator: NotIn, values: [b, c]}]}", false},
        {"{matchExpressions: [{key: x, operator: NotIn, values: [b]}]}", true},
        {"{matchExpressions: [{key: a, operator: Exists}]}", true},
        {"{matchExpressions: [{key: a, operator: DoesNotExist}]}", false},
        {"{matchLabels: {a: b}, matchExpressions: [{key: x, operator: Exists}]}", false},
        {"{matchExpressions: [{key: a, operator: Odd}]}", false},
    };
    const struct json *labels = parse("{a: b}");

    (void)state;
    assert_false(label_map_matches(NULL, labels));
    for (size_t i = 0; i < ELEMS(cases); i++)
        if (label_map_matches(parse(cases[i].wanted), labels) != cases[i].matches)
            fail_msg("%s gave %d", cases[i].wanted, !cases[i].matches);
}

static void field_selectors_match_paths(void **state)
{
    static const struct {
        const char *selector;
        bool matches;
    } cases[] = {
        {"", true},
        {"metadata.name=p", true},
        {"metadata.name==p", true},
        {"metadata.name=q", false},
        {"metadata.name!=q", true},
        {"metadata.namespace=d,metadata.name=p", true},
        {"spec.nodeName=n1", true},
        {"spec.nodeName=", false},
        {"status.phase!=Running", true},
        {"status.phase=", true},
        {"spec.hostNetwork=true", true},
    };
    const struct json *pod = parse(
        "{metadata: {name: p, namespace: d}, spec: {nodeName: n1, hostNetwork: true}}");

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const struct field_selector *s;
        auto_err err = ERR_INIT;

        if (field_selector_parse(&arena, &kind_pod, cases[i].selector, &s, &err) < 0)
            fail_msg("%s: %s", cases[i].selector, err.text);
        if (field_selector_matches(s, pod) != cases[i].matches)
            fail_msg("'%s' gave %d", cases[i].selector, !cases[i].matches);
    }
}

static void events_are_selected_as_describe_asks(void **state)
{
    const struct field_selector *s;

    (void)state;
    assert_int_equal(field_selector_parse(&arena, &kind_event,
                                          "involvedObject.name=p,involvedObject.namespace=d,"
                                          "involvedObject.uid=u,involvedObject.kind=Pod",
                                          &s, NULL),
                     0);
    assert_true(field_selector_matches(
        s, parse("{involvedObject: {name: p, namespace: d, uid: u, kind: Pod}}")));
    assert_false(field_selector_matches(
        s, parse("{involvedObject: {name: p, namespace: d, uid: w, kind: Pod}}")));
}

static void unsupported_field_selectors_are_refused(void **state)
{
    const struct field_selector *s;
    auto_err path = ERR_INIT;
    auto_err form = ERR_INIT;
    auto_err cluster = ERR_INIT;

    (void)state;
    assert_true(field_selector_parse(&arena, &kind_pod, "spec.x=1", &s, &path) < 0);
    assert_int_equal(path.reason, ERR_BAD_REQUEST);
    assert_string_equal(path.text, "field label not supported: spec.x");
    assert_true(field_selector_parse(&arena, &kind_pod, "metadata.name", &s, &form) < 0);
    assert_int_equal(form.reason, ERR_BAD_REQUEST);
    assert_true(field_selector_parse(&arena, &kind_node, "metadata.namespace=x", &s, &cluster) < 0);
}

static void the_name_asked_for_is_known(void **state)
{
    static const struct {
        const char *selector, *name;
    } cases[] = {{"", NULL},
                 {"metadata.name=a", "a"},
                 {"metadata.namespace=x,metadata.name==b", "b"},
                 {"metadata.name!=a", NULL},
                 {"metadata.name=a\\,b", "a,b"}};

    (void)state;
    assert_null(field_selector_name(NULL));
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const struct field_selector *s;

        assert_int_equal(field_selector_parse(&arena, &kind_pod, cases[i].selector, &s, NULL), 0);
        if (cases[i].name)
            assert_string_equal(field_selector_name(s), cases[i].name);
        else
            assert_null(field_selector_name(s));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(label_selectors_match_sets, reset),
        cmocka_unit_test_setup(everything_is_selected_by_no_selector, reset),
        cmocka_unit_test_setup(malformed_label_selectors_are_refused, reset),
        cmocka_unit_test_setup(selectors_have_ceilings, reset),
        cmocka_unit_test_setup(objects_hold_selectors_too, reset),
        cmocka_unit_test_setup(field_selectors_match_paths, reset),
        cmocka_unit_test_setup(events_are_selected_as_describe_asks, reset),
        cmocka_unit_test_setup(unsupported_field_selectors_are_refused, reset),
        cmocka_unit_test_setup(the_name_asked_for_is_known, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
