/* ports.c - see ports.h. */
#include "core/ports.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/hash.h"
#include "core/job.h"

#define LEASE_PREFIX "master-port-"

/* The port of a lease, or 0: the namespace may contain other leases. */
static int64_t port_of(const struct json *lease)
{
    const char *name = object_name(lease);
    int64_t port = 0;

    if (strncmp(name, LEASE_PREFIX, strlen(LEASE_PREFIX)) != 0)
        return 0;
    port = strtoll(name + strlen(LEASE_PREFIX), NULL, 10);
    return port >= PORT_FIRST && port < PORT_FIRST + PORT_COUNT ? port : 0;
}

static bool is_held_by(const struct json *lease, const char *job_uid)
{
    const char *holder = object_label(lease, LABEL_JOB_UID);

    return holder && strcmp(holder, job_uid) == 0;
}

static int64_t choose_free(const bool *taken, const char *job_uid)
{
    size_t start = (size_t)(fnv1a_64(FNV1A_64_START, job_uid, strlen(job_uid)) % PORT_COUNT);

    for (size_t i = 0; i < PORT_COUNT; i++) {
        size_t at = (start + i) % PORT_COUNT;

        if (!taken[at])
            return PORT_FIRST + (int64_t)at;
    }
    return 0;
}

struct port_claim port_claim_for(struct arena *a, const struct json *const *leases,
                                 size_t leases_len, const char *job_uid, int64_t wanted)
{
    bool *taken = arena_alloc(a, PORT_COUNT * sizeof(*taken));
    struct port_claim claim = {.port = wanted};

    if (!taken)
        return claim;
    for (size_t i = 0; i < leases_len; i++) {
        int64_t port = port_of(leases[i]);

        if (port == 0)
            continue;
        if (port == wanted && is_held_by(leases[i], job_uid)) {
            claim.held = true;
            claim.lease = leases[i];
        } else {
            taken[port - PORT_FIRST] = true;
        }
    }
    if (wanted < PORT_FIRST || wanted >= PORT_FIRST + PORT_COUNT || taken[wanted - PORT_FIRST])
        claim.port = choose_free(taken, job_uid);
    return claim;
}

/* status.port is a TensorBoard's. */
void port_lease_names(struct arena *a, const struct json *job, const char *ret[PORTS_OF_JOB])
{
    const int64_t ports[PORTS_OF_JOB] = {
        json_int(json_at(job, "status", "masterPort"), json_int(json_at(job, "status", "port"), 0)),
        json_int(json_at(job, "status", "ssh", "port"), 0)};

    for (size_t i = 0; i < PORTS_OF_JOB; i++)
        ret[i] = ports[i] ? arena_printf(a, LEASE_PREFIX "%" PRId64, ports[i]) : NULL;
}

bool port_wants_ssh(const struct json *job)
{
    return json_bool(json_at(job, "spec", "ssh", "enabled"), false);
}

bool port_leases_suffice(const struct json *job, const struct json *const leases[PORTS_OF_JOB])
{
    if (port_wants_ssh(job) && !(leases[1] && is_held_by(leases[1], object_uid(job))))
        return false;
    if (leases[0] && is_held_by(leases[0], object_uid(job)))
        return true;
    /* A failed TensorBoard is retried. */
    return !json_at(job, "status", "port") && object_has_ended(job);
}

struct json *port_lease_new(struct arena *a, const char *ns, int64_t port, const char *job_ns,
                            const char *job_name, const char *job_uid)
{
    struct json *lease = json_new_object(a);
    struct json *metadata;

    json_set_string(a, lease, "apiVersion", kind_api_version(a, &kind_lease));
    json_set_string(a, lease, "kind", kind_lease.name);
    metadata = json_make_object(a, lease, "metadata");
    json_set_stringf(a, metadata, "name", LEASE_PREFIX "%" PRId64, port);
    json_set_string(a, metadata, "namespace", ns ? ns : SYSTEM_NAMESPACE);
    json_set_string(a, json_make_object(a, metadata, "labels"), LABEL_JOB_UID, job_uid);
    json_set_stringf(a, json_make_object(a, lease, "spec"), "holderIdentity", "%s/%s", job_ns,
                     job_name);
    return lease;
}

void job_release_ports(const struct json *const *leases, size_t leases_len,
                       bool (*is_used)(void *arg, const struct json *lease, const char *uid),
                       void *arg, struct plan *plan)
{
    for (size_t i = 0; i < leases_len; i++) {
        const char *uid = object_label(leases[i], LABEL_JOB_UID);

        if (port_of(leases[i]) && uid && !object_is_deleting(leases[i]) &&
            !is_used(arg, leases[i], uid))
            plan_delete(plan, &kind_lease, leases[i], -1);
    }
}
