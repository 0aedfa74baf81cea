/* batch_job_test.c - Kubernetes' own Jobs: counted once, in the words of Kubernetes. */
#include "world.h"

#define POD "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'main'}]}}"

static void begin(struct world *w, const char *spec)
{
    char *whole;

    world_init(w);
    whole = arena_printf(&w->arena,
                         "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j',"
                         "'namespace':'ns','generation':1},'spec':{%s}}",
                         spec);
    assert_non_null(whole);
    world_add(w, WORLD_JOBS, parse(&w->arena, whole));
    world_settle(w);
}

static size_t pods_in(struct world *w, const char *phase)
{
    const struct world_state *s = world_now(w, WORLD_PODS);
    size_t n = 0;

    for (size_t i = 0; i < s->len; i++)
        n += json_string_is(json_at(s->items[i], "status", "phase"), phase) &&
             !object_is_deleting(s->items[i]);
    return n;
}

/* The first pod that waits, with that index if it is not -1. */
static const struct json *waiting(struct world *w, int64_t index)
{
    const struct world_state *s = world_now(w, WORLD_PODS);

    for (size_t i = 0; i < s->len; i++) {
        const char *of = object_annotation(s->items[i], "batch.kubernetes.io/job-completion-index");

        if (json_string_is(json_at(s->items[i], "status", "phase"), "Pending") &&
            !object_is_deleting(s->items[i]) && (index < 0 || strtoll(of, NULL, 10) == index))
            return s->items[i];
    }
    return NULL;
}

static void one_exits(struct world *w, int64_t index, int code)
{
    const struct json *pod = waiting(w, index);

    assert_non_null(pod);
    world_pod_exits(w, object_name(pod), code);
    world_settle(w);
}

static void later(struct world *w)
{
    assert_true(w->wake_at_ms > w->now_ms);
    w->now_ms = w->wake_at_ms;
    world_settle(w);
}

static int64_t count(struct world *w, const char *member)
{
    return json_get_int(world_status(w), member, 0);
}

static const char *reason(struct world *w, const char *condition)
{
    const struct json *c = object_condition(world_job(w), condition);

    return json_string_is(json_get(c, "status"), "True") ? json_get_string(c, "reason", "") : NULL;
}

static void so_many_at_a_time_until_enough_succeeded(void **state)
{
    struct world w;

    (void)state;
    begin(&w, "'completions':3,'parallelism':2," POD);
    assert_int_equal(pods_in(&w, "Pending"), 2);
    assert_int_equal(count(&w, "active"), 2);
    one_exits(&w, -1, 0);
    one_exits(&w, -1, 0);
    assert_int_equal(pods_in(&w, "Pending"), 1);
    one_exits(&w, -1, 0);
    assert_string_equal(reason(&w, "Complete"), "CompletionsReached");
    assert_int_equal(count(&w, "succeeded"), 3);
    assert_non_null(json_get(world_status(&w), "completionTime"));
    assert_int_equal(w.created, 3);
    world_release(&w);
}

static void without_completions_one_success_ends_it_once_all_have_ended(void **state)
{
    struct world w;

    (void)state;
    begin(&w, "'parallelism':2," POD);
    one_exits(&w, -1, 0);
    assert_null(reason(&w, "Complete"));
    assert_int_equal(pods_in(&w, "Pending"), 1);
    one_exits(&w, -1, 1);
    assert_non_null(reason(&w, "Complete"));
    assert_int_equal(w.created, 2);
    world_release(&w);
}

static void each_index_succeeds_once(void **state)
{
    const struct json *pod, *variable;
    struct world w;

    (void)state;
    begin(&w, "'completions':3,'parallelism':3,'completionMode':'Indexed'," POD);
    pod = waiting(&w, 1);
    variable = json_find(json_get(json_first(json_at(pod, "spec", "containers")), "env"), "name",
                         "JOB_COMPLETION_INDEX");
    assert_string_equal(json_string(json_at(variable, "valueFrom", "fieldRef", "fieldPath"), ""),
                        "metadata.annotations['batch.kubernetes.io/job-completion-index']");
    assert_string_equal(json_string(json_at(pod, "spec", "hostname"), ""), "j-1");
    one_exits(&w, 0, 0);
    one_exits(&w, 2, 0);
    w.now_ms += 5000; /* after those, or it would be tried again at once */
    one_exits(&w, 1, 1);
    assert_string_equal(json_string(json_get(world_status(&w), "completedIndexes"), ""), "0,2");
    later(&w);
    one_exits(&w, 1, 0);
    assert_string_equal(json_string(json_get(world_status(&w), "completedIndexes"), ""), "0-2");
    assert_int_equal(count(&w, "failed"), 1);
    assert_non_null(reason(&w, "Complete"));
    world_release(&w);
}

static void failures_wait_longer_each_time_and_spend_the_budget(void **state)
{
    struct world w;
    int64_t since;

    (void)state;
    begin(&w, "'backoffLimit':2,'completions':1," POD);
    for (int i = 0; i < 2; i++) {
        since = w.now_ms;
        one_exits(&w, -1, 1);
        assert_null(waiting(&w, -1));
        later(&w);
        assert_int_equal(w.now_ms - since, 10000 << i);
    }
    one_exits(&w, -1, 1);
    assert_string_equal(reason(&w, "Failed"), "BackoffLimitExceeded");
    assert_string_equal(reason(&w, "FailureTarget"), "BackoffLimitExceeded");
    assert_int_equal(count(&w, "failed"), 3);
    world_release(&w);
}

/* Being killed after any write: the same number of pods, and each counted once. */
static void killed_after_any_write_it_counts_once(void **state)
{
    (void)state;
    for (int cut = 0; cut < 12; cut++) {
        struct world w;

        begin(&w, "'backoffLimit':1,'completions':2,'parallelism':1," POD);
        for (int i = 0; i < 3; i++) {
            const struct json *pod = waiting(&w, -1);
            struct plan plan;

            assert_non_null(pod);
            world_pod_exits(&w, object_name(pod), i == 1);
            for (int again = 0; again < 3; again++) {
                world_plan(&w, &plan);
                world_apply(&w, &plan, cut);
            }
            world_settle(&w);
            if (!waiting(&w, -1) && !reason(&w, "Complete"))
                later(&w);
        }
        assert_non_null(reason(&w, "Complete"));
        assert_int_equal(count(&w, "succeeded"), 2);
        assert_int_equal(count(&w, "failed"), 1);
        assert_int_equal(w.created, 3);
        world_release(&w);
    }
}

/* A decision on what pods were before the last plan makes none twice. */
static void an_old_picture_of_its_pods_makes_no_more(void **state)
{
    size_t at[WORLD_SET_COUNT];
    struct job_snapshot s;
    struct plan plan;
    struct world w;

    (void)state;
    begin(&w, "'completions':2,'parallelism':2," POD);
    for (int i = 0; i < WORLD_SET_COUNT; i++)
        at[i] = w.past_len[i] - 1;
    at[WORLD_PODS] = 0;
    world_snapshot(&w, at, &s);
    plan_init(&plan, &w.arena);
    job_look(&job_kind_batch, &s, &plan);
    assert_false(plan_is_empty(&plan));
    world_apply(&w, &plan, -1);
    assert_int_equal(w.created, 2);
    world_release(&w);
}

static void a_policy_decides_what_a_failure_means(void **state)
{
#define RULE(action)                                                                               \
    "'podFailurePolicy':{'rules':[{'action':'" action "','onExitCodes':{"                          \
    "'operator':'In','values':[42]}}]},"
    struct world w;

    (void)state;
    begin(&w, RULE("FailJob") "'completions':1," POD);
    one_exits(&w, -1, 42);
    assert_string_equal(reason(&w, "Failed"), "PodFailurePolicy");
    world_release(&w);
    begin(&w, RULE("Ignore") "'completions':1,'backoffLimit':0," POD);
    one_exits(&w, -1, 42);
    assert_null(reason(&w, "Failed"));
    assert_int_equal(count(&w, "failed"), 0);
    later(&w);
    one_exits(&w, -1, 41);
    assert_string_equal(reason(&w, "Failed"), "BackoffLimitExceeded");
    world_release(&w);
    begin(&w, "'podFailurePolicy':{'rules':[{'action':'Ignore','onPodConditions':[{'type':"
              "'DisruptionTarget','status':'True'}]}]},'completions':1,'backoffLimit':0," POD);
    {
        const struct json *pod = waiting(&w, -1);
        struct json *lost;

        world_pod_exits(&w, object_name(pod), 137);
        pod = world_get(&w, WORLD_PODS, object_name(pod));
        lost = world_edit(&w, pod);
        json_set_string(&w.arena, json_get_mut(lost, "status"), "reason", "Preempted");
        world_change(&w, WORLD_PODS, pod, lost);
        world_settle(&w);
    }
    assert_null(reason(&w, "Failed"));
    world_release(&w);
}

static void each_index_has_its_own_budget(void **state)
{
    struct world w;

    (void)state;
    begin(&w, "'completions':2,'parallelism':2,'completionMode':'Indexed','backoffLimitPerIndex':1,"
              "'maxFailedIndexes':1," POD);
    one_exits(&w, 0, 1);
    later(&w);
    assert_string_equal(
        object_annotation(waiting(&w, 0), "batch.kubernetes.io/job-index-failure-count"), "1");
    one_exits(&w, 0, 1);
    assert_string_equal(json_string(json_get(world_status(&w), "failedIndexes"), ""), "0");
    assert_null(reason(&w, "FailureTarget"));
    one_exits(&w, 1, 0);
    assert_string_equal(reason(&w, "Failed"), "FailedIndexes");
    assert_int_equal(count(&w, "succeeded"), 1);
    world_release(&w);
}

static void a_success_policy_ends_it_early(void **state)
{
    struct world w;

    (void)state;
    begin(&w, "'completions':3,'parallelism':3,'completionMode':'Indexed','successPolicy':{'rules':"
              "[{'succeededIndexes':'0'}]}," POD);
    one_exits(&w, 1, 0);
    assert_null(reason(&w, "SuccessCriteriaMet"));
    one_exits(&w, 0, 0);
    assert_string_equal(reason(&w, "SuccessCriteriaMet"), "SuccessPolicy");
    assert_null(reason(&w, "Complete"));
    world_stop_deleted(&w);
    world_settle(&w);
    assert_string_equal(reason(&w, "Complete"), "SuccessPolicy");
    assert_int_equal(count(&w, "failed"), 0);
    world_release(&w);
}

static void set_spec(struct world *w, const char *members)
{
    const struct json *old = world_job(w);
    struct json *job = world_edit(w, old);

    json_each (m, parse(&w->arena, members))
        json_set(&w->arena, json_get_mut(job, "spec"), m->key, json_clone(&w->arena, m));
    json_set_int(&w->arena, json_get_mut(job, "metadata"), "generation",
                 json_int(json_at(old, "metadata", "generation"), 0) + 1);
    world_change(w, WORLD_JOBS, old, job);
    world_settle(w);
}

static void what_we_stop_counts_as_nothing(void **state)
{
    struct world w;

    (void)state;
    begin(&w, "'completions':2,'parallelism':2,'activeDeadlineSeconds':60," POD);
    world_all_run(&w);
    set_spec(&w, "{'suspend':true}");
    assert_int_equal(count(&w, "active"), 0);
    assert_string_equal(reason(&w, "Suspended"), "JobSuspended");
    assert_null(json_get(world_status(&w), "startTime"));
    world_stop_deleted(&w);
    w.now_ms += 100000;
    set_spec(&w, "{'suspend':false}");
    assert_int_equal(pods_in(&w, "Pending"), 2);
    assert_null(reason(&w, "Suspended"));
    assert_null(reason(&w, "Failed"));
    set_spec(&w, "{'parallelism':1}");
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(pods_in(&w, "Pending"), 1);
    assert_int_equal(count(&w, "failed"), 0);
    later(&w);
    assert_string_equal(reason(&w, "FailureTarget"), "DeadlineExceeded");
    world_release(&w);
}

static void it_is_deleted_when_its_time_is_over(void **state)
{
    struct world w;

    (void)state;
    begin(&w, "'completions':1,'ttlSecondsAfterFinished':30," POD);
    one_exits(&w, -1, 0);
    assert_int_equal(w.wake_at_ms, w.now_ms + 30000);
    later(&w);
    assert_int_equal(world_now(&w, WORLD_JOBS)->len, 0);
    world_release(&w);
}

static struct json *overdue_group(struct world *w, const struct json *group)
{
    struct json *copy = world_edit(w, group), *c = json_new_object(&w->arena);

    json_append(
        json_make_array(&w->arena, json_make_object(&w->arena, copy, "status"), "conditions"), c);
    json_set_string(&w->arena, c, "type", "MaxDurationExceeded");
    json_set_string(&w->arena, c, "status", "True");
    json_set_string(&w->arena, c, "message", "it ran too long");
    return copy;
}

static void a_gang_has_a_group_before_its_pods(void **state)
{
    const struct json *group;
    struct json *job;
    struct world w;

    (void)state;
    begin(&w, "'completions':2,'parallelism':2,'suspend':true," POD);
    job = world_edit(&w, world_job(&w));
    json_set_string(&w.arena,
                    json_make_object(&w.arena, json_get_mut(job, "metadata"), "annotations"),
                    "muster.dev/gang", "true");
    world_change(&w, WORLD_JOBS, world_job(&w), job);
    set_spec(&w, "{'suspend':false}");
    group = world_now(&w, WORLD_GROUPS)->items[0];
    assert_int_equal(json_int(json_at(group, "spec", "minMember"), 0), 2);
    assert_string_equal(object_label(waiting(&w, -1), LABEL_GROUP_NAME), object_name(group));
    assert_string_equal(object_annotation(waiting(&w, -1), ANNOTATION_GANG_SIZE), "2");
    set_spec(&w, "{'suspend':true}");
    group = world_now(&w, WORLD_GROUPS)->items[0];
    assert_int_equal(json_int(json_at(group, "spec", "members"), -1), 0);
    assert_int_equal(json_int(json_at(group, "spec", "minMember"), 0), 2);
    assert_string_equal(reason(&w, "Suspended"), "JobSuspended");
    world_change(&w, WORLD_GROUPS, group, overdue_group(&w, group)); /* seen later */
    world_settle(&w);
    assert_string_equal(reason(&w, "Suspended"), "MaxDurationExceeded");
    world_stop_deleted(&w);
    set_spec(&w, "{'suspend':false}");
    one_exits(&w, -1, 0);
    group = world_now(&w, WORLD_GROUPS)->items[0];
    assert_int_equal(json_int(json_at(group, "spec", "members"), 0), 1);
    one_exits(&w, -1, 0);
    assert_int_equal(world_now(&w, WORLD_GROUPS)->len, 0);
    world_release(&w);
}

static void a_job_of_another_manager_is_left_alone(void **state)
{
    struct world w;

    (void)state;
    begin(&w, "'completions':1,'managedBy':'example.com/other'," POD);
    assert_int_equal(w.created, 0);
    assert_null(world_status(&w));
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_at_a_time_until_enough_succeeded),
        cmocka_unit_test(without_completions_one_success_ends_it_once_all_have_ended),
        cmocka_unit_test(each_index_succeeds_once),
        cmocka_unit_test(failures_wait_longer_each_time_and_spend_the_budget),
        cmocka_unit_test(killed_after_any_write_it_counts_once),
        cmocka_unit_test(an_old_picture_of_its_pods_makes_no_more),
        cmocka_unit_test(a_policy_decides_what_a_failure_means),
        cmocka_unit_test(each_index_has_its_own_budget),
        cmocka_unit_test(a_success_policy_ends_it_early),
        cmocka_unit_test(what_we_stop_counts_as_nothing),
        cmocka_unit_test(it_is_deleted_when_its_time_is_over),
        cmocka_unit_test(a_gang_has_a_group_before_its_pods),
        cmocka_unit_test(a_job_of_another_manager_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
