/* internal.h - the server itself, for the files of this folder. */
#ifndef MUSTER_SERVER_INTERNAL_H
#define MUSTER_SERVER_INTERNAL_H

#include "api/object.h"
#include "base/map.h"
#include "base/sha256.h"
#include "net/origin.h"
#include "net/sessions.h"
#include "port/node.h"
#include "server/request.h"
#include "server/server.h"

#define OBJECT_LIMIT_BYTES (3u * 1024u * 1024u)     /* encoded */
#define SHOWN_LIMIT_BYTES (8u * OBJECT_LIMIT_BYTES) /* with managedFields as clients see them */

struct httpd;
struct wait;
struct session;

struct server_mount {
    const char *prefix;
    bool (*fits)(const char *path); /* or NULL: every path below the prefix */
    mount_fn *fn;
    void *arg;
    bool pulls;  /* the bodies: server_mount_pulling */
    bool is_app; /* at their own origins only (apps.h) */
    struct server_app app;
};

#define APPROVAL "approval"                        /* a subresource */
#define EPHEMERAL_CONTAINERS "ephemeralcontainers" /* a subresource */

#define APP_TICKETS_OF_SESSION 4u
#define APP_TICKETS (APP_TICKETS_OF_SESSION * SESSIONS_LIMIT)

struct app_ticket { /* apps.c */
    char ticket[SESSION_CODE_SIZE], app[ORIGIN_APP_SIZE];
    uint64_t session;
    int64_t until_ms;
};

struct server {
    struct loop *loop;
    struct store *store;
    struct clock *clock;
    const struct kind **kinds;                 /* built in, then installed; NULL-terminated */
    struct store_collection **collections;     /* parallel to kinds */
    const struct kind **described;             /* kinds, and others with fields; NULL-terminated */
    struct buf scratch, shown;                 /* for encoding objects; their memory is kept */
    int64_t first_revision;                    /* ready once this is on disk */
    struct store_collection *first_collection; /* whose commit tells */
    struct wait *waits;

    struct httpd *httpd; /* front.c */
    char *token;
    char *signing_key, *signing_certificate; /* signing.c */
    struct server_mount mounts[SERVER_MOUNTS_LIMIT];
    size_t mounts_len;
    struct server_pages pages;
    struct sessions logins;                     /* login.c: browsers that are signed in */
    const struct httpd_request *signing_out;    /* the request that is ending its own session */
    struct app_ticket app_tickets[APP_TICKETS]; /* apps.c */
    int other_loopback;                    /* bound so that no other program can answer there; or
                                            * -1 */
    unsigned char token_key[SHA256_BYTES]; /* tokens.c */
    bool has_token_key;
    struct map frames;        /* watch.c: converted events being sent */
    struct session *sessions; /* session.c */
    size_t session_count;
    struct node *node;                /* in this process, or NULL */
    struct node_directory *directory; /* of the others, or NULL */

    struct clock_timer *event_timer, *age_timer; /* expiry.c */
    char *event_cursor;
    bool event_hurry;
    struct clock_timer *namespace_timer; /* namespace.c */
    int64_t namespace_delay_ms;

    uint64_t *openapi_hashes; /* parallel to described, computed on first use */

    struct definitions *definitions; /* definitions.c */

    struct addresses *addresses; /* addresses.c, created on first use */

    struct endpoints_feed *endpoints_feed; /* endpoints_watch.c, while watched */

    struct webhooks *webhooks; /* webhooks.h, created on first use */
    struct request_metrics *metrics;

    bool has_controllers; /* own_lease.c */
    bool overcommit;
    const char *kubeconfig_path;
    bool root_pods;      /* machine_access.c */
    struct ledger *room; /* room.c, created on first use */
    uint32_t room_epoch; /* of the store at that time */

    struct underway *underway; /* quota.c */
    struct clock_timer *quota_timer;
};

/* --- kinds (definitions.c) ------------------------------------------------------------- */

struct store_collection *server_collection(const struct server *s, const struct kind *k);
const struct kind *server_kind(const struct server *s, const char *group, const char *version,
                               const char *plural);
int server_list_kinds(struct server *s, struct err *err) must_check;
void server_forget_kinds(struct server *s);
int definitions_start(struct server *s, struct err *err) must_check;
void definitions_free(struct server *s);
/* Before one is written: sets in its status whether its names are free, and its finalizer. */
void definition_prepare(struct server_request *r, struct json *crd);
int definition_check_room(const struct server *s, struct err *err) must_check;

/* --- quotas (quota.c, limit_range.c) --------------------------------------------------- */

/* 403 when the namespace has no room for the object. */
int quota_check(struct server_request *r, const struct json *object, const char *key, bool dry_run,
                struct err *err) must_check;
/* After every write: usage may have changed. */
void quota_written(struct server *s, const struct kind *k);
void quota_free(struct server *s);
/* Applies defaults and bounds to a new pod's containers. */
int limit_range_apply(struct server_request *r, struct json *pod, struct err *err) must_check;
/* --- priorities (priority.c): sets a new pod's number from its class ------------------- */
int priority_apply(struct server_request *r, struct json *pod, struct err *err) must_check;

/* --- policies (admission.c) and webhooks (webhooks.c) ----------------------------------- */

/* Checks a write by the policies that are bound and by webhooks; object is NULL at deletion.
 * Negative without an error: webhooks were asked, and server_handle will run again. */
int admission_check(struct server_request *r, const char *operation, const struct json *old,
                    const struct json *object, bool dry_run, struct err *err) must_check;
/* Lets webhooks change *object, which is then another one. Negative likewise. */
int webhooks_mutate(struct server_request *r, const char *operation, const struct json *old,
                    struct json **object, bool dry_run, struct err *err) must_check;
void webhooks_free(struct server *s); /* requests that wait for them are refused */

/* --- queues (queue_check.c): 403 if the object may not use the queue it names ---------- */
int queue_check(struct server_request *r, const struct json *object, struct err *err) must_check;

/* --- PodGroups of jobs (group_owner.c): 403 unless they are the job's ------------------- */
int group_owner_check(struct server_request *r, const struct json *old, const struct json *next,
                      struct err *err) must_check;
int group_owner_check_delete(struct server_request *r, const struct json *group,
                             struct err *err) must_check;

/* --- room (room.c): 409 if there is none for a scheduler's write ------------------------ */

int room_check_new_group(struct server_request *r, const struct json *group,
                         struct err *err) must_check;
int room_check_group(struct server_request *r, const struct json *old, const struct json *next,
                     struct err *err) must_check;
/* Turns a new pod's nodeName into a request to the scheduler, unless its creator may bind pods:
 * who names a node passes by the line, what it reserves, closed queues and their nodes. */
void room_ask_for_node(struct server_request *r, struct json *pod);
/* For a pod that gets a node, by a binding or at creation (old is NULL); notes its queue on it. */
int room_check_pod(struct server_request *r, const struct json *old, struct json *next,
                   struct err *err) must_check;
/* The group as it is counted, even if only its pods are there; NULL: nothing is, or no memory. */
const struct group *room_find_group(struct server *s, const char *ns, const char *name);
/* After every write. */
void room_written(struct server *s, const struct kind *k, const struct json *object, bool gone);
void room_free(struct server *s);

/* --- leases of this process (own_lease.c): 409 for any other holder --------------------- */
int own_lease_check(const struct server_request *r, const char *key, struct err *err) must_check;

/* --- addresses of services (addresses.c) ----------------------------------------------- */

/* Assigns a new Service its address; a given one must be free. */
int service_give_address(struct server_request *r, struct json *service, bool dry_run,
                         struct err *err) must_check;

/* --- definitions of built-in kinds (crds.c) -------------------------------------------- */

struct json *crd_builtin(struct server *s, struct arena *a, const char *name); /* or NULL */
void crd_builtin_each(struct server *s, struct arena *a,
                      bool (*fn)(void *arg, const struct json *crd), void *arg);
/* 403 for a write to one of them. */
int crd_check_builtin(const struct server_request *r, const char *name, struct err *err) must_check;

/* --- objects (write.c) ----------------------------------------------------------------- */

const char *object_key(struct arena *a, const struct kind *k, const char *ns, const char *name);
/* Without its field managers: for reading only. */
struct json *blob_parse(struct arena *a, const struct blob *b, struct err *err) must_check;

/* A stored object ends with its field managers in a short form. Clients are shown them as
 * metadata.managedFields; a bare object is without. */
bool stored_is_shown(const struct blob *b);   /* it has none */
size_t stored_bare_len(const struct blob *b); /* then a '}' */
void stored_write(struct buf *out, struct arena *a, const struct kind *k, const struct blob *b,
                  bool bare);
struct blob *stored_shown(struct server_request *r, struct blob *b) must_check;

/* In the kind's own version. */
struct json *stored_parse(struct arena *a, const struct kind *k, const struct blob *b, bool bare,
                          struct err *err) must_check;

enum write_type { WRITE_PUT, WRITE_DELETE };

/* Stamps the next revision into object, encodes it once and queues it. *ret (may be NULL) gets a
 * reference to the encoded bytes. */
int object_write(struct server *s, struct arena *a, const struct kind *k, const char *key,
                 struct json *object, enum write_type type, store_done_fn *done, void *arg,
                 struct blob **ret, struct err *err) must_check;
/* The same for a request: answers, once the write is on disk, with the object or with `instead`. A
 * dry run is answered at once. */
int request_write(struct server_request *r, const char *key, struct json *object,
                  enum write_type type, int code, struct json *instead, bool dry_run,
                  struct err *err) must_check;
/* Answers with the current object, once it is on disk. */
int request_unchanged(struct server_request *r, const struct store_item *item,
                      struct err *err) must_check;

/* Whether it may exist though the store does not show it. */
bool object_may_be_damaged(struct server *s, const struct kind *k, const char *key);
/* Whether it certainly does not exist. */
bool object_is_absent(struct server *s, const struct kind *k, const char *key);
/* Refuses to create what may be there but corrupt, unless the owner knows which it is. */
int damage_check_create(struct server_request *r, const char *key, const char *name,
                        struct err *err) must_check;
void damage_announce(struct server *s); /* as events */
/* 404, or the explanation for a corrupt object (damage.c). */
int object_missing(struct server *s, const struct kind *k, const char *key, const char *name,
                   struct err *err);
/* Deletes the path's object if it is corrupt, as nothing in it can be checked. False: it is not. */
bool damaged_is_deleted(struct server_request *r, bool dry_run, int *ret, struct err *err);
/* The path's object as writes see it (store_head), parsed; 404 when it does not exist. */
struct json *request_load(struct server_request *r, const char **ret_key,
                          const struct store_item **ret_item, struct err *err) must_check;

/* --- pods (pod.c) ---------------------------------------------------------------------- */

/* The container named in the query, or the only one. */
int pod_choose_container(const struct server_request *r, const struct json *pod, const char **ret,
                         struct err *err) must_check;
/* The node of that name, for immediate use; NULL with err set. */
struct node *server_node(const struct server *s, struct arena *a, const char *name,
                         struct err *err) must_check;
/* Node objects that are ready and not in this process; only: of that name, or NULL for all. NULL:
 * out of memory. */
#define SERVER_NODES_LIMIT 1024u
struct server_nodes {
    const struct json *items[SERVER_NODES_LIMIT];
    size_t len;
};
/* A deleted pod may have been on any node: all are asked in turn. */
struct node_round {
    struct server_nodes *others;
    size_t next;
    enum err_reason reason; /* the nodes' answer: that one was unreachable, otherwise the first */
    const char *text;
};
struct node *server_next_node(struct server_request *r, struct node_round *round) must_check;
void node_round_heard(struct node_round *round, struct arena *a, const struct err *err);
struct server_nodes *server_other_nodes(struct server_request *r, const char *only) must_check;
/* The node the pod is bound to, and its identity there; NULL with err set. */
struct node *pod_node(const struct server_request *r, const struct json *pod, struct node_pod *ret,
                      struct err *err) must_check;

/* --- bodies (body.c) ------------------------------------------------------------------- */

/* The request's body as an object of the route's kind, decoded by its table. */
struct json *body_object(struct server_request *r, struct err *err) must_check;
int field_validation(const struct server_request *r, enum field_validation *ret,
                     struct err *err) must_check;
/* Metadata and names in the body must match the path. */
int body_matches_path(struct server_request *r, const struct json *object,
                      struct err *err) must_check;

/* --- changing (change.c) --------------------------------------------------------------- */

/* Common to update, patch and binding: keeps what may not change, checks the rules, and writes the
 * differences. Modifies next. */
int change_object(struct server_request *r, const char *key, const struct store_item *item,
                  const struct json *old, struct json *next, int code, struct json *instead,
                  struct err *err) must_check;

/* The same for a change that also records field managers (apply_patch.c). */
int change_managed(struct server_request *r, const char *key, const struct store_item *item,
                   const struct json *old, struct json *next, struct json *managed, int code,
                   struct json *instead, struct err *err) must_check;

/* Whether anything besides metadata and status differs. */
bool spec_changed(const struct json *old, const struct json *next);

/* --- creating (create.c) --------------------------------------------------------------- */

/* Everything after parsing. managed: its managedFields, or NULL. */
int create_object(struct server_request *r, struct json *object, struct json *managed,
                  struct err *err) must_check;

/* --- server-side apply (apply_patch.c) ------------------------------------------------------- */

int apply_patch(struct server_request *r, enum field_validation mode, struct err *err) must_check;
/* Sets the field managers of next after any other write; old is NULL at creation. */
void update_managed(struct server_request *r, const struct json *old, struct json *next);

/* --- special rules of built-in kinds (kind_hooks.c) ---------------------------------------- */

/* Before a new object gets its defaults. */
void kind_hooks_prepare_create(struct arena *a, const struct kind *k, struct json *object);
/* Side effects of changing old into next. */
void kind_hooks_update(struct arena *a, const struct kind *k, const struct json *old,
                       struct json *next, int64_t now_ms);
/* The grace period of a deletion in seconds; 0: immediate. asked: -1 when not specified. */
int64_t kind_hooks_grace_seconds(const struct kind *k, const struct json *object, int64_t asked);
/* Whether a deletion returns the deleted object instead of a Status. */
bool kind_hooks_show_deleted(const struct kind *k);
/* Whether such objects are completed when they are read; and completing one. */
bool kind_hooks_completes(const struct kind *k);
void kind_hooks_complete(const struct server *s, struct arena *a, const struct kind *k,
                         struct json *object);

/* --- deletion (removal.c) -------------------------------------------------------------- */

/* What happens to dependents. Carried out by the garbage collector, which a finalizer informs. */
enum propagation { PROPAGATION_DEFAULT, BACKGROUND, FOREGROUND, ORPHAN };

struct removal {
    enum propagation propagation;
    int64_t grace_seconds;              /* -1: the object's own */
    const char *uid, *resource_version; /* preconditions, NULL: none */
};

enum removal_result {
    REMOVAL_DELETE, /* delete it: object is the last state */
    REMOVAL_MARK,   /* write it: object was changed */
    REMOVAL_NONE,   /* nothing to do: already being deleted */
};

/* Applies a deletion to object in place. Negative: refused. */
int removal_plan(struct arena *a, const struct kind *k, struct json *object,
                 const struct removal *removal, int64_t now_ms, enum removal_result *ret,
                 struct err *err) must_check;
/* DeleteOptions from the body and the query. */
int removal_options(struct server_request *r, struct removal *ret, bool *ret_dry_run,
                    struct err *err) must_check;
/* The same from options already parsed. */
int removal_read(const struct server_request *r, const struct json *options, struct removal *ret,
                 bool *ret_dry_run, struct err *err) must_check;
/* Deletes the route's object (delete.c). instead NULL: answers with the object, or with a Status
 * for kinds that do not return deleted objects. */
int delete_one(struct server_request *r, const struct removal *removal, bool dry_run, int code,
               struct json *instead, struct err *err) must_check;
/* For the server's own clean-up: deletes the object with that key, without an answer. *ret_gone:
 * nothing is left of it. */
int removal_sweep(struct server *s, const struct kind *k, const char *key,
                  const struct removal *removal, bool *ret_gone, struct err *err) must_check;
extern const struct removal removal_plain; /* without any options */
/* Changes that make others delete an object later: its owners, and the annotation with a time. 403
 * when the caller sets them but may not delete, 422 when the time is invalid or nothing would carry
 * it out. old is NULL at creation. */
int removal_check_later(struct server_request *r, const struct json *old, const struct json *next,
                        struct err *err) must_check;

/* --- waiting (wait.c) ------------------------------------------------------------------ */

typedef void wait_fn(void *arg, bool reached);
/* Calls fn when the store has committed revision (seen as a write in c), or after limit_ms. Never
 * from inside. */
int wait_for_revision(struct server *s, struct store_collection *c, int64_t revision,
                      int64_t limit_ms, wait_fn *fn, void *arg) must_check;
/* The same for one specific write, by its revision and bytes. */
int wait_for_write(struct server *s, struct store_collection *c, int64_t revision,
                   struct blob *value, int64_t limit_ms, wait_fn *fn, void *arg) must_check;
void wait_free_all(struct server *s); /* all report failure */

/* --- namespaces and old events --------------------------------------------------------- */

int namespaces_make(struct server *s, struct err *err) must_check;
/* Fills in a new object's metadata and writes it. */
int make_object(struct server *s, struct arena *a, const struct kind *k, const char *ns,
                const char *name, struct json *object, struct err *err) must_check;
/* Creates the standard roles (roles.c). */
int roles_make(struct server *s, struct arena *a, struct err *err) must_check;
int namespace_make_account(struct server *s, const char *ns, struct err *err) must_check;
/* Whether an object of that name may be created in the route's namespace. */
int namespace_check(struct server_request *r, const char *name, struct err *err) must_check;
bool namespace_is_protected(const char *name);
/* Deletes the contents of terminating namespaces until they are gone. Call it when one starts to be
 * deleted. */
void namespaces_sweep_soon(struct server *s);
void events_expire_soon(struct server *s);
/* Lets the store age: watches may begin up to some minutes back, as on Kubernetes. */
void age_later(struct server *s);
void events_written(struct server *s, const struct kind *k); /* an object of kind k was written */

/* --- reviews (reviews.c) ---------------------------------------------------------------- */

/* Kinds that are never stored, in no list of kinds. NULL-terminated. */
extern const struct kind *const review_kinds[];
/* The route of pods/NAME/binding, with the name from the body. */
int binding_route(struct server_request *r, const char *ns, struct err *err) must_check;
const struct kind *review_find(const char *group, const char *version, const char *plural);
int review_answer(struct server_request *r, const struct kind *k, struct err *err) must_check;

/* --- listing logs (pod_logs.c) ---------------------------------------------------------- */

bool pod_logs_are(const char *group, const char *version, char *const *text, size_t count);
int pod_logs_answer(struct server_request *r, const char *ns, struct err *err) must_check;

/* --- usage of pods and nodes (metrics.c, samples.c) ------------------------------------- */

#define METRICS_GROUP "metrics.k8s.io"
extern const struct kind kind_pod_metrics, kind_node_metrics; /* computed, not stored */
/* text: the path after group and version. */
int metrics_answer(struct server_request *r, const char *version, char *const *text, size_t count,
                   struct err *err) must_check;
verb_fn verb_samples;

/* --- front (front.c) ------------------------------------------------------------------- */

void front_close(struct server *s);
/* Whether it is the owner's token, or a service account's. */
bool front_knows_token(struct server *s, struct arena *a, const char *given,
                       const struct caller **ret);
/* For the caller, in the request's arena; NULL when out of memory. */
const struct mount_request *front_mount_request(struct server *s, struct httpd_request *http,
                                                const struct caller *caller) must_check;
/* Lets the mount answer, with the caller's rights. */
void front_run_mount(struct server *s, struct httpd_request *http, const struct caller *caller,
                     const struct server_mount *mount);
const struct server_mount *front_find_mount(const struct server *s, const char *path);
const char *server_version_text(void); /* version.c */

/* --- paths (route.c) ------------------------------------------------------------------- */

/* Whether it is public. */
bool route_is_open(const char *method, const char *path);

/* --- verbs ----------------------------------------------------------------------------- */

verb_fn verb_list, verb_watch, verb_get, verb_create, verb_update, verb_patch, verb_delete,
    verb_delete_collection, verb_log, verb_bind, verb_evict, verb_get_scale, verb_set_scale,
    verb_exec, verb_attach, verb_forward, verb_token;
/* Not tied to a kind: */
verb_fn verb_version, verb_metrics, verb_health, verb_ready, verb_storage, verb_discover_core,
    verb_discover_groups, verb_paths, verb_openapi_v2, verb_openapi_v3;
/* /apis/G and /apis/G/V, /api/v1; version NULL for a group. */
int discover_group(struct server_request *r, const char *group, const char *version,
                   struct err *err) must_check;
/* /openapi/v3/PATH */
int openapi_v3_document(struct server_request *r, const char *path, struct err *err) must_check;

#endif
