/*
 * room_test.c - any client that binds pods or records groups' places: nothing is assigned twice,
 * however old what the writer has seen. The answer to who comes too late is 409 with the numbers.
 */
#include "core/job.h"
#include "fixture.h"

#define PODS "/api/v1/namespaces/default/pods"
#define NODES "/api/v1/nodes"
#define SCHEDULER "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/"
#define GROUPS SCHEDULER "default/podgroups"
#define QUEUES SCHEDULER "t9k-system/queues"

static const char *text(struct fixture *f, const char *fmt, ...) printf_like(2, 3);

/* With ' for ". */
static const char *text(struct fixture *f, const char *fmt, ...)
{
    char out[2048];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(out, sizeof(out), fmt, args);
    va_end(args);
    for (char *c = out; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return arena_strdup(&f->arena, out);
}

static void make_node(struct fixture *f, const char *name, const char *allocatable)
{
    expect(f, "POST", NODES, text(f, "{'metadata':{'name':'%s'}}", name), 201);
    expect(f, "PATCH", text(f, NODES "/%s/status", name),
           text(f, "{'status':{'allocatable':%s,'conditions':[{'type':'Ready','status':'True'}]}}",
                allocatable),
           200);
}

static void make_pod(struct fixture *f, const char *name, const char *group, const char *requests)
{
    expect(f, "POST", PODS,
           text(f,
                "{'metadata':{'name':'%s','labels':{%s%s%s}},'spec':{'containers':[{'name':'c',"
                "'image':'i','resources':{'requests':%s,'limits':%s}}]}}",
                name, *group ? "'scheduler.tensorstack.dev/group-name':'" : "", group,
                *group ? "'" : "", requests, requests),
           201);
}

static struct answer bind(struct fixture *f, const char *pod, const char *node, int code)
{
    return expect(f, "POST", text(f, PODS "/%s/binding", pod),
                  text(f, "{'target':{'kind':'Node','name':'%s'}}", node), code);
}

static void make_group(struct fixture *f, const char *name, const char *queue, int members)
{
    expect(f, "POST", GROUPS,
           text(f, "{'metadata':{'name':'%s'},'spec':{'minMember':%d,'members':%d,'queue':'%s'}}",
                name, members, members, queue),
           201);
}

/* Members NAME-0 .. of one CPU each get their places on the node. */
static struct answer record(struct fixture *f, const char *group, const char *node, int members,
                            int code)
{
    struct buf b = BUF_INIT(1024);
    struct answer a;

    for (int i = 0; i < members; i++)
        buf_addf(&b, "%s'%s-%d'", i ? "," : "", group, i);
    a = expect(f, "PATCH", text(f, GROUPS "/%s/status", group),
               text(f,
                    "{'status':{'conditions':[{'type':'GroupScheduled','status':'True'}],"
                    "'placements':[{'node':'%s','requests':{'cpu':'1'},'members':[%s]}]}}",
                    node, b.data),
               code);
    buf_release(&b);
    return a;
}

static void make_gang(struct fixture *f, const char *name, const char *queue, int members)
{
    make_group(f, name, queue, members);
    for (int i = 0; i < members; i++)
        make_pod(f, text(f, "%s-%d", name, i), name, "{'cpu':'1'}");
}

static void a_node_takes_what_it_has(void **state)
{
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'4','memory':'8Gi'}");
    make_pod(f, "a", "", "{'cpu':'3'}");
    make_pod(f, "b", "", "{'cpu':'2','memory':'1Gi'}");
    make_pod(f, "c", "", "{'cpu':'1'}");
    make_pod(f, "d", "", "{'memory':'9Gi'}");
    bind(f, "a", "n", 201);
    assert_says(bind(f, "b", "n", 409), "Conflict",
                "Operation cannot be fulfilled on pods/binding \"b\": node \"n\" has no room for "
                "pod \"b\": it asks 2 CPU, 1 of 4 CPU is free");
    assert_says(bind(f, "d", "n", 409), "Conflict",
                "it asks 9Gi memory, 8Gi of 8Gi memory is free");
    bind(f, "c", "n", 201);
    /* what has ended or is gone holds nothing */
    expect(f, "PATCH", PODS "/c/status", text(f, "{'status':{'phase':'Succeeded'}}"), 200);
    assert_says(bind(f, "b", "n", 409), "Conflict", "1 of 4 CPU is free");
    expect(f, "DELETE", PODS "/a?gracePeriodSeconds=0", NULL, 200);
    bind(f, "b", "n", 201);
}

/* As `kubectl create -f` sends it. */
static void a_binding_may_name_its_pod_itself(void **state)
{
    struct fixture *f = *state;
    const char *path = "/api/v1/namespaces/default/bindings";
    const char *to_n = text(f, "{'apiVersion':'v1','kind':'Binding','metadata':{'name':'a'},"
                               "'target':{'kind':'Node','name':'n'}}");

    make_node(f, "n", "{'cpu':'1'}");
    make_pod(f, "a", "", "{'cpu':'1'}");
    assert_non_null(strstr(expect(f, "GET", "/api/v1", NULL, 200).body, "\"bindings\""));
    assert_says(expect(f, "POST", path, text(f, "{'target':{'name':'n'}}"), 422), "Invalid",
                "Binding \"\" is invalid: metadata.name: Required value: the pod's");
    expect(f, "POST", path, to_n, 201);
    assert_says(expect(f, "POST", path, to_n, 409), "Conflict",
                "pods/binding \"a\": pod a is already assigned to node \"n\"");
    expect(f, "GET", path, NULL, 405);
}

static void writes_on_their_way_count(void **state)
{
    static const char to_n[] = "{\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}";
    struct fixture *f = *state;
    struct answer a, b;

    make_node(f, "n", "{'cpu':'1'}");
    make_pod(f, "a", "", "{'cpu':'1'}");
    make_pod(f, "b", "", "{'cpu':'1'}");
    ask_with(f, &a, "POST", PODS "/a/binding", "application/json", NULL, to_n);
    ask_with(f, &b, "POST", PODS "/b/binding", "application/json", NULL, to_n);
    assert_int_equal(wait_for(f, &a).status, 201);
    assert_int_equal(wait_for(f, &b).status, 409);
}

static void pods_and_gpus_are_counted(void **state)
{
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'9','nvidia.com/gpu':'2','pods':'2'}");
    make_pod(f, "a", "", "{'nvidia.com/gpu':'2'}");
    make_pod(f, "b", "", "{'nvidia.com/gpu':'1'}");
    make_pod(f, "c", "", "{'cpu':'1'}");
    make_pod(f, "d", "", "{}");
    make_pod(f, "e", "", "{'amd.com/gpu':'1'}");
    bind(f, "a", "n", 201);
    assert_says(bind(f, "b", "n", 409), "Conflict", "it asks 1 GPU, 0 of 2 GPU is free");
    assert_says(bind(f, "e", "n", 409), "Conflict", "node \"n\" does not offer enough amd.com/gpu");
    bind(f, "c", "n", 201);
    assert_says(bind(f, "d", "n", 409), "Conflict", "it asks 1 pod, 0 of 2 pods is free");
}

static void a_gpu_is_given_once(void **state)
{
    struct fixture *f = *state;
    const char *first = text(f, "{'metadata':{'annotations':{'muster.dev/gpus':'0'}},"
                                "'target':{'kind':'Node','name':'n'}}");

    make_node(f, "n", "{'cpu':'9','nvidia.com/gpu':'2'}");
    make_pod(f, "a", "", "{'nvidia.com/gpu':'1'}");
    make_pod(f, "b", "", "{'nvidia.com/gpu':'1'}");
    expect(f, "POST", PODS "/a/binding", first, 201);
    assert_says(expect(f, "POST", PODS "/b/binding", first, 409), "Conflict",
                "GPU 0 of node \"n\" is in use");
}

static void shares_of_a_gpu_are_counted(void **state)
{
    struct fixture *f = *state;
    const char *of_one = text(f, "{'metadata':{'annotations':{'muster.dev/gpus':'1'}},"
                                 "'target':{'kind':'Node','name':'n'}}");
    static const char *const pods[] = {"a", "b", "c"};

    make_node(f, "n", "{'cpu':'9','nvidia.com/gpu':'1','nvidia.com/gpu.shared':'4'}");
    expect(f, "PATCH", "/api/v1/nodes/n",
           text(f, "{'metadata':{'annotations':{'muster.dev/gpus':'0',"
                   "'muster.dev/shared-gpus':'1,2'}}}"),
           200);
    for (size_t i = 0; i < ELEMS(pods); i++)
        make_pod(f, pods[i], "", "{'nvidia.com/gpu.shared':'1'}");
    make_pod(f, "w", "", "{'nvidia.com/gpu':'1'}");
    expect(f, "POST", PODS "/a/binding", of_one, 201);
    expect(f, "POST", PODS "/b/binding", of_one, 201);
    assert_says(expect(f, "POST", PODS "/c/binding", of_one, 409), "Conflict",
                "GPU 1 of node \"n\" is in use");
    assert_says(expect(f, "POST", PODS "/w/binding", of_one, 409), "Conflict",
                "GPU 1 of node \"n\" is in use");
}

static void a_node_that_goes_takes_nothing(void **state)
{
    struct fixture *f = *state;

    make_pod(f, "a", "", "{}");
    assert_says(bind(f, "a", "nowhere", 409), "Conflict",
                "there is no node \"nowhere\", or it is being deleted");
    make_node(f, "n", "{'cpu':'1'}");
    expect(f, "PATCH", NODES "/n", text(f, "{'metadata':{'finalizers':['a.b/c']}}"), 200);
    expect(f, "DELETE", NODES "/n", NULL, 200);
    assert_says(bind(f, "a", "n", 409), "Conflict", "there is no node \"n\"");
}

/* The whole gang has its room when its places are recorded: what was recorded is bound. */
static void a_gang_has_room_at_once_or_not_at_all(void **state)
{
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'3'}");
    make_gang(f, "a", "default", 2);
    make_gang(f, "b", "default", 2);
    make_pod(f, "alone", "", "{'cpu':'2'}");
    assert_says(record(f, "a", "n", 1, 409), "Conflict",
                "group \"a\" needs 2 members and would have places for 1");
    record(f, "a", "n", 2, 200);
    assert_says(record(f, "b", "n", 2, 409), "Conflict",
                "podgroups.scheduler.tensorstack.dev/status \"b\": node \"n\" has no room for pod "
                "\"b-1\": it asks 1 CPU, 0 of 3 CPU is free");
    assert_says(bind(f, "alone", "n", 409), "Conflict", "1 of 3 CPU is free");
    bind(f, "a-0", "n", 201);
    bind(f, "a-1", "n", 201);
    record(f, "a", "n", 2, 200); /* what it has it may write again */
}

static void no_gang_is_bound_by_half_by_hand(void **state)
{
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'9'}");
    make_gang(f, "a", "default", 3);
    assert_says(bind(f, "a-0", "n", 409), "Conflict",
                "group \"a\" starts with 3 members at once: write the places of all of them into "
                "its status.placements first, or leave it to the scheduler");
    record(f, "a", "n", 3, 200);
    for (int i = 0; i < 3; i++)
        bind(f, text(f, "a-%d", i), "n", 201);
    make_pod(f, "more", "a", "{'cpu':'1'}"); /* it runs: one more changes nothing */
    bind(f, "more", "n", 201);
    make_gang(f, "one", "default", 1);
    bind(f, "one-0", "n", 201);
}

/* It has given its places back, and pods of its last run still stop. */
static void a_gang_that_begins_anew_is_not_bound_by_half_by_hand(void **state)
{
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'9'}");
    make_gang(f, "a", "default", 2);
    record(f, "a", "n", 2, 200);
    bind(f, "a-0", "n", 201);
    bind(f, "a-1", "n", 201);
    expect(f, "DELETE", PODS "/a-0?gracePeriodSeconds=0", NULL, 200);
    expect(f, "DELETE", PODS "/a-1", NULL, 200);
    expect(f, "PATCH", GROUPS "/a/status",
           text(f, "{'status':{'conditions':[{'type':'GroupScheduled','status':'False'}],"
                   "'placements':[]}}"),
           200);
    make_pod(f, "a-0", "a", "{'cpu':'1'}");
    assert_says(bind(f, "a-0", "n", 409), "Conflict", "group \"a\" starts with 2 members at once");
}

static void set_ready(struct fixture *f, const char *node, bool ready)
{
    expect(f, "PATCH", text(f, NODES "/%s/status", node),
           text(f, "{'status':{'conditions':[{'type':'Ready','status':'%s'}]}}",
                ready ? "True" : "False"),
           200);
}

/* Its node was lost for a while, during which nothing was written about the group. */
static void a_record_counts_again_when_its_node_is_back(void **state)
{
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'1'}");
    make_node(f, "m", "{'cpu':'1'}");
    make_gang(f, "a", "default", 2);
    expect(f, "PATCH", GROUPS "/a/status",
           text(f, "{'status':{'conditions':[{'type':'GroupScheduled','status':'True'}],"
                   "'placements':[{'node':'m','requests':{'cpu':'1'},'members':['a-0']},"
                   "{'node':'n','requests':{'cpu':'1'},'members':['a-1']}]}}"),
           200);
    set_ready(f, "n", false);
    assert_says(bind(f, "a-0", "m", 409), "Conflict", "group \"a\" starts with 2 members at once");
    set_ready(f, "n", true);
    bind(f, "a-0", "m", 201);
    bind(f, "a-1", "n", 201);
}

static struct answer make_placed(struct fixture *f, const char *name, const char *labels, int code)
{
    return expect(f, "POST", PODS,
                  text(f,
                       "{'metadata':{'name':'%s','labels':{%s}},'spec':{'nodeName':'n',"
                       "'containers':[{'name':'c','image':'i','resources':{'requests':{"
                       "'cpu':'1'}}}]}}",
                       name, labels),
                  code);
}

static void who_comes_with_a_node_is_counted_too(void **state)
{
    struct fixture *f = *state;

    assert_says(
        make_placed(f, "early", "", 403), "Forbidden",
        "pods \"early\" is forbidden: spec.nodeName: there is no node \"n\", or it is being "
        "deleted: name one that is there");
    make_node(f, "n", "{'cpu':'2'}");
    expect(f, "POST", QUEUES,
           text(f, "{'metadata':{'name':'q'},'spec':{'namespaceSelector':{'matchLabels':{"
                   "'kubernetes.io/metadata.name':'default'}},"
                   "'quota':{'requests':{'cpu':'1'}}}}"),
           201);
    make_group(f, "g", "default", 2);
    make_placed(f, "a", "'scheduler.tensorstack.dev/queue':'q'", 201);
    assert_says(
        make_placed(f, "b", "'scheduler.tensorstack.dev/queue':'q'", 403), "Forbidden",
        "pods \"b\" is forbidden: spec.nodeName: the quota of queue \"q\" is used up: needs "
        "1 CPU, 1 of 1 CPU is in use");
    assert_says(make_placed(f, "g-0", "'scheduler.tensorstack.dev/group-name':'g'", 403),
                "Forbidden", "group \"g\" starts with 2 members at once");
    make_placed(f, "c", "", 201);
    assert_says(make_placed(f, "d", "", 403), "Forbidden",
                "pods \"d\" is forbidden: spec.nodeName: node \"n\" has no room for pod \"d\": it "
                "asks 1 CPU, 0 of 2 CPU is free");
    make_pod(f, "e", "", "{'cpu':'1'}");
    expect(f, "PATCH", PODS "/e", text(f, "{'spec':{'nodeName':'n'}}"), 422);
}

static void pods_get_no_node_before_their_group_is_there(void **state)
{
    static const char label[] = "'scheduler.tensorstack.dev/group-name':'g'";
    static const char why[] = "there is no PodGroup \"g\" in namespace default, whose quota and "
                              "members would count: create it first, or remove the label "
                              "scheduler.tensorstack.dev/group-name";
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'9'}");
    make_pod(f, "a", "g", "{'cpu':'1'}");
    assert_says(bind(f, "a", "n", 409), "Conflict", why);
    assert_says(make_placed(f, "b", label, 403), "Forbidden", why);
    make_group(f, "g", "default", 1);
    bind(f, "a", "n", 201);
    make_placed(f, "b", label, 201);
}

static void make_queue(struct fixture *f, const char *name, const char *spec)
{
    expect(f, "POST", QUEUES,
           text(f,
                "{'metadata':{'name':'%s'},'spec':{'namespaceSelector':{'matchLabels':{"
                "'kubernetes.io/metadata.name':'default'}},%s}}",
                name, spec),
           201);
}

/* Also when the server has started anew since. */
static void a_bound_pod_counts_in_its_queue(void **state)
{
    static const char *const changes[] = {"'default'", "null"};
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'9'}");
    make_queue(f, "q", "'quota':{'requests':{'cpu':'2'}}");
    make_group(f, "g", "q", 1);
    make_pod(f, "a", "g", "{'cpu':'2'}");
    assert_says(expect(f, "PATCH", PODS "/a",
                       text(f, "{'metadata':{'annotations':{'" ANNOTATION_BOUND_QUEUE "':'x'}}}"),
                       422),
                "Invalid", ANNOTATION_BOUND_QUEUE);
    expect(f, "POST", PODS "/a/binding",
           text(f, "{'metadata':{'annotations':{'" ANNOTATION_BOUND_QUEUE "':'default'}},"
                   "'target':{'kind':'Node','name':'n'}}"),
           201);
    assert_string_equal(
        object_annotation(expect(f, "GET", PODS "/a", NULL, 200).object, ANNOTATION_BOUND_QUEUE),
        "q");
    for (size_t i = 0; i < ELEMS(changes); i++)
        assert_says(expect(f, "PATCH", PODS "/a",
                           text(f, "{'metadata':{'annotations':{'" ANNOTATION_BOUND_QUEUE "':%s}}}",
                                changes[i]),
                           422),
                    "Invalid", "its job or the scheduler has noted this: it stays");
    expect(f, "DELETE", GROUPS "/g", NULL, 200);
    for (int again = 0; again < 2; again++) {
        assert_says(expect(f, "POST", GROUPS,
                           text(f, "{'metadata':{'name':'g'},'spec':{'minMember':1}}"), 403),
                    "Forbidden",
                    "podgroups.scheduler.tensorstack.dev \"g\" is forbidden: spec.queue: pods "
                    "that are labelled with its name run in queue \"q\": name that queue, or "
                    "give the group another name");
        fixture_close(f);
        fixture_open(f);
    }
    make_group(f, "other", "q", 1);
    make_pod(f, "b", "other", "{'cpu':'1'}");
    assert_says(bind(f, "b", "n", 409), "Conflict", "the quota of queue \"q\" is used up");
    make_group(f, "g", "q", 1);
    expect(f, "DELETE", GROUPS "/g", NULL, 200);
    expect(f, "DELETE", PODS "/a?gracePeriodSeconds=0", NULL, 200);
    make_group(f, "g", "default", 1);
}

/* Who could make, disown or delete it would change the job's queue, its time and its place. */
static void a_jobs_group_is_the_jobs(void **state)
{
    static const char jobs[] =
        "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs";
    static const char form[] = "{'metadata':{'name':'%s'%s},'spec':{'minMember':1,'queue':'%s'}}";
    struct fixture *f = *state;
    const struct json *job;
    const char *name, *owned, *forged, *path, *none;

    make_queue(f, "q", "'priority':1");
    job = expect(f, "POST", jobs,
                 text(f, "{'metadata':{'name':'hog'},'spec':{'scheduler':{'t9kScheduler':{"
                         "'queue':'q'}},'replicaSpecs':[{'type':'worker','replicas':1,"
                         "'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}]}}"),
                 201)
              .object;
    name = job_child_name(&f->arena, job);
    path = text(f, GROUPS "/%s", name);
    owned = text(f,
                 ",'ownerReferences':[{'apiVersion':'batch.tensorstack.dev/v1beta1','kind':"
                 "'PyTorchTrainingJob','name':'hog','uid':'%s','controller':true}]",
                 object_uid(job));
    forged = text(f, form, "other", owned, "q");
    none = text(f, "{'metadata':{'ownerReferences':null}}");
    assert_says(expect(f, "POST", GROUPS, text(f, form, name, "", "q"), 403), "Forbidden",
                "metadata.ownerReferences: it is the PodGroup of PyTorchTrainingJob \"hog\", which "
                "must be its controller");
    assert_says(expect(f, "POST", GROUPS, text(f, form, name, owned, "default"), 403), "Forbidden",
                "spec.queue: its job, PyTorchTrainingJob \"hog\", is in queue \"q\"");
    assert_says(expect(f, "POST", GROUPS, forged, 403), "Forbidden",
                "metadata.ownerReferences: no such job has a PodGroup of this name");
    expect(f, "POST", GROUPS, text(f, form, name, owned, "q"), 201);
    assert_says(expect(f, "PATCH", path, none, 403), "Forbidden", "which must be its controller");
    assert_says(expect(f, "DELETE", path, NULL, 403), "Forbidden",
                "it is the PodGroup of PyTorchTrainingJob \"hog\", and is deleted when that has "
                "ended: delete the job instead");
    assert_says(expect(f, "DELETE", GROUPS, NULL, 403), "Forbidden", "is the PodGroup of");
    expect(f, "PATCH", path, text(f, "{'spec':{'priority':9}}"), 200);
    expect(f, "PATCH", text(f, "%s/hog/status", jobs), text(f, "{'status':{'phase':'Failed'}}"),
           200);
    expect(f, "DELETE", path, NULL, 200);
    expect(f, "POST", GROUPS, text(f, form, name, owned, "q"), 201);
    expect(f, "DELETE", text(f, "%s/hog", jobs), NULL, 200);
    expect(f, "PATCH", path, none, 200);
    expect(f, "DELETE", path, NULL, 200);
}

static void a_queue_gives_its_quota_once(void **state)
{
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'9'}");
    expect(f, "POST", QUEUES,
           text(f, "{'metadata':{'name':'q'},'spec':{'namespaceSelector':{'matchLabels':{"
                   "'kubernetes.io/metadata.name':'default'}},"
                   "'quota':{'requests':{'cpu':'3'}}}}"),
           201);
    make_gang(f, "a", "q", 2);
    make_gang(f, "b", "q", 2);
    record(f, "a", "n", 2, 200);
    assert_says(record(f, "b", "n", 2, 409), "Conflict",
                "the quota of queue \"q\" is used up: needs 2 CPU, 2 of 3 CPU is in use");
    make_gang(f, "c", "q", 1);
    record(f, "c", "n", 1, 200);
    make_gang(f, "d", "q", 1);
    assert_says(bind(f, "d-0", "n", 409), "Conflict", "needs 1 CPU, 3 of 3 CPU is in use");
    /* a quota that is lowered takes nothing back */
    expect(f, "PATCH", QUEUES "/q", text(f, "{'spec':{'quota':{'requests':{'cpu':'1'}}}}"), 200);
    bind(f, "a-0", "n", 201);
    bind(f, "a-1", "n", 201);
    bind(f, "c-0", "n", 201);
}

/* Else both would have the quota, or the first would never get what its record says. */
static void a_record_counts_until_it_is_taken_back(void **state)
{
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'2'}");
    make_node(f, "m", "{'cpu':'2'}");
    expect(f, "POST", QUEUES,
           text(f, "{'metadata':{'name':'q'},'spec':{'namespaceSelector':{'matchLabels':{"
                   "'kubernetes.io/metadata.name':'default'}},"
                   "'quota':{'requests':{'cpu':'3'}}}}"),
           201);
    make_gang(f, "a", "q", 2);
    make_gang(f, "b", "q", 2);
    record(f, "a", "n", 2, 200);
    set_ready(f, "n", false);
    assert_says(record(f, "b", "m", 2, 409), "Conflict",
                "the quota of queue \"q\" is used up: needs 2 CPU, 2 of 3 CPU is in use");
    assert_says(bind(f, "a-0", "n", 409), "Conflict", "group \"a\" starts with 2 members at once");
    set_ready(f, "n", true);
    bind(f, "a-0", "n", 201);
    bind(f, "a-1", "n", 201);
}

/* With a finalizer it may stay for ever: only its bound pods count. */
static void the_record_of_a_group_that_is_being_deleted_does_not_count(void **state)
{
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'2'}");
    make_gang(f, "a", "default", 2);
    make_gang(f, "b", "default", 2);
    make_gang(f, "c", "default", 1);
    record(f, "a", "n", 2, 200);
    bind(f, "a-0", "n", 201);
    expect(f, "PATCH", GROUPS "/a", text(f, "{'metadata':{'finalizers':['a.b/c']}}"), 200);
    expect(f, "DELETE", GROUPS "/a", NULL, 200);
    assert_says(record(f, "b", "n", 2, 409), "Conflict", "has no room for pod \"b-1\"");
    record(f, "c", "n", 1, 200);
    assert_says(bind(f, "a-1", "n", 409), "Conflict", "0 of 2 CPU is free");
    bind(f, "c-0", "n", 201);
}

/* Its members change places: what each had is free for the others. */
static void what_a_record_gives_back_it_may_give_again(void **state)
{
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'1'}");
    make_node(f, "m", "{'cpu':'1'}");
    make_gang(f, "a", "default", 2);
    for (int i = 0; i < 2; i++)
        expect(f, "PATCH", GROUPS "/a/status",
               text(f,
                    "{'status':{'conditions':[{'type':'GroupScheduled','status':'True'}],"
                    "'placements':[{'node':'n','requests':{'cpu':'1'},'members':['a-%d']},"
                    "{'node':'m','requests':{'cpu':'1'},'members':['a-%d']}]}}",
                    i, 1 - i),
               200);
    make_pod(f, "b", "", "{'cpu':'1'}");
    assert_says(bind(f, "b", "n", 409), "Conflict", "0 of 1 CPU is free");
    bind(f, "a-1", "n", 201);
    bind(f, "a-0", "m", 201);
}

static void a_server_that_starts_counts_what_is_there(void **state)
{
    struct fixture *f = *state;

    make_node(f, "n", "{'cpu':'2'}");
    make_gang(f, "a", "default", 1);
    make_pod(f, "b", "", "{'cpu':'1'}");
    make_pod(f, "c", "", "{'cpu':'1'}");
    record(f, "a", "n", 1, 200);
    bind(f, "b", "n", 201);
    fixture_close(f);
    fixture_open(f);
    assert_says(bind(f, "c", "n", 409), "Conflict", "0 of 2 CPU is free");
    bind(f, "a-0", "n", 201);
}

static void overcommit_counts_no_cpus(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    f->overcommit = true;
    fixture_open(f);
    make_node(f, "n", "{'cpu':'1','nvidia.com/gpu':'1'}");
    make_pod(f, "a", "", "{'cpu':'8','nvidia.com/gpu':'1'}");
    make_pod(f, "b", "", "{'cpu':'8'}");
    make_pod(f, "c", "", "{'nvidia.com/gpu':'1'}");
    bind(f, "a", "n", 201);
    bind(f, "b", "n", 201);
    bind(f, "c", "n", 409);
}

/* `muster up` does not request it, and no other group gets it while it exists. */
static void leases_of_this_process_are_not_given(void **state)
{
    struct fixture *f = *state;
    const char *leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    const char *lease = text(f, "{'metadata':{'name':'muster-scheduler'},'spec':{"
                                "'holderIdentity':'me'}}");

    expect(f, "POST", leases, lease, 201);
    fixture_close(f);
    f->has_controllers = true;
    fixture_open(f);
    assert_says(expect(f, "PATCH", text(f, "%s/muster-scheduler", leases),
                       text(f, "{'spec':{'renewTime':'2026-01-01T00:00:00.000000Z'}}"), 409),
                "Conflict", "\"muster up\" has controllers and a scheduler of its own");
    expect(f, "DELETE", text(f, "%s/muster-scheduler", leases), NULL, 200);
    expect(f, "POST", leases, lease, 409);
    expect(f, "POST", leases, text(f, "{'metadata':{'name':'another'}}"), 201);
}

#define test(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

/* The scheduler goes by them. */
static void what_a_job_notes_on_its_pods_stays(void **state)
{
    static const char *const changes[] = {"'1'", "null"};
    struct fixture *f = *state;

    expect(f, "POST", PODS,
           text(f, "{'metadata':{'name':'a','annotations':{'" ANNOTATION_GANG_SIZE "':'3'}},"
                   "'spec':{'containers':[{'name':'c','image':'i'}]}}"),
           201);
    for (size_t i = 0; i < ELEMS(changes); i++)
        assert_says(expect(f, "PATCH", PODS "/a",
                           text(f, "{'metadata':{'annotations':{'" ANNOTATION_GANG_SIZE "':%s}}}",
                                changes[i]),
                           422),
                    "Invalid", "its job or the scheduler has noted this: it stays");
    expect(f, "PATCH", PODS "/a", text(f, "{'metadata':{'annotations':{'mine':'1'}}}"), 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_node_takes_what_it_has),
        test(a_binding_may_name_its_pod_itself),
        test(writes_on_their_way_count),
        test(pods_and_gpus_are_counted),
        test(a_gpu_is_given_once),
        test(shares_of_a_gpu_are_counted),
        test(a_node_that_goes_takes_nothing),
        test(a_gang_has_room_at_once_or_not_at_all),
        test(no_gang_is_bound_by_half_by_hand),
        test(a_gang_that_begins_anew_is_not_bound_by_half_by_hand),
        test(a_record_counts_again_when_its_node_is_back),
        test(what_a_job_notes_on_its_pods_stays),
        test(who_comes_with_a_node_is_counted_too),
        test(pods_get_no_node_before_their_group_is_there),
        test(a_bound_pod_counts_in_its_queue),
        test(a_jobs_group_is_the_jobs),
        test(a_queue_gives_its_quota_once),
        test(a_record_counts_until_it_is_taken_back),
        test(the_record_of_a_group_that_is_being_deleted_does_not_count),
        test(what_a_record_gives_back_it_may_give_again),
        test(a_server_that_starts_counts_what_is_there),
        test(overcommit_counts_no_cpus),
        test(leases_of_this_process_are_not_given),
    };

    return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}
