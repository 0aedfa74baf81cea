/*
 * cost.c - what a decision costs: by the size of the job, and by what else is there.
 *
 * First the core alone: one look at a job of N replicas, when it is new, when nothing changed and
 * when one pod did. Then the controllers on an API in memory: one pod's change, among few and among
 * many finished jobs. Times depend on the machine; the ratios should not.
 *
 *   cost [FINISHED-JOBS]      (10,000 when not given)
 */
#include <string.h>

#include "base/log.h"
#include "control/control.h"
#include "control/fake_api.h"
#include "core/job.h"
#include "measure.h"

#define NS "default"
#define LOOKS 20
#define CHANGES 101
#define FEW_JOBS 10
#define MANY_JOBS 10000

static const char *job_text(struct arena *a, const char *name, const char *uid, int replicas,
                            const char *status)
{
    return must(arena_printf(
        a,
        "{\"apiVersion\":\"batch.tensorstack.dev/v1beta1\",\"kind\":\"PyTorchTrainingJob\","
        "\"metadata\":{\"name\":\"%s\",\"namespace\":\"" NS "\",\"uid\":\"%s\",\"generation\":1,"
        "\"resourceVersion\":\"1\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},"
        "\"spec\":{\"replicaSpecs\":[{\"type\":\"worker\",\"replicas\":%d,\"restartPolicy\":"
        "\"OnFailure\",\"template\":{\"spec\":{\"containers\":[{\"name\":\"python\",\"image\":"
        "\"x\","
        "\"command\":[\"python\",\"train.py\"],\"resources\":{\"requests\":{\"cpu\":\"1m\"}}}]}}}]}"
        "%s}",
        name, uid, replicas, status));
}

/* --- the core alone --------------------------------------------------------------------------- */

/* A job and its children, as plans make them. */
struct scene {
    struct arena arena;
    struct json *job, *lease;
    const struct json **pods, **services;
    size_t pods_len, services_len;
};

static struct job_snapshot snapshot_of(struct scene *s)
{
    return (struct job_snapshot){.job = s->job,
                                 .pods = s->pods,
                                 .pods_len = s->pods_len,
                                 .services = s->services,
                                 .services_len = s->services_len,
                                 .leases = (const struct json *const *)&s->lease,
                                 .leases_len = s->lease != NULL,
                                 .shared_network = true,
                                 .now_ms = INT64_C(1800000000000)};
}

static void set_phase(struct scene *s, struct json *pod, const char *phase)
{
    struct json *status = json_make_object(&s->arena, pod, "status");
    struct json *item = json_append(json_make_array(&s->arena, status, "containerStatuses"),
                                    json_new_object(&s->arena));

    json_set_string(&s->arena, status, "phase", phase);
    json_set_string(&s->arena, item, "name", "python");
    json_make_object(&s->arena, json_make_object(&s->arena, item, "state"), "running");
}

/* Does what a plan says; true when it said anything. */
static bool carry_out(struct scene *s, const struct plan *plan)
{
    for (const struct plan_step *step = plan->first; step; step = step->next) {
        struct json *object = step->object ? must(json_clone(&s->arena, step->object)) : NULL;

        if (step->op == PLAN_UPDATE_STATUS) {
            s->job = object;
        } else if (step->op == PLAN_CREATE && step->kind == &kind_pod) {
            json_set_stringf(&s->arena, json_get_mut(object, "metadata"), "uid", "pod-%zu",
                             s->pods_len);
            set_phase(s, object, "Running");
            s->pods[s->pods_len++] = object;
        } else if (step->op == PLAN_CREATE && step->kind == &kind_service) {
            s->services[s->services_len++] = object;
        } else if (step->op == PLAN_CREATE) {
            s->lease = object;
        }
    }
    return plan->first;
}

/* The time of one look, the plan thrown away; the best of several. */
static double time_look(struct scene *s)
{
    struct job_snapshot snapshot = snapshot_of(s);
    double best = 0;

    for (int i = 0; i < LOOKS; i++) {
        struct arena a = ARENA_INIT((size_t)1 << 30);
        struct plan plan;
        double begin = now_us(), took;

        plan_init(&plan, &a);
        job_kinds[0]->reconcile(&snapshot, &plan);
        took = now_us() - begin;
        if (i == 0 || took < best)
            best = took;
        arena_release(&a);
    }
    return best;
}

static void settle(struct scene *s, int looks)
{
    while (looks-- > 0) {
        struct job_snapshot snapshot = snapshot_of(s);
        struct plan plan;

        plan_init(&plan, &s->arena);
        job_kinds[0]->reconcile(&snapshot, &plan);
        if (!carry_out(s, &plan))
            return;
    }
}

static double time_replicas(int replicas, double ret[3])
{
    struct scene s = {.arena = ARENA_INIT((size_t)2 << 30)};
    const char *text = job_text(&s.arena, "cost", "cost-uid", replicas, "");
    size_t room = (size_t)replicas + 1;

    s.pods = must(calloc(room, sizeof(*s.pods)));
    s.services = must(calloc(room, sizeof(*s.services)));
    s.job = must(json_parse(&s.arena, text, strlen(text), NULL));
    settle(&s, 1); /* the lease */
    ret[0] = time_look(&s);
    settle(&s, 100);
    ret[1] = time_look(&s);
    set_phase(&s, (struct json *)(uintptr_t)s.pods[s.pods_len - 1], "Failed");
    ret[2] = time_look(&s);
    free(s.pods);
    free(s.services);
    arena_release(&s.arena);
    return ret[0];
}

static void print_core(void)
{
    static const int sizes[] = {10, 100, 1000, 10000};

    (void)printf("one look of the core, microseconds (per replica)\n");
    (void)printf("%10s %20s %20s %20s\n", "replicas", "makes all pods", "nothing changed",
                 "one pod failed");
    for (size_t i = 0; i < ELEMS(sizes); i++) {
        double t[3], n = sizes[i];

        (void)time_replicas(sizes[i], t);
        (void)printf("%10d %12.0f (%5.2f) %12.0f (%5.2f) %12.0f (%5.2f)\n", sizes[i], t[0],
                     t[0] / n, t[1], t[1] / n, t[2], t[2] / n);
    }
}

/* --- among finished jobs ---------------------------------------------------------------------- */

/* Straight into the API's memory: no events, as if it had been there long before we came. */
static void store(struct fake_api *f, const struct kind *k, const char *name, const char *text)
{
    char key[640];

    if (map_puts(&f->objects, fake_key(key, k, NS, name), must(strdup(text)), NULL) < 0)
        (void)must(NULL);
}

static void add_finished(struct fake_api *f, int number)
{
    struct arena a = ARENA_INIT(1u << 20);
    const char *name = must(arena_printf(&a, "old-%d", number));
    const char *uid = must(arena_printf(&a, "old-uid-%d", number));

    store(
        f, &kind_pytorch_training_job, name,
        job_text(&a, name, uid, 1,
                 ",\"status\":{\"phase\":\"Succeeded\",\"completionTime\":\"2026-01-01T00:00:00Z\","
                 "\"backoffCount\":0,\"observedGeneration\":1}"));
    for (int i = 0; i < 4; i++) {
        const char *pod = must(arena_printf(&a, "%s-00000-worker-%d", name, i));

        store(
            f, &kind_pod, pod,
            must(arena_printf(
                &a,
                "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"" NS "\",\"uid\":\"%s-uid\","
                "\"resourceVersion\":\"2\",\"ownerReferences\":[{\"apiVersion\":\"batch."
                "tensorstack.dev/v1beta1\",\"kind\":\"PyTorchTrainingJob\",\"name\":\"%s\",\"uid\":"
                "\"%s\",\"controller\":true}]},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{"
                "\"name\":\"python\"}]},\"status\":{\"phase\":\"Succeeded\"}}",
                pod, pod, name, uid)));
    }
    arena_release(&a);
}

struct stage {
    struct fake_clock clock;
    struct fake_api api;
    struct control *control;
};

static void stage_open(struct stage *s, int finished)
{
    fake_clock_init(&s->clock);
    fake_api_init(&s->api, &s->clock);
    (void)fake_api_do(
        &s->api, "POST", "/api/v1/nodes",
        "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":{\"cpu\":\"64\"},"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    for (int i = 0; i < finished; i++)
        add_finished(&s->api, i);
    s->control = must(control_new(
        &(struct control_options){.transport = &s->api.transport,
                                  .clock = &s->clock.clock,
                                  .parts = CONTROL_JOBS | CONTROL_SCHEDULER | CONTROL_GC,
                                  .shared_network = true},
        NULL));
    fake_clock_advance(&s->clock, 60000);
}

static void stage_close(struct stage *s)
{
    control_free(s->control);
    transport_free(&s->api.transport);
    fake_clock_release(&s->clock);
}

/* One job from its creation until all its pods are placed, and then a pod's change: the median, for
 * the machine has other things to do. */
static void time_stage(int finished, double *ret_submit, double *ret_change)
{
    struct arena a = ARENA_INIT(1u << 24);
    double begin, times[CHANGES];
    struct stage s;

    stage_open(&s, finished);
    begin = now_us();
    (void)fake_api_do(&s.api, "POST",
                      "/apis/batch.tensorstack.dev/v1beta1/namespaces/" NS "/pytorchtrainingjobs",
                      job_text(&a, "live", "live-uid", 4, ""));
    fake_clock_advance(&s.clock, 1000);
    *ret_submit = now_us() - begin;
    for (int i = 0; i < CHANGES; i++) {
        const char *pod = NULL;

        map_for_each (node, &s.api.objects) {
            if (strncmp(node->key, "pods.|" NS "/live-", 11 + strlen(NS)) == 0)
                pod = node->key + 7 + strlen(NS);
            if (strncmp(node->key, "pods.|" NS "/old-", 10 + strlen(NS)) == 0)
                break;
        }
        if (!pod) {
            (void)fprintf(stderr, "cost: the job has no pods\n");
            exit(1);
        }
        begin = now_us();
        fake_api_pod_phase(&s.api, NS, pod, i % 2 ? "Pending" : "Running", 0);
        fake_clock_advance(&s.clock, 1000);
        times[i] = now_us() - begin;
    }
    *ret_change = median(times, CHANGES);
    stage_close(&s);
    arena_release(&a);
}

static void print_stage(int many)
{
    double few_submit, few_change, many_submit, many_change;

    time_stage(FEW_JOBS, &few_submit, &few_change);
    time_stage(many, &many_submit, &many_change);
    (void)printf("\njobs, scheduler and garbage collector on an API in memory, microseconds\n");
    (void)printf("%20s %22s %22s\n", "finished jobs", "a job of 4 is placed", "a pod's change");
    (void)printf("%20d %22.0f %22.0f\n", FEW_JOBS, few_submit, few_change);
    (void)printf("%20d %22.0f %22.0f\n", many, many_submit, many_change);
    (void)printf("%20s %22.2f %22.2f\n", "ratio", many_submit / few_submit,
                 many_change / few_change);
}

int main(int argc, char **argv)
{
    log_set_level(LOG_LEVEL_ERROR);
    print_core();
    print_stage(argc > 1 ? (int)strtol(argv[1], NULL, 10) : MANY_JOBS);
    return 0;
}
