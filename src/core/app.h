/*
 * app.h - programs that run until stopped and are used in a browser: the decisions about one (as a
 * struct job_kind like the jobs', so that one controller runs them all), and names shared by its
 * parts. The differences between TensorBoard and the others are in struct app_kind. Pure.
 *
 * An app unused for an hour is Idle; after a day its pod is removed. Use is observed by the proxy
 * (console/app_proxy.h) and, for programs that compute on their own, by polling them
 * (console/app_activity.h). Both record it in an annotation of the object; a new value also brings
 * the pod back. Where neither runs (on a cluster) nothing is removed.
 */
#ifndef MUSTER_CORE_APP_H
#define MUSTER_CORE_APP_H

#include "core/job.h"
#include "core/pod_state.h"
#include "core/ports.h"

/* On an app, by those observers: when it was last used. */
#define ANNOTATION_LAST_USED "muster.dev/last-used"
#define ANNOTATION_LAST_SSH "muster.dev/last-ssh" /* and by ssh */
#define APP_IDLE_MS (60 * 60 * INT64_C(1000))
#define APP_RECLAIM_MS (24 * 60 * 60 * INT64_C(1000))
/* How long after their start the observers have checked all apps. */
#define APP_WATCH_MS (10 * 60 * INT64_C(1000))
/* Exit codes that distinguish a missing program or missing files from other failures. */
#define APP_EXIT_NOT_FOUND 127
#define APP_EXIT_NOT_YET 72
#define APP_EXIT_PORT_TAKEN 73
#define APP_EXIT_SSH_PORT_TAKEN 74
/* Shell fragment: exits with CODE if anything listens on the port, given as a number or a variable.
 * Programs do not reliably say why they end. */
#define APP_CHECK_PORT(PORT, CODE)                                                                 \
    "! grep -qs \"^ *[0-9]*: [0-9A-F]*:$(printf %04X " PORT ") [0-9A-F]*:0000 0A\" "               \
    "/proc/net/tcp /proc/net/tcp6 || "                                                             \
    "{ echo \"port " PORT " is taken by another program\" >&2; exit " STRINGIFY(CODE) "; }; "
#define APP_PORT_VARIABLE "MUSTER_APP_PORT"
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
    bool ssh;                   /* it has an ssh server, with a port and a Service of its own */
    struct port_claim ssh_port; /* stays leased after ssh was switched off, until it is given
                                 * back */
    const struct json *pod, *service, *ssh_service; /* ours, or NULL */
    struct pod_state state;                         /* of pod */
    const char *taken_by, *taken_name; /* "pod" or "service": an object with our name that is not
                                        * ours */
    bool suspended, idle, reclaimed;
    int64_t idle_ms, reclaim_ms; /* after how long; negative: never */

    /* From the status; updated by a pass. */
    int64_t start_ms, failures, retry_ms;
    const char *failed_pod;

    enum app_phase phase;
    const char *reason, *message;
};

struct app_kind {
    const struct job_kind *job;
    const char *path;           /* its address is PATH/NAMESPACE/NAME/ */
    const char *suffix;         /* of the names of its pod and Service */
    const char *service_prefix; /* of its Service's name, instead of the suffix; NULL: named like
                                 * the pod */
    const char *container;      /* the container that runs the program */
    const char *program;        /* its name in messages */
    int64_t port_on_cluster;
    bool runs_code; /* using it means running arbitrary commands in its pod */
    /* shared_network: on a single machine, where the program is the machine's own and listens on
     * the loopback; otherwise the image's. */
    struct json *(*pod_new)(const struct app_look *l);
    /* Addresses below its own that report its last activity, NULL-terminated; and how to read the
     * answers: a time, now if it is busy, 0 if unknown. NULL: only page use counts. */
    const char *const *activity_paths;
    int64_t (*active_ms)(const struct json *answer, int64_t now_ms);
    /* Whether pod already matches wanted. */
    bool (*pod_fits)(const struct json *pod, const struct json *wanted);
    /* Adds to status and its conditions; NULL: nothing. */
    void (*add_status)(const struct app_look *l, struct json *status, struct plan *plan);
    /* What must exist before the pod; NULL: nothing. */
    void (*plan_before)(const struct app_look *l, struct plan *plan);
    /* Sets reason and message if the kind has its own explanation. May be NULL. */
    bool (*explain_end)(struct app_look *l);
    bool (*explain_wait)(struct app_look *l);
};

/* How often an app's use is recorded and polled: often enough for those times. */
int64_t app_touch_ms(const struct idle_times *t);

extern const struct app_kind app_kind_tensorboard, app_kind_notebook;
extern const struct app_kind *const app_kinds[]; /* ends with NULL */

bool app_is_kind(const struct kind *k);
/* The kind whose addresses contain path, or NULL. */
const struct app_kind *app_kind_at(const char *path);

/* For struct job_kind. */
void app_reconcile(const struct app_kind *k, const struct job_snapshot *s, struct plan *plan);
void app_wanted_names(const struct app_kind *k, struct arena *a, const struct json *app,
                      void (*say)(void *arg, const char *name), void *arg);

/* --- its objects (app_parts.c) ---------------------------------------------------------------- */

const char *app_child_name(struct arena *a, const struct app_kind *k, const struct json *app);
const char *app_service_name(struct arena *a, const struct app_kind *k, const struct json *app);
const char *app_ssh_service_name(struct arena *a, const struct json *app);
const char *app_url(struct arena *a, const struct app_kind *k, const struct json *app);
/* With name, labels and owner. */
struct json *app_child_new(struct arena *a, const struct app_kind *k, const struct json *app,
                           const struct kind *kind);
struct json *app_service_new(const struct app_look *l, const char *name, const char *port_name,
                             int64_t port);
/* One of its conditions, which keeps the time at which it last changed. */
void app_set_condition(const struct app_look *l, struct json *list, const char *type,
                       const char *word, const char *reason, const char *message);
/* Sets an environment variable unless it has one of that name. */
void app_set_variable(struct arena *a, struct json *container, const char *name, const char *value);
void app_set_port_variable(struct arena *a, struct json *container, int64_t port);
/* Whether spec.scheduler names a queue; it then has a PodGroup with its pod as the only member. */
bool app_is_grouped(const struct json *app);
void app_set_group(struct arena *a, const struct json *app, struct json *pod);
/* The port its pod listens on; 0: unknown. */
unsigned app_port(const struct app_kind *k, const struct json *pod);
#define APP_SSH_PORT "muster-ssh" /* the name of the port of its ssh server */
unsigned app_ssh_port(const struct app_kind *k, const struct json *pod);
/* Sets the port, with a readiness probe on it. */
void app_set_port(struct arena *a, struct json *container, int64_t port);

#endif
