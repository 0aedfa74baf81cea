/* agent_test.c - the agent with real processes against a small API: start, report, stop, restart.
 */
#include "runtime/pod_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "agent/node.h"
#include "agent/pod_token.h"
#include "loop/file.h"
#include "runtime/podfolder.h"
#include "small_api.h"

struct world {
    struct fixture f; /* root and program only: the agent has the runtime */
    struct small_api api;
    struct agent *agent;
    struct arena arena;
};

#define LEASE_PATH "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"
#define POD_PATH "/api/v1/namespaces/default/pods/"

static void start_agent(struct world *w)
{
    struct agent_options o = {.loop = w->f.loop,
                              .transport = &w->api.base,
                              .pod_root = w->f.pods,
                              .node_name = "n1",
                              .program = w->f.program};

    w->agent = agent_new(&o, NULL);
    assert_non_null(w->agent);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    ssize_t n;

    assert_non_null(w);
    fixture_watch();
    strcpy(w->f.root, "/tmp/muster-test-XXXXXX");
    assert_non_null(mkdtemp(w->f.root));
    (void)snprintf(w->f.pods, sizeof(w->f.pods), "%s/pods", w->f.root);
    n = readlink("/proc/self/exe", w->f.program, sizeof(w->f.program) - 1);
    assert_true(n > 0);
    w->f.loop = loop_new(NULL);
    small_api_init(&w->api, w->f.loop);
    arena_init(&w->arena, SMALL_API_ARENA);
    start_agent(w);
    *state = w;
    return 0;
}

static const struct json *pod_now(struct world *w, const char *name)
{
    return small_api_get(&w->api, &w->arena, arena_printf(&w->arena, POD_PATH "%s", name));
}

/* Until the pod's phase is that, or (NULL) until the pod is gone. */
static const struct json *wait_phase(struct world *w, const char *name, const char *phase)
{
    for (;;) {
        const struct json *pod;

        arena_reset(&w->arena);
        pod = pod_now(w, name);
        if (!pod && !phase)
            return NULL;
        if (phase && json_string_is(json_at(pod, "status", "phase"), phase))
            return pod;
        loop_run_once(w->f.loop);
    }
}

static void put_pod(struct world *w, const char *name, const char *uid, const char *container)
{
    char *text = arena_printf(
        &w->arena,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
        "\"default\",\"uid\":\"%s\"},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":"
        "\"main\",\"image\":\"img\",%s}]},\"status\":{\"phase\":\"Pending\"}}",
        name, uid, container);

    small_api_put(&w->api, &w->arena, arena_printf(&w->arena, POD_PATH "%s", name),
                  json_parse(&w->arena, text, strlen(text), NULL));
}

static void put_shell(struct world *w, const char *name, const char *uid, const char *script)
{
    struct buf text = BUF_INIT(100000);

    buf_adds(&text, "\"command\":[\"/bin/sh\",\"-c\",");
    json_write_string(&text, script, strlen(script));
    buf_adds(&text, "]");
    put_pod(w, name, uid, text.data);
    buf_release(&text);
}

static void mark_deleting(struct world *w, const char *name, int grace)
{
    struct json *pod = small_api_get(&w->api, &w->arena,
                                     arena_printf(&w->arena, POD_PATH "%s", name));
    struct json *meta = json_get_mut(pod, "metadata");

    json_set_string(&w->arena, meta, "deletionTimestamp", "2026-11-15T08:00:00Z");
    json_set_int(&w->arena, meta, "deletionGracePeriodSeconds", grace);
    small_api_put(&w->api, &w->arena, arena_printf(&w->arena, POD_PATH "%s", name), pod);
}

static bool folder_exists(struct world *w, const char *uid)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", w->f.pods, uid);
    return access(path, F_OK) == 0;
}

static bool runs(struct world *w, const char *uid)
{
    char path[256];
    int dir_fd;
    bool held;

    (void)snprintf(path, sizeof(path), "%s/%s", w->f.pods, uid);
    dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    held = dir_fd >= 0 && pod_lock_is_held(dir_fd);
    if (dir_fd >= 0)
        (void)close(dir_fd);
    return held;
}

/* Of a pod that has run: whether its program is recorded as running, or is. Its supervisors have
 * something left to do when it is not. */
static bool program_runs(struct world *w, const char *uid)
{
    const struct pod_record record = stored_state(&w->f, uid, &w->arena);
    const struct container_state *c = &record.run.containers[0];
    struct proc_stat stat;

    assert_true(c->pid > 0);
    return c->phase == CONTAINER_RUNNING ||
           (proc_stat_read((pid_t)c->pid, &stat) == 0 && stat.state != 'Z' &&
            stat.start_ticks == c->start_ticks);
}

static bool exists(void *arg, const char *path)
{
    struct world *w = arg;

    return map_gets(&w->api.objects, path) != NULL;
}

/* Every pod is deleted and waited for, so that a test leaves no process behind. */
static int teardown(void **state)
{
    struct world *w = *state;
    char command[256];

    for (;;) {
        struct map_node *n = map_seek(&w->api.objects, POD_PATH, strlen(POD_PATH));
        char *name;

        if (!n || strncmp(n->key, POD_PATH, strlen(POD_PATH)) != 0)
            break;
        name = strdup(n->key + strlen(POD_PATH));
        mark_deleting(w, name, 0);
        (void)wait_phase(w, name, NULL);
        free(name);
    }
    agent_free(w->agent);
    small_api_release(&w->api);
    loop_free(w->f.loop);
    arena_release(&w->arena);
    (void)snprintf(command, sizeof(command), "rm -rf %s", w->f.root);
    assert_int_equal(system(command), 0);
    free(w);
    return 0;
}

static const struct json *main_state(const struct json *pod)
{
    return json_get(json_index(json_at(pod, "status", "containerStatuses"), 0), "state");
}

static void assert_exit(const struct json *pod, int expected)
{
    const struct json *end = json_get(main_state(pod), "terminated");
    int64_t code = json_get_int(end, "exitCode", -1);

    if (code != expected)
        fail_msg("%d, not %d: %s: %s", (int)code, expected, json_get_string(end, "reason", ""),
                 json_get_string(end, "message", ""));
}

static void the_machine_is_a_node(void **state)
{
    struct world *w = *state;
    const struct json *node;

    for (;;) {
        arena_reset(&w->arena);
        node = small_api_get(&w->api, &w->arena, "/api/v1/nodes/n1");
        if (json_at(node, "status", "capacity"))
            break;
        loop_run_once(w->f.loop);
    }
    assert_true(json_string_is(object_condition(node, "Ready")
                                   ? json_get(object_condition(node, "Ready"), "status")
                                   : NULL,
                               "True"));
    assert_non_null(json_at(node, "status", "allocatable", "cpu"));
    assert_non_null(json_at(node, "status", "allocatable", "memory"));
}

/* The small API forgets what happened before. */
static size_t watchers(struct world *w, const char *plural)
{
    size_t n = 0;

    for (const struct api_stream *s = w->api.streams; s; s = s->next)
        n += strcmp(s->plural, plural) == 0;
    return n;
}

/* The deleted Node of a running machine is created again at once, not at its next report. */
static void a_deleted_node_is_made_again(void **state)
{
    struct world *w = *state;

    the_machine_is_a_node(state);
    while (!watchers(w, "nodes"))
        loop_run_once(w->f.loop);
    small_api_delete(&w->api, "/api/v1/nodes/n1");
    the_machine_is_a_node(state);
}

/* As a kubelet: at four fifths, after a day at the latest; and not in a loop. */
static void tokens_are_renewed_in_time(void **state)
{
    static const int64_t hour_ms = INT64_C(3600000);

    (void)state;
    assert_int_equal(pod_token_due_ms(1000, 10 * 3600), 1000 + 8 * hour_ms);
    assert_int_equal(pod_token_due_ms(1000, INT64_C(8760) * 3600), 1000 + 24 * hour_ms);
    assert_int_equal(pod_token_due_ms(1000, 10), 61000);
    assert_int_equal(pod_token_due_ms(1000, 0), 61000);
    assert_int_equal(pod_token_due_ms(1000, INT64_MAX), 1000 + 24 * hour_ms);
}

/* Its next report would be due in two minutes. */
static void a_node_that_was_given_up_reports_at_once(void **state)
{
    struct world *w = *state;
    struct clock *clock = loop_clock(w->f.loop);
    int64_t begun_ms;
    struct json *node, *conditions;

    the_machine_is_a_node(state);
    while (!watchers(w, "nodes"))
        loop_run_once(w->f.loop);
    node = small_api_get(&w->api, &w->arena, "/api/v1/nodes/n1");
    conditions = json_get_mut(json_get_mut(node, "status"), "conditions");
    for (struct json *c = json_first_mut(conditions); c; c = c->next)
        json_set_string(&w->arena, c, "status", "Unknown");
    begun_ms = clock_now_ms(clock);
    small_api_put(&w->api, &w->arena, "/api/v1/nodes/n1", node);
    do {
        loop_run_once(w->f.loop);
        arena_reset(&w->arena);
        node = small_api_get(&w->api, &w->arena, "/api/v1/nodes/n1");
    } while (!json_string_is(json_get(object_condition(node, "Ready"), "status"), "True"));
    assert_in_range(clock_now_ms(clock) - begun_ms, 0, 60000);
}

/* When it has so many GPUs. */
static const struct json *wait_node(struct world *w, const char *gpus)
{
    for (;;) {
        const struct json *node;

        arena_reset(&w->arena);
        node = small_api_get(&w->api, &w->arena, "/api/v1/nodes/n2");
        if (json_string_is(json_at(node, "status", "allocatable", "nvidia.com/gpu"), gpus))
            return node;
        loop_run_once(w->f.loop);
    }
}

/* What it offered in shares at an earlier start it offers no more. */
static void a_node_offers_shares_of_gpus(void **state)
{
    struct world *w = *state;
    struct machine m = {
        .gpus = 4, .gpu_set = 0x3, .shared_set = 0xc, .gpu_shares = 3, .arch = "amd64"};
    struct node_options o = {
        .transport = &w->api.base, .clock = loop_clock(w->f.loop), .name = "n2", .machine = &m};
    struct node_keeper *keeper = node_keeper_new(&o);
    const struct json *node = wait_node(w, "2");

    assert_string_equal(object_annotation(node, ANNOTATION_GPUS), "0,1");
    assert_string_equal(object_annotation(node, ANNOTATION_SHARED_GPUS), "2,3");
    assert_true(
        json_string_is(json_at(node, "status", "allocatable", "nvidia.com/gpu.shared"), "6"));
    assert_true(json_string_is(json_at(node, "status", "capacity", "nvidia.com/gpu.shared"), "6"));
    node_keeper_free(keeper);
    m.gpu_set = 0xf;
    m.shared_set = 0;
    m.gpu_shares = 0;
    keeper = node_keeper_new(&o);
    node = wait_node(w, "4");
    assert_string_equal(object_annotation(node, ANNOTATION_SHARED_GPUS), "");
    assert_null(json_at(node, "status", "allocatable", "nvidia.com/gpu.shared"));
    node_keeper_free(keeper);
}

/* A node in its own process; no other writer may set its endpoint's authority. */
static void a_node_by_itself_renews_a_lease_and_keeps_its_authority(void **state)
{
    struct world *w = *state;
    struct machine m = {.arch = "amd64"};
    struct node_options o = {.transport = &w->api.base,
                             .clock = loop_clock(w->f.loop),
                             .name = "n2",
                             .machine = &m,
                             .door_port = 1,
                             .door_host = "127.0.0.1",
                             .door_ca_pem = "ours"};
    struct node_keeper *keeper = node_keeper_new(&o);
    const struct json *lease;
    struct json *node;

    (void)wait_node(w, "0");
    while (!(lease = small_api_get(&w->api, &w->arena, LEASE_PATH "n2")))
        loop_run_once(w->f.loop);
    assert_true(json_string_is(json_at(lease, "spec", "holderIdentity"), "n2"));
    assert_non_null(json_at(lease, "spec", "renewTime"));
    assert_null(small_api_get(&w->api, &w->arena, LEASE_PATH "n1")); /* in the server's process */
    while (watchers(w, "nodes") < 2)                                 /* n1's, too */
        loop_run_once(w->f.loop);
    node = small_api_get(&w->api, &w->arena, "/api/v1/nodes/n2");
    json_set_string(&w->arena, json_get_mut(json_get_mut(node, "metadata"), "annotations"),
                    ANNOTATION_NODE_CA, "theirs");
    small_api_put(&w->api, &w->arena, "/api/v1/nodes/n2", node);
    do {
        loop_run_once(w->f.loop);
        arena_reset(&w->arena);
        node = small_api_get(&w->api, &w->arena, "/api/v1/nodes/n2");
    } while (strcmp(object_annotation(node, ANNOTATION_NODE_CA), "ours") != 0);
    node_keeper_free(keeper);
}

static void a_pod_runs_and_succeeds(void **state)
{
    struct world *w = *state;
    const struct json *pod;

    put_shell(w, "p", "u1", "exit 0");
    pod = wait_phase(w, "p", "Succeeded");
    assert_exit(pod, 0);
    assert_string_equal(json_string(json_at(pod, "status", "podIP"), ""), "127.0.0.1");
    assert_true(json_string_is(json_get(object_condition(pod, "Ready"), "reason"), "PodCompleted"));
}

static void a_failed_pod_has_its_exit_code(void **state)
{
    struct world *w = *state;
    const struct json *pod;

    put_shell(w, "p", "u1", "exit 42");
    pod = wait_phase(w, "p", "Failed");
    assert_exit(pod, 42);
}

static void a_pod_without_a_command_says_so(void **state)
{
    struct world *w = *state;
    const struct json *pod;

    put_pod(w, "p", "u1", "\"args\":[]");
    pod = wait_phase(w, "p", "Failed");
    assert_non_null(strstr(json_string(json_at(pod, "status", "message"), ""), "no command"));
    assert_exit(pod, 128);
}

static void a_missing_program_says_so(void **state)
{
    struct world *w = *state;
    const struct json *pod;

    put_pod(w, "p", "u1", "\"command\":[\"no-such-thing\"]");
    pod = wait_phase(w, "p", "Failed");
    assert_non_null(strstr(json_get_string(json_get(main_state(pod), "terminated"), "message", ""),
                           "no-such-thing"));
}

static void a_deleted_pod_is_stopped_reported_and_forgotten(void **state)
{
    struct world *w = *state;

    put_shell(w, "p", "u1", "sleep 1000");
    (void)wait_phase(w, "p", "Running");
    mark_deleting(w, "p", 30);
    (void)wait_phase(w, "p", NULL);
    while (folder_exists(w, "u1"))
        loop_run_once(w->f.loop);
}

static void a_pod_deleted_behind_our_back_is_stopped(void **state)
{
    struct world *w = *state;

    put_shell(w, "p", "u1", "trap '' TERM; while :; do sleep 1000 & wait; done");
    (void)wait_phase(w, "p", "Running");
    small_api_delete(&w->api, POD_PATH "p");
    while (folder_exists(w, "u1"))
        loop_run_once(w->f.loop);
}

/* Its name, GPUs and port are the new one's at once; its process is not gone yet. */
static void a_pod_waits_for_the_process_of_a_forgotten_one(void **state)
{
    struct world *w = *state;

    put_shell(w, "p", "u1", "trap '' TERM; while :; do sleep 1000 & wait; done");
    (void)wait_phase(w, "p", "Running");
    small_api_delete(&w->api, POD_PATH "p");
    put_shell(w, "p", "u2", "sleep 1000");
    while (!folder_exists(w, "u2"))
        loop_run_once(w->f.loop);
    assert_false(runs(w, "u1"));
}

/* As the controller does with the pods of a node that has not been heard of. */
static void a_pod_waits_for_the_process_of_one_given_up(void **state)
{
    struct world *w = *state;
    struct json *pod;

    put_shell(w, "p", "u1", "trap '' TERM; while :; do sleep 1000 & wait; done");
    (void)wait_phase(w, "p", "Running");
    pod = small_api_get(&w->api, &w->arena, POD_PATH "p");
    json_set_string(&w->arena, json_get_mut(pod, "status"), "phase", "Failed");
    small_api_put(&w->api, &w->arena, POD_PATH "p", pod);
    put_shell(w, "q", "u2", "sleep 1000");
    while (!folder_exists(w, "u2"))
        loop_run_once(w->f.loop);
    assert_false(program_runs(w, "u1"));
}

static void a_status_refused_with_a_conflict_is_written_again(void **state)
{
    struct world *w = *state;

    char go[256], script[512];

    (void)snprintf(go, sizeof(go), "%s.go", w->f.root); /* where the pod sees it */
    (void)snprintf(script, sizeof(script), "until [ -e %s ]; do sleep 0.05; done", go);
    put_shell(w, "p", "u1", script);
    (void)wait_phase(w, "p", "Running");
    w->api.refuse_patches = 6;
    assert_int_equal(file_make_dirs(go, 0700), 0);
    (void)wait_phase(w, "p", "Succeeded");
    assert_int_equal(rmdir(go), 0);
    assert_int_equal(w->api.refuse_patches, 0);
}

/* What it would tell is how the pod ended. */
static void a_pod_is_not_let_go_before_its_status_is_written(void **state)
{
    struct world *w = *state;

    put_shell(w, "p", "u1", "sleep 1000");
    (void)wait_phase(w, "p", "Running");
    w->api.refuse_patches = 3;
    mark_deleting(w, "p", 30);
    (void)wait_phase(w, "p", NULL);
    assert_int_equal(w->api.refuse_patches, 0);
}

static void a_restarted_agent_goes_on(void **state)
{
    struct world *w = *state;
    const struct json *pod;
    char *before;

    put_shell(w, "p", "u1", "sleep 1000");
    pod = wait_phase(w, "p", "Running");
    before = strdup(json_get_string(json_index(json_at(pod, "status", "containerStatuses"), 0),
                                    "containerID", ""));
    assert_non_null(strstr(before, "process://u1/"));
    agent_free(w->agent);
    start_agent(w);
    mark_deleting(w, "p", 30);
    w->api.fail_next = 3; /* and the API is slow to come back */
    (void)wait_phase(w, "p", NULL);
    free(before);
}

static void a_replaced_pod_is_not_confused_with_the_old_one(void **state)
{
    struct world *w = *state;
    const struct json *pod;

    put_shell(w, "p", "u1", "sleep 1000");
    (void)wait_phase(w, "p", "Running");
    small_api_delete(&w->api, POD_PATH "p");
    put_shell(w, "p", "u2", "exit 5");
    pod = wait_phase(w, "p", "Failed");
    assert_string_equal(object_uid(pod), "u2");
    assert_exit(pod, 5);
    while (folder_exists(w, "u1"))
        loop_run_once(w->f.loop);
}

static void a_pod_that_ran_and_is_lost_is_not_started_again(void **state)
{
    struct world *w = *state;
    struct json *pod;
    const struct json *end;
    const char *text = "{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\",\"uid\":\"u1\"},"
                       "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"main\","
                       "\"command\":[\"true\"]}]},\"status\":{\"phase\":\"Running\"}}";

    pod = json_parse(&w->arena, text, strlen(text), NULL);
    small_api_put(&w->api, &w->arena, POD_PATH "p", pod);
    end = json_get(main_state(wait_phase(w, "p", "Failed")), "terminated");
    assert_int_equal(json_get_int(end, "exitCode", -1), 137);
    assert_false(folder_exists(w, "u1"));
}

static void a_pod_waits_for_its_masters_service(void **state)
{
    struct world *w = *state;
    const char *service = "{\"metadata\":{\"name\":\"master\",\"namespace\":\"default\",\"uid\":"
                          "\"s\"},\"spec\":{\"clusterIP\":\"None\"}}";
    const struct json *pod;

    put_pod(w, "p", "u1",
            "\"command\":[\"getent\",\"ahostsv4\",\"$(MASTER_ADDR)\"],\"env\":[{\"name\":"
            "\"MASTER_ADDR\",\"value\":\"master\"}]");
    put_shell(w, "other", "u2", "exit 0");
    (void)wait_phase(w, "other", "Succeeded"); /* so the first was looked at too */
    assert_false(folder_exists(w, "u1"));
    small_api_put(&w->api, &w->arena, "/api/v1/namespaces/default/services/master",
                  json_parse(&w->arena, service, strlen(service), NULL));
    pod = wait_phase(w, "p", "Succeeded"); /* the name resolves, or was replaced by the address */
    assert_non_null(pod);
}

static void environment_comes_from_config_maps(void **state)
{
    struct world *w = *state;
    const char *map = "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"default\"},\"data\":{\"k\":"
                      "\"17\"}}";

    put_pod(
        w, "p", "u1",
        "\"command\":[\"sh\",\"-c\",\"exit $(CODE)\"],\"env\":[{\"name\":\"CODE\",\"valueFrom\":"
        "{\"configMapKeyRef\":{\"name\":\"cm\",\"key\":\"k\"}}}]");
    /* not there yet: it waits and says so */
    while (!json_get(main_state(pod_now(w, "p")), "waiting"))
        loop_run_once(w->f.loop);
    assert_string_equal(
        json_get_string(json_get(main_state(pod_now(w, "p")), "waiting"), "message", ""),
        "container main: env CODE: configmap \"cm\" not found");
    small_api_put(&w->api, &w->arena, "/api/v1/namespaces/default/configmaps/cm",
                  json_parse(&w->arena, map, strlen(map), NULL));
    assert_exit(wait_phase(w, "p", "Failed"), 17);
}

static unsigned starts_told(struct world *w)
{
    unsigned n = 0;

    map_for_each (node, &w->api.objects)
        n += strstr(node->value, "\"reason\":\"Started\"") != NULL;
    return n;
}

static void a_jobs_pods_say_once_that_the_image_is_unused(void **state)
{
    struct world *w = *state;

    put_shell(w, "p", "u1", "exit 0");
    (void)wait_phase(w, "p", "Succeeded");
    assert_true(exists(w, "/api/v1/namespaces/default/events/p.image-u1"));
    assert_int_equal(starts_told(w), 1);
}

static void a_settled_status_is_not_written_again(void **state)
{
    struct world *w = *state;
    unsigned before;

    put_shell(w, "p", "u1", "exit 0");
    (void)wait_phase(w, "p", "Succeeded");
    put_shell(w, "q", "u2", "exit 0");
    (void)wait_phase(w, "q", "Succeeded");
    before = w->api.patches;
    agent_free(w->agent);
    start_agent(w); /* looks at everything again */
    put_shell(w, "r", "u3", "sleep 1000");
    (void)wait_phase(w, "r", "Running");
    assert_int_equal(w->api.patches, before + 1);
}

/* Opening its record would block for ever. */
static void a_restart_opens_nothing_of_a_finished_pod(void **state)
{
    struct world *w = *state;
    char record[256], aside[300];

    put_shell(w, "p", "u1", "exit 0");
    (void)wait_phase(w, "p", "Succeeded");
    while (runs(w, "u1"))
        loop_run_once(w->f.loop);
    agent_free(w->agent);
    start_agent(w); /* removes the pod's control group if the first agent had no time to */
    agent_free(w->agent);
    (void)snprintf(record, sizeof(record), "%s/u1/" POD_FILE_STATE, w->f.pods);
    (void)snprintf(aside, sizeof(aside), "%s.aside", record);
    assert_int_equal(rename(record, aside), 0);
    assert_int_equal(mkfifo(record, 0600), 0);
    start_agent(w);
    put_shell(w, "q", "u2", "sleep 1000");
    (void)wait_phase(w, "q", "Running");
    assert_int_equal(starts_told(w), 2);
    assert_int_equal(rename(aside, record), 0);
    mark_deleting(w, "p", 30);
    (void)wait_phase(w, "p", NULL);
    while (folder_exists(w, "u1"))
        loop_run_once(w->f.loop);
    assert_int_equal(starts_told(w), 2);
}

static void pods_deleted_while_the_agent_was_away_are_forgotten(void **state)
{
    struct world *w = *state;

    put_shell(w, "p", "u1", "exit 0");
    put_shell(w, "q", "u2", "sleep 1000");
    (void)wait_phase(w, "p", "Succeeded");
    (void)wait_phase(w, "q", "Running");
    agent_free(w->agent);
    small_api_delete(&w->api, POD_PATH "p");
    small_api_delete(&w->api, POD_PATH "q");
    put_shell(w, "r", "u3", "sleep 1000");
    start_agent(w);
    while (!folder_exists(w, "u3"))
        loop_run_once(w->f.loop);
    assert_false(runs(w, "u2")); /* its room was not given away before */
    while (folder_exists(w, "u1") || folder_exists(w, "u2"))
        loop_run_once(w->f.loop);
}

/* As the controller does with the pods of a node that has not been heard of. */
static void a_pod_given_up_while_the_agent_was_away_is_stopped(void **state)
{
    struct world *w = *state;
    struct json *pod;

    put_shell(w, "p", "u1", "sleep 1000");
    (void)wait_phase(w, "p", "Running");
    agent_free(w->agent);
    pod = small_api_get(&w->api, &w->arena, POD_PATH "p");
    json_set_string(&w->arena, json_get_mut(pod, "status"), "phase", "Failed");
    small_api_put(&w->api, &w->arena, POD_PATH "p", pod);
    start_agent(w);
    while (runs(w, "u1"))
        loop_run_once(w->f.loop);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(the_machine_is_a_node),
        T(a_deleted_node_is_made_again),
        T(a_node_that_was_given_up_reports_at_once),
        cmocka_unit_test(tokens_are_renewed_in_time),
        T(a_node_offers_shares_of_gpus),
        T(a_node_by_itself_renews_a_lease_and_keeps_its_authority),
        T(a_pod_runs_and_succeeds),
        T(a_failed_pod_has_its_exit_code),
        T(a_pod_without_a_command_says_so),
        T(a_missing_program_says_so),
        T(a_deleted_pod_is_stopped_reported_and_forgotten),
        T(a_pod_deleted_behind_our_back_is_stopped),
        T(a_pod_waits_for_the_process_of_a_forgotten_one),
        T(a_pod_waits_for_the_process_of_one_given_up),
        T(a_status_refused_with_a_conflict_is_written_again),
        T(a_pod_is_not_let_go_before_its_status_is_written),
        T(a_restarted_agent_goes_on),
        T(a_replaced_pod_is_not_confused_with_the_old_one),
        T(a_pod_that_ran_and_is_lost_is_not_started_again),
        T(a_pod_waits_for_its_masters_service),
        T(environment_comes_from_config_maps),
        T(a_jobs_pods_say_once_that_the_image_is_unused),
        T(a_settled_status_is_not_written_again),
        T(a_restart_opens_nothing_of_a_finished_pod),
        T(pods_deleted_while_the_agent_was_away_are_forgotten),
        T(a_pod_given_up_while_the_agent_was_away_is_stopped),
    };
    int ret;

    if (fixture_main(argc, argv, &ret))
        return ret;
    return cmocka_run_group_tests_name("agent", tests, NULL, NULL);
}
