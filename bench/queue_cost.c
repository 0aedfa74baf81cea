/*
 * queue_cost.c - what a decision of the scheduler costs with many groups waiting on many nodes:
 * when one group has ended, when one has come, when nothing has changed. The ledger alone, no API.
 *
 *   queue_cost [NODES [GROUPS]]      (1,000 and 10,000 when not given)
 */
#include <inttypes.h>
#include <string.h>

#include "api/object.h"
#include "core/schedule.h"
#include "measure.h"

#define DECISIONS 101
#define QUEUES 30
#define CPUS_PER_NODE 16
#define RUNNING_PER_NODE 4
#define LIMIT_BYTES ((size_t)8 << 30)

struct scene {
    struct arena arena;
    struct map objects; /* "Kind/ns/name" -> struct json */
    struct ledger *ledger;
    int64_t revision;
};

static const struct json *find(void *arg, const struct kind *k, const char *ns, const char *name)
{
    struct scene *s = arg;
    char key[300];

    (void)snprintf(key, sizeof(key), "%s/%s/%s", k->name, ns, name);
    return map_gets(&s->objects, key);
}

static void put_object(struct scene *s, const struct kind *k, struct json *o)
{
    char key[300];

    (void)snprintf(key, sizeof(key), "%s/%s/%s", k->name, object_namespace(o), object_name(o));
    if (map_puts(&s->objects, key, o, NULL) < 0)
        exit(1);
}

static const struct json *put(struct scene *s, const struct kind *k, const char *text)
{
    struct json *o = must(json_parse(&s->arena, must((void *)(uintptr_t)text), strlen(text), NULL));

    json_set_stringf(&s->arena, json_make_object(&s->arena, o, "metadata"), "resourceVersion",
                     "%" PRId64, ++s->revision);
    put_object(s, k, o);
    return o;
}

static void add_group(struct scene *s, int number, int cpus, int node)
{
    char bound[64] = "";

    if (node >= 0)
        (void)snprintf(bound, sizeof(bound), "\"nodeName\":\"n%04d\",", node);
    ledger_group(s->ledger,
                 put(s, &kind_pod_group,
                     arena_printf(&s->arena,
                                  "{\"metadata\":{\"name\":\"g%d\",\"namespace\":\"d\","
                                  "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{"
                                  "\"queue\":\"q%d\",\"minMember\":1,\"members\":1}}",
                                  number, number % QUEUES)),
                 false);
    ledger_pod(s->ledger,
               put(s, &kind_pod,
                   arena_printf(&s->arena,
                                "{\"metadata\":{\"name\":\"g%d-0\",\"namespace\":\"d\",\"labels\":{"
                                "\"" LABEL_GROUP_NAME "\":\"g%d\"}},\"spec\":{%s\"containers\":[{"
                                "\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]}}",
                                number, number, bound, cpus)),
               false);
}

static void end_group(struct scene *s, int number)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "g%d", number);
    ledger_group(s->ledger, find(s, &kind_pod_group, "d", name), true);
    (void)snprintf(name, sizeof(name), "g%d-0", number);
    ledger_pod(s->ledger, find(s, &kind_pod, "d", name), true);
}

static void set_up(struct scene *s, int nodes, int groups)
{
    arena_init(&s->arena, LIMIT_BYTES);
    s->ledger = must(ledger_new(find, s, false));
    put(s, &kind_namespace, "{\"metadata\":{\"name\":\"d\",\"labels\":{\"a\":\"b\"}}}");
    for (int i = 0; i < QUEUES; i++)
        ledger_queue(s->ledger,
                     put(s, &kind_queue,
                         arena_printf(&s->arena,
                                      "{\"metadata\":{\"name\":\"q%d\",\"namespace\":"
                                      "\"" QUEUE_NAMESPACE "\"},\"spec\":{\"priority\":%d,"
                                      "\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}}}}",
                                      i, i % 3)),
                     false);
    for (int i = 0; i < nodes; i++)
        ledger_node(s->ledger,
                    put(s, &kind_node,
                        arena_printf(&s->arena,
                                     "{\"metadata\":{\"name\":\"n%04d\"},\"status\":{\"capacity\":{"
                                     "\"cpu\":\"%d\",\"memory\":\"64Gi\"},\"conditions\":[{"
                                     "\"type\":\"Ready\",\"status\":\"True\"}]}}",
                                     i, CPUS_PER_NODE)),
                    false);
    for (int i = 0; i < nodes * RUNNING_PER_NODE; i++) /* of the highest queue: none is evicted */
        add_group(s, i * QUEUES + 2, CPUS_PER_NODE / RUNNING_PER_NODE, i / RUNNING_PER_NODE);
    for (int i = 0; i < groups; i++)
        add_group(s, 1000000 + i, 3 + i % 14, -1);
}

static void carry_out(struct scene *s, const struct plan_step *step)
{
    struct json *o;

    if (step->op == PLAN_UPDATE_STATUS) {
        o = json_clone(&s->arena, step->object);
        json_set_stringf(&s->arena, json_get_mut(o, "metadata"), "resourceVersion", "%" PRId64,
                         ++s->revision);
        put_object(s, step->kind, o);
        if (step->kind == &kind_pod_group)
            ledger_group(s->ledger, o, false);
    } else if (step->op == PLAN_BIND) {
        o = json_clone(&s->arena, find(s, &kind_pod, step->ns, step->name));
        json_set_string(&s->arena, json_get_mut(o, "spec"), "nodeName",
                        json_string(json_at(step->object, "target", "name"), ""));
        put_object(s, &kind_pod, o);
        ledger_pod(s->ledger, o, false);
    } else if (step->op == PLAN_PATCH) {
        o = json_clone(&s->arena, find(s, &kind_pod, step->ns, step->name));
        json_set(&s->arena, o, "status", json_clone(&s->arena, json_get(step->object, "status")));
        put_object(s, &kind_pod, o);
        ledger_pod(s->ledger, o, false);
    }
}

static double decide(struct scene *s, int64_t *ret_binds)
{
    struct arena a = ARENA_INIT(LIMIT_BYTES);
    double begin = now_us();
    struct plan plan;

    plan_init(&plan, &a);
    schedule(s->ledger, INT64_C(1800000000000), &plan);
    begin = now_us() - begin;
    *ret_binds = 0;
    for (const struct plan_step *step = plan.first; step; step = step->next) {
        *ret_binds += step->op == PLAN_BIND;
        carry_out(s, step);
    }
    arena_release(&a);
    return begin;
}

static void say(const char *what, double *took)
{
    double middle = median(took, DECISIONS);

    (void)printf("  %-44s %8.2f ms (p99 %.2f ms)\n", what, middle / 1000,
                 took[DECISIONS * 99 / 100] / 1000);
}

int main(int argc, char **argv)
{
    int nodes = argc > 1 ? atoi(argv[1]) : 1000, groups = argc > 2 ? atoi(argv[2]) : 10000;
    struct scene s = {.revision = 0};
    double took[DECISIONS];
    int64_t binds, all = 0;

    set_up(&s, nodes, groups);
    (void)printf("A decision with %d groups waiting in %d queues on %d nodes:\n", groups, QUEUES,
                 nodes);
    (void)printf("  %-44s %8.2f ms\n", "the first of a new scheduler", decide(&s, &binds) / 1000);
    for (int i = 0; i < DECISIONS; i++) {
        end_group(&s, i * QUEUES + 2);
        took[i] = decide(&s, &binds);
        all += binds;
    }
    say("one group has ended", took);
    for (int i = 0; i < DECISIONS; i++) {
        add_group(&s, 5000000 + i, 3, -1);
        took[i] = decide(&s, &binds);
    }
    say("one group has come", took);
    for (int i = 0; i < DECISIONS; i++)
        took[i] = decide(&s, &binds);
    say("nothing has changed", took);
    (void)printf("  bindings: %" PRId64 "\n", all);
    ledger_free(s.ledger);
    map_release(&s.objects, NULL);
    arena_release(&s.arena);
    return 0;
}
