/*
 * addresses.c - cluster IPs of Services. Nothing listens on them, but clients expect one, and they
 * must be unique.
 *
 * Taken addresses are a bitmap, filled from the store on first use. Deleting a Service does not
 * clear its bit; when an address seems taken, or all are, the bitmap is rebuilt and that result
 * counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "server/internal.h"

#define NETWORK "10.43"
#define ADDRESS_COUNT 65536u /* .0 and .255 are not used */
#define PARSE_MEMORY_BYTES (OBJECT_LIMIT_BYTES * 16)

struct addresses {
    uint8_t taken[ADDRESS_COUNT / 8];
};

/* 0: not one of ours. */
static unsigned number_of(const char *text)
{
    unsigned high, low;
    char rest;

    if (sscanf(text, NETWORK ".%3u.%3u%c", &high, &low, &rest) != 2 || high > 255 || low > 254)
        return 0;
    return low ? high * 256 + low : 0;
}

static bool is_taken(const struct addresses *a, unsigned n)
{
    return a->taken[n / 8] & (1u << n % 8);
}

static void take(struct addresses *a, unsigned n)
{
    a->taken[n / 8] = (uint8_t)(a->taken[n / 8] | (1u << n % 8));
}

struct filling {
    struct addresses *addresses;
    struct arena scratch;
};

static bool fill_one(void *arg, const struct store_item *item)
{
    struct filling *f = arg;
    const struct json *service;
    unsigned n;

    arena_reset(&f->scratch);
    service = blob_parse(&f->scratch, item->value, NULL);
    n = number_of(json_string(json_at(service, "spec", "clusterIP"), ""));
    if (n)
        take(f->addresses, n);
    return true;
}

static void fill(struct server *s)
{
    struct filling f = {.addresses = s->addresses, .scratch = ARENA_INIT(PARSE_MEMORY_BYTES)};

    memset(s->addresses, 0, sizeof(*s->addresses));
    store_list(server_collection(s, &kind_service), NULL, NULL, fill_one, &f);
    arena_release(&f.scratch);
}

static bool make(struct server *s)
{
    if (s->addresses)
        return true;
    s->addresses = calloc(1, sizeof(*s->addresses));
    if (s->addresses)
        fill(s);
    return s->addresses;
}

/* The next free one, starting at a hash of the UID; 0: none. */
static unsigned find_free(const struct addresses *a, const char *uid)
{
    unsigned start = (unsigned)(fnv1a_64(FNV1A_64_START, uid, strlen(uid)) % ADDRESS_COUNT);

    for (unsigned i = 0; i < ADDRESS_COUNT; i++) {
        unsigned n = (start + i) % ADDRESS_COUNT;

        if (n % 256 != 0 && n % 256 != 255 && !is_taken(a, n))
            return n;
    }
    return 0;
}

static int refuse(struct server_request *r, const struct json *service, const char *given,
                  struct err *err)
{
    r->route.name = object_name(service);
    err_set(
        err, ERR_INVALID,
        "Service \"%s\" is invalid: spec.clusterIPs: Invalid value: [\"%s\"]: failed to allocate "
        "IP %s: provided IP is already allocated",
        object_name(service), given, given);
    err_cause(err, "FieldValueInvalid", "spec.clusterIPs", 0,
              "Invalid value: [\"%s\"]: failed to allocate IP %s: provided IP is already allocated",
              given, given);
    return err_errno(ERR_INVALID);
}

static int choose(struct server_request *r, struct json *service, unsigned *ret, struct err *err)
{
    struct server *s = r->server;

    *ret = find_free(s->addresses, object_uid(service));
    if (!*ret) {
        fill(s);
        *ret = find_free(s->addresses, object_uid(service));
    }
    return *ret ? 0 : err_set(err, ERR_UNAVAILABLE, "all addresses of services are taken");
}

static int keep_given(struct server_request *r, const struct json *service, const char *given,
                      struct err *err)
{
    unsigned n = number_of(given);

    if (n && is_taken(r->server->addresses, n))
        fill(r->server);
    if (n && is_taken(r->server->addresses, n))
        return refuse(r, service, given, err);
    if (n)
        take(r->server->addresses, n);
    return 0;
}

static int give_address(struct server_request *r, struct json *service, bool dry_run,
                        struct err *err)
{
    struct json *spec = json_make_object(r->arena, service, "spec");
    const char *given = json_get_string(spec, "clusterIP", "");
    unsigned n = 0;
    int rc;

    if (strcmp(given, "None") == 0 || json_string_is(json_get(spec, "type"), "ExternalName"))
        return 0;
    if (!make(r->server))
        return out_of_memory(err);
    if (*given)
        return dry_run ? 0 : keep_given(r, service, given, err);
    rc = choose(r, service, &n, err);
    if (rc < 0)
        return rc;
    if (!dry_run)
        take(r->server->addresses, n);
    json_set_stringf(r->arena, spec, "clusterIP", NETWORK ".%u.%u", n / 256, n % 256);
    json_remove(spec, "clusterIPs");
    json_append_string(r->arena, json_make_array(r->arena, spec, "clusterIPs"),
                       json_get_string(spec, "clusterIP", ""));
    return 0;
}

int service_give_address(struct server_request *r, struct json *service, bool dry_run,
                         struct err *err)
{
    return r->route.kind == &kind_service ? give_address(r, service, dry_run, err) : 0;
}
