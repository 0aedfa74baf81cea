/* schema_test.c - schemas, CRDs and OpenAPI documents say what the tables say. */
#include "fixture.h"

#include "api/schema/structural.h"

#include "api/schema.h"

/* Member after member: at(v, "a", "b"). */
#define at(v, ...) json_at((v), __VA_ARGS__)

static const struct json *property(const struct json *schema, const char *path)
{
    char name[64];

    while (*path) {
        size_t n = strcspn(path, ".");

        (void)snprintf(name, sizeof(name), "%.*s", (int)n, path);
        if (strcmp(name, "[]") == 0)
            schema = json_get(schema, "items");
        else if (strcmp(name, "*") == 0)
            schema = json_get(schema, "additionalProperties");
        else
            schema = at(schema, "properties", name);
        path += n + (path[n] == '.');
    }
    return schema;
}

static void a_schema_says_types_defaults_and_limits(void **state)
{
    static const struct {
        const char *path, *key, *value;
    } cases[] = {
        {"", "type", "\"object\""},
        {"", "required", "[\"spec\"]"},
        {"metadata", "type", "\"object\""},
        {"spec.runPolicy", "default", "{}"},
        {"spec.runPolicy.backoffLimit", "default", "3"},
        {"spec.runPolicy.backoffLimit", "minimum", "0"},
        {"spec.runPolicy.backoffLimit", "format", "\"int32\""},
        {"spec.runPolicy.restartScope", "enum", "[\"Replica\",\"Job\"]"},
        {"spec.runPolicy.restartableExitCodes.[]", "maximum", "255"},
        {"spec.replicaSpecs", "minItems", "1"},
        {"spec.replicaSpecs", "x-kubernetes-list-map-keys", "[\"type\"]"},
        {"spec.replicaSpecs.[]", "required", "[\"type\",\"template\"]"},
        {"spec.replicaSpecs.[].type", "maxLength", "63"},
        {"spec.replicaSpecs.[].template.spec.containers.[].livenessProbe.exec.command", "type",
         "\"array\""},
        {"spec.replicaSpecs.[].template.spec.containers.[].resources.limits.*",
         "x-kubernetes-int-or-string", "true"},
        {"spec.torchrunConfig.enabled", "type", "\"boolean\""},
        {"spec.torchrunConfig.enable", "type", "\"boolean\""},
        {"spec.torchrunConfig.enable", "description", "\"Older spelling of enabled.\""},
        {"status.startTime", "format", "\"date-time\""},
        {"status", "x-kubernetes-preserve-unknown-fields", "true"},
    };
    const struct json *schema = schema_of_kind(&arena, &kind_pytorch_training_job);

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const struct json *v = json_get(property(schema, cases[i].path), cases[i].key);

        if (strcmp(as_json(v), cases[i].value) != 0)
            fail_msg("%s %s: %s", cases[i].path, cases[i].key, as_json(v));
    }
}

static void check_no_defaults(const struct json *schema)
{
    assert_null(json_get(schema, "default"));
    json_each (p, json_get(schema, "properties"))
        check_no_defaults(p);
    if (json_get(schema, "items"))
        check_no_defaults(json_get(schema, "items"));
}

static void nothing_in_a_template_is_defaulted(void **state)
{
    const struct json *schema = schema_of_kind(&arena, &kind_pytorch_training_job);

    (void)state;
    check_no_defaults(property(schema, "spec.replicaSpecs.[].template"));
    assert_null(json_get(property(schema, "spec.torchrunConfig.enabled"), "default"));
}

/* What apiextensions.k8s.io demands of a structural schema. */
static void check_structural(const char *where, const struct json *schema)
{
    bool open = json_get_bool(schema, "x-kubernetes-preserve-unknown-fields", false);
    bool either = json_get_bool(schema, "x-kubernetes-int-or-string", false);

    if (!json_get(schema, "type") && !open && !either)
        fail_msg("%s has no type", where);
    if (json_get(schema, "properties") && json_get(schema, "additionalProperties"))
        fail_msg("%s has properties and additionalProperties", where);
    json_each (p, json_get(schema, "properties"))
        check_structural(p->key, p);
    if (json_get(schema, "items"))
        check_structural(where, json_get(schema, "items"));
    if (json_get(schema, "additionalProperties"))
        check_structural(where, json_get(schema, "additionalProperties"));
    json_each (r, json_get(schema, "required"))
        if (!at(schema, "properties", json_string(r, "")))
            fail_msg("%s requires %s, which it does not have", where, json_string(r, ""));
}

static void every_schema_is_structural(void **state)
{
    (void)state;
    for (const struct kind *const *k = kinds; *k; k++)
        check_structural((*k)->name, schema_of_kind(&arena, *k));
    assert_false(arena_failed(&arena));
}

static void the_crd_is_complete(void **state)
{
    const struct json *crd = schema_crd(&arena, &kind_pytorch_training_job);
    const struct json *version = json_index(at(crd, "spec", "versions"), 0);

    (void)state;
    assert_json(at(crd, "metadata", "name"), "\"pytorchtrainingjobs.batch.tensorstack.dev\"");
    assert_json(
        at(crd, "spec", "names"),
        "{\"kind\":\"PyTorchTrainingJob\",\"listKind\":\"PyTorchTrainingJobList\",\"plural\":"
        "\"pytorchtrainingjobs\",\"singular\":\"pytorchtrainingjob\",\"shortNames\":[\"pj\"],"
        "\"categories\":[\"all\",\"muster\"]}");
    assert_json(at(crd, "spec", "scope"), "\"Namespaced\"");
    assert_json(json_get(version, "subresources"),
                "{\"status\":{},\"scale\":{\"specReplicasPath\":"
                "\".spec.elastic.expectedReplicas\",\"statusReplicasPath\":"
                "\".status.aggregate.running\"}}");
    assert_json(json_index(json_get(version, "additionalPrinterColumns"), 0),
                "{\"name\":\"Phase\",\"type\":\"string\",\"description\":\"Phase of the job.\","
                "\"jsonPath\":\".status.phase\"}");
    json_each (c, json_get(version, "additionalPrinterColumns"))
        assert_non_null(json_get(c, "jsonPath"));
    version = json_index(at(schema_crd(&arena, &kind_queue), "spec", "versions"), 0);
    json_each (c, json_get(version, "additionalPrinterColumns"))
        if (json_string_is(json_get(c, "name"), "Age"))
            assert_json(json_get(c, "type"), "\"date\"");
    assert_non_null(at(version, "schema", "openAPIV3Schema", "properties", "spec"));
}

static const char *rule_of(const struct json *schema, const char *field)
{
    json_each (r, json_get(schema, "x-kubernetes-validations"))
        if (json_string_is(json_get(r, "fieldPath"), field))
            return json_get_string(r, "rule", "");
    return "";
}

/* Elsewhere nobody calls validate(): the definition says what may not change. */
/* What a cluster would run is what this program can run. */
static void rules_of_our_own_kinds_can_be_read(void **state)
{
    size_t checked = 0;

    (void)state;
    for (size_t i = 0; kinds[i]; i++) {
        auto_err err = ERR_INIT;
        const struct json *version;

        if (!kinds[i]->custom)
            continue;
        version = json_index(at(schema_crd(&arena, kinds[i]), "spec", "versions"), 0);
        structural_check(json_at(version, "schema", "openAPIV3Schema"), NULL, &err);
        if (err.causes)
            fail_msg("%s: %s: %s", kinds[i]->name, err.causes->field, err.causes->text);
        checked++;
    }
    assert_true(checked > 3);
}

static void the_crd_says_what_may_not_change(void **state)
{
    const struct json *version = json_index(
        at(schema_crd(&arena, &kind_pytorch_training_job), "spec", "versions"), 0);
    const struct json *spec = at(version, "schema", "openAPIV3Schema", "properties", "spec");
    const struct json *replica = at(spec, "properties", "replicaSpecs", "items"), *claim;

    (void)state;
    assert_string_equal(rule_of(replica, ".template"), "self.template == oldSelf.template");
    assert_string_equal(rule_of(replica, ".restartPolicy"),
                        "has(self.restartPolicy) == has(oldSelf.restartPolicy) && "
                        "(!has(self.restartPolicy) || self.restartPolicy == "
                        "oldSelf.restartPolicy)");
    assert_string_equal(rule_of(spec, ".replicaSpecs"),
                        "self.replicaSpecs.map(r, r.type) == oldSelf.replicaSpecs.map(r, r.type)");
    assert_non_null(strstr(rule_of(at(spec, "properties", "elastic"), ".enable"), "self.enable "));
    assert_json(at(spec, "properties", "replicaSpecs", "maxItems"), "16");
    /* Below a template nothing is told twice: as deep as that a rule is refused for what it costs.
     */
    claim = at(replica, "properties", "template", "properties", "spec", "properties", "volumes",
               "items", "properties", "ephemeral", "properties", "volumeClaimTemplate",
               "properties", "spec");
    assert_non_null(json_get(claim, "properties"));
    assert_null(json_get(claim, "x-kubernetes-validations"));
    assert_null(json_get(
        at(schema_openapi_v3(&arena, kinds, "batch.tensorstack.dev", "v1beta1"), "components",
           "schemas", "dev.tensorstack.batch.v1beta1.PyTorchTrainingJob", "properties", "spec"),
        "x-kubernetes-validations"));
}

/* A rule about the past is refused where elements cannot be told apart. */
static void check_rules(const char *where, const struct json *schema, bool tracked)
{
    bool keyed = json_string_is(json_get(schema, "x-kubernetes-list-type"), "map");

    if (json_get(schema, "x-kubernetes-validations") && !tracked)
        fail_msg("%s: a rule in a list without keys", where);
    json_each (p, json_get(schema, "properties"))
        check_rules(p->key, p, tracked);
    if (json_get(schema, "items"))
        check_rules(where, json_get(schema, "items"), tracked && keyed);
    if (json_is(json_get(schema, "additionalProperties"), JSON_OBJECT))
        check_rules(where, json_get(schema, "additionalProperties"), tracked);
}

static void rules_are_where_a_cluster_takes_them(void **state)
{
    (void)state;
    for (const struct kind *const *k = kinds; *k; k++)
        if ((*k)->custom)
            check_rules((*k)->name, schema_of_kind(&arena, *k), true);
    assert_false(arena_failed(&arena));
}

static void v3_documents_tell_kubectl_that_the_server_validates(void **state)
{
    const struct json *doc = schema_openapi_v3(&arena, kinds, "batch.tensorstack.dev", "v1beta1");
    const struct json *op = at(
        doc, "paths",
        "/apis/batch.tensorstack.dev/v1beta1/namespaces/{namespace}/pytorchtrainingjobs/{name}",
        "patch");
    const struct json *schema = at(doc, "components", "schemas",
                                   "dev.tensorstack.batch.v1beta1.PyTorchTrainingJob");
    char names[200] = "";

    (void)state;
    assert_json(json_get(op, "x-kubernetes-action"), "\"patch\"");
    assert_json(json_get(op, "x-kubernetes-group-version-kind"),
                "{\"group\":\"batch.tensorstack.dev\",\"version\":\"v1beta1\",\"kind\":"
                "\"PyTorchTrainingJob\"}");
    json_each (p, json_get(op, "parameters")) {
        assert_json(json_get(p, "in"), "\"query\"");
        strcat(names, json_get_string(p, "name", ""));
        strcat(names, " ");
    }
    assert_string_equal(names, "dryRun fieldManager fieldValidation ");
    assert_json(json_get(schema, "x-kubernetes-group-version-kind"),
                "[{\"group\":\"batch.tensorstack.dev\",\"version\":\"v1beta1\",\"kind\":"
                "\"PyTorchTrainingJob\"}]");
    assert_json(at(schema, "properties", "metadata"),
                "{\"$ref\":\"#/components/schemas/" SCHEMA_META_NAME "\"}");
    assert_non_null(at(doc, "components", "schemas", SCHEMA_META_NAME, "properties", "labels"));
    assert_null(schema_openapi_v3(&arena, kinds, "nothing.k8s.io", "v1"));
    assert_non_null(at(schema_openapi_v3(&arena, kinds, "", "v1"), "components", "schemas",
                       "io.k8s.api.core.v1.Pod"));
    assert_non_null(
        at(schema_openapi_v3(&arena, kinds, "", "v1"), "paths", "/api/v1/nodes/{name}"));
}

/* --- protobuf ------------------------------------------------------------------------------- */

struct bytes {
    const unsigned char *p;
    size_t len;
};

static uint64_t read_varint(struct bytes *b)
{
    uint64_t v = 0;

    for (unsigned shift = 0;; shift += 7) {
        assert_true(b->len > 0 && shift < 64);
        v |= (uint64_t)(*b->p & 0x7f) << shift;
        b->len--;
        if (!(*b->p++ & 0x80))
            return v;
    }
}

/* The nth length-delimited field of that number; an empty one when there is none. */
static struct bytes field(struct bytes b, unsigned number, unsigned nth)
{
    while (b.len) {
        uint64_t tag = read_varint(&b);
        struct bytes value;

        if ((tag & 7) == 0) {
            (void)read_varint(&b);
            continue;
        }
        assert_int_equal(tag & 7, 2);
        value.len = (size_t)read_varint(&b);
        assert_true(value.len <= b.len);
        value.p = b.p;
        b.p += value.len;
        b.len -= value.len;
        if (tag >> 3 == number && nth-- == 0)
            return value;
    }
    return (struct bytes){NULL, 0};
}

static bool is_text(struct bytes b, const char *text)
{
    return b.p && b.len == strlen(text) && memcmp(b.p, text, b.len) == 0;
}

/* Value of the NamedX{1 name, 2 value} of that name among the fields of that number. */
static struct bytes named(struct bytes b, unsigned number, const char *name)
{
    for (unsigned i = 0; field(b, number, i).p; i++)
        if (is_text(field(field(b, number, i), 1, 0), name))
            return field(field(b, number, i), 2, 0);
    return (struct bytes){NULL, 0};
}

static struct bytes v2_property(struct bytes schema, const char *name)
{
    return named(field(schema, 25, 0), 1, name);
}

static void v2_is_the_protobuf_kubectl_reads(void **state)
{
    struct buf out = BUF_INIT(16u << 20);
    struct bytes doc, job, spec, op, dry_run;

    (void)state;
    schema_openapi_v2_encode(schema_openapi_v2(&arena, kinds), &out);
    assert_false(out.failed);
    doc = (struct bytes){(const unsigned char *)out.data, out.len};
    assert_true(is_text(field(doc, 1, 0), "2.0"));
    assert_true(is_text(field(field(doc, 2, 0), 1, 0), "muster"));

    job = named(field(doc, 9, 0), 1, "dev.tensorstack.batch.v1beta1.PyTorchTrainingJob");
    assert_non_null(job.p);
    assert_true(is_text(field(field(job, 31, 0), 1, 0), "x-kubernetes-group-version-kind"));
    assert_true(is_text(field(field(field(job, 31, 0), 2, 0), 2, 0),
                        "[{\"group\":\"batch.tensorstack.dev\",\"version\":\"v1beta1\",\"kind\":"
                        "\"PyTorchTrainingJob\"}]"));
    assert_true(
        is_text(field(v2_property(job, "metadata"), 1, 0), "#/definitions/" SCHEMA_META_NAME));
    spec = v2_property(job, "spec");
    assert_true(is_text(field(field(spec, 22, 0), 1, 0), "object"));
    assert_true(is_text(field(spec, 19, 0), "replicaSpecs"));
    /* items of the list, and in them the template, whose spec is said once for all kinds */
    spec = field(field(v2_property(spec, "replicaSpecs"), 23, 0), 1, 0);
    assert_non_null(v2_property(spec, "restartPolicy").p);
    assert_non_null(v2_property(spec, "template").p);
    assert_true(is_text(field(v2_property(v2_property(spec, "template"), "spec"), 1, 0),
                        "#/definitions/io.k8s.api.core.v1.PodSpec"));
    spec = named(field(doc, 9, 0), 1, "io.k8s.api.core.v1.PodSpec");
    assert_true(is_text(field(field(field(v2_property(spec, "containers"), 23, 0), 1, 0), 1, 0),
                        "#/definitions/io.k8s.api.core.v1.Container"));

    op = field(named(field(doc, 8, 0), 2, "/api/v1/namespaces/{namespace}/pods/{name}"), 8, 0);
    assert_true(is_text(field(op, 5, 0), "patchNamespacedPod"));
    dry_run = field(field(field(field(op, 8, 0), 1, 0), 2, 0), 3, 0);
    assert_true(is_text(field(dry_run, 2, 0), "query"));
    assert_true(is_text(field(dry_run, 4, 0), "dryRun"));
    assert_true(is_text(field(field(op, 13, 1), 1, 0), "x-kubernetes-group-version-kind"));
    buf_release(&out);
}

static void a_document_that_does_not_fit_fails(void **state)
{
    struct buf out = BUF_INIT(1000);

    (void)state;
    schema_openapi_v2_encode(schema_openapi_v2(&arena, kinds), &out);
    assert_true(out.failed);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_schema_says_types_defaults_and_limits, reset),
        cmocka_unit_test_setup(nothing_in_a_template_is_defaulted, reset),
        cmocka_unit_test_setup(every_schema_is_structural, reset),
        cmocka_unit_test_setup(the_crd_is_complete, reset),
        cmocka_unit_test_setup(rules_of_our_own_kinds_can_be_read, reset),
        cmocka_unit_test_setup(the_crd_says_what_may_not_change, reset),
        cmocka_unit_test_setup(rules_are_where_a_cluster_takes_them, reset),
        cmocka_unit_test_setup(v3_documents_tell_kubectl_that_the_server_validates, reset),
        cmocka_unit_test_setup(v2_is_the_protobuf_kubectl_reads, reset),
        cmocka_unit_test_setup(a_document_that_does_not_fit_fails, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
