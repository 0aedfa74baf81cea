/* json_test.c - parsing, malformed input, building, comparing, writing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

static struct arena arena = ARENA_INIT(64u << 20);

static int reset(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct json *parse(const char *text)
{
    return json_parse(&arena, text, strlen(text), NULL);
}

static const char *written(const struct json *v)
{
    struct buf out = BUF_INIT(64u << 20);
    const char *text;

    json_write(&out, v);
    text = arena_strdup(&arena, out.data ? out.data : "");
    buf_release(&out);
    return text;
}

#define assert_json(v, text) assert_string_equal(written(v), text)

static void good_text_comes_out_again(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"null", "null"},
        {" true ", "true"},
        {"false", "false"},
        {"0", "0"},
        {"-0", "0"},
        {"-12", "-12"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"9223372036854775808", "9223372036854775808"},
        {"123456789012345678901234567890", "123456789012345678901234567890"},
        {"1.50", "1.50"},
        {"1e5", "1e5"},
        {"1E+5", "1E+5"},
        {"-0.0", "-0.0"},
        {"\"\"", "\"\""},
        {"\"a\\u0041\\n\\/\\\"\\\\\\b\\f\\r\\t\"", "\"aA\\n/\\\"\\\\\\b\\f\\r\\t\""},
        {"\"\\u00e9\\u4e2d\\ud83d\\ude00\"", "\"é中😀\""},
        {"\"é中😀\"", "\"é中😀\""},
        {"\"\\ud800\"", "\"\xef\xbf\xbd\""},
        {"\"\\ud800x\"", "\"\xef\xbf\xbdx\""},
        {"\"\\ud800\\u0041\"", "\"\xef\xbf\xbd"
                               "A\""},
        {"\"\\udc00\"", "\"\xef\xbf\xbd\""},
        {"\"\\u0000\"", "\"\\u0000\""},
        {"\"\\u001f\x7f\"", "\"\\u001f\\u007f\""},
        {"[]", "[]"},
        {"[ ]", "[]"},
        {"[1,[2,[]],{}]", "[1,[2,[]],{}]"},
        {"{}", "{}"},
        {"{ \"a\" : 1 , \"b\" : { \"c\" : [ null ] } }", "{\"a\":1,\"b\":{\"c\":[null]}}"},
        {"{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}"},
        {"{\"\":1}", "{\"\":1}"},
        {"\r\n\t [1]\r\n", "[1]"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const struct json *v = parse(cases[i].in);

        if (!v)
            fail_msg("%s was refused", cases[i].in);
        assert_json(v, cases[i].out);
    }
}

static void malformed_text_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text, *place;
    } cases[] = {
        {"", "line 1, column 1"},
        {"   ", "line 1, column 4"},
        {"nul", "line 1, column 1"},
        {"True", "line 1, column 1"},
        {"'a'", "line 1, column 1"},
        {"{", "line 1, column 2"},
        {"{\n  \"a\": 1,\n  b: 2\n}", "line 3, column 3"},
        {"{\"a\" 1}", "line 1, column 6"},
        {"{\"a\":}", "line 1, column 6"},
        {"{\"a\":1,}", "line 1, column 8"},
        {"{\"a\":1 \"b\":2}", "line 1, column 8"},
        {"{1:2}", "line 1, column 2"},
        {"[1,]", "line 1, column 4"},
        {"[1 2]", "line 1, column 4"},
        {"[1", "line 1, column 3"},
        {"[\n\n1,\n x]", "line 4, column 2"},
        {"\"abc", "line 1, column 5"},
        {"\"a\nb\"", "line 1, column 3"},
        {"\"a\tb\"", "line 1, column 3"},
        {"\"\\x\"", "line 1, column 3"},
        {"\"\\u12\"", "line 1"},
        {"\"\\u12g4\"", "line 1"},
        {"\"\\", "line 1"},
        {"\"\xff\"", "line 1, column 2"},
        {"\"\xc3\"", "line 1, column 2"},
        {"\"\xed\xa0\x80\"", "line 1, column 2"},
        {"\"\xc0\xaf\"", "line 1, column 2"},
        {"\"\xf5\x80\x80\x80\"", "line 1, column 2"},
        {"01", "line 1"},
        {"-", "line 1"},
        {"-a", "line 1"},
        {"1.", "line 1"},
        {"1.e5", "line 1"},
        {".5", "line 1"},
        {"1e", "line 1"},
        {"1e+", "line 1"},
        {"1.2.3", "line 1"},
        {"1-2", "line 1"},
        {"+1", "line 1"},
        {"0x10", "line 1"},
        {"NaN", "line 1"},
        {"1 2", "line 1, column 3"},
        {"{} x", "line 1, column 4"},
        {"// c\n1", "line 1"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        char place[64];

        if (json_parse(&arena, cases[i].text, strlen(cases[i].text), &err))
            fail_msg("'%s' was taken", cases[i].text);
        assert_int_equal(err.reason, ERR_BAD_REQUEST);
        (void)snprintf(place, sizeof(place), "JSON, %s", cases[i].place);
        if (strncmp(err.text, place, strlen(place)) != 0)
            fail_msg("'%s': %s", cases[i].text, err.text);
        assert_true(err.line > 0);
    }
}

static void nul_bytes_do_not_end_the_text(void **state)
{
    const struct json *v = parse("\"a\\u0000b\"");

    (void)state;
    assert_int_equal(v->len, 3);
    assert_memory_equal(v->u.text, "a\0b", 4);
    assert_null(json_parse(&arena, "1\0", 2, NULL));
    assert_null(json_parse(&arena, "\"\0\"", 3, NULL));
}

static void depth_has_a_limit(void **state)
{
    char text[2 * JSON_DEPTH_LIMIT + 4];
    auto_err err = ERR_INIT;

    (void)state;
    memset(text, '[', JSON_DEPTH_LIMIT);
    memset(text + JSON_DEPTH_LIMIT, ']', JSON_DEPTH_LIMIT);
    assert_non_null(json_parse(&arena, text, 2 * JSON_DEPTH_LIMIT, NULL));
    memset(text, '[', JSON_DEPTH_LIMIT + 1);
    memset(text + JSON_DEPTH_LIMIT + 1, ']', JSON_DEPTH_LIMIT + 1);
    assert_null(json_parse(&arena, text, 2 * JSON_DEPTH_LIMIT + 2, &err));
    assert_non_null(strstr(err.text, "nested too deeply"));
}

static void every_cut_of_a_text_is_refused_not_overrun(void **state)
{
    const char *text = "{\"a\":[1,-2.5e3,true,null,\"x\\u00e9\\ud83d\\ude00y\",{\"é\":{}}]}";

    (void)state;
    for (size_t n = 0; n < strlen(text); n++) {
        char *cut = malloc(n + 1); /* exactly as long: an overrun is seen by the sanitizer */

        memcpy(cut, text, n);
        if (json_parse(&arena, cut, n, NULL))
            fail_msg("%.*s was taken", (int)n, text);
        free(cut);
    }
    assert_non_null(parse(text));
}

static void too_little_memory_is_an_error(void **state)
{
    const char *text = "{\"a\":[1,2.5,\"x\"],\"b\":{\"c\":\"d\"}}";
    bool fits = false;

    (void)state;
    for (size_t limit = 0; !fits; limit += 16) {
        struct arena small = ARENA_INIT(limit);
        auto_err err = ERR_INIT;

        fits = json_parse(&small, text, strlen(text), &err);
        if (!fits)
            assert_int_equal(err.reason, ERR_TOO_LARGE);
        arena_release(&small);
        assert_true(limit < 4096);
    }
}

static void values_know_their_lines(void **state)
{
    const struct json *v = parse("{\n\"a\": 1,\n\n\"b\": [\n2,\n3]}");

    (void)state;
    assert_int_equal(v->line, 1);
    assert_int_equal(json_get(v, "a")->line, 2);
    assert_int_equal(json_get(v, "b")->line, 4);
    assert_int_equal(json_index(json_get(v, "b"), 1)->line, 6);
}

static void count_duplicate(void *arg, const char *key, unsigned line)
{
    char *out = arg;

    (void)sprintf(out + strlen(out), "%s@%u ", key, line);
}

static void repeated_keys_are_reported(void **state)
{
    const char *text = "{\"a\":1,\n\"b\":2,\n\"a\":{\"c\":1,\"c\":2}}";
    char said[64] = "";

    (void)state;
    assert_json(json_parse_reporting(&arena, text, strlen(text), count_duplicate, said, NULL),
                "{\"a\":{\"c\":2},\"b\":2}");
    assert_string_equal(said, "c@3 a@3 ");
}

/* More members than are searched one by one, some of them twice. */
static void large_objects_find_their_repeated_keys(void **state)
{
    struct buf text = BUF_INIT(16u << 20);
    char *said = calloc(1, 1u << 16);
    const struct json *v;
    char key[16];

    (void)state;
    buf_addc(&text, '{');
    for (int i = 0; i < 50000; i++)
        buf_addf(&text, "\"k%d\":%d,", i, i);
    buf_adds(&text, "\"k7\":-1,\"k40000\":-2,\"last\":-3}");
    v = json_parse_reporting(&arena, text.data, text.len, count_duplicate, said, NULL);
    assert_string_equal(said, "k7@1 k40000@1 ");
    assert_int_equal(json_len(v), 50001);
    for (int i = 0; i < 50000; i += 997) {
        (void)snprintf(key, sizeof(key), "k%d", i);
        assert_int_equal(json_get_int(v, key, -9), i);
    }
    assert_int_equal(json_get_int(v, "k7", 0), -1);
    assert_int_equal(json_get_int(v, "k40000", 0), -2);
    assert_int_equal(json_get_int(v, "last", 0), -3);
    free(said);
    buf_release(&text);
}

static void readers_take_anything(void **state)
{
    const struct json *v = parse(
        "{\"s\":\"x\",\"i\":5,\"b\":true,\"o\":{\"p\":{\"q\":1}},\"l\":[1,2]}");

    (void)state;
    assert_string_equal(json_get_string(v, "s", "-"), "x");
    assert_string_equal(json_get_string(v, "i", "-"), "-");
    assert_string_equal(json_get_string(NULL, "i", "-"), "-");
    assert_int_equal(json_get_int(v, "i", 0), 5);
    assert_int_equal(json_get_int(v, "s", -1), -1);
    assert_true(json_get_bool(v, "b", false));
    assert_false(json_get_bool(v, "x", false));
    assert_int_equal(json_int(json_at(v, "o", "p", "q"), 0), 1);
    assert_null(json_at(v, "o", "x", "q"));
    assert_null(json_at(NULL, "o"));
    assert_int_equal(json_int(json_index(json_get(v, "l"), 1), 0), 2);
    assert_null(json_index(json_get(v, "l"), 2));
    assert_null(json_index(v, 0));
    assert_int_equal(json_len(json_get(v, "s")), 0);
    assert_null(json_first(json_get(v, "s")));
    assert_true(json_is_null(NULL));
    assert_true(json_string_is(json_get(v, "s"), "x"));
    assert_false(json_string_is(NULL, "x"));
}

static void texts_of_a_list_are_an_argv(void **state)
{
    const char *const *words = json_strings(&arena, parse("[\"sh\",\"\",7,\"-c\"]"));

    (void)state;
    assert_string_equal(words[0], "sh");
    assert_string_equal(words[1], "");
    assert_string_equal(words[2], "");
    assert_string_equal(words[3], "-c");
    assert_null(words[4]);
    assert_null(json_strings(&arena, NULL)[0]);
    assert_null(json_strings(&arena, parse("\"sh\""))[0]);
}

static void building_and_changing(void **state)
{
    struct json *o = json_new_object(&arena), *l;

    (void)state;
    json_set_string(&arena, o, "a", "x");
    json_set_int(&arena, o, "b", 1);
    json_set_bool(&arena, o, "c", true);
    json_set_stringf(&arena, o, "d", "%d-%s", 5, "y");
    json_set_int(&arena, o, "b", 2); /* in place */
    assert_json(o, "{\"a\":\"x\",\"b\":2,\"c\":true,\"d\":\"5-y\"}");
    assert_int_equal(json_len(o), 4);
    json_set_string(&arena, o, "z", NULL); /* nothing */
    json_set(&arena, o, "z", NULL);
    assert_int_equal(json_len(o), 4);
    assert_true(json_remove(o, "d"));
    assert_false(json_remove(o, "d"));
    assert_true(json_remove(o, "a"));
    json_set_int(&arena, o, "e", 3); /* last is still right */
    assert_json(o, "{\"b\":2,\"c\":true,\"e\":3}");
    l = json_make_array(&arena, o, "l");
    json_append_string(&arena, l, "p");
    json_append(l, json_new_null(&arena));
    json_append(l, NULL);
    json_append_string(&arena, json_make_array(&arena, o, "l"), "q");
    json_set_int(&arena, json_make_object(&arena, o, "b"), "deep", 1); /* replaces another type */
    assert_json(o, "{\"b\":{\"deep\":1},\"c\":true,\"e\":3,\"l\":[\"p\",null,\"q\"]}");
    assert_true(json_remove_item(l, json_index(l, 2)));
    json_append_string(&arena, l, "r");
    assert_json(l, "[\"p\",null,\"r\"]");
    assert_false(json_remove_item(l, o));
    json_set_int(&arena, NULL, "x", 1);
    json_append(NULL, json_new_null(&arena));
}

static void clones_are_equal_and_apart(void **state)
{
    struct json *v = parse("{\"a\":[1,2.50,\"x\\u0000y\",true,null,{\"b\":{}}],\"c\":[]}");
    struct json *copy = json_clone(&arena, v);

    (void)state;
    assert_true(json_equal(v, copy));
    assert_int_equal(copy->line, v->line);
    json_set_int(&arena, copy, "c", 1);
    assert_false(json_equal(v, copy));
    assert_json(json_get(v, "c"), "[]");
    assert_null(json_clone(&arena, NULL));
}

static void packed_is_equal_and_in_one_piece(void **state)
{
    struct json *v = parse("{\"a\":[1,2.50,\"x\\u0000y\",true,null,{\"b\":{}}],\"c\":[]}");
    struct json *copy = json_pack(v, NULL);

    (void)state;
    assert_non_null(copy);
    arena_reset(&arena); /* nothing of it is elsewhere */
    assert_json(copy, "{\"a\":[1,2.50,\"x\\u0000y\",true,null,{\"b\":{}}],\"c\":[]}");
    assert_int_equal(json_len(json_get(copy, "a")), 6);
    free(copy);
}

static void packed_values_share_their_members_names(void **state)
{
    static struct json_words words;
    const char *text = "{\"name\":1,\"n\":{\"name\":2},\"nam\":3,\"n\\u0000\":4}";
    struct json *a = json_pack(parse(text), &words), *b = json_pack(parse(text), &words);

    (void)state;
    assert_non_null(a);
    assert_non_null(b);
    arena_reset(&arena);
    assert_json(a, text);
    assert_json(b, text);
    assert_ptr_equal(json_get(a, "name")->key, json_get(b, "name")->key);
    assert_ptr_equal(json_get(a, "name")->key, json_at(b, "n", "name")->key);
    assert_int_equal(words.used, 3); /* a NUL would end it too early */
    free(a);
    free(b);
}

/* Invented names do not fill shared memory. */
static void only_so_many_names_are_shared(void **state)
{
    static struct json_words words;
    char text[64];

    (void)state;
    for (int i = 0; i < 3 * JSON_WORDS_SLOTS; i++) {
        struct json *packed;

        (void)snprintf(text, sizeof(text), "{\"member-%d\":%d}", i, i);
        packed = json_pack(parse(text), &words);
        assert_non_null(packed);
        arena_reset(&arena);
        assert_json(packed, text);
        free(packed);
    }
    assert_int_equal(words.used, JSON_WORDS_SLOTS / 2);
}

static void equality_ignores_member_order_only(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true},
        {"[1,2]", "[2,1]", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":1,\"c\":2}", "{\"a\":1,\"b\":2}", false},
        {"1", "1.0", false},
        {"\"a\"", "\"a\\u0000\"", false},
        {"null", "false", false},
        {"{}", "[]", false},
        {"{\"a\":[{\"b\":null}]}", "{\"a\":[{\"b\":null}]}", true},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        assert_int_equal(json_equal(parse(cases[i].a), parse(cases[i].b)), cases[i].equal);
    assert_true(json_equal(NULL, parse("null")));
}

static void output_is_valid_whatever_the_bytes(void **state)
{
    struct buf out = BUF_INIT(1024);

    (void)state;
    json_write_string(&out,
                      "a\xff"
                      "b\xc3",
                      4);
    assert_string_equal(out.data, "\"a\xef\xbf\xbd"
                                  "b\xef\xbf\xbd\"");
    buf_release(&out);
}

/* Strings are read and written in pieces: each byte at each place of them. */
static void every_byte_is_itself_wherever_it_stands(void **state)
{
    (void)state;
    for (size_t at = 0; at < 20; at++)
        for (int byte = 1; byte < 0x80; byte++) {
            char text[21] = "abcdefghijklmnopqrst", raw[24];
            struct json *v;

            text[at] = (char)byte;
            v = parse(written(json_new_string(&arena, text)));
            assert_non_null(v);
            assert_string_equal(json_string(v, NULL), text);
            snprintf(raw, sizeof(raw), "\"%s\"", text);
            if (byte != '\\')
                assert_int_equal(parse(raw) != NULL, byte >= 0x20 && byte != '"');
        }
}

static void pretty_output_is_indented_by_two(void **state)
{
    struct buf out = BUF_INIT(1024);

    (void)state;
    json_write_pretty(&out, parse("{\"a\":[1,{}],\"b\":[],\"c\":{\"d\":null}}"));
    assert_string_equal(out.data,
                        "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": [],\n  \"c\": {\n    "
                        "\"d\": null\n  }\n}\n");
    buf_release(&out);
}

static uint64_t seed;

static unsigned pick(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static void random_bytes_parse_or_fail_and_what_parses_is_stable(void **state)
{
    static const char alphabet[] = "{}[]\",:0123456789.eE+-truefalsn\\u \n\xc3\xa9";

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        char text[24];
        size_t len;
        struct json *v;

        arena_reset(&arena);
        seed = i;
        len = pick(sizeof(text));
        for (size_t k = 0; k < len; k++)
            text[k] = alphabet[pick(sizeof(alphabet) - 1)];
        v = json_parse(&arena, text, len, NULL);
        if (v) {
            const char *once = written(v);
            const struct json *again = parse(once);

            assert_non_null(again);
            assert_true(json_equal(v, again));
            assert_json(again, once);
        }
    }
}

static const struct json_part skimmed_items[] = {{"b", NULL}, {NULL, NULL}};
static const struct json_part skimmed_parts[] = {
    {"a", NULL}, {"list", skimmed_items}, {"deep", skimmed_items}, {NULL, NULL}};

static void assert_skimmed(const char *text, const char *expected)
{
    const struct json *v = json_skim(&arena, text, strlen(text), skimmed_parts, NULL);

    assert_non_null(v);
    assert_json(v, expected);
}

static void skimming_finds_the_wanted_members_alone(void **state)
{
    (void)state;
    assert_skimmed("{}", "{}");
    assert_skimmed(" { \"x\" : [ 1 , {\"a\":2} ] , \"a\" : {\"x\":[1]} } ", "{\"a\":{\"x\":[1]}}");
    assert_skimmed("{\"x\":\"}]\\\"\\\\\",\"a\":\"\\u00e9\\\\\"}", "{\"a\":\"\u00e9\\\\\"}");
    assert_skimmed(
        "{\"list\":[{\"a\":1,\"b\":2},{},{\"b\":[3]}],\"aa\":1,\"deep\":{\"c\":{\"b\":1},"
        "\"b\":null},\"z\":\"\"}",
        "{\"list\":[{\"b\":2},{},{\"b\":[3]}],\"deep\":{\"b\":null}}");
    assert_skimmed("{\"list\":7,\"deep\":\"x\",\"a\":[]}", "{\"list\":7,\"deep\":\"x\",\"a\":[]}");
}

static void a_members_text_is_found_where_it_stands(void **state)
{
    static const char text[] = "{\"x\":{\"m\":1}, \"m\" : {\"m\":[2]} ,\"n\":\"last\"}";
    size_t len;

    (void)state;
    assert_ptr_equal(json_member_text(text, strlen(text), "m", &len), strstr(text, "{\"m\":[2]}"));
    assert_int_equal(len, strlen("{\"m\":[2]} "));
    assert_ptr_equal(json_member_text(text, strlen(text), "n", &len), strstr(text, "\"last\""));
    assert_int_equal(len, strlen("\"last\""));
    assert_null(json_member_text(text, strlen(text), "o", &len));
    assert_null(json_member_text("[]", 2, "m", &len));
    assert_null(json_member_text("{}", 2, "m", &len));
    for (size_t cut = 0; cut < 14; cut++)
        assert_null(json_member_text(text, cut, "m", &len));
}

static void every_cut_is_refused_when_skimming(void **state)
{
    static const char text[] = "{\"x\":[{\"y\":\"\\\\\"}],\"a\":{\"b\":1},\"list\":[{\"b\":2}]}";

    (void)state;
    for (size_t len = 0; len < sizeof(text) - 1; len++) {
        char *cut = malloc(len + 1); /* so that reading behind it is seen */

        assert_non_null(cut);
        memcpy(cut, text, len);
        assert_null(json_skim(&arena, cut, len, skimmed_parts, NULL));
        free(cut);
    }
}

struct seen_items {
    char text[256];
    unsigned left;
};

static int see_item(void *arg, const struct json *item, const char *text, size_t len)
{
    struct seen_items *s = arg;
    size_t at = strlen(s->text);

    (void)snprintf(s->text + at, sizeof(s->text) - at, "%s=%.*s ", written(item), (int)len, text);
    return s->left-- ? 0 : -1;
}

static void a_list_is_skimmed_item_by_item(void **state)
{
    static const char text[] = "{\"kind\":\"L\",\"items\":[ {\"b\":1,\"c\":[2]} ,{\"c\":{}}],"
                               "\"other\":[{\"b\":1}],\"metadata\":{\"continue\":\"x\"}}";
    struct seen_items seen = {.left = 9};

    (void)state;
    assert_json(json_skim_list(&arena, text, strlen(text), skimmed_items, see_item, &seen, NULL),
                "{\"kind\":\"L\",\"items\":[],\"metadata\":{\"continue\":\"x\"}}");
    assert_string_equal(seen.text, "{\"b\":1}={\"b\":1,\"c\":[2]} {}={\"c\":{}} ");
    seen = (struct seen_items){.left = 0};
    assert_null(json_skim_list(&arena, text, strlen(text), skimmed_items, see_item, &seen, NULL));
    assert_string_equal(seen.text, "{\"b\":1}={\"b\":1,\"c\":[2]} ");
}

/* Texts of our own encoder: what is skimmed is what is parsed. */
static void skimming_agrees_with_parsing(void **state)
{
    static const char alphabet[] = "{}[]\",:01.e-truefalsn\\u \nab\xc3\xa9";
    const char *names[] = {"a", "b"};

    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        char text[40] = "{\"a\":";
        size_t len = strlen(text), more;
        const struct json *v, *s;

        arena_reset(&arena);
        seed = i;
        more = pick(sizeof(text) - 16);
        for (size_t k = 0; k < more; k++)
            text[len++] = alphabet[pick(sizeof(alphabet) - 1)];
        len += (size_t)snprintf(text + len, sizeof(text) - len, ",\"b\":1}");
        v = json_parse(&arena, text, len, NULL);
        for (size_t n = 0; v && n < 2; n++) {
            const struct json_part parts[] = {{names[n], NULL}, {NULL, NULL}};

            s = json_skim(&arena, text, len, parts, NULL);
            assert_non_null(s);
            assert_true(json_equal(json_get(s, names[n]), json_get(v, names[n])) ||
                        json_len(v) != 2);
        }
    }
}

static void close_one(struct buf *text, char bracket)
{
    buf_addf(text, "%s%c,", bracket == '}' ? "\"z\":2" : "3", bracket);
}

/* Brackets, quotes and escapes at every place of a long value that is skipped. */
static void long_values_are_skipped_whatever_they_hold(void **state)
{
    static const char *const pieces[] = {
        "{\"k\":[],", "[1,",       "\"]}\",",
        "\"\\\"{\",", "\"\\\\\",", "\n",
        "\"\",",      "1,",        "\"a\xc3\xa9longer text, of letters\","};
    struct buf text = BUF_INIT(4096);

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        char closing[16];
        size_t depth = 0, wanted;

        seed = i;
        wanted = pick(300);
        arena_reset(&arena);
        buf_clear(&text);
        buf_adds(&text, "{\"x\":[");
        while (text.len < wanted) {
            size_t which = pick(ELEMS(pieces));

            if (which > 1 || depth < sizeof(closing))
                buf_adds(&text, pieces[which]);
            if (which < 2 && depth < sizeof(closing))
                closing[depth++] = which ? ']' : '}';
            else if (depth && pick(4) == 0)
                close_one(&text, closing[--depth]);
        }
        while (depth)
            close_one(&text, closing[--depth]);
        buf_adds(&text, "4],\"a\":\"found\"}");
        assert_false(text.failed);
        assert_skimmed(text.data, "{\"a\":\"found\"}");
        for (size_t len = text.len - pick(40); len < text.len; len++)
            assert_null(json_skim(&arena, text.data, len, skimmed_parts, NULL));
    }
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(good_text_comes_out_again, reset),
        cmocka_unit_test_setup(malformed_text_is_refused_with_its_place, reset),
        cmocka_unit_test_setup(nul_bytes_do_not_end_the_text, reset),
        cmocka_unit_test_setup(depth_has_a_limit, reset),
        cmocka_unit_test_setup(every_cut_of_a_text_is_refused_not_overrun, reset),
        cmocka_unit_test_setup(too_little_memory_is_an_error, reset),
        cmocka_unit_test_setup(values_know_their_lines, reset),
        cmocka_unit_test_setup(repeated_keys_are_reported, reset),
        cmocka_unit_test_setup(large_objects_find_their_repeated_keys, reset),
        cmocka_unit_test_setup(readers_take_anything, reset),
        cmocka_unit_test_setup(texts_of_a_list_are_an_argv, reset),
        cmocka_unit_test_setup(building_and_changing, reset),
        cmocka_unit_test_setup(clones_are_equal_and_apart, reset),
        cmocka_unit_test_setup(packed_is_equal_and_in_one_piece, reset),
        cmocka_unit_test_setup(packed_values_share_their_members_names, reset),
        cmocka_unit_test_setup(only_so_many_names_are_shared, reset),
        cmocka_unit_test_setup(equality_ignores_member_order_only, reset),
        cmocka_unit_test_setup(output_is_valid_whatever_the_bytes, reset),
        cmocka_unit_test_setup(every_byte_is_itself_wherever_it_stands, reset),
        cmocka_unit_test_setup(pretty_output_is_indented_by_two, reset),
        cmocka_unit_test_setup(skimming_finds_the_wanted_members_alone, reset),
        cmocka_unit_test_setup(a_members_text_is_found_where_it_stands, reset),
        cmocka_unit_test_setup(every_cut_is_refused_when_skimming, reset),
        cmocka_unit_test_setup(a_list_is_skimmed_item_by_item, reset),
        cmocka_unit_test_setup(skimming_agrees_with_parsing, reset),
        cmocka_unit_test_setup(long_values_are_skipped_whatever_they_hold, reset),
        cmocka_unit_test_setup(random_bytes_parse_or_fail_and_what_parses_is_stable, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
