/* schedule_test.c - gangs, order, GPUs, and the sentences waiting pods are told. */
#include "cluster.h"

#define LESS_HELPS " (what helps: smaller requests)"
#define FEWER_HELP " (what helps: smaller requests or fewer replicas)"
#define MORE_HELPS(options) " (what helps: smaller requests, or muster up with " options ")"

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
                                         "job \"a\" (queue default) holds 2 CPU");
    set_phase(&c, "a-1", "Succeeded");
    assert_int_equal(settle(&c), 2);
    cluster_release(&c);
}

/* What a pod says of its group is its writer's: it gets nobody into a group of another namespace.
 */
static void a_stranger_is_in_no_gang(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 2, 64, 0);
    add_pod(&c, "j", "stranger", 9, 2, "{'cpu':'64'}");
    json_set_string(&c.arena,
                    json_make_object(&c.arena, cluster_edit(&c, PODS, "stranger"), "metadata"),
                    "namespace", "other");
    add_pod(&c, "j", "a", 1, 2, "{'cpu':'1'}");
    add_pod(&c, "j", "b", 1, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "a"), "n");
    assert_string_equal(node_of(&c, "b"), "n");
    cluster_release(&c);
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
                                       "pod \"x\" (queue default) holds 1 CPU");
    cluster_release(&c);
}

static void first_come_first_served(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 8, 0);
    add_pod(&c, "small", "small", 3, 1, "{'cpu':'2'}");
    add_pod(&c, "big", "big", 5, 1, "{'cpu':'3'}");
    add_pod(&c, "first", "first", 9, 1, "{'cpu':'2'}");
    add_pod(&c, "huge", "huge", 8, 1, "{'cpu':'16'}");
    add_pod(&c, "huge2", "huge2", 2, 1, "{'cpu':'17'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "first"), "n");
    assert_string_equal(told(&c, "huge"), "can never fit: asks 16 CPU, the node has 4" MORE_HELPS(
                                              "--cpus or --overcommit"));
    assert_string_equal(told(&c, "huge2"), "can never fit: asks 17 CPU, the node has 4" MORE_HELPS(
                                               "--cpus or --overcommit"));
    add_pod(&c, "cut", "cut", 1, 1, "{'cpu':'9E'}"); /* more than is counted */
    settle(&c);
    assert_non_null(strstr(told(&c, "cut"), "asks at least 1000000000000 CPU, the node has 4"));
    assert_string_equal(told(&c, "big"), "waiting for resources: needs 3 CPU, 2 of 4 CPU is free; "
                                         "job \"first\" (queue default) holds 2 CPU");
    assert_string_equal(told(&c, "small"),
                        "waiting for its turn: number 2 in line behind job \"big\"");
    cluster_release(&c);
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
    json_set_string(&c.arena, json_make_object(&c.arena, cluster_edit(&c, PODS, "other"), "spec"),
                    "nodeName", "n");
    add_pod(&c, "a", "a-2b", 9, 3, "{'cpu':'1'}");
    add_pod(&c, "", "tiny", 1, 1, "{'cpu':'0'}");
    assert_int_equal(settle(&c), 1); /* which asks for nothing of what a waits for */
    assert_string_equal(
        told(&c, "a-2b"),
        "waiting for resources: needs 1 CPU, 0 of 3 CPU is free; it holds 2 CPU itself; pod "
        "\"other\" (queue default) holds 1 CPU");
    assert_string_equal(node_of(&c, "tiny"), "n");
    cluster_release(&c);
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
    assert_string_equal(told(&c, "e-2"),
                        "can never fit: no node has room for more of its pods beside those it has: "
                        "the largest pod asks 2 CPU (what helps: smaller requests)");
    cluster_release(&c);
}

/* --- far behind ------------------------------------------------------------------------------- */

static int64_t place_of(struct cluster *c, const char *group)
{
    return json_int(json_at(cluster_get(c, GROUPS, group), "status", "place"), 0);
}

/* More than are tried in a decision. */
static void add_crowd(struct cluster *c, const char *queue)
{
    for (int i = 0; i < 300; i++)
        add_job(c, arena_printf(&c->arena, "%s-crowd-%d", queue, i), queue, 9, 1, 1, "");
}

static void who_is_far_behind_is_told_what_changes_for_his_queue(void **state)
{
    struct cluster *c = calloc(1, sizeof(*c));

    (void)state;
    cluster_init(c);
    add_namespace(c);
    add_node(c, "n", 2, 8, 0);
    add_queue(c, "top", "'priority':10");
    add_queue(c, "mid", "'priority':5");
    add_queue(c, "gone", "");
    add_queue(c, "shut", "");
    add_queue(c, "small", "");
    add_job(c, "blocker", "top", 9, 1, 2, "");
    add_crowd(c, "mid");
    add_job(c, "g", "gone", 9, 1, 2, "");
    add_job(c, "s", "shut", 9, 1, 2, "");
    add_job(c, "q", "small", 9, 1, 2, "");
    add_job(c, "large", "small", 9, 1, 3, "");
    settle(c);
    assert_string_equal(reason_of(c, "g"), "WaitingForTurn");
    assert_string_equal(reason_of(c, "s"), "WaitingForTurn");
    assert_string_equal(reason_of(c, "q"), "WaitingForTurn");
    assert_string_equal(reason_of(c, "large"), "NeverFits");
    cluster_remove(c, QUEUES, "gone");
    set_spec(c, QUEUES, "shut", "closed", "true");
    set_spec(c, QUEUES, "small", "quota", "{'requests':{'cpu':'1'}}");
    settle(c);
    assert_string_equal(reason_of(c, "g"), "QueueNotFound");
    assert_string_equal(reason_of(c, "s"), "QueueClosed");
    assert_string_equal(reason_of(c, "q"), "QuotaForbids");
    add_queue(c, "gone", "");
    set_spec(c, QUEUES, "shut", "closed", "false");
    set_spec(c, QUEUES, "small", "quota", "{'requests':{'cpu':'8'}}");
    settle(c);
    assert_string_equal(reason_of(c, "g"), "WaitingForTurn");
    assert_string_equal(reason_of(c, "s"), "WaitingForTurn");
    assert_string_equal(reason_of(c, "q"), "WaitingForTurn");
    assert_string_equal(reason_of(c, "large"), "NeverFits");
    set_spec(c, NODES, "n", "unschedulable", "true");
    add_node(c, "m", 1, 8, 0);
    settle(c);
    assert_string_equal(reason_of(c, "q"), "NodeCordoned");
    assert_string_equal(reason_of(c, "large"), "NeverFits");
    cluster_release(c);
    free(c);
}

static void who_is_overtaken_by_many_is_told_so(void **state)
{
    struct cluster *c = calloc(1, sizeof(*c));

    (void)state;
    cluster_init(c);
    add_namespace(c);
    add_node(c, "n", 2, 8, 0);
    add_queue(c, "top", "'priority':10");
    add_queue(c, "few", "'quota':{'requests':{'cpu':'2'}}");
    add_job(c, "blocker", "few", 9, 1, 2, "");
    settle(c);
    set_spec(c, QUEUES, "few", "preemptible", "false");
    add_job(c, "first", "default", 9, 1, 2, "");
    add_job(c, "next", "default", 8, 1, 2, "");
    add_job(c, "over", "few", 8, 1, 2, "");
    settle(c);
    assert_string_equal(reason_of(c, "first"), "InsufficientResources");
    assert_string_equal(told(c, "next-0"),
                        "waiting for its turn: number 2 in line behind job \"first\"");
    assert_string_equal(reason_of(c, "over"), "QuotaExceeded");
    assert_int_equal(place_of(c, "blocker"), 0); /* it runs */
    assert_int_equal(place_of(c, "first"), 1);
    assert_int_equal(place_of(c, "next"), 2);
    assert_int_equal(place_of(c, "over"), 3);
    add_crowd(c, "top");
    settle(c);
    assert_int_equal(place_of(c, "first"), PLACES_TOLD + 1);
    assert_int_equal(place_of(c, "top-crowd-0"), 1);
    assert_string_equal(told(c, "first-0"),
                        "waiting for its turn: 20 or more are in line before it");
    assert_string_equal(told(c, "next-0"),
                        "waiting for its turn: 20 or more are in line before it");
    assert_string_equal(reason_of(c, "over"), "WaitingForTurn");
    cluster_release(c);
    free(c);
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
    cluster_remove(&c, PODS, "x");
    assert_int_equal(settle(&c), 1);
    /* a pod that is deleted before it was placed asks for nothing */
    add_pod(&c, "", "z", 7, 1, "{'cpu':'1'}");
    set_deleting(&c, "z");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "z"), "");
    cluster_release(&c);
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
                        "\"a\" (queue default) holds 3Gi memory");
    assert_string_equal(
        told(&c, "c"),
        "can never fit: asks 5Gi memory, the node has 4Gi" MORE_HELPS("--memory or --overcommit"));
    cluster_release(&c);
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
                                       "job \"a\" (queue default) holds 1 GPU");
    cluster_release(&c);
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
    assert_string_equal(object_annotation(cluster_edit(&c, PODS, "a"), ANNOTATION_GPUS), "0,1");
    assert_string_equal(object_annotation(cluster_edit(&c, PODS, "b"), ANNOTATION_GPUS), "2");
    set_phase(&c, "a", "Failed");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(object_annotation(cluster_edit(&c, PODS, "c"), ANNOTATION_GPUS), "0,1");
    add_pod(&c, "d", "d", 6, 1, "{'nvidia.com/gpu':1}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(object_annotation(cluster_edit(&c, PODS, "d"), ANNOTATION_GPUS), "3");
    assert_null(object_annotation(cluster_edit(&c, PODS, "d"), "none"));
    cluster_release(&c);
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
                                         "job \"x\" (queue default) holds 1 CPU");
    set_phase(&c, "x", "Succeeded");
    assert_int_equal(settle(&c), 2);
    cluster_release(&c);
}

static void gpus_of_pods_others_bound_are_avoided(void **state)
{
    struct cluster c;
    struct json *pod;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 8, 8, 99); /* more than we have bits for */
    add_pod(&c, "", "x", 9, 1, "{'nvidia.com/gpu':2}");
    json_set_string(&c.arena, json_make_object(&c.arena, cluster_edit(&c, PODS, "x"), "spec"),
                    "nodeName", "n");
    add_pod(&c, "", "odd", 9, 1, "{'nvidia.com/gpu':1}");
    pod = cluster_edit(&c, PODS, "odd");
    json_set_string(&c.arena, json_make_object(&c.arena, pod, "spec"), "nodeName", "n");
    json_set_string(
        &c.arena,
        json_make_object(&c.arena, json_make_object(&c.arena, pod, "metadata"), "annotations"),
        ANNOTATION_GPUS, "3,500,x");
    add_pod(&c, "", "y", 8, 1, "{'nvidia.com/gpu':2}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(object_annotation(cluster_edit(&c, PODS, "y"), ANNOTATION_GPUS), "2,4");
    add_pod(&c, "", "z", 7, 1, "{'nvidia.com/gpu':65}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "z"), "can never fit: asks 65 GPU, the node has 64" MORE_HELPS(
                                           "--gpus if the machine has more"));
    cluster_release(&c);
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
    assert_int_equal(pod_amount_milli(parse(&a, "{'containers':[{'resources':{'limits':{'cpu':"
                                                "'9E'}}}],'overhead':{'cpu':'1'}}"),
                                      "requests", "cpu"),
                     INT64_MAX);
    assert_string_equal(resource_number(&a, RESOURCE_MEMORY, 1000), "1000");
    assert_string_equal(resource_text(&a, RESOURCE_MEMORY, (INT64_C(5) << 20) + 77), "5Mi memory");
    assert_string_equal(resource_text(&a, RESOURCE_CPU, 250), "250m CPU");
    arena_release(&a);
}

/* A sum that stopped at its largest would be 0 after the first of them went. */
static void what_is_added_can_be_taken_away(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);
    struct resources r = resources_of(parse(&a, "{'cpu':'9E','memory':'9E'}")), sum = {0};

    (void)state;
    for (int i = 0; i < 1000; i++)
        resources_add(&sum, &r);
    for (int i = 0; i < 1000; i++) {
        assert_true(sum.cpu_milli >= r.cpu_milli && sum.memory_bytes >= r.memory_bytes);
        resources_subtract(&sum, &r);
    }
    assert_true(resources_are_zero(&sum));
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
    assert_string_equal(told(&c, "x"), "waiting for a node: none is ready; node b is cordoned "
                                       "(kubectl uncordon b)");
    add_node_text(&c, "{'metadata':{'name':'c','deletionTimestamp':'2026-01-01T00:00:00Z'},"
                      "'status':{'conditions':[{'type':'Ready','status':'True'}]}}");
    assert_int_equal(settle(&c), 0);
    add_node_text(&c, "{'metadata':{'name':'d'},'status':{'capacity':{'cpu':'8'},"
                      "'allocatable':{'cpu':'1'},'conditions':[{'type':'Ready','status':'True'}]}"
                      "}");
    add_pod(&c, "", "y", 8, 1, "{'cpu':'2'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "x"), "d");
    assert_string_equal(told(&c, "y"),
                        "waiting for node b, which is cordoned (kubectl uncordon b)");
    cluster_release(&c);
}

#define NODE_WITH(name, cpu, spec)                                                                 \
    "{'metadata':{'name':'" name "','labels':{'zone':'" name "','host':'" name "'}},'spec':{" spec \
    "},'status':{'capacity':{'cpu':'" cpu "'},'conditions':[{'type':'Ready','status':'True'}]}}"

/* What keeps a pod from the other nodes is named, and the numbers are of all it may run on. */
static void what_is_wrong_with_nodes_is_named(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node_text(&c, NODE_WITH("vm", "300", "'unschedulable':true"));
    add_node_text(&c, NODE_WITH("n2", "4", ""));
    add_node_text(&c, NODE_WITH("n3", "4",
                                "'taints':[{'key':'dedicated','value':'x','effect':"
                                "'NoSchedule'}]"));
    add_queue(&c, "far", "'nodeSelector':{'zone':'moon'}");
    add_job(&c, "hold", "default", 9, 1, 1, "");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "four", "default", 8, 1, 4, "");
    add_job(&c, "huge", "default", 7, 1, 301, "");
    add_job(&c, "taint", "default", 6, 1, 1, "");
    set_spec(&c, PODS, "taint-0", "nodeSelector", "{'zone':'n3'}");
    add_job(&c, "queue", "far", 5, 1, 1, "");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(
        told(&c, "four-0"),
        "waiting for room on node \"n2\", the only ready one that its nodeSelector, affinity, "
        "tolerations and queue allow (node vm is cordoned: kubectl uncordon vm), where it needs 4 "
        "CPU, and 3 of 4 CPU is free; job \"hold\" (queue default) holds 1 CPU there");
    assert_string_equal(told(&c, "huge-0"),
                        "can never fit: a pod asks 301 CPU, the largest node has 300" LESS_HELPS);
    assert_string_equal(told(&c, "taint-0"),
                        "can never fit: node n3, which its nodeSelector, affinity and queue "
                        "allow, has the taint dedicated=x:NoSchedule, which it does not tolerate");
    assert_string_equal(told(&c, "queue-0"),
                        "can never fit: no node has the labels of the nodeSelector of queue "
                        "\"far\": zone=moon");
    cluster_release(&c);
}

/* A node that only a taint closes counts neither as the largest nor as room. */
static void room_behind_a_taint_is_named(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node_text(&c, NODE_WITH("n1", "4", ""));
    add_node_text(&c, NODE_WITH("n2", "4", ""));
    add_node_text(&c, NODE_WITH("n3", "100",
                                "'taints':[{'key':'dedicated','value':'x','effect':"
                                "'NoSchedule'}]"));
    add_job(&c, "hold", "default", 9, 2, 3, "");
    assert_int_equal(settle(&c), 2);
    add_job(&c, "two", "default", 8, 1, 2, "");
    add_job(&c, "huge", "default", 7, 1, 50, "");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "two-0"),
                        "waiting for resources: no node has room for a pod of 2 CPU at the moment; "
                        "job \"hold\" (queue default) holds 6 CPU; node n3 has room, and the taint "
                        "dedicated=x:NoSchedule, which it does not tolerate");
    assert_string_equal(told(&c, "huge-0"),
                        "can never fit: a pod asks 50 CPU, the largest node that it may use has 4 "
                        "(what helps: smaller requests, or, for node n3, a toleration of "
                        "dedicated=x:NoSchedule)");
    cluster_release(&c);
}

static void pods_that_keep_each_other_away_need_nodes(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c, NODE_WITH("n1", "4", ""));
    add_node_text(&c, NODE_WITH("n2", "4", ""));
    add_node_text(&c, NODE_WITH("n3", "4", ""));
    add_job(&c, "apart", "default", 9, 4, 1, "");
    for (int i = 0; i < 4; i++)
        set_spec(&c, PODS, arena_printf(&c.arena, "apart-%d", i), "affinity",
                 "{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
                 "'topologyKey':'host','labelSelector':{}}]}}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "apart-0"),
                        "can never fit: its required podAntiAffinity lets 3 of 4 pods run at once "
                        "(what helps: fewer replicas or more nodes)");
    cluster_release(&c);
}

/* A cluster's node has none of muster up's options. */
static void what_helps_on_a_clusters_node_is_no_option_of_muster_up(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c, "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'1'},"
                      "'daemonEndpoints':{'kubeletEndpoint':{'Port':10250}},"
                      "'conditions':[{'type':'Ready','status':'True'}]}}");
    add_pod(&c, "", "x", 9, 1, "{'cpu':'2'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "x"), "can never fit: asks 2 CPU, the node has 1" LESS_HELPS);
    cluster_release(&c);
}

#define OFFER_HELPS " (what helps: smaller requests, or a node that offers more)"

/* What a machine does not have cannot be waited for; where it is, it decides. */
static void extended_resources_need_a_node_that_offers_them(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 2, 8, 1);
    add_pod(&c, "a", "a", 9, 1, "{'cpu':'1','amd.com/gpu':1}");
    add_pod(&c, "b", "b", 8, 1, "{'cpu':'1'}");
    add_pod(&c, "h", "h", 7, 1, "{'cpu':'1','hugepages-2Mi':'4Mi'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(told(&c, "a"),
                        "can never fit: no node offers enough amd.com/gpu" OFFER_HELPS);
    assert_string_equal(told(&c, "h"),
                        "can never fit: no node offers enough hugepages-2Mi" OFFER_HELPS);
    assert_string_equal(node_of(&c, "b"), "one");
    add_node_text(&c,
                  "{'metadata':{'name':'two'},'status':{'allocatable':{'cpu':'8','memory':'8Gi',"
                  "'amd.com/gpu':'4'},'conditions':[{'type':'Ready','status':'True'}]}}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "a"), "two");
    cluster_release(&c);
}

#define RDMA_NODE(name, devices)                                                                   \
    "{'metadata':{'name':'" name "'},'status':{'allocatable':{'cpu':'8','memory':'8Gi'" devices    \
    "},'conditions':[{'type':'Ready','status':'True'}]}}"

/* As many as device plugins advertise, over all pods of a node, and no more. */
static void extended_resources_are_counted(void **state)
{
    static const char asks[] = "{'cpu':'1','rdma/hca':'1'}";
    struct json *offers;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c, RDMA_NODE("n1", ",'rdma/hca':'2'"));
    add_node_text(&c, RDMA_NODE("n2", ""));
    add_pod(&c, "", "a", 9, 1, asks);
    add_pod(&c, "", "b", 8, 1, asks);
    add_pod(&c, "", "c", 7, 1, asks);
    add_pod(&c, "", "d", 6, 1, "{'cpu':'1'}");
    add_pod(&c, "", "e", 5, 1, "{'cpu':'1','amd.com/gpu':1}");
    assert_int_equal(settle(&c), 3);
    assert_string_equal(node_of(&c, "a"), "n1");
    assert_string_equal(node_of(&c, "b"), "n1");
    assert_string_equal(node_of(&c, "c"), "");
    assert_string_equal(told(&c, "c"),
                        "waiting for resources: where there is room for a pod of it other pods "
                        "hold the rdma/hca it asks for");
    assert_string_equal(told(&c, "e"),
                        "can never fit: no node offers enough amd.com/gpu" OFFER_HELPS);
    /* plugins that start later change nothing of the node but this */
    offers = json_get_mut(json_get_mut(cluster_edit(&c, NODES, "n2"), "status"), "allocatable");
    json_set_string(&c.arena, offers, "rdma/hca", "1");
    json_set_string(&c.arena, offers, "amd.com/gpu", "1");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "e"), "n2");
    assert_string_equal(node_of(&c, "c"), "n2");
    cluster_release(&c);
}

/* Members of one group count against each other. */
static void a_gang_gets_its_extended_resources_whole(void **state)
{
    static const char asks[] = "{'cpu':'1','rdma/hca':'2'}";
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c, RDMA_NODE("n1", ",'rdma/hca':'4'"));
    add_pod(&c, "g", "g-0", 9, 3, asks);
    add_pod(&c, "g", "g-1", 9, 3, asks);
    add_pod(&c, "g", "g-2", 9, 3, asks);
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "g-0"),
                        "can never fit: its request for rdma/hca lets 2 of 3 pods run at once "
                        "(what helps: fewer replicas or more nodes)");
    add_node_text(&c, RDMA_NODE("n2", ",'rdma/hca':'3'"));
    assert_int_equal(settle(&c), 3);
    assert_string_equal(node_of(&c, "g-2"), "n2");
    cluster_release(&c);
}

#define SHARING_NODE(name, whole, shared, each)                                                    \
    "{'metadata':{'name':'" name "','annotations':{'muster.dev/gpus':'" whole                      \
    "','muster.dev/shared-gpus':'" shared "'}},'status':{'allocatable':{'cpu':'8','memory':'8Gi'," \
    "'nvidia.com/gpu':'1','nvidia.com/gpu.shared':'" each                                          \
    "'},'conditions':[{'type':'Ready','status':'True'}]}}"

static const char *gpus_of(struct cluster *c, const char *pod)
{
    return object_annotation(cluster_get(c, PODS, pod), ANNOTATION_GPUS);
}

static void shares_of_gpus_are_counted(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c, SHARING_NODE("n", "2", "0,1", "4"));
    add_pod(&c, "a", "a-0", 9, 3, "{'nvidia.com/gpu.shared':1}");
    add_pod(&c, "a", "a-1", 9, 3, "{'nvidia.com/gpu.shared':1}");
    add_pod(&c, "a", "a-2", 9, 3, "{'nvidia.com/gpu':1,'nvidia.com/gpu.shared':1}");
    add_pod(&c, "b", "b-0", 8, 2, "{'nvidia.com/gpu.shared':1}");
    add_pod(&c, "b", "b-1", 8, 2, "{'nvidia.com/gpu.shared':1}");
    add_pod(&c, "c", "c-0", 7, 1, "{'cpu':'1'}");
    add_pod(&c, "d", "d-0", 6, 1, "{'nvidia.com/gpu.shared':3}");
    add_pod(&c, "e", "e-0", 5, 1, "{'nvidia.com/gpu.shared':5}");
    assert_int_equal(settle(&c), 4);
    assert_string_equal(gpus_of(&c, "a-0"), "0");
    assert_string_equal(gpus_of(&c, "a-1"), "1");
    assert_string_equal(gpus_of(&c, "a-2"), "2,0");
    assert_string_equal(node_of(&c, "c-0"), "n");
    assert_string_equal(told(&c, "b-0"),
                        "waiting for resources: needs 2 GPU shares, 1 of 4 GPU shares is free; "
                        "job \"a\" (queue default) holds 3 GPU shares");
    /* Its shares would be of one GPU, which has two. */
    assert_string_equal(told(&c, "d-0"),
                        "can never fit: there is enough in all, but not where its pods would need "
                        "it: the largest pod asks 3 GPU shares" LESS_HELPS);
    assert_string_equal(
        told(&c, "e-0"),
        "can never fit: asks 5 GPU shares, the node has 4" MORE_HELPS("--gpu-shares"));
    cluster_release(&c);
}

static void quotas_limit_shares_of_gpus(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node_text(&c, SHARING_NODE("n", "2", "0,1", "4"));
    add_queue(&c, "q", "'quota':{'requests':{'nvidia.com/gpu.shared':'1'}}");
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "a" : "b";

        add_group(&c, name, 9 - i, 1, "'queue':'q'");
        add_pod(&c, name, name, 9 - i, 1, "{'nvidia.com/gpu.shared':1}");
    }
    assert_int_equal(settle(&c), 1);
    assert_string_equal(message_of(&c, "b"), "waiting for the quota of queue \"q\": needs 1 GPU "
                                             "share, 1 of 1 GPU share is in use; job \"a\" holds "
                                             "1 GPU share");
    assert_string_equal(json_string(json_at(cluster_get(&c, QUEUES, "q"), "status", "allocated",
                                            "nvidia.com/gpu.shared"),
                                    ""),
                        "1");
    cluster_release(&c);
}

/* Which GPUs are shared changes with the node's next start; pods run on. */
static void a_gpu_is_shared_or_whole_never_both(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c, SHARING_NODE("n", "1", "0", "2"));
    add_pod(&c, "whole", "w", 9, 1, "{'nvidia.com/gpu':1}");
    add_pod(&c, "share", "s", 9, 1, "{'nvidia.com/gpu.shared':1}");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(gpus_of(&c, "w"), "1");
    assert_string_equal(gpus_of(&c, "s"), "0");
    cluster_edit(&c, NODES, "n");
    c.items[NODES][0] = parse(&c.arena, SHARING_NODE("n", "0", "1", "2"));
    add_pod(&c, "x", "x", 8, 1, "{'nvidia.com/gpu.shared':1}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "x"),
                        "waiting for resources: no node has room for a pod of 1 GPU share at "
                        "the moment; job \"share\" (queue default) holds 1 GPU share");
    cluster_remove(&c, PODS, "w");
    add_pod(&c, "y", "y", 7, 1, "{'nvidia.com/gpu':1}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(gpus_of(&c, "x"), "1");
    cluster_remove(&c, PODS, "s");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(gpus_of(&c, "y"), "0");
    cluster_release(&c);
}

/* A device plugin picks the GPU there. */
static void a_node_may_offer_shares_and_name_no_gpus(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c,
                  "{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'8','memory':'8Gi',"
                  "'nvidia.com/gpu.shared':'2'},'conditions':[{'type':'Ready','status':'True'}]}}");
    add_pod(&c, "a", "a", 9, 1, "{'nvidia.com/gpu.shared':1}");
    add_pod(&c, "b", "b", 8, 1, "{'nvidia.com/gpu.shared':1}");
    add_pod(&c, "c", "c", 7, 1, "{'nvidia.com/gpu.shared':1}");
    assert_int_equal(settle(&c), 2);
    assert_null(gpus_of(&c, "a"));
    assert_string_equal(node_of(&c, "b"), "n");
    cluster_release(&c);
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
    pod = cluster_edit(&c, PODS, "s");
    json_set(&c.arena, json_make_object(&c.arena, pod, "spec"), "nodeSelector",
             parse(&c.arena, "{'disk':'three'}"));
    add_pod(&c, "t", "t", 5, 1, "{'cpu':'1'}");
    pod = cluster_edit(&c, PODS, "t");
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
    cluster_release(&c);
}

static void who_asks_for_one_node_is_told_of_it(void **state)
{
    struct cluster c;
    struct json *pod;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 2, 8, 0);
    add_node(&c, "two", 2, 8, 0);
    add_pod(&c, "a", "a", 9, 1, "{'cpu':'1'}");
    pod = cluster_edit(&c, PODS, "a");
    json_set(&c.arena, json_make_object(&c.arena, pod, "spec"), "affinity",
             parse(&c.arena,
                   "{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
                   "'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name','operator':'In',"
                   "'values':['three']}]}]}}}"));
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "a"), "can never fit: there is no node \"three\"");
    add_node(&c, "three", 2, 8, 0);
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "a"), "three");
    cluster_release(&c);
}

/* As a template's nodeName is told. */
static void pin(struct cluster *c, const char *pod, const char *node)
{
    json_set(&c->arena, json_make_object(&c->arena, cluster_edit(c, PODS, pod), "spec"), "affinity",
             parse(&c->arena,
                   arena_printf(&c->arena,
                                "{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
                                "{'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name',"
                                "'operator':'In','values':['%s']}]}]}}}",
                                node)));
}

static void select_disk(struct cluster *c, const char *pod, const char *disk)
{
    json_set(&c->arena, json_make_object(&c->arena, cluster_edit(c, PODS, pod), "spec"),
             "nodeSelector", parse(&c->arena, arena_printf(&c->arena, "{'disk':'%s'}", disk)));
}

static void who_asks_for_a_full_node_is_told_who_holds_it(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n1", 8, 8, 0);
    add_job(&c, "a", "default", 9, 2, 3, "");
    add_job(&c, "b", "default", 8, 1, 2, "");
    assert_int_equal(settle(&c), 3);
    add_node(&c, "n2", 8, 8, 0);
    add_job(&c, "p", "default", 7, 1, 1, "");
    pin(&c, "p-0", "n1");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(reason_of(&c, "p"), "InsufficientResources");
    assert_string_equal(told(&c, "p-0"),
                        "waiting for room on node \"n1\", which its nodeName names, where it needs "
                        "1 CPU, and 0 of 8 CPU is free; job \"a\" (queue default) holds 6 CPU "
                        "there, 1 more holds the rest");
    add_job(&c, "s", "default", 6, 3, 3, "");
    pin(&c, "s-0", "n1");
    pin(&c, "s-1", "n1");
    pin(&c, "s-2", "n1");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "s-0"),
                        "can never fit: asks 9 CPU (up to 3 a pod), node \"n1\", which its "
                        "nodeName names, has 8" FEWER_HELP);
    cluster_release(&c);
}

/* Room for a part of a gang is room. */
static void who_lacks_room_for_some_is_told_for_how_many(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n1", 8, 8, 0);
    add_node(&c, "n2", 8, 8, 0);
    add_node(&c, "n3", 4, 8, 0);
    add_job(&c, "w1", "default", 9, 4, 3, "");
    assert_int_equal(settle(&c), 4);
    add_job(&c, "w2", "default", 8, 2, 3, "");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "w2-0"),
                        "waiting for resources: there is room for 1 of 2 pods, the largest of 3 "
                        "CPU; 8 of 20 CPU is free, at most 5 on one node; job \"w1\" (queue "
                        "default) holds 12 CPU");
    cluster_release(&c);
}

static void set_ready(struct cluster *c, const char *node, bool ready)
{
    json_set(&c->arena, json_make_object(&c->arena, cluster_edit(c, NODES, node), "status"),
             "conditions",
             parse(&c->arena, ready ? "[{'type':'Ready','status':'True'}]"
                                    : "[{'type':'Ready','status':'Unknown'}]"));
}

static void what_a_lost_node_would_take_waits_for_it(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n1", 8, 8, 0);
    add_node(&c, "n2", 8, 8, 0);
    set_ready(&c, "n2", false);
    set_spec(&c, NODES, "n2", "taints",
             "[{'key':'node.kubernetes.io/unreachable','effect':'NoSchedule'}]");
    add_job(&c, "named", "default", 9, 1, 1, "");
    pin(&c, "named-0", "n2");
    add_job(&c, "gang", "default", 8, 2, 5, "");
    add_job(&c, "large", "default", 7, 1, 9, "");
    pin(&c, "large-0", "n2");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(reason_of(&c, "named"), "NodeNotReady");
    assert_string_equal(told(&c, "named-0"), "waiting for node n2, which is not ready");
    assert_string_equal(told(&c, "gang-0"), "waiting for node n2, which is not ready");
    assert_string_equal(
        told(&c, "large-0"),
        "can never fit: asks 9 CPU, node \"n2\", which its nodeName names, has 8" LESS_HELPS);
    set_spec(&c, NODES, "n2", "taints", "[]");
    set_ready(&c, "n2", true);
    assert_int_equal(settle(&c), 3);
    assert_string_equal(node_of(&c, "named-0"), "n2");
    cluster_release(&c);
}

static void what_a_cordoned_node_would_take_waits_for_it(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n1", 8, 8, 0);
    add_node(&c, "n2", 8, 8, 0);
    set_spec(&c, NODES, "n2", "unschedulable", "true");
    add_job(&c, "named", "default", 9, 1, 1, "");
    pin(&c, "named-0", "n2");
    add_job(&c, "chosen", "default", 8, 1, 1, "");
    select_disk(&c, "chosen-0", "n2");
    add_job(&c, "ghost", "default", 7, 1, 1, "");
    pin(&c, "ghost-0", "ghost");
    add_job(&c, "torn", "default", 6, 1, 1, "");
    pin(&c, "torn-0", "n1");
    select_disk(&c, "torn-0", "no");
    add_job(&c, "large", "default", 5, 1, 9, "");
    select_disk(&c, "large-0", "n2");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(reason_of(&c, "named"), "NodeCordoned");
    assert_string_equal(told(&c, "named-0"),
                        "waiting for node n2, which is cordoned (kubectl uncordon n2)");
    assert_string_equal(told(&c, "chosen-0"),
                        "waiting for node n2, which is cordoned (kubectl uncordon n2)");
    assert_string_equal(told(&c, "ghost-0"), "can never fit: there is no node \"ghost\"");
    assert_string_equal(told(&c, "torn-0"),
                        "can never fit: no node has the labels of the nodeSelector: disk=no");
    assert_string_equal(
        told(&c, "large-0"),
        "can never fit: asks 9 CPU, node \"n2\", the only one that its nodeSelector, "
        "affinity, tolerations and queue allow, has 8" LESS_HELPS);
    set_spec(&c, NODES, "n2", "unschedulable", "false");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "named-0"), "n2");
    assert_string_equal(node_of(&c, "chosen-0"), "n2");
    cluster_release(&c);
}

static void who_is_named_as_before_is_before(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n1", 8, 8, 0);
    add_node(&c, "n2", 8, 8, 0);
    add_node(&c, "n3", 4, 8, 0);
    add_namespace(&c);
    add_queue(&c, "hi", "'priority':5,'quota':{'requests':{'cpu':'8'}}");
    add_queue(&c, "lo", "'preemptible':false");
    add_job(&c, "lr", "lo", 20, 1, 2, "");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "ha", "hi", 19, 5, 1, "");
    assert_int_equal(settle(&c), 5);
    add_job(&c, "l1", "lo", 18, 5, 4, "");
    add_job(&c, "hb", "hi", 17, 4, 2, "");
    add_job(&c, "hc", "hi", 16, 1, 1, "");
    settle(&c);
    assert_string_equal(told(&c, "hc-0"),
                        "waiting for its turn: number 2 in line behind job \"hb\"");
    cluster_release(&c);
}

static void who_is_before_asks_for_the_same(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "gpus", 8, 8, 4);
    add_node(&c, "cpus", 8, 8, 0);
    add_pod(&c, "ga", "ga", 9, 1, "{'nvidia.com/gpu':2}");
    add_job(&c, "a", "default", 9, 2, 5, "");
    assert_int_equal(settle(&c), 3);
    add_job(&c, "b", "default", 8, 1, 8, "");
    add_pod(&c, "gc", "gc", 7, 1, "{'nvidia.com/gpu':3}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "gc"),
                        "waiting for resources: needs 3 GPU, 2 of 4 GPU is free; job \"ga\" (queue "
                        "default) holds 2 GPU; number 2 in line");
    assert_string_equal(reason_of(&c, "gc"), "InsufficientResources");
    add_pod(&c, "gd", "gd", 6, 1, "{'nvidia.com/gpu':3}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(reason_of(&c, "gd"), "WaitingForTurn");
    cluster_release(&c);
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
    assert_string_equal(told(&c, "c-0"), "waiting for resources: there is room for 1 of 2 pods, "
                                         "the largest of 1250m CPU; 1500m of 4 CPU is free, at "
                                         "most 1 on one node; job \"a\" (queue default) holds "
                                         "1500m CPU, 1 more holds the rest");
    cluster_release(&c);
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
                        "free; job \"large\" (queue default) holds 4 CPU, 2 more hold the rest");
    cluster_release(&c);
}

/* What is counted is on ready nodes, and so are those who are said to hold it. */
static void holders_are_those_on_the_counted_nodes(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n1", 9, 8, 0);
    add_job(&c, "e", "default", 9, 8, 1, "");
    assert_int_equal(settle(&c), 8);
    add_node(&c, "n2", 4, 8, 0);
    add_job(&c, "l", "default", 8, 5, 1, "");
    assert_int_equal(settle(&c), 5); /* one beside e, four on n2 */
    set_spec(&c, NODES, "n1", "unschedulable", "true");
    add_job(&c, "late", "default", 7, 1, 1, "");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "late-0"), "waiting for resources: needs 1 CPU, 0 of 4 CPU is "
                                            "free; job \"l\" (queue default) holds 4 CPU");
    add_job(&c, "huge", "default", 6, 1, 9, "");
    settle(&c);
    assert_string_equal(told(&c, "huge-0"),
                        "waiting for node n1, which is cordoned (kubectl uncordon n1)");
    cluster_remove(&c, NODES, "n1"); /* its pods are still being given up */
    settle(&c);
    assert_string_equal(told(&c, "late-0"), "waiting for resources: needs 1 CPU, 0 of 4 CPU is "
                                            "free; job \"l\" (queue default) holds 4 CPU");
    cluster_release(&c);
}

static void expect_counts(struct cluster *c, const char *queue, int running, int waiting)
{
    const struct json *groups = json_at(cluster_get(c, QUEUES, queue), "status", "podGroups");

    assert_int_equal(json_get_int(groups, "running", -1), running);
    assert_int_equal(json_get_int(groups, "waiting", -1), waiting);
}

/* It equals the sum of the groups' own statuses. */
static void queues_count_groups_by_their_phases(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 8, 0);
    add_queue(&c, "default", "");
    add_queue(&c, "low", "");
    add_queue(&c, "high", "'priority':1");
    add_job(&c, "gone", "default", 9, 1, 4, "");
    assert_int_equal(settle(&c), 1);
    expect_counts(&c, "default", 1, 0);
    set_deleting(&c, "gone-0");
    cluster_remove(&c, GROUPS, "gone"); /* its pod lingers */
    settle(&c);
    expect_counts(&c, "default", 0, 0);
    cluster_remove(&c, PODS, "gone-0");
    add_job(&c, "a", "low", 9, 1, 4, "");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "b", "high", 8, 1, 4, "");
    settle(&c); /* a is being stopped */
    expect_counts(&c, "low", 0, 1);
    expect_counts(&c, "high", 0, 1);
    cluster_remove(&c, PODS, "a-0");
    assert_int_equal(settle(&c), 1);
    expect_counts(&c, "high", 1, 0);
    add_group(&c, "none", 7, 1, "'queue':'low','members':1"); /* no pod of it is there */
    settle(&c);
    expect_counts(&c, "low", 0, 2);
    cluster_release(&c);
}

static const char *waiting_since_of(struct cluster *c, const char *group)
{
    return json_string(json_at(cluster_get(c, GROUPS, group), "status", "waitingSince"), "");
}

static void a_wait_begins_when_it_begins_anew(void **state)
{
    struct cluster c;
    char time[TIME_TEXT_SIZE];

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 1, 8, 0);
    add_job(&c, "a", "default", 9, 1, 1, "");
    add_job(&c, "b", "default", 8, 1, 1, "");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(waiting_since_of(&c, "a"), "");
    assert_string_equal(waiting_since_of(&c, "b"), "2026-01-01T00:00:51Z");
    set_spec(&c, GROUPS, "a", "members", "0");
    cluster_remove(&c, PODS, "a-0");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(waiting_since_of(&c, "a"), "");
    assert_string_equal(waiting_since_of(&c, "b"), "");
    c.now_ms += 100000;
    set_spec(&c, GROUPS, "a", "members", "1");
    add_pod(&c, "a", "a-0", 1, 1, "{'cpu':'1'}");
    time_format(c.now_ms, time);
    settle(&c);
    c.now_ms += 100000;
    settle(&c);
    assert_string_equal(waiting_since_of(&c, "a"), time);
    cluster_release(&c);
}

/* Nor if a node whose GPUs are all free has less CPU left than one whose GPUs are in use. */
static void ones_do_not_break_up_a_node_of_free_gpus(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n1", 64, 64, 8);
    add_pod(&c, "six", "six", 9, 1, "{'cpu':'1','nvidia.com/gpu':6}");
    assert_int_equal(settle(&c), 1);
    add_node(&c, "n2", 64, 64, 8);
    add_pod(&c, "", "busy", 8, 1, "{'cpu':'60','memory':'60Gi'}");
    select_disk(&c, "busy", "n2");
    assert_int_equal(settle(&c), 1);
    add_pod(&c, "one", "one", 7, 1, "{'cpu':'1','nvidia.com/gpu':1}");
    add_pod(&c, "eight", "eight", 6, 1, "{'cpu':'1','nvidia.com/gpu':8}");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "one"), "n1");
    assert_string_equal(node_of(&c, "eight"), "n2");
    cluster_release(&c);
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
    assert_string_equal(object_annotation(cluster_edit(&c, PODS, "a-0"), ANNOTATION_GPUS), "2,3");
    add_pod(&c, "b", "b-0", 8, 1, "{'nvidia.com/gpu':1}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(object_annotation(cluster_edit(&c, PODS, "b-0"), ANNOTATION_GPUS), "1");
    cluster_release(&c);
}

/* With overcommit CPU and memory are no reason; GPUs still are, and the pod that asks for most is
 * shown. */
static void what_helps_is_what_is_missing(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 4, 2);
    add_pod(&c, "", "gpus", 9, 1, "{'nvidia.com/gpu':3}");
    add_pod(&c, "", "all", 9, 1, "{'cpu':'5','memory':'5Gi','nvidia.com/gpu':3}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "gpus"), "can never fit: asks 3 GPU, the node has 2" MORE_HELPS(
                                              "--gpus if the machine has more"));
    assert_string_equal(
        told(&c, "all"),
        "can never fit: asks 3 GPU, the node has 2; asks 5 CPU, the node has 4; asks 5Gi memory, "
        "the node has 4Gi" MORE_HELPS("--cpus, --memory, --overcommit or --gpus if the machine has "
                                      "more"));
    cluster_release(&c);
}

/* Of every pod, whatever else is wrong with it or with the others. */
static void all_that_is_short_is_told_at_once(void **state)
{
    struct cluster c;
    struct json *pod;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 4, 2);
    add_pod(&c, "", "all", 9, 1,
            "{'cpu':'500','memory':'5Gi','nvidia.com/gpu':8,'foo.com/x':2,'bar.com/y':1}");
    add_pod(&c, "", "two", 9, 1, "{'foo.com/x':2,'bar.com/y':1}");
    add_pod(&c, "g", "g-0", 8, 2, "{'cpu':'1'}");
    add_pod(&c, "g", "g-1", 8, 2, "{'cpu':'5','memory':'5Gi','foo.com/x':1}");
    pod = cluster_edit(&c, PODS, "g-0");
    json_set(&c.arena, json_make_object(&c.arena, pod, "spec"), "nodeSelector",
             parse(&c.arena, "{'disk':'no'}"));
    assert_int_equal(settle(&c), 0);
    assert_string_equal(
        told(&c, "all"),
        "can never fit: no node offers enough foo.com/x, bar.com/y; asks 8 GPU, the node has 2; "
        "asks 500 CPU, the node has 4; asks 5Gi memory, the node has 4Gi" MORE_HELPS(
            "--cpus, --memory, --overcommit or --gpus if the machine has more"));
    assert_string_equal(told(&c, "two"),
                        "can never fit: no node offers enough foo.com/x, bar.com/y" OFFER_HELPS);
    assert_string_equal(
        told(&c, "g-1"),
        "can never fit: no node has the labels of the nodeSelector: disk=no; no node offers enough "
        "foo.com/x; asks 6 CPU (up to 5 a pod), the node has 4; asks 5Gi memory, the node has "
        "4Gi" MORE_HELPS("--cpus, --memory or --overcommit"));
    cluster_release(&c);
}

static void each_kind_of_pod_that_is_too_large_is_told(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 8, 4, 0);
    add_node(&c, "two", 4, 8, 0);
    add_pod(&c, "g", "g-0", 8, 2, "{'cpu':'9','memory':'1Gi'}");
    add_pod(&c, "g", "g-1", 8, 2, "{'cpu':'1','memory':'9Gi'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "g-0"),
                        "can never fit: a pod asks 9 CPU, the largest node has 8; a pod asks 9Gi "
                        "memory, the largest node has 8Gi" LESS_HELPS);
    cluster_release(&c);
}

static void all_that_a_quota_forbids_is_told_at_once(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_queue(&c, "q", "'quota':{'requests':{'cpu':'4','memory':'1Gi'}}");
    add_node(&c, "n", 8, 100, 0);
    add_group(&c, "g", 9, 1, "'queue':'q'");
    add_pod(&c, "g", "g-0", 9, 1, "{'cpu':'5','memory':'2Gi'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(
        told(&c, "g-0"),
        "can never fit: asks 5 CPU, the quota of queue \"q\" is 4; asks 2Gi memory, "
        "the quota of queue \"q\" is 1Gi");
    cluster_release(&c);
}

static void what_a_gang_lacks_in_all_is_told_beside_the_rest(void **state)
{
    static const char asks[] = "{'cpu':'4','rdma/hca':'2'}";
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c, RDMA_NODE("n1", ",'rdma/hca':'4'"));
    add_pod(&c, "g", "g-0", 9, 3, asks);
    add_pod(&c, "g", "g-1", 9, 3, asks);
    add_pod(&c, "g", "g-2", 9, 3, asks);
    assert_int_equal(settle(&c), 0);
    assert_string_equal(
        told(&c, "g-0"),
        "can never fit: asks 12 CPU (up to 4 a pod), the node has 8; asks 6 rdma/hca, the node has "
        "4 (what helps: smaller requests, fewer replicas, or muster up with --cpus or "
        "--overcommit)");
    cluster_release(&c);
}

/* Each is offered, but not by the same node. */
static void what_no_node_offers_together_is_told(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c, RDMA_NODE("n1", ",'foo.com/x':'2'"));
    add_node_text(&c, RDMA_NODE("n2", ",'bar.com/y':'2'"));
    add_pod(&c, "", "p", 9, 1, "{'foo.com/x':2,'bar.com/y':1}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "p"), "can never fit: no node offers all of the extended "
                                       "resources it asks for");
    cluster_release(&c);
}

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
    assert_string_equal(
        told(&c, "b-0"),
        "can never fit: asks 8 GPU (up to 4 a pod), the 2 nodes together have 4; a pod asks 4 GPU, "
        "the largest node has 2" LESS_HELPS);
    cluster_release(&c);
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
    pod = cluster_edit(&c, PODS, "x");
    json_set(&c.arena, pod, "status",
             parse(&c.arena, "{'conditions':[{'type':'Other','status':'True'},{'type':"
                             "'PodScheduled','status':'False','message':'old',"
                             "'lastTransitionTime':'2020-01-01T00:00:00Z'}]}"));
    settle(&c);
    pod = cluster_edit(&c, PODS, "x");
    assert_non_null(object_condition(pod, "Other"));
    assert_int_equal(json_len(json_at(pod, "status", "conditions")), 2);
    assert_string_equal(
        json_get_string(object_condition(pod, "PodScheduled"), "lastTransitionTime", ""),
        "2020-01-01T00:00:00Z");
    assert_string_equal(json_get_string(object_condition(pod, "PodScheduled"), "reason", ""),
                        "Unschedulable");
    cluster_release(&c);
}

/* kube-apiserver answers with lastProbeTime: null beside what was written. */
static void members_of_the_server_are_no_change(void **state)
{
    struct cluster c;
    struct json *pod, *condition;
    struct plan plan;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 1, 1, 0);
    add_pod(&c, "", "x", 9, 1, "{'cpu':'2'}");
    settle(&c);
    pod = cluster_edit(&c, PODS, "x");
    condition = json_first_mut(json_get_mut(json_get_mut(pod, "status"), "conditions"));
    assert_string_equal(json_get_string(condition, "type", ""), "PodScheduled");
    json_set(&c.arena, condition, "lastProbeTime", json_new_null(&c.arena));
    look(&c, &plan);
    assert_true(plan_is_empty(&plan));
    cluster_release(&c);
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
    cluster_release(&c);
}

/* --- order ------------------------------------------------------------------------------------ */

/* Times are whole seconds: who came first in one is decided by what the API counts. */
static void ties_go_by_who_came_first(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 1, 8, 0);
    add_pod(&c, "b", "b", 5, 1, "{'cpu':'1'}");
    add_pod(&c, "a", "a", 5, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "b"), "n");
    cluster_release(&c);
}

static void priority_goes_before_age(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 1, 8, 0);
    add_job(&c, "old", "default", 9, 1, 1, "'priority':10");
    add_job(&c, "urgent", "default", 1, 1, 1, "'priority':90");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "urgent-0"), "n");
    assert_string_equal(told(&c, "old-0"),
                        "waiting for resources: needs 1 CPU, 0 of 1 CPU is free; "
                        "job \"urgent\" (queue default) holds 1 CPU");
    cluster_release(&c);
}

/* The facts' example: A {cpu 3/6, mem 5/8} is 5/8, B {cpu 3/8, mem 1/2} is 1/2: B goes first. */
static void the_queue_with_the_smaller_dominant_share_goes_first(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 7, 100, 0);
    add_queue(&c, "A", "'quota':{'requests':{'cpu':'6','memory':'8Gi'}}");
    add_queue(&c, "B", "'quota':{'requests':{'cpu':'8','memory':'4Gi'}}");
    add_group(&c, "a", 9, 1, "'queue':'A'");
    add_pod(&c, "a", "a-0", 9, 1, "{'cpu':'3','memory':'5Gi'}");
    add_group(&c, "b", 9, 1, "'queue':'B'");
    add_pod(&c, "b", "b-0", 9, 1, "{'cpu':'3','memory':'2Gi'}");
    assert_int_equal(settle(&c), 2);
    add_group(&c, "a2", 8, 1, "'queue':'A'");
    add_pod(&c, "a2", "a2-0", 8, 1, "{'cpu':'1'}");
    add_group(&c, "b2", 1, 1, "'queue':'B'");
    add_pod(&c, "b2", "b2-0", 1, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "b2-0"), "n");
    assert_string_equal(node_of(&c, "a2-0"), "");
    cluster_release(&c);
}

static void a_higher_queue_goes_first(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 1, 8, 0);
    add_queue(&c, "low", "'priority':1");
    add_queue(&c, "high", "'priority':2");
    add_job(&c, "l", "low", 9, 1, 1, "'priority':100");
    add_job(&c, "h", "high", 1, 1, 1, "");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "h-0"), "n");
    cluster_release(&c);
}

/* --- preemption ------------------------------------------------------------------------------- */

static void worked_example(struct cluster *c)
{
    cluster_init(c);
    add_namespace(c);
    add_node(c, "n", 300, 100, 0);
    add_queue(c, "A", "'priority':1,'quota':{'requests':{'cpu':'200'}}");
    add_queue(c, "B", "'priority':1,'quota':{'requests':{'cpu':'100'}}");
    add_queue(c, "C", "'priority':2,'quota':{'requests':{'cpu':'50'}}");
    add_queue(c, "D", "'priority':2,'quota':{'requests':{'cpu':'200'}}");
    add_job(c, "a1", "A", 20, 1, 50, "");
    add_job(c, "a2", "A", 19, 1, 50, "");
    add_job(c, "a3", "A", 18, 1, 50, "");
    add_job(c, "b1", "B", 17, 1, 50, "");
    add_job(c, "c1", "C", 16, 1, 50, "");
    add_job(c, "d1", "D", 15, 1, 50, "");
    assert_int_equal(settle(c), 6);
}

static void preemption_as_the_facts_have_it(void **state)
{
    struct cluster c;

    (void)state;
    worked_example(&c);
    add_job(&c, "new", "B", 1, 1, 50, ""); /* no room, no lower queue */
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 0);
    assert_string_equal(reason_of(&c, "new"), "InsufficientResources");
    cluster_release(&c);

    worked_example(&c);
    add_job(&c, "new", "C", 1, 1, 50, ""); /* blocked by quota */
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 0);
    assert_string_equal(reason_of(&c, "new"), "QuotaExceeded");
    assert_string_equal(message_of(&c, "new"),
                        "waiting for the quota of queue \"C\": needs 50 CPU, 50 of 50 CPU is in "
                        "use; job \"c1\" holds 50 CPU");
    cluster_release(&c);

    worked_example(&c);
    add_job(&c, "new", "D", 1, 1, 50, ""); /* evicts A3 */
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 1);
    assert_true(object_is_deleting(cluster_get(&c, PODS, "a3-0")));
    assert_string_equal(reason_of(&c, "a3"), "Preempted");
    assert_string_equal(message_of(&c, "a3"),
                        "waiting again: number 2 in line; 1 of its own pods is still "
                        "stopping; its room was taken by job \"new\" of queue \"D\" (priority 2)");
    settle(&c);
    assert_int_equal(c.deletes, 1);  /* evicted once */
    set_phase(&c, "a3-0", "Failed"); /* stopped, and there still */
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "new-0"), "n");
    cluster_remove(&c, PODS, "a3-0");
    assert_int_equal(settle(&c), 0);
    add_pod(&c, "a3", "a3-0", 1, 1, "{'cpu':'50'}"); /* its job makes it again */
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "a3-0"),
                        "waiting for resources: needs 50 CPU, 0 of 300 CPU is free; job \"a1\" "
                        "(queue A) holds 50 CPU, 5 more hold the rest; its room was taken by job "
                        "\"new\" of queue \"D\" (priority 2)");
    set_phase(&c, "d1-0", "Succeeded");
    set_spec(&c, GROUPS, "d1", "members", "0");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "a3-0"), "n");
    assert_string_equal(reason_of(&c, "a3"), "");
    cluster_release(&c);
}

/* h1's share is larger than h2's: without the right it has from the eviction h2 would go first. */
static void room_that_is_made_for_a_group_is_its_own(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 5, 100, 0);
    add_queue(&c, "low", "'priority':1");
    add_queue(&c, "h1", "'priority':2");
    add_queue(&c, "h2", "'priority':2");
    add_job(&c, "old", "h1", 9, 1, 1, "");
    add_job(&c, "victim", "low", 9, 2, 2, "");
    assert_int_equal(settle(&c), 3);
    add_job(&c, "taker", "h1", 5, 1, 4, "");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 2);
    assert_string_equal(reason_of(&c, "victim"), "Preempted");
    assert_string_equal(message_of(&c, "taker"), "waiting for 2 pods of job \"victim\" to stop");
    add_job(&c, "younger", "h2", 1, 1, 4, "");
    assert_int_equal(settle(&c), 0);
    cluster_remove(&c, PODS, "victim-0");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "taker-0"), "waiting for 1 pod of job \"victim\" to stop");
    json_set_int(&c.arena, json_get_mut(cluster_edit(&c, PODS, "victim-1"), "metadata"),
                 "deletionGracePeriodSeconds", 100000);
    c.now_ms += 1000;
    settle(&c);
    assert_string_equal(told(&c, "taker-0"), "waiting for 1 pod of job \"victim\" to stop, until "
                                             "2026-01-01T01:00:00Z at the latest");
    ledger_free(c.ledger); /* the next scheduler reads it in the status */
    c.ledger = cluster_ledger(&c);
    cluster_remove(&c, PODS, "victim-1");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "taker-0"), "n");
    cluster_release(&c);
}

/* Of those that count the same the fewest go, not the youngest. */
static void as_few_as_are_needed_go(void **state)
{
    static const struct {
        int cpu, takes, holds[5];
        const char *go;
    } cases[] = {
        {9, 4, {5, 1, 1, 1, 1}, "v0 "},
        {9, 4, {4, 3, 2}, "v0 "},
        {9, 4, {4, 4, 1}, "v1 "}, /* the younger of two that would do */
        {12, 7, {4, 4, 2, 1, 1}, "v0 v1 "},
        {12, 8, {3, 5, 2, 2}, "v0 v1 "},
        {8, 4, {2, 2, 2, 2}, "v2 v3 "},
        {10, 4, {3, 3, 2, 2}, "v2 v3 "}, /* as few, and younger */
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct cluster c;
        const char *gone = "";

        cluster_init(&c);
        add_namespace(&c);
        add_node(&c, "n", cases[i].cpu, 100, 0);
        add_queue(&c, "high", "'priority':2");
        for (int k = 0; k < 5 && cases[i].holds[k]; k++)
            add_job(&c, arena_printf(&c.arena, "v%d", k), "default", 20 - k, 1, cases[i].holds[k],
                    "");
        settle(&c);
        add_job(&c, "taker", "high", 1, 1, cases[i].takes, "");
        settle(&c);
        for (int k = 0; k < 5 && cases[i].holds[k]; k++)
            if (object_is_deleting(cluster_get(&c, PODS, arena_printf(&c.arena, "v%d-0", k))))
                gone = arena_printf(&c.arena, "%sv%d ", gone, k);
        assert_string_equal(gone, cases[i].go);
        cluster_release(&c);
    }
}

/* What is free where it waits belongs to who goes before it. */
/* When they have stopped the victim claims what the taker leaves. */
static void who_waits_behind_the_victim_does_not_wait_for_its_pods(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 100, 0);
    add_queue(&c, "high", "'priority':2");
    add_job(&c, "victim", "default", 9, 1, 3, "");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "taker", "high", 5, 1, 2, "");
    add_job(&c, "small", "default", 1, 1, 2, "");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(place_of(&c, "victim"), 2);
    assert_string_equal(message_of(&c, "small"),
                        "waiting for its turn: number 3 in line behind job \"taker\"");
    cluster_remove(&c, PODS, "victim-0");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(message_of(&c, "small"),
                        "waiting for its turn: number 2 in line behind job \"victim\"");
    cluster_release(&c);
}

static void which_pods_stop_is_told_anew_however_far_behind(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 12, 100, 0);
    add_queue(&c, "high", "'priority':2");
    add_queue(&c, "full", "'priority':1,'preemptible':false,'quota':{'requests':{'cpu':'2'}}");
    add_job(&c, "holder", "full", 20, 1, 2, "");
    add_group(&c, "victim", 19, 2, "'members':2");
    add_pod(&c, "victim", "victim-0", 19, 2, "{'cpu':'6'}");
    add_pod(&c, "victim", "victim-1", 19, 2, "{'cpu':'4'}");
    assert_int_equal(settle(&c), 3);
    for (int i = 0; i < 20; i++)
        add_job(&c, arena_printf(&c.arena, "q%d", i), "full", 18, 1, 1, "");
    add_job(&c, "taker", "high", 5, 1, 5, "");
    add_job(&c, "small", "default", 1, 1, 5, "'priority':1"); /* before the victim */
    assert_int_equal(settle(&c), 0);
    assert_string_equal(message_of(&c, "small"), "waiting for 2 pods of job \"victim\" to stop");
    cluster_remove(&c, PODS, "victim-1");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(message_of(&c, "small"), "waiting for 1 pod of job \"victim\" to stop");
    cluster_remove(&c, PODS, "victim-0");
    assert_int_equal(settle(&c), 2); /* as it was told */
    cluster_release(&c);
}

/* Some of its pods are there again, others not gone yet. */
static void who_was_preempted_waits_for_its_own_pods(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 2, 100, 0);
    add_queue(&c, "high", "'priority':2");
    add_job(&c, "victim", "default", 9, 2, 1, "");
    assert_int_equal(settle(&c), 2);
    add_job(&c, "taker", "high", 5, 1, 2, "");
    assert_int_equal(settle(&c), 0);
    cluster_remove(&c, PODS, "victim-0");
    add_pod(&c, "victim", "victim-0", 1, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(reason_of(&c, "victim"), "Preempted");
    assert_string_equal(told(&c, "victim-0"),
                        "waiting again: number 2 in line; 1 of its own pods is still "
                        "stopping; its room was taken by job \"taker\" of queue \"high\" (priority "
                        "2)");
    cluster_release(&c);
}

/* What is left when the taker has its room is the victim's, although no pod of it exists; younger
 * ones, and lower queues, wait. */
static void who_was_preempted_keeps_its_place_while_it_has_no_pods(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 100, 0);
    add_queue(&c, "low", "");
    add_queue(&c, "mid", "'priority':1");
    add_queue(&c, "high", "'priority':2");
    add_job(&c, "victim", "mid", 9, 2, 2, "");
    assert_int_equal(settle(&c), 2);
    add_job(&c, "younger", "mid", 5, 1, 2, "");
    add_job(&c, "lower", "low", 8, 1, 1, "");
    add_job(&c, "taker", "high", 4, 1, 1, "");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 2);
    assert_int_equal(place_of(&c, "victim"), 2);
    cluster_remove(&c, PODS, "victim-1");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "taker-0"), "n");
    assert_int_equal(place_of(&c, "victim"), 1);
    cluster_remove(&c, PODS, "victim-0"); /* 3 of 4 CPU are free, and it needs all 4 */
    assert_int_equal(settle(&c), 0);
    assert_string_equal(reason_of(&c, "victim"), "Preempted");
    assert_string_equal(message_of(&c, "victim"),
                        "waiting again: number 1 in line; 2 of its pods are not created "
                        "yet; its room was taken by job \"taker\" of queue \"high\" (priority 2)");
    assert_string_equal(message_of(&c, "younger"),
                        "waiting for its turn: number 2 in line behind job \"victim\"");
    set_phase(&c, "taker-0", "Succeeded");
    set_spec(&c, GROUPS, "taker", "members", "0"); /* now it fits, and still has no pods */
    assert_int_equal(settle(&c), 0);
    ledger_free(c.ledger); /* the next scheduler reads it in the status */
    c.ledger = cluster_ledger(&c);
    assert_int_equal(settle(&c), 0);
    add_pod(&c, "victim", "victim-0", 1, 2, "{'cpu':'2'}");
    assert_int_equal(settle(&c), 0);
    add_pod(&c, "victim", "victim-1", 1, 2, "{'cpu':'2'}");
    assert_int_equal(settle(&c), 2);
    assert_null(json_at(cluster_get(&c, GROUPS, "victim"), "status", "awaited"));
    cluster_release(&c);
}

/* The head waits for the end of all that hold GPUs, and then there is room for everyone; but the
 * preempted job could start now. */
static void who_was_preempted_keeps_free_room_that_the_head_does_not_need_yet(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 7, 100, 2);
    add_queue(&c, "high", "'priority':2");
    add_pod(&c, "", "a", 9, 1, "{'cpu':'3','nvidia.com/gpu':'1'}");
    add_pod(&c, "", "b", 9, 1, "{'cpu':'1','nvidia.com/gpu':'1'}");
    add_job(&c, "victim", "default", 7, 1, 3, "");
    assert_int_equal(settle(&c), 3);
    add_pod(&c, "", "head", 8, 1, "{'cpu':'2','nvidia.com/gpu':'2'}");
    assert_int_equal(settle(&c), 0);
    add_job(&c, "taker", "high", 5, 1, 3, "");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(reason_of(&c, "victim"), "Preempted");
    cluster_remove(&c, PODS, "victim-0");
    assert_int_equal(settle(&c), 1);
    set_phase(&c, "taker-0", "Succeeded");
    set_spec(&c, GROUPS, "taker", "members", "0");
    add_job(&c, "young", "default", 4, 1, 2, "");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(message_of(&c, "young"),
                        "waiting for its turn: number 3 in line behind job \"victim\"");
    add_pod(&c, "victim", "victim-0", 1, 1, "{'cpu':'3'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "victim-0"), "n");
    cluster_release(&c);
}

/* As those it was evicted from: where it may not run others may. */
static void who_was_preempted_waits_for_nodes_it_may_use(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "a", 2, 100, 0);
    add_node(&c, "b", 2, 100, 0);
    add_queue(&c, "high", "'priority':2");
    add_job(&c, "victim", "default", 9, 1, 2, "");
    set_spec(&c, PODS, "victim-0", "nodeSelector", "{'disk':'a'}");
    add_job(&c, "other", "default", 8, 1, 2, "");
    assert_int_equal(settle(&c), 2);
    add_job(&c, "taker", "high", 5, 1, 2, "");
    set_spec(&c, PODS, "taker-0", "nodeSelector", "{'disk':'a'}");
    add_job(&c, "younger", "default", 1, 1, 2, "");
    assert_int_equal(settle(&c), 0);
    assert_true(object_is_deleting(cluster_get(&c, PODS, "victim-0")));
    cluster_remove(&c, PODS, "victim-0");
    assert_int_equal(settle(&c), 1);
    set_phase(&c, "other-0", "Succeeded");
    set_spec(&c, GROUPS, "other", "members", "0");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "younger-0"), "b");
    cluster_release(&c);
}

/* Its stopping pods are gone before it has new ones: with what they hold and what has become free
 * elsewhere it is whole, whichever room it chose to wait for before. */
static void who_was_preempted_keeps_what_makes_it_whole_with_its_own_room(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "a", 4, 100, 0);
    add_node(&c, "b", 4, 100, 0);
    add_queue(&c, "low", "");
    add_queue(&c, "mid", "'priority':1");
    add_queue(&c, "high", "'priority':2");
    add_job(&c, "stays", "high", 9, 1, 2, "");
    pin(&c, "stays-0", "a");
    add_job(&c, "ends", "high", 8, 1, 2, "");
    pin(&c, "ends-0", "b");
    add_job(&c, "victim", "mid", 7, 2, 2, "");
    assert_int_equal(settle(&c), 4);
    add_job(&c, "taker", "high", 5, 1, 2, "");
    pin(&c, "taker-0", "b");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 2);
    assert_string_equal(node_of(&c, "victim-1"), "b");
    cluster_remove(&c, PODS, "victim-1");
    assert_int_equal(settle(&c), 1);
    set_phase(&c, "ends-0", "Succeeded");
    set_spec(&c, GROUPS, "ends", "members", "0");
    add_job(&c, "lower", "low", 4, 1, 2, "");
    assert_int_equal(settle(&c), 0);
    cluster_remove(&c, PODS, "victim-0");
    add_pod(&c, "victim", "victim-0", 1, 2, "{'cpu':'2'}");
    add_pod(&c, "victim", "victim-1", 1, 2, "{'cpu':'2'}");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "lower-0"), "");
    cluster_release(&c);
}

/* Nor does it lose its place to another queue for the pods it is losing. */
static void what_the_preempted_loses_is_not_counted_against_it(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 6, 100, 0);
    add_queue(&c, "q1", "'priority':1,'quota':{'requests':{'cpu':'4'}}");
    add_queue(&c, "q2", "'priority':1");
    add_queue(&c, "high", "'priority':2");
    add_job(&c, "victim", "q1", 9, 1, 4, "");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "taker", "high", 5, 1, 4, "");
    assert_int_equal(settle(&c), 0);
    add_job(&c, "younger", "q2", 1, 1, 5, "");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(place_of(&c, "taker"), 1);
    assert_int_equal(place_of(&c, "victim"), 2);
    assert_int_equal(place_of(&c, "younger"), 3);
    cluster_release(&c);
}

/* A paused job wants no pods, and one that is told its pods itself gets no others. */
static void who_was_preempted_and_wants_no_pods_is_in_no_line(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 2, 100, 0);
    add_queue(&c, "high", "'priority':2");
    add_job(&c, "victim", "default", 9, 1, 2, "");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "taker", "high", 5, 1, 2, "");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(place_of(&c, "victim"), 2);
    set_spec(&c, GROUPS, "victim", "members", "0");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(place_of(&c, "victim"), 0);
    cluster_remove(&c, PODS, "victim-0");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(
        json_string(json_at(cluster_get(&c, GROUPS, "victim"), "status", "phase"), ""), "Paused");
    cluster_release(&c);
}

/* The scheduler dies when it has written the preemption and stopped one pod; then the taker goes.
 */
static void a_preemption_is_called_off_when_its_taker_is_gone(void **state)
{
    for (int again = 0; again < 2; again++) {
        struct cluster c;
        struct plan plan;

        (void)state;
        cluster_init(&c);
        add_namespace(&c);
        add_node(&c, "n", 2, 100, 0);
        add_queue(&c, "high", "'priority':2");
        add_job(&c, "victim", "default", 9, 2, 1, "");
        assert_int_equal(settle(&c), 2);
        add_job(&c, "taker", "high", 5, 1, 2, "");
        look(&c, &plan);
        for (const struct plan_step *s = plan.first; s; s = s->next)
            if (s->op != PLAN_EVICT || strcmp(s->name, "victim-0") == 0)
                cluster_apply(&c, s);
        assert_int_equal(c.deletes, 1);
        assert_string_equal(reason_of(&c, "victim"), "Preempted");
        cluster_remove(&c, PODS, "taker-0");
        cluster_remove(&c, GROUPS, "taker");
        if (again) {
            ledger_free(c.ledger);
            c.ledger = cluster_ledger(&c);
        }
        assert_int_equal(settle(&c), 0);
        assert_int_equal(c.deletes, 1);
        assert_false(object_is_deleting(cluster_get(&c, PODS, "victim-1")));
        assert_null(object_condition(cluster_get(&c, GROUPS, "victim"), "Preempted"));
        cluster_remove(&c, PODS, "victim-0");
        add_pod(&c, "victim", "victim-0", 1, 2, "{'cpu':'1'}");
        assert_int_equal(settle(&c), 1);
        cluster_release(&c);
    }
}

/* Half of it runs, for nothing, and those before it in line wait for its end. */
static void a_broken_gang_gets_what_it_misses_first(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_queue(&c, "safe", "'priority':0,'preemptible':false");
    add_queue(&c, "high", "'priority':5");
    add_node(&c, "a", 2, 100, 0);
    add_node(&c, "b", 2, 100, 0);
    add_job(&c, "gang", "safe", 1, 2, 2, "");
    assert_int_equal(settle(&c), 2);
    add_job(&c, "first", "high", 9, 2, 2, "");
    assert_int_equal(settle(&c), 0);
    set_spec(&c, NODES, "b", "unschedulable", "true");
    cluster_remove(&c, PODS, strcmp(node_of(&c, "gang-0"), "b") == 0 ? "gang-0" : "gang-1");
    assert_int_equal(settle(&c), 0);
    set_spec(&c, NODES, "b", "unschedulable", "false");
    add_pod(&c, "gang", cluster_get(&c, PODS, "gang-0") ? "gang-1" : "gang-0", 1, 2, "{'cpu':'2'}");
    assert_int_equal(settle(&c), 1);
    assert_string_not_equal(node_of(&c, "gang-0"), "");
    assert_string_not_equal(node_of(&c, "gang-1"), "");
    cluster_release(&c);
}

static void a_class_that_never_preempts_waits(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_queue(&c, "low", "'priority':1");
    add_queue(&c, "high", "'priority':5");
    add_node(&c, "a", 2, 100, 0);
    add_job(&c, "low", "low", 1, 1, 2, "");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "patient", "high", 9, 1, 2, "");
    set_spec(&c, PODS, "patient-0", "preemptionPolicy", "'Never'");
    assert_int_equal(settle(&c), 0);
    assert_false(object_is_deleting(cluster_get(&c, PODS, "low-0")));
    set_spec(&c, PODS, "patient-0", "preemptionPolicy", "'PreemptLowerPriority'");
    (void)settle(&c);
    assert_true(!cluster_get(&c, PODS, "low-0") ||
                object_is_deleting(cluster_get(&c, PODS, "low-0")));
    cluster_release(&c);
}

/* It has got one of two: what the other waits for is not given away in the same decision. */
static void a_broken_gang_claims_room_for_all_it_misses(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_queue(&c, "high", "'priority':5");
    add_node(&c, "a", 2, 100, 0);
    add_node(&c, "b", 4, 100, 0);
    add_job(&c, "gang", "high", 9, 3, 2, "");
    assert_int_equal(settle(&c), 3);
    set_spec(&c, NODES, "b", "unschedulable", "true");
    for (size_t i = c.len[PODS]; i-- > 0;)
        if (strcmp(node_of(&c, object_name(c.items[PODS][i])), "b") == 0)
            cluster_remove(&c, PODS, object_name(c.items[PODS][i]));
    assert_int_equal(settle(&c), 0);
    for (int i = 0; i < 3; i++) {
        const char *name = arena_printf(&c.arena, "gang-%d", i);

        if (!cluster_get(&c, PODS, name))
            add_pod(&c, "gang", name, 9, 3, "{'cpu':'2'}");
    }
    add_node(&c, "c", 4, 100, 0);
    add_pod(&c, "", "other", 1, 1, "{'cpu':'1'}");
    json_set_string(&c.arena, json_make_object(&c.arena, cluster_edit(&c, PODS, "other"), "spec"),
                    "nodeName", "c");
    add_job(&c, "small", "default", 1, 1, 1, "");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "small-0"), "");
    cluster_release(&c);
}

/* Where its own pods stay no other of them can ever run: it claims nothing there, and says what it
 * waits for instead. */
static void a_broken_gang_claims_no_room_beside_its_own(void **state)
{
    struct cluster c;
    struct plan plan;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "a", 4, 100, 0);
    add_node(&c, "b", 3, 100, 0);
    add_job(&c, "gang", "default", 9, 2, 3, "");
    assert_int_equal(settle(&c), 2);
    cluster_remove(&c, NODES, "b");
    add_node_text(&c, "{'metadata':{'name':'b'},'status':{'capacity':{'cpu':'3','pods':'100'},"
                      "'conditions':[{'type':'Ready','status':'Unknown'}]}}");
    for (int i = 0; i < 2; i++) {
        const char *name = arena_printf(&c.arena, "gang-%d", i);

        if (strcmp(node_of(&c, name), "b") == 0) {
            cluster_remove(&c, PODS, name);
            add_pod(&c, "gang", name, 9, 2, "{'cpu':'3'}");
        }
    }
    add_job(&c, "small", "default", 1, 1, 1, "");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "small-0"), "a");
    assert_string_equal(told(&c, "gang-0"), "waiting for node b, which is not ready");
    cluster_remove(&c, NODES, "b");
    look(&c, &plan);
    c.now_ms = plan.wake_at_ms;
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 1); /* it would hold the other 3 CPU for nothing */
    cluster_release(&c);
}

/* Its quota was cut below what it needs and a node was lost: the half that runs could only wait. */
static void a_broken_gang_its_quota_cannot_hold_is_stopped(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_queue(&c, "q", "'quota':{'requests':{'cpu':'8'}}");
    add_node(&c, "a", 4, 100, 0);
    add_node(&c, "b", 4, 100, 0);
    add_job(&c, "gang", "q", 9, 4, 2, "");
    assert_int_equal(settle(&c), 4);
    set_spec(&c, QUEUES, "q", "quota", "{'requests':{'cpu':'6'}}");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 0); /* what runs is not stopped */
    set_spec(&c, NODES, "b", "unschedulable", "true");
    for (int i = 0; i < 4; i++) {
        const char *name = arena_printf(&c.arena, "gang-%d", i);

        if (strcmp(node_of(&c, name), "b") == 0) {
            cluster_remove(&c, PODS, name);
            add_pod(&c, "gang", name, 9, 4, "{'cpu':'2'}");
        }
    }
    add_node(&c, "c", 4, 100, 0);
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 2);
    assert_string_equal(reason_of(&c, "gang"), "Preempted");
    assert_string_equal(message_of(&c, "gang"),
                        "waiting for 2 of its own pods to stop; it was stopped: it lacks members, "
                        "and the quota of queue \"q\" no longer holds all it needs");
    for (int i = 0; i < 4; i++) {
        const char *name = arena_printf(&c.arena, "gang-%d", i);

        if (*node_of(&c, name)) {
            cluster_remove(&c, PODS, name);
            add_pod(&c, "gang", name, 9, 4, "{'cpu':'2'}");
        }
    }
    add_job(&c, "other", "q", 1, 3, 2, "");
    assert_int_equal(settle(&c), 3);
    assert_string_equal(reason_of(&c, "gang"), "QuotaForbids");
    set_phase(&c, "other-0", "Succeeded");
    set_phase(&c, "other-1", "Succeeded");
    set_phase(&c, "other-2", "Succeeded");
    set_spec(&c, GROUPS, "other", "members", "0");
    set_spec(&c, QUEUES, "q", "quota", "{'requests':{'cpu':'8'}}");
    assert_int_equal(settle(&c), 4);
    cluster_release(&c);
}

/* A group that runs is asked to grow beyond its quota: what runs goes on. */
static void a_group_that_is_asked_to_grow_is_not_stopped(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_queue(&c, "q", "'quota':{'requests':{'cpu':'4'}}");
    add_node(&c, "n", 8, 100, 0);
    add_group(&c, "g", 9, 3, "'queue':'q'");
    for (int i = 0; i < 3; i++)
        add_pod(&c, "g", arena_printf(&c.arena, "g-%d", i), 9, 3, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 3);
    set_spec(&c, GROUPS, "g", "minMember", "5");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(reason_of(&c, "g"), "InsufficientMember");
    assert_string_equal(message_of(&c, "g"), "waiting for pods: 3 of 5 are there");
    assert_false(object_condition_is(cluster_get(&c, GROUPS, "g"), "SufficientGroupMember"));
    add_pod(&c, "g", "g-3", 9, 5, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(message_of(&c, "g"), "waiting for pods: 4 of 5 are there");
    add_pod(&c, "g", "g-4", 9, 5, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 0);
    assert_string_equal(message_of(&c, "g"), "");
    assert_true(object_condition_is(cluster_get(&c, GROUPS, "g"), "SufficientGroupMember"));
    assert_string_equal(told(&c, "g-4"),
                        "can never fit: asks 5 CPU, the quota of queue \"q\" is 4");
    add_job(&c, "other", "q", 8, 1, 1, "");
    set_phase(&c, "g-0", "Succeeded");
    assert_int_equal(settle(&c), 1); /* nor is it stopped when a member has ended */
    assert_int_equal(c.deletes, 0);
    cluster_release(&c);
}

/* One that has failed for good makes room for those that still wait. */
static void an_elastic_job_keeps_no_room_for_its_dead(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_queue(&c, "q", "'quota':{'requests':{'cpu':'4'}}");
    add_node(&c, "n", 8, 100, 0);
    add_job(&c, "e", "q", 9, 6, 1, "");
    set_spec(&c, GROUPS, "e", "minMember", "1");
    assert_int_equal(settle(&c), 4);
    set_phase(&c, "e-2", "Failed"); /* and may come again */
    assert_int_equal(settle(&c), 0);
    set_spec(&c, GROUPS, "e", "members", "5");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "e-4"), "n");
    assert_string_equal(told(&c, "e-5"),
                        "waiting for the quota of queue \"q\": needs 1 CPU, 4 of 4 CPU is in use; "
                        "it holds 4 CPU itself");
    cluster_release(&c);
}

static void who_may_not_be_preempted_is_not(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 100, 0);
    add_queue(&c, "safe", "'priority':1,'preemptible':false");
    add_queue(&c, "low", "'priority':1");
    add_queue(&c, "high", "'priority':2");
    add_job(&c, "s", "safe", 9, 2, 1, "");
    add_job(&c, "l", "low", 8, 2, 1, "");
    assert_int_equal(settle(&c), 4);
    add_job(&c, "h", "high", 1, 3, 1, ""); /* even without l there is not enough */
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 0);
    add_job(&c, "k", "high", 2, 2, 1, "'priority':9");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 2); /* the whole group */
    assert_true(object_is_deleting(cluster_get(&c, PODS, "l-1")));
    cluster_release(&c);
}

/* A scheduler that starts, or whose watch of PodGroups is behind that of pods. */
static void who_is_in_a_queue_unknown_is_not_preempted(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 2, 100, 0);
    add_queue(&c, "mid", "'priority':1");
    add_queue(&c, "high", "'priority':2");
    add_job(&c, "h", "high", 9, 2, 1, "");
    assert_int_equal(settle(&c), 2);
    cluster_remove(&c, GROUPS, "h");
    ledger_free(c.ledger);
    c.ledger = cluster_ledger(&c);
    add_job(&c, "m", "mid", 1, 1, 1, "");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 0);
    cluster_release(&c);
}

static const struct json *places_of(const struct json *group)
{
    return json_at(group, "status", "placements");
}

/* Its places are recorded, and its pods not bound yet. */
static void record_only(struct cluster *c)
{
    struct plan plan;

    look(c, &plan);
    for (const struct plan_step *s = plan.first; s; s = s->next)
        if (s->op == PLAN_UPDATE_STATUS)
            cluster_apply(c, s);
}

/* The server counts what is recorded until it is written otherwise. */
static void places_are_given_back_before_others_take_them(void **state)
{
    struct cluster c;
    struct plan plan;
    int given_back = 0, taken = 0, at = 0;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n1", 2, 100, 0);
    add_queue(&c, "q", "'quota':{'requests':{'cpu':'2'}}");
    add_job(&c, "a", "q", 9, 2, 1, "");
    record_only(&c);
    assert_int_equal(json_len(places_of(cluster_get(&c, GROUPS, "a"))), 1);
    cluster_remove(&c, NODES, "n1");
    add_node(&c, "n2", 1, 100, 0); /* too small for a */
    add_job(&c, "b", "q", 1, 1, 1, "");
    look(&c, &plan);
    for (const struct plan_step *s = plan.first; s; s = s->next, at++) {
        if (s->op != PLAN_UPDATE_STATUS || s->kind != &kind_pod_group)
            continue;
        if (json_len(places_of(s->object)) > 0)
            taken = at;
        else if (strcmp(object_name(s->object), "a") == 0)
            given_back = at;
    }
    assert_true(taken > given_back);
    cluster_release(&c);
}

/* So do those that give more back than they take. */
static void what_is_exchanged_is_written_before_others_take(void **state)
{
    struct cluster c;
    struct plan plan;
    int exchanged = 0, taken = 0, at = 1;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n1", 2, 100, 0);
    add_node(&c, "n2", 1, 100, 0);
    add_queue(&c, "q", "'quota':{'requests':{'cpu':'3'}}");
    add_job(&c, "e", "q", 9, 3, 1, "");
    set_spec(&c, GROUPS, "e", "minMember", "1");
    assert_int_equal(settle(&c), 3);
    cluster_remove(&c, NODES, "n1");
    cluster_remove(&c, PODS, "e-0");
    add_job(&c, "b", "q", 1, 1, 1, "");
    cluster_remove(&c, PODS, "e-1");
    add_pod(&c, "e", "e-3", 0, 3, "{'cpu':'1'}");
    set_spec(&c, GROUPS, "e", "members", "2");
    add_node(&c, "n3", 2, 100, 0);
    look(&c, &plan);
    for (const struct plan_step *s = plan.first; s; s = s->next, at++) {
        if (s->op != PLAN_UPDATE_STATUS || s->kind != &kind_pod_group)
            continue;
        if (strcmp(object_name(s->object), "b") == 0 && json_len(places_of(s->object)) > 0)
            taken = at;
        else if (strcmp(object_name(s->object), "e") == 0)
            exchanged = at;
    }
    assert_true(exchanged > 0);
    assert_true(taken > exchanged);
    cluster_release(&c);
}

/* Two that took each other's could both be refused for ever. */
static void who_begins_anew_gives_back_before_it_takes(void **state)
{
    struct cluster c;
    struct plan plan;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n1", 2, 100, 0);
    add_job(&c, "a", "default", 9, 2, 1, "");
    record_only(&c);
    cluster_remove(&c, NODES, "n1");
    add_node(&c, "n2", 2, 100, 0);
    look(&c, &plan);
    for (const struct plan_step *s = plan.first; s; s = s->next) {
        assert_int_not_equal(s->op, PLAN_BIND);
        cluster_apply(&c, s);
    }
    assert_int_equal(json_len(places_of(cluster_get(&c, GROUPS, "a"))), 0);
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "a-0"), "n2");
    cluster_release(&c);
}

/* They would be recorded and given back, in turn. */
static void pods_beyond_those_wanted_get_no_place(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 9, 100, 0);
    add_job(&c, "a", "default", 9, 2, 1, "");
    set_spec(&c, GROUPS, "a", "members", "0");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(json_len(places_of(cluster_get(&c, GROUPS, "a"))), 0);
    assert_string_equal(told(&c, "a-1"), "its job is paused");
    set_spec(&c, GROUPS, "a", "members", "2");
    assert_int_equal(settle(&c), 2);
    add_pod(&c, "a", "a-2", 9, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0);
    cluster_release(&c);
}

/* Else each would wait for the quota that the other holds. */
static void of_two_broken_gangs_goes_on_whom_the_quota_holds(void **state)
{
    static const char *const lost[] = {"a-0", "b-0"};
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n1", 7, 100, 0);
    add_node(&c, "n2", 3, 100, 0);
    add_queue(&c, "q", "'quota':{'requests':{'cpu':'10'}}");
    add_job(&c, "a", "q", 9, 3, 2, "");
    assert_int_equal(settle(&c), 3);
    add_job(&c, "b", "q", 8, 4, 1, "");
    assert_int_equal(settle(&c), 4);
    set_spec(&c, QUEUES, "q", "quota", "{'requests':{'cpu':'8'}}");
    cluster_remove(&c, NODES, "n2");
    for (size_t i = 0; i < ELEMS(lost); i++) {
        assert_string_equal(node_of(&c, lost[i]), "n2");
        cluster_remove(&c, PODS, lost[i]);
    }
    assert_int_equal(settle(&c), 0);
    add_node(&c, "n3", 9, 100, 0);
    add_pod(&c, "a", "a-0", 9, 3, "{'cpu':'2'}");
    add_pod(&c, "b", "b-0", 8, 4, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "b-0"), "n3");
    assert_string_equal(told(&c, "a-0"),
                        "waiting for the quota of queue \"q\": needs 2 CPU, 8 of 8 CPU is in use; "
                        "it holds 4 CPU itself; job \"b\" holds 4 CPU");
    cluster_release(&c);
}

static void set_cpus(struct cluster *c, const char *node, const char *cpus)
{
    struct json *status = json_make_object(&c->arena, cluster_edit(c, NODES, node), "status");

    json_set_string(&c->arena, json_make_object(&c->arena, status, "capacity"), "cpu", cpus);
}

/* Two gangs of four, of which two of each are left on n1, and new pods wait for the others. */
static void make_two_halves(struct cluster *c)
{
    cluster_init(c);
    add_namespace(c);
    add_queue(c, "q", "'quota':{'requests':{'cpu':'8'}}");
    for (int i = 0; i < 2; i++)
        add_node(c, i ? "n2" : "n1", 2, 64, 0);
    add_job(c, "a", "q", 9, 4, 1, "");
    assert_int_equal(settle(c), 4);
    for (int i = 0; i < 2; i++)
        set_cpus(c, i ? "n2" : "n1", "4");
    add_job(c, "b", "q", 8, 4, 1, "");
    assert_int_equal(settle(c), 4);
    cluster_remove(c, NODES, "n2");
    for (int i = 0; i < 8; i++) {
        const char *owner = i < 4 ? "a" : "b";
        const char *pod = arena_printf(&c->arena, "%s-%d", owner, i % 4);

        if (strcmp(node_of(c, pod), "n2") != 0)
            continue;
        cluster_remove(c, PODS, pod);
        add_pod(c, owner, pod, 9, 4, "{'cpu':'1'}");
    }
}

static void expect_the_second_gives_way(struct cluster *c)
{
    struct plan plan;

    assert_int_equal(settle(c), 0);
    look(c, &plan);
    assert_int_equal(c->deletes, 0); /* a node may come back */
    assert_int_not_equal(plan.wake_at_ms, 0);
    c->now_ms = plan.wake_at_ms;
    assert_int_equal(settle(c), 0);
    assert_int_equal(c->deletes, 2);
    assert_string_equal(reason_of(c, "b"), "Preempted");
    assert_string_equal(message_of(c, "b"),
                        "waiting again: number 2 in line; 2 of its own pods are still "
                        "stopping; it was stopped: it lacks members, as does job \"a\" of queue "
                        "\"q\", which goes on in its place");
    for (int i = 0; i < 4; i++) {
        const char *pod = arena_printf(&c->arena, "b-%d", i);

        if (object_is_deleting(cluster_get(c, PODS, pod)))
            cluster_remove(c, PODS, pod);
    }
    assert_int_equal(settle(c), 2);
    for (int i = 0; i < 4; i++)
        assert_string_not_equal(node_of(c, arena_printf(&c->arena, "a-%d", i)), "");
    cluster_release(c);
}

/* What is left of it would keep others out for nothing. */
static void a_broken_gang_that_no_node_can_complete_is_stopped(void **state)
{
    struct cluster c;
    struct plan plan;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n1", 4, 64, 0);
    add_node(&c, "n2", 4, 64, 0);
    add_job(&c, "gang", "default", 9, 2, 3, "");
    for (int i = 0; i < 2; i++)
        select_disk(&c, i ? "gang-1" : "gang-0", i ? "n2" : "n1");
    add_job(&c, "next", "default", 8, 1, 4, "");
    assert_int_equal(settle(&c), 2);
    cluster_remove(&c, NODES, "n2");
    cluster_remove(&c, PODS, "gang-1");
    add_pod(&c, "gang", "gang-1", 9, 2, "{'cpu':'3'}");
    select_disk(&c, "gang-1", "n2");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "gang-1"),
                        "can never fit: no node has the labels of the nodeSelector: disk=n2");
    assert_int_equal(c.deletes, 0); /* the node may come back */
    look(&c, &plan);
    assert_int_not_equal(plan.wake_at_ms, 0);
    c.now_ms = plan.wake_at_ms;
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 1);
    assert_string_equal(message_of(&c, "gang"),
                        "waiting for 1 of its own pods to stop; it was stopped: it lacks members, "
                        "and no node can take them");
    cluster_remove(&c, PODS, "gang-0");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "next-0"), "n1");
    cluster_release(&c);
}

static void of_two_gangs_that_hold_what_the_other_lacks_one_goes_on(void **state)
{
    struct cluster c;

    (void)state;
    make_two_halves(&c); /* there is no room but theirs */
    expect_the_second_gives_way(&c);
    make_two_halves(&c);
    add_node(&c, "n3", 8, 64, 0); /* there is, and no quota */
    set_spec(&c, QUEUES, "q", "quota", "{'requests':{'cpu':'4'}}");
    expect_the_second_gives_way(&c);
}

static void victims_are_as_few_as_needed(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n1", 4, 100, 0);
    add_node(&c, "n2", 4, 100, 0);
    add_queue(&c, "low", "'priority':1");
    add_queue(&c, "high", "'priority':2");
    add_job(&c, "big", "low", 20, 1, 4, "");
    for (int i = 0; i < 4; i++)
        add_job(&c, arena_printf(&c.arena, "s%d", i), "low", 10 - i, 1, 1, "");
    assert_int_equal(settle(&c), 5);
    add_job(&c, "h", "high", 1, 1, 4, "");
    settle(&c);
    assert_int_equal(c.deletes, 1);
    assert_true(object_is_deleting(cluster_get(&c, PODS, "big-0")));
    cluster_release(&c);
}

/* The quota lets one of them start: for the others nobody is sent away. */
static void who_the_quota_will_refuse_takes_nothing(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 5, 100, 0);
    add_queue(&c, "low", "'priority':1");
    add_queue(&c, "high", "'priority':2,'quota':{'requests':{'cpu':'1'}}");
    for (int i = 0; i < 5; i++)
        add_job(&c, arena_printf(&c.arena, "w%d", i), "low", 20 - i, 1, 1, "");
    assert_int_equal(settle(&c), 5);
    for (int i = 0; i < 5; i++)
        add_job(&c, arena_printf(&c.arena, "r%d", i), "high", 10 - i, 1, 1, "");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 1);
    assert_string_equal(message_of(&c, "r0"), "waiting for 1 pod of job \"w4\" to stop");
    assert_string_equal(message_of(&c, "r1"),
                        "waiting for its turn: number 2 in line behind job \"r0\"");
    cluster_remove(&c, PODS, "w4-0");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "r0-0"), "n");
    assert_int_equal(c.deletes, 1);
    assert_string_equal(reason_of(&c, "r1"), "QuotaExceeded");
    cluster_release(&c);
}

/* a waits for m to stop; b, which needs x gone as well, must not get the quota before it. */
static void a_claim_does_not_let_the_second_of_a_queue_pass_the_first(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 20, 100, 0);
    add_queue(&c, "mid", "'priority':10");
    add_queue(&c, "lo", "'priority':1,'quota':{'requests':{'cpu':'10'}}");
    add_job(&c, "x", "default", 20, 1, 1, "");
    add_job(&c, "m", "mid", 19, 2, 8, "");
    assert_int_equal(settle(&c), 3);
    add_job(&c, "a", "lo", 9, 2, 5, "'priority':60");
    add_job(&c, "b", "lo", 9, 2, 5, "'priority':50");
    assert_int_equal(settle(&c), 0);
    set_deleting(&c, "m-0");
    set_deleting(&c, "m-1");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 0);
    assert_string_equal(message_of(&c, "a"), "waiting for 2 pods of job \"m\" to stop");
    assert_string_equal(message_of(&c, "b"),
                        "waiting for its turn: number 2 in line behind job \"a\"");
    cluster_remove(&c, PODS, "m-0");
    cluster_remove(&c, PODS, "m-1");
    set_spec(&c, GROUPS, "m", "members", "0");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "a-0"), "n");
    assert_string_equal(reason_of(&c, "b"), "QuotaExceeded");
    assert_int_equal(c.deletes, 0);
    cluster_release(&c);
}

static void elastic_surplus_goes_first(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 100, 0);
    add_queue(&c, "low", "'priority':1");
    add_queue(&c, "high", "'priority':2");
    add_group(&c, "e", 9, 1, "'queue':'low','members':3");
    for (int i = 0; i < 3; i++)
        add_pod(&c, "e", arena_printf(&c.arena, "e-%d", i), 9, 1, "{'cpu':'1'}");
    add_job(&c, "young", "low", 2, 1, 1, "");
    assert_int_equal(settle(&c), 4);
    add_job(&c, "h", "high", 1, 1, 1, "");
    settle(&c);
    assert_int_equal(c.deletes, 1);
    assert_true(object_is_deleting(cluster_get(&c, PODS, "e-2")) ||
                object_is_deleting(cluster_get(&c, PODS, "e-1")));
    cluster_release(&c);
}

static void a_job_is_told_of_members_that_are_preempted(void **state)
{
    struct cluster c;
    struct plan plan;
    const char *said = "";

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 100, 0);
    add_queue(&c, "high", "'priority':2");
    add_group(&c, "e", 9, 1, "'members':4");
    for (int i = 0; i < 4; i++)
        add_pod(&c, "e", arena_printf(&c.arena, "e-%d", i), 9, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 4);
    add_job(&c, "h", "high", 1, 2, 1, "");
    look(&c, &plan);
    for (const struct plan_step *s = plan.first; s; s = s->next)
        if (s->op == PLAN_EVENT &&
            json_string_is(json_at(s->object, "involvedObject", "kind"), "PyTorchTrainingJob"))
            said = arena_printf(&c.arena, "%s%s", said, json_get_string(s->object, "message", ""));
    assert_string_equal(said,
                        "2 of its pods are preempted by job \"h\" of queue \"high\" (priority 2)");
    cluster_release(&c);
}

/* What it can do without goes once, the last of it first, and no more follows while that stops. */
static void an_elastic_job_loses_only_what_is_needed(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 6, 100, 0);
    add_queue(&c, "low", "'priority':1");
    add_queue(&c, "high", "'priority':2");
    add_group(&c, "e", 9, 2, "'queue':'low','members':6");
    for (int i = 6; i-- > 0;) /* pods come in any order */
        add_pod(&c, "e", arena_printf(&c.arena, "e-%d", i), 9, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 6);
    add_job(&c, "h", "high", 1, 1, 1, "");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 1);
    assert_true(object_is_deleting(cluster_get(&c, PODS, "e-5")));
    set_phase(&c, "e-5", "Failed");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "h-0"), "n");
    cluster_remove(&c, PODS, "e-5");
    add_pod(&c, "e", "e-5", 9, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 1);
    cluster_release(&c);
}

/* --- room that is kept ------------------------------------------------------------------------ */

static void a_restarting_replica_keeps_its_room(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 2, 8, 0);
    add_job(&c, "a", "default", 9, 2, 1, "");
    assert_int_equal(settle(&c), 2);
    add_job(&c, "b", "default", 8, 1, 1, "");
    assert_int_equal(settle(&c), 0);
    set_phase(&c, "a-1", "Failed");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(node_of(&c, "b-0"), "");
    cluster_remove(&c, PODS, "a-1"); /* and when it is gone */
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "b-0"), "waiting for resources: needs 1 CPU, 0 of 2 CPU is free; "
                                         "job \"a\" (queue default) holds 2 CPU");
    add_pod(&c, "a", "a-1", 1, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "a-1"), "n");
    /* its part is done for good: the room is free */
    set_phase(&c, "a-1", "Succeeded");
    assert_int_equal(settle(&c), 0);
    set_spec(&c, GROUPS, "a", "members", "1");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "b-0"), "n");
    cluster_release(&c);
}

/* All pods of a group that restarts as a whole are gone for a while, and so is the scheduler. */
/* Its places are recorded, and before its pods are bound another client takes some of the room. */
static void a_gang_that_lost_a_place_waits_for_all(void **state)
{
    struct cluster c;
    struct plan plan;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 8, 0);
    add_job(&c, "a", "default", 9, 3, 1, "");
    look(&c, &plan);
    for (const struct plan_step *s = plan.first; s; s = s->next)
        if (s->op == PLAN_UPDATE_STATUS)
            cluster_apply(&c, s);
    add_pod(&c, "", "b", 1, 1, "{'cpu':'2'}");
    json_set_string(&c.arena, json_make_object(&c.arena, cluster_edit(&c, PODS, "b"), "spec"),
                    "nodeName", "n");
    add_pod(&c, "", "c", 1, 1, "{'cpu':'2'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(
        message_of(&c, "a"),
        "waiting for resources: needs 3 CPU, 2 of 4 CPU is free; pod \"b\" (queue default) holds "
        "2 CPU");
    cluster_remove(&c, PODS, "b");
    assert_int_equal(settle(&c), 3);
    cluster_release(&c);
}

static void pods_are_counted_where_nodes_say_how_many(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c, "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'8','pods':'2'},"
                      "'conditions':[{'type':'Ready','status':'True'}]}}");
    add_job(&c, "a", "default", 9, 2, 1, "");
    add_job(&c, "b", "default", 8, 1, 1, "");
    add_job(&c, "c", "default", 7, 3, 1, "");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(message_of(&c, "b"),
                        "waiting for resources: needs 1 pod, 0 of 2 pods is free; job \"a\" (queue "
                        "default) holds 2 pods");
    assert_string_equal(message_of(&c, "c"), "can never fit: asks 3 pods, the node has 2 (what "
                                             "helps: smaller requests or fewer replicas)");
    cluster_release(&c);
}

static void a_whole_group_keeps_its_room_over_a_restart_of_the_scheduler(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 64, 64, 4);
    add_group(&c, "a", 9, 2, "'members':2");
    add_pod(&c, "a", "a-0", 9, 2, "{'nvidia.com/gpu':1}");
    add_pod(&c, "a", "a-1", 9, 2, "{'nvidia.com/gpu':2}");
    assert_int_equal(settle(&c), 2);
    cluster_remove(&c, PODS, "a-0");
    cluster_remove(&c, PODS, "a-1");
    ledger_free(c.ledger);
    c.ledger = cluster_ledger(&c);
    add_pod(&c, "b", "b-0", 8, 1, "{'nvidia.com/gpu':2}");
    add_pod(&c, "d", "d-0", 9, 1, "{'nvidia.com/gpu':1}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(object_annotation(cluster_get(&c, PODS, "d-0"), ANNOTATION_GPUS), "3");
    add_pod(&c, "a", "a-1", 1, 2, "{'nvidia.com/gpu':2}");
    add_pod(&c, "a", "a-0", 1, 2, "{'nvidia.com/gpu':1}");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(object_annotation(cluster_get(&c, PODS, "a-1"), ANNOTATION_GPUS), "1,2");
    assert_string_equal(object_annotation(cluster_get(&c, PODS, "a-0"), ANNOTATION_GPUS), "0");
    cluster_release(&c);
}

static void shares_are_kept_over_a_restart_of_the_scheduler(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node_text(&c, SHARING_NODE("n", "0", "1,2", "2"));
    add_group(&c, "a", 9, 1, "'members':1");
    add_pod(&c, "a", "a-0", 9, 1, "{'nvidia.com/gpu':1,'nvidia.com/gpu.shared':1}");
    assert_int_equal(settle(&c), 1);
    cluster_remove(&c, PODS, "a-0");
    ledger_free(c.ledger);
    c.ledger = cluster_ledger(&c);
    add_pod(&c, "b", "b-0", 8, 1, "{'nvidia.com/gpu.shared':1}");
    add_pod(&c, "d", "d-0", 7, 1, "{'nvidia.com/gpu.shared':1}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(gpus_of(&c, "b-0"), "2");
    add_pod(&c, "a", "a-0", 1, 1, "{'nvidia.com/gpu':1,'nvidia.com/gpu.shared':1}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(gpus_of(&c, "a-0"), "0,1");
    cluster_release(&c);
}

static void a_paused_group_gives_its_room_back(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 2, 8, 0);
    add_job(&c, "a", "default", 9, 2, 1, "");
    assert_int_equal(settle(&c), 2);
    add_job(&c, "b", "default", 8, 2, 1, "");
    set_spec(&c, GROUPS, "a", "members", "0");
    cluster_remove(&c, PODS, "a-0");
    cluster_remove(&c, PODS, "a-1");
    assert_int_equal(settle(&c), 2);
    set_spec(&c, GROUPS, "a", "members", "2"); /* resumed: it starts anew */
    add_pod(&c, "a", "a-0", 1, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0);
    add_pod(&c, "a", "a-1", 1, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(reason_of(&c, "a"), "InsufficientResources");
    cluster_release(&c);
}

/* Resumed while pods of the old run still stop: none of them stays, so it starts whole. */
static void a_resumed_gang_starts_whole_beside_pods_that_stop(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 3, 8, 0);
    add_job(&c, "a", "default", 9, 3, 1, "");
    assert_int_equal(settle(&c), 3);
    set_spec(&c, GROUPS, "a", "members", "0");
    for (int i = 0; i < 3; i++)
        set_deleting(&c, arena_printf(&c.arena, "a-%d", i));
    settle(&c);
    cluster_remove(&c, PODS, "a-0");
    cluster_remove(&c, PODS, "a-1");
    assert_int_equal(settle(&c), 0);
    set_spec(&c, GROUPS, "a", "members", "3");
    add_pod(&c, "a", "a-0", 1, 3, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(message_of(&c, "a"), "waiting for pods: 1 of 3 are there");
    add_pod(&c, "a", "a-1", 1, 3, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0);
    cluster_remove(&c, PODS, "a-2");
    add_pod(&c, "a", "a-2", 1, 3, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 3);
    cluster_release(&c);
}

/* The API server gives a gang of which nothing stays all of its places or none: what is written
 * must not depend on whether its new pods are there already. */
static void a_gang_that_only_stops_keeps_no_half_of_its_places(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "m", 1, 8, 0);
    add_node(&c, "n", 1, 8, 0);
    add_job(&c, "a", "default", 9, 2, 1, "");
    assert_int_equal(settle(&c), 2);
    set_spec(&c, NODES, node_of(&c, "a-0"), "unschedulable", "true");
    set_deleting(&c, "a-0");
    set_deleting(&c, "a-1");
    settle(&c);
    assert_int_equal(json_len(places_of(cluster_get(&c, GROUPS, "a"))), 2);
    cluster_remove(&c, PODS, "a-0");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(json_len(places_of(cluster_get(&c, GROUPS, "a"))), 0);
    cluster_release(&c);
}

static void a_member_whose_node_is_gone_is_placed_elsewhere(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 2, 8, 0);
    add_job(&c, "a", "default", 9, 2, 1, "");
    assert_int_equal(settle(&c), 2);
    add_node(&c, "two", 1, 8, 0);
    cluster_remove(&c, NODES, "one");
    cluster_remove(&c, PODS, "a-1");
    add_pod(&c, "a", "a-1", 9, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "a-1"), "two");
    cluster_release(&c);
}

/* --- backfill --------------------------------------------------------------------------------- */

/* A CPU job need not wait for one that waits for the GPU. */
static void what_the_head_does_not_need_is_used(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 16, 64, 1);
    add_pod(&c, "first", "f-0", 9, 1, "{'cpu':'4','nvidia.com/gpu':1}");
    assert_int_equal(settle(&c), 1);
    add_pod(&c, "second", "s-0", 8, 1, "{'cpu':'4','nvidia.com/gpu':1}");
    add_pod(&c, "cpu", "c-0", 7, 1, "{'cpu':'8'}");
    add_pod(&c, "more", "m-0", 6, 1, "{'cpu':'3'}"); /* what first gives back is enough */
    add_pod(&c, "less", "l-0", 5, 1, "{'cpu':'2'}");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "c-0"), "n");
    assert_string_equal(node_of(&c, "m-0"), "n");
    assert_string_equal(told(&c, "l-0"),
                        "waiting for its turn: number 2 in line behind job \"second\"");
    set_phase(&c, "f-0", "Succeeded");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "s-0"), "n");
    cluster_release(&c);
}

/* When those that hold the room the head waits for have ended, there is enough for both. */
static void what_the_head_will_not_miss_is_used(void **state)
{
    static const struct {
        int cpu, memory_gi;
        const char *hold, *head, *small, *too_large;
    } cases[] = {
        {9, 64, "{'cpu':'6'}", "{'cpu':'7'}", "{'cpu':'1'}", "{'cpu':'2'}"},
        {300, 64, "{'cpu':'200'}", "{'cpu':'250'}", "{'cpu':'10'}", "{'cpu':'41'}"},
        {300, 64, "{'cpu':'200','memory':'8Gi'}", "{'cpu':'10','memory':'60Gi'}",
         "{'cpu':'50','memory':'16Mi'}", "{'cpu':'1','memory':'4Gi'}"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct cluster c;

        cluster_init(&c);
        add_node(&c, "n", cases[i].cpu, cases[i].memory_gi, 0);
        add_pod(&c, "hold", "hold", 9, 1, cases[i].hold);
        assert_int_equal(settle(&c), 1);
        add_pod(&c, "head", "head", 8, 1, cases[i].head);
        add_pod(&c, "small", "small", 7, 1, cases[i].small);
        add_pod(&c, "large", "large", 6, 1, cases[i].too_large);
        assert_int_equal(settle(&c), 1);
        assert_string_equal(node_of(&c, "small"), "n");
        assert_string_equal(reason_of(&c, "head"), "InsufficientResources");
        assert_string_equal(told(&c, "large"),
                            "waiting for its turn: number 2 in line behind job \"head\"");
        set_phase(&c, "hold", "Succeeded");
        assert_int_equal(settle(&c), 1);
        assert_string_equal(node_of(&c, "head"), "n");
        cluster_release(&c);
    }
}

/* With the first of two that end it can start: then there must be room beside the other. */
static void the_head_starts_with_the_first_end_that_is_enough(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 9, 64, 0);
    add_job(&c, "a", "default", 20, 1, 3, "");
    add_job(&c, "b", "default", 19, 3, 1, "");
    assert_int_equal(settle(&c), 4);
    add_job(&c, "head", "default", 9, 1, 5, "");
    add_job(&c, "two", "default", 8, 1, 2, "");
    for (int i = 0; i < 3; i++)
        add_job(&c, arena_printf(&c.arena, "one-%d", i), "default", 7, 1, 1, "");
    assert_int_equal(settle(&c), 1); /* 5 and 3 and 1 are 9 */
    assert_string_equal(node_of(&c, "one-0-0"), "n");
    set_phase(&c, "a-0", "Succeeded");
    set_spec(&c, GROUPS, "a", "members", "0");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "head-0"), "n");
    cluster_release(&c);
}

static void a_job_that_surely_ends_in_time_may_go_ahead(void **state)
{
    struct cluster c;
    char time[TIME_TEXT_SIZE];
    int64_t started;

    (void)state;
    cluster_init(&c);
    started = c.now_ms;
    add_node(&c, "n", 4, 64, 0);
    add_job(&c, "first", "default", 9, 1, 2, "'activeDeadlineSeconds':3600");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "head", "default", 8, 1, 4, "");
    add_job(&c, "long", "default", 7, 1, 1, "'activeDeadlineSeconds':7200");
    add_job(&c, "open", "default", 6, 1, 1, "");
    add_job(&c, "short", "default", 5, 1, 1, "'activeDeadlineSeconds':600");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "short-0"), "n");
    assert_string_equal(
        told(&c, "head-0"),
        arena_printf(&c.arena,
                     "waiting for resources: needs 4 CPU, 1 of 4 CPU is free; job \"first\" (queue "
                     "default) holds 2 CPU until %s at the latest, 1 more holds the rest",
                     time_format(started + 3600000, time)));
    cluster_release(&c);
}

/* As those who wait for room are: who holds it, until when, which place in line. */
static void who_waits_for_quota_is_told_who_holds_it(void **state)
{
    struct cluster c;
    char time[TIME_TEXT_SIZE];
    int64_t started;

    (void)state;
    cluster_init(&c);
    started = c.now_ms;
    add_namespace(&c);
    add_queue(&c, "q", "'quota':{'requests':{'cpu':'4'}}");
    add_node(&c, "n", 64, 64, 0);
    add_queue(&c, "other", "'quota':{'requests':{'cpu':'1'}}"); /* in which one waits before them */
    add_job(&c, "o1", "other", 11, 1, 1, "");
    add_job(&c, "o2", "other", 10, 1, 1, "");
    add_job(&c, "large", "default", 9, 1, 8, ""); /* of another queue: it holds none of the quota */
    add_job(&c, "a", "q", 9, 3, 1, "'activeDeadlineSeconds':3600");
    add_job(&c, "b", "q", 8, 1, 1, "");
    add_job(&c, "c", "q", 7, 1, 1, "");
    add_job(&c, "d", "q", 6, 1, 2, "");
    assert_int_equal(settle(&c), 6);
    assert_string_equal(
        message_of(&c, "c"),
        arena_printf(&c.arena,
                     "waiting for the quota of queue \"q\": needs 1 CPU, 4 of 4 CPU is in use; job "
                     "\"a\" holds 3 CPU until %s at the latest, 1 more holds the rest; number 2 in "
                     "line",
                     time_format(started + 3600000, time)));
    assert_string_equal(
        message_of(&c, "d"),
        arena_printf(&c.arena,
                     "waiting for the quota of queue \"q\": needs 2 CPU, 4 of 4 CPU is in use; job "
                     "\"a\" holds 3 CPU until %s at the latest, 1 more holds the rest; number 3 in "
                     "line",
                     time_format(started + 3600000, time)));
    set_spec(&c, QUEUES, "q", "quota", "{'requests':{'cpu':'2'}}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(
        message_of(&c, "d"),
        arena_printf(
            &c.arena,
            "waiting for the quota of queue \"q\": needs 2 CPU, 4 CPU is in use, more than its "
            "2; job \"a\" holds 3 CPU until %s at the latest, 1 more holds the rest; "
            "number 3 in line",
            time_format(started + 3600000, time)));
    cluster_release(&c);
}

/* The numbers of those further behind would change with every start. */
static void who_is_far_behind_for_quota_is_told_no_numbers(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_queue(&c, "q", "'quota':{'requests':{'cpu':'1'}}");
    add_node(&c, "n", 64, 64, 0);
    for (int i = 0; i < 23; i++)
        add_job(&c, arena_printf(&c.arena, "j%d", i), "q", 50 - i, 1, 1, "");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(message_of(&c, "j20"),
                        "waiting for the quota of queue \"q\": needs 1 CPU, 1 of 1 CPU is in use; "
                        "job \"j0\" holds 1 CPU; number 20 in line");
    assert_string_equal(message_of(&c, "j21"),
                        "waiting for the quota of queue \"q\": needs 1 CPU; 20 or more are in line "
                        "before it");
    cluster_release(&c);
}

/* Two equal queues hold one node each. The first of queue A wants the node on which B's jobs come
 * and go. */
static void make_two_queues(struct cluster *c)
{
    cluster_init(c);
    add_namespace(c);
    add_queue(c, "A", "");
    add_queue(c, "B", "");
    add_node(c, "n1", 8, 64, 0);
    add_node(c, "n2", 8, 64, 0);
    add_job(c, "a1", "A", 50, 1, 8, "");
    select_disk(c, "a1-0", "n2");
    for (int i = 1; i <= 2; i++) {
        const char *name = arena_printf(&c->arena, "b%d", i);

        add_job(c, name, "B", 49, 1, 4, "");
        select_disk(c, arena_printf(&c->arena, "%s-0", name), "n1");
    }
    assert_int_equal(settle(c), 3);
    add_job(c, "large", "A", 40, 1, 8, "");
    select_disk(c, "large-0", "n1");
    assert_int_equal(settle(c), 0);
}

static void end_job(struct cluster *c, const char *name)
{
    set_phase(c, arena_printf(&c->arena, "%s-0", name), "Succeeded");
    set_spec(c, GROUPS, name, "members", "0");
}

/* One of B ends, and a younger one comes. Returns how many start. */
static int b_goes_on(struct cluster *c, const char *ends, int comes)
{
    const char *name = arena_printf(&c->arena, "b%d", comes);

    end_job(c, ends);
    add_job(c, name, "B", 40 - comes, 1, 4, "");
    select_disk(c, arena_printf(&c->arena, "%s-0", name), "n1");
    return settle(c);
}

/* They keep the queue's share high: it would go behind the other queue for ever. */
static void who_went_past_the_first_of_its_queue_does_not_hold_it_up(void **state)
{
    struct cluster c;

    (void)state;
    make_two_queues(&c);
    end_job(&c, "a1");
    add_job(&c, "a2", "A", 20, 1, 8, "");
    select_disk(&c, "a2-0", "n2");
    assert_int_equal(settle(&c), 1); /* it goes past the large one, which could not use the room */
    assert_int_equal(b_goes_on(&c, "b1", 3), 0);
    assert_string_equal(told(&c, "b3-0"),
                        "waiting for its turn: number 2 in line behind job \"large\"");
    end_job(&c, "b2");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "large-0"), "n1");
    cluster_release(&c);
}

/* What its queue held before counts, by which the others go first; but not for ever. */
static void who_is_first_of_its_queue_for_a_day_goes_first(void **state)
{
    struct cluster c;

    (void)state;
    make_two_queues(&c);
    assert_int_equal(b_goes_on(&c, "b1", 3), 1);
    c.now_ms += INT64_C(23) * 3600 * 1000;
    assert_int_equal(b_goes_on(&c, "b2", 4), 1);
    c.now_ms += INT64_C(3600) * 1000;
    assert_int_equal(b_goes_on(&c, "b3", 5), 0);
    end_job(&c, "b4");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "large-0"), "n1");
    cluster_release(&c);
}

/* One who may not start before the head anyway claims room elsewhere, or beyond the head's. */
static void who_waits_behind_the_head_does_not_close_the_gap(void **state)
{
    static const int cpus[] = {9, 10};

    (void)state;
    for (size_t i = 0; i < ELEMS(cpus); i++) {
        struct cluster c;

        cluster_init(&c);
        add_node(&c, "n1", cpus[i], 64, 0);
        add_job(&c, "rr", "default", 20, 1, 8, "'activeDeadlineSeconds':20");
        assert_int_equal(settle(&c), 1);
        add_node(&c, "n2", 4, 64, 0);
        add_job(&c, "el", "default", 19, 1, 4, "");
        assert_int_equal(settle(&c), 1);
        add_job(&c, "head", "default", 9, 1, 9, "");
        add_job(&c, "long", "default", 8, 1, 1, "'activeDeadlineSeconds':300");
        assert_int_equal(settle(&c), cpus[i] - 9); /* beside the head's */
        add_job(&c, "late", "default", 7, 1, 1, "'activeDeadlineSeconds':30");
        add_job(&c, "short", "default", 6, 1, 1, "'activeDeadlineSeconds':4");
        assert_int_equal(settle(&c), 1);
        assert_string_equal(node_of(&c, "short-0"), "n1");
        cluster_release(&c);
    }
}

static void the_claim_of_the_head_stays_where_it_is(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n1", 4, 64, 0);
    add_node(&c, "n2", 4, 64, 0);
    add_job(&c, "a", "default", 20, 1, 3, "");
    add_job(&c, "b", "default", 19, 1, 3, "");
    assert_int_equal(settle(&c), 2);
    add_job(&c, "head", "default", 9, 1, 4, "");
    add_job(&c, "s1", "default", 8, 1, 1, ""); /* one core of one node is not claimed */
    add_job(&c, "s2", "default", 7, 1, 1, "");
    assert_int_equal(settle(&c), 1);
    set_phase(&c, "a-0", "Succeeded");
    set_spec(&c, GROUPS, "a", "members", "0");
    assert_int_equal(settle(&c), 1); /* the node that became free is the head's */
    assert_string_equal(node_of(&c, "head-0"), "n1");
    cluster_release(&c);
}

/* --- gangs again ------------------------------------------------------------------------------ */

static void ten_on_room_for_nine(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n1", 5, 64, 0);
    add_node(&c, "n2", 4, 64, 0);
    add_node(&c, "n3", 1, 64, 0);
    add_job(&c, "x", "default", 20, 1, 1, "");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "ten", "default", 9, 10, 1, "");
    assert_int_equal(settle(&c), 0);
    set_phase(&c, "x-0", "Succeeded");
    set_spec(&c, GROUPS, "x", "members", "0");
    assert_int_equal(settle(&c), 10);
    cluster_release(&c);
}

static void a_group_without_pods_waits_for_them(void **state)
{
    const struct json *counts;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 8, 64, 0);
    add_queue(&c, "q", "");
    add_group(&c, "a", 9, 2, "'queue':'q','members':2");
    settle(&c);
    assert_string_equal(reason_of(&c, "a"), "InsufficientMember");
    counts = json_at(cluster_get(&c, QUEUES, "q"), "status", "podGroups");
    assert_int_equal(json_get_int(counts, "waiting", -1), 1);
    assert_int_equal(json_get_int(counts, "running", -1), 0);
    set_spec(&c, GROUPS, "a", "members", "0");
    settle(&c);
    counts = json_at(cluster_get(&c, QUEUES, "q"), "status", "podGroups");
    assert_int_equal(json_get_int(counts, "waiting", -1), 0);
    cluster_release(&c);
}

static void a_group_that_lets_too_few_come_is_told_so(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 8, 64, 0);
    add_job(&c, "g", "default", 9, 2, 1, "");
    set_spec(&c, GROUPS, "g", "minMember", "3");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(message_of(&c, "g"), "waiting for pods: 2 of 3 are there, and no more than "
                                             "2 come: spec.members is below minMember");
    cluster_release(&c);
}

static void roles_must_be_there_too(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 8, 64, 0);
    add_group(&c, "g", 9, 2,
              "'roles':[{'name':'launcher','minMember':1},{'name':'worker','minMember':1}]");
    add_pod(&c, "g", "w-0", 9, 2, "{'cpu':'1'}");
    add_pod(&c, "g", "w-1", 9, 2, "{'cpu':'1'}");
    json_set_string(
        &c.arena,
        json_make_object(&c.arena,
                         json_make_object(&c.arena, cluster_edit(&c, PODS, "w-0"), "metadata"),
                         "labels"),
        LABEL_GROUP_ROLE, "worker");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(reason_of(&c, "g"), "InsufficientMember");
    assert_string_equal(message_of(&c, "g"),
                        "waiting for pods of role \"launcher\": 0 of 1 are there");
    json_set_string(
        &c.arena,
        json_make_object(&c.arena,
                         json_make_object(&c.arena, cluster_edit(&c, PODS, "w-1"), "metadata"),
                         "labels"),
        LABEL_GROUP_ROLE, "launcher");
    assert_int_equal(settle(&c), 2);
    cluster_release(&c);
}

/* --- queues ----------------------------------------------------------------------------------- */

static void queues_say_no_in_words(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 8, 64, 0);
    add_queue(&c, "closed", "'closed':true");
    add_queue(&c, "small", "'quota':{'requests':{'cpu':'2'}}");
    add_queue(&c, "others", "'namespaceSelector':{'matchLabels':{'team':'y'}}");
    add_job(&c, "c", "closed", 9, 1, 1, "");
    add_job(&c, "s", "small", 9, 3, 1, "");
    add_job(&c, "o", "others", 9, 1, 1, "");
    add_job(&c, "x", "none", 9, 1, 1, "");
    add_job(&c, "d", "default", 1, 1, 1, "");
    assert_int_equal(settle(&c), 1); /* none of them is in the way */
    assert_string_equal(reason_of(&c, "c"), "QueueClosed");
    assert_string_equal(message_of(&c, "c"),
                        "queue \"closed\" is closed: nothing new is started until it is opened "
                        "(muster queue open closed)");
    assert_string_equal(reason_of(&c, "s"), "QuotaForbids");
    assert_string_equal(message_of(&c, "s"),
                        "can never fit: asks 3 CPU, the quota of queue \"small\" is 2");
    assert_string_equal(reason_of(&c, "o"), "NamespaceNotAllowed");
    assert_string_equal(reason_of(&c, "x"), "QueueNotFound");
    set_spec(&c, QUEUES, "closed", "closed", "false");
    set_spec(&c, QUEUES, "small", "quota", "{'requests':{'cpu':'3'}}");
    add_queue(&c, "none", "");
    assert_int_equal(settle(&c), 5);
    cluster_release(&c);
}

/* Who comes later in the same queue must not use up the quota its first one waits for. */
static void quota_is_kept_for_the_first_in_its_queue(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 64, 64, 0);
    add_queue(&c, "q", "'quota':{'requests':{'cpu':'4'}}");
    add_job(&c, "a", "q", 9, 1, 2, "");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "b", "q", 8, 1, 3, "");
    add_job(&c, "c", "q", 7, 1, 2, "");
    add_job(&c, "d", "default", 1, 1, 2, "");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "d-0"), "n");
    assert_string_equal(reason_of(&c, "b"), "QuotaExceeded");
    assert_string_equal(reason_of(&c, "c"), "WaitingForTurn");
    set_phase(&c, "a-0", "Succeeded");
    set_spec(&c, GROUPS, "a", "members", "0");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "b-0"), "n");
    cluster_release(&c);
}

static void statuses_count(void **state)
{
    const struct json *q;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "q", "'quota':{'requests':{'cpu':'4'}}");
    add_job(&c, "a", "q", 9, 4, 1, "");
    add_job(&c, "b", "q", 8, 1, 1, "");
    settle(&c);
    set_phase(&c, "a-0", "Running");
    settle(&c);
    q = json_get(cluster_get(&c, QUEUES, "q"), "status");
    assert_string_equal(json_string(json_at(q, "allocated", "cpu"), ""), "4");
    assert_int_equal(json_int(json_at(q, "podGroups", "total"), -1), 2);
    assert_int_equal(json_int(json_at(q, "podGroups", "running"), -1), 1);
    assert_int_equal(json_int(json_at(q, "podGroups", "waiting"), -1), 1);
    assert_int_equal(json_int(json_at(q, "pods", "running"), -1), 1);
    assert_int_equal(json_int(json_at(q, "pods", "pending"), -1), 4);
    assert_string_equal(
        json_get_string(object_condition(cluster_get(&c, QUEUES, "q"), "ResourcePressure"),
                        "status", ""),
        "True");
    q = cluster_get(&c, GROUPS, "a");
    assert_string_equal(json_get_string(object_condition(q, "GroupScheduled"), "message", ""),
                        "Resources have been allocated to PodGroup");
    assert_int_equal(json_int(json_at(q, "status", "running"), -1), 1);
    cluster_release(&c);
}

static const char *phase_of(struct cluster *c, const char *group)
{
    return json_string(json_at(cluster_get(c, GROUPS, group), "status", "phase"), "");
}

static void carry_out(struct cluster *c)
{
    struct plan plan;

    look(c, &plan);
    for (const struct plan_step *s = plan.first; s; s = s->next)
        cluster_apply(c, s);
}

static int64_t waiting_in(struct cluster *c, const char *queue)
{
    return json_int(json_at(cluster_get(c, QUEUES, queue), "status", "podGroups", "waiting"), -1);
}

static void who_runs_too_long_is_paused_and_told(void **state)
{
    static const char *const why = "it ran longer than maxDuration (1h) of queue \"q\"";
    struct cluster c;
    struct plan plan;
    int64_t started;
    int said;

    (void)state;
    cluster_init(&c);
    started = c.now_ms;
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "q", "'maxDuration':'1h'");
    add_job(&c, "a", "q", 9, 1, 1, "");
    assert_int_equal(settle(&c), 1);
    look(&c, &plan);
    assert_int_equal(plan.wake_at_ms, started + 3600000 + TIMES_MS);
    c.now_ms = started + 3600000 + TIMES_MS;
    c.events = 0;
    carry_out(&c);
    assert_int_equal(c.pauses, 1);
    assert_int_equal(c.deletes, 0);
    said = c.events;
    carry_out(&c); /* the watch has not shown the job as paused yet */
    assert_int_equal(c.pauses, 2);
    assert_int_equal(c.events, said);
    set_spec(&c, GROUPS, "a", "members", "0"); /* its job wants none, and stops the pod */
    set_deleting(&c, "a-0");
    settle(&c);
    assert_int_equal(c.pauses, 2);
    assert_string_equal(phase_of(&c, "a"), "Running");
    cluster_remove(&c, PODS, "a-0");
    settle(&c);
    assert_string_equal(phase_of(&c, "a"), "Paused");
    assert_string_equal(reason_of(&c, "a"), "MaxDurationExceeded");
    assert_string_equal(message_of(&c, "a"), why);
    assert_int_equal(waiting_in(&c, "q"), 0);
    assert_string_equal(
        json_get_string(object_condition(cluster_get(&c, GROUPS, "a"), "MaxDurationExceeded"),
                        "message", ""),
        why);
    set_spec(&c, GROUPS, "a", "members", "1"); /* resumed: that is over */
    add_pod(&c, "a", "a-0", 1, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(phase_of(&c, "a"), "Running");
    assert_null(object_condition(cluster_get(&c, GROUPS, "a"), "MaxDurationExceeded"));
    cluster_release(&c);
}

/* Its pods are not deleted: it would create them again, and run on in the places that are kept. */
static void a_gang_of_kubernetes_that_runs_too_long_is_suspended(void **state)
{
    const struct plan_step *step;
    struct json *controller;
    struct cluster c;
    struct plan plan;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "q", "'maxDuration':'1h'");
    add_job(&c, "a", "q", 9, 2, 1, "");
    controller = json_first_mut(
        json_get_mut(json_get_mut(cluster_edit(&c, GROUPS, "a"), "metadata"), "ownerReferences"));
    json_set_string(&c.arena, controller, "kind", "Job");
    json_set_string(&c.arena, controller, "apiVersion", "batch/v1");
    assert_int_equal(settle(&c), 2);
    c.now_ms += 3600000 + TIMES_MS;
    look(&c, &plan);
    for (step = plan.first; step && step->op != PLAN_PATCH; step = step->next)
        assert_int_not_equal(step->op, PLAN_DELETE);
    assert_non_null(step);
    assert_ptr_equal(step->kind, &kind_job);
    assert_string_equal(step->name, "a");
    assert_true(json_bool(json_at(step->object, "spec", "suspend"), false));
    carry_out(&c);
    assert_int_equal(c.pauses, 1);
    assert_int_equal(c.deletes, 0);
    cluster_release(&c);
}

/* The condition is written with the preemption, and stays until the job is paused. */
static void who_is_preempted_at_the_end_of_its_time_is_told_why_it_is_paused(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "q", "'maxDuration':'1h'");
    add_queue(&c, "high", "'priority':5");
    add_job(&c, "a", "q", 9, 1, 2, "");
    assert_int_equal(settle(&c), 1);
    c.now_ms += 3600000 + TIMES_MS;
    add_job(&c, "hi", "high", 8, 1, 4, "");
    carry_out(&c);
    assert_int_equal(c.pauses, 1);
    assert_int_equal(c.deletes, 1);
    settle(&c);
    assert_string_equal(reason_of(&c, "a"), "Preempted");
    set_spec(&c, GROUPS, "a", "members", "0");
    cluster_remove(&c, PODS, "a-0");
    settle(&c);
    assert_string_equal(phase_of(&c, "a"), "Paused");
    assert_string_equal(reason_of(&c, "a"), "MaxDurationExceeded");
    assert_string_equal(message_of(&c, "a"), "it ran longer than maxDuration (1h) of queue \"q\"");
    cluster_release(&c);
}

static void a_deleted_queue_stops_nobody(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "q", "'maxDuration':'1h'");
    add_job(&c, "a", "q", 9, 1, 1, "");
    assert_int_equal(settle(&c), 1);
    cluster_remove(&c, QUEUES, "q");
    add_job(&c, "b", "q", 9, 1, 1, "");
    c.now_ms += 3600000;
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.pauses, 0);
    assert_string_equal(reason_of(&c, "b"), "QueueNotFound");
    cluster_release(&c);
}

static void who_is_in_no_line_does_not_wait(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "q", "");
    add_group(&c, "empty", 9, 1, "'queue':'q'");
    add_group(&c, "done", 9, 1, "'queue':'q'");
    add_pod(&c, "done", "done-0", 9, 1, "{'cpu':'1'}");
    add_job(&c, "paused", "q", 9, 1, 1, "");
    assert_int_equal(settle(&c), 2);
    set_phase(&c, "done-0", "Succeeded");
    set_spec(&c, GROUPS, "paused", "members", "0");
    cluster_remove(&c, PODS, "paused-0");
    settle(&c);
    assert_int_equal(waiting_in(&c, "q"), 0);
    assert_string_equal(phase_of(&c, "empty"), "Empty");
    assert_string_equal(message_of(&c, "empty"), "no pod has joined it: pods join by the label "
                                                 "scheduler.tensorstack.dev/group-name: empty");
    assert_string_equal(
        json_get_string(object_condition(cluster_get(&c, GROUPS, "empty"), "SufficientGroupMember"),
                        "status", ""),
        "False");
    assert_string_equal(phase_of(&c, "done"), "Finished");
    assert_string_equal(message_of(&c, "done"), "its pods have ended");
    assert_string_equal(phase_of(&c, "paused"), "Paused");
    assert_string_equal(message_of(&c, "paused"), "its job is paused");
    cluster_release(&c);
}

/* A job's group is there before its pods, and its pods come by themselves: only others are told. */
static void pods_are_told_what_their_group_lacks(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 64, 0);
    cluster_add(&c, PODS,
                "{'metadata':{'name':'lost','namespace':'ns','uid':'pod-lost','labels':{"
                "'scheduler.tensorstack.dev/group-name':'nosuch'}},'spec':{'containers':[{}]}}");
    cluster_add(&c, GROUPS,
                "{'metadata':{'name':'two','namespace':'ns','uid':'g'},'spec':{'minMember':2}}");
    cluster_add(&c, PODS,
                "{'metadata':{'name':'one','namespace':'ns','uid':'pod-one','labels':{"
                "'scheduler.tensorstack.dev/group-name':'two'}},'spec':{'containers':[{}]}}");
    add_pod(&c, "job", "of-a-job", 9, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "lost"),
                        "waiting for its PodGroup: there is none named \"nosuch\" in namespace ns");
    assert_string_equal(told(&c, "one"), "waiting for pods: 1 of 2 are there");
    assert_string_equal(told(&c, "of-a-job"), "");
    cluster_add(
        &c, GROUPS,
        "{'metadata':{'name':'nosuch','namespace':'ns','uid':'g2'},'spec':{'minMember':1}}");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "lost"), "n");
    cluster_release(&c);
}

/* What they were told before would be believed for ever. */
static void pods_of_a_job_are_told_that_their_group_is_gone(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 1, 64, 0);
    add_pod(&c, "job", "of-a-job", 1, 1, "{'cpu':'2'}");
    assert_int_equal(settle(&c), 0);
    assert_ptr_equal(strstr(told(&c, "of-a-job"), "can never fit"), told(&c, "of-a-job"));
    cluster_remove(&c, GROUPS, "job");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "of-a-job"),
                        "waiting for its PodGroup: there is none named \"job\" in namespace ns");
    cluster_release(&c);
}

static int writes_of(struct plan *plan)
{
    int writes = 0;

    for (const struct plan_step *s = plan->first; s; s = s->next)
        writes += s->op != PLAN_EVENT;
    return writes;
}

static void places_in_line_are_told_once_a_second(void **state)
{
    struct cluster c;
    struct plan plan;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 8, 64, 0);
    for (int i = 0; i < 30; i++)
        add_job(&c, arena_printf(&c.arena, "j%02d", i), "default", 30 - i, 1, 1, "");
    assert_int_equal(settle(&c), 8);
    c.now_ms = c.ledger->told_ms + 10;
    for (int i = 0; i < 4; i++) { /* one ends, the next starts, fifteen move up, again and again */
        set_phase(&c, arena_printf(&c.arena, "j%02d-0", i), "Succeeded");
        set_spec(&c, GROUPS, arena_printf(&c.arena, "j%02d", i), "members", "0");
        c.now_ms += 10;
        look(&c, &plan);
        /* who has ended, who starts and its pod, who is first now and its pod */
        assert_int_equal(writes_of(&plan), 5);
        assert_in_range(plan.wake_at_ms, c.now_ms + 1, c.ledger->told_ms + TELL_EVERY_MS);
        for (const struct plan_step *s = plan.first; s; s = s->next)
            cluster_apply(&c, s);
    }
    assert_string_equal(told(&c, "j20-0"),
                        "waiting for its turn: number 13 in line behind job \"j15\"");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "j20-0"),
                        "waiting for its turn: number 9 in line behind job \"j19\"");
    cluster_release(&c);
}

/* However many wait, as after a restart, a plan is bounded and those who start do not wait for it.
 */
static void thousands_are_told_why_in_turns(void **state)
{
    const int waiting = 2 * WAITING_TOLD + 100;
    int told[3];
    struct cluster *c = calloc(1, sizeof(*c));
    struct plan plan;

    (void)state;
    assert_non_null(c);
    cluster_init(c);
    add_node(c, "n", 8, 64, 0);
    for (int i = 0; i < waiting; i++)
        add_pod(c, "", arena_printf(&c->arena, "p%04d", i), 0, 1, "{'cpu':'9'}");
    for (int i = 0; i < 3; i++) {
        look(c, &plan);
        told[i] = writes_of(&plan);
        for (const struct plan_step *s = plan.first; s; s = s->next)
            cluster_apply(c, s);
        if (i < 2)
            assert_int_equal(plan.wake_at_ms, c->now_ms + TELL_EVERY_MS);
        c->now_ms += TELL_EVERY_MS;
    }
    assert_int_equal(told[0], WAITING_TOLD);
    assert_int_equal(told[1], WAITING_TOLD);
    assert_int_equal(told[2], 100);
    cluster_release(c);
    free(c);
}

/* --- where pods may run ----------------------------------------------------------------------- */

static void taints_and_affinity_are_heeded(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 8, 8, 0);
    set_spec(&c, NODES, "one", "taints", "[{'key':'k','value':'v','effect':'NoSchedule'}]");
    add_node(&c, "two", 4, 8, 0);
    add_pod(&c, "", "plain", 9, 1, "{'cpu':'1'}");
    add_pod(&c, "", "tolerant", 9, 1, "{'cpu':'1'}");
    set_spec(&c, PODS, "tolerant", "tolerations", "[{'key':'k','operator':'Exists'}]");
    set_spec(&c, PODS, "tolerant", "nodeSelector", "{'disk':'one'}");
    add_pod(&c, "", "picky", 9, 1, "{'cpu':'1'}");
    set_spec(&c, PODS, "picky", "affinity",
             "{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
             "'nodeSelectorTerms':[{'matchExpressions':[{'key':'disk','operator':'NotIn',"
             "'values':['one']}]}]}}}");
    add_pod(&c, "", "nowhere", 9, 1, "{'cpu':'1'}");
    set_spec(&c, PODS, "nowhere", "nodeSelector", "{'disk':'three'}");
    assert_int_equal(settle(&c), 3);
    assert_string_equal(node_of(&c, "plain"), "two");
    assert_string_equal(node_of(&c, "tolerant"), "one");
    assert_string_equal(node_of(&c, "picky"), "two");
    assert_string_equal(told(&c, "nowhere"),
                        "can never fit: no node has the labels of the nodeSelector: disk=three");
    cluster_release(&c);
}

static void pods_keep_apart_and_spread(void **state)
{
    static const char *const apart =
        "{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':"
        "'disk','labelSelector':{'matchLabels':{'scheduler.tensorstack.dev/group-name':'a'}}}]}}";
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 8, 8, 0);
    add_node(&c, "two", 8, 8, 0);
    add_job(&c, "a", "default", 9, 2, 1, "");
    set_spec(&c, PODS, "a-0", "affinity", apart);
    set_spec(&c, PODS, "a-1", "affinity", apart);
    assert_int_equal(settle(&c), 2);
    assert_string_not_equal(node_of(&c, "a-0"), node_of(&c, "a-1"));
    add_job(&c, "s", "default", 8, 4, 1, "");
    for (int i = 0; i < 4; i++)
        set_spec(&c, PODS, arena_printf(&c.arena, "s-%d", i), "topologySpreadConstraints",
                 "[{'maxSkew':1,'topologyKey':'disk','whenUnsatisfiable':'DoNotSchedule',"
                 "'labelSelector':{'matchLabels':{'scheduler.tensorstack.dev/group-name':'s'}}}]");
    assert_int_equal(settle(&c), 4);
    assert_int_equal(
        (strcmp(node_of(&c, "s-0"), "one") == 0) + (strcmp(node_of(&c, "s-1"), "one") == 0) +
            (strcmp(node_of(&c, "s-2"), "one") == 0) + (strcmp(node_of(&c, "s-3"), "one") == 0),
        2);
    cluster_release(&c);
}

/* Labels and affinity of a pod by itself. */
static void add_neighbour(struct cluster *c, const char *name, const char *app,
                          const char *affinity)
{
    struct json *pod;

    add_pod(c, "", name, 9, 1, "{'cpu':'1'}");
    pod = cluster_edit(c, PODS, name);
    json_set_string(
        &c->arena,
        json_make_object(&c->arena, json_make_object(&c->arena, pod, "metadata"), "labels"), "app",
        app);
    if (*affinity)
        set_spec(c, PODS, name, "affinity", affinity);
}

#define BESIDE(app)                                                                                \
    "{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'disk','labelSelector':{"   \
    "'matchLabels':{'app':'" app "'}}}]}"
#define AWAY_FROM(app) "{'podAntiAffinity':" BESIDE(app) "}"

static const char *const kept_away =
    "waiting for other pods: where there is room its affinity, their anti-affinity or its "
    "topologySpreadConstraints forbid it to run";

/* What an elastic job cannot have beyond its minimum does not cost it that. */
static void an_elastic_job_that_keeps_apart_starts_with_its_minimum(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 8, 8, 0);
    add_group(&c, "e", 9, 1, "'members':2");
    for (int i = 0; i < 2; i++) {
        struct json *pod;

        add_pod(&c, "e", arena_printf(&c.arena, "e-%d", i), 9, 1, "{'cpu':'1'}");
        pod = cluster_edit(&c, PODS, arena_printf(&c.arena, "e-%d", i));
        json_set_string(&c.arena, json_get_mut(json_get_mut(pod, "metadata"), "labels"), "app",
                        "e");
        set_spec(&c, PODS, object_name(pod), "affinity", AWAY_FROM("e"));
    }
    assert_int_equal(settle(&c), 1);
    cluster_release(&c);
}

/* It asks for nothing itself; it is another that wants to be without it. */
static void who_is_kept_away_by_others_is_told_so_in_line(void **state)
{
    struct cluster c;
    struct json *pod;

    (void)state;
    cluster_init(&c);
    add_node(&c, "a", 4, 8, 0);
    add_pod(&c, "", "hermit", 9, 0, "{'cpu':'1'}");
    set_spec(&c, PODS, "hermit", "affinity", AWAY_FROM("web"));
    assert_int_equal(settle(&c), 1);
    add_node(&c, "b", 4, 8, 0);
    set_spec(&c, NODES, "a", "unschedulable", "true");
    add_job(&c, "holder", "default", 8, 1, 4, "");
    assert_int_equal(settle(&c), 1);
    set_spec(&c, NODES, "a", "unschedulable", "false");
    add_job(&c, "first", "default", 7, 1, 4, "");
    add_pod(&c, "", "web", 6, 0, "{'cpu':'1'}");
    pod = cluster_edit(&c, PODS, "web");
    json_set_string(&c.arena, json_get_mut(json_get_mut(pod, "metadata"), "labels"), "app", "web");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "web"), arena_printf(&c.arena, "%s; number 2 in line", kept_away));
    cluster_release(&c);
}

/* Who may not run beside another waits for its end; it is not said that he never could. */
static void who_keeps_apart_waits_for_the_others_end(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 8, 8, 0);
    add_neighbour(&c, "loud", "loud", "");
    assert_int_equal(settle(&c), 1);
    add_neighbour(&c, "quiet", "quiet", AWAY_FROM("loud"));
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "quiet"), kept_away);
    set_phase(&c, "loud", "Succeeded");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "quiet"), "one");
    cluster_release(&c);
}

/* Behind others too: it is not they that it waits for. */
static void who_seeks_company_is_told_so_in_line(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 8, 8, 0);
    add_neighbour(&c, "holds", "loud", "");
    assert_int_equal(settle(&c), 1);
    add_neighbour(&c, "quiet", "quiet", AWAY_FROM("loud"));
    assert_int_equal(settle(&c), 0);
    add_neighbour(&c, "seeks", "seeks", "{'podAffinity':" BESIDE("nobody") "}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "quiet"), kept_away);
    assert_string_equal(told(&c, "seeks"),
                        arena_printf(&c.arena, "%s; number 2 in line", kept_away));
    cluster_release(&c);
}

static void a_label_of_spreading_that_no_node_has_is_named(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 8, 8, 0);
    add_neighbour(&c, "spreads", "spreads", "");
    set_spec(&c, PODS, "spreads", "topologySpreadConstraints",
             "[{'maxSkew':1,'topologyKey':'rack','whenUnsatisfiable':'DoNotSchedule',"
             "'labelSelector':{'matchLabels':{'app':'spreads'}}}]");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "spreads"), "can never fit: no node has the label \"rack\", the "
                                             "topologyKey of its topologySpreadConstraints");
    cluster_release(&c);
}

static void enough_in_all_but_never_in_one_place(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 1, 8, 0);
    add_node(&c, "two", 1, 8, 0);
    add_pod(&c, "a", "a-0", 9, 3, "{'cpu':'200m'}");
    add_pod(&c, "a", "a-1", 9, 3, "{'cpu':'900m'}");
    add_pod(&c, "a", "a-2", 9, 3, "{'cpu':'900m'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "a-0"),
                        "can never fit: there is enough in all, but not where its pods would "
                        "need it: the largest pod asks 900m CPU (what helps: smaller requests or "
                        "fewer replicas)");
    cluster_release(&c);
}

static void who_is_there_keeps_others_away_too(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 8, 8, 0);
    add_neighbour(&c, "quiet", "quiet", AWAY_FROM("loud"));
    assert_int_equal(settle(&c), 1);
    add_neighbour(&c, "loud", "loud", "");
    add_neighbour(&c, "other", "other", "");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "other"), "one");
    assert_string_equal(told(&c, "loud"), kept_away);
    add_node(&c, "two", 8, 8, 0);
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "loud"), "two");
    add_neighbour(&c, "louder", "loud", "");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "louder"), "two");
    set_phase(&c, "quiet", "Succeeded");
    set_phase(&c, "loud", "Succeeded");
    set_phase(&c, "louder", "Succeeded");
    add_neighbour(&c, "late", "loud", "");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "late"), "one");
    cluster_release(&c);
}

static int64_t pods_on(struct cluster *c, const char *node, const char *prefix)
{
    int64_t count = 0;

    for (size_t i = 0; i < c->len[PODS]; i++)
        count += strncmp(object_name(c->items[PODS][i]), prefix, strlen(prefix)) == 0 &&
                 strcmp(node_of(c, object_name(c->items[PODS][i])), node) == 0;
    return count;
}

/* What is preferred goes before filling nodes, and never keeps a pod from running. */
static void preferences_choose_among_nodes_with_room(void **state)
{
    static const char *const ssd =
        "{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':["
        "{'weight':1,'preference':{'matchExpressions':[{'key':'disk','operator':'In','values':"
        "['one']}]}},{'weight':9,'preference':{'matchExpressions':[{'key':'disk','operator':'In',"
        "'values':['two']}]}}]}}";
    static const char *const apart =
        "{'podAntiAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':5,"
        "'podAffinityTerm':{'topologyKey':'disk','labelSelector':{'matchLabels':{'app':'a'}}}}]}}";
    static const char *const together =
        "{'podAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':5,"
        "'podAffinityTerm':{'topologyKey':'disk','labelSelector':{'matchLabels':{'app':'b'}}}}]}}";
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 8, 8, 0);
    add_node(&c, "two", 8, 8, 0);
    add_neighbour(&c, "fills", "f", "");
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "fills"), "one");
    add_neighbour(&c, "b-0", "b", ssd);
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "b-0"), "two");
    for (int i = 0; i < 4; i++)
        add_neighbour(&c, arena_printf(&c.arena, "a-%d", i), "a", apart);
    assert_int_equal(settle(&c), 4);
    assert_int_equal(pods_on(&c, "one", "a-"), 2);
    add_neighbour(&c, "fills-more", "f", "");
    add_neighbour(&c, "fills-on", "f", "");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "fills-on"), "one");
    add_neighbour(&c, "near-b", "n", together);
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "near-b"), "two");
    for (int i = 0; i < 4; i++) {
        const char *name = arena_printf(&c.arena, "s-%d", i);

        add_neighbour(&c, name, "s", "");
        set_spec(&c, PODS, name, "topologySpreadConstraints",
                 "[{'maxSkew':1,'topologyKey':'disk','whenUnsatisfiable':'ScheduleAnyway',"
                 "'labelSelector':{'matchLabels':{'app':'s'}}}]");
    }
    assert_int_equal(settle(&c), 4);
    assert_int_equal(pods_on(&c, "one", "s-"), 2);
    add_neighbour(&c, "b-1", "b", ssd); /* two is full: it runs all the same */
    add_neighbour(&c, "b-2", "b", ssd);
    add_neighbour(&c, "b-3", "b", ssd);
    assert_int_equal(settle(&c), 3);
    assert_true(pods_on(&c, "one", "b-") > 0);
    cluster_release(&c);
}

static void a_taint_that_only_asks_is_avoided(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 1, 8, 0);
    set_spec(&c, NODES, "one", "taints", "[{'key':'k','effect':'PreferNoSchedule'}]");
    add_node(&c, "two", 1, 8, 0);
    add_pod(&c, "", "a", 9, 1, "{'cpu':'1'}");
    add_pod(&c, "", "b", 8, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "a"), "two");
    assert_string_equal(node_of(&c, "b"), "one");
    cluster_release(&c);
}

static void nodes_are_filled_or_spread_as_configured(void **state)
{
    struct cluster c;
    struct plan plan;

    (void)state;
    cluster_init(&c);
    add_node(&c, "one", 8, 8, 0);
    add_node(&c, "two", 8, 8, 0);
    add_job(&c, "a", "default", 9, 2, 1, "");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "a-0"), node_of(&c, "a-1"));
    ledger_configure(c.ledger, &(struct scheduler_config){.spreads = true});
    add_job(&c, "b", "default", 8, 1, 1, "");
    look(&c, &plan);
    for (const struct plan_step *step = plan.first; step; step = step->next)
        cluster_apply(&c, step);
    assert_string_not_equal(node_of(&c, "b-0"), node_of(&c, "a-0"));
    cluster_release(&c);
}

/* Another scheduler was faster with the whole gang: every binding of it is refused. */
static void a_plan_that_is_refused_counts_once(void **state)
{
    struct cluster c;
    struct plan plan;
    int64_t pause_ms;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 8, 64, 0);
    add_pod(&c, "a", "a-0", 9, 2, "{'cpu':'1'}");
    add_pod(&c, "a", "a-1", 9, 2, "{'cpu':'1'}");
    for (int attempt = 0; attempt < 7; attempt++) {
        look(&c, &plan);
        pause_ms = ledger_refused(c.ledger, "ns/a", c.now_ms);
        assert_int_equal(pause_ms, attempt < 5 ? 0 : 100 << (attempt - 5));
        for (int i = 0; i < 9; i++)
            assert_int_equal(ledger_refused(c.ledger, "ns/a", c.now_ms), 0);
        ledger_undone(c.ledger);
        c.now_ms += pause_ms;
    }
    cluster_release(&c);
}

static void without_memory_nothing_is_decided(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 8, 2);
    add_queue(&c, "high", "'priority':5");
    add_pod(&c, "", "x", 9, 1, "{'cpu':'4'}");
    assert_int_equal(settle(&c), 1);
    add_pod(&c, "a", "a-0", 9, 2, "{'cpu':'1','nvidia.com/gpu':1}");
    add_pod(&c, "a", "a-1", 9, 2, "{'cpu':'1','nvidia.com/gpu':1}");
    add_pod(&c, "b", "b", 8, 1, "{'cpu':'5'}");
    add_job(&c, "h", "high", 1, 1, 1, "");
    for (size_t limit = 0; limit < 300000; limit += 500) {
        struct arena a = ARENA_INIT(limit);
        struct ledger *l = cluster_ledger(&c);
        struct plan plan;

        plan_init(&plan, &a);
        schedule(l, c.now_ms, &plan);
        ledger_free(l);
        arena_release(&a);
    }
    cluster_release(&c);
}

/* --- what a user writes into a group ---------------------------------------------------------- */

static void set_started(struct cluster *c, const char *pod, int64_t at_ms)
{
    struct json *status = json_make_object(&c->arena, cluster_edit(c, PODS, pod), "status");
    char time[TIME_TEXT_SIZE];

    json_set_string(&c->arena, status, "startTime", time_format(at_ms, time));
}

static void annotate(struct cluster *c, enum cluster_set set, const char *name, const char *key,
                     const char *value)
{
    struct json *meta = json_make_object(&c->arena, cluster_edit(c, set, name), "metadata");

    json_set_string(&c->arena, json_make_object(&c->arena, meta, "annotations"), key, value);
}

/* A group without a job, and a pod of it. */
static void add_own_group(struct cluster *c, const char *name, const char *spec)
{
    cluster_add(c, GROUPS,
                arena_printf(&c->arena,
                             "{'metadata':{'name':'%s','namespace':'ns','uid':'group-%s',"
                             "'creationTimestamp':'2026-01-01T00:00:00Z'},'spec':{%s}}",
                             name, name, spec));
}

static void the_clock_of_a_group_goes_on_when_it_is_made_anew(void **state)
{
    struct cluster c;
    struct plan plan;
    char time[TIME_TEXT_SIZE];
    int64_t started;

    (void)state;
    cluster_init(&c);
    started = c.now_ms;
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "q", "'maxDuration':'1h'");
    add_job(&c, "a", "q", 9, 2, 1, "");
    assert_int_equal(settle(&c), 2);
    set_started(&c, "a-0", started);
    set_started(&c, "a-1", started);
    c.now_ms += 1800000;
    cluster_remove(&c, GROUPS, "a");
    carry_out(&c);
    add_group(&c, "a", 1, 2, "'queue':'q','members':2");
    settle(&c);
    look(&c, &plan);
    assert_int_equal(plan.wake_at_ms, started + 3600000 + TIMES_MS);
    /* nor do restarts of its pods help: its job knows */
    for (int i = 0; i < 2; i++) {
        const char *pod = arena_printf(&c.arena, "a-%d", i);

        set_started(&c, pod, c.now_ms);
    }
    cluster_remove(&c, GROUPS, "a");
    carry_out(&c);
    add_group(&c, "a", 1, 2, "'queue':'q','members':2");
    annotate(&c, GROUPS, "a", ANNOTATION_STARTED, time_format(started, time));
    settle(&c);
    look(&c, &plan);
    assert_int_equal(plan.wake_at_ms, started + 3600000 + TIMES_MS);
    c.now_ms = started + 3600000 + TIMES_MS;
    set_spec(&c, GROUPS, "a", "members", "0"); /* as if its job were paused, but its pods run */
    carry_out(&c);
    assert_int_equal(c.pauses, 1);
    cluster_release(&c);
}

/* Its job started before, and is let go on: that is another time. */
static void a_group_that_starts_again_has_its_time_anew(void **state)
{
    struct cluster c;
    struct plan plan;
    char time[TIME_TEXT_SIZE];

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "q", "'maxDuration':'1h'");
    add_job(&c, "a", "q", 9, 1, 1, "");
    annotate(&c, GROUPS, "a", ANNOTATION_STARTED, time_format(c.now_ms - 7200000, time));
    assert_int_equal(settle(&c), 1);
    look(&c, &plan);
    assert_int_equal(plan.wake_at_ms, WORLD_START_MS + 3600000 + TIMES_MS);
    cluster_release(&c);
}

static void a_pod_by_itself_has_its_time_from_its_start(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "default", "'maxDuration':'1h'");
    add_pod(&c, "", "alone", 9, 1, "{'cpu':'1'}"); /* made a year ago */
    assert_int_equal(settle(&c), 1);
    set_started(&c, "alone", c.now_ms);
    carry_out(&c);
    assert_int_equal(c.deletes, 0);
    c.now_ms += 3600000 + TIMES_MS;
    carry_out(&c);
    assert_int_equal(c.deletes, 1);
    cluster_release(&c);
}

static void the_deadline_of_a_group_without_a_job_is_kept(void **state)
{
    static const char *const why = "it ran longer than its activeDeadlineSeconds (60)";
    struct cluster c;
    struct plan plan;
    int64_t started;

    (void)state;
    cluster_init(&c);
    started = c.now_ms;
    add_node(&c, "n", 4, 64, 0);
    add_own_group(&c, "own", "'minMember':1,'activeDeadlineSeconds':60");
    add_pod(&c, "own", "own-0", 9, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    look(&c, &plan);
    assert_int_equal(plan.wake_at_ms, started + 60000 + TIMES_MS);
    c.now_ms = started + 60000 + TIMES_MS;
    carry_out(&c);
    assert_int_equal(c.deletes, 1);
    cluster_remove(&c, PODS, "own-0");
    settle(&c);
    assert_string_equal(reason_of(&c, "own"), "DeadlineExceeded");
    assert_string_equal(message_of(&c, "own"), why);
    cluster_release(&c);
}

/* Nobody stops it then: neither the job, which has no deadline or a later one, nor we. */
static void a_deadline_that_is_not_the_jobs_is_not_believed(void **state)
{
    static const char *const deadlines[] = {NULL, "7200"};

    (void)state;
    for (size_t i = 0; i < ELEMS(deadlines); i++) {
        struct cluster c;

        cluster_init(&c);
        add_node(&c, "n", 4, 64, 0);
        add_job(&c, "first", "default", 9, 1, 3, "'activeDeadlineSeconds':3600");
        assert_int_equal(settle(&c), 1);
        add_job(&c, "head", "default", 8, 1, 4, "");
        add_job(&c, "liar", "default", 7, 1, 1, "");
        if (deadlines[i])
            annotate(&c, PODS, "liar-0", ANNOTATION_DEADLINE, deadlines[i]);
        set_spec(&c, GROUPS, "liar", "activeDeadlineSeconds", "60");
        add_pod(&c, "", "alone", 6, 1, "{'cpu':'1'}"); /* our agents do not keep that of a pod */
        set_spec(&c, PODS, "alone", "activeDeadlineSeconds", "60");
        assert_int_equal(settle(&c), 0);
        cluster_release(&c);
    }
}

static void a_deadline_that_is_raised_is_told(void **state)
{
    struct cluster c;
    char time[TIME_TEXT_SIZE];
    int64_t started;

    (void)state;
    cluster_init(&c);
    started = c.now_ms;
    add_node(&c, "n", 4, 64, 0);
    add_job(&c, "first", "default", 9, 1, 4, "'activeDeadlineSeconds':60");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "head", "default", 8, 1, 4, "");
    settle(&c);
    set_spec(&c, GROUPS, "first", "activeDeadlineSeconds", "600");
    settle(&c);
    assert_string_equal(
        told(&c, "head-0"),
        arena_printf(&c.arena,
                     "waiting for resources: needs 4 CPU, 0 of 4 CPU is free; job \"first\" (queue "
                     "default) holds 4 CPU until %s at the latest",
                     time_format(started + 600000, time)));
    cluster_release(&c);
}

static void the_grace_period_belongs_to_the_time_a_group_runs(void **state)
{
    struct cluster c;
    char time[TIME_TEXT_SIZE];
    int64_t started;

    (void)state;
    cluster_init(&c);
    started = c.now_ms;
    add_node(&c, "n", 4, 64, 0);
    add_job(&c, "first", "default", 9, 1, 3, "'activeDeadlineSeconds':3600");
    set_spec(&c, PODS, "first-0", "terminationGracePeriodSeconds", "30");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "head", "default", 8, 1, 4, "");
    add_job(&c, "lingers", "default", 7, 1, 1, "'activeDeadlineSeconds':60");
    set_spec(&c, PODS, "lingers-0", "terminationGracePeriodSeconds", "3600");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(
        told(&c, "head-0"),
        arena_printf(&c.arena,
                     "waiting for resources: needs 4 CPU, 1 of 4 CPU is free; job \"first\" (queue "
                     "default) holds 3 CPU until %s at the latest",
                     time_format(started + 3630000, time)));
    set_spec(&c, PODS, "lingers-0", "terminationGracePeriodSeconds", "30");
    assert_int_equal(settle(&c), 1);
    cluster_release(&c);
}

/* --- what a bound pod belongs to ----------------------------------------------------------------
 */

static void disown(struct cluster *c, enum cluster_set set, const char *name)
{
    json_remove(json_make_object(&c->arena, cluster_edit(c, set, name), "metadata"),
                "ownerReferences");
}

/* Another scheduler takes over. */
static void begin_anew(struct cluster *c)
{
    cluster_feed(c);
    ledger_free(c->ledger);
    c->ledger = cluster_ledger(c);
}

static void critical_pods_run_on_when_their_queues_time_is_over(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "default", "'maxDuration':'1h'");
    cluster_add(&c, NAMESPACES, "{'metadata':{'name':'kube-system','labels':{'team':'x'}}}");
    cluster_add(&c, PODS,
                "{'metadata':{'name':'critical','namespace':'kube-system','uid':'pod-critical'},"
                "'spec':{'priority':2000001000,'containers':[{'resources':{'requests':{'cpu':'2'}}}"
                "]}}");
    add_pod(&c, "", "plain", 8, 1, "{'cpu':'1'}");
    set_spec(&c, PODS, "plain", "priority", "2000000000"); /* a user's, who would escape by it */
    assert_int_equal(settle(&c), 2);
    set_started(&c, "critical", c.now_ms);
    set_started(&c, "plain", c.now_ms);
    add_pod(&c, "", "waits", 1, 1, "{'cpu':'4'}");
    settle(&c);
    assert_null(strstr(told(&c, "waits"), "at the latest"));
    c.now_ms += 3600000 + TIMES_MS;
    carry_out(&c);
    assert_int_equal(c.deletes, 1); /* the plain one */
    cluster_remove(&c, PODS, "plain");
    settle(&c);
    assert_int_equal(c.deletes, 1);
    cluster_release(&c);
}

static void pods_that_no_pause_stops_are_deleted(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "q", "'maxDuration':'1h'");
    add_job(&c, "a", "q", 9, 2, 1, "");
    assert_int_equal(settle(&c), 2);
    disown(&c, PODS, "a-0");
    c.now_ms += 3600000 + TIMES_MS;
    carry_out(&c);
    assert_int_equal(c.pauses, 1);
    assert_int_equal(c.deletes, 1);
    assert_true(object_is_deleting(cluster_get(&c, PODS, "a-0")));
    /* the other is the job's, which has half a minute to stop it */
    set_spec(&c, GROUPS, "a", "members", "0");
    carry_out(&c);
    assert_int_equal(c.pauses, 1);
    assert_int_equal(c.deletes, 1);
    c.now_ms += 30000;
    carry_out(&c);
    assert_int_equal(c.pauses, 1);
    assert_int_equal(c.deletes, 2);
    cluster_release(&c);
}

/* Its PodGroup is deleted, and made anew in another queue; whoever schedules then knows no more
 * than what is there. */
static void a_bound_pod_counts_in_its_queue_until_it_ends(void **state)
{
    for (int again = 0; again < 3; again++) {
        struct cluster c;
        int64_t started;

        (void)state;
        cluster_init(&c);
        started = c.now_ms;
        add_namespace(&c);
        add_node(&c, "n", 8, 64, 0);
        add_queue(&c, "q", "'maxDuration':'1h','quota':{'requests':{'cpu':'2'}}");
        add_own_group(&c, "own", "'minMember':1,'queue':'q'");
        add_pod(&c, "own", "own-0", 9, 1, "{'cpu':'2'}");
        assert_int_equal(settle(&c), 1);
        set_started(&c, "own-0", started);
        settle(&c);
        cluster_remove(&c, GROUPS, "own");
        if (again > 0)
            add_own_group(&c, "own", "'minMember':1,'queue':'default'");
        if (again > 1)
            begin_anew(&c);
        add_job(&c, "more", "q", 8, 1, 1, "");
        assert_int_equal(settle(&c), 0);
        assert_string_equal(reason_of(&c, "more"), "QuotaExceeded");
        c.now_ms = started + 3600000 + TIMES_MS;
        carry_out(&c);
        assert_true(object_is_deleting(cluster_get(&c, PODS, "own-0")));
        cluster_remove(&c, PODS, "own-0");
        assert_int_equal(settle(&c), 1);
        cluster_release(&c);
    }
}

static void a_pod_without_its_group_is_preempted(void **state)
{
    for (int again = 0; again < 2; again++) {
        struct cluster c;

        (void)state;
        cluster_init(&c);
        add_namespace(&c);
        add_node(&c, "n", 4, 64, 0);
        add_queue(&c, "low", "");
        add_queue(&c, "high", "'priority':5");
        add_own_group(&c, "own", "'minMember':1,'queue':'low'");
        add_pod(&c, "own", "own-0", 9, 1, "{'cpu':'4'}");
        assert_int_equal(settle(&c), 1);
        cluster_remove(&c, GROUPS, "own");
        if (again)
            begin_anew(&c);
        add_job(&c, "taker", "high", 5, 1, 4, "");
        assert_int_equal(settle(&c), 0);
        assert_int_equal(c.deletes, 1);
        cluster_remove(&c, PODS, "own-0");
        assert_int_equal(settle(&c), 1);
        cluster_release(&c);
    }
}

/* Of a pod another scheduler bound, and whose group is gone, nobody knows the queue. */
static void a_pod_of_an_unknown_queue_stays(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "high", "'priority':5");
    add_own_group(&c, "own", "'minMember':1");
    add_pod(&c, "own", "own-0", 9, 1, "{'cpu':'4'}");
    set_spec(&c, PODS, "own-0", "nodeName", "'n'");
    settle(&c);
    cluster_remove(&c, GROUPS, "own");
    begin_anew(&c);
    add_job(&c, "taker", "high", 5, 1, 4, "");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 0);
    cluster_release(&c);
}

/* For a minute, or until its time is up: its owner may create them again. */
static void a_group_without_pods_gives_its_room_back(void **state)
{
    static const struct {
        const char *spec;
        int64_t keeps_ms;
    } cases[] = {{"'minMember':1,'members':1", 60000},
                 {"'minMember':1,'members':1,'activeDeadlineSeconds':5", 5000 + TIMES_MS},
                 {"'minMember':1,'members':1,'queue':'q'", 9000 + TIMES_MS}};

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct cluster c;
        int64_t started;

        cluster_init(&c);
        started = c.now_ms;
        add_namespace(&c);
        add_node(&c, "n", 4, 64, 0);
        add_queue(&c, "q", "'maxDuration':'9s'");
        add_own_group(&c, "own", cases[i].spec);
        add_pod(&c, "own", "own-0", 9, 1, "{'cpu':'4'}");
        carry_out(&c);
        assert_string_equal(node_of(&c, "own-0"), "n");
        add_job(&c, "next", "default", 5, 1, 4, "");
        cluster_remove(&c, PODS, "own-0");
        carry_out(&c);
        c.now_ms = started + cases[i].keeps_ms - 1;
        carry_out(&c);
        assert_string_equal(phase_of(&c, "own"), "Running");
        c.now_ms++;
        carry_out(&c);
        assert_string_equal(phase_of(&c, "own"), "Pending");
        settle(&c);
        assert_string_equal(node_of(&c, "next-0"), "n");
        cluster_release(&c);
    }
}

/* One that comes back in time keeps it, and has a minute again. */
static void a_group_whose_pod_comes_back_keeps_its_room(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 64, 0);
    add_own_group(&c, "own", "'minMember':1,'members':1");
    add_pod(&c, "own", "own-0", 9, 1, "{'cpu':'4'}");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "next", "default", 5, 1, 4, "");
    for (int i = 0; i < 2; i++) {
        cluster_remove(&c, PODS, "own-0");
        carry_out(&c);
        c.now_ms += 59999;
        carry_out(&c);
        add_pod(&c, "own", "own-0", 1, 1, "{'cpu':'4'}");
        assert_int_equal(settle(&c), 1);
        assert_string_equal(node_of(&c, "own-0"), "n");
    }
    cluster_release(&c);
}

/* A member without a place is stopped, or created again, with the others. */
static void all_members_of_a_preempted_group_are_awaited(void **state)
{
    struct cluster c;
    const struct json *awaited;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 2, 64, 0);
    add_queue(&c, "high", "'priority':5");
    add_job(&c, "elastic", "default", 9, 3, 1, "");
    set_spec(&c, GROUPS, "elastic", "minMember", "2");
    assert_int_equal(settle(&c), 2);
    add_job(&c, "taker", "high", 5, 1, 2, "");
    assert_int_equal(settle(&c), 0);
    awaited = json_at(cluster_get(&c, GROUPS, "elastic"), "status", "awaited");
    assert_int_equal(json_len(awaited), 1);
    assert_int_equal(json_len(json_get(json_first(awaited), "members")), 3);
    cluster_release(&c);
}

/* It is on its way to another queue: neither the victim nor others of its queue have it any more.
 */
static void what_preempted_pods_still_hold_is_in_no_share(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 5, 64, 0);
    add_queue(&c, "low", "");
    add_queue(&c, "other", "");
    add_queue(&c, "high", "'priority':5");
    add_job(&c, "victim", "low", 9, 2, 2, "");
    add_job(&c, "filler", "high", 9, 1, 1, "");
    assert_int_equal(settle(&c), 3);
    add_job(&c, "older", "low", 8, 1, 1, "");
    add_job(&c, "younger", "other", 7, 1, 1, "");
    add_job(&c, "taker", "high", 5, 1, 4, "");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(c.deletes, 2);
    set_spec(&c, GROUPS, "victim", "members", "0"); /* it is paused, and in no line */
    settle(&c);
    assert_int_equal(place_of(&c, "older"), 2);
    assert_int_equal(place_of(&c, "younger"), 3);
    cluster_release(&c);
}

static void a_group_that_wants_no_pods_is_told_so(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 2, 64, 0);
    add_own_group(&c, "own", "'minMember':1,'members':0");
    settle(&c);
    assert_string_equal(message_of(&c, "own"), "it wants no pods: spec.members is 0");
    cluster_release(&c);
}

/* A watch of queues may be behind one of groups: the API server made sure that the queue was there.
 */
static void a_queue_that_is_not_seen_yet_is_not_missed(void **state)
{
    struct cluster c;
    char time[TIME_TEXT_SIZE];

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 2, 64, 0);
    add_job(&c, "a", "q", 9, 1, 1, "");
    json_set_string(&c.arena, json_make_object(&c.arena, cluster_edit(&c, GROUPS, "a"), "metadata"),
                    "creationTimestamp", time_format(c.now_ms, time));
    carry_out(&c);
    assert_string_equal(reason_of(&c, "a"), "");
    assert_string_equal(told(&c, "a-0"), "");
    assert_int_equal(c.events, 0);
    c.now_ms += 2000;
    settle(&c);
    assert_string_equal(reason_of(&c, "a"), "QueueNotFound");
    cluster_release(&c);
}

static void a_pod_beyond_those_its_group_wants_is_told_so(void **state)
{
    static const char *const stray = "not placed: its label scheduler.tensorstack.dev/group-name "
                                     "names the PodGroup of job \"a\", which has not created it";
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "q", "'maxDuration':'1h'");
    add_job(&c, "a", "q", 9, 1, 1, "");
    assert_int_equal(settle(&c), 1);
    add_pod(&c, "a", "joiner", 1, 1, "{'cpu':'1'}");
    json_remove(json_make_object(&c.arena, cluster_edit(&c, PODS, "joiner"), "metadata"),
                "ownerReferences");
    c.events = 0;
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "joiner"), stray);
    assert_int_equal(c.events, 1);
    c.now_ms += 3600000 + TIMES_MS;
    carry_out(&c);
    set_spec(&c, GROUPS, "a", "members", "0");
    cluster_remove(&c, PODS, "a-0");
    settle(&c);
    assert_string_equal(reason_of(&c, "a"), "MaxDurationExceeded");
    assert_string_equal(told(&c, "joiner"), stray);
    add_own_group(&c, "own", "'minMember':1,'members':1");
    add_pod(&c, "own", "own-0", 9, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    add_pod(&c, "own", "own-1", 9, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "own-1"), "not placed: the PodGroup \"own\" wants 1 pod "
                                           "(spec.members), and has room for that many");
    cluster_release(&c);
}

/* Nor does it take the place of one of the job's pods. */
static void a_stray_in_a_jobs_gang_counts_for_nothing(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 64, 0);
    add_pod(&c, "a", "a-0", 9, 2, "{'cpu':'1'}");
    add_pod(&c, "a", "x", 9, 2, "{'cpu':'1'}");
    json_remove(json_make_object(&c.arena, cluster_edit(&c, PODS, "x"), "metadata"),
                "ownerReferences");
    assert_int_equal(settle(&c), 0);
    add_pod(&c, "a", "a-1", 9, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(node_of(&c, "x"), "");
    /* another program's group: its pods may belong to something that program created */
    add_own_group(&c, "b", "'minMember':1");
    json_set(&c.arena, json_make_object(&c.arena, cluster_edit(&c, GROUPS, "b"), "metadata"),
             "ownerReferences",
             parse(&c.arena, "[{'controller':true,'kind':'Other','name':'b','uid':'o'}]"));
    add_pod(&c, "b", "b-0", 9, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 1);
    cluster_release(&c);
}

/* Lowering minMember in the group alone has no effect: the job's number is on its pods. */
static void a_gang_is_what_its_job_says(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 2, 64, 0);
    add_node(&c, "m", 1, 64, 0);
    add_pod(&c, "", "other", 9, 1, "{'cpu':'2'}");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "a", "default", 8, 3, 1, "");
    for (int i = 0; i < 3; i++)
        annotate(&c, PODS, arena_printf(&c.arena, "a-%d", i), ANNOTATION_GANG_SIZE, "3");
    set_spec(&c, GROUPS, "a", "minMember", "1");
    assert_int_equal(settle(&c), 0);
    set_spec(&c, GROUPS, "a", "members", "1");
    assert_int_equal(settle(&c), 0);
    /* a job that is made smaller deletes the pods it no longer wants */
    cluster_remove(&c, PODS, "a-2");
    cluster_remove(&c, PODS, "a-1");
    assert_int_equal(settle(&c), 1);
    cluster_release(&c);
}

static void who_has_succeeded_in_a_group_without_a_job_holds_nothing(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 64, 0);
    add_own_group(&c, "own", "'minMember':1,'members':4");
    for (int i = 0; i < 4; i++)
        add_pod(&c, "own", arena_printf(&c.arena, "own-%d", i), 9, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 4);
    set_phase(&c, "own-1", "Succeeded");
    set_phase(&c, "own-2", "Succeeded");
    settle(&c);
    cluster_remove(&c, PODS, "own-1"); /* before or after, it is the same */
    add_job(&c, "wants", "default", 8, 1, 2, "");
    assert_int_equal(settle(&c), 1);
    /* one that is deleted is expected again: its room is told apart */
    cluster_remove(&c, PODS, "own-3");
    add_job(&c, "waits", "default", 7, 1, 1, "");
    assert_int_equal(settle(&c), 0);
    assert_string_equal(told(&c, "waits-0"),
                        "waiting for resources: needs 1 CPU, 0 of 4 CPU is free; group \"own\" "
                        "(queue default) holds 2 CPU, 1 of it for pods that are not there, 1 more "
                        "holds the rest");
    cluster_release(&c);
}

static void set_group_deleting(struct cluster *c, const char *name)
{
    json_set_string(&c->arena,
                    json_make_object(&c->arena, cluster_edit(c, GROUPS, name), "metadata"),
                    "deletionTimestamp", "2026-01-01T01:00:00Z");
}

/* What the garbage collector does when a job is deleted alone. */
static void orphan(struct cluster *c, enum cluster_set set, const char *name)
{
    json_remove(json_make_object(&c->arena, cluster_edit(c, set, name), "metadata"),
                "ownerReferences");
}

/* The pod starts a minute after now, and not before. */
static void expect_freed_after_a_minute(struct cluster *c, const char *taker)
{
    carry_out(c);
    c->now_ms += 59999;
    carry_out(c);
    assert_string_equal(node_of(c, taker), "");
    c->now_ms++;
    c->events = 0;
    carry_out(c);
    assert_true(c->events > 0);
    settle(c);
    assert_string_equal(node_of(c, taker), "n");
}

static void an_orphaned_group_gives_its_room_back(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 64, 0);
    add_job(&c, "hog", "default", 9, 2, 2, "");
    assert_int_equal(settle(&c), 2);
    orphan(&c, GROUPS, "hog");
    orphan(&c, PODS, "hog-0");
    orphan(&c, PODS, "hog-1");
    add_job(&c, "vic", "default", 8, 1, 4, "");
    assert_int_equal(settle(&c), 0);
    cluster_remove(&c, PODS, "hog-0");
    cluster_remove(&c, PODS, "hog-1");
    expect_freed_after_a_minute(&c, "vic-0");
    assert_int_equal(json_len(places_of(cluster_get(&c, GROUPS, "hog"))), 0);
    assert_string_equal(message_of(&c, "hog"), "waiting for pods: 0 of 2 are there");
    cluster_release(&c);
}

static void an_orphaned_group_is_subject_to_the_maximum_duration(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 4, 64, 0);
    add_queue(&c, "q", "'maxDuration':'5s'");
    add_job(&c, "hog", "q", 9, 1, 4, "");
    assert_int_equal(settle(&c), 1);
    orphan(&c, GROUPS, "hog");
    orphan(&c, PODS, "hog-0");
    cluster_remove(&c, PODS, "hog-0");
    add_job(&c, "vic", "q", 8, 1, 1, "");
    assert_int_equal(settle(&c), 0);
    c.now_ms += 5000 + TIMES_MS;
    assert_int_equal(settle(&c), 1);
    cluster_release(&c);
}

/* One pod that stays does not keep the room of those that never come. */
static void a_group_without_a_job_keeps_places_for_a_minute(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 64, 0);
    add_own_group(&c, "own", "'minMember':1,'members':4");
    for (int i = 0; i < 4; i++)
        add_pod(&c, "own", arena_printf(&c.arena, "own-%d", i), 9, 1, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 4);
    cluster_remove(&c, PODS, "own-1");
    set_phase(&c, "own-2", "Failed");
    cluster_remove(&c, PODS, "own-3");
    settle(&c);
    c.now_ms += 30000;
    add_pod(&c, "own", "own-3", 9, 1, "{'cpu':'1'}"); /* in time */
    assert_int_equal(settle(&c), 1);
    add_job(&c, "wants", "default", 8, 1, 2, "");
    assert_int_equal(settle(&c), 0);
    c.now_ms += 30000;
    assert_int_equal(settle(&c), 1);
    assert_string_equal(node_of(&c, "wants-0"), "n");
    assert_string_equal(phase_of(&c, "own"), "Running");
    cluster_release(&c);
}

static void pods_that_went_together_are_given_up_together(void **state)
{
    struct cluster c;
    struct plan plan;
    const char *said = "";

    (void)state;
    cluster_init(&c);
    add_node(&c, "n", 4, 64, 0);
    add_own_group(&c, "own", "'minMember':2,'members':2");
    add_pod(&c, "own", "own-0", 9, 2, "{'cpu':'1'}");
    add_pod(&c, "own", "own-1", 9, 2, "{'cpu':'1'}");
    assert_int_equal(settle(&c), 2);
    cluster_remove(&c, PODS, "own-0");
    carry_out(&c);
    c.now_ms += 10;
    cluster_remove(&c, PODS, "own-1");
    carry_out(&c);
    c.now_ms += 59990;
    look(&c, &plan);
    for (const struct plan_step *s = plan.first; s; s = s->next)
        if (s->op == PLAN_EVENT && json_string_is(json_get(s->object, "reason"), "RoomGivenUp"))
            said = json_get_string(s->object, "message", "");
    assert_string_equal(said, "Room for 2 of its pods is for others now: for a minute they were "
                              "not there, and no job creates them");
    cluster_release(&c);
}

/* With a finalizer it may stay so for ever. */
static void a_group_that_is_being_deleted_keeps_only_what_its_pods_hold(void **state)
{
    for (int own = 0; own < 2; own++) {
        struct cluster c;

        (void)state;
        cluster_init(&c);
        add_node(&c, "n", 4, 64, 0);
        add_group(&c, "hog", 9, 2, "'members':2");
        if (own)
            orphan(&c, GROUPS, "hog");
        add_pod(&c, "hog", "hog-0", 9, 2, "{'cpu':'2'}");
        add_pod(&c, "hog", "hog-1", 9, 2, "{'cpu':'2'}");
        assert_int_equal(settle(&c), 2);
        set_group_deleting(&c, "hog");
        add_job(&c, "vic", "default", 8, 1, 2, "");
        assert_int_equal(settle(&c), 0);
        assert_string_equal(phase_of(&c, "hog"), "Running");
        cluster_remove(&c, PODS, "hog-0");
        assert_int_equal(settle(&c), 1);
        assert_int_equal(json_len(places_of(cluster_get(&c, GROUPS, "hog"))), 1);
        add_pod(&c, "hog", "hog-0", 9, 2, "{'cpu':'2'}");
        cluster_remove(&c, PODS, "hog-1");
        add_job(&c, "next", "default", 7, 1, 2, "");
        assert_int_equal(settle(&c), 1);
        assert_int_equal(json_len(places_of(cluster_get(&c, GROUPS, "hog"))), 0);
        assert_string_equal(phase_of(&c, "hog"), "Empty");
        assert_string_equal(message_of(&c, "hog"),
                            "it is being deleted: no more of its pods are placed");
        assert_string_equal(told(&c, "hog-0"), "not placed: the PodGroup \"hog\" is being deleted");
        cluster_release(&c);
    }
}

static void a_preempted_group_that_is_being_deleted_is_in_no_line(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_namespace(&c);
    add_node(&c, "n", 2, 100, 0);
    add_queue(&c, "high", "'priority':2");
    add_job(&c, "victim", "default", 9, 1, 2, "");
    assert_int_equal(settle(&c), 1);
    add_job(&c, "taker", "high", 5, 1, 1, "");
    assert_int_equal(settle(&c), 0);
    set_group_deleting(&c, "victim");
    assert_int_equal(settle(&c), 0);
    assert_int_equal(place_of(&c, "victim"), 0);
    cluster_remove(&c, PODS, "victim-0");
    add_job(&c, "lower", "default", 4, 1, 1, "");
    assert_int_equal(settle(&c), 2);
    assert_string_equal(phase_of(&c, "victim"), "Empty");
    cluster_release(&c);
}

/* Preemption deletes its pods; it keeps its place for them, but not for ever. */
static void a_preempted_group_without_a_job_keeps_its_place_for_a_minute(void **state)
{
    for (int comes = 0; comes < 2; comes++) {
        struct cluster c;

        (void)state;
        cluster_init(&c);
        add_namespace(&c);
        add_node(&c, "n", 4, 100, 0);
        add_queue(&c, "high", "'priority':2");
        add_own_group(&c, "own", "'minMember':2,'members':2");
        add_pod(&c, "own", "o0", 9, 2, "{'cpu':'2'}");
        add_pod(&c, "own", "o1", 9, 2, "{'cpu':'2'}");
        assert_int_equal(settle(&c), 2);
        add_job(&c, "taker", "high", 5, 1, 2, "");
        assert_int_equal(settle(&c), 0);
        cluster_remove(&c, PODS, "o0");
        assert_int_equal(settle(&c), 1);
        set_phase(&c, "taker-0", "Succeeded");
        set_spec(&c, GROUPS, "taker", "members", "0");
        cluster_remove(&c, PODS, "o1");
        if (comes) /* one of the two is not enough */
            add_pod(&c, "own", "o0", 2, 2, "{'cpu':'2'}");
        add_job(&c, "young", "default", 3, 1, 1, "");
        carry_out(&c);
        assert_int_equal(place_of(&c, "own"), 1);
        assert_string_equal(message_of(&c, "young"),
                            "waiting for its turn: number 2 in line behind group \"own\"");
        expect_freed_after_a_minute(&c, "young-0");
        assert_int_equal(place_of(&c, "own"), 0);
        assert_string_equal(reason_of(&c, "own"), "InsufficientMember");
        assert_null(json_at(cluster_get(&c, GROUPS, "own"), "status", "awaited"));
        cluster_release(&c);
    }
}

static void who_is_first_is_told_when_enough_becomes_free(void **state)
{
    struct cluster c;
    char time[TIME_TEXT_SIZE];
    int64_t started;

    (void)state;
    cluster_init(&c);
    started = c.now_ms;
    add_node(&c, "n", 7, 64, 0);
    add_job(&c, "long", "default", 9, 1, 5, "");
    add_job(&c, "fill", "default", 8, 1, 1, "'activeDeadlineSeconds':60");
    add_job(&c, "more", "default", 7, 1, 1, "'activeDeadlineSeconds':600");
    assert_int_equal(settle(&c), 3);
    add_job(&c, "want", "default", 6, 1, 1, "");
    settle(&c);
    assert_string_equal(
        told(&c, "want-0"),
        arena_printf(&c.arena,
                     "waiting for resources: needs 1 CPU, 0 of 7 CPU is free; job \"long\" (queue "
                     "default) holds 5 CPU, 2 more hold the rest; 1 CPU is free when job \"fill\" "
                     "has ended, at %s at the latest",
                     time_format(started + 60000, time)));
    cluster_remove(&c, PODS, "want-0");
    cluster_remove(&c, GROUPS, "want");
    add_job(&c, "two", "default", 5, 1, 2, "");
    settle(&c);
    assert_string_equal(
        told(&c, "two-0"),
        arena_printf(&c.arena,
                     "waiting for resources: needs 2 CPU, 0 of 7 CPU is free; job \"long\" (queue "
                     "default) holds 5 CPU, 2 more hold the rest; 2 CPU is free when job \"more\" "
                     "has ended, at %s at the latest",
                     time_format(started + 600000, time)));
    cluster_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_starts_whole_or_not_at_all),
        cmocka_unit_test(a_stranger_is_in_no_gang),
        cmocka_unit_test(gpus_are_those_the_node_offers),
        cmocka_unit_test(ones_do_not_break_up_a_node_of_free_gpus),
        cmocka_unit_test(a_lone_pod_is_a_gang_of_one),
        cmocka_unit_test(ties_go_by_who_came_first),
        cmocka_unit_test(priority_goes_before_age),
        cmocka_unit_test(the_queue_with_the_smaller_dominant_share_goes_first),
        cmocka_unit_test(a_higher_queue_goes_first),
        cmocka_unit_test(preemption_as_the_facts_have_it),
        cmocka_unit_test(room_that_is_made_for_a_group_is_its_own),
        cmocka_unit_test(as_few_as_are_needed_go),
        cmocka_unit_test(who_waits_behind_the_victim_does_not_wait_for_its_pods),
        cmocka_unit_test(which_pods_stop_is_told_anew_however_far_behind),
        cmocka_unit_test(who_was_preempted_waits_for_its_own_pods),
        cmocka_unit_test(who_was_preempted_keeps_its_place_while_it_has_no_pods),
        cmocka_unit_test(who_was_preempted_keeps_free_room_that_the_head_does_not_need_yet),
        cmocka_unit_test(who_was_preempted_waits_for_nodes_it_may_use),
        cmocka_unit_test(who_was_preempted_keeps_what_makes_it_whole_with_its_own_room),
        cmocka_unit_test(what_the_preempted_loses_is_not_counted_against_it),
        cmocka_unit_test(who_was_preempted_and_wants_no_pods_is_in_no_line),
        cmocka_unit_test(a_preemption_is_called_off_when_its_taker_is_gone),
        cmocka_unit_test(a_broken_gang_gets_what_it_misses_first),
        cmocka_unit_test(a_class_that_never_preempts_waits),
        cmocka_unit_test(a_broken_gang_claims_room_for_all_it_misses),
        cmocka_unit_test(a_broken_gang_claims_no_room_beside_its_own),
        cmocka_unit_test(a_broken_gang_its_quota_cannot_hold_is_stopped),
        cmocka_unit_test(a_group_that_is_asked_to_grow_is_not_stopped),
        cmocka_unit_test(an_elastic_job_keeps_no_room_for_its_dead),
        cmocka_unit_test(who_may_not_be_preempted_is_not),
        cmocka_unit_test(who_is_in_a_queue_unknown_is_not_preempted),
        cmocka_unit_test(places_are_given_back_before_others_take_them),
        cmocka_unit_test(what_is_exchanged_is_written_before_others_take),
        cmocka_unit_test(who_begins_anew_gives_back_before_it_takes),
        cmocka_unit_test(pods_beyond_those_wanted_get_no_place),
        cmocka_unit_test(of_two_broken_gangs_goes_on_whom_the_quota_holds),
        cmocka_unit_test(of_two_gangs_that_hold_what_the_other_lacks_one_goes_on),
        cmocka_unit_test(a_broken_gang_that_no_node_can_complete_is_stopped),
        cmocka_unit_test(victims_are_as_few_as_needed),
        cmocka_unit_test(who_the_quota_will_refuse_takes_nothing),
        cmocka_unit_test(a_claim_does_not_let_the_second_of_a_queue_pass_the_first),
        cmocka_unit_test(elastic_surplus_goes_first),
        cmocka_unit_test(an_elastic_job_loses_only_what_is_needed),
        cmocka_unit_test(a_job_is_told_of_members_that_are_preempted),
        cmocka_unit_test(a_restarting_replica_keeps_its_room),
        cmocka_unit_test(a_gang_that_lost_a_place_waits_for_all),
        cmocka_unit_test(pods_are_counted_where_nodes_say_how_many),
        cmocka_unit_test(a_whole_group_keeps_its_room_over_a_restart_of_the_scheduler),
        cmocka_unit_test(a_paused_group_gives_its_room_back),
        cmocka_unit_test(a_resumed_gang_starts_whole_beside_pods_that_stop),
        cmocka_unit_test(a_gang_that_only_stops_keeps_no_half_of_its_places),
        cmocka_unit_test(a_member_whose_node_is_gone_is_placed_elsewhere),
        cmocka_unit_test(what_the_head_does_not_need_is_used),
        cmocka_unit_test(what_the_head_will_not_miss_is_used),
        cmocka_unit_test(the_head_starts_with_the_first_end_that_is_enough),
        cmocka_unit_test(a_job_that_surely_ends_in_time_may_go_ahead),
        cmocka_unit_test(who_went_past_the_first_of_its_queue_does_not_hold_it_up),
        cmocka_unit_test(who_is_first_of_its_queue_for_a_day_goes_first),
        cmocka_unit_test(who_waits_for_quota_is_told_who_holds_it),
        cmocka_unit_test(who_is_far_behind_for_quota_is_told_no_numbers),
        cmocka_unit_test(who_waits_behind_the_head_does_not_close_the_gap),
        cmocka_unit_test(the_claim_of_the_head_stays_where_it_is),
        cmocka_unit_test(ten_on_room_for_nine),
        cmocka_unit_test(a_group_without_pods_waits_for_them),
        cmocka_unit_test(a_group_that_lets_too_few_come_is_told_so),
        cmocka_unit_test(roles_must_be_there_too),
        cmocka_unit_test(queues_say_no_in_words),
        cmocka_unit_test(quota_is_kept_for_the_first_in_its_queue),
        cmocka_unit_test(statuses_count),
        cmocka_unit_test(who_runs_too_long_is_paused_and_told),
        cmocka_unit_test(a_gang_of_kubernetes_that_runs_too_long_is_suspended),
        cmocka_unit_test(critical_pods_run_on_when_their_queues_time_is_over),
        cmocka_unit_test(who_is_preempted_at_the_end_of_its_time_is_told_why_it_is_paused),
        cmocka_unit_test(the_clock_of_a_group_goes_on_when_it_is_made_anew),
        cmocka_unit_test(a_group_that_starts_again_has_its_time_anew),
        cmocka_unit_test(a_pod_by_itself_has_its_time_from_its_start),
        cmocka_unit_test(the_deadline_of_a_group_without_a_job_is_kept),
        cmocka_unit_test(a_deadline_that_is_not_the_jobs_is_not_believed),
        cmocka_unit_test(a_deadline_that_is_raised_is_told),
        cmocka_unit_test(the_grace_period_belongs_to_the_time_a_group_runs),
        cmocka_unit_test(a_pod_beyond_those_its_group_wants_is_told_so),
        cmocka_unit_test(a_stray_in_a_jobs_gang_counts_for_nothing),
        cmocka_unit_test(a_gang_is_what_its_job_says),
        cmocka_unit_test(who_has_succeeded_in_a_group_without_a_job_holds_nothing),
        cmocka_unit_test(an_orphaned_group_gives_its_room_back),
        cmocka_unit_test(an_orphaned_group_is_subject_to_the_maximum_duration),
        cmocka_unit_test(a_group_without_a_job_keeps_places_for_a_minute),
        cmocka_unit_test(pods_that_went_together_are_given_up_together),
        cmocka_unit_test(a_group_that_is_being_deleted_keeps_only_what_its_pods_hold),
        cmocka_unit_test(a_preempted_group_that_is_being_deleted_is_in_no_line),
        cmocka_unit_test(a_preempted_group_without_a_job_keeps_its_place_for_a_minute),
        cmocka_unit_test(who_is_first_is_told_when_enough_becomes_free),
        cmocka_unit_test(a_deleted_queue_stops_nobody),
        cmocka_unit_test(who_is_in_no_line_does_not_wait),
        cmocka_unit_test(pods_are_told_what_their_group_lacks),
        cmocka_unit_test(pods_of_a_job_are_told_that_their_group_is_gone),
        cmocka_unit_test(what_helps_is_what_is_missing),
        cmocka_unit_test(places_in_line_are_told_once_a_second),
        cmocka_unit_test(thousands_are_told_why_in_turns),
        cmocka_unit_test(taints_and_affinity_are_heeded),
        cmocka_unit_test(pods_keep_apart_and_spread),
        cmocka_unit_test(an_elastic_job_that_keeps_apart_starts_with_its_minimum),
        cmocka_unit_test(who_is_kept_away_by_others_is_told_so_in_line),
        cmocka_unit_test(who_keeps_apart_waits_for_the_others_end),
        cmocka_unit_test(who_is_there_keeps_others_away_too),
        cmocka_unit_test(who_seeks_company_is_told_so_in_line),
        cmocka_unit_test(a_label_of_spreading_that_no_node_has_is_named),
        cmocka_unit_test(enough_in_all_but_never_in_one_place),
        cmocka_unit_test(preferences_choose_among_nodes_with_room),
        cmocka_unit_test(a_taint_that_only_asks_is_avoided),
        cmocka_unit_test(nodes_are_filled_or_spread_as_configured),
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(a_started_gang_takes_its_missing_member_alone),
        cmocka_unit_test(an_elastic_job_takes_what_is_there),
        cmocka_unit_test(who_is_far_behind_is_told_what_changes_for_his_queue),
        cmocka_unit_test(who_is_overtaken_by_many_is_told_so),
        cmocka_unit_test(deleting_pods_hold_until_gone),
        cmocka_unit_test(memory_counts_too),
        cmocka_unit_test(overcommit_counts_gpus_only),
        cmocka_unit_test(gpus_are_given_out_disjointly),
        cmocka_unit_test(shares_of_gpus_are_counted),
        cmocka_unit_test(quotas_limit_shares_of_gpus),
        cmocka_unit_test(a_gpu_is_shared_or_whole_never_both),
        cmocka_unit_test(a_node_may_offer_shares_and_name_no_gpus),
        cmocka_unit_test(shares_are_kept_over_a_restart_of_the_scheduler),
        cmocka_unit_test(a_gang_that_does_not_fit_gives_its_gpus_back),
        cmocka_unit_test(gpus_of_pods_others_bound_are_avoided),
        cmocka_unit_test(requests_else_limits_and_init_containers),
        cmocka_unit_test(what_is_added_can_be_taken_away),
        cmocka_unit_test(only_ready_nodes_take_pods),
        cmocka_unit_test(what_is_wrong_with_nodes_is_named),
        cmocka_unit_test(room_behind_a_taint_is_named),
        cmocka_unit_test(pods_that_keep_each_other_away_need_nodes),
        cmocka_unit_test(what_helps_on_a_clusters_node_is_no_option_of_muster_up),
        cmocka_unit_test(extended_resources_need_a_node_that_offers_them),
        cmocka_unit_test(extended_resources_are_counted),
        cmocka_unit_test(a_gang_gets_its_extended_resources_whole),
        cmocka_unit_test(several_nodes),
        cmocka_unit_test(who_asks_for_one_node_is_told_of_it),
        cmocka_unit_test(who_asks_for_a_full_node_is_told_who_holds_it),
        cmocka_unit_test(who_lacks_room_for_some_is_told_for_how_many),
        cmocka_unit_test(what_a_cordoned_node_would_take_waits_for_it),
        cmocka_unit_test(what_a_lost_node_would_take_waits_for_it),
        cmocka_unit_test(who_is_named_as_before_is_before),
        cmocka_unit_test(who_is_before_asks_for_the_same),
        cmocka_unit_test(enough_in_all_but_not_in_one_place),
        cmocka_unit_test(who_holds_most_is_named),
        cmocka_unit_test(holders_are_those_on_the_counted_nodes),
        cmocka_unit_test(queues_count_groups_by_their_phases),
        cmocka_unit_test(a_wait_begins_when_it_begins_anew),
        cmocka_unit_test(all_that_is_short_is_told_at_once),
        cmocka_unit_test(each_kind_of_pod_that_is_too_large_is_told),
        cmocka_unit_test(all_that_a_quota_forbids_is_told_at_once),
        cmocka_unit_test(what_a_gang_lacks_in_all_is_told_beside_the_rest),
        cmocka_unit_test(what_no_node_offers_together_is_told),
        cmocka_unit_test(overcommit_can_still_be_too_little),
        cmocka_unit_test(conditions_of_others_are_kept),
        cmocka_unit_test(members_of_the_server_are_no_change),
        cmocka_unit_test(events_are_told_once),
        cmocka_unit_test(a_plan_that_is_refused_counts_once),
        cmocka_unit_test(without_memory_nothing_is_decided),
        cmocka_unit_test(pods_that_no_pause_stops_are_deleted),
        cmocka_unit_test(a_bound_pod_counts_in_its_queue_until_it_ends),
        cmocka_unit_test(a_pod_without_its_group_is_preempted),
        cmocka_unit_test(a_pod_of_an_unknown_queue_stays),
        cmocka_unit_test(a_group_without_pods_gives_its_room_back),
        cmocka_unit_test(a_group_whose_pod_comes_back_keeps_its_room),
        cmocka_unit_test(all_members_of_a_preempted_group_are_awaited),
        cmocka_unit_test(what_preempted_pods_still_hold_is_in_no_share),
        cmocka_unit_test(a_group_that_wants_no_pods_is_told_so),
        cmocka_unit_test(a_queue_that_is_not_seen_yet_is_not_missed),
    };

    return cmocka_run_group_tests_name("core schedule", tests, NULL, NULL);
}
