/* pod_test.c - Pod: defaults, rules, updates, and the columns of `kubectl get pods`. */
#include "fixture.h"

#include "api/table.h"

#define NOW_MS 1767225600000 /* 2026-01-01T00:00:00Z */

static void pods_get_the_defaults_of_the_real_server(void **state)
{
    const struct json *pod = admitted(
        &kind_pod,
        "metadata: {name: p}\nspec:\n  containers:\n  - name: a\n    image: x\n    ports: "
        "[{containerPort: 80}]\n    readinessProbe: {tcpSocket: {port: 80}}\n  - name: b\n"
        "    image: r:5000/x:1.2\n    env: [{name: V, valueFrom: {fieldRef: {fieldPath: "
        "metadata.name}}}]\n");

    (void)state;
    assert_json(
        pod,
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"x\","
        "\"ports\":[{\"containerPort\":80,\"protocol\":\"TCP\"}],\"readinessProbe\":{\"tcpSocket\":"
        "{"
        "\"port\":80},\"timeoutSeconds\":1,\"periodSeconds\":10,\"successThreshold\":1,"
        "\"failureThreshold\":3},\"resources\":{},\"terminationMessagePath\":\"/dev/"
        "termination-log\",\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":\"Always\"},{"
        "\"name\":\"b\",\"image\":\"r:5000/"
        "x:1.2\",\"env\":[{\"name\":\"V\",\"valueFrom\":{\"fieldRef\":"
        "{\"fieldPath\":\"metadata.name\",\"apiVersion\":\"v1\"}}}],\"resources\":{},"
        "\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\","
        "\"imagePullPolicy\":\"IfNotPresent\"}],\"restartPolicy\":\"Always\","
        "\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\",\"securityContext\":{}"
        ","
        "\"schedulerName\":\"default-scheduler\",\"enableServiceLinks\":true},\"apiVersion\":"
        "\"v1\","
        "\"kind\":\"Pod\",\"status\":{\"phase\":\"Pending\",\"qosClass\":\"BestEffort\"}}");
}

static void filling_twice_changes_nothing(void **state)
{
    struct json *pod = admitted(&kind_pod,
                                "metadata: {name: p}\nspec: {containers: [{name: a, image: "
                                "x:latest, resources: {limits: {cpu: 1}}}]}");
    const char *once = as_json(pod);

    (void)state;
    object_set_defaults(&arena, &kind_pod, pod);
    assert_json(pod, once);
}

static void requests_follow_limits_and_give_the_quality_of_service(void **state)
{
    static const struct {
        const char *resources, *requests, *qos;
    } cases[] = {
        {"{}", NULL, "BestEffort"},
        {"{limits: {cpu: 1, memory: 1Gi}}", "{\"cpu\":\"1\",\"memory\":\"1Gi\"}", "Guaranteed"},
        {"{limits: {cpu: 1}}", "{\"cpu\":\"1\"}", "Burstable"},
        {"{limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1}}",
         "{\"cpu\":\"1\",\"memory\":\"1Gi\"}", "Burstable"},
        {"{requests: {cpu: 1}}", "{\"cpu\":\"1\"}", "Burstable"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        char text[300];
        const struct json *pod, *requests;

        (void)snprintf(text, sizeof(text),
                       "metadata: {name: p}\nspec: {containers: [{name: a, resources: %s}]}",
                       cases[i].resources);
        pod = admitted(&kind_pod, text);
        requests = json_at(json_index(json_at(pod, "spec", "containers"), 0), "resources",
                           "requests");
        if (cases[i].requests)
            assert_json(requests, cases[i].requests);
        else
            assert_null(requests);
        assert_string_equal(json_string(json_at(pod, "status", "qosClass"), ""), cases[i].qos);
    }
}

static void pod_rules(void **state)
{
    static const struct {
        const char *spec, *causes;
    } cases[] = {
        {"{containers: [{name: a}]}", ""},
        {"{}", "1 spec.containers: Required value\n"},
        {"{containers: [{name: a}, {name: a}]}",
         "1 spec.containers[1].name: Duplicate value: \"a\"\n"},
        {"{containers: [{name: a}], initContainers: [{name: a}]}",
         "1 spec.initContainers[0].name: Duplicate value: \"a\"\n"},
        {"{containers: [{name: A_b}]}", "1 spec.containers[0].name: Invalid value: \"A_b\": a "
                                        "lowercase RFC 1123 label"},
        {"{containers: [{name: a, volumeMounts: [{name: v, mountPath: /x}]}]}",
         "1 spec.containers[0].volumeMounts[0].name: Invalid value: \"v\": no volume of this name"},
        {"{containers: [{name: a, volumeMounts: [{name: v, mountPath: /x}, {name: v, mountPath: "
         "/x}]}], volumes: [{name: v, emptyDir: {medium: Memory}}]}",
         "1 spec.containers[0].volumeMounts[1].mountPath: Duplicate value: \"/x\"\n"},
        {"{containers: [{name: a, resources: {limits: {cpu: 1}, requests: {cpu: 2}}}]}",
         "1 spec.containers[0].resources.requests[cpu]: Invalid value: \"2\": must be less than or "
         "equal to cpu limit of 1\n"},
        {"{containers: [{name: a, resources: {limits: {cpu: -1}}}]}",
         "1 spec.containers[0].resources.limits[cpu]: Invalid value: \"-1\": must be greater"},
        {"{containers: [{name: a, ports: [{containerPort: 0}]}]}",
         "1 spec.containers[0].ports[0].containerPort: Invalid value: 0: must be between 1 and "
         "65535"},
        {"{containers: [{name: a, env: [{value: x}]}]}",
         "1 spec.containers[0].env[0].name: Required value\n"},
        {"{containers: [{name: a, env: [{name: X, value: z}, {name: X, value: w}]}]}", ""},
        {"{containers: [{name: a}], restartPolicy: Sometimes}",
         "1 spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", "
         "\"Never\", \"OnFailure\"\n"},
#define C(members) "{containers: [{name: a, " members "}]}"
        {C("volumeMounts: [{name: v, mountPath: x, subPath: /y}]"),
         "1 spec.containers[0].volumeMounts[0].name: Invalid value: \"v\": no volume of this name "
         "is in spec.volumes\n1 spec.containers[0].volumeMounts[0].mountPath: Invalid value: "
         "\"x\": "
         "must be an absolute path\n1 spec.containers[0].volumeMounts[0].subPath: Invalid value: "
         "\"/y\": must be a relative path\n"},
        {"{containers: [{name: a, volumeMounts: [{name: v, mountPath: /x, subPath: a/../b}]}], "
         "volumes: [{name: v}]}",
         "1 spec.containers[0].volumeMounts[0].subPath: Invalid value: \"a/../b\": must not "
         "contain "
         "'..'\n"},
        {"{containers: [{name: a, volumeMounts: [{name: v, mountPath: /x, subPath: ..a/b..}]}], "
         "volumes: [{name: v}]}",
         ""},
        {"{containers: [{name: a}], volumes: [{name: v, emptyDir: {}, hostPath: {path: /a/..}}]}",
         "1 spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type\n"
         "1 spec.volumes[0].hostPath.path: Invalid value: \"/a/..\": must not contain '..'\n"},
        {"{containers: [{name: a}], volumes: [{name: v, secret: {items: [{key: k, path: ../x}]}}]}",
         "1 spec.volumes[0].secret.items[0].path: Invalid value: \"../x\": must not contain"},
        {C("livenessProbe: {periodSeconds: 3}"),
         "1 spec.containers[0].livenessProbe: Required value: must specify a handler type\n"},
        {C("readinessProbe: {exec: {command: [x]}, tcpSocket: {port: 80}}"),
         "1 spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 "
         "handler type\n"},
        {C("readinessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 5}"),
         "1 spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: "
         "must "
         "not be set for readinessProbes\n"},
        {C("livenessProbe: {httpGet: {port: 0}, successThreshold: 2}"),
         "1 spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and "
         "65535, inclusive\n1 spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: "
         "must be 1\n"},
        {C("livenessProbe: {httpGet: {port: 1, path: \"/a\\r\\nHost: x\", httpHeaders: [{name: A, "
           "value: \"x\\ny\"}, {name: \"A b\", value: x}, {name: content-length, value: \"1\"}]}}"),
         "1 spec.containers[0].livenessProbe.httpGet.path: Invalid value: \"/a\\r\\nHost: x\": "
         "must "
         "not contain control characters\n"
         "1 spec.containers[0].livenessProbe.httpGet.httpHeaders[0].value: Invalid value: "
         "\"x\\ny\": must not contain control characters\n"
         "1 spec.containers[0].livenessProbe.httpGet.httpHeaders[1].name: Invalid value: \"A b\": "
         "a "
         "valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name')\n"
         "1 spec.containers[0].livenessProbe.httpGet.httpHeaders[2].name: Invalid value: "
         "\"content-length\": the request has no body\n"},
        {C("livenessProbe: {httpGet: {port: 1, httpHeaders: [{name: Host, value: a}, {name: host, "
           "value: b}]}}"),
         "1 spec.containers[0].livenessProbe.httpGet.httpHeaders[1].name: Invalid value: \"host\": "
         "a request has one Host\n"},
        {C("startupProbe: {exec: {}}"),
         "1 spec.containers[0].startupProbe.exec.command: Required value\n"},
        {C("ports: [{containerPort: 1, name: web}, {containerPort: 2, name: web}]"),
         "1 spec.containers[0].ports[1].name: Duplicate value: \"web\"\n"},
        {C("ports: [{containerPort: 1, name: 8080}]"),
         "1 spec.containers[0].ports[0].name: Invalid value: 8080: must be a string"},
        {C("ports: [{containerPort: 1, name: \"8080\"}]"),
         "1 spec.containers[0].ports[0].name: Invalid value: \"8080\": must contain at least one "
         "letter (a-z)\n"},
        {C("env: [{name: \"A=B\"}]"),
         "1 spec.containers[0].env[0].name: Invalid value: \"A=B\": a valid environment variable"},
        {C("env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"),
         "1 spec.containers[0].env[0].valueFrom: Invalid value: {\"fieldRef\":{"},
        {C("env: [{name: A, valueFrom: {}}]"),
         "1 spec.containers[0].env[0].valueFrom: Invalid value: {}: must specify one of"},
        {C("envFrom: [{prefix: A}]"),
         "1 spec.containers[0].envFrom[0]: Invalid value: {\"prefix\":\"A\"}: must specify one of"},
        {C("resources: {limits: {nvidia.com/gpu: 0.5}}"),
         "1 spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: \"0.5\": must be "
         "an "
         "integer\n"},
        {C("resources: {limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}}"),
         "1 spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: \"1\": must be "
         "equal to nvidia.com/gpu limit of 2\n"},
        {C("resources: {limits: {cpu: lots}}"),
         "1 spec.containers[0].resources.limits[cpu]: Invalid value: \"lots\": must be a quantity"},
        {C("lifecycle: {preStop: {}}"),
         "1 spec.containers[0].lifecycle.preStop: Required value: must specify a handler type\n"},
        {"{containers: [{name: a}], initContainers: [{name: b, livenessProbe: {grpc: {port: 1}}}]}",
         "1 spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers"},
        {"{containers: [{name: a}], tolerations: [{operator: Exists, value: x}]}",
         "1 spec.tolerations[0].value: Invalid value: \"x\": value must be empty when"},
        {"{containers: [{name: a}], readinessGates: [{conditionType: a.b/c}, "
         "{conditionType: \"x\\e[2J\"}]}",
         "1 spec.readinessGates[1].conditionType: Invalid value: "},
        {"{containers: [{name: a}], schedulingGates: [{name: a/b/c}]}",
         "1 spec.schedulingGates[0].name: Invalid value: \"a/b/c\": a qualified name must"},
        {"{containers: [{name: a}], affinity: {nodeAffinity: "
         "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
         "[{key: k, operator: Is}]}]}}}}",
         "1 spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
         "nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: \"Is\""},
        {"{containers: []}", "1 spec.containers: Required value: must have at least one element\n"},
#undef C
        {"{containers: [{name: a}], restartPolicy: \"\"}", ""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        char text[512];

        (void)snprintf(text, sizeof(text), "{metadata: {name: p}, spec: %s}", cases[i].spec);
        (void)admit(&kind_pod, parse(text), NULL, FIELD_VALIDATION_STRICT, &err);
        if (strncmp(causes_of(&err), cases[i].causes, strlen(cases[i].causes)) != 0 ||
            (!*cases[i].causes && err_is_set(&err)))
            fail_msg("%s: %s", cases[i].spec, err.text ? causes_of(&err) : "accepted");
    }
}

static void unknown_fields_of_a_pod_are_caught_at_any_depth(void **state)
{
    static const struct {
        const char *spec, *path;
    } cases[] = {
        {"{containers: [{name: a}], unknownToUs: 1}", "spec.unknownToUs"},
        {"{containers: [{name: a, imagePullpolicy: x}]}", "spec.containers[0].imagePullpolicy"},
        {"{containers: [{name: a, livenessProbe: {exec: {cmd: [x]}}}]}",
         "spec.containers[0].livenessProbe.exec.cmd"},
        {"{containers: [{name: a}], volumes: [{name: v, emptydir: {}}]}",
         "spec.volumes[0].emptydir"},
        {"{containers: [{name: a}], affinity: {podAffinity: {required: []}}}",
         "spec.affinity.podAffinity.required"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        char text[512], says[256];

        (void)snprintf(text, sizeof(text), "{metadata: {name: p}, spec: %s}", cases[i].spec);
        (void)snprintf(says, sizeof(says), "strict decoding error: unknown field \"%s\"",
                       cases[i].path);
        assert_true(admit(&kind_pod, parse(text), NULL, FIELD_VALIDATION_STRICT, &err) < 0);
        if (!strstr(err.text, says))
            fail_msg("%s: %s", cases[i].spec, err.text);
    }
}

#define ANNOTATED(text)                                                                            \
    "metadata: {name: p, annotations: {" text "}}\nspec: {containers: [{name: a, image: x}]}"

static void what_muster_writes_itself_is_refused(void **state)
{
    static const char *const names[] = {"muster.dev/gpus", "muster.dev/gpu-links"};

    (void)state;
    for (size_t i = 0; i < ELEMS(names); i++) {
        const struct json *old = admitted(&kind_pod, ANNOTATED("a: b"));
        const char *text = arena_printf(&arena, ANNOTATED("a: b, %s: x"), names[i]);
        const char *said = arena_printf(
            &arena,
            "1 metadata.annotations[%s]: Forbidden: this annotation is reserved for muster itself; "
            "leave it out\n",
            names[i]);
        auto_err fresh = ERR_INIT, later = ERR_INIT, same = ERR_INIT;
        struct json *kept = admitted(&kind_pod, ANNOTATED("a: b"));

        assert_true(admit(&kind_pod, parse(text), NULL, FIELD_VALIDATION_STRICT, &fresh) < 0);
        assert_string_equal(causes_of(&fresh), said);
        assert_true(admit(&kind_pod, parse(text), old, FIELD_VALIDATION_STRICT, &later) < 0);
        assert_non_null(strstr(causes_of(&later), "leave it out"));
        json_set_string(&arena,
                        json_make_object(&arena, json_get_mut(kept, "metadata"), "annotations"),
                        names[i], "x");
        assert_int_equal(admit(&kind_pod, parse(text), kept, FIELD_VALIDATION_STRICT, &same), 0);
    }
}

static void only_a_few_fields_of_a_pod_may_change(void **state)
{
    static const struct {
        const char *from, *to;
        bool accepted;
    } cases[] = {
        {"{containers: [{name: a}]}", "{containers: [{name: a}]}", true},
        {"{containers: [{name: a}]}", "{containers: [{name: a}], nodeName: n1}", true},
        {"{containers: [{name: a}], nodeName: n1}", "{containers: [{name: a}], nodeName: m}",
         false},
        {"{containers: [{name: a}], nodeName: n1}", "{containers: [{name: a}]}", false},
        {"{containers: [{name: a, image: x}]}", "{containers: [{name: a, image: z}]}", true},
        {"{containers: [{name: a}]}", "{containers: [{name: a, args: [x]}]}", false},
        {"{containers: [{name: a}]}", "{containers: [{name: a}, {name: b}]}", false},
        {"{containers: [{name: a}]}", "{containers: [{name: a}], activeDeadlineSeconds: 5}", true},
        {"{containers: [{name: a}], hostNetwork: true}", "{containers: [{name: a}]}", false},
        {"{containers: [{name: a}]}", "{containers: [{name: a}], restartPolicy: Never}", false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        char from[256], to[256];
        int rc;

        (void)snprintf(from, sizeof(from), "{metadata: {name: p}, spec: %s}", cases[i].from);
        (void)snprintf(to, sizeof(to), "{metadata: {name: p}, spec: %s}", cases[i].to);
        rc = admit(&kind_pod, parse(to), admitted(&kind_pod, from), FIELD_VALIDATION_STRICT, &err);
        if ((rc == 0) != cases[i].accepted)
            fail_msg("case %zu: %s", i, err.text ? err.text : "accepted");
    }
}

/* Whole, or of a text's parts alone, as the server writes them. */
static const struct json *row_of(const struct json *pod, const struct blob *text,
                                 enum table_include include)
{
    struct buf out = BUF_INIT(1u << 20);
    const struct json *row;

    table_write_row(&out, &arena, &kind_pod, pod, text, include, NOW_MS);
    row = json_parse(&arena, out.data, out.len, NULL);
    assert_non_null(row);
    buf_release(&out);
    return row;
}

static void assert_same_row(const struct json *pod, enum table_include include)
{
    struct buf text = BUF_INIT(1u << 20);
    const struct json *parts;
    struct blob *blob;

    json_write(&text, pod);
    blob = blob_from_buf(&text);
    parts = json_skim(&arena, text.data, text.len, kind_pod.row_parts, NULL);
    assert_non_null(parts);
    assert_true(json_equal(row_of(parts, blob, include), row_of(pod, NULL, include)));
    blob_unref(blob);
    buf_release(&text);
}

/* "READY STATUS RESTARTS" of a pod. */
static const char *cells_of(const char *text)
{
    struct json *pod = parse(text);
    const struct json *cells;

    if (!json_get(pod, "metadata"))
        json_set_string(&arena, json_make_object(&arena, pod, "metadata"), "name", "p");
    json_set_string(&arena, json_make_object(&arena, json_get_mut(pod, "metadata"), "labels"), "a",
                    "b");
    assert_same_row(pod, TABLE_INCLUDE_NONE);
    assert_same_row(pod, TABLE_INCLUDE_METADATA);
    cells = json_get(row_of(pod, NULL, TABLE_INCLUDE_NONE), "cells");
    return arena_printf(&arena, "%s %s %s", table_cell_text(&arena, json_index(cells, 1)),
                        table_cell_text(&arena, json_index(cells, 2)),
                        table_cell_text(&arena, json_index(cells, 3)));
}

static void pod_columns_say_what_the_real_server_says(void **state)
{
    static const struct {
        const char *pod, *cells;
    } cases[] = {
        {"{spec: {containers: [{name: a}]}, status: {phase: Pending}}", "0/1 Pending 0"},
        {"{spec: {containers: [{name: a}]}, status: {phase: Running, containerStatuses: [{name: a, "
         "ready: true, state: {running: {}}}]}}",
         "1/1 Running 0"},
        {"{spec: {containers: [{name: a}, {name: b}]}, status: {phase: Running, containerStatuses: "
         "[{name: a, ready: true, restartCount: 2, state: {running: {}}, lastState: {terminated: "
         "{finishedAt: \"2025-12-31T23:55:00Z\"}}}, {name: b, ready: false, state: {waiting: "
         "{reason: "
         "CrashLoopBackOff}}}]}}",
         "1/2 CrashLoopBackOff 2 (5m ago)"},
        {"{spec: {containers: [{name: a}]}, status: {phase: Succeeded, containerStatuses: [{state: "
         "{terminated: {exitCode: 0, reason: Completed}}}]}}",
         "0/1 Completed 0"},
        {"{spec: {containers: [{name: a}]}, status: {phase: Failed, containerStatuses: [{state: "
         "{terminated: {exitCode: 1, reason: Error}}}]}}",
         "0/1 Error 0"},
        {"{spec: {containers: [{name: a}]}, status: {phase: Failed, containerStatuses: [{state: "
         "{terminated: {exitCode: 137}}}]}}",
         "0/1 ExitCode:137 0"},
        {"{spec: {containers: [{name: a}]}, status: {phase: Failed, containerStatuses: [{state: "
         "{terminated: {exitCode: 137, signal: 9}}}]}}",
         "0/1 Signal:9 0"},
        {"{spec: {containers: [{name: a}, {name: b}]}, status: {phase: Running, conditions: "
         "[{type: "
         "Ready, status: \"True\"}], containerStatuses: [{state: {terminated: {exitCode: 0, "
         "reason: "
         "Completed}}}, {ready: true, state: {running: {}}}]}}",
         "1/2 Running 0"},
        {"{spec: {containers: [{name: a}, {name: b}]}, status: {phase: Running, containerStatuses: "
         "[{state: {terminated: {exitCode: 0, reason: Completed}}}, {ready: true, state: {running: "
         "{}}}]}}",
         "1/2 NotReady 0"},
        {"{spec: {containers: [{name: a}]}, status: {phase: Failed, reason: Evicted}}",
         "0/1 Evicted 0"},
        {"{metadata: {deletionTimestamp: \"2026-01-01T00:00:00Z\"}, spec: {containers: [{name: "
         "a}]}, "
         "status: {phase: Running, containerStatuses: [{ready: true, state: {running: {}}}]}}",
         "1/1 Terminating 0"},
        {"{metadata: {deletionTimestamp: \"2026-01-01T00:00:00Z\"}, spec: {containers: [{name: "
         "a}]}, "
         "status: {phase: Running, reason: NodeLost}}",
         "0/1 Unknown 0"},
        {"{metadata: {deletionTimestamp: \"2026-01-01T00:00:00Z\"}, spec: {containers: [{name: "
         "a}]}, "
         "status: {phase: Succeeded, containerStatuses: [{state: {terminated: {reason: "
         "Completed}}}]}}",
         "0/1 Completed 0"},
        {"{spec: {containers: [{name: a}], initContainers: [{name: i}, {name: j}]}, status: "
         "{phase: "
         "Pending, initContainerStatuses: [{state: {terminated: {exitCode: 0}}}, {state: {running: "
         "{}}}], containerStatuses: [{state: {waiting: {reason: PodInitializing}}}]}}",
         "0/1 Init:1/2 0"},
        {"{spec: {containers: [{name: a}], initContainers: [{name: i}]}, status: {phase: Pending, "
         "initContainerStatuses: [{restartCount: 3, state: {terminated: {exitCode: 2}}}]}}",
         "0/1 Init:ExitCode:2 3"},
        {"{spec: {containers: [{name: a}], initContainers: [{name: i}]}, status: {phase: Pending, "
         "initContainerStatuses: [{state: {waiting: {reason: ImagePullBackOff}}}]}}",
         "0/1 Init:ImagePullBackOff 0"},
        {"{spec: {containers: [{name: a}], initContainers: [{name: s, restartPolicy: Always}]}, "
         "status: {phase: Running, initContainerStatuses: [{name: s, started: true, ready: true, "
         "restartCount: 1, state: {running: {}}}], containerStatuses: [{ready: true, state: "
         "{running: {}}}]}}",
         "2/2 Running 1"},
        {"{spec: {containers: [{name: a}]}, status: {phase: Pending, conditions: [{type: "
         "PodScheduled, status: \"False\", reason: SchedulingGated}]}}",
         "0/1 SchedulingGated 0"},
        {"{}", "0/0  0"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        if (strcmp(cells_of(cases[i].pod), cases[i].cells) != 0)
            fail_msg("case %zu: %s, wanted %s", i, cells_of(cases[i].pod), cases[i].cells);
}

static void a_row_has_all_columns_and_the_metadata(void **state)
{
    const struct json *columns = table_columns(&arena, &kind_pod), *row;
    char names[200] = "";

    (void)state;
    json_each (c, columns) {
        strcat(names, json_get_string(c, "name", "?"));
        strcat(names, json_get_int(c, "priority", -1) == 1 ? "* " : " ");
    }
    assert_string_equal(names, "Name Ready Status Restarts Age IP* Node* Nominated Node* Readiness "
                               "Gates* ");
    row = row_of(parse("{metadata: {name: p, creationTimestamp: \"2025-12-31T23:59:15Z\"}, spec: "
                       "{nodeName: n1, readinessGates: [{conditionType: A}, {conditionType: B}]}, "
                       "status: {podIP: 10.0.0.1, conditions: [{type: A, status: \"True\"}]}}"),
                 NULL, TABLE_INCLUDE_METADATA);
    assert_json(json_get(row, "cells"), "[\"p\",\"0/0\",\"\",\"0\",\"45s\",\"10.0.0.1\",\"n1\","
                                        "\"<none>\",\"1/2\"]");
    assert_json(
        json_get(row, "object"),
        "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
        "\"name\":\"p\",\"creationTimestamp\":\"2025-12-31T23:59:15Z\"}}");
}

static void cells_have_no_control_characters(void **state)
{
    const struct json *secret = parse("{metadata: {name: s}, type: \"x\\e[2J\\u202Ey\"}");

    (void)state;
    assert_json(table_cell(&arena, &kind_secret, "Type", secret, 0), "\"x[2Jy\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(pods_get_the_defaults_of_the_real_server, reset),
        cmocka_unit_test_setup(filling_twice_changes_nothing, reset),
        cmocka_unit_test_setup(requests_follow_limits_and_give_the_quality_of_service, reset),
        cmocka_unit_test_setup(pod_rules, reset),
        cmocka_unit_test_setup(unknown_fields_of_a_pod_are_caught_at_any_depth, reset),
        cmocka_unit_test_setup(what_muster_writes_itself_is_refused, reset),
        cmocka_unit_test_setup(only_a_few_fields_of_a_pod_may_change, reset),
        cmocka_unit_test_setup(pod_columns_say_what_the_real_server_says, reset),
        cmocka_unit_test_setup(a_row_has_all_columns_and_the_metadata, reset),
        cmocka_unit_test_setup(cells_have_no_control_characters, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
