/* tensorboard.h - TensorBoard as an app (app.h). Pure. */
#ifndef MUSTER_CORE_TENSORBOARD_H
#define MUSTER_CORE_TENSORBOARD_H

#include "core/app.h"

#define TENSORBOARD_PATH_PREFIX "/tensorboard"           /* /tensorboard/NAMESPACE/NAME/ */
#define TENSORBOARD_IMAGE "tensorflow/tensorflow:2.14.0" /* default of spec.image */

/* See struct app_kind. */
struct json *tensorboard_pod_new(const struct app_look *l);
bool tensorboard_pod_fits(const struct json *pod, const struct json *wanted);

#endif
