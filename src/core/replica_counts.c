/*
 * replica_counts.c - the number of replicas per type. Plain jobs state it; an elastic job states a
 * total, which is divided by weight. Pure.
 */
#include "core/job_view.h"

bool switched_on(const struct json *config)
{
    return json_get_bool(config, "enabled", json_get_bool(config, "enable", false));
}

static int64_t weight_of(const struct json *entry)
{
    return max_i64(json_get_int(entry, "scalingWeight", 1), 0);
}

static int64_t bounded(int64_t value, int64_t low, int64_t high)
{
    return max_i64(low, min_i64(value, high));
}

/* Whole shares first, then one each to the types in order. The first type has the master and always
 * gets one. */
static void share_out(const struct json *entries, int64_t total, int64_t *counts)
{
    int64_t weights = 0, given = 0;
    size_t i = 0;

    json_each (entry, entries)
        weights += weight_of(entry);
    json_each (entry, entries) {
        counts[i] = weights ? total * weight_of(entry) / weights : 0;
        given += counts[i++];
    }
    if (counts[0] == 0 && given < total) {
        counts[0] = 1;
        given++;
    }
    while (given < total) {
        i = 0;
        json_each (entry, entries) {
            bool takes = given < total && (weight_of(entry) > 0 || weights == 0);

            counts[i++] += takes;
            given += takes;
        }
    }
}

void replica_counts(const struct json *spec, int64_t *counts)
{
    const struct json *entries = json_get(spec, "replicaSpecs");
    const struct json *elastic = json_get(spec, "elastic");
    int64_t total = 0;
    size_t i = 0;

    json_each (entry, entries) {
        counts[i] = bounded(json_get_int(entry, "replicas", 1), 0, REPLICAS_LIMIT - total);
        total += counts[i++];
    }
    if (i == 0 || !switched_on(elastic) || !switched_on(json_get(spec, "torchrunConfig")))
        return;
    total = json_get_int(elastic, "expectedReplicas", total);
    total = bounded(total, json_get_int(elastic, "minReplicas", 1),
                    json_get_int(elastic, "maxReplicas", total));
    share_out(entries, bounded(total, 1, REPLICAS_LIMIT), counts);
}
