/* kind_lease.c - Lease (coordination.k8s.io/v1): a holder and how long it may keep something. Used
 * for leader election and for the ports of jobs. */
#include "api/columns.h"
#include "api/field_macros.h"

static const struct field spec_fields[] = {
    F_STR("holderIdentity", "Holder of the lease.", PZ(1)),
    F_INT32("leaseDurationSeconds", "Seconds after renewTime until others may take it.", PZ(2),
            AT_LEAST(1)),
    F_TIME("acquireTime", "When the holder took it.", P(3), .wire = FIELD_WIRE_MICRO),
    F_TIME("renewTime", "When the holder last renewed it.", P(4), .wire = FIELD_WIRE_MICRO),
    F_INT32("leaseTransitions", "How often it changed hands.", PZ(5), AT_LEAST(0)),
    F_STR("strategy", "How the leader is chosen.", PZ(6)),
    F_STR("preferredHolder", "Preferred next holder.", PZ(7)),
    {0}};

static const struct field fields[] = {
    F_OBJ("spec", spec_fields, "Holder, since when, and for how long.", P(2), DEFAULT("{}")), {0}};

static struct json *render_holder(struct arena *a, const struct json *lease, int64_t now_ms)
{
    (void)now_ms;
    return json_new_string(a, json_string(json_at(lease, "spec", "holderIdentity"), ""));
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Holder", "string", "Holder of the lease.", .render = render_holder),
    COLUMN_AGE,
    {0}};

const struct kind kind_lease = {KIND_NAMES("coordination.k8s.io", "v1", "Lease", "leases", "lease"),
                                .namespaced = true,
                                .collected = true,
                                .doc = "Lease records the holder of something, and for how long.",
                                .fields = fields,
                                .columns = columns};
