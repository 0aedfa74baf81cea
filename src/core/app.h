/*
 * app.h - programs that run until they are stopped and are seen in a browser: what to do about one
 * (a struct job_kind like the jobs', so that one controller runs them all), and the names its parts
 * agree on. What differs between TensorBoards and the like is in a struct app_kind. Pure.
 *
 * An app nobody uses for an hour is Idle; after a day its pod is removed. Its use is known to the
 * proxy (console/app_proxy.h) and, of programs that compute by themselves, to what asks them
 * (console/app_activity.h). They say so in an annotation of the object: writing the annotation anew
 * is also what brings the pod back. Where neither is there (a cluster) nothing is removed.
 */
#ifndef MUSTER_CORE_APP_H
#define MUSTER_CORE_APP_H

#include "core/job.h"
#include "core/pod_state.h"
#include "core/ports.h"

/* On an app, by those who know: when it was last used. */
#define ANNOTATION_LAST_USED "muster.dev/last-used"
#define APP_IDLE_MS (60 * 60 * INT64_C(1000))
#define APP_RECLAIM_MS (24 * 60 * 60 * INT64_C(1000))
/* How soon after their start those who know have looked at all apps. */
#define APP_WATCH_MS (10 * 60 * INT64_C(1000))
/* How a program that is not installed, and one whose files are not there yet, are told from others
 * that end. */
#define APP_EXIT_NOT_FOUND 127
#define APP_EXIT_NOT_YET 72
#define NOTEBOOK_PATH_PREFIX "/notebook" /* /notebook/NAMESPACE/NAME/ */
#define APP_NOT_INSTALLED "NotInstalled"

enum app_phase { APP_INITIALIZING, APP_RUNNING, APP_PAUSED, APP_FAILED };

struct app_look {
    const struct app_kind *kind;
    struct arena *arena;
    const struct job_snapshot *snapshot;
    const struct json *app, *status;
    int64_t now_ms;
    struct port_claim port;
    const struct json *pod, *service;  /* ours, or NULL */
    struct pod_state state;            /* of pod */
    const char *taken_by, *taken_name; /* "pod" or "service": has our name and is not ours */
    bool suspended, idle, reclaimed;
    int64_t idle_ms, reclaim_ms; /* after how long it is; less than 0: never */

    /* From the status; a look changes them. */
    int64_t start_ms, failures, retry_ms;
    const char *failed_pod;

    enum app_phase phase;
    const char *reason, *message;
};

struct app_kind {
    const struct job_kind *job;
    const char *path;           /* its address is PATH/NAMESPACE/NAME/ */
    const char *suffix;         /* its pod and its Service are NAME and this */
    const char *service_prefix; /* of its Service, before NAME; NULL: it is called as the pod */
    const char *container;      /* its program's */
    const char *program;        /* in sentences */
    int64_t port_on_cluster;
    bool runs_code; /* what its user types: to use it is to run a command in its pod */
    /* shared_network: on one machine, where the program is the machine's own and listens on the
     * loopback; else the image's. */
    struct json *(*pod_new)(struct arena *a, const struct json *app, int64_t port,
                            bool shared_network);
    /* Below its address, what says when it last did something, until NULL; and what the answers
     * mean: a time, now for one that is at it, 0 when it says nothing. NULL: only its pages count.
     */
    const char *const *activity_paths;
    int64_t (*active_ms)(const struct json *answer, int64_t now_ms);
    /* Whether pod runs what wanted would. */
    bool (*pod_fits)(const struct json *pod, const struct json *wanted);
    /* What must be there before the pod; NULL: nothing. */
    void (*plan_before)(const struct app_look *l, struct plan *plan);
    /* Set reason and message if there is something of its own to say. May be NULL. */
    bool (*explain_end)(struct app_look *l);
    bool (*explain_wait)(struct app_look *l);
};

/* How often an app's use is written down, and it is asked for: often enough for that time. */
int64_t app_touch_ms(const struct idle_times *t);

extern const struct app_kind app_kind_tensorboard, app_kind_notebook;
extern const struct app_kind *const app_kinds[]; /* ends with NULL */

bool app_is_kind(const struct kind *k);
/* Whose address path is below; NULL: nobody's. */
const struct app_kind *app_kind_at(const char *path);

/* What a struct job_kind needs. */
void app_reconcile(const struct app_kind *k, const struct job_snapshot *s, struct plan *plan);
void app_wanted_names(const struct app_kind *k, struct arena *a, const struct json *app,
                      void (*say)(void *arg, const char *name), void *arg);

/* --- its parts (app_parts.c) ------------------------------------------------------------------ */

const char *app_child_name(struct arena *a, const struct app_kind *k, const struct json *app);
const char *app_service_name(struct arena *a, const struct app_kind *k, const struct json *app);
const char *app_url(struct arena *a, const struct app_kind *k, const struct json *app);
/* With name, labels and owner. */
struct json *app_child_new(struct arena *a, const struct app_kind *k, const struct json *app,
                           const struct kind *kind);
struct json *app_service_new(struct arena *a, const struct app_kind *k, const struct json *app,
                             int64_t port, bool shared_network);
/* Whether spec.scheduler asks for a queue; it then has a PodGroup, and its pod is the one member.
 */
bool app_is_grouped(const struct json *app);
void app_set_group(struct arena *a, const struct json *app, struct json *pod);
/* The port its pod listens on; 0: not known. */
unsigned app_port(const struct app_kind *k, const struct json *pod);
/* The port it listens on, and that it is ready once it does. */
void app_set_port(struct arena *a, struct json *container, int64_t port);

#endif
