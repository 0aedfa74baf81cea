/*
 * machine_access.c - see machine_access.h. Jobs are checked like pods, because their pods are
 * created by a controller that may do anything. Unchanged parts are not checked again, so that a
 * job created by the owner can be scaled by a caller who may change it; a caller who changes any
 * text in it is responsible for all of it.
 *
 * A Notebook's ssh server accepts keys from Secrets, which more accounts may write than may enter
 * its pod. So a Secret has a record of what its writers may enter, and the agent takes no keys from
 * one whose writers may not enter the pod.
 *
 * A container's root is the machine's, with volumes on top: with a passwd file of one's own there,
 * a program like su would make anyone root. So pods of a namespace's user cannot gain rights by
 * executing programs (no_new_privs).
 */
#include "server/machine_access.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/problem.h"
#include "core/app.h"
#include "server/rbac.h"

#define GROUP MACHINE_ACCESS_GROUP
#define RESOURCE MACHINE_ACCESS_RESOURCE
#define PRIVILEGED "privileged"
#define HOST_PATH "hostpath"
#define ANY_USER "anyuser"

struct wish {
    const char *name; /* of the right; NULL: nothing is requested */
    const char *what;
};

static struct wish container_wish(const struct json *container)
{
    const struct json *context = json_get(container, "securityContext");

    if (json_get_bool(context, "privileged", false))
        return (struct wish){PRIVILEGED, "a privileged container"};
    if (json_len(json_at(context, "capabilities", "add")) > 0)
        return (struct wish){PRIVILEGED, "a container with added capabilities"};
    if (json_string_is(json_get(context, "procMount"), "Unmasked"))
        return (struct wish){PRIVILEGED, "a container with procMount: Unmasked"};
    return (struct wish){NULL, NULL};
}

static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};

static struct wish privileged_wish(const struct json *spec)
{
    static const char *const shares[] = {"hostPID", "hostIPC"};
    struct wish wish = {NULL, NULL};

    for (size_t i = 0; i < ELEMS(shares) && !wish.name; i++)
        if (json_get_bool(spec, shares[i], false))
            wish = (struct wish){PRIVILEGED, shares[i]};
    for (size_t i = 0; i < ELEMS(lists); i++)
        json_each (container, json_get(spec, lists[i]))
            if (!wish.name)
                wish = container_wish(container);
    return wish;
}

static struct wish folder_wish(const struct json *spec)
{
    json_each (volume, json_get(spec, "volumes"))
        if (json_is(json_get(volume, "hostPath"), JSON_OBJECT))
            return (struct wish){HOST_PATH, "a volume of type hostPath"};
    return (struct wish){NULL, NULL};
}

static bool is_pod_spec(const struct json *v)
{
    return json_is(v, JSON_OBJECT) && json_is(json_get(v, "containers"), JSON_ARRAY);
}

/* --- rights -------------------------------------------------------------------------------- */

static bool may_use(const struct server_request *r, const char *name)
{
    const struct access what = {.verb = "use",
                                .group = GROUP,
                                .resource = RESOURCE,
                                .subresource = "",
                                .ns = r->route.ns,
                                .name = name};

    return rbac_allows(r->server, r->arena, r->caller, &what);
}

/* A caller who may have privileged containers already controls the machine. */
static bool may_be_anyone(const struct server_request *r)
{
    return !r->server->root_pods || may_use(r, ANY_USER) || may_use(r, PRIVILEGED);
}

static int refuse(struct server_request *r, const struct kind *k, const struct json *object,
                  struct wish wish, struct err *err)
{
    err_set(err, ERR_FORBIDDEN,
            "%s \"%s\" is forbidden: User \"%s\" cannot use resource \"" RESOURCE
            "\" in API group \"" GROUP "\" named \"%s\", which %s needs",
            resource_name(r->arena, k), object_name(object), r->caller->user, wish.name, wish.what);
    err_hint(err, "a Role with the verb use on " RESOURCE "." GROUP " gives that right");
    return err_errno(ERR_FORBIDDEN);
}

static int ask(struct server_request *r, const struct json *object, struct wish wish,
               struct err *err)
{
    return !wish.name || may_use(r, wish.name) ? 0 : refuse(r, r->route.kind, object, wish, err);
}

/* A caller who may create pods may let them act as any account of the namespace; a template must
 * not circumvent that right. */
static int check_account(struct server_request *r, const struct json *next, const struct json *spec,
                         struct err *err)
{
    const char *account = json_get_string(spec, "serviceAccountName",
                                          json_get_string(spec, "serviceAccount", ""));
    const struct access what = {.verb = "create",
                                .group = "",
                                .resource = kind_pod.plural,
                                .subresource = "",
                                .ns = r->route.ns,
                                .name = ""};

    if (!*account || r->route.kind == &kind_pod ||
        rbac_allows(r->server, r->arena, r->caller, &what))
        return 0;
    return err_set(
        err, ERR_FORBIDDEN,
        "%s \"%s\" is forbidden: User \"%s\" cannot create pods, which is required to let "
        "them act as the service account \"%s\"",
        resource_name(r->arena, r->route.kind), object_name(next), r->caller->user, account);
}

/* Every pod spec in the object, wherever the kind has them. */
static int check_specs(struct server_request *r, const struct json *next, const struct json *at,
                       struct err *err)
{
    int rc = 0;

    if (is_pod_spec(at)) {
        rc = ask(r, next, privileged_wish(at), err);
        if (rc == 0)
            rc = ask(r, next, folder_wish(at), err);
        if (rc == 0)
            rc = check_account(r, next, at, err);
    }
    json_each (child, at)
        if (rc == 0)
            rc = check_specs(r, next, child, err);
    return rc;
}

static bool annotation_differs(const struct json *old, const struct json *next, const char *name)
{
    return !json_equal(json_at(old, "metadata", "annotations", name),
                       json_at(next, "metadata", "annotations", name));
}

/* Both annotations name folders that the daemon reads for other users. */
static int check_annotations(struct server_request *r, const struct json *old,
                             const struct json *next, struct err *err)
{
    static const char *const names[] = {ANNOTATION_LOG_DIR, ANNOTATION_CLAIM_PATH};
    int rc = 0;

    for (size_t i = 0; i < ELEMS(names) && rc == 0; i++)
        if (object_annotation(next, names[i]) && annotation_differs(old, next, names[i]))
            rc = ask(
                r, next,
                (struct wish){HOST_PATH, arena_printf(r->arena, "the annotation %s", names[i])},
                err);
    return rc;
}

/* --- changes ------------------------------------------------------------------------------- */

static bool is_figure(const struct json *v)
{
    return json_is_null(v) || json_is(v, JSON_INT) || json_is(v, JSON_REAL) ||
           json_is(v, JSON_BOOL);
}

/* Adding {pause: {enabled: true}} also counts as flipping a switch. */
static bool has_only_figures(const struct json *v)
{
    if (!json_is(v, JSON_OBJECT))
        return is_figure(v);
    json_each (m, v)
        if (!has_only_figures(m))
            return false;
    return true;
}

/* Outside of pod specs, numbers and booleans only determine how many and when. */
static bool same_words(const struct json *a, const struct json *b)
{
    if ((is_figure(a) || is_figure(b)) && has_only_figures(a) && has_only_figures(b))
        return true;
    if (json_type_of(a) != json_type_of(b) || json_type_of(a) < JSON_ARRAY || is_pod_spec(a))
        return json_equal(a, b);
    if (json_is(a, JSON_ARRAY)) {
        const struct json *other = json_first(b);

        json_each (item, a) {
            if (!other || !same_words(item, other))
                return false;
            other = other->next;
        }
        return !other;
    }
    json_each (m, a)
        if (!same_words(m, json_get(b, m->key)))
            return false;
    json_each (m, b)
        if (!json_get(a, m->key) && !has_only_figures(m))
            return false;
    return true;
}

/* Whether next's pods do anything that old's do not. */
static bool is_rewritten(const struct server_request *r, const struct json *old,
                         const struct json *next)
{
    if (!old || annotation_differs(old, next, ANNOTATION_FOLDER))
        return true;
    if (r->route.kind->schema)
        return spec_changed(old, next);
    return !same_words(json_get(old, "spec"), json_get(next, "spec"));
}

/* --- users --------------------------------------------------------------------------------- */

struct user_check {
    struct server_request *request;
    const struct json *object;
    struct namespace_user user;
};

static int refuse_user(const struct user_check *c, const struct field_path *at,
                       const struct json *said, struct err *err)
{
    struct buf path = BUF_INIT(PATH_TEXT_LIMIT), value = BUF_INIT(PATH_TEXT_LIMIT);
    struct arena *a = c->request->arena;
    int rc;

    field_path_write(&path, at);
    json_write(&value, said);
    rc = refuse(c->request, c->request->route.kind, c->object,
                (struct wish){ANY_USER, arena_printf(a, "%s: %s", path.data ? path.data : "",
                                                     value.data ? value.data : "")},
                err);
    err_hint(err,
             "leave it out: pods run as the namespace's own user, %" PRId64
             ", here and gain no rights by what they execute. A Role with the verb use on " RESOURCE
             "." GROUP " gives the right to others",
             c->user.uid);
    buf_release(&path);
    buf_release(&value);
    return rc;
}

/* For the pod or a container. */
static int check_context(const struct user_check *c, const struct json *context,
                         const struct field_path *at, struct err *err)
{
    const struct {
        const char *name;
        int64_t allowed;
    } ids[] = {{"runAsUser", c->user.uid}, {"runAsGroup", c->user.gid}, {"fsGroup", c->user.gid}};
    const struct json *more = json_get(context, "allowPrivilegeEscalation");
    const struct field_path *groups = PATH_MEMBER(at, "supplementalGroups");
    size_t n = 0;

    for (size_t i = 0; i < ELEMS(ids); i++) {
        const struct json *said = json_get(context, ids[i].name);

        if (!json_is_null(said) && json_int(said, -1) != ids[i].allowed)
            return refuse_user(c, PATH_MEMBER(at, ids[i].name), said, err);
    }
    json_each (group, json_get(context, "supplementalGroups")) {
        if (json_int(group, -1) != c->user.gid)
            return refuse_user(c, PATH_INDEX(groups, n), group, err);
        n++;
    }
    return json_bool(more, false)
               ? refuse_user(c, PATH_MEMBER(at, "allowPrivilegeEscalation"), more, err)
               : 0;
}

static int check_pod_users(const struct user_check *c, const struct json *spec,
                           const struct field_path *at, struct err *err)
{
    int rc = check_context(c, json_get(spec, "securityContext"), PATH_MEMBER(at, "securityContext"),
                           err);

    for (size_t i = 0; i < ELEMS(lists) && rc == 0; i++) {
        const struct field_path *list = PATH_MEMBER(at, lists[i]);
        size_t n = 0;

        json_each (container, json_get(spec, lists[i]))
            if (rc == 0)
                rc = check_context(c, json_get(container, "securityContext"),
                                   PATH_MEMBER(PATH_INDEX(list, n++), "securityContext"), err);
    }
    return rc;
}

static int check_users(const struct user_check *c, const struct json *v,
                       const struct field_path *at, struct err *err)
{
    int rc = is_pod_spec(v) ? check_pod_users(c, v, at, err) : 0;
    bool list = json_is(v, JSON_ARRAY);
    size_t n = 0;

    json_each (child, v)
        if (rc == 0)
            rc = check_users(c, child, list ? PATH_INDEX(at, n++) : PATH_MEMBER(at, child->key),
                             err);
    return rc;
}

/* --- marks --------------------------------------------------------------------------------- */

#define NO_MARK (-1)
#define NAMESPACES_OWN 0 /* never a mark: root's number */

static int64_t mark_of(const struct json *object)
{
    const char *text = object_annotation(object, ANNOTATION_RUN_AS);

    return text ? strtoll(text, NULL, 10) : NO_MARK; /* we wrote it */
}

static bool is_marked(const struct json *object)
{
    return mark_of(object) != NO_MARK;
}

static void set_mark(struct arena *a, struct json *object, int64_t mark)
{
    struct json *meta = json_make_object(a, object, "metadata");

    if (mark != NO_MARK)
        json_set_stringf(a, json_make_object(a, meta, "annotations"), ANNOTATION_RUN_AS, "%" PRId64,
                         mark);
    else if (is_marked(object))
        json_remove(json_get_mut(meta, "annotations"), ANNOTATION_RUN_AS);
}

static int find_user(struct server_request *r, int64_t mark, bool dry_run,
                     struct namespace_user *ret, struct err *err)
{
    if (mark <= NAMESPACES_OWN)
        return namespace_user_get(r, dry_run, ret, err);
    *ret = namespace_user_of(mark);
    return 0;
}

static const struct kind *kind_of_reference(const struct server_request *r, const struct json *ref)
{
    const char *version = json_get_string(ref, "apiVersion", "");
    const char *name = json_get_string(ref, "kind", "");

    for (const struct kind *const *k = r->server->kinds; *k; k++) {
        const char *own = strcmp((*k)->name, name) == 0 ? kind_api_version(r->arena, *k) : NULL;

        if (own && strcmp(own, version) == 0)
            return *k;
    }
    return NULL;
}

/* Whether pods are created from such objects, by our controllers or others. */
static bool makes_pods(const struct kind *k)
{
    return k->schema || app_is_kind(k) || job_is_kind(k) || batch_is_kind(k);
}

static bool has_text(const struct blob *b, const char *text)
{
    return memmem(b->data, b->len, text, strlen(text)) != NULL;
}

/* What a marked object controls gets its mark, and so does anything whose controller is gone, as
 * its origin is unknown. Read only when it could matter. */
static int64_t controllers_mark(const struct server_request *r, const struct json *object)
{
    const struct json *ref = object_controller(object);
    const struct kind *k = ref ? kind_of_reference(r, ref) : NULL;
    const struct store_item *item;
    const struct json *owner;
    const char *key;

    if (!k || !makes_pods(k))
        return NO_MARK;
    key = object_key(r->arena, k, r->route.ns, json_get_string(ref, "name", ""));
    item = key ? store_head(server_collection(r->server, k), key) : NULL;
    if (!item || !has_text(item->value, json_get_string(ref, "uid", "")))
        return NAMESPACES_OWN;
    if (!has_text(item->value, "\"" ANNOTATION_RUN_AS "\""))
        return NO_MARK;
    owner = blob_parse(r->arena, item->value, NULL);
    return owner ? mark_of(owner) : NAMESPACES_OWN;
}

static void set_user(struct arena *a, struct json *pod, const struct namespace_user *user)
{
    struct json *spec = json_make_object(a, pod, "spec");
    struct json *context = json_make_object(a, spec, "securityContext");

    json_set_int(a, context, "runAsUser", user->uid);
    json_set_int(a, context, "runAsGroup", user->gid);
    json_set_int(a, context, "fsGroup", user->gid);
    for (size_t i = 0; i < ELEMS(lists); i++)
        for (struct json *c = json_first_mut(json_get_mut(spec, lists[i])); c; c = c->next)
            json_set_bool(a, json_make_object(a, c, "securityContext"), "allowPrivilegeEscalation",
                          false);
    set_mark(a, pod, user->uid);
}

/* For a new object: its controller's, or (RUN_AS_NAMESPACE) what its creator requests. */
static int64_t first_mark(const struct server_request *r, const struct json *next)
{
    int64_t mark = controllers_mark(r, next);

    return mark == NO_MARK && is_marked(next) ? NAMESPACES_OWN : mark;
}

static int admit_pod(struct server_request *r, const struct json *old, struct json *pod,
                     bool dry_run, struct err *err)
{
    struct user_check c = {.request = r, .object = pod};
    int64_t mark = old ? mark_of(old) : first_mark(r, pod);
    int rc;

    if (old) {
        set_mark(r->arena, pod, mark);
        if (!annotation_differs(old, pod, ANNOTATION_FOLDER) || is_marked(old) || may_be_anyone(r))
            return 0;
        return refuse(r, &kind_pod, pod,
                      (struct wish){ANY_USER, "the annotation " ANNOTATION_FOLDER}, err);
    }
    if (!may_be_anyone(r))
        mark = NAMESPACES_OWN;
    if (mark == NO_MARK)
        return 0;
    rc = find_user(r, mark, dry_run, &c.user, err);
    if (rc == 0)
        rc = check_users(&c, json_get(pod, "spec"), PATH_MEMBER(NULL, "spec"), err);
    if (rc < 0)
        return rc;
    set_user(r->arena, pod, &c.user);
    /* Together with what the pod asks for that may be a contradiction. Its annotation is ours. */
    return object_validate(&kind_pod, pod, pod, err);
}

static int admit_maker(struct server_request *r, const struct json *old, struct json *next,
                       bool dry_run, struct err *err)
{
    struct user_check c = {.request = r, .object = next};
    int64_t mark = old ? mark_of(old) : first_mark(r, next);
    bool removed = mark != NO_MARK && old && !is_marked(next);
    bool rewritten = is_rewritten(r, old, next) && !may_be_anyone(r);
    int rc = 0;

    if (rewritten || mark == NAMESPACES_OWN) {
        rc = find_user(r, mark, dry_run, &c.user, err);
        mark = c.user.uid;
    } else if (removed && may_be_anyone(r)) {
        mark = NO_MARK;
    }
    if (rc == 0 && rewritten && !r->route.kind->schema)
        rc = check_users(&c, json_get(next, "spec"), PATH_MEMBER(NULL, "spec"), err);
    set_mark(r->arena, next, mark);
    return rc;
}

/* --- Secrets ------------------------------------------------------------------------------- */

enum entry { ENTRY_NONE, ENTRY_NAMESPACE_USER, ENTRY_ANY };

static enum entry recorded_entry(const struct json *secret)
{
    const char *text = object_annotation(secret, ANNOTATION_WRITER_ENTERS);

    if (!text)
        return ENTRY_ANY;
    return strcmp(text, ENTERS_NAMESPACE_USER) == 0 ? ENTRY_NAMESPACE_USER : ENTRY_NONE;
}

static enum entry callers_entry(const struct server_request *r)
{
    const struct access what = {.verb = "create",
                                .group = "",
                                .resource = kind_pod.plural,
                                .subresource = "exec",
                                .ns = r->route.ns,
                                .name = ""};

    if (!rbac_allows(r->server, r->arena, r->caller, &what))
        return ENTRY_NONE;
    return may_be_anyone(r) ? ENTRY_ANY : ENTRY_NAMESPACE_USER;
}

/* Records the least that any writer of the data may enter. As with jobs, only removing the record
 * adopts what others wrote. */
static void admit_secret(struct server_request *r, const struct json *old, struct json *next)
{
    enum entry own = callers_entry(r), entry = recorded_entry(old);
    struct json *meta = json_make_object(r->arena, next, "metadata");

    if (!json_equal(json_get(old, "data"), json_get(next, "data")) && own < entry)
        entry = own;
    else if (own > entry && !object_annotation(next, ANNOTATION_WRITER_ENTERS))
        entry = own;
    if (entry < ENTRY_ANY)
        json_set_string(r->arena, json_make_object(r->arena, meta, "annotations"),
                        ANNOTATION_WRITER_ENTERS,
                        entry == ENTRY_NONE ? ENTERS_NONE : ENTERS_NAMESPACE_USER);
    else
        json_remove(json_get_mut(meta, "annotations"), ANNOTATION_WRITER_ENTERS);
}

/* The annotation decides which user a namespace's pods run as. */
static int admit_namespace(struct server_request *r, const struct json *old,
                           const struct json *next, struct err *err)
{
    static const char *const names[] = {ANNOTATION_UID, ANNOTATION_LAST_UID};
    int rc = 0;

    for (size_t i = 0; i < ELEMS(names) && rc == 0; i++)
        if (annotation_differs(old, next, names[i]))
            rc = ask(r, next,
                     (struct wish){ANY_USER, arena_printf(r->arena, "the annotation %s", names[i])},
                     err);
    return rc;
}

/* Adding a container needs the right to enter the pod. It never gets more rights than the pod,
 * whichever user adds it: the pod's programs run as the same user and could control it. */
static int admit_late(struct server_request *r, const struct json *old, struct json *next,
                      bool dry_run, struct err *err)
{
    struct user_check c = {.request = r, .object = next};
    int rc = machine_access_enter(r, old, err);

    if (rc == 0 && !caller_may_everything(r->caller))
        rc = check_specs(r, next, json_get(next, "spec"), err);
    if (rc < 0 || !is_marked(old))
        return rc;
    rc = find_user(r, mark_of(old), dry_run, &c.user, err);
    if (rc == 0)
        rc = check_users(&c, json_get(next, "spec"), PATH_MEMBER(NULL, "spec"), err);
    if (rc == 0)
        set_user(r->arena, next, &c.user);
    return rc;
}

/* --- the checks ---------------------------------------------------------------------------- */

int machine_access_check(struct server_request *r, const struct json *old, struct json *next,
                         bool dry_run, struct err *err)
{
    const struct kind *k = r->route.kind;
    int rc = 0;

    if (strcmp(r->route.subresource, EPHEMERAL_CONTAINERS) == 0)
        return admit_late(r, old, next, dry_run, err);
    /* Other subresources do not affect any of this. */
    if (*r->route.subresource)
        return 0;
    if (!caller_may_everything(r->caller) && !k->schema) {
        rc = check_annotations(r, old, next, err);
        if (rc == 0 && is_rewritten(r, old, next))
            rc = check_specs(r, next, json_get(next, "spec"), err);
    }
    if (rc < 0)
        return rc;
    if (k == &kind_namespace)
        return admit_namespace(r, old, next, err);
    if (k == &kind_secret)
        admit_secret(r, old, next);
    if (r->server->root_pods && k == &kind_pod)
        return admit_pod(r, old, next, dry_run, err);
    if (r->server->root_pods && makes_pods(k))
        return admit_maker(r, old, next, dry_run, err);
    if (!old && is_marked(next))
        return err_set(err, ERR_BAD_REQUEST,
                       "metadata.annotations[" ANNOTATION_RUN_AS "]: leave it out: %s",
                       r->server->root_pods ? "no pods are created from this"
                                            : "pods run as the user of the daemon here");
    return 0;
}

int machine_access_pod_user(struct server_request *r, struct namespace_user *ret, struct err *err)
{
    *ret = (struct namespace_user){NAMESPACE_USER_NONE, NAMESPACE_USER_NONE};
    return may_be_anyone(r) ? 0 : namespace_user_get(r, false, ret, err);
}

/* A job's launcher is in its workers anyway. */
static bool is_sibling(const struct server_request *r, const struct json *pod)
{
    const struct caller *who = r->caller;
    const char *key = who->kind == CALLER_ACCOUNT && *who->pod_uid
                          ? object_key(r->arena, &kind_pod, who->ns, who->pod)
                          : NULL;
    const struct store_item *item = key ? store_head(server_collection(r->server, &kind_pod), key)
                                        : NULL;
    const struct json *own = item ? blob_parse(r->arena, item->value, NULL) : NULL;
    const char *job = json_get_string(object_controller(pod), "uid", "");

    return own && *job && !is_marked(own) && object_is_controlled_by(own, job);
}

int machine_access_enter(struct server_request *r, const struct json *pod, struct err *err)
{
    if (is_marked(pod) || is_sibling(r, pod) || may_be_anyone(r))
        return 0;
    return refuse(r, &kind_pod, pod,
                  (struct wish){ANY_USER, "being in a pod that does not run as the namespace's own "
                                          "user"},
                  err);
}
