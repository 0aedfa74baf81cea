/*
 * rbac.h - what a service account may do: the Roles and ClusterRoles that bindings give it. The
 * owner is not asked.
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

bool rbac_allows(struct server *s, struct arena *a, const struct identity *who,
                 const struct access *what);
/* Refuses what the request's route wants when who asks may not; 403 as Kubernetes words it. */
int rbac_check(struct server_request *r, struct err *err) must_check;
/* The same for something that is no stored kind. */
int rbac_check_access(struct server_request *r, const struct access *what,
                      struct err *err) must_check;
/* Every rule who has in ns, appended to rules. */
void rbac_list_rules(struct server *s, struct arena *a, const struct identity *who, const char *ns,
                     struct json *rules);

#endif
