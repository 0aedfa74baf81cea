/* kind_lease.c - Lease (coordination.k8s.io/v1): who holds something, for how long. Leader
 * election, and the ports jobs hold. */
#include "api/columns.h"

static const struct field spec_fields[] = {
    {.name = "holderIdentity", .type = FIELD_STRING, .doc = "Who holds the lease."},
    {.name = "leaseDurationSeconds",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 1,
     .doc = "Seconds after renewTime until others may take it."},
    {.name = "acquireTime", .type = FIELD_TIME, .doc = "When the holder took it."},
    {.name = "renewTime", .type = FIELD_TIME, .doc = "When the holder last renewed it."},
    {.name = "leaseTransitions",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 0,
     .doc = "How often it changed hands."},
    {.name = "strategy", .type = FIELD_STRING, .doc = "How a leader is chosen."},
    {.name = "preferredHolder", .type = FIELD_STRING, .doc = "Who should hold it next."},
    {0}};

static const struct field fields[] = {{.name = "spec",
                                       .type = FIELD_OBJECT,
                                       .fields = spec_fields,
                                       .default_json = "{}",
                                       .doc = "Who holds it, since when, for how long."},
                                      {0}};

static struct json *render_holder(struct arena *a, const struct json *lease, int64_t now_ms)
{
    (void)now_ms;
    return json_new_string(a, json_string(json_at(lease, "spec", "holderIdentity"), ""));
}

static const struct column columns[] = {
    COLUMN_NAME,
    {.name = "Holder", .type = "string", .doc = "Who holds it.", .render = render_holder},
    COLUMN_AGE,
    {0}};

const struct kind kind_lease = {.group = "coordination.k8s.io",
                                .version = "v1",
                                .name = "Lease",
                                .plural = "leases",
                                .singular = "lease",
                                .namespaced = true,
                                .collected = true,
                                .doc = "Lease says who holds something, and for how long.",
                                .fields = fields,
                                .columns = columns};
