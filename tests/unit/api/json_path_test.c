/* json_path_test.c - the paths of printer columns. */
#include "fixture.h"

#include "api/json_path.h"

static const char object[] =
    "{'a':{'b':[{'n':1,'t':'x'},{'n':2,'t':'y'},{'n':3,'t':'z','deep':{'on':true}}]},'c.d':'dot'}";

static const struct {
    const char *path, *found; /* NULL: nothing */
} cases[] = {
    {".a.b[0].t", "\"x\""},         {"$.a.b[-1].t", "\"z\""},
    {".a.b[-1:].t", "\"z\""},       {".a.b[1:].t", "\"y\""},
    {".a.b[:1].t", "\"x\""},        {".a.b[5:].t", NULL},
    {".a.b[1:3:2].n", "2"},         {".a.b[*].t", "\"x\""},
    {".a.b[?(@.t==\"y\")].n", "2"}, {".a.b[?(@.t != 'x')].n", "2"},
    {".a.b[?(@.n>2)].t", "\"z\""},  {".a.b[?(@.n>=2)].t", "\"y\""},
    {".a.b[?(@.n<1)].t", NULL},     {".a.b[?(@.deep.on==true)].t", "\"z\""},
    {".a.b[?(@.deep)].t", "\"z\""}, {"..on", "true"},
    {".c\\.d", "\"dot\""},          {"['c.d']", "\"dot\""},
    {".missing.b", NULL},
};

static const char *const wrong[] = {"", "a", ".a[", ".a[1:2:0]", ".a[?(@.x==)]", ".a[x]", "."};

static void paths_lead_where_kubectl_says(void **state)
{
    const struct json *v = parse(object);

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const struct json *found = json_path_first(v, cases[i].path);

        assert_true(json_path_is_valid(cases[i].path));
        if (cases[i].found)
            assert_json(found, cases[i].found);
        else
            assert_null(found);
    }
    for (size_t i = 0; i < ELEMS(wrong); i++)
        assert_false(json_path_is_valid(wrong[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(paths_lead_where_kubectl_says, reset)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
