/* cluster.h - nodes, queues, groups and pods as the scheduler sees them, changed by its plans. The
 * ledger is told of each change only, as in life. */
#ifndef MUSTER_TESTS_CORE_CLUSTER_H
#define MUSTER_TESTS_CORE_CLUSTER_H

#include "core/decision.h"
#include "world.h"

#define CLUSTER_OBJECTS 2200
#define LOOKS_TO_REST 4 /* a plan, what it changes, the counts of that, and who is told of them */

enum cluster_set { PODS, NODES, GROUPS, QUEUES, NAMESPACES, CLUSTER_SETS };

struct cluster {
    struct arena arena, plans; /* plans: of the last decision */
    struct ledger *ledger;
    struct json *items[CLUSTER_SETS][CLUSTER_OBJECTS];
    bool touched[CLUSTER_SETS][CLUSTER_OBJECTS];
    size_t len[CLUSTER_SETS];
    bool overcommit;
    int64_t revision, now_ms;
    int deletes, pauses, events;
};

static inline const struct kind *cluster_kind(enum cluster_set set)
{
    static const struct kind *const of[] = {&kind_pod, &kind_node, &kind_pod_group, &kind_queue,
                                            &kind_namespace};

    return of[set];
}

static inline size_t cluster_index(const struct cluster *c, enum cluster_set set, const char *ns,
                                   const char *name)
{
    size_t i = 0;

    while (i < c->len[set] && (strcmp(object_name(c->items[set][i]), name) != 0 ||
                               (*ns && strcmp(object_namespace(c->items[set][i]), ns) != 0)))
        i++;
    return i;
}

static inline const struct json *cluster_find(void *arg, const struct kind *k, const char *ns,
                                              const char *name)
{
    struct cluster *c = arg;

    for (int set = 0; set < CLUSTER_SETS; set++)
        if (cluster_kind((enum cluster_set)set) == k) {
            size_t i = cluster_index(c, (enum cluster_set)set, ns, name);

            return i < c->len[set] ? c->items[set][i] : NULL;
        }
    return NULL;
}

static inline void cluster_tell(struct cluster *c, struct ledger *l, enum cluster_set set,
                                const struct json *o, bool gone)
{
    (void)c;
    switch (set) {
    case PODS:
        ledger_pod(l, o, gone);
        break;
    case NODES:
        ledger_node(l, o, gone);
        break;
    case GROUPS:
        ledger_group(l, o, gone);
        break;
    case QUEUES:
        ledger_queue(l, o, gone);
        break;
    case NAMESPACES:
    case CLUSTER_SETS:
        ledger_namespaces_changed(l);
        break;
    }
}

/* A ledger that is shown all there is, at once. */
static inline struct ledger *cluster_ledger(struct cluster *c)
{
    struct ledger *l = ledger_new(cluster_find, c, c->overcommit);

    assert_non_null(l);
    for (int set = CLUSTER_SETS; set-- > 0;)
        for (size_t i = 0; i < c->len[set]; i++)
            cluster_tell(c, l, (enum cluster_set)set, c->items[set][i], false);
    return l;
}

static inline void cluster_init(struct cluster *c)
{
    *c = (struct cluster){.now_ms = WORLD_START_MS};
    arena_init(&c->arena, WORLD_LIMIT_BYTES);
    arena_init(&c->plans, WORLD_LIMIT_BYTES);
}

static inline void cluster_release(struct cluster *c)
{
    ledger_free(c->ledger);
    arena_release(&c->arena);
    arena_release(&c->plans);
}

static inline struct json *cluster_add(struct cluster *c, enum cluster_set set, const char *text)
{
    struct json *o = parse(&c->arena, text);

    assert_true(c->len[set] < CLUSTER_OBJECTS);
    json_set_stringf(&c->arena, json_make_object(&c->arena, o, "metadata"), "resourceVersion",
                     "%" PRId64, ++c->revision);
    c->touched[set][c->len[set]] = true;
    c->items[set][c->len[set]++] = o;
    return o;
}

/* A new version, to be changed. */
static inline struct json *cluster_edit(struct cluster *c, enum cluster_set set, const char *name)
{
    size_t i = cluster_index(c, set, "", name);
    struct json *copy;

    if (i == c->len[set])
        fail_msg("no %s %s", cluster_kind(set)->name, name);
    copy = json_clone(&c->arena, c->items[set][i]);
    json_set_stringf(&c->arena, json_make_object(&c->arena, copy, "metadata"), "resourceVersion",
                     "%" PRId64, ++c->revision);
    c->touched[set][i] = true;
    c->items[set][i] = copy;
    return copy;
}

static inline const struct json *cluster_get(struct cluster *c, enum cluster_set set,
                                             const char *name)
{
    size_t i = cluster_index(c, set, "", name);

    return i < c->len[set] ? c->items[set][i] : NULL;
}

static inline void cluster_feed(struct cluster *c)
{
    if (!c->ledger) {
        c->ledger = ledger_new(cluster_find, c, c->overcommit);
        assert_non_null(c->ledger);
    }
    for (int set = CLUSTER_SETS; set-- > 0;)
        for (size_t i = 0; i < c->len[set]; i++) {
            if (c->touched[set][i])
                cluster_tell(c, c->ledger, (enum cluster_set)set, c->items[set][i], false);
            c->touched[set][i] = false;
        }
}

static inline void cluster_remove(struct cluster *c, enum cluster_set set, const char *name)
{
    size_t i = cluster_index(c, set, "", name);
    struct json *o = c->items[set][i];

    assert_true(i < c->len[set]);
    cluster_feed(c);
    c->items[set][i] = c->items[set][--c->len[set]];
    c->touched[set][i] = c->touched[set][c->len[set]];
    cluster_tell(c, c->ledger, set, o, true);
}

/* --- making ----------------------------------------------------------------------------------- */

static inline void add_node_text(struct cluster *c, const char *text)
{
    cluster_add(c, NODES, text);
}

static inline void add_node(struct cluster *c, const char *name, int cpu, int memory_gi, int gpus)
{
    add_node_text(c, arena_printf(&c->arena,
                                  "{'metadata':{'name':'%s','labels':{'disk':'%s'}},'status':{"
                                  "'capacity':{'cpu':'%d','memory':'%dGi','nvidia.com/gpu':%d},"
                                  "'conditions':[{'type':'Ready','status':'True'}]}}",
                                  name, name, cpu, memory_gi, gpus));
}

/* spec: members of a Queue's spec, "'priority':1". */
static inline void add_queue(struct cluster *c, const char *name, const char *spec)
{
    cluster_add(c, QUEUES,
                arena_printf(&c->arena,
                             "{'metadata':{'name':'%s','namespace':'t9k-system'},'spec':{"
                             "'namespaceSelector':{'matchLabels':{'team':'x'}}%s%s}}",
                             name, *spec ? "," : "", spec));
}

static inline void add_namespace(struct cluster *c)
{
    cluster_add(c, NAMESPACES, "{'metadata':{'name':'ns','labels':{'team':'x'}}}");
}

/* The group of a job: spec is more than minMember. */
static inline void add_group(struct cluster *c, const char *owner, int age, int min_member,
                             const char *spec)
{
    cluster_add(c, GROUPS,
                arena_printf(&c->arena,
                             "{'metadata':{'name':'%s','namespace':'ns','uid':'group-%s',"
                             "'creationTimestamp':'2026-01-01T00:00:%02dZ','annotations':{'%s':"
                             "'%" PRId64 "'},'ownerReferences':[{"
                             "'controller':true,'kind':'PyTorchTrainingJob','name':'%s',"
                             "'uid':'u-%s'}]},'spec':{'minMember':%d%s%s}}",
                             owner, owner, 59 - age, ANNOTATION_SEQUENCE, c->revision, owner, owner,
                             min_member, *spec ? "," : "", spec));
}

/* The metadata a job gives its pods: that they are its own, and for how long they run at most. */
static inline const char *of_job(struct cluster *c, const char *owner)
{
    const struct json *group = cluster_get(c, GROUPS, owner);
    const struct json *deadline = json_at(group, "spec", "activeDeadlineSeconds");
    const char *own;

    if (!object_controller(group))
        return "";
    own = arena_printf(&c->arena,
                       "'ownerReferences':[{'controller':true,'kind':'PyTorchTrainingJob',"
                       "'name':'%s','uid':'u-%s'}],",
                       owner, owner);
    return deadline ? arena_printf(&c->arena, "%s'annotations':{'%s':'%" PRId64 "'},", own,
                                   ANNOTATION_DEADLINE, json_int(deadline, 0))
                    : own;
}

/* owner "" is a pod by itself; age in seconds orders the owners. */
static inline void add_pod(struct cluster *c, const char *owner, const char *name, int age,
                           int min_member, const char *requests)
{
    if (*owner && !cluster_get(c, GROUPS, owner))
        add_group(c, owner, age, min_member, "");
    cluster_add(
        c, PODS,
        arena_printf(&c->arena,
                     "{'metadata':{'name':'%s','namespace':'ns','uid':'pod-%s-%" PRId64 "',"
                     "%s'creationTimestamp':'2026-01-01T00:00:%02dZ','labels':{%s}},"
                     "'spec':{'containers':[{'resources':{'requests':%s}}]}}",
                     name, name, c->revision, of_job(c, owner), 59 - age,
                     *owner ? arena_printf(&c->arena, "'%s':'%s'", LABEL_GROUP_NAME, owner) : "",
                     requests));
}

/* A job of that many pods of one CPU each (or cpu), in a queue; its group wants all of them. */
static inline void add_job(struct cluster *c, const char *owner, const char *queue, int age,
                           int pods, int cpu, const char *more)
{
    add_group(c, owner, age, pods,
              arena_printf(&c->arena, "'queue':'%s','members':%d%s%s", queue, pods,
                           *more ? "," : "", more));
    for (int i = 0; i < pods; i++)
        add_pod(c, owner, arena_printf(&c->arena, "%s-%d", owner, i), age, pods,
                arena_printf(&c->arena, "{'cpu':'%d'}", cpu));
}

static inline void set_phase(struct cluster *c, const char *name, const char *phase)
{
    struct json *status = json_make_object(&c->arena, cluster_edit(c, PODS, name), "status");

    json_set_string(&c->arena, status, "phase", phase);
}

static inline void set_deleting(struct cluster *c, const char *name)
{
    json_set_string(&c->arena, json_make_object(&c->arena, cluster_edit(c, PODS, name), "metadata"),
                    "deletionTimestamp", "2026-01-01T01:00:00Z");
}

static inline void set_spec(struct cluster *c, enum cluster_set set, const char *name,
                            const char *member, const char *value)
{
    struct json *o = cluster_edit(c, set, name);

    json_set(&c->arena, json_make_object(&c->arena, o, "spec"), member, parse(&c->arena, value));
}

/* --- carrying out ----------------------------------------------------------------------------- */

static inline void cluster_bind(struct cluster *c, const struct plan_step *step)
{
    const struct json *notes = json_at(step->object, "metadata", "annotations");
    struct json *pod = cluster_edit(c, PODS, step->name);
    struct arena *a = &c->arena;

    assert_string_equal(step->uid, object_uid(pod));
    json_set_string(a, json_make_object(a, pod, "spec"), "nodeName",
                    json_string(json_at(step->object, "target", "name"), ""));
    json_each (note, notes)
        json_set(a, json_make_object(a, json_make_object(a, pod, "metadata"), "annotations"),
                 note->key, json_clone(a, note));
}

static inline void cluster_patch(struct cluster *c, const struct plan_step *step)
{
    struct json *pod;

    if (step->kind != &kind_pod) { /* the job's own */
        c->pauses++;
        return;
    }
    assert_string_equal(step->subresource, "status");
    assert_string_equal(json_string(json_at(step->object, "metadata", "resourceVersion"), ""),
                        object_resource_version(cluster_get(c, PODS, step->name)));
    pod = cluster_edit(c, PODS, step->name);
    json_set(&c->arena, json_make_object(&c->arena, pod, "status"), "conditions",
             json_clone(&c->arena, json_at(step->object, "status", "conditions")));
}

static inline void cluster_update(struct cluster *c, const struct plan_step *step)
{
    enum cluster_set set = step->kind == &kind_pod_group ? GROUPS : QUEUES;
    const char *name = object_name(step->object);

    assert_string_equal(object_resource_version(step->object),
                        object_resource_version(cluster_get(c, set, name)));
    json_set(&c->arena, cluster_edit(c, set, name), "status",
             json_clone(&c->arena, json_get(step->object, "status")));
}

static inline void cluster_apply(struct cluster *c, const struct plan_step *step)
{
    switch (step->op) {
    case PLAN_BIND:
        cluster_bind(c, step);
        break;
    case PLAN_PATCH:
        cluster_patch(c, step);
        break;
    case PLAN_EVICT:
    case PLAN_DELETE:
        c->deletes++;
        /* one that has ended meanwhile is not deleted */
        assert_string_equal(step->op == PLAN_DELETE ? step->version
                                                    : object_resource_version(step->object),
                            object_resource_version(cluster_get(c, PODS, step->name)));
        set_deleting(c, step->name);
        break;
    case PLAN_EVENT:
        c->events++;
        break;
    case PLAN_UPDATE_STATUS:
        cluster_update(c, step);
        break;
    case PLAN_CHECK:
    case PLAN_CREATE:
        fail_msg("the scheduler makes nothing");
    }
}

static inline void look(struct cluster *c, struct plan *plan)
{
    cluster_feed(c);
    arena_reset(&c->plans);
    plan_init(plan, &c->plans);
    schedule(c->ledger, c->now_ms, plan);
    assert_false(arena_failed(&c->arena) || arena_failed(&c->plans));
    assert_false(c->ledger->broken);
}

/* What a group claims is remembered and written nowhere: of several good claims either will do. */
static inline void cluster_copy_claims(const struct ledger *from, struct ledger *to)
{
    ledger_settle(to);
    map_for_each (node, &from->groups) {
        const struct group *g = node->value;
        struct group *copy = map_gets(&to->groups, node->key);

        if (copy)
            copy->first_ms = g->first_ms;
        if (!copy || g->claim_len == 0 || g->claim_rules != from->rules)
            continue;
        copy->claim = calloc(g->claim_len + 1, sizeof(*copy->claim));
        assert_non_null(copy->claim);
        for (size_t i = 0; i < g->claim_len; i++)
            copy->claim[i] = (struct claim_part){
                .node = map_gets(&to->nodes, g->claim[i].node->name), .asks = g->claim[i].asks};
        copy->claim_len = g->claim_len;
        copy->claim_members = g->claim_members;
        copy->claim_rules = to->rules;
    }
}

/* One look, carried out; the next must have nothing to add, nor one from scratch. Returns the
 * number of binds. */
static inline void cluster_expect_rest(struct cluster *c, const struct plan *plan, const char *who)
{
    const struct plan_step *s = plan->first;
    struct buf out = BUF_INIT(1u << 20);
    const struct json *there;

    while (s && s->op == PLAN_EVENT)
        s = s->next;
    if (!s)
        return;
    there = cluster_find(c, s->kind, s->ns ? s->ns : "",
                         s->name ? s->name : object_name(s->object));
    json_write(&out, json_get(s->object, "status"));
    buf_adds(&out, "\nfor\n");
    json_write(&out, json_get(there, "status"));
    print_message("%s: %s %s %s\n", who, s->kind->name, s->name ? s->name : "",
                  out.data ? out.data : "");
    buf_release(&out);
    fail();
}

static inline int settle(struct cluster *c)
{
    struct ledger *fresh;
    struct plan plan;
    int binds = 0;

    for (int looks = 0; looks < LOOKS_TO_REST; looks++) {
        look(c, &plan);
        if (c->ledger->owed || c->ledger->dirty_queues) { /* what can wait is told then */
            assert_int_not_equal(plan.wake_at_ms, 0);
            c->now_ms = c->ledger->told_ms + TELL_EVERY_MS;
        }
        for (const struct plan_step *s = plan.first; s; s = s->next) {
            binds += s->op == PLAN_BIND;
            cluster_apply(c, s);
        }
    }
    look(c, &plan);
    cluster_expect_rest(c, &plan, "does not come to rest");
    fresh = cluster_ledger(c);
    cluster_copy_claims(c->ledger, fresh);
    arena_reset(&c->plans);
    plan_init(&plan, &c->plans);
    schedule(fresh, c->now_ms, &plan);
    ledger_free(fresh);
    cluster_expect_rest(c, &plan, "a ledger made anew disagrees");
    return binds;
}

static inline const char *node_of(struct cluster *c, const char *name)
{
    return json_string(json_at(cluster_get(c, PODS, name), "spec", "nodeName"), "");
}

static inline const char *told(struct cluster *c, const char *name)
{
    return json_get_string(object_condition(cluster_get(c, PODS, name), "PodScheduled"), "message",
                           "");
}

static inline const char *reason_of(struct cluster *c, const char *group)
{
    return json_string(json_at(cluster_get(c, GROUPS, group), "status", "reason"), "");
}

static inline const char *message_of(struct cluster *c, const char *group)
{
    return json_string(json_at(cluster_get(c, GROUPS, group), "status", "message"), "");
}

#endif
