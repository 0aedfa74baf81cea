/* kind_pod_disruption_budget.c - PodDisruptionBudget (policy/v1): how many pods evictions must
 * leave. It is evaluated when a pod is evicted or the budget is read (server/budget.h); no status
 * is stored. policy/v1beta1, used by kubectl 1.20, is another view of it. */
#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kinds/pod_parts.h"
#include "api/problem.h"

static const char *const unhealthy_policies[] = {"IfHealthyBudget", "AlwaysAllow", NULL};

static const struct field spec_fields[] = {
    F_PORT("minAvailable", "How many of the pods must stay ready: a number, or a percentage.",
           PZ(1)),
    F_PORT("maxUnavailable", "How many of the pods may be unavailable: a number, or a percentage.",
           PZ(3)),
    F_OBJ("selector", label_selector_fields, "Selects the pods; {} selects all.", P(2)),
    F_STR("unhealthyPodEvictionPolicy", "Whether pods that are not ready may always be evicted.",
          PZ(4), ONE_OF(unhealthy_policies)),
    {0}};

static const struct field status_fields[] = {
    F_INT32("expectedPods", "Pods covered by the budget.", PZ(6)),
    F_INT32("currentHealthy", "Ready ones among them.", PZ(4)),
    F_INT32("desiredHealthy", "How many of them must stay ready.", PZ(5)),
    F_INT32("disruptionsAllowed", "Evictions allowed now.", PZ(3)),
    F_INT64("observedGeneration", "Not set here.", P(1)),
    F_CONDITIONS(meta_condition_fields, "Not set here.", P(7)),
    F_MAP(FIELD_TIME, "disruptedPods", "Not set here.", P(2)),
    {0}};

static const struct field fields[] = {
    F_SPEC(spec_fields, DEFAULT("{}")),
    F_OBJ("status", status_fields, "Current state.", P(3), .flags = FIELD_READ_ONLY),
    {0}};

static void validate(const struct json *budget, const struct json *old, struct err *err)
{
    const struct json *spec = json_get(budget, "spec");
    const struct json *min = json_get(spec, "minAvailable"),
                      *max = json_get(spec, "maxUnavailable");

    (void)old;
    if (min && max)
        problem_invalid(err, PATH_MEMBER(NULL, "spec"), spec,
                        "minAvailable and maxUnavailable cannot be both set");
}

static struct json *render_amount(struct arena *a, const struct json *v)
{
    return v ? json_clone(a, v) : json_new_string(a, "N/A");
}

static struct json *render_min(struct arena *a, const struct json *budget, int64_t now_ms)
{
    (void)now_ms;
    return render_amount(a, json_at(budget, "spec", "minAvailable"));
}

static struct json *render_max(struct arena *a, const struct json *budget, int64_t now_ms)
{
    (void)now_ms;
    return render_amount(a, json_at(budget, "spec", "maxUnavailable"));
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Min Available", "string", "Pods that stay.", .render = render_min),
    COLUMN("Max Unavailable", "string", "Pods that may be unavailable.", .render = render_max),
    COLUMN("Allowed Disruptions", "integer", "Evictions allowed now.",
           .path = ".status.disruptionsAllowed"),
    COLUMN_AGE,
    {0}};

/* Common to both versions. */
#define BUDGET                                                                                     \
    .group = "policy", .name = "PodDisruptionBudget", .plural = "poddisruptionbudgets",            \
    .singular = "poddisruptionbudget", .short_names = (const char *const[]){"pdb", NULL},          \
    .namespaced = true, .has_status = true,                                                        \
    .doc = "PodDisruptionBudget limits how many pods may be evicted at once.", .fields = fields,   \
    .columns = columns, .validate = validate

const struct kind kind_pod_disruption_budget = {BUDGET, .version = "v1", .collected = true};

/* --- policy/v1beta1 -------------------------------------------------------------------- */

/* An empty selector matches no pods here but all pods in v1, where a missing one matches none. */
static void to_stored(struct arena *a, const struct kind *k, struct json *budget)
{
    struct json *spec = json_get_mut(budget, "spec");
    const struct json *selector = json_get(spec, "selector");

    if (json_is(selector, JSON_OBJECT) && json_len(selector) == 0)
        json_remove(spec, "selector");
    kind_set_stored_version(a, k, budget);
}

const struct kind kind_pod_disruption_budget_beta = {
    BUDGET, .version = "v1beta1", .stored_as = &kind_pod_disruption_budget,
    .from_stored = kind_set_version, .to_stored = to_stored};
