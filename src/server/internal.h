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
    mount_fn *fn;
    void *arg;
    bool pulls;  /* bodies: server_mount_pulling */
    bool is_app; /* at origins of their own, and nowhere else (apps.h) */
    struct server_app app;
};

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
    const struct kind **kinds;             /* compiled in, then installed; ends with NULL */
    struct store_collection **collections; /* as kinds */
    const struct kind **described;         /* kinds, and others with fields; ends with NULL */
    struct buf scratch, shown;             /* where objects are encoded, memory kept */
    int64_t first_revision;                /* ready when that is on disk */
    struct wait *waits;

    struct httpd *httpd; /* front.c */
    char *token;
    struct server_mount mounts[SERVER_MOUNTS_LIMIT];
    size_t mounts_len;
    struct server_pages pages;
    struct sessions logins;                     /* login.c: browsers that are signed in */
    const struct httpd_request *signing_out;    /* the one that ends its own session just now */
    struct app_ticket app_tickets[APP_TICKETS]; /* apps.c */
    int other_loopback; /* held so that nobody else answers there; -1: not held */
    unsigned char token_key[SHA256_BYTES]; /* tokens.c */
    bool has_token_key;
    struct map frames;        /* watch.c: converted events that are being sent */
    struct session *sessions; /* session.c */
    size_t session_count;
    struct node *node;                /* in this process; or NULL */
    struct node_directory *directory; /* of the others; or NULL */

    struct clock_timer *event_timer; /* expiry.c */
    char *event_cursor;
    bool event_hurry;
    struct clock_timer *namespace_timer; /* namespace.c */
    int64_t namespace_delay_ms;

    uint64_t *openapi_hashes; /* as described, filled on first use */

    struct definitions *definitions; /* definitions.c */

    struct addresses *addresses; /* addresses.c, made on first use */

    struct endpoints_feed *endpoints_feed; /* endpoints_watch.c, while watched */

    bool has_controllers; /* own_lease.c */
    bool overcommit;
    const char *kubeconfig_path;
    bool root_pods;      /* machine_access.c */
    struct ledger *room; /* room.c, made on first use */
    uint32_t room_epoch; /* of the store when it was made */

    struct underway *underway; /* quota.c */
    struct clock_timer *quota_timer;
};

/* --- kinds (definitions.c) ------------------------------------------------------------- */

struct store_collection *server_collection(const struct server *s, const struct kind *k);
const struct kind *server_kind(const struct server *s, const char *group, const char *version,
                               const char *plural);
int server_list_kinds(struct server *s, struct err *err) must_check;
void server_forget_kinds(struct server *s); /* frees the lists */
int definitions_start(struct server *s, struct err *err) must_check;
void definitions_free(struct server *s);
/* Before one is written: its status says whether its names are free, a finalizer holds it. */
void definition_prepare(const struct server *s, struct arena *a, struct json *crd);
int definition_check_room(const struct server *s, struct err *err) must_check;

/* --- quotas (quota.c, limit_range.c) --------------------------------------------------- */

/* 403 when the namespace may not hold object too. */
int quota_check(struct server_request *r, const struct json *object, const char *key, bool dry_run,
                struct err *err) must_check;
/* After every write: usage may have changed. */
void quota_written(struct server *s, const struct kind *k);
void quota_free(struct server *s);
/* Defaults and bounds for a new pod's containers. */
int limit_range_apply(struct server_request *r, struct json *pod, struct err *err) must_check;
/* --- priorities (priority.c): a new pod gets the number of its class ------------------- */
int priority_apply(struct server_request *r, struct json *pod, struct err *err) must_check;

/* --- policies (admission.c): what bound ones say of a write; object is NULL at a deletion ------
 */
int admission_check(struct server_request *r, const char *operation, const struct json *old,
                    const struct json *object, bool dry_run, struct err *err) must_check;

/* --- queues (queue_check.c): 403 when what is made may not use the queue it names ------- */
int queue_check(struct server_request *r, const struct json *object, struct err *err) must_check;

/* --- room (room.c): 409 when there is none for what a scheduler writes ------------------ */

int room_check_new_group(struct server_request *r, const struct json *group,
                         struct err *err) must_check;
int room_check_group(struct server_request *r, const struct json *old, const struct json *next,
                     struct err *err) must_check;
/* Of a pod that gets a node, by a binding or at its creation (old is NULL). */
int room_check_pod(struct server_request *r, const struct json *old, const struct json *next,
                   struct err *err) must_check;
/* After every write. */
void room_written(struct server *s, const struct kind *k, const struct json *object, bool gone);
void room_free(struct server *s);

/* --- leases of this process (own_lease.c): 409 for everybody else ----------------------- */
int own_lease_check(const struct server_request *r, const char *key, struct err *err) must_check;

/* --- addresses of services (addresses.c) ----------------------------------------------- */

/* A new Service gets one of its own; one it brings must be free. */
int service_give_address(struct server_request *r, struct json *service, bool dry_run,
                         struct err *err) must_check;

/* --- definitions of what is compiled in (crds.c) --------------------------------------- */

struct json *crd_builtin(struct server *s, struct arena *a, const char *name); /* or NULL */
void crd_builtin_each(struct server *s, struct arena *a,
                      bool (*fn)(void *arg, const struct json *crd), void *arg);
/* 403 for a write to one of them. */
int crd_check_builtin(const struct server_request *r, const char *name, struct err *err) must_check;

/* --- objects (write.c) ----------------------------------------------------------------- */

const char *object_key(struct arena *a, const struct kind *k, const char *ns, const char *name);
struct json *blob_parse(struct arena *a, const struct blob *b, struct err *err) must_check;

/* What is kept of an object has who set its fields in a short form at its end: as clients see it
 * that is metadata.managedFields, and bare it is nowhere. */
bool stored_is_shown(const struct blob *b);   /* there is none */
size_t stored_bare_len(const struct blob *b); /* then a '}' */
void stored_write(struct buf *out, const struct blob *b, bool bare);
struct blob *stored_shown(struct server *s, struct blob *b, bool bare) must_check;

/* As the kind shows it. */
struct json *stored_parse(struct arena *a, const struct kind *k, const struct blob *b,
                          struct err *err) must_check;

enum write_type { WRITE_PUT, WRITE_DELETE };

/* Stamps the next revision into object, encodes it once and queues it. *ret (may be NULL) gets a
 * reference to what was encoded. */
int object_write(struct server *s, struct arena *a, const struct kind *k, const char *key,
                 struct json *object, enum write_type type, store_done_fn *done, void *arg,
                 struct blob **ret, struct err *err) must_check;
/* The same for a request: it is answered when the write is on disk, with the object, or with
 * instead when given. A dry run is answered at once. */
int request_write(struct server_request *r, const char *key, struct json *object,
                  enum write_type type, int code, struct json *instead, bool dry_run,
                  struct err *err) must_check;
/* Answers with the object as it is, once it is on disk. */
int request_unchanged(struct server_request *r, const struct store_item *item,
                      struct err *err) must_check;

/* 404, or what is to be said of an object that is damaged (damage.c). */
int object_missing(struct server *s, const struct kind *k, const char *key, const char *name,
                   struct err *err);
/* Deletes the object the path names if it is damaged: nothing of it can be looked at before. false:
 * it is not. */
bool damaged_is_deleted(struct server_request *r, bool dry_run, int *ret, struct err *err);
/* The object the path names, as writes see it (store_head), parsed; 404 when it is not there. */
struct json *request_load(struct server_request *r, const char **ret_key,
                          const struct store_item **ret_item, struct err *err) must_check;

/* --- pods (pod.c) ---------------------------------------------------------------------- */

/* The container the query names, or the only one. */
int pod_choose_container(const struct server_request *r, const struct json *pod, const char **ret,
                         struct err *err) must_check;
/* The one that is of this Node, to be used at once; NULL with err set. */
struct node *server_node(const struct server *s, struct arena *a, const char *name,
                         struct err *err) must_check;
/* Node objects of those that are ready and not in this process; only: of that name, or NULL. NULL:
 * out of memory. */
#define SERVER_NODES_LIMIT 1024u
struct server_nodes {
    const struct json *items[SERVER_NODES_LIMIT];
    size_t len;
};
/* Who left something may be on any of them: all are asked, one after the other. */
struct node_round {
    struct server_nodes *others;
    size_t next;
    enum err_reason
        reason; /* what the nodes said: that one could not be asked, or else the first */
    const char *text;
};
struct node *server_next_node(struct server_request *r, struct node_round *round) must_check;
void node_round_heard(struct node_round *round, struct arena *a, const struct err *err);
struct server_nodes *server_other_nodes(struct server_request *r, const char *only) must_check;
/* The node it is bound to, and how that knows it; NULL with err set. */
struct node *pod_node(const struct server_request *r, const struct json *pod, struct node_pod *ret,
                      struct err *err) must_check;

/* --- bodies (body.c) ------------------------------------------------------------------- */

/* The request's body as an object of the route's kind, checked against its table. */
struct json *body_object(struct server_request *r, struct err *err) must_check;
int field_validation(const struct server_request *r, enum field_validation *ret,
                     struct err *err) must_check;
/* Metadata and names in the body may not contradict the path. */
int body_matches_path(struct server_request *r, const struct json *object,
                      struct err *err) must_check;

/* --- changing (change.c) --------------------------------------------------------------- */

/* Everything an update, a patch or a binding has in common: what may not change stays, rules are
 * checked, and what differs is written. next is changed. */
int change_object(struct server_request *r, const char *key, const struct store_item *item,
                  const struct json *old, struct json *next, int code, struct json *instead,
                  struct err *err) must_check;

/* The same for a change that also says who set which fields (apply_patch.c). */
int change_managed(struct server_request *r, const char *key, const struct store_item *item,
                   const struct json *old, struct json *next, struct json *managed, int code,
                   struct json *instead, struct err *err) must_check;

/* Whether anything but metadata and status differs. */
bool spec_changed(const struct json *old, const struct json *next);

/* --- creating (create.c) --------------------------------------------------------------- */

/* Everything a creation does once there is an object. managed: its managedFields, or NULL. */
int create_object(struct server_request *r, struct json *object, struct json *managed,
                  struct err *err) must_check;

/* --- server-side apply (apply_patch.c) ------------------------------------------------------- */

int apply_patch(struct server_request *r, enum field_validation mode, struct err *err) must_check;
/* The text of managedFields after another kind of write; old is NULL at a creation. */
const char *update_managed(struct server_request *r, const char *managed, const struct json *old,
                           const struct json *next) must_check;

/* --- built-in kinds have habits (kind_hooks.c) --------------------------------------------- */

/* Before a new object gets its defaults. */
void kind_hooks_prepare_create(struct arena *a, const struct kind *k, struct json *object);
/* What else happens when old becomes next. */
void kind_hooks_update(struct arena *a, const struct kind *k, const struct json *old,
                       struct json *next, int64_t now_ms);
/* Seconds a deletion waits for the object to be ended; 0: it can go at once. asked: -1 when not
 * said. */
int64_t kind_hooks_grace_seconds(const struct kind *k, const struct json *object, int64_t asked);
/* Whether a deletion answers with the object that is gone, not with a Status. */
bool kind_hooks_show_deleted(const struct kind *k);
/* Whether something is added to such objects when they are read; and adding it. */
bool kind_hooks_completes(const struct kind *k);
void kind_hooks_complete(const struct server *s, struct arena *a, const struct kind *k,
                         struct json *object);

/* --- deletion (removal.c) -------------------------------------------------------------- */

/* What becomes of the objects it owns. The garbage collector does it; a finalizer tells it. */
enum propagation { PROPAGATION_DEFAULT, BACKGROUND, FOREGROUND, ORPHAN };

struct removal {
    enum propagation propagation;
    int64_t grace_seconds;              /* -1: the object's own */
    const char *uid, *resource_version; /* preconditions, NULL: none */
};

enum removal_result {
    REMOVAL_DELETE, /* object is the last state: delete it */
    REMOVAL_MARK,   /* object is changed: write it */
    REMOVAL_NONE,   /* nothing to do: it is on its way already */
};

/* What a deletion does to object, which is changed in place. Negative: refused. */
int removal_plan(struct arena *a, const struct kind *k, struct json *object,
                 const struct removal *removal, int64_t now_ms, enum removal_result *ret,
                 struct err *err) must_check;
/* DeleteOptions from the body and the query. */
int removal_options(struct server_request *r, struct removal *ret, bool *ret_dry_run,
                    struct err *err) must_check;
/* The same of options that were read already. */
int removal_read(const struct server_request *r, const struct json *options, struct removal *ret,
                 bool *ret_dry_run, struct err *err) must_check;
/* Deletes the object of the route (delete.c). instead NULL: answered with the object, or with a
 * Status for kinds whose deleted objects are not shown. */
int delete_one(struct server_request *r, const struct removal *removal, bool dry_run, int code,
               struct json *instead, struct err *err) must_check;
/* For the server's own sweeps: deletes what has the key, without an answer. *ret_gone: no trace is
 * left of it. */
int removal_sweep(struct server *s, const struct kind *k, const char *key,
                  const struct removal *removal, bool *ret_gone, struct err *err) must_check;
extern const struct removal removal_plain; /* nothing special asked for */
/* What has an object deleted by others later: its owners' end, and the annotation with a time. 403
 * when the caller changes its owners or sets the annotation and may not delete, 422 when that is no
 * time or nobody would carry it out. old is NULL at a creation. */
int removal_check_later(struct server_request *r, const struct json *old, const struct json *next,
                        struct err *err) must_check;

/* --- waiting (wait.c) ------------------------------------------------------------------ */

typedef void wait_fn(void *arg, bool reached);
/* Calls fn when the store has committed revision (seen at a write in c), or not within limit_ms.
 * Never from inside. */
int wait_for_revision(struct server *s, struct store_collection *c, int64_t revision,
                      int64_t limit_ms, wait_fn *fn, void *arg) must_check;
/* The same for one write, by its revision and bytes: reached when that one is committed. */
int wait_for_write(struct server *s, struct store_collection *c, int64_t revision,
                   struct blob *value, int64_t limit_ms, wait_fn *fn, void *arg) must_check;
void wait_free_all(struct server *s); /* all report that they were not reached */

/* --- namespaces and old events --------------------------------------------------------- */

int namespaces_make(struct server *s, struct err *err) must_check;
/* Gives a new object its metadata and writes it. */
int make_object(struct server *s, struct arena *a, const struct kind *k, const char *ns,
                const char *name, struct json *object, struct err *err) must_check;
/* The roles every cluster has (roles.c). */
int roles_make(struct server *s, struct arena *a, struct err *err) must_check;
int namespace_make_account(struct server *s, const char *ns, struct err *err) must_check;
/* May something named name be created in the route's namespace? */
int namespace_check(struct server_request *r, const char *name, struct err *err) must_check;
bool namespace_is_protected(const char *name);
/* Empties namespaces that are being deleted, until they are gone. Call when one starts to be. */
void namespaces_sweep_soon(struct server *s);
void events_expire_soon(struct server *s);
void events_written(struct server *s, const struct kind *k); /* something of a kind was */

/* --- questions about oneself (reviews.c) ------------------------------------------------ */

/* Kinds that are answered and not stored: no list of kinds has them. Ends with NULL. */
extern const struct kind *const review_kinds[];
/* The route of pods/NAME/binding, with the name the body gives. */
int binding_route(struct server_request *r, const char *ns, struct err *err) must_check;
const struct kind *review_find(const char *group, const char *version, const char *plural);
int review_answer(struct server_request *r, const struct kind *k, struct err *err) must_check;

/* --- which logs there are (pod_logs.c) -------------------------------------------------- */

bool pod_logs_are(const char *group, const char *version, char *const *text, size_t count);
int pod_logs_answer(struct server_request *r, const char *ns, struct err *err) must_check;

/* --- what pods and nodes use (metrics.c, samples.c) ------------------------------------- */

#define METRICS_GROUP "metrics.k8s.io"
extern const struct kind kind_pod_metrics, kind_node_metrics; /* answered, not stored */
/* text: the path behind group and version. */
int metrics_answer(struct server_request *r, const char *version, char *const *text, size_t count,
                   struct err *err) must_check;
verb_fn verb_samples;

/* --- front (front.c) ------------------------------------------------------------------- */

void front_close(struct server *s);
/* Whether this is the owner's token, or one of a service account. */
bool front_knows_token(struct server *s, struct arena *a, const char *given,
                       const struct caller **ret);
/* As the caller's, in the request's arena; NULL when out of memory. */
const struct mount_request *front_mount_request(struct server *s, struct httpd_request *http,
                                                const struct caller *caller) must_check;
/* Has the mount answer, with the rights of the caller. */
void front_run_mount(struct server *s, struct httpd_request *http, const struct caller *caller,
                     const struct server_mount *mount);
const struct server_mount *front_find_mount(const struct server *s, const char *path);
const char *server_version_text(void); /* version.c */

/* --- paths (route.c) ------------------------------------------------------------------- */

/* Whether anybody may ask this, known or not. */
bool route_is_open(const char *method, const char *path);

/* --- verbs ----------------------------------------------------------------------------- */

verb_fn verb_list, verb_watch, verb_get, verb_create, verb_update, verb_patch, verb_delete,
    verb_delete_collection, verb_log, verb_bind, verb_evict, verb_get_scale, verb_set_scale,
    verb_exec, verb_attach, verb_forward, verb_token;
/* Not of one kind: */
verb_fn verb_version, verb_metrics, verb_health, verb_ready, verb_storage, verb_discover_core,
    verb_discover_groups, verb_openapi_v2, verb_openapi_v3;
/* /apis/G and /apis/G/V, /api/v1; version NULL for a group. */
int discover_group(struct server_request *r, const char *group, const char *version,
                   struct err *err) must_check;
/* /openapi/v3/PATH */
int openapi_v3_document(struct server_request *r, const char *path, struct err *err) must_check;

#endif
