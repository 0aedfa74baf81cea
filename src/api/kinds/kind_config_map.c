/* kind_config_map.c - ConfigMap. */
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/object.h"
#include "api/problem.h"
#include "api/rules/data_keys.h"
#include "api/scheduler_config.h"

static const struct field fields[] = {
    F_STR_MAP("data", "Keys and their text.", P(2)),
    F_MAP(FIELD_BYTES, "binaryData", "Keys and their bytes, in base64.", P(3)),
    F_BOOL("immutable", "Whether the data can no longer change.", PZ(4)),
    {0}};

static void validate(const struct json *object, const struct json *old, struct err *err)
{
    static const char *const maps[] = {"data", "binaryData", NULL};

    const struct field_path at = {.name = "data"};

    data_maps_validate(object, old, maps, err);
    json_each (item, json_get(object, "data"))
        if (json_get(json_get(object, "binaryData"), item->key))
            problem_invalid(err, PATH_KEY(&at, item->key), item,
                            "duplicate of key present in binaryData");
}

/* For the scheduler's ConfigMap. */
static void warn(const struct json *object, void (*say)(void *arg, const char *text), void *arg)
{
    if (strcmp(object_name(object), SCHEDULER_CONFIG_NAME) == 0 &&
        strcmp(object_namespace(object), QUEUE_NAMESPACE) == 0)
        (void)scheduler_config_read(object, say, arg);
}

static struct json *render_data(struct arena *a, const struct json *object, int64_t now_ms)
{
    (void)now_ms;
    return json_new_int(a, (int64_t)(json_len(json_get(object, "data")) +
                                     json_len(json_get(object, "binaryData"))));
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Data", "string", "Number of keys.", .render = render_data),
    COLUMN_AGE,
    {0}};

const struct kind kind_config_map = {KIND_NAMES("", "v1", "ConfigMap", "configmaps", "configmap"),
                                     .short_names = (const char *const[]){"cm", NULL},
                                     .namespaced = true,
                                     .collected = true,
                                     .doc = "ConfigMap holds configuration for pods to use.",
                                     .fields = fields,
                                     .columns = columns,
                                     .validate = validate,
                                     .warn = warn};
