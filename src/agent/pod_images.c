/* pod_images.c - see pod_images.h. */
#include "agent/pod_images.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/image_gpus.h"
#include "agent/image_helper.h"
#include "agent/volumes.h"
#include "api/object.h"
#include "base/base64.h"
#include "loop/file.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define AUTH_LIMIT_BYTES (1024u * 1024u)

static const char *const container_lists[] = {"initContainers", "containers"};

bool pod_is_in_image(const struct json *pod, bool by_default)
{
    const char *class = json_string(json_at(pod, "spec", "runtimeClassName"), "");

    if (strcmp(class, RUNTIME_CLASS_IMAGE) == 0 || strcmp(class, RUNTIME_CLASS_PROCESS) == 0)
        return strcmp(class, RUNTIME_CLASS_IMAGE) == 0;
    for (size_t i = 0; by_default && i < ELEMS(container_lists); i++)
        json_each (c, json_at(pod, "spec", container_lists[i]))
            if (!*json_get_string(c, "image", ""))
                return false;
    return by_default;
}

/* --- logins --- */

void pod_images_add_refs(struct arena *a, const struct json *pod, struct pod_ref **list)
{
    json_each (s, json_at(pod, "spec", "imagePullSecrets"))
        pod_ref_add(a, list, &kind_secret, json_get_string(s, "name", ""));
}

static const struct json *secret_json(struct arena *a, const struct json *secret, const char *key)
{
    const struct json *text = json_at(secret, "data", key);
    auto_err err = ERR_INIT;
    const char *bytes;
    size_t len;

    bytes = json_is(text, JSON_STRING) ? base64_decode(a, text->u.text, text->len, &len) : NULL;
    return bytes ? json_parse(a, bytes, len, &err) : NULL;
}

static void add_logins(struct arena *a, struct json *auths, const struct json *logins)
{
    json_each (login, logins)
        if (json_is(login, JSON_OBJECT))
            (void)json_set(a, auths, login->key, json_clone(a, login));
}

/* One authfile of all secrets, or NULL without any. */
static const char *auth_of(struct arena *a, const struct json *pod, const struct pod_ref *refs)
{
    struct json *file = json_new_object(a), *auths = json_make_object(a, file, "auths");
    struct buf text = BUF_INIT(AUTH_LIMIT_BYTES);
    const char *out = NULL;

    json_each (s, json_at(pod, "spec", "imagePullSecrets"))
        for (const struct pod_ref *r = refs; r; r = r->next)
            if (r->kind == &kind_secret && json_string_is(json_get(s, "name"), r->name)) {
                add_logins(a, auths,
                           json_get(secret_json(a, r->object, ".dockerconfigjson"), "auths"));
                add_logins(a, auths, secret_json(a, r->object, ".dockercfg"));
            }
    if (json_len(auths) > 0) {
        json_write(&text, file);
        out = text.failed ? NULL : arena_strndup(a, text.data, text.len);
    }
    buf_release(&text);
    return out;
}

/* --- pulls --- */

void pod_images_release(struct pod_images *p)
{
    for (size_t i = 0; i < p->len; i++)
        image_job_release(p->pulls[i].job);
    free(p->pulls);
    *p = (struct pod_images){.len = 0};
}

static void note(struct arena *a, struct pod_images_answer *ret, bool warning, const char *reason,
                 const char *message)
{
    start_note_add(a, &ret->notes,
                   &(struct start_note){.reason = reason, .warning = warning, .message = message});
}

static void fail(struct pod_images_answer *ret, const char *reason, const char *message)
{
    if (ret->state == POD_IMAGES_FAILED)
        return;
    ret->state = POD_IMAGES_FAILED;
    ret->failure = (struct pod_failure){
        .waiting = true, .reason = reason, .message = message ? message : "out of memory"};
}

/* The pod's pull of it, or POD_CONTAINERS_LIMIT. */
static size_t find_job(const struct pod_images *p, const char *name)
{
    for (size_t i = 0; i < p->len; i++)
        if (strcmp(image_job_name(p->pulls[i].job), name) == 0)
            return i;
    return POD_CONTAINERS_LIMIT;
}

static size_t begin_job(struct arena *a, struct images *images, struct pod_images *p,
                        const char *name, const char *auth, struct pod_images_answer *ret)
{
    if (!p->pulls)
        p->pulls = calloc(POD_CONTAINERS_LIMIT, sizeof(*p->pulls));
    if (p->pulls)
        p->pulls[p->len].job = images_pull(images, name, auth);
    if (!p->pulls || !p->pulls[p->len].job)
        return POD_CONTAINERS_LIMIT;
    note(a, ret, false, "Pulling", arena_printf(a, "Pulling image \"%s\"", name));
    return p->len++;
}

static const char *progress_words(struct arena *a, const struct image_job *j)
{
    struct image_progress p = image_job_progress(j);

    if (image_job_waits(j))
        return arena_printf(a, "waiting to pull image \"%s\": another image is being pulled",
                            image_job_name(j));
    if (p.unpacks)
        return arena_printf(a, "unpacking image \"%s\"", image_job_name(j));
    if (p.layers == 0)
        return arena_printf(a, "pulling image \"%s\"", image_job_name(j));
    return arena_printf(a, "pulling image \"%s\": %u of %u layers, %.1f of %.1f MB",
                        image_job_name(j), p.layers_done, p.layers, (double)p.bytes_done / 1e6,
                        (double)p.bytes / 1e6);
}

static void judge_job(struct arena *a, struct pod_images *p, size_t i,
                      struct pod_images_answer *ret)
{
    const struct image_job *j = p->pulls[i].job;
    const char *name = image_job_name(j);

    if (!image_job_is_over(j)) {
        if (ret->state != POD_IMAGES_READY)
            return;
        fail(ret, "ContainerCreating", progress_words(a, j));
        ret->state = POD_IMAGES_PULLING;
        return;
    }
    if (image_job_problem(j)) {
        const char *message = arena_printf(a, "Failed to pull image \"%s\": %s", name,
                                           image_job_problem(j));

        if (!p->pulls[i].told)
            note(a, ret, true, "Failed", message);
        fail(ret, "ErrImagePull", message);
    } else if (!p->pulls[i].told) {
        note(a, ret, false, "Pulled",
             arena_printf(a, "Successfully pulled image \"%s\" in %.1fs", name,
                          (double)image_job_took_ms(j) / 1000));
    }
    p->pulls[i].told = true;
}

static void get_one(struct arena *a, struct images *images, const struct json *container,
                    const char *auth, struct pod_images *p, struct image *image,
                    struct pod_images_answer *ret)
{
    const char *given = json_get_string(container, "image", ""), *name = NULL;
    const char *policy = json_get_string(container, "imagePullPolicy", "IfNotPresent");
    auto_err err = ERR_INIT;
    bool there;
    size_t i;

    if (image_name_complete(a, given, &name, &err) != 0) {
        fail(ret, "InvalidImageName",
             arena_printf(a, "container %s: %s", json_get_string(container, "name", ""),
                          err.text ? err.text : "out of memory"));
        return;
    }
    there = image_find(a, images_data(images), name, image) == 0;
    if (strcmp(policy, "Never") == 0 && !there) {
        fail(ret, "ErrImageNeverPull",
             arena_printf(a, "Container image \"%s\" is not present with pull policy of Never",
                          given));
        return;
    }
    i = find_job(p, name);
    if (i == POD_CONTAINERS_LIMIT) {
        if (there && strcmp(policy, "Always") != 0)
            return;
        i = begin_job(a, images, p, name, auth, ret);
    }
    if (i == POD_CONTAINERS_LIMIT) {
        fail(ret, "ErrImagePull", NULL);
        return;
    }
    judge_job(a, p, i, ret);
    if (!there && ret->state == POD_IMAGES_READY)
        fail(ret, "ErrImagePull", arena_printf(a, "image \"%s\" is gone again", name));
}

void pod_images_get(struct arena *a, struct images *images, const struct json *pod,
                    const struct pod_ref *refs, struct pod_images *p, struct pod_images_answer *ret)
{
    const char *auth = auth_of(a, pod, refs);
    size_t n = 0;

    *ret = (struct pod_images_answer){.state = POD_IMAGES_READY};
    ret->images = arena_alloc(a, POD_CONTAINERS_LIMIT * sizeof(*ret->images));
    if (!ret->images)
        fail(ret, "ErrImagePull", NULL);
    for (size_t i = 0; i < ELEMS(container_lists); i++)
        json_each (c, json_at(pod, "spec", container_lists[i]))
            if (ret->images && n < POD_CONTAINERS_LIMIT)
                get_one(a, images, c, auth, p, &ret->images[n++], ret);
}

/* --- mounts --- */

static bool mounts_at(const struct container_start *c, const char *target)
{
    for (size_t i = 0; i < c->mounts_len; i++)
        if (strcmp(c->mounts[i].target, target) == 0)
            return true;
    return false;
}

static void add_file(struct arena *a, struct container_start *c, const char *source,
                     const char *target)
{
    if (source && access(source, R_OK) == 0 && !mounts_at(c, target))
        container_mount_add(
            a, c,
            &(struct container_mount){
                .source = source, .target = target, .volume = target, .read_only = true});
}

/* Where `muster run` was called, as the container's user may see it. */
static void add_folder(struct arena *a, const struct json *pod, struct container_start *c)
{
    const char *folder = object_annotation(pod, ANNOTATION_FOLDER);

    if (folder && folder[0] == '/' && folder[1] && !mounts_at(c, folder))
        container_mount_add(a, c,
                            &(struct container_mount){.source = "/",
                                                      .sub_path = folder + 1,
                                                      .target = folder,
                                                      .volume = ANNOTATION_FOLDER,
                                                      .host_path = true});
}

/* The link keeps the image from being removed; it may have been just before. */
static int make_layer(struct arena *a, const struct image *image, const char *folder,
                      struct container_start *c, struct err *err)
{
    const char *layer = arena_printf(a, "%s/" IMAGE_LAYER_PREFIX "%s", folder, c->name);
    const char *link = layer ? arena_printf(a, "%s/" IMAGE_LAYER_LINK, layer) : NULL;
    int rc = link ? file_make_dirs(layer, 0700) : -ENOMEM;

    if (rc == 0)
        (void)unlink(link);
    if (rc == 0 && (symlink(image->folder, link) != 0 || access(image->folder, F_OK) != 0))
        rc = -errno;
    if (rc != 0)
        return err_set(err, ERR_INTERNAL, "%s: %s", layer ? layer : "image", strerror(-rc));
    image_touch(image);
    c->layer = layer;
    c->image_id = arena_printf(a, "%.*s@%s", (int)image_repository_len(image->name), image->name,
                               image->digest);
    return 0;
}

int pod_images_mount(struct arena *a, const struct json *pod, const struct image *images,
                     const char *folder, const char *helper, struct pod_start *start,
                     struct err *err)
{
    struct container_start *copy = container_starts_copy(a, start, err);
    int rc = copy ? 0 : -ENOMEM;

    for (size_t i = 0; i < start->containers_len && rc == 0; i++) {
        rc = make_layer(a, &images[i], folder, &copy[i], err);
        add_file(a, &copy[i], start->hosts_path, "/etc/hosts");
        add_file(a, &copy[i], RESOLV_CONF, RESOLV_CONF);
        add_folder(a, pod, &copy[i]);
        image_gpus_add(a, &copy[i]);
        container_mount_add(a, &copy[i],
                            &(struct container_mount){.source = helper,
                                                      .target = IMAGE_HELPER_PLACE,
                                                      .volume = "muster",
                                                      .read_only = true});
    }
    return rc;
}
