/*
 * property_test.c - random histories: pods exit, vanish and get lost at any time, users delete and
 * pause, caches show old states, plans are cut off after any step, the clock jumps. Whatever
 * happens: the budget holds and is not forgotten, the end is final, nothing is made and deleted in
 * one plan, and once the world is quiet the job comes to rest where it should.
 *
 * CORE_SEED=n runs that seed alone; CORE_SEEDS=n runs so many.
 */
#include "world.h"

#define SEEDS 300
#define STEPS 120
#define TYPE "worker"

struct dice {
    uint64_t state;
};

static uint32_t roll(struct dice *d, uint32_t sides)
{
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return (uint32_t)(d->state >> 33) % sides;
}

static bool chance(struct dice *d, uint32_t percent)
{
    return roll(d, 100) < percent;
}

struct history {
    struct world w;
    struct dice dice;
    int replicas;
    int64_t limit;
    bool job_scope;
    const char *clean_up;
    /* what was seen so far */
    int64_t exits, backoff, pauses;
    size_t looks[WORLD_SET_COUNT]; /* no cache goes back behind the start of its controller */
    bool final;
    char final_phase[16];
    size_t created_at_end;
};

/* --- what happens ----------------------------------------------------------------------------- */

static void begin(struct history *h, uint64_t seed)
{
    static const char *const policies[] = {"Never", "OnFailure", "Always", "ExitCode"};
    static const char *const clean_ups[] = {"None", "All", "Unfinished"};
    char more[256];

    *h = (struct history){.dice = {seed * 0x9e3779b97f4a7c15u + 1}};
    h->replicas = 1 + (int)roll(&h->dice, 4);
    h->limit = roll(&h->dice, 5);
    h->job_scope = chance(&h->dice, 40);
    h->clean_up = clean_ups[roll(&h->dice, 3)];
    (void)snprintf(more, sizeof(more),
                   "'runPolicy':{'backoffLimit':%d,'restartScope':'%s','cleanUpPolicy':'%s'%s}",
                   (int)h->limit, h->job_scope ? "Job" : "Replica", h->clean_up,
                   chance(&h->dice, 20) ? ",'activeDeadlineSeconds':200" : "");
    world_init(&h->w);
    h->w.shared_network = chance(&h->dice, 80);
    world_submit(&h->w, h->replicas, policies[roll(&h->dice, 4)], more);
    for (int i = 0; i < WORLD_SET_COUNT; i++)
        h->looks[i] = h->w.past_len[i] - 1;
}

static const struct json *random_pod(struct history *h)
{
    const struct world_state *s = world_now(&h->w, WORLD_PODS);

    return s->len ? s->items[roll(&h->dice, (uint32_t)s->len)] : NULL;
}

static void pod_goes_on(struct history *h, const struct json *pod)
{
    static const int codes[] = {0, 0, 1, 137, 139};
    const char *phase = json_string(json_at(pod, "status", "phase"), "");

    if (object_is_deleting(pod) && chance(&h->dice, 50)) {
        world_change(&h->w, WORLD_PODS, pod, NULL);
    } else if (strcmp(phase, "Pending") == 0 && chance(&h->dice, 80)) {
        world_pod_runs(&h->w, object_name(pod));
    } else if (!pod_is_finished(pod) && chance(&h->dice, 60)) {
        h->exits += !object_is_deleting(pod);
        world_pod_exits_after(&h->w, object_name(pod), codes[roll(&h->dice, ELEMS(codes))],
                              chance(&h->dice, 10) ? RESTART_RESET_MS : 1000);
    }
}

static void pod_is_lost(struct history *h, const struct json *pod)
{
    struct json *lost = world_edit(&h->w, pod);

    json_set(&h->w.arena, lost, "status",
             parse(&h->w.arena, "{'phase':'Failed','reason':'NodeLost'}"));
    world_change(&h->w, WORLD_PODS, pod, lost);
}

static void something_happens(struct history *h)
{
    const struct json *pod = random_pod(h);

    if (chance(&h->dice, 3))
        world_edit_spec(&h->w, "runMode",
                        chance(&h->dice, 40) ? "{'pause':{'enabled':true}}"
                                             : "{'pause':{'enabled':false}}");
    if (chance(&h->dice, 5))
        h->w.now_ms += roll(&h->dice, 90000);
    if (chance(&h->dice, 1))
        h->w.now_ms -= roll(&h->dice, 600000);
    h->w.now_ms += roll(&h->dice, 500);
    if (!pod)
        return;
    if (chance(&h->dice, 4) && !object_is_deleting(pod))
        world_delete(&h->w, WORLD_PODS, pod);
    else if (chance(&h->dice, 2))
        world_change(&h->w, WORLD_PODS, pod, NULL);
    else if (chance(&h->dice, 2) && !pod_is_finished(pod))
        pod_is_lost(h, pod);
    else
        pod_goes_on(h, pod);
}

/* --- what must hold --------------------------------------------------------------------------- */

/* A look that charges, ends or pauses writes that down and does nothing else. */
static void check_commits(const struct job_snapshot *snapshot, const struct plan *plan)
{
    static const char *const committed[] = {"backoffCount", "pauseCount", "completionTime"};
    const struct json *old = json_get(snapshot->job, "status");
    const struct json *new = plan->first ? json_get(plan->first->object, "status") : NULL;
    bool commits = false;

    if (!plan->first || plan->first->op != PLAN_UPDATE_STATUS || !old)
        return;
    for (size_t i = 0; i < ELEMS(committed); i++)
        commits = commits || !json_equal(json_get(old, committed[i]), json_get(new, committed[i]));
    for (const struct plan_step *s = plan->first; commits && s; s = s->next)
        assert_true(s->op == PLAN_UPDATE_STATUS || s->op == PLAN_EVENT);
}

static void check_plan(const struct plan *plan)
{
    for (const struct plan_step *a = plan->first; a; a = a->next)
        for (const struct plan_step *b = plan->first; b; b = b->next)
            if (a->op == PLAN_CREATE && b->op == PLAN_DELETE && a->kind == b->kind)
                assert_string_not_equal(a->name, b->name);
    if (plan->first && plan->first->next)
        for (const struct plan_step *s = plan->first->next; s; s = s->next)
            assert_int_not_equal(s->op, PLAN_UPDATE_STATUS);
}

static void check_counts(struct history *h)
{
    const struct json *status = world_status(&h->w);
    int64_t sum = 0, used = json_get_int(status, "backoffCount", 0);
    int64_t pauses = json_get_int(status, "pauseCount", 0);

    assert_true(used <= h->limit);
    assert_true(used <= h->exits);
    assert_true(used >= h->backoff && pauses >= h->pauses);
    h->backoff = used;
    h->pauses = pauses;
    json_each (r, json_get(json_first(json_get(status, "tasks")), "replicas")) {
        int64_t restarts = json_get_int(r, "restartCount", 0);
        const struct json *pod = world_get(&h->w, WORLD_PODS, json_get_string(r, "name", ""));
        const char *attempt = pod ? object_annotation(pod, ANNOTATION_ATTEMPT) : "0";

        sum += restarts;
        if (h->job_scope)
            assert_int_equal(restarts, used);
        /* a pod runs only when its restart has been paid for */
        assert_true(strtoll(attempt, NULL, 10) <= restarts + pauses);
    }
    if (!h->job_scope)
        assert_int_equal(sum, used);
}

static void check_end(struct history *h)
{
    const char *phase = world_phase(&h->w);

    if (h->final) {
        assert_string_equal(phase, h->final_phase);
        assert_int_equal(h->w.created, h->created_at_end);
        return;
    }
    h->final = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
    (void)snprintf(h->final_phase, sizeof(h->final_phase), "%s", phase);
    h->created_at_end = h->w.created;
}

/* --- looking ---------------------------------------------------------------------------------- */

static void look(struct history *h)
{
    size_t at[WORLD_SET_COUNT];
    struct job_snapshot s;
    struct plan plan;
    int steps = 0;

    for (int i = 0; i < WORLD_SET_COUNT; i++) {
        size_t last = h->w.past_len[i] - 1;
        size_t lag = chance(&h->dice, 30) ? roll(&h->dice, 8) : 0;

        at[i] = last - min_size(lag, last - h->looks[i]);
    }
    world_snapshot(&h->w, at, &s);
    plan_init(&plan, &h->w.arena);
    job_kinds[0]->reconcile(&s, &plan);
    check_plan(&plan);
    check_commits(&s, &plan);
    for (const struct plan_step *p = plan.first; p; p = p->next)
        steps++;
    world_apply(&h->w, &plan, chance(&h->dice, 20) ? (int)roll(&h->dice, (uint32_t)steps + 1) : -1);
}

/* Nothing more happens, caches catch up, time passes: the job must come to rest. */
static void come_to_rest(struct history *h)
{
    for (int i = 0; i < 200; i++) {
        struct plan plan;

        world_stop_deleted(&h->w);
        world_plan(&h->w, &plan);
        check_plan(&plan);
        if (plan_is_empty(&plan)) {
            /* a second look sees the same */
            world_plan(&h->w, &plan);
            assert_true(plan_is_empty(&plan));
            if (!plan.wake_at_ms)
                return;
            h->w.now_ms = max_i64(h->w.now_ms + 1, plan.wake_at_ms);
        }
        world_apply(&h->w, &plan, -1);
        check_counts(h);
        check_end(h);
    }
    fail_msg("does not come to rest");
}

static void check_rest(struct history *h)
{
    bool paused = strcmp(world_phase(&h->w), "Paused") == 0;
    const struct world_state *pods = world_now(&h->w, WORLD_PODS);

    if (paused || (h->final && strcmp(h->clean_up, "All") == 0)) {
        assert_int_equal(pods->len, 0);
    } else if (h->final) {
        for (size_t i = 0; i < pods->len && strcmp(h->clean_up, "None") != 0; i++)
            assert_true(pod_is_finished(pods->items[i]));
    } else {
        for (int i = 0; i < h->replicas; i++)
            assert_true(world_pod(&h->w, TYPE, i) ||
                        json_int(json_at(world_status(&h->w), "aggregate", "succeeded"), 0) > 0);
    }
}

static void live(uint64_t seed)
{
    struct history h;

    begin(&h, seed);
    for (int i = 0; i < STEPS; i++) {
        something_happens(&h);
        if (chance(&h.dice, 70))
            look(&h);
        check_counts(&h);
        check_end(&h);
    }
    come_to_rest(&h);
    check_rest(&h);
    world_release(&h.w);
}

static void random_histories(void **state)
{
    const char *one = getenv("CORE_SEED"), *many = getenv("CORE_SEEDS");
    uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    uint64_t count = one ? 1 : many ? strtoull(many, NULL, 10) : SEEDS;

    (void)state;
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (one || many)
            print_message("seed %" PRIu64 "\n", seed);
        live(seed);
    }
}

/* How many steps of this plan are carried out by a controller that dies after its nth write. */
static int cut_at(const struct plan *plan, int *writes_left)
{
    int steps = 0;

    for (const struct plan_step *s = plan->first; s; s = s->next) {
        if (*writes_left == 0)
            break;
        --*writes_left;
        steps++;
    }
    if (*writes_left > 0)
        return -1;
    *writes_left = -1; /* dies once; its successor lives */
    return steps;
}

/* Four replicas fail one after another; the budget is three; the controller is killed after the
 * nth write, for every n there is. */
static void killed_after_each_write_the_budget_holds(void **state)
{
    bool died = true;

    (void)state;
    for (int n = 1; died; n++) {
        int writes_left = n, failing = 3, rounds = 0;
        struct world w;

        world_init(&w);
        world_submit(&w, 4, "OnFailure", "'runPolicy':{'backoffLimit':3}");
        while (rounds++ < 200 && strcmp(world_phase(&w), "Failed") != 0) {
            struct plan plan;

            world_plan(&w, &plan);
            if (!plan_is_empty(&plan)) {
                world_apply(&w, &plan, writes_left < 0 ? -1 : cut_at(&plan, &writes_left));
                continue;
            }
            world_all_run(&w);
            if (failing >= 0)
                world_pod_exits(&w, world_name(&w, TYPE, failing--), 1);
        }
        assert_string_equal(world_phase(&w), "Failed");
        assert_int_equal(world_backoff(&w), 3);
        assert_int_equal(w.created, 7);
        died = writes_left < 0;
        world_release(&w);
        assert_true(n < 500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_histories),
        cmocka_unit_test(killed_after_each_write_the_budget_holds),
    };

    return cmocka_run_group_tests_name("core properties", tests, NULL, NULL);
}
