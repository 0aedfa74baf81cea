/* version.c - /version, metrics and health. The server is ready once the standard objects are on
 * disk and visible: a client that waits for it may ask for the default namespace next. */

#include <string.h>

#include "net/metrics.h"
#include "server/internal.h"
#include "server/rbac.h"
#include "server/request_metrics.h"

#define METRICS_LIMIT_BYTES (256u * 1024u)
#define VERSION_TEXT "v1.32.0+muster"
#define READY_WAIT_MS 30000

const char *server_version_text(void)
{
    return VERSION_TEXT;
}

static const struct {
    const char *name, *value;
} version_fields[] = {
    {"major", "1"},
    {"minor", "32"}, /* the kubectl dispatcher picks the client by it */
    {"gitVersion", VERSION_TEXT},
    {"gitCommit", ""},
    {"gitTreeState", "clean"},
    {"buildDate", "1970-01-01T00:00:00Z"},
    {"goVersion", ""},
    {"compiler", "cc"},
    {"platform", "linux/amd64"},
};

int verb_version(struct server_request *r, struct err *err)
{
    struct json *v = json_new_object(r->arena);

    (void)err;
    for (size_t i = 0; i < ELEMS(version_fields); i++)
        json_set_string(r->arena, v, version_fields[i].name, version_fields[i].value);
    reply_json(r, 200, v);
    return 0;
}

int verb_health(struct server_request *r, struct err *err)
{
    struct buf b = BUF_INIT(64);

    (void)err;
    buf_adds(&b, "ok");
    reply_buf(r, 200, "text/plain; charset=utf-8", &b);
    return 0;
}

/* --- metrics --------------------------------------------------------------------------- */

#define PHASES_LIMIT 16

struct phases {
    struct arena *arena;
    struct {
        const char *name;
        size_t count;
    } all[PHASES_LIMIT];
    size_t len;
};

static bool count_phase(void *arg, const struct store_item *item)
{
    struct phases *p = arg;
    struct arena_mark begin = arena_mark(p->arena);
    const struct json *object = blob_parse(p->arena, item->value, NULL);
    const char *phase = json_string(json_at(object, "status", "phase"), "");
    size_t i = 0;

    while (i < p->len && strcmp(p->all[i].name, phase) != 0)
        i++;
    if (i < p->len) {
        arena_rewind(p->arena, &begin);
        p->all[i].count++;
    } else if (*phase && i < PHASES_LIMIT) { /* its text stays in the arena */
        p->all[p->len].name = phase;
        p->all[p->len++].count = 1;
    } else {
        arena_rewind(p->arena, &begin);
    }
    return true;
}

static void add_phases(struct server_request *r, struct buf *out)
{
    static const struct kind *const phased[] = {&kind_pod, &kind_pytorch_training_job,
                                                &kind_mpi_job}; /* their phases are of our choice */
    static const char name[] = "muster_objects";

    buf_addf(out, "# HELP %s Pods and jobs by phase.\n# TYPE %s gauge\n", name, name);
    for (size_t i = 0; i < ELEMS(phased); i++) {
        struct phases p = {.arena = r->arena};

        store_list(server_collection(r->server, phased[i]), "", NULL, count_phase, &p);
        for (size_t n = 0; n < p.len; n++)
            buf_addf(out, "%s{resource=\"%s\",phase=\"%s\"} %zu\n", name,
                     resource_name(r->arena, phased[i]), p.all[n].name, p.all[n].count);
    }
}

int verb_metrics(struct server_request *r, struct err *err)
{
    static const char name[] = "apiserver_storage_objects";
    const struct access what = {.verb = "get", .path = METRICS_PATH};
    struct buf b = BUF_INIT(METRICS_LIMIT_BYTES);
    int rc = rbac_check_access(r, &what, err);

    if (rc < 0)
        return rc;
    buf_addf(&b, "# HELP %s Objects stored.\n# TYPE %s gauge\n", name, name);
    for (size_t i = 0; r->server->kinds[i]; i++) {
        const struct kind *k = r->server->kinds[i], *last = i ? r->server->kinds[i - 1] : NULL;
        struct store_collection *c = server_collection(r->server, k);
        bool again = last && strcmp(last->plural, k->plural) == 0 &&
                     strcmp(last->group, k->group) == 0; /* another version of it */

        if (c && !again)
            buf_addf(&b, "%s{resource=\"%s\"} %zu\n", name, resource_name(r->arena, k),
                     store_count(c));
    }
    metrics_add(&b, "muster_store_revision", "counter", "Newest committed write.",
                (double)store_revision(r->server->store));
    add_phases(r, &b);
    request_metrics_write(r->server->metrics, &b);
    metrics_add_process(&b);
    reply_buf(r, 200, METRICS_TYPE, &b);
    return 0;
}

static void first_objects_came(void *arg, bool reached)
{
    auto_err err = ERR_INIT;

    if (!reached)
        (void)err_set(&err, ERR_UNAVAILABLE, "the server's first objects are not on disk yet");
    if (!reached || verb_health(arg, &err) < 0)
        reply_err(arg, &err);
}

int verb_ready(struct server_request *r, struct err *err)
{
    struct server *s = r->server;

    if (store_revision(s->store) >= s->first_revision)
        return verb_health(r, err);
    if (!s->first_collection)
        s->first_collection = server_collection(s, &kind_service_account);
    if (wait_for_revision(s, s->first_collection, s->first_revision, READY_WAIT_MS,
                          first_objects_came, r) < 0)
        return out_of_memory(err);
    return 0;
}
