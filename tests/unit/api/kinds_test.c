/* kinds_test.c - the list of kinds, the tables' own soundness, and the small kinds. */
#include "fixture.h"

#include "api/table.h"
#include "base/base64.h"

#define NOW_MS 1767225600000 /* 2026-01-01T00:00:00Z */

static void kinds_are_found_by_what_users_and_clients_say(void **state)
{
    (void)state;
    assert_ptr_equal(kind_by_plural("", "v1", "pods"), &kind_pod);
    assert_ptr_equal(kind_by_plural("batch.tensorstack.dev", "v1beta1", "pytorchtrainingjobs"),
                     &kind_pytorch_training_job);
    assert_null(kind_by_plural("", "v2", "pods"));
    assert_null(kind_by_plural("apps", "v1", "pods"));
    assert_null(kind_of_object(parse("{apiVersion: v1, kind: Lease}")));
    assert_null(kind_of_object(NULL));
    assert_ptr_equal(kind_of_object(parse("{apiVersion: coordination.k8s.io/v1, kind: Lease}")),
                     &kind_lease);
    assert_string_equal(kind_api_version(&arena, &kind_pod), "v1");
    assert_string_equal(kind_api_version(&arena, &kind_lease), "coordination.k8s.io/v1");
}

static void paths_are_those_of_the_api(void **state)
{
    (void)state;
    assert_string_equal(kind_path(&arena, &kind_pod, "d", "a"), "/api/v1/namespaces/d/pods/a");
    assert_string_equal(kind_path(&arena, &kind_pod, NULL, NULL), "/api/v1/pods");
    assert_string_equal(kind_path(&arena, &kind_node, "d", "n"), "/api/v1/nodes/n");
    assert_string_equal(kind_path(&arena, &kind_pytorch_training_job, "d", NULL),
                        "/apis/batch.tensorstack.dev/v1beta1/namespaces/d/pytorchtrainingjobs");
    assert_string_equal(kind_path(&arena, &kind_pod, "d", "../x?y"),
                        "/api/v1/namespaces/d/pods/..%2Fx%3Fy");
}

/* --- the tables themselves ------------------------------------------------------------------ */

static void check_fields(const char *where, const struct field *fields)
{
    for (const struct field *f = fields; f->name; f++) {
        char here[256];

        (void)snprintf(here, sizeof(here), "%.200s.%.50s", where, f->name);
        if (!f->doc || !*f->doc)
            fail_msg("%s has no doc", here);
        if (field_find(fields, f->name, strlen(f->name)) != f)
            fail_msg("%s is there twice", here);
        if (f->default_json && !json_parse(&arena, f->default_json, strlen(f->default_json), NULL))
            fail_msg("%s has a malformed default", here);
        if (f->list_key && !field_find(f->fields, f->list_key, strlen(f->list_key)))
            fail_msg("%s is keyed by a member it does not have", here);
        if (f->type == FIELD_OBJECT && !f->fields && !(f->flags & FIELD_KEEP_UNKNOWN))
            fail_msg("%s has no members", here);
        if (f->fields && f->type != FIELD_ANY) /* of that only protobuf knows more */
            check_fields(here, f->fields);
    }
}

static void every_table_is_sound(void **state)
{
    (void)state;
    check_fields("", object_common_fields);
    for (const struct kind *const *k = kinds; *k; k++) {
        check_fields((*k)->name, (*k)->fields);
        assert_non_null((*k)->doc);
        assert_non_null((*k)->columns);
        assert_ptr_equal(kind_by_plural((*k)->group, (*k)->version, (*k)->plural), *k);
        for (const struct column *c = (*k)->columns; c->name; c++) {
            assert_true(c->path || c->render);
            assert_true(c->path || !(*k)->custom); /* a CRD has nothing else */
        }
    }
}

static void every_default_passes_validation(void **state)
{
    (void)state;
    (void)admitted(&kind_namespace, "metadata: {name: n1}");
    (void)admitted(&kind_node, "metadata: {name: n1}");
    (void)admitted(&kind_service, "metadata: {name: s}\nspec: {clusterIP: None}");
    (void)admitted(&kind_config_map, "metadata: {name: c}");
    (void)admitted(&kind_secret, "metadata: {name: s}");
    (void)admitted(&kind_event, "metadata: {name: e}\ninvolvedObject: {kind: Pod}");
    (void)admitted(&kind_lease, "metadata: {name: l}");
    (void)admitted(
        &kind_persistent_volume_claim,
        "metadata: {name: c}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: "
        "{storage: 1Gi}}}");
}

/* --- small kinds ---------------------------------------------------------------------------- */

static const struct json *row_of(const struct kind *k, const struct json *object,
                                 enum table_include include)
{
    struct buf out = BUF_INIT(1u << 20);
    const struct json *row;

    table_write_row(&out, &arena, k, object, NULL, include, NOW_MS);
    row = json_parse(&arena, out.data, out.len, NULL);
    buf_release(&out);
    return row;
}

static const char *cells_of(const struct kind *k, const char *text)
{
    return as_json(json_get(row_of(k, parse(text), TABLE_INCLUDE_NONE), "cells"));
}

static const char *columns_of(const struct kind *k)
{
    struct buf out = BUF_INIT(4096);
    const char *text;

    for (const struct column *c = k->columns; c->name; c++)
        buf_addf(&out, "%s%s%s", out.len ? ", " : "", c->name, c->priority ? "*" : "");
    text = arena_strdup(&arena, out.data);
    buf_release(&out);
    return text;
}

static void columns_are_those_of_the_real_server(void **state)
{
    static const struct {
        const struct kind *kind;
        const char *columns;
    } cases[] = {
        {&kind_event, "Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, "
                      "Count*, Name*"},
        {&kind_namespace, "Name, Status, Age"},
        {&kind_node, "Name, Status, Roles, Age, Version, Internal-IP*, External-IP*, OS-Image*, "
                     "Kernel-Version*, Container-Runtime*"},
        {&kind_service, "Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector*"},
        {&kind_config_map, "Name, Data, Age"},
        {&kind_secret, "Name, Type, Data, Age"},
        {&kind_persistent_volume_claim,
         "Name, Status, Volume, Capacity, Access Modes, StorageClass, "
         "VolumeAttributesClass, Age, VolumeMode*"},
        {&kind_lease, "Name, Holder, Age"},
        {&kind_pytorch_training_job, "Name, Phase, Running, Restarts, Age, Reason*, Message*"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        assert_string_equal(columns_of(cases[i].kind), cases[i].columns);
}

static void cells_of_every_kind(void **state)
{
#define AGE "creationTimestamp: \"2025-12-31T23:59:15Z\""
    static const struct {
        const struct kind *kind;
        const char *object, *cells;
    } cases[] = {
        {&kind_namespace, "{metadata: {name: n1, " AGE "}, status: {phase: Active}}",
         "[\"n1\",\"Active\",\"45s\"]"},
        {&kind_node,
         "{metadata: {name: n1, labels: {node-role.kubernetes.io/worker: \"\", "
         "node-role.kubernetes.io/gpu: \"\"}}, spec: {unschedulable: true}, status: {conditions: "
         "[{type: Ready, status: \"True\"}], nodeInfo: {kubeletVersion: v1}, addresses: [{type: "
         "InternalIP, address: 127.0.0.1}]}}",
         "[\"n1\",\"Ready,SchedulingDisabled\",\"worker,gpu\",\"<unknown>\",\"v1\",\"127.0.0.1\","
         "\"<none>\",\"<unknown>\",\"<unknown>\",\"<unknown>\"]"},
        {&kind_node,
         "{metadata: {name: n1}, status: {conditions: [{type: Ready, status: Unknown}]}}",
         "[\"n1\",\"NotReady\",\"<none>\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\","
         "\"<unknown>\",\"<unknown>\",\"<unknown>\"]"},
        {&kind_service,
         "{metadata: {name: s, " AGE
         "}, spec: {type: ClusterIP, clusterIP: None, ports: [{port: 80, "
         "protocol: TCP}, {port: 443, nodePort: 30443}], selector: {a: b, c: d}}}",
         "[\"s\",\"ClusterIP\",\"None\",\"<none>\",\"80/TCP,443:30443/TCP\",\"45s\",\"a=b,c=d\"]"},
        {&kind_service, "{metadata: {name: s, " AGE "}, spec: {type: LoadBalancer}}",
         "[\"s\",\"LoadBalancer\",\"<none>\",\"<pending>\",\"<none>\",\"45s\",\"<none>\"]"},
        {&kind_config_map, "{metadata: {name: c, " AGE "}, data: {a: b}, binaryData: {c: \"\"}}",
         "[\"c\",2,\"45s\"]"},
        {&kind_secret, "{metadata: {name: c, " AGE "}, type: Opaque, data: {a: \"\"}}",
         "[\"c\",\"Opaque\",1,\"45s\"]"},
        {&kind_lease, "{metadata: {name: l, " AGE "}, spec: {holderIdentity: me}}",
         "[\"l\",\"me\",\"45s\"]"},
        {&kind_persistent_volume_claim,
         "{metadata: {name: c, " AGE "}, spec: {volumeName: v, volumeMode: Filesystem}, status: "
         "{phase: Bound, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce, ReadWriteMany]}}",
         "[\"c\",\"Bound\",\"v\",\"1Gi\",\"RWO,RWX\",\"\",\"<unset>\",\"45s\",\"Filesystem\"]"},
        {&kind_event,
         "{metadata: {name: e}, type: Normal, reason: R, message: \" m\\n\", involvedObject: "
         "{kind: "
         "Pod, name: p, fieldPath: f}, source: {component: c, host: h}, count: 3, firstTimestamp: "
         "\"2025-12-31T23:00:00Z\", lastTimestamp: \"2025-12-31T23:59:58Z\"}",
         "[\"2s\",\"Normal\",\"R\",\"pod/p\",\"f\",\"c, h\",\"m\",\"60m\",3,\"e\"]"},
        {&kind_event,
         "{metadata: {name: e}, involvedObject: {kind: Node}, eventTime: "
         "\"2025-12-31T23:59:00.123456Z\", reportingComponent: rc}",
         "[\"59s\",null,null,\"node\",\"\",\"rc\",\"\",\"59s\",1,\"e\"]"},
        {&kind_event,
         "{metadata: {name: e}, eventTime: \"2025-12-31T23:50:00Z\", series: {count: 7, "
         "lastObservedTime: \"2025-12-31T23:59:57Z\"}}",
         "[\"3s\",null,null,\"\",\"\",\"\",\"\",\"10m\",7,\"e\"]"},
        {&kind_pytorch_training_job,
         "{metadata: {name: j, " AGE "}, spec: {replicaSpecs: [{replicas: 1}, {replicas: 3}]}, "
         "status: {phase: Running, aggregate: {running: 3}, backoffCount: 1, reason: R}}",
         "[\"j\",\"Running\",\"3/4\",1,\"45s\",\"R\",null]"},
        {&kind_pytorch_training_job,
         "{metadata: {name: j}, spec: {replicaSpecs: [{replicas: 4}]}, "
         "status: {phase: Succeeded, aggregate: {running: 0, succeeded: 4}}}",
         "[\"j\",\"Succeeded\",\"4/4 done\",0,null,null,null]"},
        {&kind_pytorch_training_job,
         "{metadata: {name: j}, spec: {replicaSpecs: [{replicas: 4}]}, "
         "status: {phase: Succeeded, aggregate: {succeeded: 1, deleted: 3}}}",
         "[\"j\",\"Succeeded\",\"1/4 done\",0,null,null,null]"},
        {&kind_mpi_job, /* its workers are stopped when they are not needed any more */
         "{metadata: {name: j}, spec: {replicaSpecs: [{type: worker, replicas: 2}]}, "
         "status: {phase: Succeeded, aggregate: {succeeded: 1, deleted: 2}}}",
         "[\"j\",\"Succeeded\",\"3/3 done\",0,null,null,null]"},
        {&kind_pytorch_training_job, "{metadata: {name: j}, spec: {replicaSpecs: [{}]}}",
         "[\"j\",null,\"0/1\",0,null,null,null]"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        if (strcmp(cells_of(cases[i].kind, cases[i].object), cases[i].cells) != 0)
            fail_msg("case %zu: %s", i, cells_of(cases[i].kind, cases[i].object));
#undef AGE
}

static void a_table_row_can_hold_the_whole_object_or_nothing(void **state)
{
    const struct json *object = parse("{metadata: {name: c}, data: {a: b}}");

    (void)state;
    assert_true(json_equal(
        json_get(row_of(&kind_config_map, object, TABLE_INCLUDE_OBJECT), "object"), object));
    assert_null(json_get(row_of(&kind_config_map, object, TABLE_INCLUDE_NONE), "object"));
    assert_string_equal(table_cell_text(&arena, NULL), "");
    assert_string_equal(table_cell_text(&arena, json_new_int(&arena, 3)), "3");
}

static void rules_of_the_small_kinds(void **state)
{
    static const struct {
        const struct kind *kind;
        const char *object, *causes;
    } cases[] = {
        {&kind_namespace, "{metadata: {name: a.b}}",
         "1 metadata.name: Invalid value: \"a.b\": a "
         "lowercase RFC 1123 label"},
        {&kind_service, "{metadata: {name: 1a}, spec: {clusterIP: None}}",
         "1 metadata.name: Invalid value: \"1a\": a DNS-1035 label"},
        {&kind_service, "{metadata: {name: s}}", "0 spec.ports: Required value\n"},
        {&kind_service, "{metadata: {name: s}, spec: {ports: [{port: 1}, {port: 2, name: b}]}}",
         "1 spec.ports[0].name: Required value\n"},
        {&kind_service, "{metadata: {name: s}, spec: {ports: [{port: 70000}]}}",
         "1 spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive\n"},
        {&kind_config_map, "{metadata: {name: c}, data: {\"a/b\": x}}",
         "1 data[a/b]: Invalid value: \"a/b\": a valid config key must"},
        {&kind_config_map, "{metadata: {name: c}, data: {\"..\": x}}",
         "1 data[..]: Invalid value: \"..\": must not be '.'"},
        {&kind_config_map, "{metadata: {name: c}, binaryData: {a: \"%%\"}}",
         "1 binaryData[a]: Invalid value: \"%%\": must be base64\n"},
        {&kind_lease, "{metadata: {name: l}, spec: {leaseDurationSeconds: 0}}",
         "1 spec.leaseDurationSeconds: Invalid value: 0: must be greater than or equal to 1\n"},
        {&kind_lease, "{metadata: {name: l}, spec: {holderIdentity: \"a\\0b\"}}",
         "1 spec.holderIdentity: Invalid value: \"a\\u0000b\": may not contain a NUL byte\n"},
        {&kind_event, "{metadata: {name: e}}", "1 involvedObject: Required value\n"},
        {&kind_event, "{metadata: {name: e, namespace: a}, involvedObject: {namespace: b}}",
         "1 involvedObject.namespace: Invalid value: \"b\": does not match event.namespace\n"},
        {&kind_event, "{metadata: {name: e}, involvedObject: {}, type: Odd}",
         "1 type: Unsupported value: \"Odd\": supported values: \"Normal\", \"Warning\"\n"},
        {&kind_persistent_volume_claim,
         "{metadata: {name: c}, spec: {accessModes: [Odd], resources: "
         "{}}}",
         "1 spec.accessModes[0]: Unsupported value: \"Odd\": supported values: \"ReadWriteOnce\", "
         "\"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOncePod\"\n1 "
         "spec.resources.requests[storage]: Required value\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;

        (void)admit(cases[i].kind, parse(cases[i].object), NULL, FIELD_VALIDATION_STRICT, &err);
        if (strncmp(causes_of(&err), cases[i].causes, strlen(cases[i].causes)) != 0)
            fail_msg("case %zu: %s", i, err.text ? causes_of(&err) : "accepted");
    }
}

static void secrets_move_text_into_data(void **state)
{
    const struct json *secret = admitted(
        &kind_secret,
        "metadata: {name: s}\ndata: {a: YQ==, b: eA==}\nstringData: {b: hello, c: \"\"}");

    (void)state;
    assert_json(json_get(secret, "data"), "{\"a\":\"YQ==\",\"b\":\"aGVsbG8=\",\"c\":\"\"}");
    assert_null(json_get(secret, "stringData"));
    assert_json(json_get(secret, "type"), "\"Opaque\"");
}

static void immutable_data_stays(void **state)
{
    const struct json *old = admitted(&kind_config_map,
                                      "metadata: {name: c}\ndata: {a: b}\nimmutable: true");
    auto_err same = ERR_INIT;
    auto_err other = ERR_INIT;

    (void)state;
    assert_int_equal(admit(&kind_config_map,
                           parse("metadata: {name: c}\ndata: {a: b}\nimmutable: true"), old,
                           FIELD_VALIDATION_STRICT, &same),
                     0);
    assert_true(admit(&kind_config_map, parse("metadata: {name: c}\ndata: {a: c}"), old,
                      FIELD_VALIDATION_STRICT, &other) < 0);
    assert_string_equal(causes_of(&other),
                        "2 data: Forbidden: field is immutable when `immutable` is set\n"
                        "0 immutable: Forbidden: field is immutable when `immutable` is set\n");
}

static void a_new_namespace_is_active_and_labelled(void **state)
{
    (void)state;
    assert_json(
        admitted(&kind_namespace, "metadata: {name: n1}"),
        "{\"metadata\":{\"name\":\"n1\",\"labels\":{\"kubernetes.io/metadata.name\":\"n1\"}},"
        "\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"spec\":{},\"status\":{\"phase\":"
        "\"Active\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(kinds_are_found_by_what_users_and_clients_say, reset),
        cmocka_unit_test_setup(paths_are_those_of_the_api, reset),
        cmocka_unit_test_setup(every_table_is_sound, reset),
        cmocka_unit_test_setup(every_default_passes_validation, reset),
        cmocka_unit_test_setup(columns_are_those_of_the_real_server, reset),
        cmocka_unit_test_setup(cells_of_every_kind, reset),
        cmocka_unit_test_setup(a_table_row_can_hold_the_whole_object_or_nothing, reset),
        cmocka_unit_test_setup(rules_of_the_small_kinds, reset),
        cmocka_unit_test_setup(secrets_move_text_into_data, reset),
        cmocka_unit_test_setup(immutable_data_stays, reset),
        cmocka_unit_test_setup(a_new_namespace_is_active_and_labelled, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
