/*
 * impersonate.c - see impersonate.h. One deliberate difference: groups, a UID or extra values
 * without a user are the client's mistake and answered with 400, where the real server says 500.
 */
#include "server/impersonate.h"

#include <string.h>
#include <strings.h>

#include "base/percent.h"
#include "server/rbac.h"

#define PREFIX "Impersonate-"
#define EXTRA_PREFIX "Extra-"
#define AUTHENTICATION_GROUP "authentication.k8s.io"

struct wanted {
    struct arena *arena;
    const char *user, *uid; /* NULL: not given */
    struct json *groups;    /* [group, ...] */
    struct json *extra;     /* {key: [value, ...]} */
    const char *unknown;    /* an unsupported header of this family */
    bool any;
};

/* Keys are case-insensitive and percent-encoded, because header names allow few characters. */
static const char *extra_key(struct arena *a, const char *text)
{
    char *lower = arena_strdup(a, text);
    const char *decoded;

    for (char *c = lower; c && *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    decoded = lower ? percent_decode(a, lower, strlen(lower)) : NULL;
    return decoded ? decoded : lower;
}

static void take_extra(struct wanted *w, const char *name, const char *value)
{
    const char *key = extra_key(w->arena, name);
    struct json *values;

    if (!key)
        return;
    values = json_get_mut(w->extra, key);
    if (!values)
        values = json_make_array(w->arena, w->extra, key);
    json_append_string(w->arena, values, arena_strdup(w->arena, value));
}

static void take_header(void *arg, const char *name, const char *value)
{
    struct wanted *w = arg;

    if (strncasecmp(name, PREFIX, strlen(PREFIX)) != 0)
        return;
    name += strlen(PREFIX);
    w->any = true;
    if (strcasecmp(name, "User") == 0)
        w->user = *value ? arena_strdup(w->arena, value) : NULL;
    else if (strcasecmp(name, "Uid") == 0)
        w->uid = *value ? arena_strdup(w->arena, value) : NULL;
    else if (strcasecmp(name, "Group") == 0)
        json_append_string(w->arena, w->groups, arena_strdup(w->arena, value));
    else if (strncasecmp(name, EXTRA_PREFIX, strlen(EXTRA_PREFIX)) == 0)
        take_extra(w, name + strlen(EXTRA_PREFIX), value);
    else
        w->unknown = arena_strdup(w->arena, name);
}

/* --- authorization ------------------------------------------------------------------------- */

static int ask(struct server *s, struct arena *a, const struct caller *who, struct access what,
               struct err *err)
{
    what.verb = "impersonate";
    return rbac_require(s, a, who, &what, err);
}

static int check(struct server *s, const struct wanted *w, const struct caller *who,
                 const struct caller *next, struct err *err)
{
    struct arena *a = w->arena;
    struct access user = {.group = "", .resource = "users", .subresource = "", .ns = next->ns};
    struct access more = {.group = AUTHENTICATION_GROUP, .subresource = "", .ns = ""};
    int rc;

    user.name = next->user;
    if (*next->ns) {
        user.resource = "serviceaccounts";
        user.name = next->name;
    }
    rc = ask(s, a, who, user, err);
    user = (struct access){.group = "", .resource = "groups", .subresource = "", .ns = ""};
    json_each (group, w->groups) {
        user.name = json_string(group, "");
        if (rc == 0)
            rc = ask(s, a, who, user, err);
    }
    more.resource = "userextras";
    json_each (values, w->extra) {
        more.subresource = values->key;
        json_each (value, values) {
            more.name = json_string(value, "");
            if (rc == 0)
                rc = ask(s, a, who, more, err);
        }
    }
    if (rc < 0 || !w->uid)
        return rc;
    more.resource = "uids";
    more.subresource = "";
    more.name = w->uid;
    return ask(s, a, who, more, err);
}

/* --- the resulting user -------------------------------------------------------------------- */

/* The given groups; a service account without any has its own. Everyone is in one of the two groups
 * for authenticated or unauthenticated users. */
static const char *const *groups_of(struct wanted *w, const struct caller *next)
{
    bool anonymous = strcmp(next->user, "system:anonymous") == 0;

    if (*next->ns && json_len(w->groups) == 0)
        return caller_account_groups(w->arena, next->ns);
    if (!json_has(w->groups, "system:unauthenticated") &&
        (anonymous || !json_has(w->groups, "system:authenticated")))
        json_append_string(w->arena, w->groups,
                           anonymous ? "system:unauthenticated" : "system:authenticated");
    return json_strings(w->arena, w->groups);
}

static int check_wanted(const struct wanted *w, struct err *err)
{
    if (w->unknown)
        return err_set(err, ERR_BAD_REQUEST,
                       "the header " PREFIX "%.100s is not known: use " PREFIX "User, " PREFIX
                       "Group, " PREFIX "Uid or " PREFIX EXTRA_PREFIX "KEY",
                       w->unknown);
    if (!w->user)
        return err_set(err, ERR_BAD_REQUEST,
                       "groups, a UID or extra words are to be impersonated without a user: set "
                       "the header " PREFIX "User too");
    return 0;
}

int impersonate(struct server *s, struct httpd_request *http, const struct caller **who,
                struct err *err)
{
    struct arena *a = &http->arena;
    struct wanted w = {.arena = a, .groups = json_new_array(a), .extra = json_new_object(a)};
    struct caller *next = arena_alloc(a, sizeof(*next));
    int rc;

    httpd_each_header(http, take_header, &w);
    if (!next || arena_failed(a))
        return out_of_memory(err);
    if (!w.any)
        return 0;
    rc = check_wanted(&w, err);
    if (rc < 0)
        return rc;
    *next = (struct caller){.kind = CALLER_IMPERSONATED,
                            .user = w.user,
                            .uid = w.uid ? w.uid : "",
                            .extra = json_len(w.extra) ? w.extra : NULL};
    caller_split_account(a, next);
    rc = check(s, &w, *who, next, err);
    if (rc < 0)
        return rc;
    next->groups = groups_of(&w, next);
    if (!next->groups || arena_failed(a))
        return out_of_memory(err);
    *who = next;
    return 0;
}
