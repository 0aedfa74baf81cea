/* leader.c - see leader.h. A turn: read the lease, then make it, renew it, take it or wait. */
#include "control/leader.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "client/client.h"

#define TURN_MS 5000
#define LEASE_SECONDS 20
#define TURNS_TO_EXPIRE 4 /* unchanged for so many turns it is free */
#define TURNS_TO_LOSE 2   /* not renewed for so many it is not ours any more */
#define LEADER_MEMORY_BYTES (1024u * 1024u)

struct leader {
    struct leader_options o;
    char *name, *identity, *seen; /* seen: the lease's version when last read */
    struct clock_timer *timer;
    int unchanged, failed; /* turns */
    bool leads;
};

static void turn(void *arg);

static void next_turn(struct leader *l)
{
    l->timer = clock_start(l->o.clock, TURN_MS, turn, l);
    if (!l->timer)
        log_error("lease %s: out of memory: nobody renews it from here", l->name);
}

static void set_leads(struct leader *l, bool leads)
{
    if (l->leads == leads)
        return;
    l->leads = leads;
    log_info("lease %s/%s: %s", LEADER_NAMESPACE, l->name,
             leads ? "this process leads" : "another process leads, or the lease is lost");
    l->o.on_change(l->o.arg, leads);
}

static void on_failure(struct leader *l)
{
    if (++l->failed >= TURNS_TO_LOSE)
        set_leads(l, false);
    next_turn(l);
}

static void on_written(void *arg, const struct json *lease, const struct err *err)
{
    struct leader *l = arg;

    (void)lease;
    if (err && err->reason != ERR_CONFLICT && err->reason != ERR_ALREADY_EXISTS) {
        on_failure(l);
        return;
    }
    l->failed = 0;
    set_leads(l, !err); /* somebody was faster */
    next_turn(l);
}

static struct json *spec_of(struct arena *a, const struct leader *l, const struct json *old)
{
    bool ours = json_string_is(json_get(old, "holderIdentity"), l->identity);
    struct json *spec = json_new_object(a);
    char now[TIME_TEXT_SIZE];

    (void)time_format_micro(clock_now_ms(l->o.clock), now);
    json_set_string(a, spec, "holderIdentity", l->identity);
    json_set_int(a, spec, "leaseDurationSeconds", LEASE_SECONDS);
    json_set_string(a, spec, "renewTime", now);
    if (!ours) {
        json_set_string(a, spec, "acquireTime", now);
        json_set_int(a, spec, "leaseTransitions",
                     old ? json_get_int(old, "leaseTransitions", 0) + 1 : 0);
    }
    return spec;
}

static void make(struct leader *l)
{
    struct arena a = ARENA_INIT(LEADER_MEMORY_BYTES);
    struct json *lease = json_new_object(&a), *meta = json_make_object(&a, lease, "metadata");

    json_set_string(&a, lease, "apiVersion", kind_api_version(&a, &kind_lease));
    json_set_string(&a, lease, "kind", kind_lease.name);
    json_set_string(&a, meta, "name", l->name);
    json_set_string(&a, meta, "namespace", LEADER_NAMESPACE);
    json_set(&a, lease, "spec", spec_of(&a, l, NULL));
    client_create(l->o.transport, &kind_lease, lease, on_written, l);
    arena_release(&a);
}

/* Renews or takes it, as it was read. */
static void hold(struct leader *l, const struct json *lease)
{
    struct arena a = ARENA_INIT(LEADER_MEMORY_BYTES);
    struct json *patch = json_new_object(&a);

    json_set_string(&a, json_make_object(&a, patch, "metadata"), "resourceVersion",
                    object_resource_version(lease));
    json_set(&a, patch, "spec", spec_of(&a, l, json_get(lease, "spec")));
    client_patch(l->o.transport, &kind_lease, LEADER_NAMESPACE, l->name, "", patch, on_written, l);
    arena_release(&a);
}

static bool is_free(struct leader *l, const struct json *lease)
{
    const char *holder = json_string(json_at(lease, "spec", "holderIdentity"), "");
    const char *version = object_resource_version(lease);

    if (!*holder || (l->o.is_gone && l->o.is_gone(holder)))
        return true;
    if (l->seen && strcmp(l->seen, version) == 0)
        return ++l->unchanged >= TURNS_TO_EXPIRE;
    free(l->seen);
    l->seen = strdup(version);
    l->unchanged = 0;
    return false;
}

static void on_read(void *arg, const struct json *lease, const struct err *err)
{
    struct leader *l = arg;

    if (err && err->reason == ERR_NOT_FOUND) {
        make(l);
    } else if (err) {
        on_failure(l);
    } else if (json_string_is(json_at(lease, "spec", "holderIdentity"), l->identity) ||
               is_free(l, lease)) {
        hold(l, lease);
    } else {
        l->failed = 0;
        set_leads(l, false);
        next_turn(l);
    }
}

static void turn(void *arg)
{
    struct leader *l = arg;

    l->timer = NULL;
    client_get(l->o.transport, &kind_lease, LEADER_NAMESPACE, l->name, on_read, l);
}

struct leader *leader_new(const struct leader_options *o)
{
    struct leader *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->o = *o;
    l->name = strdup(o->name);
    l->identity = strdup(o->identity);
    l->timer = l->name && l->identity ? clock_start(o->clock, 0, turn, l) : NULL;
    if (l->timer)
        return l;
    leader_free(l);
    return NULL;
}

void leader_free(struct leader *l)
{
    if (!l)
        return;
    client_forget(l);
    clock_stop(l->o.clock, l->timer);
    free(l->name);
    free(l->identity);
    free(l->seen);
    free(l);
}
