/*
 * cost_test.c - a change of one job has that job looked at, and nothing else, however much is
 * there. Counts, not times: the list of job kinds and the scheduler's core are put in here, and
 * tell what they were shown.
 */
#include <stdio.h>
#include <string.h>

#include "control/world.h"
#include "core/job.h"
#include "core/schedule.h"

#define OTHERS 300

static struct {
    unsigned looks, schedules;
    size_t most_pods, most_services, most_leases, most_scheduled;
    const char *only; /* the job that may be looked at; NULL: any */
} seen;

static void look_and_tell(const struct job_snapshot *s, struct plan *plan)
{
    seen.looks++;
    seen.most_pods = s->pods_len > seen.most_pods ? s->pods_len : seen.most_pods;
    seen.most_services = s->services_len > seen.most_services ? s->services_len
                                                              : seen.most_services;
    seen.most_leases = s->leases_len > seen.most_leases ? s->leases_len : seen.most_leases;
    if (seen.only)
        assert_string_equal(object_name(s->job), seen.only);
    job_kind_pytorch.reconcile(s, plan);
}

static void names(struct arena *a, const struct json *job, void (*say)(void *arg, const char *name),
                  void *arg)
{
    job_kind_pytorch.wanted_names(a, job, say, arg);
}

static const struct job_kind telling = {
    .kind = &kind_pytorch_training_job, .reconcile = look_and_tell, .wanted_names = names};

/* Instead of core/job.c's. */
const struct job_kind *const job_kinds[] = {&telling, NULL};
const struct job_kind *const batch_kinds[] = {NULL};

bool job_is_kind(const struct kind *k)
{
    return k == telling.kind;
}

/* Instead of core/schedule.c's: places nothing, and counts what it was told of. */
void schedule(struct ledger *l, int64_t now_ms, struct plan *plan)
{
    size_t told = 0;

    (void)now_ms;
    (void)plan;
    for (const struct group *g = l->dirty; g; g = g->next_dirty)
        told++;
    ledger_settle(l);
    while (l->dirty) {
        l->dirty->dirty = false;
        l->dirty = l->dirty->next_dirty;
    }
    seen.schedules++;
    seen.most_scheduled = told > seen.most_scheduled ? told : seen.most_scheduled;
}

static void put(struct world *w, const struct kind *k, const char *ns, const char *name,
                const char *text)
{
    char key[640];

    assert_int_equal(map_puts(&w->api.objects, fake_key(key, k, ns, name), strdup(text), NULL), 0);
}

/* A job of two replicas with its pods, straight into the API's memory. */
static void put_job(struct world *w, int number, const char *phase, const char *pod_phase)
{
    const char *name = arena_printf(&w->arena, "other-%d", number);

    put(w, &kind_pytorch_training_job, "d", name,
        arena_printf(
            &w->arena,
            "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\",\"uid\":\"%s-uid\",\"generation\":"
            "1,"
            "\"resourceVersion\":\"1\"},\"spec\":{\"runPolicy\":{\"cleanUpPolicy\":\"None\"},"
            "\"replicaSpecs\":[{\"type\":\"worker\","
            "\"replicas\":2,"
            "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}}]},\"status\":{\"phase\":"
            "\"%s\",\"masterPort\":%d}}",
            name, name, phase, 20000 + number));
    for (int i = 0; i < 2; i++) {
        const char *pod = arena_printf(&w->arena, "%s-pod-%d", name, i);

        put(w, &kind_pod, "d", pod,
            arena_printf(
                &w->arena,
                "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\",\"uid\":\"%s-uid\","
                "\"resourceVersion\":\"2\",\"ownerReferences\":[{\"apiVersion\":\"batch."
                "tensorstack."
                "dev/v1beta1\",\"kind\":\"PyTorchTrainingJob\",\"name\":\"%s\",\"uid\":\"%s-uid\","
                "\"controller\":true}]},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":"
                "\"c\"}]},"
                "\"status\":{\"phase\":\"%s\"}}",
                pod, pod, name, name, pod_phase));
    }
}

static void put_lease(struct world *w, int number)
{
    const char *name = arena_printf(&w->arena, "master-port-%d", 20000 + number);

    put(w, &kind_lease, "muster-system", name,
        arena_printf(
            &w->arena,
            "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"muster-system\",\"uid\":\"%s\","
            "\"resourceVersion\":\"3\",\"labels\":{\"batch.tensorstack.dev/job-uid\":"
            "\"other-%d-uid\"}},\"spec\":{\"holderIdentity\":\"d/other-%d\"}}",
            name, name, number, number));
}

/* The watched job is there and all is quiet; counting begins. */
static void begin(struct world *w)
{
    world_add_node(w, "n1", 4);
    memset(&seen, 0, sizeof(seen));
    world_start(w, CONTROL_JOBS | CONTROL_SCHEDULER | CONTROL_GC);
    world_add_job(w, "mine", 3, "Never");
    fake_clock_advance(&w->clock, 120000);
    memset(&seen, 0, sizeof(seen));
    seen.only = "mine";
}

static const char *my_pod(struct world *w)
{
    const struct json *tasks = json_at(world_job(w, "mine"), "status", "tasks");

    return json_string(json_at(json_first(json_get(json_first(tasks), "replicas")), "name"), "");
}

static void finished_jobs_cost_nothing(void **state)
{
    struct world *w = *state;

    for (int i = 0; i < OTHERS; i++)
        put_job(w, i, "Succeeded", "Succeeded");
    begin(w);
    fake_api_pod_phase(&w->api, "d", my_pod(w), "Running", 0);
    fake_clock_advance(&w->clock, 1000);
    assert_string_equal(world_phase(w, "mine"), "Running");
    assert_in_range(seen.looks, 1, 3);
    assert_int_equal(seen.most_pods, 3);
    assert_int_equal(seen.most_services, 3);
    assert_int_equal(seen.most_leases, 1);
    assert_in_range(seen.schedules, 1, 3);
    assert_int_equal(seen.most_scheduled, 1); /* the group that changed */
}

/* They have ended but run on and keep their ports. */
static void running_pods_of_others_cost_nothing(void **state)
{
    struct world *w = *state;

    for (int i = 0; i < OTHERS; i++) {
        put_job(w, i, "Failed", "Running");
        put_lease(w, i);
    }
    begin(w);
    fake_api_pod_phase(&w->api, "d", my_pod(w), "Running", 0);
    fake_clock_advance(&w->clock, 1000);
    assert_in_range(seen.looks, 1, 3);
    assert_int_equal(seen.most_leases, 1);
    assert_int_equal(seen.most_pods, 3);
    assert_int_equal(seen.most_scheduled, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(finished_jobs_cost_nothing),
        WORLD_TEST(running_pods_of_others_cost_nothing),
    };

    return cmocka_run_group_tests_name("control cost", tests, NULL, NULL);
}
