/* signing.c - see signing.h. */
#include "server/signing.h"

#include <stdlib.h>
#include <string.h>

#include "api/problem.h"
#include "base/base64.h"
#include "base/timefmt.h"
#include "server/caller.h"
#include "server/rbac.h"

#define CLIENT_SIGNER "kubernetes.io/kube-apiserver-client"
#define MASTERS "system:masters"
#define DAY_S ((int64_t)24 * 3600)

static const char *const decisions[] = {"Approved", "Denied"};

void signing_forget_authority(struct server *s)
{
    if (s->signing_key)
        explicit_bzero(s->signing_key, strlen(s->signing_key));
    free(s->signing_key);
    free(s->signing_certificate);
    s->signing_key = s->signing_certificate = NULL;
}

void signing_set_authority(struct server *s, const struct key_pair *authority)
{
    signing_forget_authority(s);
    s->signing_key = strdup(authority->key);
    s->signing_certificate = strdup(authority->certificate);
}

/* The PEM of the request, or NULL. */
static const char *request_pem(struct arena *a, const struct json *object)
{
    const char *text = json_string(json_at(object, "spec", "request"), "");
    size_t len;

    return base64_decode(a, text, strlen(text), &len);
}

static bool is_for_clients(const struct json *object)
{
    return json_string_is(json_at(object, "spec", "signerName"), CLIENT_SIGNER);
}

/* --- a new one --- */

static void set_requester(struct arena *a, struct json *spec, const struct caller *who)
{
    struct json *groups;

    json_set_string(a, spec, "username", who->user);
    if (*who->uid)
        json_set_string(a, spec, "uid", who->uid);
    else
        json_remove(spec, "uid");
    json_remove(spec, "groups");
    groups = json_make_array(a, spec, "groups");
    for (const char *const *g = who->groups; *g; g++)
        json_append_string(a, groups, *g);
    if (who->extra)
        json_set(a, spec, "extra", json_clone(a, who->extra));
    else
        json_remove(spec, "extra");
}

static int invalid(struct server_request *r, const struct json *object, const char *field,
                   const char *problem, struct err *err)
{
    err_set(err, ERR_INVALID, "%s \"%s\" is invalid: %s: %s", r->route.kind->name,
            object_name(object), field, problem);
    err_cause(err, "FieldValueInvalid", field, 0, "%s", problem);
    return err_errno(ERR_INVALID);
}

/* As in Kubernetes: an approval never makes a member of system:masters. */
static int check_groups(struct server_request *r, const struct json *object,
                        const struct certificate_subject *subject, struct err *err)
{
    for (size_t i = 0; i < subject->groups_len; i++)
        if (strcmp(subject->groups[i], MASTERS) == 0)
            return err_set(err, ERR_FORBIDDEN,
                           "%s \"%s\" is forbidden: use of " CLIENT_SIGNER " signer with " MASTERS
                           " group is not allowed",
                           resource_name(r->arena, r->route.kind), object_name(object));
    return 0;
}

/* What its certificate may be used for: a client's, and what a key needs for that. */
static bool usages_fit(const struct json *usages)
{
    static const char *const allowed[] = {"client auth", "digital signature", "key encipherment"};
    bool client = false;

    json_each (usage, usages) {
        bool known = false;

        for (size_t i = 0; i < ELEMS(allowed); i++)
            known = known || json_string_is(usage, allowed[i]);
        if (!known)
            return false;
        client = client || json_string_is(usage, allowed[0]);
    }
    return client;
}

int signing_create(struct server_request *r, struct json *object, struct err *err)
{
    struct json *spec = json_make_object(r->arena, object, "spec");
    const char *pem = request_pem(r->arena, object);
    struct certificate_subject subject;
    auto_err why = ERR_INIT;

    set_requester(r->arena, spec, r->caller);
    if (!*json_get_string(spec, "request", ""))
        return 0; /* the table says that it is missing */
    if (!pem || certificate_request_read(pem, &subject, &why) < 0)
        return invalid(r, object, "spec.request", why.text ? why.text : "not base64", err);
    if (!is_for_clients(object))
        return 0;
    if (json_len(json_get(spec, "usages")) > 0 && !usages_fit(json_get(spec, "usages")))
        return invalid(r, object, "spec.usages",
                       "this signer wants \"client auth\", and beside it only \"digital "
                       "signature\" and \"key encipherment\"",
                       err);
    return check_groups(r, object, &subject, err);
}

/* --- decisions --- */

static const struct json *condition(const struct json *object, const char *type)
{
    return json_find(json_at(object, "status", "conditions"), "type", type);
}

static int check_approver(struct server_request *r, const struct json *object, struct err *err)
{
    const char *signer = json_string(json_at(object, "spec", "signerName"), "");
    const char *domain = arena_printf(r->arena, "%.*s/*", (int)strcspn(signer, "/"), signer);
    struct access what = {.verb = "approve",
                          .group = r->route.kind->group,
                          .resource = "signers",
                          .subresource = "",
                          .ns = "",
                          .name = domain ? domain : signer};

    if (rbac_allows(r->server, r->arena, r->caller, &what))
        return 0;
    what.name = signer;
    return rbac_check_access(r, &what, err);
}

static int check_decisions(struct server_request *r, const struct json *old,
                           const struct json *next, struct err *err)
{
    static const char field[] = "status.conditions";

    for (size_t i = 0; i < ELEMS(decisions); i++) {
        const struct json *c = condition(next, decisions[i]);

        if (condition(old, decisions[i]) && !c)
            return invalid(r, next, field, "Approved and Denied conditions may not be removed",
                           err);
        if (c && !json_string_is(json_get(c, "status"), "True"))
            return invalid(r, next, field, "Approved and Denied conditions must be \"True\"", err);
    }
    if (condition(next, decisions[0]) && condition(next, decisions[1]))
        return invalid(r, next, field, "Approved and Denied conditions are mutually exclusive",
                       err);
    return 0;
}

static void stamp(struct server_request *r, struct json *object)
{
    struct json *list = json_get_mut(json_get_mut(object, "status"), "conditions");
    char text[TIME_TEXT_SIZE];

    (void)time_format(clock_now_ms(r->server->clock), text);
    for (struct json *c = json_first_mut(list); c; c = c->next)
        for (size_t i = 0; i < 2; i++) {
            const char *name = i == 0 ? "lastTransitionTime" : "lastUpdateTime";

            if (!*json_get_string(c, name, ""))
                json_set_string(r->arena, c, name, text);
        }
}

static int sign(struct server_request *r, struct json *object, struct err *err)
{
    const struct server *s = r->server;
    const struct key_pair authority = {s->signing_key, s->signing_certificate};
    int64_t seconds = json_int(json_at(object, "spec", "expirationSeconds"),
                               CERTIFICATE_DAYS * DAY_S);
    struct buf pem = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES);
    const char *request = request_pem(r->arena, object);
    size_t len;
    int rc = request
                 ? certificate_request_sign(&authority, request, clock_now_ms(s->clock) / 1000,
                                            min_i64(seconds, CERTIFICATE_DAYS * DAY_S), &pem, err)
                 : out_of_memory(err);

    if (rc == 0)
        json_set_string(r->arena, json_make_object(r->arena, object, "status"), "certificate",
                        base64_encode(r->arena, pem.data, pem.len, &len));
    buf_release(&pem);
    return rc;
}

/* The conditions Approved and Denied as before. */
static void keep_decisions(struct arena *a, const struct json *old, struct json *next)
{
    struct json *kept = json_new_array(a);

    json_each (c, json_at(next, "status", "conditions"))
        if (!json_string_is(json_get(c, "type"), decisions[0]) &&
            !json_string_is(json_get(c, "type"), decisions[1]))
            (void)json_append(kept, json_clone(a, c));
    for (size_t i = 0; i < ELEMS(decisions); i++)
        if (condition(old, decisions[i]))
            (void)json_append(kept, json_clone(a, condition(old, decisions[i])));
    if (json_len(kept) > 0 || json_at(next, "status", "conditions"))
        json_set(a, json_make_object(a, next, "status"), "conditions", kept);
}

int signing_update(struct server_request *r, const struct json *old, struct json *next,
                   struct err *err)
{
    int rc;

    json_set(r->arena, next, "spec", json_clone(r->arena, json_get(old, "spec")));
    if (strcmp(r->route.subresource, APPROVAL) != 0) {
        keep_decisions(r->arena, old, next);
        return 0;
    }
    rc = check_approver(r, old, err);
    if (rc == 0)
        rc = check_decisions(r, old, next, err);
    if (rc < 0)
        return rc;
    stamp(r, next);
    if (condition(next, decisions[0]) && is_for_clients(next) && r->server->signing_key &&
        !*json_string(json_at(next, "status", "certificate"), ""))
        rc = sign(r, next, err);
    return rc;
}
