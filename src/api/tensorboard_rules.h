/*
 * tensorboard_rules.h - TensorBoard beyond its table, as an object or as part of a job: which log
 * folders can be read.
 */
#ifndef MUSTER_API_TENSORBOARD_RULES_H
#define MUSTER_API_TENSORBOARD_RULES_H

#include "api/problem.h"

/* Log folders of one TensorBoard, from filesets and logDir. */
#define TENSORBOARD_FOLDERS_LIMIT 64
/* Suffix of the names of its pod and Service. */
#define TENSORBOARD_SUFFIX "-tb"
#define TENSORBOARD_NAME_LIMIT 60 /* 63 less the suffix */

/* A folder in a claim; path is relative to the claim, "" for all of it. */
struct tensorboard_folder {
    const char *claim, *path;
};

/* The readable folders of a spec, in order and without duplicates; in the arena. Returns how many:
 * at most TENSORBOARD_FOLDERS_LIMIT. */
size_t tensorboard_folders(struct arena *a, const struct json *spec,
                           struct tensorboard_folder *ret);

/* Also for spec.tensorboardSpec of a job: `at` is its path. */
void tensorboard_spec_validate(const struct json *spec, const struct field_path *at,
                               struct err *err);

/* See struct kind. */
void tensorboard_validate(const struct json *board, const struct json *old, struct err *err);
void tensorboard_unify(struct arena *a, struct json *board,
                       void (*say)(void *arg, const char *text), void *arg, struct err *err);

#endif
