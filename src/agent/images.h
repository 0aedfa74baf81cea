/*
 * images.h - pulls images for pods, one at a time, on a pool thread (runtime/image_store.h). Pods
 * that want the same image with the same login share a pull.
 */
#ifndef MUSTER_AGENT_IMAGES_H
#define MUSTER_AGENT_IMAGES_H

#include "loop/loop.h"
#include "runtime/image_store.h"

#define IMAGES_AGE_MS (INT64_C(30) * 24 * 3600 * 1000) /* then an unused image is removed */

struct images_options {
    struct loop *loop;
    const char *data;    /* the data folder */
    int64_t limit_bytes; /* of all images together; 0: none */
    /* A pull is over, or has got further. */
    void (*on_change)(void *arg);
    void *arg;
};

struct images;
struct images *images_new(const struct images_options *o);
/* Ends a pull under way. */
void images_free(struct images *s);
const char *images_data(const struct images *s);

struct image_job;
/* The name must be complete; auth is JSON, or NULL. NULL: out of memory. */
struct image_job *images_pull(struct images *s, const char *name, const char *auth);
void image_job_release(struct image_job *j); /* NULL-safe; ends a pull that no pod wants */
const char *image_job_name(const struct image_job *j);
bool image_job_is_over(const struct image_job *j);
bool image_job_waits(const struct image_job *j); /* for another image */
/* Why it failed; NULL: it did not. */
const char *image_job_problem(const struct image_job *j);
int64_t image_job_took_ms(const struct image_job *j);
struct image_progress image_job_progress(const struct image_job *j);

#endif
