/* leader_test.c - one of several leads, and another when it is gone. */
#include "control/leader.h"

#include <string.h>

#include "control/world.h"

#define LEASE_PATH "/apis/coordination.k8s.io/v1/namespaces/" LEADER_NAMESPACE "/leases/it"

struct candidate {
    struct leader *leader;
    bool leads;
    int changes;
};

static const char *gone = "";

static bool is_gone(const char *identity)
{
    return strcmp(identity, gone) == 0;
}

static void on_change(void *arg, bool leads)
{
    struct candidate *c = arg;

    assert_true(c->leads != leads);
    c->leads = leads;
    c->changes++;
}

static void run_for_it(struct world *w, struct candidate *c, const char *identity)
{
    *c = (struct candidate){0};
    c->leader = leader_new(&(struct leader_options){.transport = &w->api.transport,
                                                    .clock = &w->clock.clock,
                                                    .name = "it",
                                                    .identity = identity,
                                                    .is_gone = is_gone,
                                                    .on_change = on_change,
                                                    .arg = c});
    assert_non_null(c->leader);
    fake_clock_settle(&w->clock);
}

static void one_leads_and_its_heir_waits(void **state)
{
    struct world *w = *state;
    struct candidate a, b;

    gone = "";
    run_for_it(w, &a, "a");
    run_for_it(w, &b, "b");
    assert_true(a.leads);
    fake_clock_advance(&w->clock, 120000);
    assert_true(a.leads && a.changes == 1 && !b.leads);
    leader_free(a.leader);               /* without a word */
    fake_clock_advance(&w->clock, 6500); /* what a that hangs has left until it stops */
    assert_false(b.leads);
    fake_clock_advance(&w->clock, 6000);
    assert_true(b.leads);
    leader_free(b.leader);
}

/* The worst that can happen: the heir has looked just before the last renewal. */
static void heir_leads_soon_whenever_it_looks(void **state)
{
    struct world *w = *state;
    struct candidate a, b;

    gone = "";
    run_for_it(w, &a, "a");
    fake_clock_advance(&w->clock, 2999);
    run_for_it(w, &b, "b");
    fake_clock_advance(&w->clock, 3001);
    leader_free(a.leader);
    fake_clock_advance(&w->clock, 6500);
    assert_false(b.leads);
    fake_clock_advance(&w->clock, 5500);
    assert_true(b.leads);
    leader_free(b.leader);
}

static void leader_that_gets_no_answer_stops(void **state)
{
    struct world *w = *state;
    struct candidate a;

    gone = "";
    run_for_it(w, &a, "a");
    w->api.latency_ms = 60000;
    fake_clock_advance(&w->clock, 9000);
    assert_false(a.leads);
    leader_free(a.leader);
}

static void lease_that_cannot_be_made_is_said(void **state)
{
    struct world *w = *state;
    struct candidate a;

    gone = "";
    strcpy(w->refused, "POST /leases");
    w->refusal = 403;
    run_for_it(w, &a, "a");
    assert_false(a.leads);
    assert_non_null(leader_trouble(a.leader));
    w->refused[0] = '\0';
    fake_clock_advance(&w->clock, 3000);
    assert_true(a.leads);
    assert_null(leader_trouble(a.leader));
    leader_free(a.leader);
}

/* One write a turn: who holds it knows what it wrote. */
static void renewing_is_one_request(void **state)
{
    struct world *w = *state;
    struct candidate a;
    unsigned before;

    gone = "";
    run_for_it(w, &a, "a");
    before = w->api.calls_made;
    fake_clock_advance(&w->clock, 30000);
    assert_int_equal(w->api.calls_made - before, 10);
    assert_true(a.leads && a.changes == 1);
    leader_free(a.leader);
}

static void lease_that_was_deleted_is_made_again(void **state)
{
    struct world *w = *state;
    struct candidate a;

    gone = "";
    run_for_it(w, &a, "a");
    assert_int_equal(fake_api_do(&w->api, "DELETE", LEASE_PATH, ""), 200);
    fake_clock_advance(&w->clock, 3000);
    assert_true(a.leads && a.changes == 1);
    assert_non_null(fake_api_get(&w->api, &w->arena, &kind_lease, LEADER_NAMESPACE, "it"));
    leader_free(a.leader);
}

static void who_is_surely_gone_is_not_waited_for(void **state)
{
    struct world *w = *state;
    struct candidate a, b;

    gone = "";
    run_for_it(w, &a, "a");
    leader_free(a.leader);
    gone = "a";
    run_for_it(w, &b, "b");
    assert_true(b.leads);
    leader_free(b.leader);
}

/* Who cannot renew stops before another may begin. */
static void without_the_api_nobody_leads(void **state)
{
    struct world *w = *state;
    struct candidate a, b;

    gone = "";
    run_for_it(w, &a, "a");
    strcpy(w->refused, "PATCH /leases/it");
    w->refusal = 503;
    fake_clock_advance(&w->clock, 12000);
    assert_false(a.leads);
    w->refused[0] = '\0';
    run_for_it(w, &b, "b");
    assert_false(b.leads); /* the lease is a's still */
    fake_clock_advance(&w->clock, 10000);
    assert_true(a.leads && !b.leads);
    leader_free(a.leader);
    leader_free(b.leader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(one_leads_and_its_heir_waits),
        WORLD_TEST(heir_leads_soon_whenever_it_looks),
        WORLD_TEST(who_is_surely_gone_is_not_waited_for),
        WORLD_TEST(without_the_api_nobody_leads),
        WORLD_TEST(leader_that_gets_no_answer_stops),
        WORLD_TEST(lease_that_cannot_be_made_is_said),
        WORLD_TEST(renewing_is_one_request),
        WORLD_TEST(lease_that_was_deleted_is_made_again),
    };

    return cmocka_run_group_tests_name("control/leader", tests, NULL, NULL);
}
