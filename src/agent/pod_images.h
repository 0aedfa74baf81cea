/* pod_images.h - the images of a pod's containers: which they are, whether they are there, and what
 * of them a start needs. */
#ifndef MUSTER_AGENT_POD_IMAGES_H
#define MUSTER_AGENT_POD_IMAGES_H

#include "agent/images.h"
#include "agent/pod_env.h"
#include "agent/pod_sync.h"
#include "runtime/image_store.h"

#define RUNTIME_CLASS_IMAGE "image"
#define RUNTIME_CLASS_PROCESS "process"

/* runtimeClassName decides; without one, or with another, the default. A pod without images is
 * processes by default. */
bool pod_is_in_image(const struct json *pod, bool by_default);

/* Secrets to pull with. */
void pod_images_add_refs(struct arena *a, const struct json *pod, struct pod_ref **list);

struct pod_pull {
    struct image_job *job;
    bool told; /* its end is an event already */
};

/* Pulls of one pod; starts zeroed. */
struct pod_images {
    struct pod_pull *pulls; /* room for POD_CONTAINERS_LIMIT; NULL: none yet */
    size_t len;
};

void pod_images_release(struct pod_images *p);

enum pod_images_state { POD_IMAGES_READY, POD_IMAGES_PULLING, POD_IMAGES_FAILED };

struct pod_images_answer {
    enum pod_images_state state;
    struct image *images;           /* READY: one per container, init containers first */
    struct pod_failure failure;     /* otherwise: what the pod's status says */
    const struct start_note *notes; /* events */
};

/* Starts pulls that are needed, and has what is there. Answers are in the arena. */
void pod_images_get(struct arena *a, struct images *images, const struct json *pod,
                    const struct pod_ref *refs, struct pod_images *p,
                    struct pod_images_answer *ret);

/* Adds to each container its image, its layer below the pod's folder, muster itself
 * (image_helper.h), and the files that container runtimes provide. After volumes_prepare. */
int pod_images_mount(struct arena *a, const struct json *pod, const struct image *images,
                     const char *folder, const char *helper, struct pod_start *start,
                     struct err *err) must_check;

#endif
