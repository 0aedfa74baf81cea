/*
 * tensorboard_rules.h - what tables cannot say of a TensorBoard, whether an object of its own or
 * made with a job: which log folders can be read, and which cannot.
 */
#ifndef MUSTER_API_TENSORBOARD_RULES_H
#define MUSTER_API_TENSORBOARD_RULES_H

#include "api/problem.h"

/* Log folders of one TensorBoard, filesets and logDir together. */
#define TENSORBOARD_FOLDERS_LIMIT 64
/* What its pod and its Service are called: NAME and this. */
#define TENSORBOARD_SUFFIX "-tb"
#define TENSORBOARD_NAME_LIMIT 60 /* 63 less the suffix */

/* A folder of a claim; path is relative to it, "" for the whole claim. */
struct tensorboard_folder {
    const char *claim, *path;
};

/* The folders a spec names, in its order, each once, as far as they can be read; in the arena.
 * Answers how many: at most TENSORBOARD_FOLDERS_LIMIT. */
size_t tensorboard_folders(struct arena *a, const struct json *spec,
                           struct tensorboard_folder *ret);

/* Of spec.tensorboardSpec of a job too: at says where it is. */
void tensorboard_spec_validate(const struct json *spec, const struct field_path *at,
                               struct err *err);

/* See struct kind. */
void tensorboard_validate(const struct json *board, const struct json *old, struct err *err);
void tensorboard_unify(struct arena *a, struct json *board,
                       void (*say)(void *arg, const char *text), void *arg, struct err *err);

#endif
