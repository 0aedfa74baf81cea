/* session.c - see session.h. One call at a time: a command line has nothing else to do
 * meanwhile. */
#include "cli/session.h"
#include "cli/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/object.h"
#include "api/status.h"
#include "base/percent.h"
#include "cli/home.h"
#include "cli/suggest.h"
#include "client/cache.h"
#include "client/client.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "client/pod_config.h"
#include "core/job.h"

#define SELECTOR_LIMIT_BYTES 4096

/* --- opening --- */

static int own_kubeconfig(struct cli *cli, const char *dir, const char **ret, struct err *err)
{
    struct home_holder holder;
    struct home home;
    int r = home_locate(&cli->arena, dir, &home, err);

    if (r)
        return r;
    r = home_find_holder(&home, &holder, err);
    if (r < 0)
        return r;
    if (r == 0) {
        err_set(err, ERR_UNAVAILABLE, words("muster is not up (data folder %s)"), home.dir);
        if (home_is_service_up(&cli->arena))
            err_hint(err, words("the system service is up: use --dir %s, or export MUSTER_HOME=%s"),
                     SERVICE_FOLDER, SERVICE_FOLDER);
        else
            err_hint(err, words("start it with: muster up --detach; or --context NAME for a "
                                "cluster of your kubeconfig"));
        return -ENOENT;
    }
    *ret = home.kubeconfig_path;
    return 0;
}

bool session_is_elsewhere(const struct session_options *o)
{
    return o->kubeconfig || o->context;
}

int session_find_cluster(struct cli *cli, const struct session_options *options, bool in_pod,
                         struct client_config *ret, struct err *err)
{
    const char *paths = options->kubeconfig ? options->kubeconfig : kubeconfig_of_user(&cli->arena);
    int r;

    if (in_pod && !session_is_elsewhere(options))
        return pod_config_load(&cli->arena, ret, err);
    if (!paths)
        return err_set(err, ERR_NOT_FOUND,
                       "there is no kubeconfig: set KUBECONFIG or --kubeconfig");
    r = kubeconfig_load(&cli->arena, paths, options->context, ret, err);
    return r ? r : client_config_login(&cli->arena, ret, -1, err);
}

/* Whether we are in a pod with its own account, whose programs act as that account. */
static bool is_in_pod(const struct session_options *o)
{
    return !o->dir && getenv("MUSTER_SERVER") && getenv("MUSTER_TOKEN");
}

bool session_uses_own_daemon(const struct session_options *o)
{
    return !session_is_elsewhere(o) && !is_in_pod(o);
}

static int find_server(struct cli *cli, const struct session_options *options,
                       struct client_config *ret, struct err *err)
{
    const char *path;
    int r;

    if (session_is_elsewhere(options))
        return session_find_cluster(cli, options, false, ret, err);
    if (is_in_pod(options))
        return session_find_cluster(cli, options, true, ret, err);
    r = own_kubeconfig(cli, options->dir, &path, err);
    return r ? r : kubeconfig_load(&cli->arena, path, NULL, ret, err);
}

int session_open(struct cli *cli, const struct session_options *options, struct session *ret,
                 struct err *err)
{
    const char *ns;
    int r;

    *ret = (struct session){.arena = &cli->arena, .own_daemon = session_uses_own_daemon(options)};
    r = find_server(cli, options, &ret->config, err);
    if (r)
        return r;
    ns = ret->config.ns;
    ret->ns = options->ns ? options->ns : ns && *ns ? ns : "default";
    ret->loop = loop_new(err);
    if (!ret->loop)
        return -ENOMEM;
    ret->transport = http_transport_new(ret->loop, &ret->config, err);
    if (!ret->transport) {
        session_close(ret);
        return -EIO;
    }
    return 0;
}

void session_close(struct session *s)
{
    transport_free(s->transport);
    if (s->loop)
        loop_free(s->loop);
    *s = (struct session){0};
}

/* --- blocking calls --- */

struct answer {
    struct session *session;
    bool done;
    struct json **ret;
    struct err *err;
    int result;
};

static void on_answer(void *arg, const struct json *object, const struct err *err)
{
    struct answer *a = arg;

    a->done = true;
    if (err) {
        a->result = err_set(a->err, err->reason, "%s", err->text);
        for (const struct err_cause *c = err->causes; c; c = c->next)
            err_cause(a->err, c->type, c->field, c->line, "%s", c->text);
        if (err->hint)
            err_hint(a->err, "%s", err->hint);
    } else if (a->ret) {
        *a->ret = json_clone(a->session->arena, object);
        a->result = *a->ret ? 0
                            : err_set(a->err, ERR_INTERNAL,
                                      "the server's answer does not fit into memory");
    }
    loop_stop(a->session->loop);
}

static int wait_for(struct answer *a)
{
    while (!a->done)
        loop_run(a->session->loop);
    return a->result;
}

int session_get(struct session *s, const struct kind *k, const char *ns, const char *name,
                struct json **ret, struct err *err)
{
    struct answer a = {.session = s, .ret = ret, .err = err};

    client_get(s->transport, k, ns, name, on_answer, &a);
    return wait_for(&a);
}

struct fetch {
    struct session *session;
    struct buf *body;
    struct err *err;
    int result;
    bool done;
};

/* It does not know the path, or hides it from unauthorized callers. */
static bool is_foreign(const struct api_reply *reply)
{
    static const char words[] = "cannot get path";

    if (reply->status == 404)
        return reply->body_len == 0 || reply->body[0] != '{';
    return reply->status == 403 && memmem(reply->body, reply->body_len, words, strlen(words));
}

static void on_fetched(void *arg, const struct api_reply *reply)
{
    struct fetch *f = arg;

    f->done = true;
    if (reply->status == 200)
        buf_add(f->body, reply->body, reply->body_len);
    else if (reply->status == 0)
        f->result = err_set(f->err, ERR_UNAVAILABLE, "%.*s", (int)reply->body_len, reply->body);
    else {
        status_to_err(reply->status, reply->body, reply->body_len, f->err);
        f->result = -EREMOTEIO;
    }
    if (f->body->failed)
        f->result = err_set(f->err, ERR_INTERNAL, "the answer does not fit into memory");
    if (reply->status != 0 && is_foreign(reply))
        f->result = -ENOTSUP;
    loop_stop(f->session->loop);
}

int session_fetch(struct session *s, const char *path, struct buf *body, struct err *err)
{
    struct fetch f = {.session = s, .body = body, .err = err};

    transport_call(s->transport, &(struct api_call){.method = "GET", .path = path}, on_fetched, &f);
    while (!f.done)
        loop_run(s->loop);
    return f.result;
}

int session_list(struct session *s, const struct kind *k, const char *ns, const char *query,
                 struct json **ret, struct err *err)
{
    struct answer a = {.session = s, .ret = ret, .err = err};

    client_list(s->transport, k, ns, query, on_answer, &a);
    return wait_for(&a);
}

int session_create(struct session *s, const struct kind *k, const struct json *object,
                   struct json **ret, struct err *err)
{
    struct answer a = {.session = s, .ret = ret, .err = err};

    client_create(s->transport, k, object, on_answer, &a);
    return wait_for(&a);
}

int session_patch(struct session *s, const struct kind *k, const char *ns, const char *name,
                  const struct json *patch, struct err *err)
{
    struct answer a = {.session = s, .err = err};

    client_patch(s->transport, k, ns, name, "", patch, on_answer, &a);
    return wait_for(&a);
}

int session_delete(struct session *s, const struct kind *k, const char *ns, const char *name,
                   const char *uid, struct err *err)
{
    struct answer a = {.session = s, .err = err};

    client_delete(s->transport, k, ns, name, uid, -1, "Background", on_answer, &a);
    return wait_for(&a);
}

const char *session_selector(struct arena *a, const char *which, const char *key, const char *value)
{
    struct buf out = BUF_INIT(SELECTOR_LIMIT_BYTES);
    const char *text;

    buf_addf(&out, "%s=", which);
    percent_encode(&out, key);
    percent_encode(&out, "=");
    percent_encode(&out, value);
    text = out.failed ? NULL : arena_strndup(a, out.data, out.len);
    buf_release(&out);
    return text;
}

/* --- jobs --- */

static int by_age(const void *a, const void *b)
{
    const struct json *x = *(struct json *const *)a, *y = *(struct json *const *)b;
    int64_t x_ms = object_created_ms(x), y_ms = object_created_ms(y);

    return x_ms != y_ms ? (x_ms > y_ms ? -1 : 1) : strverscmp(object_name(y), object_name(x));
}

/* Items of every job kind, newest first. */
static int sort_jobs(struct arena *a, struct json *const *lists, size_t lists_len, size_t len,
                     struct json *items)
{
    struct json **all = arena_alloc(a, max_size(len, 1) * sizeof(*all));
    size_t n = 0;

    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < lists_len; i++)
        for (struct json *job = json_first_mut(json_get_mut(lists[i], "items")); job;
             job = job->next)
            all[n++] = job;
    qsort(all, n, sizeof(struct json *), by_age);
    for (size_t i = 0; i < n; i++)
        (void)json_append(items, json_clone(a, all[i]));
    return 0;
}

const char *session_labels_query(struct arena *a, const char *labels)
{
    struct buf query = BUF_INIT(SELECTOR_LIMIT_BYTES);
    const char *text;

    buf_adds(&query, "labelSelector=");
    percent_encode(&query, labels);
    text = query.failed ? NULL : arena_strndup(a, query.data, query.len);
    buf_release(&query);
    return text;
}

int session_list_jobs(struct session *s, const char *ns, const char *labels, struct json **ret,
                      struct err *err)
{
    struct json *all = json_new_object(s->arena), *lists[JOB_KINDS_LIMIT] = {NULL};
    const char *query = labels ? session_labels_query(s->arena, labels) : NULL;
    size_t kinds_len = 0, len = 0;
    int r = !labels || query ? 0 : err_set(err, ERR_BAD_REQUEST, "too many labels: %s", labels);

    for (; r == 0 && job_kinds[kinds_len] && kinds_len < ELEMS(lists); kinds_len++) {
        const struct kind *k = job_kinds[kinds_len]->kind;

        r = session_list(s, k, ns, query, &lists[kinds_len], err);
        for (struct json *job = json_first_mut(json_get_mut(lists[kinds_len], "items")); job;
             job = job->next, len++) {
            json_set_string(s->arena, job, "apiVersion", kind_api_version(s->arena, k));
            json_set_string(s->arena, job, "kind", k->name);
        }
    }
    if (r)
        return r;
    json_set_string(s->arena, all, "apiVersion", "v1");
    json_set_string(s->arena, all, "kind", "List");
    if (sort_jobs(s->arena, lists, kinds_len, len, json_make_array(s->arena, all, "items")) ||
        arena_failed(s->arena))
        return err_set(err, ERR_INTERNAL, "out of memory");
    *ret = all;
    return 0;
}

/* If a job of exactly that name has another kind, suggests it with its kind. */
static void suggest_job(struct session *s, const char *name, struct err *err)
{
    auto_err ignored = ERR_INIT;
    struct json *list = NULL;
    struct suggest near;

    suggest_init(&near, name);
    if (session_list_jobs(s, s->ns, NULL, &list, &ignored))
        return;
    json_each (job, json_get(list, "items")) {
        if (strcmp(object_name(job), name) == 0) {
            err_hint(err, "did you mean the %s '%s'?", json_get_string(job, "kind", "job"), name);
            return;
        }
        suggest_offer(&near, object_name(job));
    }
    if (near.best)
        err_hint(err, words("did you mean '%s'?"), near.best);
    else
        err_hint(err, words("'muster ps' lists the jobs; -n chooses the namespace"));
}

/* "job" is the kind `muster run` creates, or any kind of job where an existing one is meant. */
static bool is_any_job(const char *word, size_t len)
{
    return (len == 3 && strncmp(word, "job", len) == 0) ||
           (len == 4 && strncmp(word, "jobs", len) == 0);
}

bool session_kind_is_called(const struct kind *k, const char *word, size_t len)
{
    const char *dot = memchr(word, '.', len);
    const char *const *names = k->short_names;

    if (dot && (strlen(k->group) != len - (size_t)(dot + 1 - word) ||
                strncmp(dot + 1, k->group, strlen(k->group)) != 0))
        return false;
    len = dot ? (size_t)(dot - word) : len;
    if ((strlen(k->singular) == len && strncasecmp(word, k->singular, len) == 0) ||
        (strlen(k->plural) == len && strncasecmp(word, k->plural, len) == 0))
        return true;
    for (; names && *names; names++)
        if (strlen(*names) == len && strncasecmp(word, *names, len) == 0)
            return true;
    return false;
}

const struct kind *session_find_kind(const char *word, size_t len, struct err *err)
{
    struct suggest near;
    char name[64] = "";

    if (is_any_job(word, len))
        return &kind_pytorch_training_job;
    for (size_t i = 0; kinds[i]; i++)
        if (!kinds[i]->refused && session_kind_is_called(kinds[i], word, len))
            return kinds[i];
    memcpy(name, word, min_size(len, sizeof(name) - 1));
    suggest_init(&near, name);
    for (size_t i = 0; kinds[i]; i++)
        if (!kinds[i]->refused)
            suggest_offer(&near, kinds[i]->singular);
    err_set(err, ERR_NOT_FOUND, words("unknown kind '%s'"), name);
    if (near.best)
        err_hint(err, words("did you mean %s?"), near.best);
    else
        err_hint(err, words("'muster explain' lists the kinds"));
    return NULL;
}

/* The kind of job in KIND/NAME; any for job/NAME and a bare name. */
static int wanted_kind(const char *word, const struct kind **ret, const char **ret_name,
                       struct err *err)
{
    const char *slash = strchr(word, '/');
    struct buf known = BUF_INIT(1024);

    *ret = NULL;
    *ret_name = slash ? slash + 1 : word;
    if (!slash || is_any_job(word, (size_t)(slash - word)))
        return 0;
    for (size_t i = 0; job_kinds[i]; i++) {
        if (session_kind_is_called(job_kinds[i]->kind, word, (size_t)(slash - word)))
            *ret = job_kinds[i]->kind;
        buf_addf(&known, "%s%s", i ? ", " : "", job_kinds[i]->kind->singular);
    }
    if (!*ret) {
        err_set(err, ERR_BAD_REQUEST, words("'%.*s' is not a kind of job"), (int)(slash - word),
                word);
        err_hint(err, words("kinds of jobs: %s"), known.data ? known.data : "");
    }
    buf_release(&known);
    return *ret ? 0 : -EINVAL;
}

static int say_ambiguous(const struct kind *one, const struct kind *other, const char *name,
                         struct err *err)
{
    int r = err_set(err, ERR_BAD_REQUEST, words("two jobs are called '%s': %s/%s and %s/%s"), name,
                    one->singular, name, other->singular, name);

    err_hint(err, words("say which: %s/%s"), one->singular, name);
    return r;
}

int session_find_job(struct session *s, const char *word, const struct kind **ret_kind,
                     struct json **ret_job, struct err *err)
{
    const struct kind *only, *found = NULL;
    const char *name;
    int r = wanted_kind(word, &only, &name, err);

    for (size_t i = 0; r == 0 && job_kinds[i]; i++) {
        const struct kind *k = job_kinds[i]->kind;
        auto_err attempt = ERR_INIT;
        struct json *job = NULL;

        if (only && k != only)
            continue;
        r = session_get(s, k, s->ns, name, &job, &attempt);
        if (r == 0 && found)
            return say_ambiguous(found, k, name, err);
        if (r == 0) {
            found = *ret_kind = k;
            *ret_job = job;
        } else if (attempt.reason == ERR_NOT_FOUND) {
            r = 0;
        } else {
            err_move(err, &attempt);
        }
    }
    if (r || found)
        return r;
    err_set(err, ERR_NOT_FOUND, words("no %s '%s' in namespace %s"), only ? only->singular : "job",
            name, s->ns);
    suggest_job(s, name, err);
    return -ENOENT;
}

static int find_of_kind(struct session *s, const struct kind *k, const char *name,
                        struct json **ret, struct err *err)
{
    const char *ns = !k->namespaced ? NULL : k == &kind_queue ? QUEUE_NAMESPACE : s->ns;
    int r = session_get(s, k, ns, name, ret, err);

    if (r == 0 || err->reason != ERR_NOT_FOUND || !ns)
        return r;
    err_release(err);
    err_set(err, ERR_NOT_FOUND, words("no %s '%s' in namespace %s"), k->singular, name, ns);
    err_hint(err, words("-n chooses the namespace"));
    return r;
}

int session_find_object(struct session *s, const char *word, const struct kind **ret_kind,
                        struct json **ret, struct err *err)
{
    const char *slash = strchr(word, '/'), *name = slash ? slash + 1 : word;
    const struct kind *k = slash ? &kind_job : &kind_pod;
    auto_err attempt = ERR_INIT;
    int r;

    if (slash && !is_any_job(word, (size_t)(slash - word))) {
        *ret_kind = session_find_kind(word, (size_t)(slash - word), err);
        return *ret_kind ? find_of_kind(s, *ret_kind, name, ret, err) : -ENOENT;
    }
    r = session_find_job(s, word, ret_kind, ret, err);
    if (r == 0 || err->reason != ERR_NOT_FOUND || session_get(s, k, s->ns, name, ret, &attempt))
        return r;
    err_release(err);
    *ret_kind = k;
    return 0;
}

struct removal {
    struct session *session;
    struct err *err;
    struct cache *jobs, *pods;
    const char *ns, *name, *uid;
};

static bool found_one(void *arg, const struct json *object)
{
    (void)object;
    *(bool *)arg = true;
    return false;
}

static bool is_gone(const struct removal *r)
{
    const struct json *job;
    bool pods_left = false;

    if (!cache_is_synced(r->jobs) || !cache_is_synced(r->pods))
        return false;
    job = cache_get(r->jobs, r->ns, r->name);
    if (job && strcmp(object_uid(job), r->uid) == 0)
        return false;
    cache_each_of_controller(r->pods, r->uid, found_one, &pods_left);
    return !pods_left;
}

static void removal_check(void *arg)
{
    struct removal *r = arg;

    if (is_gone(r))
        loop_stop(r->session->loop);
}

static void removal_changed(void *arg, enum cache_event event, const struct json *object,
                            const struct json *old)
{
    (void)event, (void)object, (void)old;
    removal_check(arg);
}

/* The job is deleted anyway; without the right to see its pods we cannot tell when they are
 * gone. */
static void removal_trouble(void *arg, const struct err *err)
{
    struct removal *r = arg;

    if (err->reason != ERR_FORBIDDEN || err_is_set(r->err))
        return;
    err_set(r->err, err->reason, "the job is being removed, but its end cannot be observed: %s",
            err->text);
    loop_stop(r->session->loop);
}

static struct cache *removal_cache(struct removal *r, const struct kind *k, const char *query)
{
    struct cache_options options = {.transport = r->session->transport,
                                    .clock = loop_clock(r->session->loop),
                                    .kind = k,
                                    .ns = r->ns,
                                    .query = query,
                                    .on_change = removal_changed,
                                    .on_synced = removal_check,
                                    .on_trouble = removal_trouble,
                                    .arg = r};

    return query ? cache_new(&options) : NULL;
}

int session_remove_job(struct session *s, const struct kind *k, const struct json *job,
                       struct err *err)
{
    struct removal r = {.session = s,
                        .err = err,
                        .ns = object_namespace(job),
                        .name = object_name(job),
                        .uid = object_uid(job)};
    int result = session_delete(s, k, r.ns, r.name, r.uid, err);

    if (result)
        return result;
    r.jobs = removal_cache(&r, k,
                           session_selector(s->arena, "fieldSelector", "metadata.name", r.name));
    r.pods = removal_cache(&r, &kind_pod,
                           session_selector(s->arena, "labelSelector", LABEL_OWNER_NAME, r.name));
    if (!r.jobs || !r.pods)
        result = err_set(err, ERR_INTERNAL, "out of memory");
    while (result == 0 && !is_gone(&r)) {
        loop_run(s->loop);
        result = err_is_set(err) ? -EACCES : 0;
    }
    if (r.jobs)
        cache_free(r.jobs);
    if (r.pods)
        cache_free(r.pods);
    return result;
}
