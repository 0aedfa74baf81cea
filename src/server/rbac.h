/*
 * rbac.h - authorization: the Roles and ClusterRoles that bindings grant to users, groups and
 * service accounts. Callers that may do anything (caller.h) are not looked up; an unknown or
 * anonymous user may do nothing.
 */
#ifndef MUSTER_SERVER_RBAC_H
#define MUSTER_SERVER_RBAC_H

#include "server/tokens.h"

#define METRICS_PATH "/metrics" /* the one that not everyone may read */

struct access {
    const char *verb; /* "get" */
    const char *group, *resource, *subresource;
    const char *ns;   /* "" for cluster kinds and for all namespaces */
    const char *name; /* "" for collections */
    const char *path; /* instead of a resource: "/metrics" */
};

bool rbac_allows(struct server *s, struct arena *a, const struct caller *who,
                 const struct access *what);
/* 403 in Kubernetes' wording if the caller may not. */
int rbac_require(struct server *s, struct arena *a, const struct caller *who,
                 const struct access *what, struct err *err) must_check;
/* The same for the request's route ... */
int rbac_check(struct server_request *r, struct err *err) must_check;
/* ... for the route's object and another verb ... */
int rbac_check_verb(struct server_request *r, const char *verb, struct err *err) must_check;
/* ... and for anything that is not a stored kind. */
int rbac_check_access(struct server_request *r, const struct access *what,
                      struct err *err) must_check;
/* 403 for a role or binding that grants what must be named explicitly and its writer does not have;
 * old is NULL at creation. */
int rbac_check_grant(struct server_request *r, const struct json *old, const struct json *next,
                     struct err *err) must_check;
/* Appends every rule that applies to `who` in ns: about resources to rules, the others to paths. */
void rbac_list_rules(struct server *s, struct arena *a, const struct caller *who, const char *ns,
                     struct json *rules, struct json *paths);

#endif
