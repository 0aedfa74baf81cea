/* yaml_test.c - YAML reading, with the traps of real manifests, and writing that reads back. */
#include "fixture.h"

static struct json *documents(const char *text)
{
    auto_err err = ERR_INIT;
    struct json *v = yaml_parse(&arena, text, strlen(text), NULL, NULL, &err);

    if (!v)
        print_message("%s\n", err.text);
    assert_non_null(v);
    return v;
}

static void plain_scalars_mean_what_kubectl_takes_them_for(void **state)
{
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        {"null", "null"},
        {"~", "null"},
        {"", "null"},
        {"true", "true"},
        {"False", "false"},
        {"yes", "true"},
        {"No", "false"},
        {"on", "true"},
        {"OFF", "false"},
        {"y", "true"},
        {"N", "false"},
        {"YeS", "\"YeS\""},
        {"12", "12"},
        {"-12", "-12"},
        {"+12", "12"},
        {"1_000", "1000"},
        {"0x1F", "31"},
        {"0o17", "15"},
        {"017", "15"},
        {"0b101", "5"},
        {"089", "89"},
        {"-089", "-89"},
        {"0", "0"},
        {"-0", "0"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"9223372036854775808", "9223372036854775808"},
        {"1.5", "1.5"},
        {".5", "0.5"},
        {"5.", "5.0"},
        {"-.5", "-0.5"},
        {"+1.5", "1.5"},
        {"00.5", "0.5"},
        {"1e3", "1e3"},
        {"129e6", "129e6"},
        {"5.e2", "5.0e2"},
        {"1.5Gi", "\"1.5Gi\""},
        {"500m", "\"500m\""},
        {"1.2.3", "\"1.2.3\""},
        {"-", NULL},
        {"0x", "\"0x\""},
        {"1e", "\"1e\""},
        {".", "\".\""},
        {"^openib", "\"^openib\""},
        {"-N", "\"-N\""},
        {"--allow-run-as-root", "\"--allow-run-as-root\""},
        {"2024-01-02", "\"2024-01-02\""},
        {"12:30:45", "\"12:30:45\""},
        {"t9k://pvc/a/log", "\"t9k://pvc/a/log\""},
        {"$(MASTER_ADDR):$(MASTER_PORT)", "\"$(MASTER_ADDR):$(MASTER_PORT)\""},
        {"\"true\"", "\"true\""},
        {"'12'", "\"12\""},
        {"!!str 12", "\"12\""},
        {"!!int \"12\"", "12"},
        {"! 12", "\"12\""},
        {"a b  ", "\"a b\""},
        {"\"a b  \"", "\"a b  \""},
        {"名前", "\"名前\""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        char text[128];

        if (!cases[i].json)
            continue;
        (void)snprintf(text, sizeof(text), "v: %s\n", cases[i].yaml);
        assert_json(json_get(json_index(documents(text), 0), "v"), cases[i].json);
    }
}

static void structures_become_the_same_values_as_json(void **state)
{
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        {"a: 1\nb: [x, {c: 2}]\n", "{\"a\":1,\"b\":[\"x\",{\"c\":2}]}"},
        {"- a\n- - b\n  - c\n- d: e\n  f: g\n", "[\"a\",[\"b\",\"c\"],{\"d\":\"e\",\"f\":\"g\"}]"},
        {"template: {}\n", "{\"template\":{}}"},
        {"rule: { \"worker\": [0] }\n", "{\"rule\":{\"worker\":[0]}}"},
        {"a: >-\n  one\n  two\n", "{\"a\":\"one two\"}"},
        {"a: |\n  one\n  two\n", "{\"a\":\"one\\ntwo\\n\"}"},
        {"a: |-\n  one\n   two\n", "{\"a\":\"one\\n two\"}"},
        {"# 注释\na: 1 # 数量\n# end\n", "{\"a\":1}"},
        {"1: a\ntrue: b\n1.5: c\n", "{\"1\":\"a\",\"true\":\"b\",\"1.5\":\"c\"}"},
        {"a:\n- 1\n- 2\n", "{\"a\":[1,2]}"},
        {"x: &x {k: v}\nz: *x\n", "{\"x\":{\"k\":\"v\"},\"z\":{\"k\":\"v\"}}"},
        {"base: &b {a: 1, c: 2}\nd:\n  <<: *b\n  c: 3\n",
         "{\"base\":{\"a\":1,\"c\":2},\"d\":{\"c\":3,\"a\":1}}"},
        {"p: &p {a: 1}\nq: &q {a: 2, b: 2}\nr: {<<: [*p, *q]}\n",
         "{\"p\":{\"a\":1},\"q\":{\"a\":2,\"b\":2},\"r\":{\"a\":1,\"b\":2}}"},
        {"'<<': 1\n", "{\"<<\":1}"},
        {"%YAML 1.1\n---\na: 1\n...\n", "{\"a\":1}"},
        {"\xef\xbb\xbf"
         "a: 1\n",
         "{\"a\":1}"},
        {"a: 1\r\nb: 2\r\n", "{\"a\":1,\"b\":2}"},
        {"? a\n: 1\n", "{\"a\":1}"},
        {"args: [\"-N\", -x, \"--max-restarts\"]", "{\"args\":[\"-N\",\"-x\",\"--max-restarts\"]}"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        assert_json(json_index(documents(cases[i].yaml), 0), cases[i].json);
}

static void a_stream_holds_several_documents_and_empty_ones_are_left_out(void **state)
{
    (void)state;
    assert_json(documents("---\na: 1\n---\n# nothing\n---\nb: 2\n---\n"), "[{\"a\":1},{\"b\":2}]");
    assert_json(documents(""), "[]");
    assert_json(documents("# only a comment\n"), "[]");
}

static void values_know_their_lines(void **state)
{
    const struct json *doc = json_index(
        documents("a: 1\n# c\nb:\n  - x\n  - y: 2\n    z:\n      q: 3\n"), 0);

    (void)state;
    assert_int_equal(json_get(doc, "a")->line, 1);
    assert_int_equal(json_get(doc, "b")->line, 3);
    assert_int_equal(json_index(json_get(doc, "b"), 0)->line, 4);
    assert_int_equal(json_index(json_get(doc, "b"), 1)->line, 5);
    assert_int_equal(json_get(json_index(json_get(doc, "b"), 1), "z")->line, 6);
    assert_int_equal(json_at(json_index(json_get(doc, "b"), 1), "z", "q")->line, 7);
}

static void malformed_text_is_refused_with_line_and_column(void **state)
{
    static const struct {
        const char *yaml, *text;
        unsigned line;
    } cases[] = {
        {"a: 1\nb: [1, 2\nc: 3\n", "YAML, line 3, column", 3},
        {"a:\n\t- b\n", "YAML, line 2, column 1: YAML is indented with spaces, not with a tab", 2},
        {"a: 1\n b: 2\n", "YAML, line 2, column 3: unexpected \":\"", 2},
        {"a: \"x\n", "YAML, line 2, column 1: the quoted text that began on line 1 is not closed",
         2},
        {"a: *nothing\n",
         "YAML, line 1, column 4: no value before this is marked &nothing; text that starts with * "
         "must be in quotes",
         1},
        {"a: &a\n  b: *a\n",
         "YAML, line 2, column 6: no value before this is marked &a; text that starts with * must "
         "be in quotes",
         2},
        {"a: .inf\n", "YAML, line 1, column 4: a number may not be infinite or NaN", 1},
        {"a: -.NaN\nb: .nan\n", "YAML, line 2", 2},
        {"? [a, b]\n: 1\n", "YAML, line 1, column 3: a key must be a string", 1},
        {"a: 1\n~: 2\n", "YAML, line 2, column 1: a key must be a string", 2},
        {"a:\n  <<: 5\n", "YAML, line 2, column 7: << needs a mapping", 2},
        {"a: \x01\n", "YAML, line 1", 1},
        {"a: \xff\n", "YAML, line 1", 1},
        {"a: 1\n}\n", "YAML, line 2", 2},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;

        assert_null(yaml_parse(&arena, cases[i].yaml, strlen(cases[i].yaml), NULL, NULL, &err));
        assert_int_equal(err.reason, ERR_BAD_REQUEST);
        if (strncmp(err.text, cases[i].text, strlen(cases[i].text)) != 0)
            fail_msg("case %zu: %s", i, err.text);
        assert_int_equal(err.line, cases[i].line);
    }
}

static void duplicate(void *arg, const char *key, unsigned line)
{
    char *out = arg;

    (void)sprintf(out + strlen(out), "%s@%u ", key, line);
}

static void a_repeated_key_is_reported_and_the_last_one_counts(void **state)
{
    const char *text = "spec:\n  runPolicy: {a: 1}\n  x: 1\n  runPolicy:\n    b: 2\n";
    char said[64] = "";
    const struct json *v = yaml_parse(&arena, text, strlen(text), duplicate, said, NULL);

    (void)state;
    assert_string_equal(said, "runPolicy@4 ");
    assert_json(json_index(v, 0), "{\"spec\":{\"runPolicy\":{\"b\":2},\"x\":1}}");
}

static void aliases_cannot_stand_for_more_than_the_ceiling(void **state)
{
    struct buf text = BUF_INIT(65536);
    auto_err err = ERR_INIT;

    (void)state;
    buf_adds(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        buf_addf(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            buf_addf(&text, "%s*a%d", k ? ", " : "", i - 1);
        buf_adds(&text, "]\n");
    }
    assert_null(yaml_parse(&arena, text.data, text.len, NULL, NULL, &err));
    assert_non_null(strstr(err.text, "the aliases expand to too much"));
    buf_release(&text);
}

static void deep_nesting_is_refused(void **state)
{
    char text[2000];
    auto_err err = ERR_INIT;

    (void)state;
    memset(text, '[', sizeof(text));
    assert_null(yaml_parse(&arena, text, sizeof(text), NULL, NULL, &err));
    assert_non_null(strstr(err.text, "nested too deeply"));
}

static void too_little_memory_is_an_error_not_a_crash(void **state)
{
    const char *text = "a: [1, 2, {b: c}]\nd: &x e\nf: *x\n";

    (void)state;
    for (size_t limit = 0; limit < 2000; limit += 16) {
        struct arena small = ARENA_INIT(limit);
        auto_err err = ERR_INIT;

        if (!yaml_parse(&small, text, strlen(text), NULL, NULL, &err))
            assert_int_equal(err.reason, ERR_TOO_LARGE);
        arena_release(&small);
    }
}

/* --- writing -------------------------------------------------------------------------------- */

static const char *written(const struct json *v)
{
    struct buf out = BUF_INIT(1024u * 1024u);
    const char *text;

    yaml_write(&out, v);
    text = arena_strdup(&arena, out.data ? out.data : "");
    buf_release(&out);
    return text;
}

static void output_reads_like_kubectl_output(void **state)
{
    const struct json *v = parse(
        "{\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"labels\":{}},\"spec\":{"
        "\"containers\":[{\"name\":\"c\",\"args\":[\"-c\",\"a: b\",\"yes\",\"12\",\"\"],"
        "\"x\":[]}],\"t\":\"2024-01-02T03:04:05Z\",\"script\":\"one\\ntwo\\n\",\"n\":3,"
        "\"f\":1.5,\"nil\":null,\"nested\":[[1,2],[]]}}");

    (void)state;
    assert_string_equal(written(v), "apiVersion: v1\n"
                                    "metadata:\n"
                                    "  name: a\n"
                                    "  labels: {}\n"
                                    "spec:\n"
                                    "  containers:\n"
                                    "  - name: c\n"
                                    "    args:\n"
                                    "    - -c\n"
                                    "    - \"a: b\"\n"
                                    "    - \"yes\"\n"
                                    "    - \"12\"\n"
                                    "    - \"\"\n"
                                    "    x: []\n"
                                    "  t: \"2024-01-02T03:04:05Z\"\n"
                                    "  script: |\n"
                                    "    one\n"
                                    "    two\n"
                                    "  \"n\": 3\n"
                                    "  f: 1.5\n"
                                    "  nil: null\n"
                                    "  nested:\n"
                                    "  - - 1\n"
                                    "    - 2\n"
                                    "  - []\n");
}

static uint64_t seed;

static unsigned pick(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static const char *random_text(size_t *ret_len)
{
    static const char *const pieces[] = {"a",
                                         "B",
                                         "0",
                                         "1",
                                         "-",
                                         ":",
                                         " ",
                                         "#",
                                         "\n",
                                         "\t",
                                         "'",
                                         "\"",
                                         "\\",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         "&",
                                         "*",
                                         "!",
                                         "|",
                                         ">",
                                         "%",
                                         "@",
                                         "`",
                                         "?",
                                         "=",
                                         "<<",
                                         "---",
                                         "...",
                                         "yes",
                                         "n",
                                         "null",
                                         "~",
                                         "0x1f",
                                         "1e3",
                                         ".5",
                                         "_",
                                         "名",
                                         "é",
                                         "\r",
                                         "\x01",
                                         "\x7f",
                                         "\xc2\x85",
                                         "\xe2\x80\xa8",
                                         "\xef\xbb\xbf",
                                         "\xf0\x9f\x98\x80",
                                         "\xc2\xa0",
                                         "2024-01-02",
                                         ": ",
                                         " #",
                                         "- ",
                                         "\n\n"};
    struct buf b = BUF_INIT(8192);
    unsigned n = pick(8) ? pick(6) : pick(200);
    const char *text;

    for (unsigned i = 0; i < n; i++)
        buf_adds(&b, pieces[pick(ELEMS(pieces))]);
    text = arena_strndup(&arena, b.data ? b.data : "", b.len);
    *ret_len = b.len;
    buf_release(&b);
    return text;
}

static struct json *random_value(int depth)
{
    static const char *const reals[] = {"1.5", "-0.25", "1e300", "123456789012345678901234567890",
                                        "2.5E-7"};
    size_t len;
    const char *text;
    struct json *v;

    switch (pick(depth > 0 ? 8 : 6)) {
    case 0:
        return json_new_null(&arena);
    case 1:
        return json_new_bool(&arena, pick(2));
    case 2:
        return json_new_int(&arena, (int64_t)pick(1u << 31) - (1 << 30));
    case 3:
        return json_new_real(&arena, reals[pick(ELEMS(reals))]);
    case 4:
    case 5:
        text = random_text(&len);
        return json_new_string_len(&arena, text, len);
    case 6:
        v = json_new_array(&arena);
        for (unsigned n = pick(5); n; n--)
            json_append(v, random_value(depth - 1));
        return v;
    default:
        v = json_new_object(&arena);
        for (unsigned n = pick(5); n; n--) {
            text = random_text(&len);
            json_set(&arena, v, text, random_value(depth - 1));
        }
        return v;
    }
}

/* A null document is left out of a stream, so values are wrapped. */
static void what_is_written_reads_back_the_same(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        struct json *v, *back;
        const char *text;
        auto_err err = ERR_INIT;

        arena_reset(&arena);
        seed = i;
        v = json_new_array(&arena);
        json_append(v, random_value(4));
        text = written(v);
        back = yaml_parse(&arena, text, strlen(text), NULL, NULL, &err);
        if (!back || !json_equal(json_index(back, 0), v))
            fail_msg("seed %u:\n%s\nwas %s\nis  %s (%s)", i, text, as_json(v),
                     as_json(json_index(back, 0)), err.text ? err.text : "no error");
    }
}

static void random_bytes_never_crash_the_reader(void **state)
{
    static const char alphabet[] = "ab:-? \n\t[]{},&*!|>'\"%#<~.0x1";

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        char text[64];
        size_t len;
        struct json *v;

        arena_reset(&arena);
        seed = i * 7919u;
        len = pick(sizeof(text));
        for (size_t k = 0; k < len; k++)
            text[k] = pick(50) ? alphabet[pick(sizeof(alphabet) - 1)] : (char)pick(256);
        v = yaml_parse(&arena, text, len, NULL, NULL, NULL);
        if (v)
            (void)written(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(plain_scalars_mean_what_kubectl_takes_them_for, reset),
        cmocka_unit_test_setup(structures_become_the_same_values_as_json, reset),
        cmocka_unit_test_setup(a_stream_holds_several_documents_and_empty_ones_are_left_out, reset),
        cmocka_unit_test_setup(values_know_their_lines, reset),
        cmocka_unit_test_setup(malformed_text_is_refused_with_line_and_column, reset),
        cmocka_unit_test_setup(a_repeated_key_is_reported_and_the_last_one_counts, reset),
        cmocka_unit_test_setup(aliases_cannot_stand_for_more_than_the_ceiling, reset),
        cmocka_unit_test_setup(deep_nesting_is_refused, reset),
        cmocka_unit_test_setup(too_little_memory_is_an_error_not_a_crash, reset),
        cmocka_unit_test_setup(output_reads_like_kubectl_output, reset),
        cmocka_unit_test_setup(what_is_written_reads_back_the_same, reset),
        cmocka_unit_test_setup(random_bytes_never_crash_the_reader, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
