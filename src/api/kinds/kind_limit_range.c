/* kind_limit_range.c - LimitRange: defaults and bounds of a namespace's containers. The server
 * applies default, defaultRequest, min and max of type Container to new pods. */
#include "api/columns.h"
#include "api/field_macros.h"

static const char *const types[] = {"Container", "PersistentVolumeClaim", "Pod", NULL};

static const struct field item_fields[] = {
    F_STR("type", "Container; other types are stored but not applied.", PZ(1), REQUIRED,
          ONE_OF(types)),
    F_MAP(FIELD_QUANTITY, "default", "Default limits of containers.", P(4)),
    F_MAP(FIELD_QUANTITY, "defaultRequest", "Default requests of containers.", P(5)),
    F_MAP(FIELD_QUANTITY, "max", "The highest limit.", P(2)),
    F_MAP(FIELD_QUANTITY, "min", "The lowest request.", P(3)),
    F_MAP(FIELD_QUANTITY, "maxLimitRequestRatio", "Stored but not applied.", P(6)),
    {0}};

static const struct field spec_fields[] = {
    F_OBJS("limits", item_fields, "The limits, by type.", P(1), REQUIRED), {0}};

static const struct field fields[] = {F_SPEC(spec_fields, DEFAULT("{\"limits\":[]}")), {0}};

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Created At", "date", "When it was made.", .path = ".metadata.creationTimestamp"),
    {0}};

const struct kind kind_limit_range = {
    KIND_NAMES("", "v1", "LimitRange", "limitranges", "limitrange"),
    .short_names = (const char *const[]){"limits", NULL},
    .namespaced = true,
    .doc = "LimitRange sets defaults and bounds for the containers of a namespace.",
    .fields = fields,
    .columns = columns};
