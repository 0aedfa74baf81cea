/* tensorboard_test.c - a TensorBoard's life, and what a job has to do with one. */
#include "core/tensorboard.h"

#include "core/app.h"

#include "world.h"

#define UID "cffea855-5ce2-496a-8956-f6e76fe2f565"
#define ONE_FOLDER "'logDir':{'pvc':[{'name':'data','subPath':['./log/']}]}"
#define BOARD(spec)                                                                                \
    "{'apiVersion':'tensorstack.dev/v1beta1','kind':'TensorBoard','metadata':{'name':'b',"         \
    "'namespace':'ns','generation':1,'uid':'" UID "'},'spec':{" spec "}}"

static const char pod_name[] = "b-tb";
#define HOUR INT64_C(3600000)

static void submit(struct world *w, const char *text)
{
    world_init(w);
    world_submit_text(w, text);
}

static const struct json *pod(struct world *w)
{
    return world_get(w, WORLD_PODS, pod_name);
}

static const char *message(struct world *w)
{
    return json_get_string(world_status(w), "message", "");
}

static const char *reason(struct world *w)
{
    return json_get_string(world_status(w), "reason", "");
}

static void becomes_ready(struct world *w)
{
    const struct json *old;
    struct json *changed, *condition;

    world_pod_runs(w, pod_name);
    old = pod(w);
    changed = world_edit(w, old);
    condition = json_append(
        json_make_array(&w->arena, json_make_object(&w->arena, changed, "status"), "conditions"),
        json_new_object(&w->arena));
    json_set_string(&w->arena, condition, "type", "Ready");
    json_set_string(&w->arena, condition, "status", "True");
    world_change(w, WORLD_PODS, old, changed);
}

static void start(struct world *w, const char *text)
{
    submit(w, text);
    world_settle(w);
    becomes_ready(w);
    world_settle(w);
    assert_string_equal(world_phase(w), "Running");
}

static void edit_spec(struct world *w, const char *spec)
{
    const struct json *old = world_job(w);
    struct json *changed = world_edit(w, old);

    json_set(&w->arena, changed, "spec", parse(&w->arena, spec));
    world_change(w, WORLD_JOBS, old, changed);
}

static void annotate(struct world *w, int64_t ms)
{
    const struct json *old = world_job(w);
    struct json *changed = world_edit(w, old);
    char text[TIME_TEXT_SIZE];

    json_set_string(&w->arena,
                    json_make_object(&w->arena, json_make_object(&w->arena, changed, "metadata"),
                                     "annotations"),
                    ANNOTATION_LAST_USED, time_format(ms, text));
    world_change(w, WORLD_JOBS, old, changed);
}

/* The value after an option in the pod's arguments; "" without one. */
static const char *option(const struct json *p, const char *name)
{
    const struct json *args = json_get(json_first(json_at(p, "spec", "containers")), "args");

    for (const struct json *at = json_first(args); at; at = at->next)
        if (json_string_is(at, name) && at->next)
            return json_string(at->next, "");
    return "";
}

/* --- its parts -------------------------------------------------------------------------------- */

static void it_gets_a_port_a_service_and_a_pod(void **state)
{
    struct world w;
    const struct json *container, *mount;

    (void)state;
    submit(&w, BOARD(ONE_FOLDER ",'image':'tb:1'"));
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Initializing");
    assert_string_equal(json_get_string(world_status(&w), "url", ""), "/tensorboard/ns/b/");
    assert_int_equal(world_now(&w, WORLD_LEASES)->len, 1);
    assert_int_equal(world_now(&w, WORLD_SERVICES)->len, 1);
    assert_int_equal(world_pods(&w), 1);
    assert_true(object_is_controlled_by(pod(&w), UID));
    assert_string_equal(option(pod(&w), "--logdir"), "/pvc-data/log");
    assert_string_equal(option(pod(&w), "--host"), "127.0.0.1");
    assert_string_equal(option(pod(&w), "--path_prefix"), "/tensorboard/ns/b");
    assert_int_equal(strtoll(option(pod(&w), "--port"), NULL, 10),
                     json_get_int(world_status(&w), "port", 0));
    container = json_first(json_at(pod(&w), "spec", "containers"));
    assert_string_equal(json_get_string(container, "image", ""), "tb:1");
    assert_string_equal(json_string(json_index(json_get(container, "command"), 0), ""), "/bin/sh");
    mount = json_index(json_get(container, "volumeMounts"), 0);
    assert_string_equal(json_get_string(mount, "mountPath", ""), "/pvc-data");
    assert_true(json_get_bool(mount, "readOnly", false));
    becomes_ready(&w);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_string_equal(message(&w), "");
    assert_string_equal(world_condition(&w, "Ready", "status"), "True");
    assert_string_equal(world_condition(&w, "Idle", "status"), "False");
    assert_string_equal(world_condition(&w, "Suspended", "status"), "False");
    assert_string_equal(json_string(json_at(world_status(&w), "pod", "reference", "uid"), ""),
                        object_uid(pod(&w)));
    world_release(&w);
}

static void a_refused_pod_is_told_with_the_apis_words(void **state)
{
    struct world w;
    struct plan plan;

    (void)state;
    submit(&w, BOARD(ONE_FOLDER));
    w.refusal = "pods \"b-tb\" is forbidden: violates PodSecurity \"restricted:latest\": no";
    for (int i = 0; i < 5; i++) {
        world_plan(&w, &plan);
        world_apply(&w, &plan, -1);
    }
    assert_int_equal(world_pods(&w), 0);
    assert_string_equal(reason(&w), "Refused");
    assert_string_equal(message(&w),
                        "Its Pod is refused: violates PodSecurity \"restricted:latest\": no");
    assert_int_equal(world_events(&w, "Refused"), 1);
    w.refusal = NULL;
    world_settle(&w);
    assert_string_equal(reason(&w), "Starting");
    world_release(&w);
}

static void several_folders_are_named_and_each_claim_is_mounted_once(void **state)
{
    struct world w;

    (void)state;
    submit(&w, BOARD("'trainingLogFilesets':['t9k://pvc/a/x','t9k://pvc/a/x','t9k://pvc/b'],"
                     "'logDir':{'pvc':[{'name':'a','subpath':['y']},{'name':'c'}]}"));
    world_settle(&w);
    assert_string_equal(option(pod(&w), "--logdir_spec"),
                        "a/x:/pvc-a/x,b:/pvc-b,a/y:/pvc-a/y,c:/pvc-c");
    assert_int_equal(json_len(json_at(pod(&w), "spec", "volumes")), 3);
    world_release(&w);
}

static void on_a_cluster_it_is_the_image_and_a_service(void **state)
{
    struct world w;
    const struct json *service, *container;

    (void)state;
    world_init(&w);
    w.shared_network = false;
    world_submit_text(&w, BOARD(ONE_FOLDER ",'resources':{'limits':{'cpu':'1'}}"));
    world_settle(&w);
    assert_int_equal(world_now(&w, WORLD_LEASES)->len, 0);
    assert_null(json_get(world_status(&w), "port"));
    container = json_first(json_at(pod(&w), "spec", "containers"));
    assert_string_equal(json_string(json_index(json_get(container, "command"), 0), ""),
                        "tensorboard");
    assert_string_equal(json_get_string(container, "image", ""), TENSORBOARD_IMAGE);
    assert_string_equal(option(pod(&w), "--host"), "0.0.0.0");
    assert_string_equal(option(pod(&w), "--port"), "6006");
    assert_null(json_at(container, "resources", "requests"));
    service = world_get(&w, WORLD_SERVICES, pod_name);
    assert_null(json_at(service, "spec", "clusterIP"));
    assert_int_equal(json_get_int(json_index(json_at(service, "spec", "ports"), 0), "port", 0), 80);
    world_release(&w);
}

/* What it may use is not kept from the job whose curves it shows. */
static void on_one_machine_it_reserves_little(void **state)
{
    struct world w;
    const struct json *requests;

    (void)state;
    submit(&w, BOARD(ONE_FOLDER
                     ",'resources':{'limits':{'cpu':'1','memory':'1Gi'},'requests':{'cpu':'2'}}"));
    world_settle(&w);
    requests = json_at(json_first(json_at(pod(&w), "spec", "containers")), "resources", "requests");
    assert_string_equal(json_get_string(requests, "cpu", ""), "2");
    assert_string_equal(json_get_string(requests, "memory", ""), "64Mi");
    world_release(&w);
}

/* --- suspending, idling ----------------------------------------------------------------------- */

static void suspending_removes_the_pod_and_keeps_the_rest(void **state)
{
    struct world w;
    int64_t port;

    (void)state;
    start(&w, BOARD(ONE_FOLDER));
    port = json_get_int(world_status(&w), "port", 0);
    edit_spec(&w, "{" ONE_FOLDER ",'suspend':true}");
    world_settle(&w);
    world_stop_deleted(&w);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Paused");
    assert_string_equal(reason(&w), "Suspended");
    assert_string_equal(world_condition(&w, "Suspended", "status"), "True");
    assert_int_equal(world_pods(&w), 0);
    assert_int_equal(world_now(&w, WORLD_SERVICES)->len, 1);
    assert_int_equal(world_now(&w, WORLD_LEASES)->len, 1);
    edit_spec(&w, "{" ONE_FOLDER ",'runMode':'running'}");
    world_settle(&w);
    assert_int_equal(world_pods(&w), 1);
    assert_int_equal(json_get_int(world_status(&w), "port", 0), port);
    edit_spec(&w, "{" ONE_FOLDER ",'runMode':'paused'}");
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Paused");
    world_release(&w);
}

static void unused_it_is_idle_then_reclaimed_and_comes_back_when_looked_at(void **state)
{
    struct world w;

    (void)state;
    start(&w, BOARD(ONE_FOLDER));
    assert_int_equal(w.wake_at_ms, w.now_ms + HOUR);
    w.now_ms += HOUR - 1;
    annotate(&w, w.now_ms);
    w.now_ms += HOUR - 2000;
    world_settle(&w);
    assert_string_equal(world_condition(&w, "Idle", "status"), "False");
    w.now_ms += 2000;
    world_settle(&w);
    assert_string_equal(world_condition(&w, "Idle", "status"), "True");
    assert_string_equal(world_phase(&w), "Running");
    assert_true(w.wake_at_ms > w.now_ms + 22 * HOUR);
    w.now_ms += 23 * HOUR;
    world_settle(&w);
    world_stop_deleted(&w);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Paused");
    assert_string_equal(reason(&w), "Idle");
    assert_int_equal(world_pods(&w), 0);
    annotate(&w, w.now_ms + HOUR); /* of a clock that was ahead: it counts as now */
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Initializing");
    assert_string_equal(world_condition(&w, "Idle", "status"), "False");
    assert_int_equal(world_pods(&w), 1);
    world_release(&w);
}

/* A kernel that computed unobserved gets time to be seen. */
static void after_a_start_nothing_is_removed_at_once(void **state)
{
    struct world w;

    (void)state;
    start(&w, BOARD(ONE_FOLDER));
    w.now_ms += 48 * HOUR;
    w.watched_since_ms = w.now_ms - 1000;
    world_settle(&w);
    assert_string_equal(world_condition(&w, "Idle", "status"), "True");
    assert_string_equal(world_phase(&w), "Running");
    assert_int_equal(w.wake_at_ms, w.watched_since_ms + APP_WATCH_MS);
    w.now_ms = w.watched_since_ms + APP_WATCH_MS;
    world_settle(&w);
    assert_string_equal(reason(&w), "Idle");
    world_release(&w);
}

static void both_times_can_be_chosen_or_left_out(void **state)
{
    struct world w;

    (void)state;
    start(&w, BOARD(ONE_FOLDER));
    w.idle = (struct idle_times){.idle_ms = 2 * HOUR, .reclaim_ms = -1};
    w.now_ms += HOUR;
    world_settle(&w);
    assert_string_equal(world_condition(&w, "Idle", "status"), "False");
    w.now_ms += 480 * HOUR;
    world_settle(&w);
    assert_string_equal(world_condition(&w, "Idle", "message"), "It has not been used for 120m.");
    assert_string_equal(world_phase(&w), "Running");
    w.idle.reclaim_ms = 3 * HOUR;
    world_settle(&w);
    assert_string_equal(reason(&w), "Idle");
    world_release(&w);
}

static void where_its_use_is_not_observed_it_stays(void **state)
{
    struct world w;

    (void)state;
    start(&w, BOARD(ONE_FOLDER));
    w.apps_unseen = true;
    w.now_ms += 100 * HOUR;
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_string_equal(world_condition(&w, "Idle", "status"), "Unknown");
    annotate(&w, w.now_ms);
    w.now_ms += 25 * HOUR;
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Paused");
    world_release(&w);
}

/* A clock set back must not make a start of the future. */
static void a_start_in_the_future_is_now(void **state)
{
    struct world w;

    (void)state;
    start(&w, BOARD(ONE_FOLDER));
    w.now_ms -= 48 * HOUR;
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_int_equal(w.wake_at_ms, w.now_ms + HOUR);
    world_release(&w);
}

/* --- failing ---------------------------------------------------------------------------------- */

static void what_is_not_installed_says_how_to_get_it(void **state)
{
    struct world w;

    (void)state;
    submit(&w, BOARD(ONE_FOLDER));
    world_settle(&w);
    world_pod_exits(&w, pod_name, 127);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    assert_string_equal(reason(&w), "NotInstalled");
    assert_non_null(strstr(message(&w), "pip install tensorboard"));
    assert_non_null(strstr(message(&w), "muster board JOB"));
    assert_int_equal(world_events(&w, "Failed"), 1);
    assert_int_equal(w.wake_at_ms, w.now_ms + 300 * 1000);
    assert_int_equal(w.created, 1);
    w.now_ms += 299 * 1000;
    world_settle(&w);
    assert_int_equal(w.created, 1);
    w.now_ms += 1000;
    world_settle(&w);
    assert_int_equal(w.created, 2);
    assert_string_equal(world_phase(&w), "Initializing");
    world_release(&w);
}

static void a_folder_that_does_not_exist_is_said(void **state)
{
    static const char words[] = "Its folder does not exist: log of the claim data. ";
    struct world w;

    (void)state;
    submit(&w, BOARD(ONE_FOLDER));
    world_settle(&w);
    for (int i = 0; i < 2; i++) {
        world_pod_exits(&w, pod_name, 72);
        world_settle(&w);
        assert_string_equal(world_phase(&w), "Failed");
        assert_string_equal(reason(&w), "NoFolder");
        assert_ptr_equal(strstr(message(&w), words), message(&w));
        assert_int_equal(w.wake_at_ms, w.now_ms + 10 * 1000); /* not later and later */
        w.now_ms += 10 * 1000;
        world_settle(&w);
        assert_int_equal(w.created, 2 + i);
        assert_string_equal(world_phase(&w), "Initializing");
        assert_ptr_equal(strstr(message(&w), words), message(&w));
    }
    becomes_ready(&w);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_string_equal(message(&w), "");
    world_release(&w);
}

static void one_that_ends_is_tried_again_later_and_later(void **state)
{
    static const int64_t seconds[] = {10, 20, 40, 80, 160, 300, 300};
    struct world w;

    (void)state;
    submit(&w, BOARD(ONE_FOLDER));
    world_settle(&w);
    for (size_t i = 0; i < ELEMS(seconds); i++) {
        world_pod_fails_saying(&w, pod_name, 1, "ValueError: bad");
        world_settle(&w);
        assert_string_equal(world_phase(&w), "Failed");
        assert_string_equal(reason(&w), "PodEnded");
        assert_non_null(strstr(message(&w), "ValueError: bad"));
        assert_int_equal(json_get_int(world_status(&w), "failures", 0), i + 1);
        w.now_ms += seconds[i] * 1000 - 1000;
        world_settle(&w);
        assert_int_equal(w.created, i + 1);
        w.now_ms += 1000;
        world_settle(&w);
        assert_int_equal(w.created, i + 2);
    }
    world_pod_exits_after(&w, pod_name, 0, 10 * 60 * 1000); /* it had been well */
    world_settle(&w);
    assert_int_equal(json_get_int(world_status(&w), "failures", 0), 1);
    assert_non_null(strstr(message(&w), "exited"));
    world_remove(&w, WORLD_PODS, pod_name); /* deleted by a user: it waits all the same */
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    assert_non_null(strstr(message(&w), "exited"));
    assert_int_equal(world_pods(&w), 0);
    w.now_ms -= HOUR; /* and not until an old clock's time */
    world_settle(&w);
    assert_int_equal(world_pods(&w), 1);
    world_release(&w);
}

/* The count is written before the pod is deleted: a plan cut off in between counts nothing twice.
 */
static void an_end_is_counted_once(void **state)
{
    struct world w;
    struct plan plan;

    (void)state;
    submit(&w, BOARD(ONE_FOLDER));
    world_settle(&w);
    world_pod_exits(&w, pod_name, 1);
    for (int i = 0; i < 3; i++) {
        world_plan(&w, &plan);
        world_apply(&w, &plan, 1);
        assert_int_equal(json_get_int(world_status(&w), "failures", 0), 1);
    }
    world_release(&w);
}

static void suspending_forgets_failures(void **state)
{
    struct world w;

    (void)state;
    submit(&w, BOARD(ONE_FOLDER));
    world_settle(&w);
    world_pod_exits(&w, pod_name, 1);
    world_settle(&w);
    edit_spec(&w, "{" ONE_FOLDER ",'suspend':true}");
    world_settle(&w);
    assert_null(json_get(world_status(&w), "failures"));
    assert_int_equal(world_pods(&w), 0);
    edit_spec(&w, "{" ONE_FOLDER "}");
    world_settle(&w);
    assert_int_equal(world_pods(&w), 1);
    world_release(&w);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void other_folders_make_another_pod(void **state)
{
    struct world w;

    (void)state;
    start(&w, BOARD(ONE_FOLDER));
    edit_spec(&w, "{'logDir':{'pvc':[{'name':'data','subPath':['other']}]}}");
    world_settle(&w);
    assert_true(object_is_deleting(pod(&w)));
    assert_string_equal(world_phase(&w), "Initializing");
    world_stop_deleted(&w);
    world_settle(&w);
    assert_string_equal(option(pod(&w), "--logdir"), "/pvc-data/other");
    world_release(&w);
}

static void a_taken_name_is_said(void **state)
{
    static const enum world_set sets[] = {WORLD_PODS, WORLD_SERVICES};

    (void)state;
    for (size_t i = 0; i < ELEMS(sets); i++) {
        struct world w;

        submit(&w, BOARD(ONE_FOLDER));
        world_add(&w, sets[i],
                  parse(&w.arena, "{'metadata':{'name':'b-tb','namespace':'ns','uid':'u'}}"));
        world_settle(&w);
        assert_string_equal(world_phase(&w), "Failed");
        assert_string_equal(reason(&w), "NameTaken");
        assert_int_equal(w.created, 0);
        world_remove(&w, sets[i], "b-tb");
        world_settle(&w);
        assert_string_equal(world_phase(&w), "Initializing");
        assert_int_equal(w.created, 1);
        world_release(&w);
    }
}

static void a_pod_that_waits_says_why(void **state)
{
    struct world w;
    const struct json *old;
    struct json *changed;

    (void)state;
    submit(&w, BOARD(ONE_FOLDER));
    world_settle(&w);
    old = pod(&w);
    changed = world_edit(&w, old);
    json_set(&w.arena, json_make_object(&w.arena, changed, "status"), "conditions",
             parse(&w.arena, "[{'type':'PodScheduled','status':'False','reason':'Unschedulable',"
                             "'message':'asks 9 CPU'}]"));
    world_change(&w, WORLD_PODS, old, changed);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Initializing");
    assert_string_equal(message(&w), "asks 9 CPU");
    world_pod_runs(&w, pod_name);
    world_settle(&w);
    assert_non_null(strstr(message(&w), "does not answer yet"));
    world_release(&w);
}

/* --- jobs ------------------------------------------------------------------------------------- */

#define JOB(spec)                                                                                  \
    "{'apiVersion':'batch.tensorstack.dev/v1beta1','kind':'PyTorchTrainingJob','metadata':{"       \
    "'name':'mnist','namespace':'ns','generation':1,'uid':'" UID "'},'spec':{'replicaSpecs':[{"    \
    "'type':'worker','replicas':1,'template':{'spec':{'containers':[{'name':'python','image':'i'"  \
    "}]}}}]" spec "}}"
#define WITH_BOARD JOB(",'tensorboardSpec':{" ONE_FOLDER "}")

static const char *note(struct world *w, const char *member)
{
    return json_string(json_at(world_status(w), "tensorboard", member), "");
}

static const struct json *board(struct world *w)
{
    return world_get(w, WORLD_OTHERS, "mnist-40c14");
}

static void board_is(struct world *w, const char *status)
{
    const struct json *old = board(w);
    struct json *changed = world_edit(w, old);

    json_set(&w->arena, changed, "status", parse(&w->arena, status));
    world_change(w, WORLD_OTHERS, old, changed);
    world_settle(w);
}

static void a_job_has_its_tensorboard_and_tells_of_it(void **state)
{
    struct world w;

    (void)state;
    submit(&w, WITH_BOARD);
    world_settle(&w);
    assert_non_null(board(&w));
    assert_true(object_is_controlled_by(board(&w), UID));
    assert_true(
        json_equal(json_get(board(&w), "spec"), json_at(world_job(&w), "spec", "tensorboardSpec")));
    assert_string_equal(note(&w, "name"), "mnist-40c14");
    assert_string_equal(note(&w, "reason"), "DependentNotReady");
    assert_string_equal(
        json_string(json_at(world_status(&w), "tensorboard", "dependent", "uid"), ""),
        object_uid(board(&w)));
    board_is(&w, "{'phase':'Failed','message':'why'}");
    assert_string_equal(note(&w, "type"), "Warning");
    assert_string_equal(note(&w, "note"), "TensorBoard [mnist-40c14] is not ready: why");
    board_is(&w, "{'phase':'Running'}");
    assert_string_equal(note(&w, "action"), "NOP");
    assert_string_equal(note(&w, "reason"), "DependentReady");
    assert_string_equal(note(&w, "type"), "Normal");
    assert_string_equal(note(&w, "note"), "TensorBoard [mnist-40c14] is ready");
    assert_true(json_bool(json_at(world_status(&w), "tensorboard", "ready"), false));
    world_release(&w);
}

static void it_stays_when_the_job_ends_and_is_not_made_again(void **state)
{
    struct world w;

    (void)state;
    submit(&w, WITH_BOARD);
    world_settle(&w);
    world_all_run(&w);
    world_settle(&w);
    world_pod_exits(&w, "mnist-40c14-worker-0", 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Succeeded");
    assert_non_null(board(&w));
    board_is(&w, "{'phase':'Running'}");
    assert_string_equal(note(&w, "reason"), "DependentReady");
    world_remove(&w, WORLD_OTHERS, "mnist-40c14");
    world_settle(&w);
    assert_null(board(&w));
    assert_string_equal(note(&w, "reason"), "DependentDeleted");
    world_release(&w);
}

static void one_that_was_deleted_while_the_job_runs_stays_deleted(void **state)
{
    struct world w;

    (void)state;
    submit(&w, WITH_BOARD);
    world_settle(&w);
    world_remove(&w, WORLD_OTHERS, "mnist-40c14");
    world_settle(&w);
    assert_null(board(&w));
    assert_string_equal(note(&w, "reason"), "DependentDeleted");
    world_release(&w);
}

static void a_foreign_one_of_that_name_is_left_alone(void **state)
{
    struct world w;

    (void)state;
    submit(&w, WITH_BOARD);
    world_add(&w, WORLD_OTHERS,
              parse(&w.arena, "{'apiVersion':'tensorstack.dev/v1beta1','kind':'TensorBoard',"
                              "'metadata':{'name':'mnist-40c14','namespace':'ns','uid':'u'},"
                              "'status':{'phase':'Running'}}"));
    world_settle(&w);
    assert_string_equal(note(&w, "reason"), "NameTaken");
    assert_null(json_at(world_status(&w), "tensorboard", "dependent"));
    assert_int_equal(world_now(&w, WORLD_OTHERS)->len, 1);
    world_release(&w);
}

static void without_a_folder_there_is_none(void **state)
{
    struct world w;

    (void)state;
    submit(&w, JOB(",'tensorboardSpec':{'image':'x'}"));
    world_settle(&w);
    assert_null(board(&w));
    assert_string_equal(note(&w, "reason"), "NoLogFolder");
    world_release(&w);
    submit(&w, JOB(""));
    world_settle(&w);
    assert_null(json_get(world_status(&w), "tensorboard"));
    world_release(&w);
}

/* A job that ended under an older muster is not given one now. */
static void an_ended_job_gets_none(void **state)
{
    struct world w;
    const struct json *old;
    struct json *changed;

    (void)state;
    submit(&w, WITH_BOARD);
    old = world_job(&w);
    changed = world_edit(&w, old);
    json_set(&w.arena, changed, "status", parse(&w.arena, "{'phase':'Succeeded'}"));
    world_change(&w, WORLD_JOBS, old, changed);
    world_settle(&w);
    assert_null(board(&w));
    assert_null(json_get(world_status(&w), "tensorboard"));
    world_release(&w);
}

/* --- ports ------------------------------------------------------------------------------------ */

static void a_ports_lease_is_told_from_others(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    const struct json *const none[PORTS_OF_JOB] = {NULL};
    const char *names[PORTS_OF_JOB];

    (void)state;
    port_lease_names(&a, parse(&a, "{'status':{'port':20001}}"), names);
    assert_string_equal(names[0], "master-port-20001");
    assert_false(
        port_leases_suffice(parse(&a, "{'status':{'port':20001,'phase':'Failed'}}"), none));
    assert_true(port_leases_suffice(parse(&a, "{'status':{'phase':'Failed'}}"), none));
    arena_release(&a);
}

static void ports_that_are_all_taken_are_said(void **state)
{
    struct world w;
    const struct json **leases;

    (void)state;
    submit(&w, BOARD(ONE_FOLDER));
    leases = arena_alloc(&w.arena, PORT_COUNT * sizeof(*leases));
    assert_non_null(leases);
    for (int64_t i = 0; i < PORT_COUNT; i++)
        leases[i] = port_lease_new(&w.arena, NULL, PORT_FIRST + i, "ns", "x", "other");
    world_push(&w, WORLD_LEASES, (struct world_state){.items = leases, .len = PORT_COUNT});
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Initializing");
    assert_string_equal(reason(&w), "NoPort");
    assert_int_equal(w.created, 0);
    assert_true(w.wake_at_ms > w.now_ms);
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_gets_a_port_a_service_and_a_pod),
        cmocka_unit_test(a_refused_pod_is_told_with_the_apis_words),
        cmocka_unit_test(several_folders_are_named_and_each_claim_is_mounted_once),
        cmocka_unit_test(on_a_cluster_it_is_the_image_and_a_service),
        cmocka_unit_test(on_one_machine_it_reserves_little),
        cmocka_unit_test(suspending_removes_the_pod_and_keeps_the_rest),
        cmocka_unit_test(unused_it_is_idle_then_reclaimed_and_comes_back_when_looked_at),
        cmocka_unit_test(where_its_use_is_not_observed_it_stays),
        cmocka_unit_test(after_a_start_nothing_is_removed_at_once),
        cmocka_unit_test(both_times_can_be_chosen_or_left_out),
        cmocka_unit_test(a_start_in_the_future_is_now),
        cmocka_unit_test(what_is_not_installed_says_how_to_get_it),
        cmocka_unit_test(a_folder_that_does_not_exist_is_said),
        cmocka_unit_test(one_that_ends_is_tried_again_later_and_later),
        cmocka_unit_test(an_end_is_counted_once),
        cmocka_unit_test(suspending_forgets_failures),
        cmocka_unit_test(other_folders_make_another_pod),
        cmocka_unit_test(a_taken_name_is_said),
        cmocka_unit_test(a_pod_that_waits_says_why),
        cmocka_unit_test(a_job_has_its_tensorboard_and_tells_of_it),
        cmocka_unit_test(it_stays_when_the_job_ends_and_is_not_made_again),
        cmocka_unit_test(one_that_was_deleted_while_the_job_runs_stays_deleted),
        cmocka_unit_test(a_foreign_one_of_that_name_is_left_alone),
        cmocka_unit_test(without_a_folder_there_is_none),
        cmocka_unit_test(an_ended_job_gets_none),
        cmocka_unit_test(a_ports_lease_is_told_from_others),
        cmocka_unit_test(ports_that_are_all_taken_are_said),
    };

    return cmocka_run_group_tests_name("core tensorboard", tests, NULL, NULL);
}
