/*
 * rbac.h - what a caller may do: the Roles and ClusterRoles that bindings give users, groups and
 * service accounts. Callers that may do everything (caller.h) are not looked up; a user
 * unknown or anonymous may do nothing.
 */
#ifndef MUSTER_SERVER_RBAC_H
#define MUSTER_SERVER_RBAC_H

#include "server/tokens.h"

struct access {
    const char *verb; /* "get" */
    const char *group, *resource, *subresource;
    const char *ns;   /* "" for cluster kinds and for all namespaces */
    const char *name; /* "" for collections */
};

bool rbac_allows(struct server *s, struct arena *a, const struct caller *who,
                 const struct access *what);
/* 403 as Kubernetes words it when who may not. */
int rbac_require(struct server *s, struct arena *a, const struct caller *who,
                 const struct access *what, struct err *err) must_check;
/* The same for what the request's route wants ... */
int rbac_check(struct server_request *r, struct err *err) must_check;
/* ... for the route's object and another verb ... */
int rbac_check_verb(struct server_request *r, const char *verb, struct err *err) must_check;
/* ... and for something that is no stored kind. */
int rbac_check_access(struct server_request *r, const struct access *what,
                      struct err *err) must_check;
/* 403 for a role or binding that gives what its writer would have to be given by name and was not;
 * old is NULL at a creation. */
int rbac_check_grant(struct server_request *r, const struct json *old, const struct json *next,
                     struct err *err) must_check;
/* Every rule who has in ns, appended to rules. */
void rbac_list_rules(struct server *s, struct arena *a, const struct caller *who, const char *ns,
                     struct json *rules);

#endif
