/* pod_sync_test.c - the agent's decisions and the statuses it writes, as tables of cases. */
#include "agent/pod_sync.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/hosts.h"
#include "agent/pod_status.h"
#include "api/object.h"
#include "api/patch.h"
#include "core/pod_state.h"
#include "loop/file.h"

#define LIMIT (4u * 1024 * 1024)
#define COMMAND "\"containers\":[{\"name\":\"main\",\"command\":[\"x\"]}]"

static const struct json *parse(struct arena *a, const char *text)
{
    const struct json *v = json_parse(a, text, strlen(text), NULL);

    assert_non_null(v);
    return v;
}

enum run { NO_RUN, ALIVE, RUNNING, DEAD };

static struct pod_run run_of(enum run kind, struct container_state *c)
{
    *c = (struct container_state){.name = "main",
                                  .ready = kind == RUNNING,
                                  .started = kind == RUNNING,
                                  .phase = kind == RUNNING ? CONTAINER_RUNNING
                                                           : CONTAINER_TERMINATED,
                                  .reason = "Error",
                                  .message = "",
                                  .pid = 7,
                                  .started_ms = 1000,
                                  .finished_ms = kind == RUNNING ? 0 : 2000,
                                  .exit_code = kind == RUNNING ? 0 : 3};
    return (struct pod_run){.ns = "d",
                            .name = "p",
                            .uid = "u",
                            .alive = kind != DEAD,
                            .known = kind != ALIVE,
                            .containers = c,
                            .containers_len = kind == ALIVE ? 0 : 1};
}

#define DELETING                                                                                   \
    "\"metadata\":{\"uid\":\"u\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\","                  \
    "\"deletionGracePeriodSeconds\":7}"

static const struct {
    const char *name, *pod;
    enum run run;
    bool not_synced, newer, gone, no_service, room_held, over_limit;
    int64_t waited_ms;
    enum pod_step step;
    int64_t grace;
} cases[] = {
    {"nothing at all", NULL, NO_RUN, .step = POD_STEP_NONE},
    {"unknown run before the first list", NULL, RUNNING, .not_synced = true, .step = POD_STEP_NONE},
    {"unknown run", NULL, RUNNING, .step = POD_STEP_VERIFY},
    {"orphan runs", NULL, RUNNING, .gone = true, .step = POD_STEP_STOP,
     .grace = POD_ORPHAN_GRACE_SECONDS},
    {"newer than the database", NULL, RUNNING, .newer = true, .gone = true, .step = POD_STEP_NONE},
    {"was newer, and is dead", NULL, DEAD, .newer = true, .gone = true, .step = POD_STEP_REMOVE},
    {"orphan is dead", NULL, DEAD, .gone = true, .step = POD_STEP_REMOVE},
    {"new", "{\"spec\":{" COMMAND "}}", NO_RUN, .step = POD_STEP_START},
    {"new, service missing", "{\"spec\":{" COMMAND "}}", NO_RUN, .no_service = true,
     .step = POD_STEP_WAIT},
    {"waited enough", "{\"spec\":{" COMMAND "}}", NO_RUN, .no_service = true,
     .waited_ms = POD_SERVICE_WAIT_MS, .step = POD_STEP_START},
    {"a forgotten pod still runs", "{\"spec\":{" COMMAND "}}", NO_RUN, .room_held = true,
     .step = POD_STEP_WAIT},
    {"starting", "{\"spec\":{" COMMAND "}}", ALIVE, .step = POD_STEP_NONE},
    {"running", "{\"spec\":{" COMMAND "}}", RUNNING, .step = POD_STEP_NONE},
    {"no command", "{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"i\"}]}}", NO_RUN,
     .step = POD_STEP_FAIL},
    {"ran, but its folder is lost", "{\"spec\":{" COMMAND "},\"status\":{\"phase\":\"Running\"}}",
     NO_RUN, .step = POD_STEP_FAIL},
    {"deleted before its start", "{" DELETING ",\"spec\":{" COMMAND "}}", NO_RUN,
     .step = POD_STEP_DELETE},
    {"deleted while it starts", "{" DELETING ",\"spec\":{" COMMAND "}}", ALIVE,
     .step = POD_STEP_STOP, .grace = 7},
    {"deleted while it runs", "{" DELETING ",\"spec\":{" COMMAND "}}", RUNNING,
     .step = POD_STEP_STOP, .grace = 7},
    {"deleted and dead", "{" DELETING ",\"spec\":{" COMMAND "}}", DEAD, .step = POD_STEP_DELETE},
    {"finished", "{\"spec\":{" COMMAND "},\"status\":{\"phase\":\"Failed\"}}", DEAD,
     .step = POD_STEP_NONE},
    {"finished long ago", "{\"spec\":{" COMMAND "},\"status\":{\"phase\":\"Succeeded\"}}", NO_RUN,
     .step = POD_STEP_NONE},
    {"called finished by another", "{\"spec\":{" COMMAND "},\"status\":{\"phase\":\"Failed\"}}",
     RUNNING, .step = POD_STEP_STOP, .grace = POD_ORPHAN_GRACE_SECONDS},
    {"too large", "{\"spec\":{" COMMAND "}}", RUNNING, .over_limit = true, .step = POD_STEP_EVICT},
    {"too large, and said so", "{\"spec\":{" COMMAND "},\"status\":{\"reason\":\"Evicted\"}}",
     RUNNING, .over_limit = true, .step = POD_STEP_STOP, .grace = POD_EVICTION_GRACE_SECONDS},
    {"said so by an earlier daemon", "{\"spec\":{" COMMAND "},\"status\":{\"reason\":\"Evicted\"}}",
     RUNNING, .step = POD_STEP_STOP, .grace = POD_EVICTION_GRACE_SECONDS},
    {"too large, but ended", "{\"spec\":{" COMMAND "}}", DEAD, .over_limit = true,
     .step = POD_STEP_NONE},
    {"too large, but deleted", "{" DELETING ",\"spec\":{" COMMAND "}}", RUNNING, .over_limit = true,
     .step = POD_STEP_STOP, .grace = 7},
};

static void decisions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct arena a = ARENA_INIT(LIMIT);
        struct container_state c;
        struct pod_run run = run_of(cases[i].run, &c);
        struct pod_view v = {.pod = cases[i].pod ? parse(&a, cases[i].pod) : NULL,
                             .run = cases[i].run == NO_RUN ? NULL : &run,
                             .synced = !cases[i].not_synced,
                             .newer = cases[i].newer,
                             .gone = cases[i].gone,
                             .service_seen = !cases[i].no_service,
                             .room_held = cases[i].room_held,
                             .over_limit = cases[i].over_limit ? "why" : NULL,
                             .seen_ms = 1000,
                             .now_ms = 1000 + cases[i].waited_ms};
        struct pod_decision d = pod_decide(&v);

        if (d.step != cases[i].step || d.grace_seconds != cases[i].grace)
            fail_msg("%s: step %d, grace %d", cases[i].name, (int)d.step, (int)d.grace_seconds);
        arena_release(&a);
    }
}

static const char pod_text[] = "{\"metadata\":{\"name\":\"p\",\"uid\":\"u\"},\"spec\":{" COMMAND
                               "},\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":"
                               "\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":"
                               "\"2026-01-01T00:00:00Z\"}]}}";

/* Patches until there is nothing to patch: one round must do. */
static const struct json *settle(struct arena *a, const struct json *pod, const struct pod_run *run,
                                 const struct pod_failure *f)
{
    const struct json *patch = pod_status_patch(a, pod, run, f, "127.0.0.1", 5000);

    assert_non_null(patch);
    assert_string_equal(json_string(json_at(patch, "metadata", "uid"), ""), "u");
    pod = patch_merge(a, pod, patch);
    assert_null(pod_status_patch(a, pod, run, f, "127.0.0.1", 5000));
    return pod;
}

static const char *condition(const struct json *pod, const char *type)
{
    return json_get_string(object_condition(pod, type), "status", "");
}

static void statuses_settle_and_move_on(void **state)
{
    struct arena a = ARENA_INIT(LIMIT);
    struct container_state c;
    struct pod_run run = run_of(RUNNING, &c);
    const struct json *pod = settle(&a, parse(&a, pod_text), &run, NULL);
    const struct json *status = json_index(json_at(pod, "status", "containerStatuses"), 0);

    (void)state;
    assert_string_equal(json_string(json_at(pod, "status", "phase"), ""), "Running");
    assert_string_equal(condition(pod, "Ready"), "True");
    assert_string_equal(condition(pod, "Initialized"), "True");
    assert_string_equal(
        json_get_string(object_condition(pod, "PodScheduled"), "lastTransitionTime", ""),
        "2026-01-01T00:00:00Z");
    assert_string_equal(json_get_string(status, "containerID", ""), "process://u/7");
    assert_string_equal(json_string(json_at(status, "state", "running", "startedAt"), ""),
                        "1970-01-01T00:00:01Z");
    run = run_of(DEAD, &c);
    pod = settle(&a, pod, &run, NULL);
    status = json_index(json_at(pod, "status", "containerStatuses"), 0);
    assert_string_equal(json_string(json_at(pod, "status", "phase"), ""), "Failed");
    assert_string_equal(condition(pod, "Ready"), "False");
    assert_int_equal(json_int(json_at(status, "state", "terminated", "exitCode"), 0), 3);
    assert_null(json_at(status, "state", "running"));
    arena_release(&a);
}

static void a_finished_phase_stays(void **state)
{
    struct arena a = ARENA_INIT(LIMIT);
    struct container_state c;
    struct pod_run run = run_of(RUNNING, &c);
    const struct json *pod = parse(&a, "{\"metadata\":{\"uid\":\"u\"},\"spec\":{" COMMAND
                                       "},\"status\":{\"phase\":\"Failed\"}}");

    (void)state;
    pod = settle(&a, pod, &run, NULL);
    assert_string_equal(json_string(json_at(pod, "status", "phase"), ""), "Failed");
    arena_release(&a);
}

static void what_is_not_known_is_not_said(void **state)
{
    struct arena a = ARENA_INIT(LIMIT);
    struct container_state c;
    struct pod_run run = run_of(ALIVE, &c);

    (void)state;
    assert_null(pod_status_patch(&a, parse(&a, pod_text), NULL, NULL, "127.0.0.1", 5000));
    assert_null(pod_status_patch(&a, parse(&a, pod_text), &run, NULL, "127.0.0.1", 5000));
    arena_release(&a);
}

static void failures_name_their_reason(void **state)
{
    struct arena a = ARENA_INIT(LIMIT);
    struct pod_failure f = {.exit_code = 128, .reason = "StartError", .message = "why"};
    const struct json *pod = settle(&a, parse(&a, pod_text), NULL, &f);
    const struct json *status = json_index(json_at(pod, "status", "containerStatuses"), 0);

    (void)state;
    assert_string_equal(json_string(json_at(pod, "status", "phase"), ""), "Failed");
    assert_string_equal(json_string(json_at(pod, "status", "message"), ""), "why");
    assert_string_equal(json_string(json_at(status, "state", "terminated", "message"), ""), "why");
    f = (struct pod_failure){
        .waiting = true, .reason = "CreateContainerConfigError", .message = "w"};
    pod = settle(&a, parse(&a, pod_text), NULL, &f);
    status = json_index(json_at(pod, "status", "containerStatuses"), 0);
    assert_string_equal(json_string(json_at(pod, "status", "phase"), ""), "Pending");
    assert_string_equal(json_string(json_at(status, "state", "waiting", "message"), ""), "w");
    arena_release(&a);
}

static void the_evicted_fail_however_they_end(void **state)
{
    struct arena a = ARENA_INIT(LIMIT);
    struct pod_failure f = {.reason = POD_REASON_EVICTED, .message = "why"};
    struct container_state c;
    struct pod_run run = run_of(RUNNING, &c);
    const struct json *pod = settle(&a, parse(&a, pod_text), &run, NULL);

    (void)state;
    pod = patch_merge(&a, pod, pod_status_eviction(&a, pod, &f));
    assert_null(pod_status_patch(&a, pod, &run, NULL, "127.0.0.1", 5000)); /* it runs still */
    assert_string_equal(json_string(json_at(pod, "status", "phase"), ""), "Running");
    run = run_of(DEAD, &c);
    run.alive = true; /* its supervisor ends last */
    c.exit_code = 0;
    pod = settle(&a, pod, &run, NULL);
    assert_string_equal(json_string(json_at(pod, "status", "phase"), ""), "Failed");
    assert_string_equal(json_string(json_at(pod, "status", "reason"), ""), "Evicted");
    assert_string_equal(json_string(json_at(pod, "status", "message"), ""), "why");
    arena_release(&a);
}

static void who_ends_before_it_is_told_to_is_told_apart(void **state)
{
    struct arena a = ARENA_INIT(LIMIT);
    struct container_state c;
    struct pod_run run = run_of(DEAD, &c);
    struct json *pod = json_clone(&a, parse(&a, pod_text));

    (void)state;
    json_set_string(&a, json_make_object(&a, pod, "metadata"), "deletionTimestamp",
                    "2026-01-01T00:00:00Z");
    c.exit_code = 0;
    assert_null(object_condition(settle(&a, pod, &run, NULL), POD_ENDED_BY_ITSELF));
    c.by_itself = true;
    assert_string_equal(condition(settle(&a, pod, &run, NULL), POD_ENDED_BY_ITSELF), "True");
    c.exit_code = 1;
    assert_string_equal(condition(settle(&a, pod, &run, NULL), POD_ENDED_BY_ITSELF), "True");
    (void)json_remove(json_make_object(&a, pod, "metadata"), "deletionTimestamp");
    assert_null(object_condition(settle(&a, pod, &run, NULL), POD_ENDED_BY_ITSELF));
    json_set_string(&a, /* it may be preempted, and its deletion not be known here yet */
                    json_make_object(&a, json_make_object(&a, pod, "metadata"), "labels"),
                    LABEL_GROUP_NAME, "g");
    assert_string_equal(condition(settle(&a, pod, &run, NULL), POD_ENDED_BY_ITSELF), "True");
    arena_release(&a);
}

/* What an init container that failed kept from beginning was not told to end. */
static void an_init_container_ends_its_pod_by_itself(void **state)
{
    struct arena a = ARENA_INIT(LIMIT);
    struct container_state list[2] = {{.name = "i",
                                       .init = true,
                                       .phase = CONTAINER_TERMINATED,
                                       .by_itself = true,
                                       .reason = "",
                                       .message = ""},
                                      {.name = "main", .reason = "", .message = ""}};
    struct pod_run run = {.uid = "u", .known = true, .containers = list, .containers_len = 2};
    const struct json *pod = parse(
        &a, "{\"metadata\":{\"uid\":\"u\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
            "\"spec\":{\"initContainers\":[{\"name\":\"i\"}],"
            "\"containers\":[{\"name\":\"main\"}]},\"status\":{}}");

    (void)state;
    assert_null(object_condition(settle(&a, pod, &run, NULL), POD_ENDED_BY_ITSELF)); /* stopped */
    list[0].exit_code = 1;
    assert_string_equal(condition(settle(&a, pod, &run, NULL), POD_ENDED_BY_ITSELF), "True");
    arena_release(&a);
}

static void init_containers_decide_with(void **state)
{
    struct arena a = ARENA_INIT(LIMIT);
    struct container_state list[2] = {{.name = "i", .init = true, .reason = "", .message = ""},
                                      {.name = "main", .reason = "", .message = ""}};
    struct pod_run run = {
        .uid = "u", .alive = true, .known = true, .containers = list, .containers_len = 2};
    const struct json *pod = parse(
        &a, "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"initContainers\":[{\"name\":\"i\"}],"
            "\"containers\":[{\"name\":\"main\"}]},\"status\":{}}");

    (void)state;
    list[0].phase = CONTAINER_RUNNING;
    pod = settle(&a, pod, &run, NULL);
    assert_string_equal(json_string(json_at(pod, "status", "phase"), ""), "Pending");
    assert_string_equal(condition(pod, "Initialized"), "False");
    list[0].phase = CONTAINER_TERMINATED;
    list[0].exit_code = 1;
    run.alive = false;
    pod = settle(&a, pod, &run, NULL);
    assert_string_equal(json_string(json_at(pod, "status", "phase"), ""), "Failed");
    arena_release(&a);
}

/* --- hosts --- */

static unsigned count(const char *path, const char *what)
{
    struct buf text = BUF_INIT(LIMIT);
    unsigned n = 0;

    assert_int_equal(file_read(path, LIMIT, &text), 0);
    for (const char *p = text.data; (p = strstr(p, what)) != NULL; p += strlen(what))
        n++;
    buf_release(&text);
    return n;
}

static void only_what_the_node_reported_is_settled(void **state)
{
    static const struct {
        const char *pod;
        bool settled;
    } pods[] = {
#define ENDED                                                                                      \
    "\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{\"exitCode\":0}}}]"
#define RUNS "\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"running\":{}}}]"
        {"{\"spec\":{" COMMAND "},\"status\":{\"phase\":\"Succeeded\"," ENDED "}}", true},
        {"{\"spec\":{" COMMAND "},\"status\":{\"phase\":\"Running\"," ENDED "}}", false},
        {"{\"spec\":{" COMMAND "},\"status\":{\"phase\":\"Failed\"," RUNS "}}", false},
        {"{\"spec\":{" COMMAND "},\"status\":{\"phase\":\"Failed\"}}", false},
        {"{" DELETING ",\"spec\":{" COMMAND "},\"status\":{\"phase\":\"Failed\"," ENDED "}}",
         false},
    };
    struct arena a = ARENA_INIT(LIMIT);

    (void)state;
    for (size_t i = 0; i < ELEMS(pods); i++)
        assert_int_equal(pod_is_settled(parse(&a, pods[i].pod)), pods[i].settled);
    arena_release(&a);
}

static void hosts_files_grow_while_in_use(void **state)
{
    char dir[] = "/tmp/muster-test-XXXXXX", command[64];
    struct hosts *h;
    int renewals = 0;
    const char *path;

    (void)state;
    assert_non_null(mkdtemp(dir));
    h = hosts_new(dir, NULL);
    assert_non_null(h);
    assert_int_equal(hosts_add(h, "ns", "early"), 0); /* not needed yet */
    assert_int_equal(hosts_open(h, "ns", HOSTS_UNUSED, &path, NULL), 0);
    assert_int_equal(hosts_add(h, "ns", "svc"), 0);
    assert_int_equal(hosts_add(h, "ns", "svc"), 0);
    assert_int_equal(hosts_add(h, "ns", "bad\n1.2.3.4 name"), 0);
    assert_int_equal(count(path, "127.0.0.1\tsvc svc.ns svc.ns.svc svc.ns.svc.cluster.local\n"), 1);
    assert_int_equal(count(path, "1.2.3.4"), 0);
    assert_int_equal(count(path, "early"), 0);
    hosts_free(h);

    h = hosts_new(dir, NULL); /* a restarted daemon; pods hold the file */
    assert_int_equal(hosts_open(h, "ns", HOSTS_IN_USE, &path, NULL), 0);
    assert_int_equal(hosts_add(h, "ns", "svc"), 0);
    assert_int_equal(hosts_add(h, "ns", "other"), 0);
    assert_int_equal(count(path, "svc.ns.svc.cluster.local"), 1);
    assert_int_equal(count(path, "other.ns.svc.cluster.local"), 1);
    assert_int_equal(hosts_open(h, "ns", HOSTS_UNUSED, &path, NULL), 0);
    assert_int_equal(count(path, "svc.cluster.local"), 0);
    /* asking whether it may be renewed is rare: when new, or grown twice over */
    assert_true(hosts_wants_renewal(h, "elsewhere", 0));
    assert_false(hosts_wants_renewal(h, "ns", 0));
    for (int k = 0; k < 600; k++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n-%d", k);
        assert_int_equal(hosts_add(h, "ns", name), 0);
        if (hosts_wants_renewal(h, "ns", 10))
            renewals++;
    }
    assert_int_equal(renewals, 2);
    assert_int_not_equal(hosts_open(h, "../x", HOSTS_UNUSED, &path, NULL), 0);
    hosts_free(h);

    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions),
        cmocka_unit_test(statuses_settle_and_move_on),
        cmocka_unit_test(a_finished_phase_stays),
        cmocka_unit_test(what_is_not_known_is_not_said),
        cmocka_unit_test(failures_name_their_reason),
        cmocka_unit_test(the_evicted_fail_however_they_end),
        cmocka_unit_test(who_ends_before_it_is_told_to_is_told_apart),
        cmocka_unit_test(an_init_container_ends_its_pod_by_itself),
        cmocka_unit_test(init_containers_decide_with),
        cmocka_unit_test(only_what_the_node_reported_is_settled),
        cmocka_unit_test(hosts_files_grow_while_in_use),
    };

    return cmocka_run_group_tests_name("pod_sync", tests, NULL, NULL);
}
