/*
 * usage_file.h - the samples of one pod (or the node) on disk: a file of fixed size with rings of
 * three resolutions, that outlives the daemon and moves with the pod's logs.
 *
 *   2 s for the last 10 minutes, 30 s for 3 hours, 5 minutes for 7 days: 137 KB at most
 *
 * Every record is self-contained, with its time and a checksum, at the position its time
 * determines: a torn write loses one record, and there is no state that could be wrong. Coarser
 * records are made from the finer ones on disk, so a killed daemon's successor makes the same.
 */
#ifndef MUSTER_RUNTIME_USAGE_FILE_H
#define MUSTER_RUNTIME_USAGE_FILE_H

#include "runtime/usage.h"

#define USAGE_STEP_MS 2000         /* between samples */
#define POD_FILE_SAMPLES "samples" /* in the pod's folder */
#define USAGE_GPU_SUFFIX ".gpu%zu" /* of the same file for one of several GPUs */
#define USAGE_GPUS_LIMIT 64

struct usage_file {
    int fd;
    int64_t last_ms; /* the newest record */
};

/* Creates the file if there is none; a foreign file or another format is replaced. */
int usage_file_open(struct usage_file *f, const char *path) must_check;
void usage_file_close(struct usage_file *f);
int usage_file_add(struct usage_file *f, const struct usage_sample *s, int64_t window_ms,
                   const struct usage_container *containers, size_t len) must_check;

/* -ENOENT when there is none. */
int usage_file_read_latest(const char *path, struct usage_latest *ret) must_check;

/* Samples from since_ms on, oldest first, at the finest resolution available; with step_ms > 0
 * combined into one per step. In the arena. */
int usage_file_read(const char *path, int64_t since_ms, int64_t step_ms, struct arena *a,
                    struct usage_sample **ret, size_t *ret_len) must_check;

#endif
