/* texts.c - small languages that users write: each a target. */
#include <stdlib.h>
#include <string.h>

#include "api/apply_merge.h"
#include "api/crd_kind.h"
#include "api/cron.h"
#include "api/duration.h"
#include "api/json_path.h"
#include "api/object.h"
#include "base/percent.h"
#include "base/shrink.h"
#include "base/timefmt.h"
#include "cli/command.h"
#include "cli/sweep_grid.h"
#include "client/kubeconfig.h"
#include "fuzz.h"

#define MEMORY_LIMIT_BYTES (32u * 1024u * 1024u)
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NOW_MS INT64_C(1700000000000)

static const char service_text[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\",\"labels\":{\"a\":"
    "\"b\"}},\"spec\":{\"ports\":[{\"port\":80,\"name\":\"h\"},{\"port\":443,\"protocol\":\"TCP\"}]"
    ",\"selector\":{\"x\":\"y\"}}}";

static void run_duration(struct chance *c, char *data, size_t len)
{
    int64_t ms;

    (void)c, (void)len;
    if (duration_parse_ms(data, &ms) == 0)
        FUZZ_CHECK(ms >= 0);
}

static void run_cron(struct chance *c, char *data, size_t len)
{
    auto_err err = ERR_INIT;
    int64_t after = (int64_t)chance_below(c, 4000000000) * 1000, next, last;
    struct cron cron;

    (void)len;
    if (cron_parse(data, &cron, &err) < 0)
        return;
    next = cron_next_ms(&cron, after);
    FUZZ_CHECK(next == 0 || next > after);
    if (next) { /* the two ways to look must agree */
        last = cron_last_ms(&cron, after, next);
        FUZZ_CHECK(last == next);
    }
}

static void run_time(struct chance *c, char *data, size_t len)
{
    char text[TIME_TEXT_SIZE];
    int64_t ms, again;

    (void)c, (void)len;
    if (time_parse(data, &ms) == 0 && ms >= 0 && ms < INT64_C(253402300800000)) {
        FUZZ_CHECK(time_parse(time_format(ms, text), &again) == 0);
        FUZZ_CHECK(again == ms - ms % 1000);
        (void)time_age(ms, text);
    }
}

static void run_percent(struct chance *c, char *data, size_t len)
{
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    struct buf b = BUF_INIT(MEMORY_LIMIT_BYTES);
    char *text = percent_decode(&a, data, len);

    (void)c;
    if (text) {
        percent_encode(&b, text);
        FUZZ_CHECK(!b.failed);
        FUZZ_CHECK(b.len == 0 || strcmp(percent_decode(&a, b.data, b.len), text) == 0);
    }
    (void)!percent_decode_query(&a, data, len);
    buf_release(&b);
    arena_release(&a);
}

static void run_json_path(struct chance *c, char *data, size_t len)
{
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    const struct json *service = json_parse(&a, service_text, strlen(service_text), NULL);

    (void)c, (void)len;
    if (*data && json_path_first(service, data))
        FUZZ_CHECK(json_path_is_valid(data));
    arena_release(&a);
}

/* What was applied twice is as if it was applied once. */
static void run_apply(struct chance *c, char *data, size_t len)
{
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    struct apply how = {.kind = &kind_service,
                        .manager = "m",
                        .operation = "Apply",
                        .subresource = "",
                        .force = chance_below(c, 2),
                        .now_ms = NOW_MS};
    const struct json *live = json_parse(&a, service_text, strlen(service_text), NULL);
    struct json *config = json_parse(&a, data, len, NULL), *next, *managed, *again;
    auto_err err = ERR_INIT;

    if (json_is(config, JSON_OBJECT) &&
        object_decode(&a, how.kind, config, FIELD_VALIDATION_IGNORE, NULL, NULL, &err) == 0 &&
        apply_merge(&a, &how, chance_below(c, 2) ? live : NULL, config, &next, &managed, &err) ==
            0 &&
        !arena_failed(&a)) {
        json_set(&a, json_make_object(&a, next, "metadata"), "managedFields",
                 json_clone(&a, managed));
        FUZZ_CHECK(apply_merge(&a, &how, next, config, &again, &managed, &err) == 0 ||
                   arena_failed(&a));
        (void)json_remove(json_get_mut(next, "metadata"), "managedFields");
        (void)json_remove(json_get_mut(again, "metadata"), "managedFields");
        FUZZ_CHECK(arena_failed(&a) || json_equal(next, again));
    }
    arena_release(&a);
}

static void run_kubeconfig(struct chance *c, char *data, size_t len)
{
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    struct client_config config;
    auto_err err = ERR_INIT;

    (void)c;
    if (kubeconfig_parse(&a, "/nowhere/config", data, len, &config, &err) == 0)
        (void)client_authorization(&a, &config);
    arena_release(&a);
}

/* An installed kind, and an object of it. */
static void run_crd(struct chance *c, char *data, size_t len)
{
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    struct json *crd = json_parse(&a, data, len, NULL), *object;
    const struct kind **installed;

    (void)c;
    if (json_is(crd, JSON_OBJECT) &&
        object_decode(&a, &kind_crd, crd, FIELD_VALIDATION_STRICT, NULL, NULL, &err) == 0 &&
        (installed = crd_kinds(&a, crd))) {
        for (; *installed; installed++) {
            object = json_parse(&a, service_text, strlen(service_text), NULL);
            (void)!object_decode(&a, *installed, object, FIELD_VALIDATION_IGNORE, NULL, NULL, &err);
            err_release(&err);
        }
        crd_set_status(&a, crd, NULL, NOW_MS);
    }
    arena_release(&a);
}

static void run_shrink(struct chance *c, char *data, size_t len)
{
    static struct shrinker shrinker;
    struct shrunk *t = shrink(&shrinker, data, len), *same = shrink(&shrinker, data, len);
    char *out = malloc(len + 1);

    (void)c;
    FUZZ_CHECK(t && out && same == t);
    shrunk_expand(t, out);
    FUZZ_CHECK(memcmp(out, data, len) == 0 && out[len] == '\0');
    free(out);
    shrunk_unref(t);
    shrunk_unref(same);
    if (chance_below(c, 1000) == 0)
        shrinker_release(&shrinker);
}

/* --- command lines ----------------------------------------------------------------------- */

static void check_sweep(struct arena *a, const struct args *args)
{
    static struct option_list sets;
    struct sweep_grid grid;
    auto_err err = ERR_INIT;

    sets.len = 0;
    for (size_t i = 0; i < args->len && strchr(args->list[i], '='); i++)
        sets.items[sets.len++] = args->list[i];
    sets.items[sets.len] = NULL;
    if (sweep_grid_read(a, &sets, args->list, args->len, &grid, &err) != 0)
        return;
    FUZZ_CHECK(grid.jobs > 0 && grid.jobs <= SWEEP_JOBS_LIMIT);
    for (size_t i = 0; i < args->len; i++)
        (void)sweep_grid_word(a, &grid, grid.jobs - 1, args->list[i]);
    (void)sweep_label_value(a, sweep_grid_text(a, &grid, 0));
}

/* Any command's options; the other words also as a sweep. */
static void run_command_line(struct chance *c, char *data, size_t len)
{
    static struct args args;
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    char *words[64], *rest = data;
    size_t known = 0;
    auto_err err = ERR_INIT;
    const struct command *command;
    void *values;
    int count = 0;

    (void)len;
    while (commands[known])
        known++;
    command = commands[chance_below(c, known)];
    while (count < (int)ELEMS(words) && (words[count] = strtok_r(rest, " ", &rest)))
        count++;
    values = arena_alloc(&a, max_size(command->options_size, 1));
    FUZZ_CHECK(values);
    if (options_parse(command->options, values, count, words, &args, &err) == 0) {
        FUZZ_CHECK(args.len <= (size_t)count && args.before_dashes <= args.len);
        check_sweep(&a, &args);
    }
    arena_release(&a);
}

/* --- the table --------------------------------------------------------------------------- */

const struct fuzz_target fuzz_texts[] = {
    {"duration", LIST("1d12h", "0", "90m", "1y2w3d4h5m6s7ms", "9223372036854775807s"),
     LIST("y", "w", "d", "h", "m", "s", "ms", "0", "-", "+", ".", " ", "99999999999"),
     run_duration},
    {"cron", LIST("0 3 * * 1-5", "@hourly", "*/15 0,12 1-31/2 JAN-MAR SUN", "0 0 30 2 *"),
     LIST("*", "/", ",", "-", "@daily", " ", "SUN", "DEC", "60", "0", "99999999999", "?", "\t"),
     run_cron},
    {"time",
     LIST("2024-02-29T23:59:60Z", "2023-11-14T22:13:20.123456Z", "1970-01-01T00:00:00+14:00"),
     LIST("T", "Z", "-", ":", "+", ".", "0000", "9999", "99", "\xff"), run_time},
    {"percent", LIST("a%20b", "%2F..%2f", "a+b=c&d", "%E4%BD%A0"),
     LIST("%", "%2", "%00", "%ff", "+", "/", "..", "\xff"), run_percent},
    {"jsonpath",
     LIST(".spec.ports[0].port", "..name", "['metadata']['labels'].a", ".spec.ports[-1:].port",
          ".spec.ports[?(@.port>79)].name", ".spec.ports[?(@.name==\"h\")].port", "[*]"),
     LIST(".", "..", "[", "]", "[*]", "[?(@", ")]", "==", "<=", "\"", "'", "\\.", ":", "-1", "@",
          "99999999999"),
     run_json_path},
    {"apply",
     LIST(service_text,
          "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\"},\"spec\":{"
          "\"ports\":[{\"port\":81}],\"externalIPs\":[\"1.2.3.4\"]}}"),
     LIST("{", "}", "[", "]", ",", "null", "\"ports\":[{\"port\":1}],", "\"protocol\":\"UDP\",",
          "\"finalizers\":[\"a\",\"a\"],", "\"labels\":{\"b\":null},", "\"managedFields\":[],"),
     run_apply},
    {"kubeconfig",
     LIST("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- {name: c, context: "
          "{cluster: k, user: u, namespace: n}}\nclusters:\n- name: k\n  cluster: {server: "
          "\"https://h:1/\", insecure-skip-tls-verify: true}\nusers:\n- name: u\n  user: {token: "
          "t}\n",
          "clusters: []\nusers: null\ncontexts: {}\n",
          "{\"current-context\":\"x\",\"users\":[{\"name\":\"u\",\"user\":{\"exec\":{\"command\":"
          "\"a\",\"args\":[\"b\"],\"apiVersion\":\"client.authentication.k8s.io/v1\"}}}]}"),
     LIST("\n", ": ", "- ", "{", "}", "[", "]", "null", "token: ", "exec:\n",
          "server: ", "certificate-authority-data: !!!", "username: u\n", "proxy-url: x\n", "\xff"),
     run_kubeconfig},
    {"crd",
     LIST("{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
          "\"metadata\":{\"name\":\"as.g.io\"},\"spec\":{\"group\":\"g.io\",\"names\":{\"kind\":"
          "\"A\",\"plural\":\"as\"},\"scope\":\"Namespaced\",\"versions\":[{\"name\":\"v1\","
          "\"served\":true,\"storage\":true,\"subresources\":{\"scale\":{\"specReplicasPath\":"
          "\".spec.n\",\"statusReplicasPath\":\".status.n\"}},\"additionalPrinterColumns\":[{"
          "\"name\":\"N\",\"type\":\"integer\",\"jsonPath\":\".spec.n\"}],\"schema\":{"
          "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","
          "\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"integer\",\"minimum\":0,"
          "\"default\":1},\"s\":{\"type\":\"string\",\"pattern\":\"^a+$\",\"enum\":[\"a\"]},\"l\":"
          "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":{\"type\":"
          "\"string\"}},\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":"
          "[\"k\"]}}}}}}}]}}"),
     LIST("{", "}", "[", "]", ",", "null", "\"type\":\"array\",", "\"items\":{", "\"$ref\":\"#\",",
          "\"nullable\":true,", "\"x-kubernetes-preserve-unknown-fields\":true,", "\"allOf\":[",
          "\"not\":{", "\"default\":{},", "\"pattern\":\"(((\",", "\"maximum\":-1e999,",
          "\"storage\":true,"),
     run_crd},
    {"shrink",
     LIST(service_text,
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          "abcdabcdabceabcfabcg", ""),
     LIST("abcd", "\"metadata\":{", "\xff\xff\xff\xff", "aaaaaaaaaaaaaaaa"), run_shrink},
    {"command_line",
     LIST("-f --name x --tail=3 -o jsonpath={.a} a b", "lr=0.1,0.01 bs=32 -- t {lr} {bs}",
          "--set lr=0.1,0.01 --set bs=32 -- t {lr} {bs}", "-Afnx --output yaml -- --all"),
     LIST(" ", "--", "-", "=", "--tail ", "--set ", "{lr}", ",", "{", "}", "-o", "\xff",
          "99999999999999999999"),
     run_command_line},
};
const size_t fuzz_text_count = ELEMS(fuzz_texts);
