/*
 * namespace_user.c - see namespace_user.h. The last number allocated is stored on a namespace that
 * cannot be deleted, in the same transaction, so that a deleted namespace's number, which may still
 * own files, is never reused.
 */
#include "server/namespace_user.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "loop/fs_user.h"

static int64_t number_of(const struct json *ns, const char *annotation)
{
    const char *text = ns ? object_annotation(ns, annotation) : NULL;

    return text ? strtoll(text, NULL, 10) : -1; /* it was validated */
}

static struct json *load(const struct server_request *r, const char *name)
{
    const struct store_item *item = store_head(server_collection(r->server, &kind_namespace), name);

    return item ? stored_parse(r->arena, &kind_namespace, item->value, false, NULL) : NULL;
}

struct namespace_user namespace_user_of(int64_t uid)
{
    bool known = uid > 0 && uid < NAMESPACE_USER_FIRST; /* possibly, to the machine */

    return (struct namespace_user){.uid = uid, .gid = known ? fs_user_group((uid_t)uid) : uid};
}

/* --- allocation ------------------------------------------------------------------------- */

struct taken {
    struct arena *arena;
    int64_t uid;
    bool found;
};

static bool look_at(void *arg, const struct store_item *item)
{
    struct taken *t = arg;

    t->found = number_of(blob_parse(t->arena, item->value, NULL), ANNOTATION_UID) == t->uid;
    return !t->found;
}

static bool is_taken(const struct server_request *r, int64_t uid)
{
    struct taken t = {.arena = r->arena, .uid = uid};

    store_list_heads(server_collection(r->server, &kind_namespace), look_at, &t);
    return t.found;
}

static int write_number(struct server_request *r, struct json *ns, const char *annotation,
                        int64_t uid, struct err *err)
{
    struct json *meta = ns ? json_make_object(r->arena, ns, "metadata") : NULL;

    if (!meta)
        return out_of_memory(err);
    json_set_stringf(r->arena, json_make_object(r->arena, meta, "annotations"), annotation,
                     "%" PRId64, uid);
    return object_write(r->server, r->arena, &kind_namespace, object_name(ns), ns, WRITE_PUT, NULL,
                        NULL, NULL, err);
}

/* The keeper's UID is random, and differs from one data folder to the next. */
static int64_t first_number(const struct json *keeper)
{
    const char *uid = keeper ? object_uid(keeper) : "";
    uint64_t hash = fnv1a_64(FNV1A_64_START, uid, strlen(uid));

    return NAMESPACE_USER_FIRST + (int64_t)(hash % NAMESPACE_USER_BLOCKS) * NAMESPACE_USER_BLOCK;
}

int namespace_user_get(struct server_request *r, bool dry_run, struct namespace_user *ret,
                       struct err *err)
{
    int64_t uid = number_of(load(r, r->route.ns), ANNOTATION_UID);
    struct json *keeper;
    int rc;

    *ret = namespace_user_of(uid);
    if (uid >= 0)
        return 0;
    keeper = load(r, SYSTEM_NAMESPACE);
    uid = number_of(keeper, ANNOTATION_LAST_UID) + 1;
    uid = uid > 0 ? uid : first_number(keeper);
    while (uid <= USER_ID_LIMIT && is_taken(r, uid))
        uid++;
    if (!keeper || uid > USER_ID_LIMIT)
        return err_set(
            err, ERR_INTERNAL,
            "no user can be allocated for namespace \"%s\": set one in its annotation %s",
            r->route.ns, ANNOTATION_UID);
    *ret = namespace_user_of(uid);
    if (dry_run)
        return 0;
    rc = write_number(r, keeper, ANNOTATION_LAST_UID, uid, err);
    return rc < 0 ? rc : write_number(r, load(r, r->route.ns), ANNOTATION_UID, uid, err);
}
