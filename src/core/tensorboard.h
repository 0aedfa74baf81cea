/*
 * tensorboard.h - TensorBoards: what to do about one (a struct job_kind like the jobs', so that one
 * controller runs them all), and the names its parts agree on. Pure.
 *
 * A TensorBoard nobody looks at for an hour is Idle; after a day its pod is removed. Who looks is
 * known to the proxy (console/tensorboard_proxy.h), which says so in an annotation of the object:
 * writing the annotation anew is also what brings the pod back.
 */
#ifndef MUSTER_CORE_TENSORBOARD_H
#define MUSTER_CORE_TENSORBOARD_H

#include "core/job.h"

#define TENSORBOARD_PATH_PREFIX "/tensorboard" /* /tensorboard/NAMESPACE/NAME/ */
#define TENSORBOARD_PORT_ON_CLUSTER 6006
#define TENSORBOARD_IMAGE "tensorflow/tensorflow:2.14.0" /* when spec.image says nothing */
#define TENSORBOARD_CONTAINER "tensorboard"
/* On a TensorBoard, by the proxy: when it was last looked at. */
#define ANNOTATION_LAST_USED "muster.dev/last-used"
#define TENSORBOARD_IDLE_MS (60 * 60 * INT64_C(1000))
#define TENSORBOARD_RECLAIM_MS (24 * 60 * 60 * INT64_C(1000))

extern const struct job_kind job_kind_tensorboard;

/* --- its pod (tensorboard_pod.c) -------------------------------------------------------------- */

const char *tensorboard_child_name(struct arena *a, const struct json *board);
const char *tensorboard_url(struct arena *a, const struct json *board);
/* shared_network: on one machine, where tensorboard is the machine's own and listens on the
 * loopback; else the image's. */
struct json *tensorboard_pod_new(struct arena *a, const struct json *board, int64_t port,
                                 bool shared_network);
struct json *tensorboard_service_new(struct arena *a, const struct json *board, int64_t port,
                                     bool shared_network);
/* Whether pod runs what wanted would. */
bool tensorboard_pod_fits(const struct json *pod, const struct json *wanted);

#endif
