/* restart_test.c - policies x exit codes, delays, and what a pod's status says. */
#include "core/pod_state.h"
#include "core/restart.h"
#include "world.h"

static void policies_by_exit_code(void **state)
{
    static const struct {
        int code;
        bool never, on_failure, always, exit_code;
    } table[] = {
        {0, false, false, true, false},  {1, false, true, true, false},
        {2, false, true, true, false},   {126, false, true, true, false},
        {127, false, true, true, false}, {130, false, true, true, true},
        {134, false, true, true, false}, {137, false, true, true, true},
        {138, false, true, true, true},  {139, false, true, true, false},
        {143, false, true, true, true},  {255, false, true, true, false},
        {-1, false, true, true, false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(table); i++) {
        int code = table[i].code;
        bool failed = code != 0;

        assert_int_equal(restart_asked(RESTART_NEVER, failed, code, NULL), table[i].never);
        assert_int_equal(restart_asked(RESTART_ON_FAILURE, failed, code, NULL),
                         table[i].on_failure);
        assert_int_equal(restart_asked(RESTART_ALWAYS, failed, code, NULL), table[i].always);
        assert_int_equal(restart_asked(RESTART_EXIT_CODE, failed, code, NULL), table[i].exit_code);
    }
}

static void more_codes_may_be_restartable(void **state)
{
    struct arena a = ARENA_INIT(4096);
    const struct json *codes = parse(&a, "[3, 42]");

    (void)state;
    assert_true(restart_asked(RESTART_EXIT_CODE, true, 42, codes));
    assert_true(restart_asked(RESTART_EXIT_CODE, true, 137, codes));
    assert_false(restart_asked(RESTART_EXIT_CODE, true, 4, codes));
    assert_false(restart_asked(RESTART_EXIT_CODE, true, -1, parse(&a, "[-1]")));
    assert_false(restart_asked(RESTART_NEVER, true, 42, codes));
    arena_release(&a);
}

static void policies_have_names(void **state)
{
    (void)state;
    for (int i = RESTART_NEVER; i <= RESTART_EXIT_CODE; i++)
        assert_int_equal(restart_policy_of(restart_policy_name((enum restart_policy)i)), i);
    assert_int_equal(restart_policy_of("Sometimes"), RESTART_NEVER);
}

static void delays_double_and_reset(void **state)
{
    static const int64_t wanted[] = {0, 1, 2, 4, 8, 16, 32, 60, 60, 60};
    int64_t delay = 0;

    (void)state;
    for (size_t i = 0; i < ELEMS(wanted); i++) {
        delay = restart_delay_seconds((int64_t)i, delay, 1000);
        assert_int_equal(delay, wanted[i]);
    }
    assert_int_equal(restart_delay_seconds(9, 60, RESTART_RESET_MS - 1), 60);
    assert_int_equal(restart_delay_seconds(9, 60, RESTART_RESET_MS), 0);
}

/* --- pods ------------------------------------------------------------------------------------- */

static void phases_are_read(void **state)
{
    static const struct {
        const char *pod;
        enum pod_phase phase;
        int code;
    } table[] = {
        {"{}", POD_PENDING, -1},
        {"{'status':{'phase':'Pending'}}", POD_PENDING, -1},
        {"{'status':{'phase':'Running'}}", POD_RUNNING, -1},
        {"{'status':{'phase':'Succeeded'}}", POD_SUCCEEDED, 0},
        {"{'status':{'phase':'Failed'}}", POD_FAILED, -1},
        {"{'status':{'phase':'Unknown'}}", POD_UNKNOWN, -1},
        {"{'status':{'phase':'Melted'}}", POD_UNKNOWN, -1},
    };
    struct arena a = ARENA_INIT(1 << 16);

    (void)state;
    for (size_t i = 0; i < ELEMS(table); i++) {
        struct pod_state s = pod_state_of(parse(&a, table[i].pod), NULL);

        assert_int_equal(s.phase, table[i].phase);
        assert_int_equal(s.exit_code, table[i].code);
        assert_false(s.deleting || s.lost);
    }
    arena_release(&a);
}

#define ENDED(name, code)                                                                          \
    "{'name':'" name "','state':{'terminated':{'exitCode':" code                                   \
    ",'startedAt':'2026-01-01T00:00:00Z','finishedAt':'2026-01-01T00:10:00Z'}}}"

static void the_training_container_is_to_blame_first(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);
    const struct json *both = parse(&a, "{'status':{'phase':'Failed','containerStatuses':[" ENDED(
                                            "side", "3") "," ENDED("python", "5") "]}}");
    const struct json *side = parse(&a, "{'status':{'phase':'Failed','containerStatuses':[" ENDED(
                                            "side", "3") "," ENDED("python", "0") "]}}");
    const struct json *init = parse(
        &a, "{'status':{'phase':'Failed','initContainerStatuses':[" ENDED("init", "7") "]}}");
    struct pod_state s = pod_state_of(both, "python");

    (void)state;
    assert_int_equal(s.exit_code, 5);
    assert_string_equal(s.container, "python");
    assert_int_equal(s.ran_ms, 600000);
    assert_int_equal(pod_state_of(both, NULL).exit_code, 3);
    assert_int_equal(pod_state_of(side, "python").exit_code, 3);
    assert_int_equal(pod_state_of(init, "python").exit_code, 7);
    arena_release(&a);
}

static void a_success_knows_how_long_it_ran(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);
    const struct json *pod = parse(
        &a,
        "{'status':{'phase':'Succeeded','containerStatuses':[{'name':'x'}," ENDED("y", "0") "]}}");

    (void)state;
    assert_int_equal(pod_state_of(pod, NULL).ran_ms, 600000);
    arena_release(&a);
}

static void lost_pods_did_nothing_wrong(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);

    (void)state;
    assert_true(
        pod_state_of(parse(&a, "{'status':{'phase':'Failed','reason':'NodeLost'}}"), NULL).lost);
    assert_false(
        pod_state_of(parse(&a, "{'status':{'phase':'Failed','reason':'Evicted'}}"), NULL).lost);
    assert_false(
        pod_state_of(parse(&a, "{'status':{'phase':'Running','reason':'NodeLost'}}"), NULL).lost);
    arena_release(&a);
}

static const char *failure(struct arena *a, const char *pod)
{
    struct pod_state s = pod_state_of(parse(a, pod), NULL);

    return pod_failure_text(a, "w-0", &s);
}

static void failures_are_told_in_words(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);

    (void)state;
    assert_string_equal(
        failure(&a, "{'status':{'phase':'Failed','containerStatuses':[" ENDED("x", "77") "]}}"),
        "w-0 failed with exit code 77");
    assert_string_equal(
        failure(&a, "{'status':{'phase':'Failed','containerStatuses':[" ENDED("x", "127") "]}}"),
        "w-0 failed with exit code 127 (command not found)");
    assert_string_equal(
        failure(&a, "{'status':{'phase':'Failed','containerStatuses':[{'name':'x','state':{"
                    "'terminated':{'exitCode':77,'message':'more\\nno such file\\n \\n'}}}]}}"),
        "w-0 failed with exit code 77: no such file");
    assert_string_equal(
        failure(&a, "{'status':{'phase':'Failed','containerStatuses':[{'name':'x','state':{"
                    "'terminated':{'exitCode':1,'message':'boom'}}}]}}"),
        "w-0 failed with exit code 1: boom");
    assert_string_equal(
        failure(&a,
                "{'status':{'phase':'Failed','containerStatuses':[{'name':'x','state':{"
                "'terminated':{'exitCode':137,'reason':'Error','message':'not for lack of memory'"
                "}}}]}}"),
        "w-0 failed with exit code 137 (killed, SIGKILL): not for lack of memory");
    assert_string_equal(
        failure(&a, "{'status':{'phase':'Failed','containerStatuses':[{'name':'x','state':{"
                    "'terminated':{'exitCode':139,'message':'loading\\u001b[1m\\u007f'}}}]}}"),
        "w-0 failed with exit code 139 (segmentation fault, SIGSEGV); it last said: loading [1m ");
    assert_string_equal(failure(&a, "{'status':{'phase':'Failed'}}"),
                        "w-0 failed without an exit code (no reason given)");
    assert_string_equal(failure(&a, "{'status':{'phase':'Failed','reason':'Odd'}}"),
                        "w-0 failed without an exit code (Odd)");
    assert_string_equal(
        failure(&a, "{'status':{'phase':'Failed','reason':'StartError','message':'no mount'}}"),
        "w-0 failed without an exit code (the container could not be started): no mount");
    assert_string_equal(
        failure(&a, "{'status':{'phase':'Failed','reason':'Evicted','message':'too large',"
                    "'containerStatuses':[{'name':'x','state':{'terminated':{'exitCode':143,"
                    "'reason':'Error','message':'step 7'}}}]}}"),
        "w-0 failed with exit code 143 (evicted by the node): too large");
    arena_release(&a);
}

static void another_containers_failure_names_it(void **state)
{
    struct arena a = ARENA_INIT(1 << 16), none = ARENA_INIT(0);
    struct pod_state s = pod_state_of(
        parse(&a, "{'status':{'phase':'Failed','containerStatuses':[" ENDED("main", "0") "," ENDED(
                      "logs", "3") "]}}"),
        "main");

    (void)state;
    assert_string_equal(pod_failure_text(&a, "w-0", &s),
                        "w-0 failed with exit code 3 in container \"logs\"");
    assert_null(pod_failure_text(&none, "w-0", &s));
    s = pod_state_of(parse(&a, "{'status':{'phase':'Failed','initContainerStatuses':[" ENDED(
                                   "fetch", "127") "]}}"),
                     "main");
    assert_string_equal(pod_failure_text(&a, "w-0", &s),
                        "w-0 failed with exit code 127 in container \"fetch\" (command not found)");
    arena_release(&a);
}

static void last_words_are_cut_between_characters(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);
    struct pod_state s = {.exit_code = 1, .reason = "", .message = "", .container = ""};
    char *words = arena_alloc(&a, 4001);
    const char *text;

    (void)state;
    for (size_t i = 0; i + 3 <= 4000; i += 3)
        memcpy(words + i, "\xe4\xbd\xa0", 3);
    s.message = words;
    text = pod_failure_text(&a, "w-0", &s);
    assert_true(strlen(text) < 450);
    assert_int_equal(strlen(strrchr(text, ' ') + 1) % 3, 0);
    s.message = "good \xff bad";
    assert_string_equal(pod_failure_text(&a, "w-0", &s), "w-0 failed with exit code 1: good ");
    arena_release(&a);
}

/* What ended before the deletion was asked for ended by itself. */
static void an_end_before_the_deletion_counts(void **state)
{
    static const struct {
        const char *finished;
        bool first;
    } table[] = {{"2026-01-01T00:00:59Z", true},
                 {"2026-01-01T00:01:00Z", false},
                 {"2026-01-01T00:01:20Z", false},
                 {"", false}};
    struct arena a = ARENA_INIT(1 << 16);

    (void)state;
    for (size_t i = 0; i < ELEMS(table); i++) {
        const char *text = arena_printf(
            &a,
            "{'metadata':{'deletionTimestamp':'2026-01-01T00:01:30Z',"
            "'deletionGracePeriodSeconds':30},'status':{'phase':'Failed','containerStatuses':[{"
            "'name':'x','state':{'terminated':{'exitCode':1,'finishedAt':'%s'}}}]}}",
            table[i].finished);

        assert_int_equal(pod_state_of(parse(&a, text), NULL).ended_first, table[i].first);
    }
    assert_false(pod_state_of(parse(&a, "{'metadata':{'deletionTimestamp':'2026-01-01T00:01:30Z'},"
                                        "'status':{'phase':'Running'}}"),
                              NULL)
                     .ended_first);
    for (int failed = 0; failed < 2; failed++) { /* in the same second, as its node knows */
        struct pod_state s = pod_state_of(
            parse(&a, arena_printf(
                          &a,
                          "{'metadata':{'deletionTimestamp':'2026-01-01T00:01:30Z',"
                          "'deletionGracePeriodSeconds':30},'status':{'phase':'%s','conditions':[{"
                          "'type':'" POD_ENDED_BY_ITSELF "','status':'True'}],"
                          "'containerStatuses':[{'name':'x','state':{'terminated':{'exitCode':%d,"
                          "'finishedAt':'2026-01-01T00:01:00Z'}}}]}}",
                          failed ? "Failed" : "Succeeded", failed)),
            NULL);

        assert_int_equal(s.ended_first, !failed); /* of a failure its job decides */
        assert_true(s.by_itself);
        assert_false(s.over);
    }
    arena_release(&a);
}

static void a_failure_without_memory_is_no_crash(void **state)
{
    struct pod_state s = {.exit_code = 1, .reason = "", .message = "x", .container = ""};
    struct arena a = ARENA_INIT(0);

    (void)state;
    assert_null(pod_failure_text(&a, "w-0", &s));
}

static void waiting_pods_say_for_what(void **state)
{
    static const struct {
        const char *pod, *reason, *message;
    } table[] = {
        {"{}", "", ""},
        {"{'status':{'conditions':[{'type':'PodScheduled','status':'False',"
         "'reason':'Unschedulable','message':'needs 4 CPU'}]}}",
         "Unschedulable", "needs 4 CPU"},
        {"{'status':{'conditions':[{'type':'PodScheduled','status':'True'}],"
         "'containerStatuses':[{'state':{'waiting':{'reason':'ContainerCreating'}}}]}}",
         "", ""},
        {"{'status':{'containerStatuses':[{'state':{'waiting':{'reason':'PodInitializing'}}},"
         "{'state':{'waiting':{'reason':'ErrImagePull','message':'no such image'}}}]}}",
         "ErrImagePull", "no such image"},
        {"{'status':{'initContainerStatuses':[{'state':{'waiting':{'reason':'X'}}}]}}", "X", "X"},
    };
    struct arena a = ARENA_INIT(1 << 16);

    (void)state;
    for (size_t i = 0; i < ELEMS(table); i++) {
        const char *reason, *message;

        pod_waiting_for(parse(&a, table[i].pod), &reason, &message);
        assert_string_equal(reason, table[i].reason);
        assert_string_equal(message, table[i].message);
    }
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_by_exit_code),
        cmocka_unit_test(more_codes_may_be_restartable),
        cmocka_unit_test(policies_have_names),
        cmocka_unit_test(delays_double_and_reset),
        cmocka_unit_test(phases_are_read),
        cmocka_unit_test(the_training_container_is_to_blame_first),
        cmocka_unit_test(a_success_knows_how_long_it_ran),
        cmocka_unit_test(lost_pods_did_nothing_wrong),
        cmocka_unit_test(failures_are_told_in_words),
        cmocka_unit_test(another_containers_failure_names_it),
        cmocka_unit_test(last_words_are_cut_between_characters),
        cmocka_unit_test(an_end_before_the_deletion_counts),
        cmocka_unit_test(a_failure_without_memory_is_no_crash),
        cmocka_unit_test(waiting_pods_say_for_what),
    };

    return cmocka_run_group_tests_name("core restart", tests, NULL, NULL);
}
