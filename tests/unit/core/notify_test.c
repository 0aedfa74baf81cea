/* notify_test.c - which events a Notification gets, in which order, and what is kept. */
#include "core/notify.h"
#include "world.h"

#define AT(s) "2027-01-15T08:00:" s "Z" /* WORLD_START_MS is second 00 */
#define SPEC(more)                                                                                 \
    "'spec':{'url':'http://a','phases':['Succeeded','Failed'],'format':'json'" more "}"
#define META                                                                                       \
    "'metadata':{'namespace':'d','name':'n','uid':'un','generation':1,'creationTimestamp':'" AT(   \
        "00") "'}"
#define NOTIFICATION "{" META "," SPEC("") "}"
#define JOB(name, phase, at)                                                                       \
    "{'metadata':{'namespace':'d','name':'" name "','uid':'u-" name "','labels':{'team':'nlp'},"   \
    "'creationTimestamp':'" AT("00") "'},'status':{'phase':'" phase "','completionTime':'" at "'," \
                                     "'message':'why'}}"

struct scene {
    struct arena arena;
    struct json *notification;
    int64_t now_ms;
};

static int set_up(void **state)
{
    struct scene *s = calloc(1, sizeof(*s));

    arena_init(&s->arena, WORLD_LIMIT_BYTES);
    s->notification = (struct json *)parse(&s->arena, NOTIFICATION);
    s->now_ms = WORLD_START_MS;
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;

    arena_release(&s->arena);
    free(s);
    return 0;
}

static struct json *event(struct scene *s, const char *job, bool seen)
{
    return notify_event(&s->arena, s->notification, &kind_pytorch_training_job,
                        parse(&s->arena, job), seen);
}

/* Writes the next status; false: nothing changed. */
static bool step(struct scene *s, const struct json *found, const struct notify_outcome *outcome)
{
    struct json *status = notify_status(&s->arena, s->notification, &found, found ? 1 : 0, outcome,
                                        s->now_ms);

    json_set(&s->arena, s->notification, "status", status);
    return status;
}

static const struct json *status(struct scene *s, const char *member)
{
    return json_at(s->notification, "status", member);
}

static const char *next_id(struct scene *s)
{
    int64_t at_ms;

    return json_get_string(notify_next(s->notification, &at_ms), "id", "");
}

static void answer(struct scene *s, int code)
{
    assert_true(
        step(s, NULL, &(struct notify_outcome){.id = next_id(s), .code = code, .error = ""}));
}

static void what_was_before_is_not_told(void **state)
{
    struct scene *s = *state;

    assert_non_null(event(s, JOB("a", "Succeeded", AT("01")), false));
    assert_non_null(event(s, JOB("a", "Succeeded", AT("00")), false));
    assert_null(event(s, JOB("a", "Succeeded", "2027-01-15T07:59:59Z"), false));
    /* seen coming: whatever the clock says */
    assert_non_null(event(s, JOB("a", "Succeeded", "2027-01-15T07:59:59Z"), true));
    assert_null(event(s, JOB("a", "Running", AT("01")), true));
}

static void selectors_kinds_and_suspend(void **state)
{
    struct scene *s = *state;
    static const struct {
        const char *spec;
        bool wanted;
    } cases[] = {{SPEC(",'kinds':['MPIJob']"), false},
                 {SPEC(",'kinds':['MPIJob','PyTorchTrainingJob']"), true},
                 {SPEC(",'suspend':true"), false},
                 {SPEC(",'selector':{'matchLabels':{'team':'nlp'}}"), true},
                 {SPEC(",'selector':{'matchLabels':{'team':'cv'}}"), false},
                 {SPEC(",'selector':{}"), true}};

    for (size_t i = 0; i < ELEMS(cases); i++) {
        s->notification = (struct json *)parse(
            &s->arena, arena_printf(&s->arena, "{" META ",%s}", cases[i].spec));
        assert_int_equal(event(s, JOB("a", "Failed", AT("01")), false) != NULL, cases[i].wanted);
    }
}

static void an_event_is_decided_about_once(void **state)
{
    struct scene *s = *state;
    const struct json *e = event(s, JOB("a", "Failed", AT("01")), true);

    assert_true(step(s, e, NULL));
    assert_false(step(s, e, NULL)); /* found twice */
    assert_null(event(s, JOB("a", "Failed", AT("01")), false));
    assert_int_equal(json_len(status(s, "pending")), 1);
    answer(s, 204);
    assert_null(status(s, "pending"));
    assert_int_equal(json_int(status(s, "delivered"), 0), 1);
    assert_int_equal(json_int(json_get(status(s, "lastDelivery"), "code"), 0), 204);
    assert_null(event(s, JOB("a", "Failed", AT("01")), false));
    assert_null(event(s, JOB("a", "Failed", AT("01")), true));
    /* the outcome of what is pending no more changes nothing */
    assert_false(step(s, NULL, &(struct notify_outcome){.id = "x", .code = 200}));
}

static void order_is_kept_and_pauses_grow(void **state)
{
    struct scene *s = *state;
    int64_t at_ms, pause_ms = NOTIFY_FIRST_PAUSE_MS;
    const char *first;

    step(s, event(s, JOB("a", "Failed", AT("01")), true), NULL);
    step(s, event(s, JOB("b", "Failed", AT("01")), true), NULL);
    first = next_id(s);
    for (int i = 1; i <= 9; i++) {
        answer(s, i % 2 ? 500 : 429);
        assert_string_equal(next_id(s), first);
        (void)notify_next(s->notification, &at_ms);
        assert_int_equal(at_ms, s->now_ms + min_i64(pause_ms, NOTIFY_LONGEST_PAUSE_MS));
        assert_int_equal(json_int(status(s, "failures"), 0), i);
        pause_ms *= 2;
    }
    answer(s, 200);
    assert_null(status(s, "failures"));
    assert_null(status(s, "retryTime"));
    assert_string_not_equal(next_id(s), first);
    answer(s, 410);
    assert_string_equal(next_id(s), "");
    assert_int_equal(json_int(status(s, "failed"), 0), 1);
}

static void what_waited_an_hour_is_given_up_when_it_fails_again(void **state)
{
    struct scene *s = *state;

    step(s, event(s, JOB("a", "Failed", AT("01")), true), NULL);
    step(s, event(s, JOB("b", "Failed", AT("01")), true), NULL);
    s->now_ms += NOTIFY_GIVE_UP_MS / 2;
    answer(s, 0);
    assert_int_equal(json_len(status(s, "pending")), 2);
    s->now_ms += NOTIFY_GIVE_UP_MS;
    answer(s, 503);
    assert_null(status(s, "pending"));
    assert_int_equal(json_int(status(s, "failed"), 0), 2);
}

static void memory_is_bounded_and_nothing_is_told_twice(void **state)
{
    struct scene *s = *state;
    const unsigned jobs = 600;
    char text[600];

    for (unsigned i = 0; i < jobs; i++) {
        (void)snprintf(text, sizeof(text),
                       "{'metadata':{'namespace':'d','name':'j%u','uid':'u%u'},'status':{"
                       "'phase':'Failed','completionTime':'2027-01-15T08:%02u:%02uZ'}}",
                       i, i, 1 + i / 60, i % 60);
        step(s, event(s, text, true), NULL);
        answer(s, 200);
    }
    assert_int_equal(json_int(status(s, "delivered"), 0), jobs);
    assert_int_equal(json_len(status(s, "recent")), NOTIFY_RECENT_LIMIT);
    for (unsigned i = 0; i < jobs; i++) {
        (void)snprintf(text, sizeof(text),
                       "{'metadata':{'namespace':'d','name':'j%u','uid':'u%u'},'status':{"
                       "'phase':'Failed','completionTime':'2027-01-15T08:%02u:%02uZ'}}",
                       i, i, 1 + i / 60, i % 60);
        assert_null(event(s, text, false));
    }
}

static void too_many_at_once_give_up_the_oldest(void **state)
{
    struct scene *s = *state;
    const char *first;

    step(s, event(s, JOB("first", "Failed", AT("01")), true), NULL);
    first = next_id(s);
    for (unsigned i = 0; i < NOTIFY_PENDING_LIMIT; i++)
        step(s,
             event(s,
                   arena_printf(&s->arena,
                                "{'metadata':{'name':'j%u','uid':'u%u'},'status':{'phase':'Failed',"
                                "'completionTime':'" AT("02") "'}}",
                                i, i),
                   true),
             NULL);
    assert_int_equal(json_len(status(s, "pending")), NOTIFY_PENDING_LIMIT);
    assert_int_equal(json_int(status(s, "failed"), 0), 1);
    assert_string_not_equal(next_id(s), first);
    assert_non_null(status(s, "lastError"));
    for (unsigned i = 0; i < 3; i++) { /* tests count too */
        json_set_string(
            &s->arena,
            json_make_object(&s->arena, json_get_mut(s->notification, "metadata"), "annotations"),
            "muster.dev/send-test", arena_printf(&s->arena, "%u", i));
        assert_true(step(s, NULL, NULL));
        assert_int_equal(json_len(status(s, "pending")), NOTIFY_PENDING_LIMIT);
    }
}

static void another_spec_is_for_what_comes(void **state)
{
    struct scene *s = *state;
    int64_t at_ms;

    step(s, event(s, JOB("a", "Failed", AT("01")), true), NULL);
    answer(s, 503);
    s->now_ms += 30000;
    json_set_int(&s->arena, json_get_mut(s->notification, "metadata"), "generation", 2);
    assert_true(step(s, NULL, NULL));
    assert_null(event(s, JOB("b", "Failed", AT("29")), false));
    assert_non_null(event(s, JOB("b", "Failed", AT("30")), false));
    /* what was promised is kept, and tried at once */
    assert_non_null(notify_next(s->notification, &at_ms));
    assert_int_equal(at_ms, 0);
}

static void a_test_goes_first(void **state)
{
    struct scene *s = *state;
    int64_t at_ms;

    step(s, event(s, JOB("a", "Failed", AT("01")), true), NULL);
    answer(s, 500);
    json_set_string(
        &s->arena,
        json_make_object(&s->arena, json_get_mut(s->notification, "metadata"), "annotations"),
        "muster.dev/send-test", "1");
    assert_true(step(s, NULL, NULL));
    assert_string_equal(json_get_string(notify_next(s->notification, &at_ms), "phase", ""), "Test");
    assert_int_equal(at_ms, 0);
    answer(s, 200);
    assert_false(step(s, NULL, NULL)); /* once */
    assert_string_equal(json_get_string(notify_next(s->notification, &at_ms), "phase", ""),
                        "Failed");
}

static void a_phase_has_its_own_time(void **state)
{
    struct scene *s = *state;
    static const struct {
        const char *phase, *time;
    } cases[] = {{"Running", AT("03")}, {"Paused", AT("04")}, {"Pending", AT("05")}};

    s->notification = (struct json *)parse(
        &s->arena, "{" META ",'spec':{'url':'http://a','phases':['Pending','Running','Paused']}}");
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const struct json *e = event(
            s,
            arena_printf(
                &s->arena,
                "{'metadata':{'name':'a','uid':'u','creationTimestamp':'" AT(
                    "01") "'},"
                          "'status':{'phase':'%s','conditions':["
                          "{'type':'Running','lastTransitionTime':'" AT(
                              "03") "'},"
                                    "{'type':'Paused','lastTransitionTime':'" AT(
                                        "04") "'}],"
                                              "'interruptions':[{'stopTime':'" AT("05") "'}]}}",
                cases[i].phase),
            true);

        assert_string_equal(json_get_string(e, "time", ""), cases[i].time);
    }
}

static void messages_are_cut_between_characters(void **state)
{
    struct scene *s = *state;
    struct buf long_text = BUF_INIT(4000);
    const char *message;

    buf_addc(&long_text, 'x');
    for (int i = 0; i < 400; i++)
        buf_adds(&long_text, "失");
    message = json_get_string(
        event(s,
              arena_printf(&s->arena,
                           "{'metadata':{'name':'a','uid':'u'},'status':{'phase':'Failed',"
                           "'completionTime':'" AT("01") "','message':'%s'}}",
                           long_text.data),
              true),
        "message", "");
    assert_int_equal(strlen(message), 1000);
    assert_memory_equal(message + 997, "失", 3);
    buf_release(&long_text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_was_before_is_not_told),
        TEST(selectors_kinds_and_suspend),
        TEST(an_event_is_decided_about_once),
        TEST(order_is_kept_and_pauses_grow),
        TEST(what_waited_an_hour_is_given_up_when_it_fails_again),
        TEST(memory_is_bounded_and_nothing_is_told_twice),
        TEST(too_many_at_once_give_up_the_oldest),
        TEST(another_spec_is_for_what_comes),
        TEST(a_test_goes_first),
        TEST(a_phase_has_its_own_time),
        TEST(messages_are_cut_between_characters),
    };

    return cmocka_run_group_tests_name("core/notify", tests, NULL, NULL);
}
