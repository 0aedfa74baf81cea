/* kind_priority_class.c - PriorityClass (scheduling.k8s.io/v1): a name for a pod's priority. */
#include "api/columns.h"
#include "api/field_macros.h"
#include "api/object.h"
#include "api/problem.h"

#define USER_VALUE_LIMIT 1000000000 /* values above it are reserved for the system */

static const char *const policies[] = {"Never", "PreemptLowerPriority", NULL};

static const struct field fields[] = {
    F_INT32("value", "Priority of the pods in this class.", PZ(2),
            .flags = FIELD_REQUIRED | FIELD_IMMUTABLE),
    F_BOOL("globalDefault", "Whether it is the default for pods that name no class.", P(3)),
    F_STR("description", "When the class should be used.", P(4)),
    F_STR("preemptionPolicy", "Whether such pods may preempt others.", PZ(5), ONE_OF(policies),
          DEFAULT("\"PreemptLowerPriority\""), .flags = FIELD_IMMUTABLE),
    {0}};

static void validate(const struct json *class, const struct json *old, struct err *err)
{
    const struct json *value = json_get(class, "value");
    const struct field_path at = {.name = "value"};

    (void)old;
    if (json_int(value, 0) > USER_VALUE_LIMIT)
        problem_invalid(err, &at, value,
                        "must be at most %d: higher values are reserved for the system",
                        USER_VALUE_LIMIT);
}

static struct json *render_default(struct arena *a, const struct json *class, int64_t now_ms)
{
    (void)now_ms;
    return json_new_bool(a, json_get_bool(class, "globalDefault", false));
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Value", "integer", "Priority.", .path = ".value"),
    COLUMN("Global-Default", "boolean", "Whether it is the default.", .render = render_default),
    COLUMN_AGE,
    COLUMN("PreemptionPolicy", "string", "Whether it may preempt.", .priority = 1,
           .path = ".preemptionPolicy"),
    {0}};

const struct kind kind_priority_class = {
    KIND_NAMES("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "priorityclass"),
    .short_names = (const char *const[]){"pc", NULL},
    .doc = "PriorityClass is a name for the priority of pods.",
    .fields = fields,
    .columns = columns,
    .validate = validate};
