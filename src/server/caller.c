/* caller.c - see caller.h. */
#include "server/caller.h"

#include <string.h>

#define AUTHENTICATED "system:authenticated"
#define MASTERS "system:masters"

static const char *const nobodys_groups[] = {"system:unauthenticated", NULL};
static const char *const masters_groups[] = {MASTERS, AUTHENTICATED, NULL};

const struct caller caller_anonymous = {.kind = CALLER_ANONYMOUS,
                                        .user = "system:anonymous",
                                        .uid = "",
                                        .groups = nobodys_groups,
                                        .ns = "",
                                        .name = ""};
const struct caller caller_owner = {.kind = CALLER_OWNER,
                                    .user = "muster:admin",
                                    .uid = "",
                                    .groups = masters_groups,
                                    .ns = "",
                                    .name = ""};
const struct caller caller_component = {.kind = CALLER_COMPONENT,
                                        .user = "muster:component",
                                        .uid = "",
                                        .groups = masters_groups,
                                        .ns = "",
                                        .name = ""};

bool caller_is_known(const struct caller *who)
{
    return who && who->kind != CALLER_UNKNOWN;
}

bool caller_has_group(const struct caller *who, const char *group)
{
    for (const char *const *g = who->groups; g && *g; g++)
        if (strcmp(*g, group) == 0)
            return true;
    return false;
}

bool caller_may_everything(const struct caller *who)
{
    if (!who)
        return false;
    switch (who->kind) {
    case CALLER_OWNER:
    case CALLER_COMPONENT:
        return true;
    case CALLER_CERTIFICATE:
    case CALLER_IMPERSONATED:
        return caller_has_group(who, MASTERS);
    case CALLER_UNKNOWN:
    case CALLER_ANONYMOUS:
    case CALLER_ACCOUNT:
        break;
    }
    return false;
}

const char *caller_share(const struct caller *who)
{
    return who->kind == CALLER_OWNER || who->kind == CALLER_COMPONENT ? "" : who->user;
}

const char *const *caller_account_groups(struct arena *a, const char *ns)
{
    const char **groups = arena_alloc(a, 4 * sizeof(*groups));

    if (!groups)
        return NULL;
    groups[0] = "system:serviceaccounts";
    groups[1] = arena_printf(a, "system:serviceaccounts:%s", ns);
    groups[2] = AUTHENTICATED;
    groups[3] = NULL;
    return groups[1] ? groups : NULL;
}

static const char *const *clone_groups(struct arena *a, const char *const *groups)
{
    size_t n = 0;
    const char **copy;

    while (groups && groups[n])
        n++;
    copy = arena_alloc(a, (n + 1) * sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = arena_strdup(a, groups[i]);
    if (copy)
        copy[n] = NULL;
    return copy;
}

const struct caller *caller_of_certificate(struct arena *a, const char *user,
                                           const char *const *groups)
{
    struct caller *who = arena_alloc(a, sizeof(*who));
    size_t n = 0;
    const char **all;

    while (groups[n])
        n++;
    all = arena_alloc(a, (n + 2) * sizeof(*all));
    if (!who || !all)
        return NULL;
    for (size_t i = 0; i < n; i++)
        all[i] = arena_strdup(a, groups[i]);
    all[n] = AUTHENTICATED;
    *who = (struct caller){.kind = CALLER_CERTIFICATE,
                           .user = arena_strdup(a, user),
                           .uid = "",
                           .groups = all,
                           .pod = "",
                           .pod_uid = ""};
    caller_split_account(a, who);
    return arena_failed(a) ? NULL : who;
}

const struct caller *caller_clone(struct arena *a, const struct caller *who)
{
    struct caller *copy = arena_alloc(a, sizeof(*copy));

    if (copy)
        *copy = (struct caller){.kind = who->kind,
                                .user = arena_strdup(a, who->user),
                                .uid = arena_strdup(a, who->uid),
                                .groups = clone_groups(a, who->groups),
                                .ns = arena_strdup(a, who->ns),
                                .name = arena_strdup(a, who->name),
                                .pod = arena_strdup(a, who->pod ? who->pod : ""),
                                .pod_uid = arena_strdup(a, who->pod_uid ? who->pod_uid : ""),
                                .until_ms = who->until_ms,
                                .extra = who->extra ? json_clone(a, who->extra) : NULL};
    return arena_failed(a) ? NULL : copy;
}

void caller_split_account(struct arena *a, struct caller *who)
{
    static const char prefix[] = "system:serviceaccount:";
    const char *ns, *colon;

    who->ns = who->name = "";
    if (strncmp(who->user, prefix, strlen(prefix)) != 0)
        return;
    ns = who->user + strlen(prefix);
    colon = strchr(ns, ':');
    if (!colon || colon == ns || !colon[1] || strchr(colon + 1, ':'))
        return;
    ns = arena_strndup(a, ns, (size_t)(colon - ns));
    if (!ns)
        return;
    who->ns = ns;
    who->name = colon + 1;
}
