/*
 * volumes.c - see volumes.h. One function per kind of volume prepares its source; the table in the
 * middle of the file lists them all.
 */
#include "agent/volumes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/claim_notes.h"
#include "agent/pod_messages.h"
#include "agent/start_folder.h"
#include "agent/volume_content.h"
#include "agent/volume_files.h"
#include "api/notebook_rules.h"
#include "api/object.h"
#include "api/quantity.h"
#include "core/expand.h"
#include "core/placement.h"
#include "loop/file.h"
#include "runtime/podfolder.h"

#define ACCOUNT_VOLUME "kube-api-access" /* not a user's: it is not in spec.volumes */

struct volume {
    const char *name;
    const char *source;
    const char *claim; /* NULL: it is not a claim */
    bool read_only, host_path;
};

struct preparation {
    struct arena *arena;
    const struct json *pod;
    const struct pod_ref *refs;
    const struct volume_places *places;
    struct pod_start *start;
    const char *folder; /* for the pod's own volumes */
    uint32_t group;
    struct volume *volumes;
    size_t volumes_len;
    struct pod_memory *memory;
    const struct start_note **notes;
};

static int no_memory(struct err *err)
{
    return err_set(err, ERR_INTERNAL, "out of memory");
}

static const char *own_path(const struct preparation *p, const char *name)
{
    return arena_printf(p->arena, "%s/%s", p->folder, name);
}

static int folder_failed(const char *path, int rc, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(-rc));
}

/* --- one function per kind --- */

static int prepare_empty_dir(struct preparation *p, const struct json *source, struct volume *v,
                             struct err *err)
{
    int64_t limit = quantity_json_value(json_get(source, "sizeLimit"), 0);
    bool in_memory = json_string_is(json_get(source, "medium"), "Memory");
    const char *path = own_path(p, v->name);
    int fd = path ? volume_folder_make(path, 0777, p->group) : -ENOMEM;

    if (fd < 0)
        return folder_failed(v->name, fd, err);
    (void)close(fd);
    v->source = path;
    if (in_memory)
        p->memory[p->start->memory_len++] = (struct pod_memory){
            .path = path, .limit_bytes = max_i64(limit, 0), .group = p->group};
    return 0; /* on disk it is measured: disk_limits.h */
}

/* The required file type of hostPath.type; "" accepts anything existing. */
static const struct {
    const char *type;
    mode_t mode; /* S_IF...; 0: any */
    bool create;
    const char *words;
} host_types[] = {
    {"", 0, false, ""},
    {"DirectoryOrCreate", S_IFDIR, true, "folder"},
    {"Directory", S_IFDIR, false, "folder"},
    {"FileOrCreate", S_IFREG, true, "file"},
    {"File", S_IFREG, false, "file"},
    {"Socket", S_IFSOCK, false, "socket"},
    {"CharDevice", S_IFCHR, false, "character device"},
    {"BlockDevice", S_IFBLK, false, "block device"},
};

static int create_host_path(const char *path, mode_t mode, struct err *err)
{
    int rc = mode == S_IFDIR ? file_make_dirs(path, 0755) : file_write_atomic(path, "", 0, 0644);

    return rc == 0 ? 0 : folder_failed(path, rc, err);
}

static int check_host_path(const char *path, size_t type, struct err *err)
{
    struct stat st;
    int rc = stat(path, &st) == 0 ? 0 : -errno;

    if (rc == -ENOENT && host_types[type].create)
        return create_host_path(path, host_types[type].mode, err);
    if (rc == -ENOENT)
        return err_set(err, ERR_INVALID,
                       "hostPath %s does not exist; create it, or use type DirectoryOrCreate",
                       path);
    if (rc != 0)
        return folder_failed(path, rc, err);
    if (host_types[type].mode && (st.st_mode & S_IFMT) != host_types[type].mode)
        return err_set(err, ERR_INVALID, "hostPath %s is not a %s, as its type %s asks for", path,
                       host_types[type].words, host_types[type].type);
    return 0;
}

static int prepare_host_path(struct preparation *p, const struct json *source, struct volume *v,
                             struct err *err)
{
    const char *path = json_get_string(source, "path", "");
    const char *type = json_get_string(source, "type", "");

    (void)p;
    v->source = path;
    v->host_path = true;
    if (path[0] != '/' || (path[1] && !volume_path_is_safe(path + 1)))
        return err_set(err, ERR_INVALID, "hostPath.path \"%s\" must be absolute, without ..", path);
    for (size_t i = 0; i < ELEMS(host_types); i++)
        if (strcmp(host_types[i].type, type) == 0)
            return check_host_path(path, i, err);
    return err_set(err, ERR_INVALID,
                   "hostPath.type \"%s\" is not known; allowed: DirectoryOrCreate, Directory, "
                   "FileOrCreate, File, Socket, CharDevice, BlockDevice",
                   type);
}

/* A disk of this machine, mounted by its administrator. */
static int prepare_local(struct preparation *p, const struct json *source, struct volume *v,
                         struct err *err)
{
    struct json *path = json_new_object(p->arena);

    json_set_string(p->arena, path, "path", json_get_string(source, "path", ""));
    json_set_string(p->arena, path, "type", "Directory");
    return prepare_host_path(p, path, v, err);
}

/* Members of a PersistentVolume's spec that are not a source. */
static const char *const volume_terms[] = {"accessModes",
                                           "capacity",
                                           "claimRef",
                                           "mountOptions",
                                           "nodeAffinity",
                                           "persistentVolumeReclaimPolicy",
                                           "storageClassName",
                                           "volumeMode",
                                           "volumeAttributesClassName",
                                           NULL};

static int prepare_source(struct preparation *p, const struct json *volume, struct volume *v,
                          struct err *err)
{
    const struct json *spec = json_get(volume, "spec");
    const char *other = "";

    if (json_get(spec, "hostPath"))
        return prepare_host_path(p, json_get(spec, "hostPath"), v, err);
    if (json_get(spec, "local"))
        return prepare_local(p, json_get(spec, "local"), v, err);
    json_each (member, spec) {
        const char *const *term = volume_terms;

        while (*term && strcmp(*term, member->key) != 0)
            term++;
        if (!*term)
            other = member->key;
    }
    return err_set(err, ERR_INVALID,
                   "the volume's source %s is not supported by muster node; supported: hostPath, "
                   "local",
                   other);
}

/* A claim bound by the cluster. Users who may create PersistentVolumes decide what they refer to.
 */
static int prepare_bound_claim(struct preparation *p, const struct json *claim, const char *name,
                               struct volume *v, struct err *err)
{
    const char *volume_name = json_string(json_at(claim, "spec", "volumeName"), "");
    const struct json *volume = volume_ref(p->refs, &kind_persistent_volume, volume_name);
    const struct json *node = volume_ref(p->refs, &kind_node, p->places->node_name);
    int rc;

    if (!claim)
        return err_set(err, ERR_INVALID, "persistentvolumeclaim \"%s\" not found", name);
    if (!json_string_is(json_at(claim, "status", "phase"), "Bound"))
        return err_set(err, ERR_INVALID,
                       "persistentvolumeclaim \"%s\" is not bound to a volume: it is %s", name,
                       json_string(json_at(claim, "status", "phase"), "Pending"));
    if (!volume)
        return err_set(err, ERR_INVALID,
                       "persistentvolumeclaim \"%s\": persistentvolume \"%s\" not found", name,
                       volume_name);
    if (!json_string_is(json_at(volume, "spec", "claimRef", "uid"), object_uid(claim)))
        return err_set(err, ERR_INVALID,
                       "persistentvolumeclaim \"%s\": persistentvolume \"%s\" is bound to another",
                       name, volume_name);
    if (!node_selector_allows(json_at(volume, "spec", "nodeAffinity", "required"), node))
        return err_set(err, ERR_INVALID,
                       "persistentvolumeclaim \"%s\": persistentvolume \"%s\" is not for this "
                       "node, as its nodeAffinity says",
                       name, volume_name);
    rc = prepare_source(p, volume, v, err);
    if (rc != 0)
        err_context(err, "persistentvolumeclaim \"%s\": persistentvolume \"%s\"", name,
                    volume_name);
    return rc;
}

static int prepare_claim(struct preparation *p, const struct json *source, struct volume *v,
                         struct err *err)
{
    const char *name = json_get_string(source, "claimName", "");
    const struct json *claim = volume_ref(p->refs, &kind_persistent_volume_claim, name);
    int rc;

    if (json_string_is(json_at(claim, "spec", "volumeMode"), "Block"))
        return err_set(
            err, ERR_INVALID,
            "persistentvolumeclaim \"%s\" is a block device, which is not supported here", name);
    v->claim = name;
    v->read_only = json_get_bool(source, "readOnly", false);
    if (claims_keeper(p->places->claims) == CLAIMS_CLUSTERS)
        return prepare_bound_claim(p, claim, name, v, err);
    if (claims_keeper(p->places->claims) == CLAIMS_UNKNOWN)
        return err_set(err, ERR_UNAVAILABLE,
                       "persistentvolumeclaim \"%s\": the API server's version is not known yet",
                       name);
    rc = claims_folder(p->places->claims, p->arena, p->start->ns, name, &v->source, err);
    if (rc == 0 && !claim)
        start_note_add(p->arena, p->notes,
                       &(struct start_note){
                           .reason = "ClaimCreated",
                           .claim = name,
                           .message = arena_printf(p->arena,
                                                   "PersistentVolumeClaim \"%s\" did not exist and "
                                                   "was created; its files are in %s",
                                                   name, v->source)});
    return rc;
}

/* A user who may change the keys of a pod's ssh server can enter the pod. */
static bool are_keys_refused(const struct preparation *p, const struct json *source,
                             const char *volume)
{
    const struct json *secret = volume_ref(p->refs, &kind_secret,
                                           json_get_string(source, "secretName", ""));
    const char *enters = secret ? object_annotation(secret, ANNOTATION_WRITER_ENTERS) : NULL;

    if (!enters || strncmp(volume, NOTEBOOK_SSH_KEYS_VOLUME, strlen(NOTEBOOK_SSH_KEYS_VOLUME)) != 0)
        return false;
    return strcmp(enters, ENTERS_NAMESPACE_USER) != 0 ||
           !object_annotation(p->pod, ANNOTATION_RUN_AS);
}

static bool is_written(const struct volume_name *names, const char *name)
{
    for (; names; names = names->next)
        if (strlen(name) == names->len && memcmp(name, names->text, names->len) == 0)
            return true;
    return false;
}

/* What is no longer in the objects goes. */
static void remove_others(const char *path, const struct volume_name *names)
{
    DIR *folder = opendir(path);

    for (const struct dirent *e; folder && (e = readdir(folder)) != NULL;) {
        char other[PATH_MAX];

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            is_written(names, e->d_name) ||
            snprintf(other, sizeof(other), "%s/%s", path, e->d_name) >= (int)sizeof(other))
            continue;
        (void)volume_tree_remove(other, NULL);
    }
    if (folder)
        (void)closedir(folder);
}

/* ConfigMaps, Secrets, fields of the pod, and several of them in one folder. */
static int write_files(struct preparation *p, const struct json *source, const char *kind,
                       const char *volume, const char *path, bool renews, struct err *err)
{
    struct volume_name refused = {.text = NOTEBOOK_SSH_KEYS_REFUSED,
                                  .len = strlen(NOTEBOOK_SSH_KEYS_REFUSED)};
    struct volume_content c = {.arena = p->arena,
                               .pod = p->pod,
                               .refs = p->refs,
                               .token = p->places->token,
                               .ca_pem = p->places->ca_pem,
                               .group = p->group,
                               .renews = renews};
    int rc;

    c.dir_fd = !path    ? -ENOMEM
               : renews ? volume_folder_make(path, 0755, p->group)
                        : volume_folder_renew(path, 0755, p->group);
    if (c.dir_fd < 0)
        return folder_failed(volume, c.dir_fd, err);
    if (are_keys_refused(p, source, volume)) {
        rc = volume_file_write(c.dir_fd, NOTEBOOK_SSH_KEYS_REFUSED, "", 0, 0644, p->group, err);
        c.names = &refused;
    } else {
        rc = volume_content_write(&c, kind, source, err);
    }
    (void)close(c.dir_fd);
    if (rc == 0 && renews)
        remove_others(path, c.names);
    return rc;
}

static int prepare_files(struct preparation *p, const struct json *source, const char *kind,
                         struct volume *v, struct err *err)
{
    v->source = own_path(p, v->name);
    v->read_only = true;
    return write_files(p, source, kind, v->name, v->source, false, err);
}

static int prepare_content(struct preparation *p, const struct json *source, struct volume *v,
                           struct err *err)
{
    return prepare_files(p, source, source->key, v, err);
}

static const struct {
    const char *member;
    int (*prepare)(struct preparation *p, const struct json *source, struct volume *v,
                   struct err *err);
} volume_kinds[] = {
    {"emptyDir", prepare_empty_dir},          {"hostPath", prepare_host_path},
    {"configMap", prepare_content},           {"secret", prepare_content},
    {"downwardAPI", prepare_content},         {"projected", prepare_content},
    {"persistentVolumeClaim", prepare_claim},
};

static int prepare_volume(struct preparation *p, const struct json *spec, struct volume *v,
                          struct err *err)
{
    const char *other = NULL;

    v->name = json_get_string(spec, "name", "");
    if (!pod_name_is_safe(v->name))
        return err_set(err, ERR_INVALID, "bad volume name \"%s\"", v->name);
    json_each (source, spec) {
        if (json_is_null(source) || strcmp(source->key, "name") == 0)
            continue;
        for (size_t i = 0; i < ELEMS(volume_kinds); i++)
            if (strcmp(source->key, volume_kinds[i].member) == 0)
                return volume_kinds[i].prepare(p, source, v, err);
        other = source->key;
    }
    if (!other)
        return prepare_empty_dir(p, NULL, v, err);
    return err_set(err, ERR_INVALID,
                   "%s is not supported on this machine; use a persistentVolumeClaim (muster up "
                   "--volume NAME=DIR gives it a folder) or a hostPath",
                   other);
}

/* --- used volumes --- */

static const char *const container_lists[] = {"initContainers", "containers"};

static bool is_mounted(const struct json *pod, const char *volume)
{
    for (size_t i = 0; i < ELEMS(container_lists); i++)
        json_each (c, json_at(pod, "spec", container_lists[i]))
            json_each (m, json_get(c, "volumeMounts"))
                if (json_string_is(json_get(m, "name"), volume))
                    return true;
    return false;
}

void volumes_add_refs(struct arena *a, const struct json *pod, struct pod_ref **list)
{
    json_each (v, json_at(pod, "spec", "volumes")) {
        const struct json *claim = json_get(v, "persistentVolumeClaim");

        if (!is_mounted(pod, json_get_string(v, "name", "")))
            continue;
        if (claim)
            pod_ref_add(a, list, &kind_persistent_volume_claim,
                        json_get_string(claim, "claimName", ""));
        json_each (source, v)
            volume_content_refs(a, source->key, source, list);
    }
}

void volumes_add_claim_refs(struct arena *a, const struct pod_ref *r, const char *node_name,
                            struct pod_ref **list)
{
    if (r->kind == &kind_persistent_volume_claim)
        pod_ref_add(a, list, &kind_persistent_volume,
                    json_string(json_at(r->object, "spec", "volumeName"), ""));
    if (r->kind == &kind_persistent_volume && json_at(r->object, "spec", "nodeAffinity"))
        pod_ref_add(a, list, &kind_node, node_name);
}

static int prepare_all(struct preparation *p, struct err *err)
{
    int rc = 0;

    json_each (spec, json_at(p->pod, "spec", "volumes")) {
        if (rc != 0 || !is_mounted(p->pod, json_get_string(spec, "name", "")))
            continue;
        rc = prepare_volume(p, spec, &p->volumes[p->volumes_len++], err);
        if (rc != 0)
            err_context(err, "volume \"%s\"", json_get_string(spec, "name", ""));
    }
    return rc;
}

/* --- mounts --- */

/* Mounts that are skipped where mounts are impossible: the machine's /dev/shm serves as well, and
 * the account's token is also in the environment. */
static bool is_dispensable(const char *target)
{
    return strcmp(target, "/dev/shm") == 0 || strcmp(target, ACCOUNT_FOLDER) == 0;
}

static int check_target(const char *target, struct err *err)
{
    if (target[0] != '/' || !volume_path_is_safe(target + 1))
        return err_set(err, ERR_INVALID,
                       "mountPath \"%s\" must be an absolute path below /, without ..", target);
    if (strncmp(target, "/proc", 5) == 0 && (target[5] == '/' || !target[5]))
        return err_set(err, ERR_INVALID, "mountPath \"%s\": nothing can be mounted in /proc",
                       target);
    return 0;
}

struct lookup {
    struct arena *arena;
    const char *const *env;
    const char *missing; /* the first, or NULL */
};

static const char *env_lookup(void *arg, const char *name, size_t len)
{
    struct lookup *l = arg;

    for (const char *const *e = l->env; *e; e++)
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return *e + len + 1;
    if (!l->missing)
        l->missing = arena_strndup(l->arena, name, len);
    return NULL;
}

static int sub_path_of(const struct preparation *p, const struct json *m,
                       const struct container_start *c, const char **ret, struct err *err)
{
    const char *text = json_get_string(m, "subPath", "");
    const char *expression = json_get_string(m, "subPathExpr", "");
    struct lookup l = {.arena = p->arena, .env = c->env};

    if (*expression)
        text = expand_vars(p->arena, expression, env_lookup, &l);
    if (l.missing)
        return err_set(err, ERR_INVALID, "subPathExpr \"%s\": the container has no variable \"%s\"",
                       expression, l.missing);
    *ret = text && *text ? text : NULL;
    if (!*ret || volume_path_is_safe(*ret))
        return 0;
    return err_set(err, ERR_INVALID, "subPath \"%s\" must be relative and must not contain ..",
                   *ret);
}

static const struct volume *find_volume(const struct preparation *p, const char *name)
{
    for (size_t i = 0; i < p->volumes_len; i++)
        if (strcmp(p->volumes[i].name, name) == 0)
            return &p->volumes[i];
    return NULL;
}

static int build_mount(const struct preparation *p, const struct json *spec,
                       struct container_start *c, struct container_mount *ret, struct err *err)
{
    const char *name = json_get_string(spec, "name", "");
    const struct volume *v = find_volume(p, name);
    const char *target = json_get_string(spec, "mountPath", ""), *sub_path = NULL;
    int rc = check_target(target, err);

    if (rc == 0 && !v)
        rc = err_set(err, ERR_INVALID, "volumeMounts: no volume \"%s\" is in spec.volumes", name);
    if (rc == 0)
        rc = sub_path_of(p, spec, c, &sub_path, err);
    if (rc == 0)
        *ret = (struct container_mount){.source = v->source,
                                        .sub_path = sub_path,
                                        .target = target,
                                        .volume = name,
                                        .host_path = v->host_path,
                                        .read_only = v->read_only ||
                                                     json_get_bool(spec, "readOnly", false)};
    if (rc == 0 && v->claim)
        claim_notes_add(p->arena, p->places->claims, p->start->ns, v->claim, ret, c);
    return rc;
}

static bool mounts_at(const struct json *mounts, const char *target)
{
    json_each (m, mounts)
        if (json_string_is(json_get(m, "mountPath"), target))
            return true;
    return false;
}

static int build_mounts(const struct preparation *p, const struct json *spec,
                        struct container_start *c, struct err *err)
{
    const struct json *list = json_get(spec, "volumeMounts");
    struct container_mount *mounts;
    size_t n = 0;
    int rc = 0;

    if (json_len(list) >= POD_MOUNTS_LIMIT)
        return err_set(err, ERR_INVALID, "at most %d volumeMounts", POD_MOUNTS_LIMIT - 1);
    mounts = arena_alloc(p->arena, (json_len(list) + 1) * sizeof(*mounts));
    if (!mounts)
        return no_memory(err);
    json_each (m, list)
        if (rc == 0)
            rc = build_mount(p, m, c, &mounts[n++], err);
    if (p->places->gives_account && !mounts_at(list, ACCOUNT_FOLDER))
        mounts[n++] = (struct container_mount){.source = own_path(p, ACCOUNT_VOLUME),
                                               .target = ACCOUNT_FOLDER,
                                               .volume = ACCOUNT_VOLUME,
                                               .read_only = true};
    c->mounts = mounts;
    c->mounts_len = n;
    c->scratch = own_path(p, ".root");
    return rc;
}

struct container_start *container_starts_copy(struct arena *a, struct pod_start *start,
                                              struct err *err)
{
    struct container_start *copy = arena_alloc(a,
                                               max_size(start->containers_len, 1) * sizeof(*copy));

    if (!copy) {
        (void)no_memory(err);
        return NULL;
    }
    memcpy(copy, start->containers, start->containers_len * sizeof(*copy));
    start->containers = copy;
    return copy;
}

void container_mount_add(struct arena *a, struct container_start *c,
                         const struct container_mount *mount)
{
    struct container_mount *mounts = arena_alloc(a, (c->mounts_len + 1) * sizeof(*mounts));

    if (!mounts)
        return;
    if (c->mounts_len > 0)
        memcpy(mounts, c->mounts, c->mounts_len * sizeof(*mounts));
    mounts[c->mounts_len++] = *mount;
    c->mounts = mounts;
}

static int build_all_mounts(struct preparation *p, struct err *err)
{
    struct container_start *copy = container_starts_copy(p->arena, p->start, err);
    size_t n = 0;
    int rc = copy ? 0 : -ENOMEM;

    for (size_t i = 0; i < ELEMS(container_lists); i++)
        json_each (c, json_at(p->pod, "spec", container_lists[i])) {
            if (rc != 0 || n == p->start->containers_len)
                break;
            rc = build_mounts(p, c, &copy[n++], err);
            if (rc != 0)
                err_context(err, "container %s", json_get_string(c, "name", ""));
        }
    return rc;
}

/* --- everything --- */

/* Refuses the first required mount where mounts are impossible. */
static int refuse_mounts(const struct preparation *p, struct err *err)
{
    for (size_t i = 0; i < ELEMS(container_lists); i++)
        json_each (c, json_at(p->pod, "spec", container_lists[i]))
            json_each (m, json_get(c, "volumeMounts")) {
                const char *target = json_get_string(m, "mountPath", "");

                if (!is_dispensable(target))
                    return err_set(err, ERR_INVALID, "volume \"%s\" cannot be mounted at %s: %s",
                                   json_get_string(m, "name", ""), target, p->places->obstacle);
            }
    return 0;
}

static int make_folders(struct preparation *p, struct err *err)
{
    const char *path;
    int rc;

    if (!pod_name_is_safe(p->start->uid))
        return err_set(err, ERR_INTERNAL, "bad pod UID \"%s\"", p->start->uid);
    p->folder = arena_printf(p->arena, "%s/%s", p->places->scratch, p->start->uid);
    path = p->folder ? own_path(p, ".root") : NULL;
    p->volumes = arena_alloc(p->arena, (json_len(json_at(p->pod, "spec", "volumes")) + 1) *
                                           sizeof(*p->volumes));
    p->memory = arena_alloc(p->arena, (json_len(json_at(p->pod, "spec", "volumes")) + 1) *
                                          sizeof(*p->memory));
    if (!path || !p->volumes || !p->memory)
        return no_memory(err);
    p->start->memory = p->memory;
    rc = file_make_dirs(path, 0700);
    return rc == 0 ? 0 : folder_failed(path, rc, err);
}

int volumes_prepare(struct arena *a, const struct json *pod, const struct pod_ref *refs,
                    const struct volume_places *places, struct pod_start *start,
                    const struct start_note **notes, struct err *err)
{
    struct preparation p = {.arena = a,
                            .pod = pod,
                            .refs = refs,
                            .places = places,
                            .start = start,
                            .notes = notes,
                            .group = identity_volume_group(pod, places->machine)};
    static const char *const account_path[] = {"/var/run/secrets", "/var/run/secrets/kubernetes.io",
                                               ACCOUNT_FOLDER};
    struct volume account = {.name = ACCOUNT_VOLUME};
    int rc;

    if (!places->obstacle)
        (void)mount_point_in_run(account_path, ELEMS(account_path));
    rc = make_folders(&p, err);
    if (rc == 0)
        rc = places->obstacle ? refuse_mounts(&p, err) : prepare_all(&p, err);
    if (rc == 0 && !places->obstacle && places->gives_account)
        rc = prepare_files(&p, NULL, "serviceAccount", &account, err);
    if (rc == 0 && !places->obstacle)
        rc = build_all_mounts(&p, err);
    if (rc == 0)
        rc = start_folders_prepare(a, p.folder, places->obstacle ? NULL : places->start, start,
                                   err);
    if (rc == 0)
        rc = pod_messages_prepare(a, p.folder, !places->obstacle, start, err);
    return rc;
}

/* --- a running pod --- */

int volumes_renew_files(struct arena *a, const struct json *pod, const struct pod_ref *refs,
                        const struct volume_places *places, struct err *err)
{
    struct preparation p = {.arena = a,
                            .pod = pod,
                            .refs = refs,
                            .places = places,
                            .folder = arena_printf(a, "%s/%s", places->scratch, object_uid(pod)),
                            .group = identity_volume_group(pod, places->machine)};
    int rc = p.folder ? 0 : no_memory(err);

    json_each (volume, json_at(pod, "spec", "volumes")) {
        const char *name = json_get_string(volume, "name", "");

        json_each (source, volume)
            if (rc == 0 && json_is(source, JSON_OBJECT) && volume_content_is(source->key) &&
                is_mounted(pod, name))
                rc = write_files(&p, source, source->key, name, own_path(&p, name), true, err);
    }
    return rc;
}

static int replace_token(struct arena *a, const struct json *pod,
                         const struct volume_places *places, const char *volume, const char *path,
                         struct err *err)
{
    const char *folder = arena_printf(a, "%s/%s/%s", places->scratch, object_uid(pod), volume);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
    int rc;

    if (fd < 0)
        return folder_failed(volume, folder ? -errno : -ENOMEM, err);
    rc = volume_content_token(fd, path, places->token, identity_volume_group(pod, places->machine),
                              err);
    (void)close(fd);
    return rc;
}

int volumes_renew_token(struct arena *a, const struct json *pod, const struct volume_places *places,
                        struct err *err)
{
    int rc = places->gives_account
                 ? replace_token(a, pod, places, ACCOUNT_VOLUME, ACCOUNT_TOKEN, err)
                 : 0;

    json_each (volume, json_at(pod, "spec", "volumes"))
        json_each (part, json_at(volume, "projected", "sources")) {
            const struct json *source = json_get(part, "serviceAccountToken");

            if (rc == 0 && source)
                rc = replace_token(a, pod, places, json_get_string(volume, "name", ""),
                                   json_get_string(source, "path", ""), err);
        }
    return rc;
}
