/* jobs_test.c - the job controller with its real core on an API in memory. */
#include <stdio.h>
#include <string.h>

#include "control/world.h"
#include "core/pod_state.h"

static void job_gets_its_children_and_then_there_is_peace(void **state)
{
    struct world *w = *state;
    unsigned writes;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 4, "Never");
    fake_clock_advance(&w->clock, 1000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 4);
    assert_int_equal(fake_api_count(&w->api, &kind_service), 4);
    assert_int_equal(fake_api_count(&w->api, &kind_lease), 1);
    assert_string_equal(world_phase(w, "j"), "Pending");
    assert_true(object_is_controlled_by(world_pod(w, 0), object_uid(world_job(w, "j"))));
    assert_int_equal(w->pod_posts, 4);
    writes = w->api.writes;
    fake_clock_advance(&w->clock, 60000);
    assert_int_equal(w->api.writes, writes);
}

static void pods_are_followed(void **state)
{
    struct world *w = *state;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 2, "Never");
    fake_clock_advance(&w->clock, 1000);
    world_pod_phase(w, 0, "Running", 0);
    world_pod_phase(w, 1, "Running", 0);
    fake_clock_advance(&w->clock, 1000);
    assert_string_equal(world_phase(w, "j"), "Running");
    world_pod_phase(w, 0, "Succeeded", 0);
    fake_clock_advance(&w->clock, 1000);
    assert_string_equal(world_phase(w, "j"), "Succeeded");
}

/* It succeeds and is deleted, and nobody looks in between. */
static void the_end_of_a_pod_that_is_gone_counts(void **state)
{
    struct world *w = *state;
    const char *name;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 2, "Never");
    fake_clock_advance(&w->clock, 1000);
    for (size_t i = 0; i < 2; i++)
        world_pod_phase(w, i, "Running", 0);
    fake_clock_advance(&w->clock, 1000);
    w->api.held_kind = &kind_pod;
    name = object_name(world_pod(w, 1));
    world_pod_phase(w, 1, "Succeeded", 0);
    fake_api_pod_gone(&w->api, "d", name);
    fake_api_release_watches(&w->api);
    fake_clock_advance(&w->clock, 10000);
    assert_int_equal(w->pod_posts, 2);
    world_pod_phase(w, 0, "Succeeded", 0);
    fake_clock_advance(&w->clock, 1000);
    assert_string_equal(world_phase(w, "j"), "Succeeded");
}

/* As the scheduler and the node do. */
static void evict_after_its_end(struct world *w, const char *phase, int code)
{
    const struct json *pod = world_pod(w, 0);
    const char *path = kind_path(&w->arena, &kind_pod, "d", object_name(pod));

    assert_int_equal(fake_api_do(&w->api, "PATCH", path,
                                 "{\"metadata\":{\"finalizers\":[\"" FINALIZER_TRACKING "\"]},"
                                 "\"spec\":{\"nodeName\":\"n\"}}"),
                     200);
    assert_int_equal(fake_api_do(&w->api, "DELETE", path, NULL), 200);
    world_pod_phase(w, 0, phase, code);
    assert_int_equal(fake_api_do(&w->api, "PATCH", arena_printf(&w->arena, "%s/status", path),
                                 "{\"status\":{\"conditions\":[{\"type\":\"" POD_ENDED_BY_ITSELF
                                 "\",\"status\":\"True\"}]}}"),
                     200);
    fake_api_pod_gone(&w->api, "d", object_name(pod));
}

/* Nobody is there to see it end, nor it go; nor is the first write of what follows the last. */
static void an_end_during_an_eviction_counts_however_often_we_are_killed(void **state)
{
    struct world *w = *state;

    world_start(w, CONTROL_JOBS);
    for (int failed = 0; failed < 2; failed++) {
        char name[] = {(char)('a' + failed), '\0'};
        unsigned posts = w->pod_posts;

        world_add_job(w, name, 1, "OnFailure");
        fake_clock_advance(&w->clock, 1000);
        world_pod_phase(w, 0, "Running", 0);
        fake_clock_advance(&w->clock, 1000);
        control_free(w->control);
        w->control = NULL;
        evict_after_its_end(w, failed ? "Failed" : "Succeeded", failed);
        assert_int_equal(fake_api_count(&w->api, &kind_pod), 1);
        for (unsigned turns = 0; turns < 60; turns++) {
            world_restart(w, CONTROL_JOBS);
            for (unsigned i = 0; i < turns; i++)
                (void)fake_clock_turn(&w->clock);
        }
        fake_clock_advance(&w->clock, 10000);
        assert_int_equal(json_int(json_at(world_job(w, name), "status", "backoffCount"), 0),
                         failed);
        assert_int_equal(w->pod_posts - posts, failed ? 2 : 1);
        assert_string_equal(world_phase(w, name), failed ? "Pending" : "Succeeded");
        assert_int_equal(fake_api_count(&w->api, &kind_pod), failed);
    }
}

/* What a daemon that was killed right after a job's end did not get to. */
static void ended_jobs_are_looked_at_after_a_restart(void **state)
{
    struct world *w = *state;
    const char *path = JOBS_PATH "/j";

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 2, "Never");
    fake_clock_advance(&w->clock, 1000);
    control_free(w->control);
    w->control = NULL;
    for (size_t i = 0; i < 2; i++)
        world_pod_phase(w, i, "Succeeded", 0);
    assert_int_equal(
        fake_api_do(&w->api, "PATCH", path,
                    "{\"spec\":{\"runPolicy\":{\"cleanUpPolicy\":\"All\"}},\"status\":{"
                    "\"phase\":\"Succeeded\",\"completionTime\":"
                    "\"2020-01-01T00:00:00Z\"}}"),
        200);
    world_start(w, CONTROL_JOBS);
    assert_int_equal(fake_api_count(&w->api, &kind_service), 0); /* these make it known at once */
    assert_int_equal(
        fake_api_do(&w->api, "PATCH", path, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), 200);
    fake_clock_advance(&w->clock, 10000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 0);
    control_free(w->control);
    w->control = NULL;
    assert_int_equal(fake_api_do(&w->api, "PATCH", path,
                                 "{\"spec\":{\"runPolicy\":{\"ttlSecondsAfterFinished\":0}}}"),
                     200);
    world_start(w, CONTROL_JOBS);
    assert_non_null(world_job(w, "j"));
    fake_clock_advance(&w->clock, 10000); /* nothing of it is left but itself */
    assert_null(world_job(w, "j"));
}

/* Nor for one that waits, itself being deleted, for its pods to go. */
static void nobody_waits_for_a_job_that_is_gone(void **state)
{
    static const char *const options[] = {NULL, "{\"propagationPolicy\":\"Foreground\"}"};
    struct world *w = *state;

    for (size_t i = 0; i < ELEMS(options); i++) {
        char name[] = {(char)('a' + i), '\0'};

        world_start(w, CONTROL_JOBS);
        world_add_job(w, name, 1, "OnFailure");
        fake_clock_advance(&w->clock, 1000);
        control_free(w->control);
        evict_after_its_end(w, "Succeeded", 0);
        assert_int_equal(fake_api_do(&w->api, "DELETE",
                                     arena_printf(&w->arena, JOBS_PATH "/%s", name), options[i]),
                         200);
        world_start(w, CONTROL_JOBS);
        fake_clock_advance(&w->clock, 10000);
        assert_int_equal(fake_api_count(&w->api, &kind_pod), 0);
        control_free(w->control);
    }
    w->control = NULL;
}

static void failed_pod_is_replaced_once(void **state)
{
    struct world *w = *state;
    const char *old;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 2, "OnFailure");
    fake_clock_advance(&w->clock, 1000);
    world_pod_phase(w, 0, "Running", 0);
    world_pod_phase(w, 1, "Running", 0);
    fake_clock_advance(&w->clock, 1000);
    old = object_uid(world_pod(w, 1));
    world_pod_phase(w, 1, "Failed", 137);
    fake_clock_advance(&w->clock, 5000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
    assert_string_not_equal(object_uid(world_pod(w, 1)), old);
    assert_int_equal(w->pod_posts, 3);
    assert_int_equal(json_int(json_at(world_job(w, "j"), "status", "backoffCount"), 0), 1);
}

static void nothing_is_decided_before_everything_is_known(void **state)
{
    struct world *w = *state;

    world_add_job(w, "j", 2, "Never");
    strcpy(w->refused, "GET /services");
    w->refusal = 503;
    world_start(w, CONTROL_JOBS);
    fake_clock_advance(&w->clock, 60000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 0);
    w->refused[0] = '\0';
    fake_clock_advance(&w->clock, 30000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
}

static void late_cache_does_not_make_it_create_again(void **state)
{
    struct world *w = *state;
    unsigned writes;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 2, "Never");
    while (fake_api_count(&w->api, &kind_pod) == 0)
        assert_true(fake_clock_turn(&w->clock));
    w->api.held_kind = &kind_pod; /* the pods are made; nobody hears of them */
    fake_clock_settle(&w->clock);
    assert_int_equal(w->pod_posts, 2);
    assert_int_equal(fake_api_do(&w->api, "PATCH", JOBS_PATH "/j",
                                 "{\"metadata\":{\"labels\":{\"a\":\"reason-to-look\"}}}"),
                     200);
    writes = w->api.writes;
    fake_clock_advance(&w->clock, 4000);
    assert_int_equal(w->pod_posts, 2);
    fake_clock_advance(&w->clock, 60000); /* it tries in vain: they exist, and are its own */
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
    assert_in_range(w->api.writes, writes, writes + 4); /* events at most */
    fake_api_release_watches(&w->api);
    fake_clock_advance(&w->clock, 10000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
    world_pod_phase(w, 0, "Running", 0);
    world_pod_phase(w, 1, "Running", 0);
    fake_clock_advance(&w->clock, 1000);
    assert_string_equal(world_phase(w, "j"), "Running");
}

/* The watch stalls, is opened anew, and never tells of the pod at all. */
static void pod_that_came_and_went_unseen_is_made_again(void **state)
{
    struct world *w = *state;

    world_start(w, CONTROL_JOBS);
    w->api.held_kind = &kind_pod;
    world_add_job(w, "j", 1, "Never");
    fake_clock_advance(&w->clock, 60000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 1);
    fake_api_pod_gone(&w->api, "d", object_name(world_pod(w, 0)));
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 0);
    fake_api_end_watches(&w->api, 0);
    w->api.held_kind = NULL;
    fake_clock_advance(&w->clock, 60000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 1);
}

/* On a cluster nobody has made the namespace that ports are leased in. */
static void missing_namespace_is_said(void **state)
{
    struct world *w = *state;

    strcpy(w->refused, "POST /namespaces/muster-system/leases");
    w->refusal = 404;
    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 2, "Never");
    fake_clock_advance(&w->clock, 1000);
    assert_non_null(strstr(json_string(json_at(world_job(w, "j"), "status", "message"), ""),
                           "a Lease of the job is refused: "));
    w->refused[0] = '\0';
    fake_clock_advance(&w->clock, 120000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
}

static void ports_are_leased_where_it_is_told(void **state)
{
    struct world *w = *state;

    strcpy(w->refused, "GET /namespaces/other/leases");
    w->refusal = 403;
    w->control = control_new(&(struct control_options){.transport = &w->api.transport,
                                                       .clock = &w->clock.clock,
                                                       .parts = CONTROL_JOBS,
                                                       .shared_network = true,
                                                       .lease_ns = "other"},
                             NULL);
    assert_non_null(w->control);
    world_add_job(w, "j", 2, "Never");
    fake_clock_advance(&w->clock, 60000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 0);
    assert_non_null(strstr(control_trouble(w->control), "made up quota"));
    w->refused[0] = '\0';
    fake_clock_advance(&w->clock, 30000);
    assert_null(control_trouble(w->control));
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
    map_for_each (node, &w->api.objects)
        if (strncmp(node->key, "leases.", 7) == 0)
            assert_non_null(strstr(node->key, "|other/"));
}

static void own_network_needs_no_lease(void **state)
{
    struct world *w = *state;

    strcpy(w->refused, "GET /leases");
    w->refusal = 403;
    world_start_on(w, CONTROL_JOBS, true);
    world_add_job(w, "j", 2, "Never");
    fake_clock_advance(&w->clock, 1000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
    assert_int_equal(fake_api_count(&w->api, &kind_lease), 0);
}

static void refused_pods_are_explained_and_asked_for_again(void **state)
{
    struct world *w = *state;

    strcpy(w->refused, "POST /pods");
    w->refusal = 403;
    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 2, "Never");
    fake_clock_advance(&w->clock, 60000);
    assert_string_equal(json_string(json_at(world_job(w, "j"), "status", "reason"), ""), "Refused");
    assert_string_equal(json_string(json_at(world_job(w, "j"), "status", "message"), ""),
                        "2 of 2 pods are refused: made up quota");
    assert_int_equal(fake_api_count(&w->api, &kind_event), 2); /* Created, Refused */
    w->refused[0] = '\0';
    fake_clock_advance(&w->clock, 20000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
    assert_string_equal(json_string(json_at(world_job(w, "j"), "status", "reason"), ""),
                        "Starting");
}

static const char *said(struct world *w, const char *member)
{
    return json_string(json_at(world_job(w, "j"), "status", member), "");
}

static void refused_pods_are_asked_for_ever_more_seldom(void **state)
{
    struct world *w = *state;
    unsigned writes;

    strcpy(w->refused, "POST /pods");
    w->refusal = 403;
    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 20, "Never");
    fake_clock_advance(&w->clock, 1000);
    assert_int_equal(w->pod_posts, 20);
    writes = w->api.writes;
    fake_clock_advance(&w->clock, 600 * 1000);
    assert_in_range(w->pod_posts, 24, 29); /* 5, 15, 35, 75, 155, 275, 395, 515 */
    assert_int_equal(w->api.writes, writes);
    /* Another's pod has gone. */
    w->refused[0] = '\0';
    fake_api_do(&w->api, "POST", "/api/v1/namespaces/d/pods",
                "{\"metadata\":{\"name\":\"x\"},\"spec\":{}}");
    fake_api_do(&w->api, "DELETE", "/api/v1/namespaces/d/pods/x", NULL);
    fake_clock_advance(&w->clock, 6000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 20);
    assert_string_equal(said(w, "reason"), "Starting");
}

static void refused_pods_of_a_job_that_was_changed_are_asked_for_at_once(void **state)
{
    struct world *w = *state;

    strcpy(w->refused, "POST /pods");
    w->refusal = 422;
    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 2, "Never");
    fake_clock_advance(&w->clock, 600 * 1000);
    w->refused[0] = '\0';
    assert_int_equal(
        fake_api_do(&w->api, "PATCH", JOBS_PATH "/j", "{\"metadata\":{\"generation\":2}}"), 200);
    fake_clock_advance(&w->clock, 1000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
}

/* Four that begin to run one after the other are one write. */
static void on_a_cluster_what_is_told_waits_for_more(void **state)
{
    struct world *w = *state;
    const char *before;

    world_start_on(w, CONTROL_JOBS, true);
    world_add_job(w, "j", 4, "Never");
    fake_clock_advance(&w->clock, 1000);
    assert_string_equal(world_phase(w, "j"), "Pending");
    before = object_resource_version(world_job(w, "j"));
    for (size_t i = 0; i < 4; i++) {
        fake_api_pod_phase(&w->api, "d", object_name(world_pod(w, i)), "Running", 0);
        fake_clock_advance(&w->clock, 100);
        assert_string_equal(object_resource_version(world_job(w, "j")), before);
    }
    fake_clock_advance(&w->clock, 200);
    assert_string_equal(world_phase(w, "j"), "Running");
    /* what is made for others goes before, for a while */
    w->api.latency_ms = 2000;
    world_add_job(w, "k", 1, "Never");
    fake_clock_advance(&w->clock, 2500); /* its pod is under way */
    fake_api_pod_phase(&w->api, "d", object_name(world_pod(w, 3)), "Pending", 0);
    before = object_resource_version(world_job(w, "j"));
    fake_clock_advance(&w->clock, 1200);
    assert_int_equal(w->api.in_flight, 1);
    w->api.latency_ms = 0;
    fake_clock_advance(&w->clock, 5000);
    assert_string_not_equal(object_resource_version(world_job(w, "j")), before);
    /* an end is told at once */
    fake_api_pod_phase(&w->api, "d", object_name(world_pod(w, 0)), "Succeeded", 0);
    fake_clock_settle(&w->clock);
    assert_string_equal(world_phase(w, "j"), "Succeeded");
}

static size_t count_told(struct world *w)
{
    size_t n = 0;

    for (char name[] = "a"; *name <= 'f'; (*name)++)
        n += strcmp(world_phase(w, name), "Running") == 0;
    return n;
}

/* What is made goes before what is told of it, but not for ever. */
static void on_a_cluster_jobs_are_told_of_in_turn_while_pods_are_made(void **state)
{
    struct world *w = *state;

    world_start_on(w, CONTROL_JOBS, true);
    for (char name[] = "a"; *name <= 'f'; (*name)++)
        world_add_job(w, name, 1, "Never");
    fake_clock_advance(&w->clock, 1000);
    w->api.latency_ms = 20000;
    world_add_job(w, "z", 1, "Never");
    fake_clock_advance(&w->clock, 20100); /* it has been read, and its pod is under way */
    w->api.latency_ms = 1000;
    for (size_t i = 0; i < 6; i++)
        fake_api_pod_phase(&w->api, "d", object_name(world_pod(w, i)), "Running", 0);
    fake_clock_advance(&w->clock, 4900);
    assert_int_equal(w->api.in_flight, 1);
    assert_int_equal(count_told(w), 0);
    for (int second = 0; second < 8; second++) {
        fake_clock_advance(&w->clock, 1000);
        assert_in_range(w->api.in_flight, 1, 2);
    }
    assert_in_range(count_told(w), 1, 5);
    fake_clock_advance(&w->clock, 10000); /* the pod is there */
    assert_int_equal(count_told(w), 6);
}

static void refused_pods_are_asked_for_at_once_when_a_quota_is_raised(void **state)
{
    static const char quotas[] = "/api/v1/namespaces/d/resourcequotas";
    struct world *w = *state;
    unsigned posts;

    strcpy(w->refused, "POST /pods");
    w->refusal = 403;
    world_start(w, CONTROL_JOBS);
    assert_int_equal(
        fake_api_do(&w->api, "POST", quotas,
                    "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{\"pods\":\"1\"}}}"),
        201);
    world_add_job(w, "j", 2, "Never");
    fake_clock_advance(&w->clock, 600 * 1000);
    posts = w->pod_posts;
    /* what is in use of it changes nothing */
    fake_api_do(&w->api, "PATCH", "/api/v1/namespaces/d/resourcequotas/q/status",
                "{\"status\":{\"used\":{\"pods\":\"1\"}}}");
    fake_clock_advance(&w->clock, 1000);
    assert_int_equal(w->pod_posts, posts);
    w->refused[0] = '\0';
    assert_int_equal(fake_api_do(&w->api, "PATCH", "/api/v1/namespaces/d/resourcequotas/q",
                                 "{\"spec\":{\"hard\":{\"pods\":\"9\"}}}"),
                     200);
    fake_clock_advance(&w->clock, 1000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
}

static void who_takes_over_goes_on_saying_what_is_refused(void **state)
{
    struct world *w = *state;
    unsigned posts;
    const char *version;

    strcpy(w->refused, "POST /pods");
    w->refusal = 403;
    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 4, "Never");
    fake_clock_advance(&w->clock, 60000);
    posts = w->pod_posts;
    version = object_resource_version(world_job(w, "j"));
    world_restart(w, CONTROL_JOBS);
    fake_clock_advance(&w->clock, 1000);
    assert_int_equal(w->pod_posts, posts + 1);
    assert_string_equal(said(w, "message"), "4 of 4 pods are refused: made up quota");
    assert_string_equal(object_resource_version(world_job(w, "j")), version);
}

static void two_jobs_have_two_ports_and_give_them_back(void **state)
{
    struct world *w = *state;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "a", 1, "Never");
    world_add_job(w, "b", 1, "Never");
    fake_clock_advance(&w->clock, 30000);
    assert_int_equal(fake_api_count(&w->api, &kind_lease), 2);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
    world_pod_phase(w, 0, "Succeeded", 0);
    fake_clock_settle(&w->clock);
    assert_int_equal(fake_api_do(&w->api, "DELETE", JOBS_PATH "/a", NULL), 200);
    fake_clock_settle(&w->clock);
    assert_int_equal(fake_api_count(&w->api, &kind_lease), 1);
}

/* Else the next job could be given the port while the old one's programs still listen on it. */
static void port_of_a_deleted_job_is_kept_while_its_pods_run(void **state)
{
    struct world *w = *state;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "a", 2, "Never");
    fake_clock_advance(&w->clock, 1000);
    world_pod_phase(w, 0, "Running", 0);
    world_pod_phase(w, 1, "Running", 0);
    fake_clock_advance(&w->clock, 1000);
    assert_int_equal(fake_api_do(&w->api, "DELETE", JOBS_PATH "/a", NULL), 200);
    world_pod_phase(w, 0, "Failed", 143);
    fake_clock_advance(&w->clock, 60000);
    assert_int_equal(fake_api_count(&w->api, &kind_lease), 1);
    world_pod_phase(w, 1, "Failed", 143);
    fake_clock_settle(&w->clock);
    assert_int_equal(fake_api_count(&w->api, &kind_lease), 0);
}

/* It creates no pods any more, and may stay so for ever. */
static void a_deleted_job_with_a_finalizer_keeps_its_group_while_its_pods_run(void **state)
{
    struct world *w = *state;
    const char *first, *second;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "a", 2, "Never");
    fake_clock_advance(&w->clock, 1000);
    assert_int_equal(fake_api_do(&w->api, "PATCH", JOBS_PATH "/a",
                                 "{\"metadata\":{\"finalizers\":[\"a.b/c\"]}}"),
                     200);
    assert_int_equal(fake_api_do(&w->api, "DELETE", JOBS_PATH "/a", NULL), 200);
    first = object_name(world_pod(w, 0));
    second = object_name(world_pod(w, 1));
    fake_api_pod_gone(&w->api, "d", first);
    fake_clock_advance(&w->clock, 10000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod_group), 1);
    fake_api_pod_gone(&w->api, "d", second);
    fake_clock_advance(&w->clock, 10000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod_group), 0);
    assert_non_null(world_job(w, "a"));
}

static void port_of_a_job_deleted_while_nobody_looked(void **state)
{
    struct world *w = *state;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "a", 1, "Never");
    fake_clock_advance(&w->clock, 1000);
    control_free(w->control);
    w->control = NULL;
    world_pod_phase(w, 0, "Failed", 143);
    assert_int_equal(fake_api_do(&w->api, "DELETE", JOBS_PATH "/a", NULL), 200);
    assert_int_equal(fake_api_count(&w->api, &kind_lease), 1);
    world_start(w, CONTROL_JOBS);
    fake_clock_settle(&w->clock);
    assert_int_equal(fake_api_count(&w->api, &kind_lease), 0);
}

static void deadline_is_kept_without_any_event(void **state)
{
    struct world *w = *state;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 1, "Never");
    assert_int_equal(fake_api_do(&w->api, "PATCH", JOBS_PATH "/j",
                                 "{\"spec\":{\"runPolicy\":{\"activeDeadlineSeconds\":20}}}"),
                     200);
    fake_clock_advance(&w->clock, 1000);
    world_pod_phase(w, 0, "Running", 0);
    fake_clock_advance(&w->clock, 15000);
    assert_string_equal(world_phase(w, "j"), "Running");
    fake_clock_advance(&w->clock, 10000);
    assert_string_equal(world_phase(w, "j"), "Failed");
}

/* The wall clock is set; what waits goes on waiting as long as it would have. */
static void set_clock(struct world *w, int64_t by_ms)
{
    w->clock.now_ms += by_ms;
    for (struct clock_timer *t = w->clock.timers; t; t = t->next)
        t->due_ms += by_ms;
}

static void deadline_is_kept_after_a_clock_was_set_back_and_right_again(void **state)
{
    struct world *w = *state;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 1, "Never");
    assert_int_equal(fake_api_do(&w->api, "PATCH", JOBS_PATH "/j",
                                 "{\"spec\":{\"runPolicy\":{\"activeDeadlineSeconds\":60}}}"),
                     200);
    fake_clock_advance(&w->clock, 1000);
    world_pod_phase(w, 0, "Running", 0);
    fake_clock_advance(&w->clock, 1000);
    set_clock(w, -7200 * 1000);
    world_restart(w, CONTROL_JOBS); /* looks, and finds two hours left */
    set_clock(w, 7200 * 1000);
    fake_clock_advance(&w->clock, 10 * 60 * 1000);
    assert_string_equal(world_phase(w, "j"), "Failed");
}

/* The cache says it runs; it has finished, and its end is not to be lost. */
static void clean_up_of_the_unfinished_spares_a_pod_that_finished_unseen(void **state)
{
    struct world *w = *state;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 2, "Never");
    fake_clock_advance(&w->clock, 1000);
    world_pod_phase(w, 0, "Running", 0);
    world_pod_phase(w, 1, "Running", 0);
    fake_clock_advance(&w->clock, 10000);
    assert_int_equal(fake_api_do(&w->api, "PATCH", JOBS_PATH "/j",
                                 "{\"spec\":{\"runPolicy\":{\"activeDeadlineSeconds\":20}}}"),
                     200);
    w->api.held_kind = &kind_pod;
    world_pod_phase(w, 1, "Failed", 3);
    fake_clock_advance(&w->clock, 30000);
    assert_string_equal(world_phase(w, "j"), "Failed");
    fake_api_release_watches(&w->api);
    fake_clock_advance(&w->clock, 30000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 1);
    assert_string_equal(json_string(json_at(world_pod(w, 0), "status", "phase"), ""), "Failed");
}

static void foreign_pod_with_our_name_is_left_alone(void **state)
{
    struct world *w = *state;
    char *name, *path;

    world_start(w, CONTROL_JOBS);
    world_add_job(w, "j", 1, "Never");
    fake_clock_advance(&w->clock, 1000);
    name = arena_strdup(&w->arena, object_name(world_pod(w, 0)));
    path = arena_printf(&w->arena, "/api/v1/namespaces/d/pods/%s", name);
    control_free(w->control);
    w->control = NULL;
    assert_int_equal(fake_api_do(&w->api, "DELETE", path, NULL), 200);
    assert_int_equal(
        fake_api_do(&w->api, "POST", "/api/v1/namespaces/d/pods",
                    arena_printf(&w->arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{}}", name)),
        201);
    world_start(w, CONTROL_JOBS);
    fake_clock_advance(&w->clock, 60000);
    assert_null(object_controller(world_pod(w, 0)));
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 1);
    /* Once it is gone the job goes on, though nobody tells it. */
    assert_int_equal(fake_api_do(&w->api, "DELETE", path, NULL), 200);
    fake_clock_advance(&w->clock, 30000);
    assert_true(object_is_controlled_by(world_pod(w, 0), object_uid(world_job(w, "j"))));
}

static void refused_writes_are_tried_again_with_patience(void **state)
{
    struct world *w = *state;

    world_start(w, CONTROL_JOBS);
    strcpy(w->refused, "POST /pods");
    w->refusal = 429;
    world_add_job(w, "j", 1, "Never");
    fake_clock_advance(&w->clock, 60000);
    assert_in_range(w->pod_posts, 5, 40);
    w->refused[0] = '\0';
    fake_clock_advance(&w->clock, 60000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 1);
}

/* Every turn of the controllers' work may be their last. */
static void killed_at_any_moment_it_never_charges_twice(void **state)
{
    (void)state;
    for (int turns = 1; turns < 60; turns++) {
        struct world *w;
        void *fresh;

        world_set_up(&fresh);
        w = fresh;
        world_start(w, CONTROL_JOBS);
        world_add_job(w, "j", 2, "OnFailure");
        fake_clock_advance(&w->clock, 1000);
        world_pod_phase(w, 0, "Running", 0);
        world_pod_phase(w, 1, "Failed", 1);
        for (int i = 0; i < turns && fake_clock_turn(&w->clock); i++)
            ;
        world_restart(w, CONTROL_JOBS);
        fake_clock_advance(&w->clock, 20000);
        assert_int_equal(json_int(json_at(world_job(w, "j"), "status", "backoffCount"), 0), 1);
        assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
        assert_string_equal(json_string(json_at(world_pod(w, 1), "status", "phase"), ""),
                            "Pending");
        world_tear_down(&fresh);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(job_gets_its_children_and_then_there_is_peace),
        WORLD_TEST(pods_are_followed),
        WORLD_TEST(the_end_of_a_pod_that_is_gone_counts),
        WORLD_TEST(an_end_during_an_eviction_counts_however_often_we_are_killed),
        WORLD_TEST(ended_jobs_are_looked_at_after_a_restart),
        WORLD_TEST(nobody_waits_for_a_job_that_is_gone),
        WORLD_TEST(failed_pod_is_replaced_once),
        WORLD_TEST(nothing_is_decided_before_everything_is_known),
        WORLD_TEST(late_cache_does_not_make_it_create_again),
        WORLD_TEST(pod_that_came_and_went_unseen_is_made_again),
        WORLD_TEST(refused_pods_are_explained_and_asked_for_again),
        WORLD_TEST(refused_pods_are_asked_for_ever_more_seldom),
        WORLD_TEST(refused_pods_of_a_job_that_was_changed_are_asked_for_at_once),
        WORLD_TEST(on_a_cluster_what_is_told_waits_for_more),
        WORLD_TEST(on_a_cluster_jobs_are_told_of_in_turn_while_pods_are_made),
        WORLD_TEST(refused_pods_are_asked_for_at_once_when_a_quota_is_raised),
        WORLD_TEST(who_takes_over_goes_on_saying_what_is_refused),
        WORLD_TEST(missing_namespace_is_said),
        WORLD_TEST(ports_are_leased_where_it_is_told),
        WORLD_TEST(own_network_needs_no_lease),
        WORLD_TEST(two_jobs_have_two_ports_and_give_them_back),
        WORLD_TEST(port_of_a_deleted_job_is_kept_while_its_pods_run),
        WORLD_TEST(a_deleted_job_with_a_finalizer_keeps_its_group_while_its_pods_run),
        WORLD_TEST(port_of_a_job_deleted_while_nobody_looked),
        WORLD_TEST(deadline_is_kept_without_any_event),
        WORLD_TEST(deadline_is_kept_after_a_clock_was_set_back_and_right_again),
        WORLD_TEST(clean_up_of_the_unfinished_spares_a_pod_that_finished_unseen),
        WORLD_TEST(foreign_pod_with_our_name_is_left_alone),
        WORLD_TEST(refused_writes_are_tried_again_with_patience),
        cmocka_unit_test(killed_at_any_moment_it_never_charges_twice),
    };

    return cmocka_run_group_tests_name("control/jobs", tests, NULL, NULL);
}
