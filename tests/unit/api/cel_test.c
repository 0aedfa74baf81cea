/* cel_test.c - expressions: what they are worth, what is refused, and that they end. */
#include "fixture.h"

#include "api/cel.h"

static const struct cel_variable free_variables[] = {{.name = "self"}, {.name = "oldSelf"}, {0}};

static const char *const self_text =
    "{name: web, replicas: 3, ratio: 1.5, isOn: true, isOff: false, nothing: null, tags: [a, b, "
    "c], "
    "numbers: [3, 1, 2], labels: {app: x, 'a-b': dash, namespace: m}, items: [{name: one, k: 1}, "
    "{name: two, k: 2}], empty: [], text: 'h\u00e9llo w\u00f6rld', url: "
    "'https://u@example.com:8080/a/b?x=1&y=2&x=3#f', memory: 1536Mi, at: '2024-02-29T12:34:56Z'}";

static struct json *json_of(const char *text)
{
    auto_err err = ERR_INIT;
    struct json *v = yaml_parse(&arena, text, strlen(text), NULL, NULL, &err);

    if (!v)
        fail_msg("%s: %s", text, err.text);
    return json_first_mut(v);
}

static const char *worth(const char *text)
{
    const struct json *values[] = {json_of(self_text), NULL};
    struct cel_run run = {.arena = &arena, .values = values, .cost_left = CEL_CALL_COST};
    auto_err err = ERR_INIT;
    struct cel *e = cel_read(&arena, text, free_variables, &err);
    struct json *v;

    if (!e)
        return arena_printf(&arena, "refused: %s", err.text);
    v = cel_value(e, &run, &err);
    return v ? as_json(v) : arena_printf(&arena, "failed: %s", err.text);
}

static void expressions_are_worth_what_the_language_says(void **state)
{
    static const struct {
        const char *text, *worth;
    } cases[] = {
        {"1 + 2 * 3 - 4 / 2 % 2", "7"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"9223372036854775807 + 1", "failed: integer overflow"},
        {"1 / 0", "failed: division by zero"},
        {"0x10 + 1", "17"},
        {"5u + 1u == 6u", "true"},
        {"1 == 1.0 && 1u == 1 && 2 > 1.5", "true"},
        {"1.5 + 2.0", "3.5"},
        {"1 + 1.0", "failed: no such overload: int + double"},
        {"'a' + \"b\" + r'\\n' + '\\u00e9\\x41\\101'", "\"ab\\\\n\u00e9AA\""},
        {"'''a'b'''", "\"a'b\""},
        {"b'abc' == bytes('abc')", "true"},
        {"true ? 'yes' : 'no'", "\"yes\""},
        {"!self.isOn || self.isOff", "false"},
        {"self.missing == 1 || true", "true"},
        {"true || self.missing == 1", "true"},
        {"self.missing == 1 && false", "false"},
        {"self.missing == 1 && true", "failed: no such key: missing"},
        {"has(self.name) && !has(self.missing) && has(self.nothing)", "true"},
        {"self.nothing == null", "true"},
        {"self['name'] + self.labels['app']", "\"webx\""},
        {"self.labels.a__dash__b + self.labels.__namespace__", "\"dashm\""},
        {"self.tags[1]", "\"b\""},
        {"self.tags[3]", "failed: index out of bounds: 3"},
        {"'a' in self.tags && !('z' in self.tags) && 'app' in self.labels", "true"},
        {"self.tags == ['a', 'b', 'c'] && self.tags != ['a']", "true"},
        {"{'a': 1, 'b': [2]} == {'b': [2], 'a': 1}", "true"},
        {"{'a': 1, 'a': 2}", "failed: a map has a key twice"},
        {"size(self.tags) + self.name.size() + size(self.labels)", "9"},
        {"self.items.all(i, i.k > 0) && self.items.exists(i, i.name == 'two')", "true"},
        {"self.items.exists_one(i, i.k == 1)", "true"},
        {"self.items.map(i, i.name)", "[\"one\",\"two\"]"},
        {"self.items.map(i, i.k > 1, i.name)", "[\"two\"]"},
        {"self.items.filter(i, i.k == 1).size()", "1"},
        {"self.labels.all(k, k.size() > 2)", "true"},
        {"self.tags.all(i, v, i < 3 && v != '')", "true"},
        {"self.tags.transformList(i, v, v + string(i))", "[\"a0\",\"b1\",\"c2\"]"},
        {"{'a': 1}.transformMap(k, v, v + 1)", "{\"a\":2}"},
        {"[1, 2].exists(x, [3, 4].exists(y, x + y == 6))", "true"},
        {"self.empty.all(x, false) && !self.empty.exists(x, true)", "true"},
        {"[0, 1].exists(x, 1 / x == 1)", "true"},
        {"[0, 1].all(x, 1 / x == 1)", "failed: division by zero"},
        {"self.numbers.sum() + self.numbers.min() + self.numbers.max()", "10"},
        {"self.numbers.isSorted() || self.tags.isSorted()", "true"},
        {"[1.5, 2.5].sum()", "4"},
        {"self.tags.indexOf('b') + self.tags.lastIndexOf('z')", "0"},
        {"self.text.size()", "11"},
        {"self.text.substring(1, 5)", "\"\u00e9llo\""},
        {"self.text.substring(6)", "\"w\u00f6rld\""},
        {"self.text.charAt(7) + self.text.charAt(11)", "\"\u00f6\""},
        {"self.text.indexOf('w') + self.text.lastIndexOf('l')", "15"},
        {"'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']", "true"},
        {"'h\u00e9'.split('')", "[\"h\",\"\u00e9\"]"},
        {"['a', 'b'].join('-') + ['c'].join()", "\"a-bc\""},
        {"'aXbX'.replace('X', 'yy', 1) + ' q '.trim() + 'aB'.upperAscii() + 'aB'.lowerAscii()",
         "\"ayybXqABab\""},
        {"self.name.startsWith('w') && self.name.endsWith('b') && self.name.contains('e')", "true"},
        {"self.name.matches('^[a-z]+$') && !matches(self.name, '^x')", "true"},
        {"'a1b22'.find('[0-9]+') + 'a1b22'.findAll('[0-9]+')[1]", "\"122\""},
        {"'a'.matches('(')", "failed: not a regular expression: '('"},
        {"sets.contains([1, 2, 3], [2]) && sets.equivalent([1, 1, 2], [2, 1]) && "
         "!sets.intersects([1], [2])",
         "true"},
        {"math.greatest(1, 3, 2) + math.least([5, 4])", "7"},
        {"[3, 1, 3].distinct().size() + [1, 2, 3].slice(1, 3)[0] + [1, 2].reverse()[0]", "6"},
        {"url(self.url).getHost() + url(self.url).getHostname() + url(self.url).getPort()",
         "\"example.com:8080example.com8080\""},
        {"url(self.url).getEscapedPath() + url(self.url).getScheme()", "\"/a/bhttps\""},
        {"url(self.url).getQuery()['x'] == ['1', '3']", "true"},
        {"isURL('nothing') || isURL('http://a b')", "false"},
        {"quantity(self.memory).isGreaterThan(quantity('1Gi')) && isQuantity('5m')", "true"},
        {"quantity('500m').add(quantity('1')).compareTo(quantity('1500m'))", "0"},
        {"quantity('2').asInteger() + 1", "3"},
        {"quantity('-1').sign()", "-1"},
        {"quantity('x')", "failed: not a quantity: write 500m, 2 or 4Gi"},
        {"timestamp(self.at) + duration('24h') == timestamp('2024-03-01T12:34:56Z')", "true"},
        {"timestamp(self.at).getMonth() + timestamp(self.at).getDate()", "30"},
        {"timestamp(self.at).getFullYear() + timestamp(self.at).getDayOfYear()", "2083"},
        {"duration('1h30m') - duration('30m') == duration('60m')", "true"},
        {"duration('90s').getMinutes()", "1"},
        {"string(duration('1.5s')) + string(1) + string(true)", "\"1.500s1true\""},
        {"int('12') + int(3.9) + int('x') == 0", "failed: 'x' is no whole number"},
        {"double('1.5') + double(1)", "2.5"},
        {"type(1) == int && type('') == string && type([]) == list", "true"},
        {"self.?missing.orValue(7) + self.?replicas.orValue(0)", "10"},
        {"self.?missing.?deeper.hasValue() || self[?'name'].hasValue()", "true"},
        {"optional.of(1).value() + optional.none().orValue(2)", "3"},
        {"self.?replicas.optMap(x, x * 2).value()", "6"},
        {"self // a remark\n .name", "\"web\""},
        {"dyn(1) == 'a'", "false"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        if (strcmp(worth(cases[i].text), cases[i].worth) != 0)
            fail_msg("%s: %s, not %s", cases[i].text, worth(cases[i].text), cases[i].worth);
}

static void what_is_wrong_is_refused_when_it_is_read(void **state)
{
    static const char *const bad[] = {"",
                                      "1 +",
                                      "(1",
                                      "[1, 2",
                                      "'open",
                                      "'\\q'",
                                      "self.",
                                      "self.x(",
                                      "nobody",
                                      "self.frobnicate()",
                                      "frobnicate(1)",
                                      "ip('1.2.3.4')",
                                      "self.name.startsWith()",
                                      "self.tags.all(1, true)",
                                      "self.tags.all(x)",
                                      "has(self)",
                                      "has(1)",
                                      "Thing{a: 1}",
                                      "1 2",
                                      "99999999999999999999",
                                      "a ? b",
                                      "in",
                                      "#"};
    struct buf deep = BUF_INIT(1 << 20);

    (void)state;
    for (size_t i = 0; i < ELEMS(bad); i++)
        if (strncmp(worth(bad[i]), "refused: ", 9) != 0)
            fail_msg("%s: %s", bad[i], worth(bad[i]));
    for (int i = 0; i < 5000; i++)
        buf_addc(&deep, '(');
    assert_string_equal(worth(deep.data), "refused: at 65: the expression is too deep");
    buf_clear(&deep);
    for (int i = 0; i < 3000; i++)
        buf_adds(&deep, "-");
    assert_int_equal(strncmp(worth(deep.data), "refused: ", 9), 0);
    buf_clear(&deep);
    buf_adds(&deep, "self");
    for (int i = 0; i < 3000; i++)
        buf_adds(&deep, ".a");
    assert_int_equal(strncmp(worth(deep.data), "refused: ", 9), 0);
    buf_release(&deep);
}

static void members_are_checked_where_the_schema_is_known(void **state)
{
    const struct cel_variable variables[] = {
        {.name = "self",
         .schema = json_of("{type: object, properties: {num: {type: number}, when: {type: string, "
                           "format: date-time}, list: {type: array, items: {type: object, "
                           "properties: {a: {type: string}}}}, map: {type: object, "
                           "additionalProperties: {type: integer}}, free: {type: object, "
                           "x-kubernetes-preserve-unknown-fields: true}}}")},
        {0}};
    static const char *const good[] = {"self.num > 1.0",           "self.list.all(x, x.a != '')",
                                       "self.list[0].a == ''",     "self.map.any == 1",
                                       "self.free.any.thing == 1", "has(self.when)",
                                       "self.metadata.name != ''"};
    static const struct {
        const char *text, *problem;
    } bad[] = {{"self.m > 1", "undefined field 'm'"},
               {"has(self.m)", "undefined field 'm'"},
               {"self.list.all(x, x.b != '')", "undefined field 'b'"},
               {"self.list[0].b == ''", "undefined field 'b'"},
               {"self.num.m == 1", "type 'number' does not support field selection"}};

    (void)state;
    for (size_t i = 0; i < ELEMS(good); i++) {
        auto_err err = ERR_INIT;

        if (!cel_read(&arena, good[i], variables, &err))
            fail_msg("%s: %s", good[i], err.text);
    }
    for (size_t i = 0; i < ELEMS(bad); i++) {
        auto_err err = ERR_INIT;

        assert_null(cel_read(&arena, bad[i].text, variables, &err));
        assert_string_equal(err.text, bad[i].problem);
    }
}

static void what_costs_too_much_ends(void **state)
{
    static const char *const costly[] = {
        "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, "
        "[1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, "
        "[1,2,3,4,5,6,7,8,9,10].all(g, true)))))))",
        "[0].map(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').map(x, "
        "x.replace('a', "
        "x)).map(x, x.replace('a', x)).map(x, x.replace('a', x)).map(x, x.replace('a', x)).size() "
        "== 1",
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a+)+$')",
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(costly); i++)
        if (strncmp(worth(costly[i]), "failed: ", 8) != 0)
            fail_msg("%s: %.80s", costly[i], worth(costly[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(expressions_are_worth_what_the_language_says, reset),
        cmocka_unit_test_setup(what_is_wrong_is_refused_when_it_is_read, reset),
        cmocka_unit_test_setup(members_are_checked_where_the_schema_is_known, reset),
        cmocka_unit_test_setup(what_costs_too_much_ends, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
