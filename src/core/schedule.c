/*
 * schedule.c - places waiting pods. Gangs go in the order their owners came; the first that does
 * not fit holds up all after it (or a large job would starve behind small ones), except one that
 * never could. Pure; see schedule.h.
 *
 * The members of a gang that has already started are placed one by one: the group is there, it only
 * misses a member.
 */
#include "core/schedule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "core/schedule_room.h"

/* --- order ------------------------------------------------------------------------------------ */

static int compare_gangs(const void *a, const void *b)
{
    const struct gang *x = *(const struct gang *const *)a, *y = *(const struct gang *const *)b;
    int c;

    if (x->since_ms != y->since_ms)
        return x->since_ms < y->since_ms ? -1 : 1;
    c = strcmp(x->name, y->name);
    return c ? c : strcmp(x->ns, y->ns);
}

static struct gang **line_up(struct board *b, size_t *ret_len)
{
    struct gang **line;
    size_t len = 0;

    for (const struct gang *g = b->gangs; g; g = g->next)
        len += g->first != NULL;
    line = arena_alloc(b->arena, (len + 1) * sizeof(struct gang *));
    *ret_len = 0;
    if (!line)
        return NULL;
    for (struct gang *g = b->gangs; g; g = g->next)
        if (g->first)
            line[(*ret_len)++] = g;
    if (len > 1)
        qsort(line, len, sizeof(struct gang *), compare_gangs);
    return line;
}

/* --- placing ---------------------------------------------------------------------------------- */

/* Those of a gang that have no place. */
static void tell(struct gang *g, const char *message)
{
    for (struct waiting *w = g->first; w; w = w->next)
        if (!w->node)
            w->message = message;
}

static bool is_complete(const struct gang *g)
{
    return g->started || g->waiting_len >= g->min_member;
}

/* The members that must start together; all or, of a gang that has not started, none. */
static bool place_required(struct board *b, struct gang *g)
{
    int64_t left = gang_required(g);

    for (struct waiting *w = g->first; w && left > 0; w = w->next)
        left -= board_place(b, w);
    if (left > 0 && !g->started)
        for (struct waiting *w = g->first; w; w = w->next)
            board_unplace(w);
    return left <= 0;
}

/* What an elastic job can use beyond its minimum is given when it is there, and holds up nobody. */
static void place_rest(struct board *b, struct gang *g)
{
    for (struct waiting *w = g->first; w; w = w->next)
        if (!w->node)
            (void)board_place(b, w);
}

/* What was given now is held from now on: the next look must find nothing else to say. */
static bool give(struct board *b, struct gang *g)
{
    bool started = place_required(b, g);

    if (started)
        place_rest(b, g);
    for (const struct waiting *w = g->first; w; w = w->next)
        if (w->node)
            resources_add(&g->held, &w->asks);
    return started;
}

/* Words come last: they tell of what is left when all that fits has been placed. */
static void tell_all(struct board *b, struct gang **line, size_t len, const struct gang *head)
{
    size_t position = 1;
    bool past_head = false;

    for (size_t i = 0; i < len; i++) {
        struct gang *g = line[i];

        if (!is_complete(g))
            continue; /* its job is still making pods */
        if (b->nodes_len == 0)
            tell(g, words_no_node());
        else if (!board_could_hold(b, g, gang_required(g)))
            tell(g, words_never(b, g));
        else if (past_head)
            tell(g, words_behind(b, head, ++position));
        else
            tell(g, words_lacking(b, g));
        past_head = past_head || g == head;
    }
}

static void place_all(struct board *b)
{
    const struct gang *head = NULL;
    size_t len;
    struct gang **line = line_up(b, &len);

    for (size_t i = 0; i < len && !head; i++)
        if (is_complete(line[i]) && board_could_hold(b, line[i], gang_required(line[i])) &&
            !give(b, line[i]))
            head = line[i];
    tell_all(b, line, len, head);
}

/* --- the plan --------------------------------------------------------------------------------- */

static void plan_placement(const struct waiting *w, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *patch = json_new_object(a), *annotations;

    json_set_string(a, json_make_object(a, patch, "spec"), "nodeName", w->node->name);
    if (w->gpus) {
        annotations = json_make_object(a, json_make_object(a, patch, "metadata"), "annotations");
        json_set_string(a, annotations, ANNOTATION_GPUS, gpu_set_text(a, w->gpus));
    }
    plan_bind(plan, w->pod, patch);
}

static struct json *unscheduled(const struct waiting *w, struct arena *a, int64_t now_ms)
{
    const struct json *old = object_condition(w->pod, "PodScheduled");
    struct json *c = json_new_object(a);
    char time[TIME_TEXT_SIZE];

    json_set_string(a, c, "type", "PodScheduled");
    json_set_string(a, c, "status", "False");
    json_set_string(a, c, "reason", "Unschedulable");
    json_set_string(a, c, "message", w->message);
    json_set_string(a, c, "lastTransitionTime",
                    json_string_is(json_get(old, "status"), "False")
                        ? json_get_string(old, "lastTransitionTime", "")
                        : time_format(now_ms, time));
    return c;
}

/* A merge patch replaces the whole list of conditions, so it is for this version of the pod only.
 */
static void plan_message(const struct waiting *w, struct plan *plan, int64_t now_ms)
{
    const struct json *old = object_condition(w->pod, "PodScheduled");
    struct arena *a = plan->arena;
    struct json *condition = unscheduled(w, a, now_ms), *patch, *list;

    if (json_equal(condition, old))
        return;
    patch = json_new_object(a);
    json_set_string(a, json_make_object(a, patch, "metadata"), "resourceVersion",
                    object_resource_version(w->pod));
    list = json_make_array(a, json_make_object(a, patch, "status"), "conditions");
    json_each (c, json_at(w->pod, "status", "conditions"))
        if (c != old)
            json_append(list, json_clone(a, c));
    json_append(list, condition);
    plan_patch(plan, &kind_pod, w->pod, patch);
    if (!old)
        plan_event(plan, &kind_pod, w->pod, "Warning", "FailedScheduling", "%s", w->message);
}

void schedule(const struct schedule_snapshot *s, struct plan *plan)
{
    struct board b;

    board_init(&b, s, plan->arena);
    place_all(&b);
    for (const struct gang *g = b.gangs; g; g = g->next)
        for (const struct waiting *w = g->first; w; w = w->next)
            if (w->node)
                plan_placement(w, plan);
    plan_next_stage(plan);
    for (const struct gang *g = b.gangs; g; g = g->next)
        for (const struct waiting *w = g->first; w; w = w->next) {
            if (w->node)
                plan_event(plan, &kind_pod, w->pod, "Normal", "Scheduled",
                           "Successfully assigned %s/%s to %s", object_namespace(w->pod),
                           object_name(w->pod), w->node->name);
            else if (w->message)
                plan_message(w, plan, s->now_ms);
        }
}
