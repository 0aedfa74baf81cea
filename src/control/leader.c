/* leader.c - see leader.h. Each turn the leader renews the lease as it last wrote it; any other
 * process reads it first, then creates it, takes it or waits. */
#include "control/leader.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "client/client.h"

#define TURN_MS 3000
#define LEASE_SECONDS 9
#define TURNS_TO_EXPIRE 3 /* unchanged for this many turns, it is free */
#define TURNS_TO_LOSE 2   /* not renewed for this many turns, it is lost */
#define LOSE_MS 6500      /* and also after this time without answers */
#define LEADER_MEMORY_BYTES (1024u * 1024u)

struct leader {
    struct leader_options o;
    char *ns, *name, *identity;
    char *seen;    /* the lease's version when last read or written */
    char *trouble; /* why the last turn failed, or NULL */
    struct clock_timer *timer, *losing;
    int unchanged, failed; /* in turns */
    bool leads, said;      /* said: logged why it does not lead, once */
};

static void turn(void *arg);
static void on_read(void *arg, const struct json *lease, const struct err *err);

static void next_turn(struct leader *l)
{
    l->timer = clock_start(l->o.clock, TURN_MS, turn, l);
    if (!l->timer)
        log_error("lease %s: out of memory: it is not renewed any more", l->name);
}

static void set_leads(struct leader *l, bool leads)
{
    if (l->leads == leads)
        return;
    l->leads = leads;
    log_info("lease %s/%s: %s", l->ns, l->name,
             leads ? "this process leads" : "another process leads, or the lease is lost");
    l->o.on_change(l->o.arg, leads);
}

static void on_losing(void *arg)
{
    struct leader *l = arg;

    l->losing = NULL;
    set_leads(l, false);
}

/* Logged once, not every turn. */
static void set_trouble(struct leader *l, const struct err *err)
{
    if (err && (!l->trouble || strcmp(l->trouble, err->text) != 0))
        log_warn("lease %s/%s: %s", l->ns, l->name, err->text);
    else if (err)
        return;
    free(l->trouble);
    l->trouble = err ? strdup(err->text) : NULL;
}

static void on_failure(struct leader *l, const struct err *err)
{
    set_trouble(l, err);
    if (++l->failed >= TURNS_TO_LOSE)
        set_leads(l, false);
    next_turn(l);
}

static void note_version(struct leader *l, const struct json *lease)
{
    free(l->seen);
    l->seen = strdup(object_resource_version(lease));
    l->unchanged = 0;
}

static void read_lease(struct leader *l)
{
    client_get(l->o.transport, &kind_lease, l->ns, l->name, on_read, l);
}

static void on_written(void *arg, const struct json *lease, const struct err *err)
{
    struct leader *l = arg;

    if (err && (err->reason == ERR_CONFLICT || err->reason == ERR_NOT_FOUND) && l->leads) {
        read_lease(l); /* perhaps our own renewal whose answer was lost: check the holder */
        return;
    }
    if (err && err->reason != ERR_CONFLICT && err->reason != ERR_ALREADY_EXISTS) {
        on_failure(l, err);
        return;
    }
    l->failed = 0;
    set_trouble(l, NULL);
    if (!err) {
        note_version(l, lease);
        clock_stop(l->o.clock, l->losing);
        l->losing = clock_start(l->o.clock, LOSE_MS, on_losing, l);
    }
    set_leads(l, !err); /* another was faster, or may not be replaced */
    if (err && !l->said)
        log_info("lease %s/%s: this process waits: %s", l->ns, l->name, err->text);
    l->said = err;
    next_turn(l);
}

static struct json *spec_of(struct arena *a, const struct leader *l, const struct json *old)
{
    bool ours = l->leads || json_string_is(json_get(old, "holderIdentity"), l->identity);
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
    json_set_string(&a, meta, "namespace", l->ns);
    json_set(&a, lease, "spec", spec_of(&a, l, NULL));
    client_create(l->o.transport, &kind_lease, lease, on_written, l);
    arena_release(&a);
}

/* Renews or takes it, as last seen. */
static void hold(struct leader *l, const struct json *old_spec)
{
    struct arena a = ARENA_INIT(LEADER_MEMORY_BYTES);
    struct json *patch = json_new_object(&a);

    json_set_string(&a, json_make_object(&a, patch, "metadata"), "resourceVersion", l->seen);
    json_set(&a, patch, "spec", spec_of(&a, l, old_spec));
    client_patch(l->o.transport, &kind_lease, l->ns, l->name, "", patch, on_written, l);
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
    note_version(l, lease);
    return false;
}

static void on_read(void *arg, const struct json *lease, const struct err *err)
{
    struct leader *l = arg;

    if (err && err->reason == ERR_NOT_FOUND) {
        make(l);
    } else if (err) {
        on_failure(l, err);
    } else if (json_string_is(json_at(lease, "spec", "holderIdentity"), l->identity) ||
               is_free(l, lease)) {
        note_version(l, lease);
        if (l->seen)
            hold(l, json_get(lease, "spec"));
        else
            next_turn(l); /* out of memory */
    } else {
        l->failed = 0;
        set_trouble(l, NULL);
        set_leads(l, false);
        next_turn(l);
    }
}

static void turn(void *arg)
{
    struct leader *l = arg;

    l->timer = NULL;
    if (l->leads && l->seen)
        hold(l, NULL);
    else
        read_lease(l);
}

struct leader *leader_new(const struct leader_options *o)
{
    struct leader *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->o = *o;
    l->ns = strdup(o->ns ? o->ns : LEADER_NAMESPACE);
    l->name = strdup(o->name);
    l->identity = strdup(o->identity);
    l->timer = l->ns && l->name && l->identity ? clock_start(o->clock, 0, turn, l) : NULL;
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
    clock_stop(l->o.clock, l->losing);
    free(l->ns);
    free(l->name);
    free(l->identity);
    free(l->seen);
    free(l->trouble);
    free(l);
}

const char *leader_trouble(const struct leader *l)
{
    return l->trouble;
}
