/* claims.c - see claims.h. */
#include "agent/claims.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "api/object.h"
#include "api/quantity.h"
#include "base/log.h"
#include "client/cache.h"
#include "client/client.h"
#include "loop/file.h"

#define CLAIMS_ARENA_LIMIT_BYTES (1024u * 1024u)
#define DEFAULT_NAMESPACE "default"
#define ASK_AGAIN_MS 2000
#define READY_CLAIMS 64 /* kept parsed */

struct claims {
    struct transport *transport;
    struct clock *clock;
    char *root;
    enum claims_keeper keeper;
    struct cache *cache; /* our own claims */
    struct clock_timer *again;
};

/* --- folders --- */

static int bad_names(const char *ns, const char *name, struct err *err)
{
    const char *problem = dns_label_problem(ns);

    if (problem)
        return err_set(err, ERR_INVALID, "namespace \"%s\": %s", ns, problem);
    problem = dns_name_problem(name);
    return problem ? err_set(err, ERR_INVALID, "persistentvolumeclaim \"%s\": %s", name, problem)
                   : 0;
}

/* Writable for all: which user a pod's programs run as is up to the pods, and no one else gets past
 * the data folder. */
static int make_folder(const char *path, struct err *err)
{
    struct stat st;

    if (mkdir(path, 0777) == 0)
        return chmod(path, 0777) == 0 ? 0
                                      : err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(errno));
    if (errno != EEXIST)
        return err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(errno));
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return err_set(
        err, ERR_INTERNAL,
        "%s does not lead to a folder; create it, or map the claim again with muster up --volume",
        path);
}

int claims_folder(const struct claims *c, struct arena *a, const char *ns, const char *name,
                  const char **ret, struct err *err)
{
    const char *parent = arena_printf(a, "%s/%s", c->root, ns);
    const char *path = arena_printf(a, "%s/%s/%s", c->root, ns, name);
    int rc = bad_names(ns, name, err);
    char *real;

    if (!parent || !path)
        return err_set(err, ERR_INTERNAL, "out of memory");
    if (rc == 0 && (rc = file_make_dirs(parent, 0755)) != 0)
        rc = err_set(err, ERR_INTERNAL, "%s: %s", parent, strerror(-rc));
    if (rc == 0)
        rc = make_folder(path, err);
    if (rc != 0)
        return rc;
    real = realpath(path, NULL);
    if (!real)
        return err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(errno));
    *ret = arena_strdup(a, real);
    free(real);
    return *ret ? 0 : err_set(err, ERR_INTERNAL, "out of memory");
}

const char *claims_mapped_elsewhere(const struct claims *c, struct arena *a, const char *ns,
                                    const char *name)
{
    DIR *d = opendir(c->root);
    const char *found = NULL;
    const struct dirent *e;
    struct stat st;

    while (d && !found && (e = readdir(d)) != NULL) {
        const char *path = arena_printf(a, "%s/%s/%s", c->root, e->d_name, name);

        if (e->d_name[0] != '.' && strcmp(e->d_name, ns) != 0 && path && lstat(path, &st) == 0 &&
            S_ISLNK(st.st_mode))
            found = arena_strdup(a, e->d_name);
    }
    if (d)
        (void)closedir(d);
    return found;
}

/* --- mapping --- */

/* Splits "NAMESPACE/NAME=DIR", in the arena. */
static int split_mapping(struct arena *a, const char *mapping, const char **ns, const char **name,
                         const char **dir, struct err *err)
{
    const char *equals = strchr(mapping, '='), *slash;

    if (!equals || equals == mapping || !equals[1])
        return err_set(err, ERR_BAD_REQUEST,
                       "--volume takes NAME=DIR or NAMESPACE/NAME=DIR, not \"%s\"", mapping);
    slash = memchr(mapping, '/', (size_t)(equals - mapping));
    *ns = slash ? arena_strndup(a, mapping, (size_t)(slash - mapping)) : DEFAULT_NAMESPACE;
    if (slash)
        mapping = slash + 1;
    *name = arena_strndup(a, mapping, (size_t)(equals - mapping));
    *dir = equals + 1;
    if (!*ns || !*name)
        return err_set(err, ERR_INTERNAL, "out of memory");
    return bad_names(*ns, *name, err);
}

static int check_dir(const char *mapping, const char *dir, char **ret_real, struct err *err)
{
    struct stat st;

    *ret_real = realpath(dir, NULL);
    if (!*ret_real)
        return err_set(err, ERR_BAD_REQUEST, "--volume %s: %s: %s", mapping, dir, strerror(errno));
    if (stat(*ret_real, &st) != 0 || !S_ISDIR(st.st_mode))
        return err_set(err, ERR_BAD_REQUEST, "--volume %s: %s is not a folder", mapping, dir);
    return 0;
}

/* Replaces an older link or an empty folder; one with files in it must not be hidden. */
static int place_link(const char *mapping, const char *path, const char *real, struct err *err)
{
    struct stat st;

    if (lstat(path, &st) == 0 && (S_ISDIR(st.st_mode) ? rmdir(path) : unlink(path)) != 0) {
        if (errno == ENOTEMPTY || errno == EEXIST)
            return err_set(err, ERR_CONFLICT,
                           "--volume %s: the claim has its files in %s already; move them away "
                           "first",
                           mapping, path);
        return err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(errno));
    }
    if (symlink(real, path) != 0)
        return err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(errno));
    return 0;
}

/* Makes root/ns/name a link to an existing folder; the link itself is the record. */
static int map_claim(const char *root, const char *mapping, struct err *err)
{
    struct arena a = ARENA_INIT(CLAIMS_ARENA_LIMIT_BYTES);
    const char *ns = "", *name = "", *dir = "", *parent, *path;
    char *real = NULL;
    int rc = split_mapping(&a, mapping, &ns, &name, &dir, err);

    if (rc == 0)
        rc = check_dir(mapping, dir, &real, err);
    if (rc == 0) {
        parent = arena_printf(&a, "%s/%s", root, ns);
        path = arena_printf(&a, "%s/%s/%s", root, ns, name);
        rc = parent && path ? file_make_dirs(parent, 0755) : -ENOMEM;
        rc = rc != 0 ? err_set(err, ERR_INTERNAL, "%s: %s", root, strerror(-rc))
                     : place_link(mapping, path, real, err);
    }
    free(real);
    arena_release(&a);
    return rc;
}

/* --- objects --- */

static void on_written(void *arg, const struct json *object, const struct err *err)
{
    (void)arg;
    (void)object;
    /* Conflicts and late answers are corrected by the next watch event. */
    if (err && err->reason != ERR_ALREADY_EXISTS && err->reason != ERR_NOT_FOUND)
        log_warn("persistentvolumeclaim: %s", err->text);
}

static struct json *claim_status(struct arena *a, const struct json *claim)
{
    struct json *status = json_new_object(a);
    const struct json *size = json_at(claim, "spec", "resources", "requests", "storage");
    const struct json *modes = json_at(claim, "spec", "accessModes");

    json_set_string(a, status, "phase", "Bound");
    if (modes)
        (void)json_set(a, status, "accessModes", json_clone(a, modes));
    if (size)
        (void)json_set(a, json_make_object(a, status, "capacity"), "storage", json_clone(a, size));
    return status;
}

static void bind_claim(struct claims *c, struct arena *a, const struct json *claim,
                       const char *folder)
{
    const char *ns = object_namespace(claim), *name = object_name(claim);
    const char *volume = json_string(json_at(claim, "spec", "volumeName"), "");
    struct json *patch = json_new_object(a), *status = json_new_object(a);
    const char *said = object_annotation(claim, ANNOTATION_CLAIM_PATH);

    if (!said || strcmp(said, folder) != 0 || !*volume) {
        json_set_string(a,
                        json_make_object(a, json_make_object(a, patch, "metadata"), "annotations"),
                        ANNOTATION_CLAIM_PATH, folder);
        if (!*volume)
            json_set_stringf(a, json_make_object(a, patch, "spec"), "volumeName", "pvc-%s",
                             object_uid(claim));
        client_patch(c->transport, &kind_persistent_volume_claim, ns, name, "", patch, on_written,
                     c);
    }
    if (json_string_is(json_at(claim, "status", "phase"), "Bound"))
        return;
    (void)json_set(a, status, "status", claim_status(a, claim));
    client_patch(c->transport, &kind_persistent_volume_claim, ns, name, "status", status,
                 on_written, c);
}

static void on_claim(void *arg, enum cache_event event, const struct json *claim,
                     const struct json *old)
{
    struct claims *c = arg;
    struct arena a = ARENA_INIT(CLAIMS_ARENA_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    const char *folder = "";

    (void)old;
    if (event == CACHE_DELETED)
        log_info("persistentvolumeclaim %s/%s is gone; its files stay in %s",
                 object_namespace(claim), object_name(claim),
                 object_annotation(claim, ANNOTATION_CLAIM_PATH)
                     ? object_annotation(claim, ANNOTATION_CLAIM_PATH)
                     : c->root);
    else if (object_is_deleting(claim) ||
             json_string_is(json_at(claim, "spec", "volumeMode"), "Block"))
        ; /* nothing can be done */
    else if (claims_folder(c, &a, object_namespace(claim), object_name(claim), &folder, &err) == 0)
        bind_claim(c, &a, claim, folder);
    else
        log_warn("persistentvolumeclaim %s/%s: %s", object_namespace(claim), object_name(claim),
                 err.text ? err.text : "out of memory");
    arena_release(&a);
}

/* The size of its disk: nothing limits it further. */
static const char *disk_size(const struct claims *c, char out[QUANTITY_TEXT_SIZE])
{
    struct statvfs st;
    int64_t bytes = 1 << 30;

    if (statvfs(c->root, &st) == 0)
        bytes = max_i64(bytes, (int64_t)(st.f_blocks * st.f_frsize) >> 30 << 30);
    return quantity_format_bytes(bytes, out);
}

void claims_create(struct claims *c, const char *ns, const char *name)
{
    struct arena a = ARENA_INIT(CLAIMS_ARENA_LIMIT_BYTES);
    struct json *v = json_new_object(&a), *meta, *spec;
    char size[QUANTITY_TEXT_SIZE];

    json_set_string(&a, v, "apiVersion", "v1");
    json_set_string(&a, v, "kind", "PersistentVolumeClaim");
    meta = json_make_object(&a, v, "metadata");
    json_set_string(&a, meta, "namespace", ns);
    json_set_string(&a, meta, "name", name);
    spec = json_make_object(&a, v, "spec");
    json_append_string(&a, json_make_array(&a, spec, "accessModes"), "ReadWriteMany");
    json_set_string(&a, json_make_object(&a, json_make_object(&a, spec, "resources"), "requests"),
                    "storage", disk_size(c, size));
    client_create(c->transport, &kind_persistent_volume_claim, v, on_written, c);
    arena_release(&a);
}

/* --- making and freeing --- */

static void on_trouble(void *arg, const struct err *err)
{
    (void)arg;
    log_warn("persistentvolumeclaims: %s", err->text);
}

static int map_all(struct claims *c, const char *const *mapped, struct err *err)
{
    struct arena a = ARENA_INIT(CLAIMS_ARENA_LIMIT_BYTES);
    const char *ns = "", *name = "", *dir = "";
    int rc = 0;

    for (; mapped && *mapped && rc == 0; mapped++) {
        rc = map_claim(c->root, *mapped, err);
        if (rc == 0)
            rc = split_mapping(&a, *mapped, &ns, &name, &dir, err);
        if (rc == 0)
            claims_create(c, ns, name);
    }
    arena_release(&a);
    return rc;
}

static bool keep_claims(struct claims *c)
{
    c->keeper = CLAIMS_OURS;
    c->cache = cache_new(&(struct cache_options){.transport = c->transport,
                                                 .clock = c->clock,
                                                 .kind = &kind_persistent_volume_claim,
                                                 .ready_objects = READY_CLAIMS,
                                                 .on_change = on_claim,
                                                 .on_trouble = on_trouble,
                                                 .arg = c});
    return c->cache;
}

static void ask_server(void *arg);

static void on_version(void *arg, const struct json *answer, const struct err *err)
{
    struct claims *c = arg;
    const char *version = json_get_string(answer, "gitVersion", "");

    if (!err && !strstr(version, CLIENT_OUR_SERVER))
        c->keeper = CLAIMS_CLUSTERS;
    else if (err || !keep_claims(c))
        c->again = clock_start(c->clock, ASK_AGAIN_MS, ask_server, c);
    if (err)
        log_warn("cannot ask the server for its version, will keep trying: %s", err->text);
}

static void ask_server(void *arg)
{
    struct claims *c = arg;

    c->again = NULL;
    client_get_path(c->transport, "/version", on_version, c);
}

enum claims_keeper claims_keeper(const struct claims *c)
{
    return c->keeper;
}

struct claims *claims_new(const struct claims_options *options, struct err *err)
{
    struct claims *c = calloc(1, sizeof(*c));
    int rc;

    if (c) {
        c->transport = options->transport;
        c->clock = options->clock;
        c->root = strdup(options->root);
    }
    if (!c || !c->root) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        claims_free(c);
        return NULL;
    }
    rc = file_make_dirs(c->root, 0755);
    if (rc != 0)
        rc = err_set(err, ERR_INTERNAL, "%s: %s", c->root, strerror(-rc));
    else
        rc = map_all(c, options->mapped, err);
    if (rc == 0 && options->asks_server)
        ask_server(c);
    else if (rc == 0 && !keep_claims(c))
        rc = err_set(err, ERR_INTERNAL, "out of memory");
    if (rc != 0) {
        claims_free(c);
        return NULL;
    }
    return c;
}

void claims_free(struct claims *c)
{
    if (!c)
        return;
    client_forget(c);
    clock_stop(c->clock, c->again);
    cache_free(c->cache);
    free(c->root);
    free(c);
}
