/* schedule_test.c - gangs, order, GPUs, and the sentences waiting pods are told. */
#include "core/schedule.h"
#include "world.h"

#define PODS_LIMIT 32

/* A cluster: nodes and pods, changed by the plans made over it. */
struct cluster {
    struct arena arena;
    const struct json *pods[PODS_LIMIT], *nodes[4];
    size_t pods_len, nodes_len;
    bool overcommit;
    int64_t revision;
};

static void cluster_init(struct cluster *c)
{
    *c = (struct cluster){0};
    arena_init(&c->arena, WORLD_LIMIT_BYTES);
}

static void add_node_text(struct cluster *c, const char *text)
{
    c->nodes[c->nodes_len++] = parse(&c->arena, text);
}

static void add_node(struct cluster *c, const char *name, int cpu, int memory_gi, int gpus)
{
    add_node_text(c, arena_printf(&c->arena,
                                  "{'metadata':{'name':'%s','labels':{'disk':'%s'}},'status':{"
                                  "'capacity':{'cpu':'%d','memory':'%dGi','nvidia.com/gpu':%d},"
                                  "'conditions':[{'type':'Ready','status':'True'}]}}",
                                  name, name, cpu, memory_gi, gpus));
}

/* owner "" is a pod by itself; age in seconds orders the owners. */
static void add_pod(struct cluster *c, const char *owner, const char *name, int age, int min_member,
                    const char *requests)
{
    char *ref = arena_printf(&c->arena,
                             "'ownerReferences':[{'controller':true,'name':'%s','uid':'u-%s'}],",
                             owner, owner);
    char *text = arena_printf(
        &c->arena,
        "{'metadata':{'name':'%s','namespace':'ns','uid':'pod-%s','resourceVersion':'1',%s"
        "'creationTimestamp':'2026-01-01T00:00:%02dZ','annotations':{'%s':'%d'}},"
        "'spec':{'containers':[{'resources':{'requests':%s}}]}}",
        name, name, *owner ? ref : "", 59 - age, ANNOTATION_MIN_MEMBER, min_member, requests);

    c->pods[c->pods_len++] = parse(&c->arena, text);
}

static struct json *pod_mut(struct cluster *c, const char *name)
{
    for (size_t i = 0; i < c->pods_len; i++)
        if (strcmp(object_name(c->pods[i]), name) == 0) {
            struct json *copy = json_clone(&c->arena, c->pods[i]);

            c->pods[i] = copy;
            return copy;
        }
    fail_msg("no pod %s", name);
    return NULL;
}

static void set_phase(struct cluster *c, const char *name, const char *phase)
{
    struct json *status = json_make_object(&c->arena, pod_mut(c, name), "status");

    json_set_string(&c->arena, status, "phase", phase);
}

static void set_deleting(struct cluster *c, const char *name)
{
    json_set_string(&c->arena, json_make_object(&c->arena, pod_mut(c, name), "metadata"),
                    "deletionTimestamp", "2026-01-01T01:00:00Z");
}

static void apply(struct cluster *c, const struct plan_step *step)
{
    struct arena *a = &c->arena;
    struct json *pod;

    if (step->op == PLAN_EVENT)
        return;
    assert_ptr_equal(step->kind, &kind_pod);
    pod = pod_mut(c, step->name);
    assert_string_equal(step->uid, object_uid(pod));
    if (step->op == PLAN_BIND) {
        const char *gpus = json_string(
            json_at(step->object, "metadata", "annotations", ANNOTATION_GPUS), NULL);

        json_set_string(a, json_make_object(a, pod, "spec"), "nodeName",
                        json_string(json_at(step->object, "spec", "nodeName"), ""));
        if (gpus)
            json_set_string(
                a, json_make_object(a, json_make_object(a, pod, "metadata"), "annotations"),
                ANNOTATION_GPUS, gpus);
    } else {
        assert_int_equal(step->op, PLAN_PATCH);
        assert_string_equal(step->subresource, "status");
        assert_string_equal(json_string(json_at(step->object, "metadata", "resourceVersion"), ""),
                            object_resource_version(pod));
        json_set(a, json_make_object(a, pod, "status"), "conditions",
                 json_clone(a, json_at(step->object, "status", "conditions")));
    }
}

static void look(struct cluster *c, struct plan *plan)
{
    struct schedule_snapshot s = {.pods = c->pods,
                                  .pods_len = c->pods_len,
                                  .nodes = c->nodes,
                                  .nodes_len = c->nodes_len,
                                  .overcommit = c->overcommit,
                                  .now_ms = WORLD_START_MS};

    plan_init(plan, &c->arena);
    schedule(&s, plan);
    assert_false(arena_failed(&c->arena));
}

/* One look, carried out; a second must have nothing to add. Returns the number of binds. */
static int settle(struct cluster *c)
{
    struct plan plan;
    int binds = 0;

    look(c, &plan);
    for (const struct plan_step *s = plan.first; s; s = s->next) {
        binds += s->op == PLAN_BIND;
        apply(c, s);
    }
    look(c, &plan);
    assert_true(plan_is_empty(&plan));
    return binds;
}

static const char *node_of(struct cluster *c, const char *name)
{
    return json_string(json_at(pod_mut(c, name), "spec", "nodeName"), "");
}

static const char *told(struct cluster *c, const char *name)
{
    return json_get_string(object_condition(pod_mut(c, name), "PodScheduled"), "message", "");
}

#define LESS_HELPS " (what helps: smaller requests or fewer replicas)"
#define MORE_HELPS                                                                                 \
    " (what helps: smaller requests, fewer replicas, or muster up with --overcommit, --cpus or "   \
    "--memory)"

/* --- gangs ------------------------------------------------------------------------------------ */

static void a_gang_starts_whole_or_not_at_all(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 2, 8, 0);
    add_pod(&c, "a", "a-0", 9, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0); /* its second pod is not there yet: nothing is said */
    assert_string_equal(told(&c, "a-0"), "");
    add_pod(&c, "a", "a-1", 9, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 2);
    add_pod(&c, "b", "b-0", 8, 2, "{'cpu':'500m'}");
    add_pod(&c, "b", "b-1", 8, 2, "{'cpu':'500m'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "b-1"), "waiting for resources: needs 1 CPU, 0 of 2 CPU is free; "
                                         "job \"a\" holds 2 CPU");
    set_phase(&c, "a-1", "Succeeded");
    assert_int_equal(settle(&c), 2);
    arena_release(&c.arena);
}

/* What a pod says of its owner is its writer's: it gets nobody into a gang of another namespace. */
static void a_stranger_is_in_no_gang(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 2, 64, 0);
    add_pod(&c, "j", "stranger", 9, 3, "{'cpu':'64'}");
    json_set_string(&c.arena, json_make_object(&c.arena, pod_mut(&c, "stranger"), "metadata"),
                    "namespace", "other");
    add_pod(&c, "j", "a", 1, 2, "{'cpu':'1'}");
    add_pod(&c, "j", "b", 1, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "a"), "n");
    assert_string_equal(node_of(&c, "b"), "n");
    arena_release(&c.arena);
}

static void a_lone_pod_is_a_gang_of_one(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 1, 8, 0);
    add_pod(&c, "", "x", 9, 1, "{'cpu':'1'}");
    add_pod(&c, "", "y", 8, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "x"), "n");
    assert_string_equal(told(&c, "y"), "waiting for resources: needs 1 CPU, 0 of 1 CPU is free; "
                                       "pod \"x\" holds 1 CPU");
    arena_release(&c.arena);
}

static void first_come_first_served(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 8, 0);
    add_pod(&c, "small", "small", 3, 1, "{'cpu':'1'}");
    add_pod(&c, "big", "big", 5, 1, "{'cpu':'3'}");
    add_pod(&c, "first", "first", 9, 1, "{'cpu':'2'}");
    add_pod(&c, "huge", "huge", 8, 1, "{'cpu':'16'}");
    add_pod(&c, "huge2", "huge2", 2, 1, "{'cpu':'17'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "first"), "n");
    assert_string_equal(told(&c, "huge"), "can never fit: asks 16 CPU, the node has 4" MORE_HELPS);
    assert_string_equal(told(&c, "huge2"), "can never fit: asks 17 CPU, the node has 4" MORE_HELPS);
    assert_string_equal(told(&c, "big"), "waiting for resources: needs 3 CPU, 2 of 4 CPU is free; "
                                         "job \"first\" holds 2 CPU");
    assert_string_equal(told(&c, "small"),
                        "waiting for its turn: number 2 in line behind job \"big\"");
    arena_release(&c.arena);
}

static void ties_go_by_name_and_namespace(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 1, 8, 0);
    add_pod(&c, "b", "b", 5, 1, "{'cpu':'1'}");
    add_pod(&c, "a", "a", 5, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "a"), "n");
    /* two of the same name: by namespace */
    set_phase(&c, "a", "Succeeded");
    json_set_string(&c.arena, json_make_object(&c.arena, pod_mut(&c, "b"), "metadata"), "namespace",
                    "zz");
    add_pod(&c, "", "b", 5, 1, "{'cpu':'1'}");
    json_set_string(&c.arena,
                    json_make_object(&c.arena, (struct json *)(uintptr_t)c.pods[2], "metadata"),
                    "name", "b2");
    assert_int_equal(settle(&c), 1);
    arena_release(&c.arena);
}

static void a_restarted_job_keeps_its_place(void **state)
{
    struct cluster c;
    struct json *pod;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 1, 8, 0);
    add_pod(&c, "late", "late", 5, 1, "{'cpu':'1'}");
    add_pod(&c, "early", "early", 1, 1, "{'cpu':'1'}"); /* a new pod of an old job */
    pod = pod_mut(&c, "early");
    json_set_string(
        &c.arena,
        json_make_object(&c.arena, json_make_object(&c.arena, pod, "metadata"), "annotations"),
        ANNOTATION_QUEUED_SINCE, "2025-01-01T00:00:00Z");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "early"), "n");
    arena_release(&c.arena);
}

static void a_started_gang_takes_its_missing_member_alone(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 3, 8, 0);
    add_pod(&c, "a", "a-0", 9, 3, "{'cpu':'1'}");
    add_pod(&c, "a", "a-1", 9, 3, "{'cpu':'1'}");
    add_pod(&c, "a", "a-2", 9, 3, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 3);
    set_phase(&c, "a-1", "Failed");
    add_pod(&c, "a", "a-1b", 9, 3, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    /* and waits at the head of the line while there is no room */
    set_phase(&c, "a-2", "Failed");
    add_pod(&c, "", "other", 1, 1, "{'cpu':'1'}");
    json_set_string(&c.arena, json_make_object(&c.arena, pod_mut(&c, "other"), "spec"), "nodeName",
                    "n");
    add_pod(&c, "a", "a-2b", 9, 3, "{'cpu':'1'}");
    add_pod(&c, "", "tiny", 1, 1, "{'cpu':'0'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "a-2b"),
                        "waiting for resources: needs 1 CPU, 0 of 3 CPU is free; job \"a\" holds "
                        "2 CPU, 1 more hold the rest");
    assert_string_equal(told(&c, "tiny"),
                        "waiting for its turn: number 2 in line behind job \"a\"");
    arena_release(&c.arena);
}

/* Replacements were made when four were still to run together; then two failed for good. They must
 * not wait for members that will never come. */
static void members_that_are_over_are_not_waited_for(void **state)
{
    static const char *const names[] = {"a-0", "a-1", "a-2", "a-3"};
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 8, 0);
    for (size_t i = 0; i < ELEMS(names); i++)
        add_pod(&c, "a", names[i], 9, 4, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 4);
    for (size_t i = 0; i < ELEMS(names); i++)
        set_phase(&c, names[i], "Failed");
    c.pods_len = 0; /* the first two are replaced, the others stay as they are */
    add_pod(&c, "a", "a-0b", 9, 4, "{'cpu':'1'}");
    add_pod(&c, "a", "a-1b", 9, 4, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0);
    c.pods_len = 4;
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "a-0b"), "n");
    arena_release(&c.arena);
}

static void an_elastic_job_takes_what_is_there(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 3, 8, 0);
    add_pod(&c, "e", "e-0", 9, 2, "{'cpu':'1'}");
    add_pod(&c, "e", "e-1", 9, 2, "{'cpu':'1'}");
    add_pod(&c, "e", "e-2", 9, 2, "{'cpu':'2'}");
    add_pod(&c, "f", "f-0", 8, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 3); /* its extra member holds up nobody */
    assert_string_equal(node_of(&c, "f-0"), "n");
    assert_string_equal(node_of(&c, "e-2"), "");
    assert_string_equal(told(&c, "e-2"), "waiting for resources: needs 2 CPU, 0 of 3 CPU is free; "
                                         "job \"e\" holds 2 CPU, 1 more hold the rest");
    arena_release(&c.arena);
}

/* --- room ------------------------------------------------------------------------------------- */

static void deleting_pods_hold_until_gone(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 1, 8, 0);
    add_pod(&c, "", "x", 9, 1, "{'cpu':'1'}");
    add_pod(&c, "", "y", 8, 1, "{'cpu':'1'}");
    settle(&c);
    set_deleting(&c, "x");
    assert_int_equal(settle(&c), 0);
    c.pods[0] = c.pods[1];
    c.pods_len = 1;
    assert_int_equal(settle(&c), 1);
    /* a pod that is deleted before it was placed asks for nothing */
    add_pod(&c, "", "z", 7, 1, "{'cpu':'1'}");
    set_deleting(&c, "z");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "z"), "");
    arena_release(&c.arena);
}

static void memory_counts_too(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 8, 4, 0);
    add_pod(&c, "a", "a", 9, 1, "{'memory':'3Gi'}");
    add_pod(&c, "b", "b", 8, 1, "{'memory':'2Gi'}");
    add_pod(&c, "c", "c", 7, 1, "{'memory':'5Gi'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(told(&c, "b"),
                        "waiting for resources: needs 2Gi memory, 1Gi of 4Gi memory is free; job "
                        "\"a\" holds 3Gi memory");
    assert_string_equal(told(&c, "c"),
                        "can never fit: asks 5Gi memory, the node has 4Gi" MORE_HELPS);
    arena_release(&c.arena);
}

static void overcommit_counts_gpus_only(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    c.overcommit = true;
    add_node(&c, "n", 1, 1, 1);
    add_pod(&c, "a", "a", 9, 1, "{'cpu':'16','memory':'64Gi','nvidia.com/gpu':1}");
    add_pod(&c, "b", "b", 8, 1, "{'cpu':'16'}");
    add_pod(&c, "c", "c", 7, 1, "{'nvidia.com/gpu':1}");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(told(&c, "c"), "waiting for resources: needs 1 GPU, 0 of 1 GPU is free; "
                                       "job \"a\" holds 1 GPU");
    arena_release(&c.arena);
}

static void gpus_are_given_out_disjointly(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 64, 64, 4);
    add_pod(&c, "a", "a", 9, 1, "{'nvidia.com/gpu':2}");
    add_pod(&c, "b", "b", 8, 1, "{'nvidia.com/gpu':1}");
    add_pod(&c, "c", "c", 7, 1, "{'nvidia.com/gpu':2}");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(object_annotation(pod_mut(&c, "a"), ANNOTATION_GPUS), "0,1");
    assert_string_equal(object_annotation(pod_mut(&c, "b"), ANNOTATION_GPUS), "2");
    set_phase(&c, "a", "Failed");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(object_annotation(pod_mut(&c, "c"), ANNOTATION_GPUS), "0,1");
    add_pod(&c, "d", "d", 6, 1, "{'nvidia.com/gpu':1}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(object_annotation(pod_mut(&c, "d"), ANNOTATION_GPUS), "3");
    assert_null(object_annotation(pod_mut(&c, "d"), "none"));
    arena_release(&c.arena);
}

static void a_gang_that_does_not_fit_gives_its_gpus_back(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 2, 8, 2);
    add_pod(&c, "x", "x", 9, 1, "{'cpu':'1'}");
    settle(&c);
    add_pod(&c, "g", "g-0", 8, 2, "{'cpu':'1','nvidia.com/gpu':1}");
    add_pod(&c, "g", "g-1", 8, 2, "{'cpu':'1','nvidia.com/gpu':1}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "g-0"), "waiting for resources: needs 2 CPU, 1 of 2 CPU is free; "
                                         "job \"x\" holds 1 CPU");
    set_phase(&c, "x", "Succeeded");
    assert_int_equal(settle(&c), 2);
    arena_release(&c.arena);
}

static void gpus_of_pods_others_bound_are_avoided(void **state)
{
    struct cluster c;
    struct json *pod;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 8, 8, 99); /* more than we have bits for */
    add_pod(&c, "", "x", 9, 1, "{'nvidia.com/gpu':2}");
    json_set_string(&c.arena, json_make_object(&c.arena, pod_mut(&c, "x"), "spec"), "nodeName",
                    "n");
    add_pod(&c, "", "odd", 9, 1, "{'nvidia.com/gpu':1}");
    pod = pod_mut(&c, "odd");
    json_set_string(&c.arena, json_make_object(&c.arena, pod, "spec"), "nodeName", "n");
    json_set_string(
        &c.arena,
        json_make_object(&c.arena, json_make_object(&c.arena, pod, "metadata"), "annotations"),
        ANNOTATION_GPUS, "3,500,x");
    add_pod(&c, "", "y", 8, 1, "{'nvidia.com/gpu':2}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(object_annotation(pod_mut(&c, "y"), ANNOTATION_GPUS), "2,4");
    add_pod(&c, "", "z", 7, 1, "{'nvidia.com/gpu':65}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "z"), "can never fit: asks 65 GPU, the node has 64" LESS_HELPS);
    arena_release(&c.arena);
}

static void requests_else_limits_and_init_containers(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);
    struct resources r = pod_requests(
        parse(&a, "{'containers':[{'resources':{'requests':{'cpu':'500m'},'limits':{'cpu':'9',"
                  "'memory':'1Gi','nvidia.com/gpu':'1'}}},{'resources':{'requests':{'cpu':1,"
                  "'memory':-5}}}],'initContainers':[{'resources':{'requests':{'cpu':'4'}}},"
                  "{'resources':{'limits':{'memory':'1Mi'}}}],'overhead':{'cpu':'250m'}}"));

    (void)state;
    assert_int_equal(r.cpu_milli, 4250);
    assert_int_equal(r.memory_bytes, INT64_C(1) << 30);
    assert_int_equal(r.gpus, 1);
    r.memory_bytes = INT64_MAX;
    resources_add(&r, &r);
    assert_int_equal(r.memory_bytes, INT64_MAX);
    assert_string_equal(resource_number(&a, RESOURCE_MEMORY, 1000), "1000");
    assert_string_equal(resource_text(&a, RESOURCE_MEMORY, (INT64_C(5) << 20) + 77), "5Mi memory");
    assert_string_equal(resource_text(&a, RESOURCE_CPU, 250), "250m CPU");
    arena_release(&a);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void only_ready_nodes_take_pods(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c, "{'metadata':{'name':'a'},'status':{'capacity':{'cpu':'8'},"
                      "'conditions':[{'type':'Ready','status':'False'}]}}");
    add_pod(&c, "", "x", 9, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "x"), "waiting for a node: none is ready");
    add_node_text(&c, "{'metadata':{'name':'b'},'spec':{'unschedulable':true},'status':{"
                      "'capacity':{'cpu':'8'},'conditions':[{'type':'Ready','status':'True'}]}}");
    assert_int_equal(settle(&c), 0);
    add_node_text(&c, "{'metadata':{'name':'c','deletionTimestamp':'2026-01-01T00:00:00Z'},"
                      "'status':{'conditions':[{'type':'Ready','status':'True'}]}}");
    assert_int_equal(settle(&c), 0);
    add_node_text(&c, "{'metadata':{'name':'d'},'status':{'capacity':{'cpu':'8'},"
                      "'allocatable':{'cpu':'1'},'conditions':[{'type':'Ready','status':'True'}]}"
                      "}");
    add_pod(&c, "", "y", 8, 1, "{'cpu':'2'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "x"), "d");
    assert_string_equal(told(&c, "y"), "can never fit: asks 2 CPU, the node has 1" MORE_HELPS);
    arena_release(&c.arena);
}

static void several_nodes(void **state)
{
    struct cluster c;
    struct json *pod;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 2, 8, 1);
    add_node(&c, "two", 2, 8, 1);
    add_pod(&c, "a", "a-0", 9, 2, "{'cpu':'2'}");
    add_pod(&c, "a", "a-1", 9, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "a-0"), "one");
    assert_string_equal(node_of(&c, "a-1"), "two");
    add_pod(&c, "big", "big", 8, 1, "{'cpu':'5'}");
    add_pod(&c, "wide", "wide-0", 7, 2, "{'cpu':'1'}");
    add_pod(&c, "wide", "wide-1", 7, 2, "{'cpu':'3','nvidia.com/gpu':1}");
    add_pod(&c, "s", "s", 6, 1, "{'cpu':'1'}");
    pod = pod_mut(&c, "s");
    json_set(&c.arena, json_make_object(&c.arena, pod, "spec"), "nodeSelector",
             parse(&c.arena, "{'disk':'three'}"));
    add_pod(&c, "t", "t", 5, 1, "{'cpu':'1'}");
    pod = pod_mut(&c, "t");
    json_set(&c.arena, json_make_object(&c.arena, pod, "spec"), "nodeSelector",
             parse(&c.arena, "{'disk':'two'}"));
    assert_int_equal(settle(&c), 1);
    assert_string_equal(told(&c, "big"),
                        "can never fit: asks 5 CPU, the 2 nodes together have 4; a pod asks 5 CPU, "
                        "the largest node has 2" LESS_HELPS);
    assert_string_equal(told(&c, "wide-0"),
                        "can never fit: a pod asks 3 CPU, the largest node has 2" LESS_HELPS);
    assert_string_equal(told(&c, "s"),
                        "can never fit: no node has the labels of the nodeSelector: disk=three");
    assert_string_equal(node_of(&c, "t"), "two");
    arena_release(&c.arena);
}

static void enough_in_all_but_not_in_one_place(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 2, 8, 0);
    add_node(&c, "two", 2, 8, 0);
    add_pod(&c, "a", "a-0", 9, 1, "{'cpu':'1500m'}");
    add_pod(&c, "b", "b-0", 8, 1, "{'cpu':'1'}");
    settle(&c);
    add_pod(&c, "c", "c-0", 7, 2, "{'cpu':'250m'}");
    add_pod(&c, "c", "c-1", 7, 2, "{'cpu':'1250m'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "c-0"), "waiting for resources: no node has room for a pod of "
                                         "1250m CPU, 0 memory, 0 GPU at the moment");
    arena_release(&c.arena);
}

static void who_holds_most_is_named(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 8, 8, 0);
    add_pod(&c, "small", "s-0", 9, 1, "{'cpu':'2'}");
    add_pod(&c, "large", "l-0", 8, 1, "{'cpu':'4'}");
    add_pod(&c, "tiny", "t-0", 7, 1, "{'cpu':'1'}");
    add_pod(&c, "none", "n-0", 7, 1, "{'memory':'1Gi'}");
    assert_int_equal(settle(&c), 4);
    add_pod(&c, "late", "late-0", 6, 1, "{'cpu':'3'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "late-0"),
                        "waiting for resources: needs 3 CPU, 1 of 8 CPU is "
                        "free; job \"large\" holds 4 CPU, 2 more hold the rest");
    arena_release(&c.arena);
}

/* Those the node offers, and of them the ones that are close to each other. */
static void gpus_are_those_the_node_offers(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c,
                  "{'metadata':{'name':'g','annotations':{'muster.dev/gpus':'1,2,3',"
                  "'muster.dev/gpu-links':'0888,8088,8801,8810'}},'status':{'allocatable':{"
                  "'cpu':'8','memory':'8Gi','nvidia.com/gpu':'3'},'conditions':[{'type':'Ready',"
                  "'status':'True'}]}}");
    add_pod(&c, "a", "a-0", 9, 1, "{'nvidia.com/gpu':2}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(object_annotation(pod_mut(&c, "a-0"), ANNOTATION_GPUS), "2,3");
    add_pod(&c, "b", "b-0", 8, 1, "{'nvidia.com/gpu':1}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(object_annotation(pod_mut(&c, "b-0"), ANNOTATION_GPUS), "1");
    arena_release(&c.arena);
}

/* With overcommit CPU and memory are no reason; GPUs still are, and the pod that asks for most is
 * shown. */
static void overcommit_can_still_be_too_little(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    c.overcommit = true;
    add_node(&c, "one", 1, 1, 2);
    add_node(&c, "two", 1, 1, 2);
    add_pod(&c, "a", "a-0", 9, 2, "{'cpu':'64','nvidia.com/gpu':1}");
    add_pod(&c, "a", "a-1", 9, 2, "{'cpu':'1','nvidia.com/gpu':3}");
    add_pod(&c, "b", "b-0", 8, 2, "{'nvidia.com/gpu':4}");
    add_pod(&c, "b", "b-1", 8, 2, "{'nvidia.com/gpu':4}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "a-0"),
                        "can never fit: a pod asks 3 GPU, the largest node has 2" LESS_HELPS);
    assert_string_equal(told(&c, "b-0"),
                        "can never fit: asks 8 GPU, the 2 nodes together have 4; a pod asks 4 GPU, "
                        "the largest node has 2" LESS_HELPS);
    arena_release(&c.arena);
}

/* --- telling ---------------------------------------------------------------------------------- */

static void conditions_of_others_are_kept(void **state)
{
    struct cluster c;
    struct json *pod;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 1, 1, 0);
    add_pod(&c, "", "x", 9, 1, "{'cpu':'2'}");
    pod = pod_mut(&c, "x");
    json_set(&c.arena, pod, "status",
             parse(&c.arena, "{'conditions':[{'type':'Other','status':'True'},{'type':"
                             "'PodScheduled','status':'False','message':'old',"
                             "'lastTransitionTime':'2020-01-01T00:00:00Z'}]}"));
    settle(&c);
    pod = pod_mut(&c, "x");
    assert_non_null(object_condition(pod, "Other"));
    assert_int_equal(json_len(json_at(pod, "status", "conditions")), 2);
    assert_string_equal(
        json_get_string(object_condition(pod, "PodScheduled"), "lastTransitionTime", ""),
        "2020-01-01T00:00:00Z");
    assert_string_equal(json_get_string(object_condition(pod, "PodScheduled"), "reason", ""),
                        "Unschedulable");
    arena_release(&c.arena);
}

static void events_are_told_once(void **state)
{
    struct cluster c;
    struct plan plan;
    int events = 0;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 1, 1, 0);
    add_pod(&c, "", "x", 9, 1, "{'cpu':'2'}");
    add_pod(&c, "", "y", 9, 1, "{'cpu':'1'}");
    look(&c, &plan);
    for (const struct plan_step *s = plan.first; s; s = s->next)
        if (s->op == PLAN_EVENT) {
            const struct json *about = json_get(s->object, "involvedObject");

            events++;
            assert_string_equal(json_get_string(s->object, "reason", ""),
                                strcmp(json_get_string(about, "name", ""), "x") == 0
                                    ? "FailedScheduling"
                                    : "Scheduled");
        }
    assert_int_equal(events, 2);
    assert_int_equal(plan.first->op, PLAN_BIND);
    arena_release(&c.arena);
}

static void without_memory_nothing_is_decided(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 8, 2);
    add_pod(&c, "a", "a-0", 9, 2, "{'cpu':'1','nvidia.com/gpu':1}");
    add_pod(&c, "a", "a-1", 9, 2, "{'cpu':'1','nvidia.com/gpu':1}");
    add_pod(&c, "b", "b", 8, 1, "{'cpu':'4'}");
    add_pod(&c, "c", "c", 8, 1, "{'cpu':'1'}");
    for (size_t limit = 0; limit < 40000; limit += 32) {
        struct arena a = ARENA_INIT(limit);
        struct schedule_snapshot s = {
            .pods = c.pods, .pods_len = c.pods_len, .nodes = c.nodes, .nodes_len = c.nodes_len};
        struct plan plan;

        plan_init(&plan, &a);
        schedule(&s, &plan);
        arena_release(&a);
    }
    arena_release(&c.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_starts_whole_or_not_at_all),
        cmocka_unit_test(a_stranger_is_in_no_gang),
        cmocka_unit_test(a_lone_pod_is_a_gang_of_one),
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(ties_go_by_name_and_namespace),
        cmocka_unit_test(a_restarted_job_keeps_its_place),
        cmocka_unit_test(a_started_gang_takes_its_missing_member_alone),
        cmocka_unit_test(members_that_are_over_are_not_waited_for),
        cmocka_unit_test(an_elastic_job_takes_what_is_there),
        cmocka_unit_test(deleting_pods_hold_until_gone),
        cmocka_unit_test(memory_counts_too),
        cmocka_unit_test(overcommit_counts_gpus_only),
        cmocka_unit_test(gpus_are_given_out_disjointly),
        cmocka_unit_test(a_gang_that_does_not_fit_gives_its_gpus_back),
        cmocka_unit_test(gpus_of_pods_others_bound_are_avoided),
        cmocka_unit_test(requests_else_limits_and_init_containers),
        cmocka_unit_test(only_ready_nodes_take_pods),
        cmocka_unit_test(several_nodes),
        cmocka_unit_test(enough_in_all_but_not_in_one_place),
        cmocka_unit_test(who_holds_most_is_named),
        cmocka_unit_test(gpus_are_those_the_node_offers),
        cmocka_unit_test(overcommit_can_still_be_too_little),
        cmocka_unit_test(conditions_of_others_are_kept),
        cmocka_unit_test(events_are_told_once),
        cmocka_unit_test(without_memory_nothing_is_decided),
    };

    return cmocka_run_group_tests_name("core schedule", tests, NULL, NULL);
}
