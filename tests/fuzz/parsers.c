/* parsers.c - what turns bytes of a stranger into something else: each a target. */
#include <stdlib.h>
#include <string.h>

#include "../unit/board/fuzz.h"
#include "api/cel.h"
#include "api/json_path.h"
#include "api/kind.h"
#include "api/managed.h"
#include "api/object.h"
#include "api/patch.h"
#include "api/protobuf.h"
#include "api/quantity.h"
#include "api/selector.h"
#include "api/yaml.h"
#include "base/timefmt.h"
#include "fuzz.h"
#include "net/http_answer.h"
#include "net/http_head.h"
#include "net/spdy.h"
#include "net/websocket.h"
#include "server/webhooks.h"

#define MEMORY_LIMIT_BYTES (32u * 1024u * 1024u)
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char pod_text[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"b\"},"
    "\"ownerReferences\":[{\"uid\":\"u\",\"name\":\"o\"}]},\"spec\":{\"containers\":[{\"name\":"
    "\"c\",\"image\":\"i\",\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\"}],\"ports\":["
    "{\"containerPort\":80}],\"resources\":{\"limits\":{\"cpu\":\"1500m\",\"memory\":\"1Gi\"}}}],"
    "\"volumes\":[{\"name\":\"v\",\"emptyDir\":{\"medium\":\"Memory\"}}],\"tolerations\":[{\"key\":"
    "\"k\"}]},\"status\":{\"phase\":\"Running\"}}";

static const char job_yaml[] =
    "apiVersion: batch.tensorstack.dev/v1beta1\nkind: PyTorchTrainingJob\nmetadata: {name: j}\n"
    "spec:\n  runPolicy: &p {cleanUpPolicy: All}\n  other: *p\n  replicaSpecs:\n  - type: worker\n"
    "    replicas: 4\n    template:\n      spec:\n        containers:\n        - name: python\n"
    "          command: [python, \"-c\", |\n            print(1)\n          ]\n";

/* --- text ------------------------------------------------------------------------------ */

static void ignore_duplicate(void *arg, const char *key, unsigned line)
{
    (void)arg, (void)key, (void)line;
}

/* What is written can be read, though bad UTF-8 is mended on the way. */
static void check_readable(struct arena *a, const struct json *v)
{
    struct buf b = BUF_INIT(MEMORY_LIMIT_BYTES);

    json_write(&b, v);
    FUZZ_CHECK(b.failed || json_parse(a, b.data, b.len, NULL) || arena_failed(a));
    buf_release(&b);
}

/* What was read and written again is read as the same. */
static void check_written(struct arena *a, const struct json *v)
{
    struct buf b = BUF_INIT(MEMORY_LIMIT_BYTES);
    struct json *again;

    json_write(&b, v);
    if (!b.failed && b.data) {
        again = json_parse(a, b.data, b.len, NULL);
        FUZZ_CHECK(arena_failed(a) || json_equal(v, again));
    }
    buf_release(&b);
}

static void run_json(struct chance *c, char *data, size_t len)
{
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    struct json *v = json_parse_reporting(&a, data, len, ignore_duplicate, NULL, &err);

    (void)c;
    FUZZ_CHECK(v || err.text[0]);
    if (v)
        check_written(&a, v);
    arena_release(&a);
}

static void run_yaml(struct chance *c, char *data, size_t len)
{
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    struct buf b = BUF_INIT(MEMORY_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    struct json *v = yaml_parse(&a, data, len, ignore_duplicate, NULL, &err);

    (void)c;
    if (v) {
        check_written(&a, v);
        yaml_write(&b, json_index(v, 0));
    }
    buf_release(&b);
    arena_release(&a);
}

/* What was read and written again is read as the same. */
static void run_protobuf(struct chance *c, char *data, size_t len)
{
    static const struct kind *const tried[] = {&kind_config_map, &kind_event, &kind_pod, &kind_crd,
                                               &kind_delete_options};
    const struct kind *k = tried[chance_below(c, ELEMS(tried))];
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    struct buf bytes = BUF_INIT(MEMORY_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    char *body = malloc(len + 4);
    struct json *v, *again;

    if (!body)
        fuzz_fail("there is memory");
    memcpy(body, "k8s", 4); /* without the magic nothing else is looked at */
    memcpy(body + 4, data, len);
    v = protobuf_parse(&a, k, body, len + 4, NULL, NULL, &err);
    if (v && strcmp(json_get_string(v, "kind", k->name), k->name) == 0) {
        check_readable(&a, v);
        json_remove(v, "kind");
        json_remove(v, "apiVersion");
        protobuf_write(&bytes, &a, k, v);
        again = protobuf_parse(&a, k, bytes.data, bytes.len, NULL, NULL, &err);
        json_remove(again, "kind");
        json_remove(again, "apiVersion");
        FUZZ_CHECK(arena_failed(&a) || bytes.failed || json_equal(v, again));
    }
    free(body);
    buf_release(&bytes);
    arena_release(&a);
}

static void run_selectors(struct chance *c, char *data, size_t len)
{
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    const struct json *pod = json_parse(&a, pod_text, strlen(pod_text), NULL);
    const struct label_selector *labels;
    const struct field_selector *fields;

    (void)c, (void)len;
    if (label_selector_parse(&a, data, &labels, &err) == 0)
        (void)label_selector_matches(labels, object_labels(pod));
    err_release(&err);
    if (field_selector_parse(&a, &kind_pod, data, &fields, &err) == 0) {
        (void)field_selector_matches(fields, pod);
        (void)field_selector_name(fields);
    }
    (void)json_path_first(pod, data);
    (void)json_path_is_valid(data);
    arena_release(&a);
}

static void run_quantity(struct chance *c, char *data, size_t len)
{
    char text[QUANTITY_TEXT_SIZE];
    int64_t value, again;

    (void)c, (void)len;
    if (quantity_milli(data, &value) == 0 && value >= 0) {
        FUZZ_CHECK(quantity_milli(quantity_format_milli(value, text), &again) == 0);
        FUZZ_CHECK(again == value);
    }
    (void)!quantity_value(data, &value);
}

static void run_expression(struct chance *c, char *data, size_t len)
{
    static const struct cel_variable variables[] = {
        {.name = "self"}, {.name = "oldSelf", .optional = true}, {0}};
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    const struct json *values[] = {json_parse(&a, pod_text, strlen(pod_text), NULL), NULL};
    struct cel_run run = {.arena = &a, .values = values, .cost_left = CEL_CALL_COST / 20};
    struct cel *e = cel_read(&a, data, variables, NULL);

    (void)c, (void)len;
    if (e) {
        (void)!cel_value(e, &run, NULL);
        FUZZ_CHECK(run.cost_left >= 0);
    }
    arena_release(&a);
}

static struct json *with_managers(struct arena *a, const char *text)
{
    struct json *pod = json_parse(a, pod_text, strlen(pod_text), NULL);

    managed_load(a, pod, text, strlen(text));
    return pod;
}

/* What is read of the stored form of managedFields is stored as the same. */
static void run_managed(struct chance *c, char *data, size_t len)
{
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    struct buf text = BUF_INIT(MEMORY_LIMIT_BYTES);
    struct json *pod = with_managers(&a, data);
    const struct json *list = managed_list(&a, &kind_pod, pod), *again;

    (void)c, (void)len;
    managed_store(&text, pod);
    again = managed_list(&a, &kind_pod, with_managers(&a, text.data ? text.data : ""));
    FUZZ_CHECK(text.failed || arena_failed(&a) || (list && json_equal(list, again)));
    if (list && json_len(list))
        FUZZ_CHECK(managed_take(&a, &kind_pod, pod, list) || arena_failed(&a));
    buf_release(&text);
    arena_release(&a);
}

#define WEBHOOK_ANSWER(rest)                                                                       \
    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":{\"uid\":"  \
    "\"u\",\"allowed\":" rest "}}"

static void run_webhook(struct chance *c, char *data, size_t len)
{
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    const struct json *pod = json_parse(&a, pod_text, strlen(pod_text), NULL);
    auto_err err = ERR_INIT;
    struct webhook_answer answer;

    (void)c;
    if (webhook_answer_read(&a, data, len, "u", &answer, &err) < 0)
        FUZZ_CHECK(err.text[0]);
    else if (!answer.allowed)
        FUZZ_CHECK(webhook_answer_refuse(&answer, "h", &err) < 0 && err.text[0]);
    else if (answer.patch)
        (void)!patch_json(&a, pod, answer.patch, &err);
    arena_release(&a);
}

static void run_patch(struct chance *c, char *data, size_t len)
{
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    const struct json *pod = json_parse(&a, pod_text, strlen(pod_text), NULL);
    const struct json *patch = json_parse(&a, data, len, NULL);
    struct json *once;

    (void)c;
    if (patch) {
        once = patch_merge(&a, pod, patch);
        FUZZ_CHECK(arena_failed(&a) || json_equal(once, patch_merge(&a, once, patch)));
        (void)!patch_json(&a, pod, patch, &err);
        err_release(&err);
        (void)!patch_strategic(&a, &kind_pod, pod, patch, &err);
    }
    arena_release(&a);
}

static void run_object(struct chance *c, char *data, size_t len)
{
    static const char *const types[] = {"application/json", "application/yaml", NULL};
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    struct json *v = object_parse(&a, NULL, types[chance_below(c, ELEMS(types))], data, len, NULL,
                                  NULL, &err);

    if (v && json_is(v, JSON_OBJECT))
        (void)!object_decode(&a, &kind_pod, v, FIELD_VALIDATION_STRICT, NULL, NULL, &err);
    arena_release(&a);
}

/* --- frames ---------------------------------------------------------------------------- */

static void run_events(struct chance *c, char *data, size_t len)
{
    (void)c;
    (void)board_fuzz(data, len);
}

static void take_part(void *arg, bool first, const char *data, size_t len)
{
    (void)arg, (void)first, (void)data, (void)len;
}

static void take_control(void *arg, enum websocket_opcode opcode, const char *data, size_t len)
{
    (void)arg, (void)opcode, (void)data;
    FUZZ_CHECK(len <= WEBSOCKET_CONTROL_LIMIT_BYTES);
}

static void run_websocket(struct chance *c, char *data, size_t len)
{
    static const struct websocket_handler handler = {.part = take_part, .control = take_control};
    struct websocket w;

    websocket_init(&w, &handler, NULL);
    while (len) {
        size_t n = 1 + chance_below(c, len);

        if (websocket_feed(&w, data, n) < 0)
            return;
        data += n;
        len -= n;
    }
}

static int take_answer(struct chance *c, const char *data, size_t len, bool whole,
                       struct http_answer *a, struct buf *body)
{
    int rc = 0;

    http_answer_init(a, false);
    while (len && rc == 0) {
        size_t n = whole ? len : 1 + chance_below(c, len);

        rc = http_answer_feed(a, data, n, body);
        data += n;
        len -= n;
    }
    return rc == 0 ? http_answer_end(a) : rc;
}

/* However it comes in pieces, it means the same. */
static void run_http_answer(struct chance *c, char *data, size_t len)
{
    struct buf once = BUF_INIT(MEMORY_LIMIT_BYTES), cut = BUF_INIT(MEMORY_LIMIT_BYTES);
    struct http_answer a, b;
    int rc = take_answer(c, data, len, true, &a, &once);

    FUZZ_CHECK(take_answer(c, data, len, false, &b, &cut) == rc);
    if (rc == 0) {
        FUZZ_CHECK(a.status == b.status && a.fields_len == b.fields_len);
        FUZZ_CHECK(once.len == cut.len && once.len <= len);
        FUZZ_CHECK(once.len == 0 || memcmp(once.data, cut.data, once.len) == 0);
    }
    http_answer_release(&a);
    http_answer_release(&b);
    buf_release(&once);
    buf_release(&cut);
}

static ssize_t take_head(struct chance *c, struct arena *a, const char *data, size_t len,
                         struct http_head *head, struct http_refusal *why)
{
    struct http_head_scan scan = {0};
    ssize_t n = http_head_scan(&scan, data, chance_below(c, len + 1), why);

    if (n == 0)
        n = http_head_scan(&scan, data, len, why);
    if (n > 0 && http_head_parse(head, &scan, a, data, (size_t)n, why) < 0)
        return -1;
    return n;
}

/* What was taken says the same when it is written down as plainly as can be; and wherever it was
 * cut. */
static void run_http_head(struct chance *c, char *data, size_t len)
{
    struct arena a = ARENA_INIT(MEMORY_LIMIT_BYTES);
    struct http_refusal why = {0}, why_again = {0};
    struct http_head head, again;
    struct buf plain = BUF_INIT(MEMORY_LIMIT_BYTES);
    ssize_t n = take_head(c, &a, data, len, &head, &why);

    FUZZ_CHECK(take_head(c, &a, data, len, &again, &why_again) == n);
    FUZZ_CHECK(n >= 0 || (why.status >= 400 && why.text == why_again.text));
    FUZZ_CHECK(n <= (ssize_t)len && n <= (ssize_t)HTTP_HEAD_LIMIT_BYTES);
    if (n > 0) {
        buf_addf(&plain, "%s %s HTTP/1.%d\r\n", head.method, head.target, !head.old);
        for (size_t i = 0; i < head.field_count; i++)
            buf_addf(&plain, "%s: %s\r\n", head.fields[i].name, head.fields[i].value);
        buf_adds(&plain, "\r\n");
    }
    if (n > 0 && plain.len < HTTP_HEAD_LIMIT_BYTES) {
        FUZZ_CHECK(take_head(c, &a, plain.data, plain.len, &again, &why) == (ssize_t)plain.len);
        FUZZ_CHECK(again.field_count == head.field_count && again.length == head.length);
        FUZZ_CHECK(again.chunked == head.chunked && again.last == head.last);
        FUZZ_CHECK(!(head.chunked && head.length) && !(head.chunked && head.old));
        FUZZ_CHECK(head.old || http_head_field(&head, "Host"));
    }
    buf_release(&plain);
    arena_release(&a);
}

static ssize_t take_chunks(struct chance *c, const char *data, size_t len, bool whole,
                           struct buf *out)
{
    struct http_chunks chunks = {.state = CHUNK_SIZE};
    size_t at = 0;

    while (at < len && chunks.state != CHUNKS_DONE) {
        const char *content;
        size_t content_len;
        ssize_t n = http_chunks_feed(&chunks, data + at,
                                     whole ? len - at : 1 + chance_below(c, len - at), &content,
                                     &content_len);

        if (n < 0)
            return n;
        FUZZ_CHECK(n > 0 && content_len <= (size_t)n);
        buf_add(out, content, content_len);
        at += (size_t)n;
    }
    return chunks.state == CHUNKS_DONE ? (ssize_t)at : 0;
}

static void run_http_chunks(struct chance *c, char *data, size_t len)
{
    struct buf once = BUF_INIT(MEMORY_LIMIT_BYTES), cut = BUF_INIT(MEMORY_LIMIT_BYTES);
    ssize_t n = take_chunks(c, data, len, true, &once);

    FUZZ_CHECK(take_chunks(c, data, len, false, &cut) == n);
    FUZZ_CHECK(once.len == cut.len && (once.len == 0 || memcmp(once.data, cut.data, cut.len) == 0));
    buf_release(&once);
    buf_release(&cut);
}

static void spdy_opened(void *arg, uint32_t stream, const struct spdy_header *headers, size_t count)
{
    (void)arg, (void)stream;
    for (size_t i = 0; i < count; i++)
        FUZZ_CHECK(strlen(headers[i].name) + strlen(headers[i].value) <= SPDY_HEADERS_LIMIT_BYTES);
}

static void spdy_data(void *arg, uint32_t stream, const char *data, size_t len)
{
    (void)arg, (void)stream, (void)data, (void)len;
}

static void spdy_ended(void *arg, uint32_t stream, enum spdy_end how)
{
    (void)arg, (void)stream, (void)how;
}

static void spdy_output(void *arg, const void *head, size_t head_len, const void *data, size_t len)
{
    (void)arg, (void)head, (void)data;
    FUZZ_CHECK(head_len + len > 0);
}

static void run_spdy(struct chance *c, char *data, size_t len)
{
    static const struct spdy_handler handler = {
        .opened = spdy_opened, .data = spdy_data, .ended = spdy_ended, .output = spdy_output};
    struct spdy *s = spdy_new(&handler, NULL);

    if (!s)
        fuzz_fail("there is memory");
    while (len) {
        size_t n = 1 + chance_below(c, len);

        if (spdy_feed(s, data, n) < 0)
            break;
        spdy_send(s, 1, "x", 1);
        spdy_end(s, 3);
        data += n;
        len -= n;
    }
    spdy_free(s);
}

/* --- the table ------------------------------------------------------------------------- */

#define JSON_WORDS                                                                                 \
    LIST("{", "}", "[", "]", ":", ",", "\"", "\\", "\\u0000", "\\ud800", "null", "true", "-",      \
         "1e99", "0.1", "9223372036854775808", "\"metadata\":{", "\"name\":", "\xff",              \
         "\"spec\":null")

const struct fuzz_target fuzz_parsers[] = {
    {"json", LIST(pod_text, "[1,2.5e3,null,true,\"\\u00e9\\n\"]", "{}", "\"\\ud83d\\ude00\""),
     JSON_WORDS, run_json},
    {"yaml", LIST(job_yaml, "a: &x [1, 2]\nb: *x\n---\nc: |\n  text\n", "{a: b, c: [d, 'e']}"),
     LIST(": ", "- ", "\n  ", "&a ", "*a", "!!str ", "|\n", ">-\n", "---\n", "? ", "%YAML 1.1\n",
          "[", "{", "'", "\"", "#", "<<: *a", "\t", "0o7", "~"),
     run_yaml},
    {"protobuf",
     LIST("\x0a\x0f\x0a\x02v1\x12\x09"
          "ConfigMap\x12\x10\x0a\x08\x0a\x06settin\x12\x04\x0a\x01"
          "a",
          "\x0a\x0b\x0a\x02v1\x12\x05"
          "Event\x12\x06\x0a\x04\x0a\x02xy",
          "\x0a\x10\x0a\x02v1\x12\x0a"
          "Namespace"),
     LIST("\x0a", "\x12", "\x1a", "\x08\x01", "\xff\xff\xff\xff\x0f", "\x80",
          "\x12\x05"
          "Event",
          "\x7a", "\x12\x02\x08\x01", "\x0a\x02{}",
          "\x12\x03"
          "Pod"),
     run_protobuf},
    {"selectors",
     LIST("a=b,c!=d,e in (f,g),h notin (i),!j,k", "metadata.name=p,spec.nodeName!=",
          ".spec.containers[?(@.name==\"c\")].image", "status.phase=Running"),
     LIST("=", "!=", "==", ",", "(", ")", " in ", " notin ", "!", "[", "]", "[*]", "['", "@.",
          "\\.", "metadata.name", "\xff"),
     run_selectors},
    {"quantity", LIST("1500m", "1.5Gi", "100", "1e3", "-5", "0.001", "8Ei", "9223372036854775807"),
     LIST("m", "k", "Ki", "E", "Ei", ".", "-", "+", "e", "9999999999", "0"), run_quantity},
    {"expression",
     LIST("self.spec.containers.all(c, c.name != '' && c.image.matches('^[a-z:.]+$'))",
          "has(self.metadata) ? self.?x.orValue([1, 2.5, {'a': b'x'}]) : oldSelf.hasValue()",
          "quantity('1Gi').add(5).compareTo(quantity('2')) > duration('1h').getHours()",
          "url('http://a:1/b?c=d').getQuery()['c'].map(x, x.split('').join('-'))"),
     LIST("(", ")", "[", "]", "{", "}", ".", "?", ":", ",", "'", "\"", "r'", "b\"", "\\x", "self",
          "oldSelf", ".all(x, ", ".map(x, ", ".filter(", "exists_one", "&&", "||", "!", "-", "%",
          " in ", "0x", "1e9", "9223372036854775807", "u", "size(", "timestamp('", ".substring(",
          ".replace('", "sets.contains(", "optional.of(", "//", "\xff"),
     run_expression},
    {"managed",
     LIST("kubectl;U;1700000000;1312141H|kubelet;Ustatus;1700000000;V11F", "a%20b;A;;0z",
          "m;U;5;_____0", "m;Uscale;;|n;A;;1"),
     LIST(";", "|", "A", "U", "%", "0", "1", "z", "_", "-", "9999"), run_managed},
    {"patch",
     LIST("{\"metadata\":{\"labels\":{\"a\":null,\"x\":\"y\"}}}",
          "[{\"op\":\"add\",\"path\":\"/metadata/labels/z\",\"value\":1},{\"op\":\"move\",\"from\":"
          "\"/spec\",\"path\":\"/other\"},{\"op\":\"copy\",\"from\":\"\",\"path\":\"/spec/-\"}]",
          "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"j\"},{\"$patch\":\"delete\","
          "\"name\":"
          "\"d\"}],\"$setElementOrder/containers\":[{\"name\":\"c\"}],\"volumes\":[{\"name\":\"v\","
          "\"$retainKeys\":[\"name\"]}],\"$patch\":\"replace\"}}"),
     LIST("null", "\"$patch\":\"delete\"", "\"$patch\":\"replace\",", "\"$retainKeys\":[\"a\"],",
          "\"$setElementOrder/env\":[{\"name\":\"A\"}],", "\"$deleteFromPrimitiveList/x\":[1],",
          "\"path\":\"/spec/containers/0\"", "/-", "~1", "~0", "~", "\"op\":\"test\",", "{", "}",
          "["),
     run_patch},
    {"object", LIST(pod_text, job_yaml), JSON_WORDS, run_object},
    {"webhook",
     LIST(WEBHOOK_ANSWER("true,\"patchType\":\"JSONPatch\",\"patch\":\"W3sib3AiOiJyZW1vdmUiLCJwYX"
                         "RoIjoiL2EifV0=\",\"warnings\":[\"w\"]"),
          WEBHOOK_ANSWER(
              "false,\"status\":{\"code\":403,\"reason\":\"Forbidden\",\"message\":\"no\","
              "\"details\":{\"causes\":[{\"field\":\"spec\",\"message\":\"m\"}]}}")),
     JSON_WORDS, run_webhook},
    {"events",
     LIST("\x09\x01\x02\x03\x04\x05\x06\x07\x41\x10\x05\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x01\x02\x80"
          "\x3f",
          "\x09\x01\x02\x03\x04\x05\x06\x07\x41\x10\x05\x2a\x23\x0a\x21\x0a\x04loss\x42\x0a\x08\x01"
          "\x22\x04"
          "\x01\x02\x80\x3f\x12\x01\x4a\x0d\x0a\x0b\x0a\x09scalars",
          /* a histogram, one as a tensor, an image */
          "\x09\x01\x02\x03\x04\x05\x06\x07\x41\x10\x05\x2a\x3d\x0a\x3b\x0a\x01\x77"
          "\x2a\x36\x09\x01\x02\x03\x04\x05\x06\xf0\x3f\x11\x01\x02\x03\x04\x05\x06"
          "\x08\x40\x32\x10\x01\x02\x03\x04\x05\x06\xf0\x3f\x01\x02\x03\x04\x05\x06"
          "\x08\x40\x3a\x10\x01\x02\x03\x04\x05\x06\x08\x40\x01\x02\x03\x04\x05\x06"
          "\x08\x40",
          "\x09\x01\x02\x03\x04\x05\x06\x07\x41\x10\x05\x2a\x33\x0a\x31\x0a\x01\x77"
          "\x42\x1c\x08\x02\x22\x18\x01\x02\x03\x04\x05\x06\xf0\x3f\x01\x02\x03\x04"
          "\x05\x06\x08\x40\x01\x02\x03\x04\x05\x06\xf0\x3f\x4a\x0e\x0a\x0c\x0a\x0a"
          "\x68\x69\x73\x74\x6f\x67\x72\x61\x6d\x73",
          "\x09\x01\x02\x03\x04\x05\x06\x07\x41\x10\x05\x2a\x18\x0a\x16\x0a\x01\x70"
          "\x22\x11\x22\x0f\xff\xd8\xff\xc0\x01\x01\x08\x01\x02\x01\x03\x72\x65\x73"
          "\x74"),
     LIST("\x0a\x04loss", "\x15\x01\x02\x80\x3f", "\x42\x08\x08\x01\x22\x04\x01\x02\x03\x04",
          "\x4a\x0b\x0a\x09\x0a\x07scalars", "\x10\x01",
          "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x2a", "\x0a", "\x3a\x02\x08\x01",
          "\x08\x13", "\x6a\x01\x05", "hparams", "text", "histograms", "images", "\xff\xd8\xff\xc0",
          "\xff\xff\xff\xff\xff\xff\xef\x7f"),
     run_events},
    {"http_answer",
     LIST(
         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nT: 1\r\n\r\n",
         "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 No\r\n\r\nto the end"),
     LIST("\r\n", "\r\n\r\n", "Content-Length: ", "Transfer-Encoding: chunked\r\n",
          "HTTP/1.1 204 x", "0\r\n\r\n", "ffffffffffffffff", ":", "5\r\n"),
     run_http_answer},
    {"http_head",
     LIST("GET /a?b HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
          "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
          "GET / HTTP/1.0\r\nConnection: close, x\r\n\r\n"),
     LIST("\r\n", "\n", "\r", " ", "\t", ":", "\r\n ",
          "Content-Length: ", "Transfer-Encoding: chunked\r\n", "Host: h\r\n",
          "Connection: close\r\n", "HTTP/1.0", "99999999999999999999", "chunked"),
     run_http_head},
    {"http_chunks", LIST("5\r\nhello\r\n0\r\n\r\nGET", "a;b=c\r\n0123456789\r\n0\r\nT: 1\r\n\r\n"),
     LIST("\r\n", "\n", ";", "0", "ffffffff", "1\r\nx\r\n", "0\r\n\r\n"), run_http_chunks},
    {"websocket",
     LIST("\x82\x85\x01\x02\x03\x04hello", "\x89\x81\x01\x02\x03\x04x\x8a\x81\x01\x02\x03\x04y",
          "\x02\x81\x01\x01\x01\x01z\x80\x81\x01\x01\x01\x01z", "\x88\x82\x01\x01\x01\x01\x02\xe9"),
     LIST("\x82\xfe\x01\x01", "\x82\xff", "\x81", "\x88\x81", "\x01\x02\x03\x04",
          "\xff\xff\xff\xff"),
     run_websocket},
    {"spdy",
     LIST("\x80\x03\x01\x01\x01\x01\x01\x0a\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01x\xbb\xe3\xc6"
          "\xa7\xc2",
          "\x01\x01\x01\x01\x01\x01\x01\x05hello",
          "\x80\x03\x01\x06\x01\x01\x01\x04\x01\x01\x01\x01"),
     LIST("\x80\x03", "\x01", "\x05", "\x7f\xff\xff\xff", "x\xbb\xe3\xc6\xa7\xc2", "hello"),
     run_spdy},
};
const size_t fuzz_parser_count = ELEMS(fuzz_parsers);
