/*
 * session.h - a command's connection to the API: its own loop and transport, and blocking calls.
 * Logs and watches, which need a loop of their own, use transport and loop directly.
 */
#ifndef MUSTER_CLI_SESSION_H
#define MUSTER_CLI_SESSION_H

#include "api/kind.h"
#include "cli/command.h"
#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "port/transport.h"

/* Options of every command that talks to the API. */
struct session_options {
    const char *dir, *kubeconfig, *context, *ns;
};

/* Whether they name a server other than this machine's. */
bool session_is_elsewhere(const struct session_options *options);
/* Whether it is the data folder's, and not that of the pod we are in. */
bool session_uses_own_daemon(const struct session_options *options);
/* The API's address and our credentials: from the options' file or context, else, when in_pod, from
 * the pod we are in. Runs a plugin if needed. */
int session_find_cluster(struct cli *cli, const struct session_options *options, bool in_pod,
                         struct client_config *ret, struct err *err) must_check;

/* clang-format off */
#define SESSION_OPTIONS(own, member) \
    OPTION_OF_TEXT(own, member.ns, "namespace", "NAME", "namespace (default: default)", \
                   .letter = 'n'), \
    OPTION_OF_TEXT(own, member.dir, "dir", "DIR", \
                   "data folder (default: $MUSTER_HOME, else ~/.muster)"), \
    OPTION_OF_TEXT(own, member.context, "context", "NAME", \
                   "use this context of the kubeconfig ($KUBECONFIG, else ~/.kube/config)"), \
    OPTION_OF_TEXT(own, member.kubeconfig, "kubeconfig", "FILE", \
                   "use this server instead of the data folder's")
/* clang-format on */

struct session {
    struct loop *loop;
    struct transport *transport;
    struct arena *arena; /* the command's: answers are allocated there */
    const char *ns;
    struct client_config config;
    bool own_daemon; /* the data folder's: programs run on this machine */
};

int session_open(struct cli *cli, const struct session_options *options, struct session *ret,
                 struct err *err) must_check;
void session_close(struct session *s);

/* Each blocks until its answer. *ret (may be NULL) is in the command's arena. */
int session_get(struct session *s, const struct kind *k, const char *ns, const char *name,
                struct json **ret, struct err *err) must_check;
int session_list(struct session *s, const struct kind *k, const char *ns, const char *query,
                 struct json **ret, struct err *err) must_check;
int session_create(struct session *s, const struct kind *k, const struct json *object,
                   struct json **ret, struct err *err) must_check;
int session_patch(struct session *s, const struct kind *k, const char *ns, const char *name,
                  const struct json *patch, struct err *err) must_check;
int session_delete(struct session *s, const struct kind *k, const char *ns, const char *name,
                   const char *uid, struct err *err) must_check;

/* GET of any path; appends the body. -ENOTSUP, also in err: the server does not know such paths, so
 * it is not ours. */
int session_fetch(struct session *s, const char *path, struct buf *body,
                  struct err *err) must_check;

/* "labelSelector=key%3Dvalue", in the arena. */
const char *session_selector(struct arena *a, const char *which, const char *key,
                             const char *value);

#define JOB_KINDS_LIMIT 8u
/* "labelSelector=a%3Db" for "a=b", in the arena; NULL: too long. */
const char *session_labels_query(struct arena *a, const char *labels);
/* The jobs of all kinds with these labels (NULL: any), newest first, as one List; ns NULL: in every
 * namespace. */
int session_list_jobs(struct session *s, const char *ns, const char *labels, struct json **ret,
                      struct err *err) must_check;

/* "mpijob", "mpijobs", "MPIJob" or a short name, as in kubectl; optionally followed by a group. */
bool session_kind_is_called(const struct kind *k, const char *word, size_t len);

/* The kind of that name; job is the one `muster run` creates. NULL: unknown, with a suggestion. */
const struct kind *session_find_kind(const char *word, size_t len, struct err *err) must_check;

/* Finds a job by NAME among all job kinds, or by KIND/NAME. An ambiguous name is an error; not
 * found: ERR_NOT_FOUND with the nearest name as hint. */
int session_find_job(struct session *s, const char *word, const struct kind **ret_kind,
                     struct json **ret_job, struct err *err) must_check;

/* Finds an object of any kind by KIND/NAME. A bare NAME is a job's, else a pod's; queues are found
 * in their own namespace. */
int session_find_object(struct session *s, const char *word, const struct kind **ret_kind,
                        struct json **ret, struct err *err) must_check;

/* Deletes a job and waits until it and everything that ran for it is gone. */
int session_remove_job(struct session *s, const struct kind *k, const struct json *job,
                       struct err *err) must_check;

#endif
