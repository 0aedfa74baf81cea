/* client.h - API calls over a transport: paths from kinds, bodies from values, Status to err. */
#ifndef MUSTER_CLIENT_CLIENT_H
#define MUSTER_CLIENT_CLIENT_H

#include "api/kind.h"
#include "port/transport.h"

/* err is NULL on success; object is the answer (an object or Status), or NULL. Both are valid until
 * the function returns. Called once, never before the call returns, except when out of memory,
 * where there is no other way to answer. */
typedef void client_fn(void *arg, const struct json *object, const struct err *err);

/* Drops the answers of calls made with this arg: call it before freeing arg. */
void client_forget(const void *arg);

/* Part of our own server's version. */
#define CLIENT_OUR_SERVER "+muster"

/* GET of a path that does not belong to a kind. */
void client_get_path(struct transport *t, const char *path, client_fn *fn, void *arg);
void client_get(struct transport *t, const struct kind *k, const char *ns, const char *name,
                client_fn *fn, void *arg);
/* Only the object's metadata, which saves the server work. */
void client_get_metadata(struct transport *t, const struct kind *k, const char *ns,
                         const char *name, client_fn *fn, void *arg);
/* selector: a raw query such as "labelSelector=a%3Db" or NULL. */
void client_list(struct transport *t, const struct kind *k, const char *ns, const char *query,
                 client_fn *fn, void *arg);
/* The same for a list that is not wanted as a whole: each gets its items one by one, skimmed for
 * the parts, and then fn the list without them. Both are called with arg. */
void client_list_each(struct transport *t, const struct kind *k, const char *ns, const char *query,
                      const struct json_part *parts, json_item_fn *each, client_fn *fn, void *arg);
void client_create(struct transport *t, const struct kind *k, const struct json *object,
                   client_fn *fn, void *arg);
/* POST to a subresource: "binding", "token". body NULL: out of memory. */
void client_create_sub(struct transport *t, const struct kind *k, const char *ns, const char *name,
                       const char *subresource, const struct json *body, client_fn *fn, void *arg);
void client_update_status(struct transport *t, const struct kind *k, const struct json *object,
                          client_fn *fn, void *arg);
/* A merge patch; subresource "" or "status". */
void client_patch(struct transport *t, const struct kind *k, const char *ns, const char *name,
                  const char *subresource, const struct json *patch, client_fn *fn, void *arg);
/* uid: precondition or NULL; grace_seconds: -1 the object's own; propagation "Background",
 * "Foreground", "Orphan". */
void client_delete(struct transport *t, const struct kind *k, const char *ns, const char *name,
                   const char *uid, int64_t grace_seconds, const char *propagation, client_fn *fn,
                   void *arg);
/* version: the object's, as another precondition; or NULL. */
void client_delete_version(struct transport *t, const struct kind *k, const char *ns,
                           const char *name, const char *uid, const char *version,
                           int64_t grace_seconds, const char *propagation, client_fn *fn,
                           void *arg);

/* Whether we may do this; "" members are ignored. fn gets a SelfSubjectAccessReview. */
struct client_access {
    const char *ns, *verb, *group, *resource, *subresource, *name;
};
void client_review(struct transport *t, const struct client_access *access, client_fn *fn,
                   void *arg);

#endif
