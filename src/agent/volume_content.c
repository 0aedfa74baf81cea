/* volume_content.c - see volume_content.h. Nothing is written outside dir_fd: volume_files.c checks
 * every path. */
#include "agent/volume_content.h"

#include <errno.h>
#include <string.h>

#include "agent/volume_files.h"
#include "api/object.h"
#include "base/base64.h"

#define DEFAULT_MODE 0644
#define MODE_LIMIT 0777

const struct json *volume_ref(const struct pod_ref *refs, const struct kind *kind, const char *name)
{
    for (const struct pod_ref *r = refs; r; r = r->next)
        if (r->kind == kind && strcmp(r->name, name) == 0)
            return r->object;
    return NULL;
}

static int mode_of(const struct json *spec, const char *field, mode_t otherwise, mode_t *ret,
                   struct err *err)
{
    int64_t mode = json_get_int(spec, field, otherwise);

    *ret = otherwise;
    if (mode < 0 || mode > MODE_LIMIT)
        return err_set(err, ERR_INVALID, "%s must be between 0 and 0777 (octal), not %lld", field,
                       (long long)mode);
    *ret = (mode_t)mode;
    return 0;
}

static int note_name(struct volume_content *c, const char *path, struct err *err)
{
    struct volume_name *n = arena_alloc(c->arena, sizeof(*n));

    if (!n)
        return err_set(err, ERR_INTERNAL, "out of memory");
    while (*path == '/' || strncmp(path, "./", 2) == 0)
        path++;
    *n = (struct volume_name){.next = c->names, .text = path, .len = strcspn(path, "/")};
    c->names = n;
    return 0;
}

static int put(struct volume_content *c, const char *path, const void *data, size_t len,
               mode_t mode, struct err *err)
{
    int rc = note_name(c, path, err);

    return rc == 0 ? volume_file_write(c->dir_fd, path, data, len, mode, c->group, err) : rc;
}

/* --- ConfigMaps and Secrets --- */

struct data_kind {
    const char *member;     /* of the volume or a projected source */
    const char *name_field; /* in the volume; a projected source always uses name */
    const struct kind *kind;
};

static const struct data_kind data_kinds[] = {
    {"configMap", "name", &kind_config_map},
    {"secret", "secretName", &kind_secret},
};

static const char *data_name(const struct data_kind *k, const struct json *source)
{
    return json_get_string(source, k->name_field, json_get_string(source, "name", ""));
}

/* The decoded value of a key, or NULL. */
static const char *data_value(struct volume_content *c, const struct data_kind *k,
                              const struct json *object, const char *key, size_t *ret_len)
{
    const struct json *v = json_get(json_get(object, "data"), key);
    bool encoded = k->kind == &kind_secret;

    if (!v && k->kind == &kind_config_map) {
        v = json_get(json_get(object, "binaryData"), key);
        encoded = true;
    }
    if (!json_is(v, JSON_STRING))
        return NULL;
    *ret_len = v->len;
    return encoded ? base64_decode(c->arena, v->u.text, v->len, ret_len) : v->u.text;
}

static int write_key(struct volume_content *c, const struct data_kind *k, const struct json *object,
                     const char *key, const char *path, mode_t mode, struct err *err)
{
    size_t len = 0;
    const char *data = data_value(c, k, object, key, &len);

    if (!data)
        return -ENOENT;
    return put(c, path, data, len, mode, err);
}

static int write_items(struct volume_content *c, const struct data_kind *k,
                       const struct json *object, const struct json *source, mode_t mode,
                       struct err *err)
{
    bool optional = json_get_bool(source, "optional", false);

    json_each (item, json_get(source, "items")) {
        const char *key = json_get_string(item, "key", "");
        mode_t own;
        int rc = mode_of(item, "mode", mode, &own, err);

        if (rc == 0)
            rc = write_key(c, k, object, key, json_get_string(item, "path", ""), own, err);
        if (rc == -ENOENT && !err_is_set(err)) {
            if (optional)
                continue;
            return err_set(err, ERR_NOT_FOUND, "key \"%s\" not found in %s \"%s\"", key,
                           k->kind->singular, data_name(k, source));
        }
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int write_map(struct volume_content *c, const struct data_kind *k, const struct json *object,
                     const char *map, mode_t mode, struct err *err)
{
    json_each (m, json_get(object, map)) {
        int rc = write_key(c, k, object, m->key, m->key, mode, err);

        if (rc != 0)
            return err_set(err, ERR_INVALID, "key \"%s\" of %s \"%s\" cannot be decoded", m->key,
                           k->kind->singular, object_name(object));
    }
    return 0;
}

static int write_data(struct volume_content *c, const struct data_kind *k,
                      const struct json *source, mode_t default_mode, struct err *err)
{
    const char *name = data_name(k, source);
    const struct json *object = volume_ref(c->refs, k->kind, name);
    mode_t mode;
    int rc = mode_of(source, "defaultMode", default_mode, &mode, err);

    if (rc != 0)
        return rc;
    if (!object)
        return json_get_bool(source, "optional", false)
                   ? 0
                   : err_set(err, ERR_NOT_FOUND, "%s \"%s\" not found", k->kind->singular, name);
    if (json_len(json_get(source, "items")) > 0)
        return write_items(c, k, object, source, mode, err);
    rc = write_map(c, k, object, "data", mode, err);
    return rc == 0 && k->kind == &kind_config_map ? write_map(c, k, object, "binaryData", mode, err)
                                                  : rc;
}

/* --- fields of the pod --- */

/* key="value" lines, as in Kubernetes' files. */
static const char *map_text(struct volume_content *c, const struct json *map)
{
    struct buf out = BUF_INIT(1024u * 1024u);
    const char *text;

    json_each (m, map) {
        buf_addf(&out, "%s=", m->key);
        json_write_string(&out, json_string(m, ""), strlen(json_string(m, "")));
        buf_addc(&out, '\n');
    }
    text = arena_strdup(c->arena, out.data ? out.data : "");
    buf_release(&out);
    return text;
}

static const char *field_text(struct volume_content *c, const char *path)
{
    static const char *const maps[] = {"labels", "annotations"};
    const struct json *meta = json_get(c->pod, "metadata");

    if (strncmp(path, "metadata.", 9) != 0)
        return NULL;
    path += 9;
    for (size_t i = 0; i < ELEMS(maps); i++) {
        size_t n = strlen(maps[i]), len = strlen(path);

        if (strcmp(path, maps[i]) == 0)
            return map_text(c, json_get(meta, maps[i]));
        if (strncmp(path, maps[i], n) == 0 && len > n + 4 && strncmp(path + n, "['", 2) == 0 &&
            strcmp(path + len - 2, "']") == 0)
            return json_get_string(json_get(meta, maps[i]),
                                   arena_strndup(c->arena, path + n + 2, len - n - 4), "");
    }
    return strcmp(path, "name") == 0 || strcmp(path, "namespace") == 0 || strcmp(path, "uid") == 0
               ? json_get_string(meta, path, "")
               : NULL;
}

static int write_fields(struct volume_content *c, const struct json *source, mode_t default_mode,
                        struct err *err)
{
    mode_t mode, own;
    int rc = mode_of(source, "defaultMode", default_mode, &mode, err);

    json_each (item, json_get(source, "items")) {
        const char *path = json_string(json_at(item, "fieldRef", "fieldPath"), "");
        const char *text = field_text(c, path);

        if (rc == 0 && !text)
            rc = err_set(err, ERR_INVALID,
                         "downwardAPI: field \"%s\" is not supported; there are metadata.name, "
                         "namespace, uid, labels and annotations",
                         path);
        if (rc == 0)
            rc = mode_of(item, "mode", mode, &own, err);
        if (rc == 0 && text)
            rc = put(c, json_get_string(item, "path", ""), text, strlen(text), own, err);
    }
    return rc;
}

/* --- the service account --- */

int volume_content_token(int dir_fd, const char *path, const char *token, uint32_t group,
                         struct err *err)
{
    return volume_file_write(dir_fd, path, token, strlen(token), DEFAULT_MODE, group, err);
}

static int write_account(struct volume_content *c, struct err *err)
{
    const char *ns = object_namespace(c->pod);
    int rc = volume_content_token(c->dir_fd, ACCOUNT_TOKEN, c->token, c->group, err);

    if (rc == 0 && c->ca_pem)
        rc = volume_file_write(c->dir_fd, "ca.crt", c->ca_pem, strlen(c->ca_pem), DEFAULT_MODE,
                               c->group, err);
    if (rc != 0)
        return rc;
    return volume_file_write(c->dir_fd, "namespace", ns, strlen(ns), DEFAULT_MODE, c->group, err);
}

static int write_token(struct volume_content *c, const struct json *source, struct err *err)
{
    if (c->renews)
        return note_name(c, json_get_string(source, "path", ""), err);
    if (!c->token)
        return err_set(err, ERR_INVALID, "serviceAccountToken: this node gives its pods no tokens");
    if (*json_get_string(source, "audience", ""))
        return err_set(err, ERR_INVALID,
                       "serviceAccountToken: audience is not supported; without it the token is "
                       "for the API server");
    return volume_content_token(c->dir_fd, json_get_string(source, "path", ""), c->token, c->group,
                                err);
}

/* --- all kinds --- */

static const struct data_kind *find_data_kind(const char *member)
{
    for (size_t i = 0; i < ELEMS(data_kinds); i++)
        if (strcmp(member, data_kinds[i].member) == 0)
            return &data_kinds[i];
    return NULL;
}

static int write_source(struct volume_content *c, const char *kind, const struct json *source,
                        mode_t mode, struct err *err)
{
    const struct data_kind *data = find_data_kind(kind);

    if (data)
        return write_data(c, data, source, mode, err);
    if (strcmp(kind, "downwardAPI") == 0)
        return write_fields(c, source, mode, err);
    if (strcmp(kind, "serviceAccountToken") == 0)
        return write_token(c, source, err);
    return err_set(err, ERR_INVALID, "projected source %s is not supported", kind);
}

static int write_projected(struct volume_content *c, const struct json *source, struct err *err)
{
    mode_t mode;
    int rc = mode_of(source, "defaultMode", DEFAULT_MODE, &mode, err);

    json_each (part, json_get(source, "sources"))
        json_each (inner, part)
            if (rc == 0)
                rc = write_source(c, inner->key, inner, mode, err);
    return rc;
}

int volume_content_write(struct volume_content *c, const char *kind, const struct json *source,
                         struct err *err)
{
    if (strcmp(kind, "serviceAccount") == 0)
        return write_account(c, err);
    if (strcmp(kind, "projected") == 0)
        return write_projected(c, source, err);
    return write_source(c, kind, source, DEFAULT_MODE, err);
}

bool volume_content_is(const char *kind)
{
    return find_data_kind(kind) || strcmp(kind, "downwardAPI") == 0 ||
           strcmp(kind, "projected") == 0;
}

void volume_content_refs(struct arena *a, const char *kind, const struct json *source,
                         struct pod_ref **list)
{
    const struct data_kind *data = find_data_kind(kind);

    if (data)
        pod_ref_add(a, list, data->kind, data_name(data, source));
    else if (strcmp(kind, "projected") == 0)
        json_each (part, json_get(source, "sources"))
            json_each (inner, part)
                volume_content_refs(a, inner->key, inner, list);
}
