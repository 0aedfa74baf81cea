/* cron_job_test.c - schedules, and the Jobs CronJobs make of them. */
#include "world.h"

#include "api/cron.h"

static void schedules_name_times(void **state)
{
    static const struct {
        const char *schedule, *after, *next;
    } cases[] = {
        {"* * * * *", "2026-11-17T10:00:30Z", "2026-11-17T10:01:00Z"},
        {"0 3 * * *", "2026-11-17T03:00:00Z", "2026-11-18T03:00:00Z"},
        {"*/15 8-10 * * 1-5", "2026-11-20T10:46:00Z", "2026-11-23T08:00:00Z"},
        {"5/20 * * * *", "2026-11-17T10:26:00Z", "2026-11-17T10:45:00Z"},
        {"30 6 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T06:30:00Z"},
        {"0 0 13 * fri", "2026-11-01T00:00:00Z", "2026-11-06T00:00:00Z"}, /* either */
        {"0 0 * * 7", "2026-11-17T00:00:00Z", "2026-11-22T00:00:00Z"},
        {"0 12 1 jan,jul *", "2026-11-17T00:00:00Z", "2027-01-01T12:00:00Z"},
        {"@hourly", "2026-11-17T10:00:00Z", "2026-11-17T11:00:00Z"},
        {"@weekly", "2026-11-17T10:00:00Z", "2026-11-22T00:00:00Z"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        struct cron c;
        int64_t after, next;
        char text[TIME_TEXT_SIZE];

        assert_int_equal(cron_parse(cases[i].schedule, &c, &err), 0);
        assert_int_equal(time_parse(cases[i].after, &after), 0);
        next = cron_next_ms(&c, after);
        assert_string_equal(time_format(next, text), cases[i].next);
        assert_int_equal(cron_last_ms(&c, after, next), next);
        assert_int_equal(cron_last_ms(&c, next, next), 0);
    }
}

static void what_is_no_schedule_is_said(void **state)
{
    static const char *const cases[] = {
        "",           "* * * *",   "* * * * * *", "60 * * * *",  "* 24 * * *", "* * 0 * *",
        "* * * 13 *", "* * * * 8", "5-1 * * * *", "*/0 * * * *", "a * * * *",  "@never"};

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        struct cron c;

        assert_true(cron_parse(cases[i], &c, &err) < 0);
        assert_true(err_is_set(&err));
    }
    {
        auto_err err = ERR_INIT;
        struct cron c;

        assert_int_equal(cron_parse("0 0 30 2 *", &c, &err), 0);
        assert_int_equal(cron_next_ms(&c, WORLD_START_MS), 0);
    }
}

/* --- CronJobs --------------------------------------------------------------------------------- */

#define CREATED "2026-11-17T10:00:10Z"

struct scene {
    struct arena arena;
    const struct json *jobs[8];
    struct job_snapshot snapshot;
    struct plan plan;
};

static void look(struct scene *s, const char *spec, const char *status, const char *now)
{
    char *text;

    s->plan = (struct plan){0};
    text = arena_printf(&s->arena,
                        "{'metadata':{'name':'c','namespace':'ns','uid':'u','resourceVersion':'1',"
                        "'creationTimestamp':'" CREATED "'},'spec':{%s%s"
                        "'jobTemplate':{'metadata':{'labels':{'a':'b'}},'spec':{'x':1}}},"
                        "'status':{%s}}",
                        strstr(spec, "'schedule'") ? "" : "'schedule':'*/5 * * * *',", spec,
                        status);
    s->snapshot.job = parse(&s->arena, text);
    s->snapshot.jobs = s->jobs;
    assert_int_equal(time_parse(now, &s->snapshot.now_ms), 0);
    plan_init(&s->plan, &s->arena);
    job_kind_cron.reconcile(&s->snapshot, &s->plan);
    assert_false(arena_failed(&s->arena));
}

static void add(struct scene *s, const char *name, const char *created, const char *condition)
{
    char *text = arena_printf(&s->arena,
                              "{'metadata':{'name':'%s','namespace':'ns','uid':'%s',"
                              "'creationTimestamp':'%s'},'status':{'conditions':[{'type':'%s',"
                              "'status':'True'}]}}",
                              name, name, created, condition);

    s->jobs[s->snapshot.jobs_len++] = parse(&s->arena, text);
}

static const struct plan_step *find(const struct scene *s, enum plan_op op, const char *name)
{
    for (const struct plan_step *step = s->plan.first; step; step = step->next)
        if (step->op == op && (!name || strcmp(step->name, name) == 0))
            return step;
    return NULL;
}

static void a_refused_job_is_said_and_asked_for_again_later(void **state)
{
    struct scene s = {.arena = ARENA_INIT(WORLD_LIMIT_BYTES)};
    const struct plan_step *event;

    (void)state;
    s.snapshot.refused = &kind_job;
    s.snapshot.refusal = "exceeded quota: q";
    assert_int_equal(time_parse("2026-11-17T10:06:00Z", &s.snapshot.refused_until_ms), 0);
    look(&s, "", "", "2026-11-17T10:05:30Z");
    assert_null(find(&s, PLAN_CREATE, NULL));
    event = find(&s, PLAN_EVENT, NULL);
    assert_string_equal(json_get_string(event->object, "reason", ""), "FailedCreate");
    assert_string_equal(json_get_string(event->object, "message", ""),
                        "Error creating job: exceeded quota: q");
    assert_int_equal(s.plan.wake_at_ms, s.snapshot.refused_until_ms);
    look(&s, "", "", "2026-11-17T10:06:00Z");
    assert_non_null(find(&s, PLAN_CREATE, NULL));
    arena_release(&s.arena);
}

static void a_schedule_that_never_comes_is_said(void **state)
{
    struct scene s = {.arena = ARENA_INIT(WORLD_LIMIT_BYTES)};
    const struct plan_step *event;

    (void)state;
    look(&s, "'schedule':'59 23 31 2 *',", "", "2026-11-17T10:05:30Z");
    event = find(&s, PLAN_EVENT, NULL);
    assert_string_equal(json_get_string(event->object, "reason", ""), "InvalidSchedule");
    assert_int_equal(s.plan.wake_at_ms, 0);
    arena_release(&s.arena);
}

static void a_time_makes_one_job_named_after_it(void **state)
{
    struct scene s = {.arena = ARENA_INIT(WORLD_LIMIT_BYTES)};
    const struct plan_step *made, *told;
    int64_t next;

    (void)state;
    look(&s, "", "", "2026-11-17T10:04:59Z");
    assert_true(plan_is_empty(&s.plan));
    assert_int_equal(time_parse("2026-11-17T10:05:00Z", &next), 0);
    assert_int_equal(s.plan.wake_at_ms, next);
    look(&s, "", "", "2026-11-17T10:16:02Z"); /* and two were missed */
    made = find(&s, PLAN_CREATE, NULL);
    told = find(&s, PLAN_UPDATE_STATUS, "c");
    assert_string_equal(made->name, "c-29915175");
    assert_string_equal(object_label(made->object, "a"), "b");
    assert_true(object_is_controlled_by(made->object, "u"));
    assert_true(told->stage > made->stage);
    assert_string_equal(json_string(json_at(told->object, "status", "lastScheduleTime"), ""),
                        "2026-11-17T10:15:00Z");
    /* It is there, and the status does not say so yet. */
    add(&s, "c-29915175", "2026-11-17T10:16:02Z", "Suspended");
    look(&s, "", "", "2026-11-17T10:16:03Z");
    assert_null(find(&s, PLAN_CREATE, NULL));
    told = find(&s, PLAN_UPDATE_STATUS, "c");
    assert_int_equal(json_len(json_at(told->object, "status", "active")), 1);
    look(&s, "", "'lastScheduleTime':'2026-11-17T10:15:00Z','active':[{'uid':'c-29915175'}]",
         "2026-11-17T10:16:04Z");
    assert_true(plan_is_empty(&s.plan));
    arena_release(&s.arena);
}

static void the_policy_says_what_happens_while_the_last_runs(void **state)
{
    struct scene s = {.arena = ARENA_INIT(WORLD_LIMIT_BYTES)};

    (void)state;
    add(&s, "before", CREATED, "Suspended");
    look(&s, "'concurrencyPolicy':'Forbid',", "", "2026-11-17T10:05:01Z");
    assert_null(find(&s, PLAN_CREATE, NULL));
    look(&s, "'concurrencyPolicy':'Replace',", "", "2026-11-17T10:05:01Z");
    assert_non_null(find(&s, PLAN_CREATE, NULL));
    assert_non_null(find(&s, PLAN_DELETE, "before"));
    look(&s, "", "", "2026-11-17T10:05:01Z");
    assert_non_null(find(&s, PLAN_CREATE, NULL));
    assert_null(find(&s, PLAN_DELETE, "before"));
    look(&s, "'suspend':true,", "", "2026-11-17T10:05:01Z");
    assert_null(find(&s, PLAN_CREATE, NULL));
    look(&s, "'startingDeadlineSeconds':10,", "", "2026-11-17T10:05:11Z");
    assert_null(find(&s, PLAN_CREATE, NULL));
    assert_non_null(find(&s, PLAN_EVENT, NULL));
    arena_release(&s.arena);
}

static void only_the_last_ones_are_kept(void **state)
{
    struct scene s = {.arena = ARENA_INIT(WORLD_LIMIT_BYTES)};

    (void)state;
    add(&s, "second", "2026-11-17T10:00:02Z", "Complete");
    add(&s, "first", "2026-11-17T10:00:01Z", "Complete");
    add(&s, "third", "2026-11-17T10:00:03Z", "Complete");
    add(&s, "failed", "2026-11-17T10:00:00Z", "Failed");
    look(&s, "'successfulJobsHistoryLimit':2,", "", "2026-11-17T10:00:20Z");
    assert_non_null(find(&s, PLAN_DELETE, "first"));
    assert_null(find(&s, PLAN_DELETE, "second"));
    assert_null(find(&s, PLAN_DELETE, "failed"));
    look(&s, "'failedJobsHistoryLimit':0,", "", "2026-11-17T10:00:20Z");
    assert_non_null(find(&s, PLAN_DELETE, "failed"));
    assert_null(find(&s, PLAN_DELETE, "first"));
    arena_release(&s.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_name_times),
        cmocka_unit_test(what_is_no_schedule_is_said),
        cmocka_unit_test(a_refused_job_is_said_and_asked_for_again_later),
        cmocka_unit_test(a_schedule_that_never_comes_is_said),
        cmocka_unit_test(a_time_makes_one_job_named_after_it),
        cmocka_unit_test(the_policy_says_what_happens_while_the_last_runs),
        cmocka_unit_test(only_the_last_ones_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
