/*
 * image_store.h - container images in the data folder, copied by skopeo and unpacked by umoci.
 *
 *   images/blobs/sha256/    layers, configurations and manifests by digest, shared by all images
 *   images/unpacked/<hex>/  one image: rootfs/ and image.json; appears whole, by rename
 *   images/names/<name>     which digest a name stands for
 *   images/tmp/             pulls under way; what is found there later is removed
 *   images/lock             held by the one who pulls or removes
 *
 * Blocking: for pool threads and commands. A pull that is killed at any moment leaves complete
 * blobs, which the next one does not fetch again, and no half image.
 */
#ifndef MUSTER_RUNTIME_IMAGE_STORE_H
#define MUSTER_RUNTIME_IMAGE_STORE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"

#define IMAGE_STORE_FOLDER "images" /* in the data folder */
/* In a pod's own folder: a container's layer. A link in it says which image is in use. */
#define IMAGE_LAYER_PREFIX ".image-"
#define IMAGE_LAYER_LINK "image"

struct image {
    const char *name;          /* complete, with a tag or a digest */
    const char *digest;        /* "sha256:...", the registry's */
    const char *folder;        /* unpacked; container_start.image */
    const struct json *config; /* as in the image: Entrypoint, Cmd, Env, User, WorkingDir */
    int64_t bytes;             /* unpacked */
    int64_t used_ms;           /* last pulled, or started from */
};

/* With :latest where neither tag nor digest is given. -EINVAL: no name of an image. */
int image_name_complete(struct arena *a, const char *name, const char **ret,
                        struct err *err) must_check;

/* Its length without tag and digest. */
size_t image_repository_len(const char *name);

/* In the data folder. -ENOENT when it is not there. */
int image_find(struct arena *a, const char *data, const char *name, struct image *ret) must_check;
/* All, in no order; NULL-safe. The list is in the arena. */
int image_list(struct arena *a, const char *data, struct image **ret, size_t *ret_len,
               struct err *err) must_check;

/* Of the compressed layers; those that were there before count as done. 0 layers: not known. */
struct image_progress {
    unsigned layers, layers_done;
    int64_t bytes, bytes_done;
    bool unpacks; /* all layers are there */
};

struct image_pull {
    const char *data;    /* the data folder */
    const char *name;    /* complete */
    const char *from;    /* skopeo's name of a source other than the registry, or NULL */
    const char *auth;    /* JSON of an authfile, or NULL: the user's own login */
    _Atomic pid_t child; /* the program under way; 0: none */
    atomic_bool ended;
    atomic_uint layers, layers_done;
    _Atomic int64_t bytes, bytes_done;
    atomic_bool unpacks;
};
/* From another thread. */
struct image_progress image_pull_progress(const struct image_pull *p);
/* From another thread: it fails soon. */
void image_pull_end(struct image_pull *p);

/* Pulls it even if the name is known, and fetches only what is not there. Errors have the
 * registry's own words. */
int image_pull(struct arena *a, struct image_pull *p, struct image *ret,
               struct err *err) must_check;

/* Forgets the name, and removes what no other name stands for. -EBUSY while a pod is in it. */
int image_remove(struct arena *a, const char *data, const char *name, struct err *err) must_check;
/* Removes images that no pod is in: those unused for age_ms, and the longest unused while all
 * together are larger than limit_bytes (0: no limit), but none that was just pulled or used.
 * Returns how many. */
#define IMAGE_KEPT_MS (2 * 60 * 1000)
int image_prune(struct arena *a, const char *data, int64_t now_ms, int64_t age_ms,
                int64_t limit_bytes, struct err *err) must_check;
/* Notes its use. */
void image_touch(const struct image *i);

#endif
