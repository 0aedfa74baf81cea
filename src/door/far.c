/* far.c - see far.h. Finds nodes, and requests from them what is answered with bytes: logs,
 * samples, usage. Two-way streams are in far_session.c. */
#include "door/far.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/list.h"
#include "base/percent.h"
#include "base/timefmt.h"
#include "client/http_transport.h"
#include "door/door_internal.h"
#include "door/far_internal.h"
#include "net/query.h"
#include "net/relay.h"

#define PATH_LIMIT_BYTES (16u * 1024u)
#define HELD_BYTES (256u * 1024u) /* of an unread log; then the node waits */
#define HELD_LIMIT_BYTES                                                                           \
    (1024u * 1024u) /* ... including what arrives before the pause takes                           \
                     * effect */
#define WHOLE_LIMIT_BYTES (16u * 1024u * 1024u)
#define SAID_LIMIT_BYTES 1024u /* of a node's message in a sentence */
#define CREDENTIAL_MS ((int64_t)30 * 24 * 3600 * 1000)
#define OUR_USER "muster:server"
#define OUR_GROUP "system:masters"

static struct far *far_of(struct node_directory *d)
{
    return container_of(d, struct far, directory);
}

static struct far_node *node_of(struct node *n)
{
    return container_of(n, struct far_node, node);
}

static int64_t now_ms(const struct far *f)
{
    return clock_now_ms(loop_clock(f->loop));
}

/* --- errors ------------------------------------------------------------------------------- */

void far_refusal(const struct far_node *n, int status, const char *text, size_t len,
                 struct err *err)
{
    char said[SAID_LIMIT_BYTES];

    (void)snprintf(said, sizeof(said), "%.*s", (int)min_size(len, sizeof(said) - 1), text);
    for (char *c = said; *c; c++)
        *c = (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c;
    if (status == 0)
        (void)err_set(err, ERR_UNAVAILABLE, "%s does not answer: %s", n->who, said);
    else if (status == 401 || status == 403) /* we lack the right, not the caller */
        (void)err_set(err, ERR_UNAVAILABLE, "%s refuses the API server: %s", n->who, said);
    else
        (void)err_set(err, err_reason_from_code(status, ERR_UNAVAILABLE), "%s",
                      *said ? said : "the node gave no reason");
}

int far_may_ask(const struct far *f, struct err *err)
{
    if (f->stopped)
        return err_set(err, ERR_UNAVAILABLE, "the server is stopping");
    if (f->asks >= FAR_ASKS_LIMIT)
        return err_set(err, ERR_TOO_MANY_REQUESTS, "%u requests to nodes are already under way",
                       FAR_ASKS_LIMIT);
    return 0;
}

/* --- one GET ------------------------------------------------------------------------------ */

/* Called once; body NULL: err says why. */
typedef void whole_fn(void *arg, const struct buf *body, const struct err *err);

struct far_get {
    struct relay relay; /* of a log; holds a complete answer too */
    struct far_get *prev, *next;
    struct far_node *node;
    struct api_stream *api;
    struct clock_timer *timer; /* until the answer begins */
    node_log_fn *log_fn;       /* for a log; NULL once called */
    whole_fn *whole_fn;
    void *arg;
};

static void get_free(struct far_get *g)
{
    struct far *f = g->node->far;

    if (g->api)
        transport_close(g->node->transport, g->api);
    clock_stop(loop_clock(f->loop), g->timer);
    list_remove(&f->gets, g);
    f->asks--;
    far_node_release(g->node);
    buf_release(&g->relay.held);
    free(g);
}

static void get_failed(struct far_get *g, const struct err *err)
{
    node_log_fn *log_fn = g->log_fn;
    whole_fn *fn = g->whole_fn;
    void *arg = g->arg;

    get_free(g);
    if (log_fn)
        log_fn(arg, NULL, err);
    else
        fn(arg, NULL, err);
}

static void on_time(void *arg)
{
    struct far_get *g = arg;
    auto_err err = ERR_INIT;

    g->timer = NULL;
    (void)err_set(&err, ERR_TIMEOUT, "%s does not answer at %s", g->node->who, g->node->url);
    get_failed(g, &err);
}

static void on_open(void *arg)
{
    struct far_get *g = arg;
    node_log_fn *fn = g->log_fn;

    if (!fn)
        return; /* the complete answer must arrive in time, not only its start */
    clock_stop(loop_clock(g->node->far->loop), g->timer);
    g->timer = NULL;
    g->log_fn = NULL;
    fn(g->arg, &g->relay.stream, NULL);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct far_get *g = arg;

    (void)relay_add(&g->relay, data, len); /* too much: the reader learns of it, and closes */
}

static void on_end(void *arg, const struct api_reply *reply)
{
    struct far_get *g = arg;
    auto_err err = ERR_INIT;

    g->api = NULL;
    if (!g->whole_fn && (!g->log_fn || reply->status == 200)) {
        relay_end(&g->relay, g->relay.broken || reply->status != 200);
        if (g->log_fn)
            on_open(g);
        return;
    }
    if (reply->status != 200)
        far_refusal(g->node, reply->status, reply->body, reply->body_len, &err);
    else if (g->relay.held.failed)
        (void)err_set(&err, ERR_UNAVAILABLE, "the answer of %s is too large", g->node->who);
    if (err_is_set(&err)) {
        get_failed(g, &err);
    } else if (g->whole_fn) {
        whole_fn *fn = g->whole_fn;
        void *fn_arg = g->arg;
        struct buf body = g->relay.held;

        buf_init(&g->relay.held, 0);
        get_free(g);
        fn(fn_arg, &body, NULL);
        buf_release(&body);
    }
}

static void pause_log(struct relay *r, bool paused)
{
    struct far_get *g = container_of(r, struct far_get, relay);

    transport_pause(g->node->transport, g->api, paused);
}

static void close_log(struct relay *r)
{
    get_free(container_of(r, struct far_get, relay));
}

/* Exactly one of the functions is given; immediate errors are reported before this returns. */
static void get(struct far_node *n, const struct buf *path, node_log_fn *log_fn, whole_fn *whole,
                void *arg)
{
    static const struct api_stream_handler events = {
        .on_open = on_open, .on_data = on_data, .on_end = on_end};
    struct api_stream_handler handler = events;
    struct far *f = n->far;
    auto_err err = ERR_INIT;
    struct far_get *g = far_may_ask(f, &err) == 0 ? calloc(1, sizeof(*g)) : NULL;

    if (!g) {
        (void)door_out_of_memory(&err); /* unless already set */
        if (log_fn)
            log_fn(arg, NULL, &err);
        else
            whole(arg, NULL, &err);
        return;
    }
    relay_init(&g->relay, log_fn ? HELD_BYTES : SIZE_MAX,
               log_fn ? HELD_LIMIT_BYTES : WHOLE_LIMIT_BYTES, pause_log, close_log);
    g->node = n;
    g->log_fn = log_fn;
    g->whole_fn = whole;
    g->arg = arg;
    far_node_hold(n);
    list_push(&f->gets, g);
    f->asks++;
    handler.arg = g;
    g->timer = clock_start(loop_clock(f->loop), FAR_WAIT_MS, on_time, g);
    g->api = g->timer && !path->failed ? transport_open(n->transport, path->data, &handler) : NULL;
    if (!g->api) {
        (void)door_out_of_memory(&err);
        get_failed(g, &err);
    }
}

/* --- logs --------------------------------------------------------------------------------- */

static void add_words(struct buf *path, const char *const *words)
{
    for (; *words; words++) {
        buf_addc(path, '/');
        percent_encode(path, *words);
    }
}

static void open_log(struct node *node, const struct node_pod *pod, const char *container,
                     const struct node_log_options *o, node_log_fn *fn, void *arg)
{
    const char *const words[] = {"containerLogs", pod->ns, pod->name, container, NULL};
    const struct node_log_search *search = &o->search;
    const struct {
        const char *name;
        bool set;
        int64_t value;
    } numbers[] = {{"follow", o->follow, 1},
                   {"timestamps", o->timestamps, 1},
                   {"previous", o->previous, 1},
                   {"tailLines", o->tail_lines >= 0, o->tail_lines},
                   {"limitBytes", o->limit_bytes >= 0, o->limit_bytes},
                   {"attempt", o->attempt != NODE_ANY_ATTEMPT, o->attempt},
                   {"offsets", o->offsets, 1},
                   {"regex", search->regex, 1},
                   {"ignoreCase", search->ignore_case, 1},
                   {"back", search->back, 1},
                   {"count", search->count, 1},
                   {"lines", search->wanted, search->lines}};
    struct buf path = BUF_INIT(PATH_LIMIT_BYTES);
    char time[TIME_TEXT_SIZE];

    add_words(&path, words);
    buf_adds(&path, "?uid=");
    percent_encode(&path, pod->uid);
    for (size_t i = 0; i < ELEMS(numbers); i++)
        if (numbers[i].set)
            buf_addf(&path, "&%s=%lld", numbers[i].name, (long long)numbers[i].value);
    if (o->since_ms) {
        buf_adds(&path, "&sinceTime=");
        percent_encode(&path, time_format_micro(o->since_ms, time));
    }
    if (o->from.kind == LOG_PLACE_BYTE)
        buf_addf(&path, "&from=%u.%lld", o->from.segment, (long long)o->from.byte);
    if (o->from.kind == LOG_PLACE_TIME) {
        buf_adds(&path, "&from=");
        percent_encode(&path, time_format_micro(o->from.time_ms, time));
    }
    if (search->wanted) {
        buf_adds(&path, "&search=");
        percent_encode(&path, search->text);
    }
    for (size_t i = 0, any = 0; i < LINE_LEVELS; i++)
        if (search->levels >> i & 1u)
            buf_addf(&path, "%s%s", any++ ? "," : "&level=", query_log_levels[i]);
    get(node_of(node), &path, fn, NULL, arg);
    buf_release(&path);
}

static void list_logs(struct node *node, const char *ns, node_log_fn *fn, void *arg)
{
    const char *const words[] = {"podLogs", ns, NULL};
    struct buf path = BUF_INIT(PATH_LIMIT_BYTES);

    add_words(&path, words);
    get(node_of(node), &path, fn, NULL, arg);
    buf_release(&path);
}

/* --- samples ------------------------------------------------------------------------------ */

struct samples_ask {
    node_samples_fn *fn;
    void *arg;
};

/* Written again, so that nothing else a node says gets into the answer. */
static void on_samples(void *arg, const struct buf *body, const struct err *err)
{
    static const char none[] = "\"time\":[],\"columns\":{}";
    struct samples_ask ask = *(struct samples_ask *)arg;
    struct arena a = ARENA_INIT(8 * WHOLE_LIMIT_BYTES);
    const struct json *v = body ? json_parse(&a, body->data, body->len, NULL) : NULL;
    struct buf out = BUF_INIT(2 * NODE_SAMPLES_LIMIT_BYTES);

    free(arg);
    if (json_is(json_get(v, "time"), JSON_ARRAY) && json_is(json_get(v, "columns"), JSON_OBJECT)) {
        buf_adds(&out, "\"time\":");
        json_write(&out, json_get(v, "time"));
        buf_adds(&out, ",\"columns\":");
        json_write(&out, json_get(v, "columns"));
    }
    if (err && err->reason != ERR_NOT_FOUND)
        ask.fn(ask.arg, NULL, false, err);
    else
        ask.fn(ask.arg, out.len && !out.failed ? out.data : none, out.len && !out.failed, NULL);
    buf_release(&out);
    arena_release(&a);
}

static void samples(struct node *node, const struct node_pod *pod,
                    const struct node_samples_query *q, node_samples_fn *fn, void *arg)
{
    const char *const words[] = {"samples", pod ? pod->ns : NULL, pod ? pod->name : NULL,
                                 pod ? pod->uid : NULL, NULL};
    struct samples_ask *ask = malloc(sizeof(*ask));
    struct buf path = BUF_INIT(PATH_LIMIT_BYTES);
    auto_err err = ERR_INIT;

    if (!ask) {
        (void)door_out_of_memory(&err);
        fn(arg, NULL, false, &err);
        return;
    }
    *ask = (struct samples_ask){fn, arg};
    add_words(&path, words);
    buf_addf(&path, "?since=%lld&until=%lld&step=%lld", (long long)q->since_ms,
             (long long)q->until_ms, (long long)q->step_ms);
    get(node_of(node), &path, NULL, on_samples, ask);
    buf_release(&path);
}

/* --- usage -------------------------------------------------------------------------------- */

struct summary_ask {
    struct far_node *node;
    struct node_refresh *all;
};

static void one_less(struct node_refresh *all)
{
    if (--all->left == 0)
        all->fn(all);
}

static void on_summary(void *arg, const struct buf *body, const struct err *err)
{
    struct summary_ask ask = *(struct summary_ask *)arg;
    struct far_node *n = ask.node;

    (void)err;
    free(arg);
    arena_release(&n->summary_arena);
    arena_init(&n->summary_arena, 8 * WHOLE_LIMIT_BYTES);
    n->summary = body ? json_parse(&n->summary_arena, body->data, body->len, NULL) : NULL;
    n->summary_ms = now_ms(n->far);
    far_node_release(n);
    one_less(ask.all);
}

static void refresh(struct node_directory *d, const struct json *const *nodes, size_t len,
                    struct node_refresh *all)
{
    struct buf path = BUF_INIT(PATH_LIMIT_BYTES);

    buf_adds(&path, "/stats/summary");
    all->left = 1;
    for (size_t i = 0; i < len; i++) {
        struct node *node = d->ops->find(d, nodes[i], NULL);
        struct far_node *n = node ? node_of(node) : NULL;
        struct summary_ask *ask = NULL;

        if (n && now_ms(n->far) - n->summary_ms >= FAR_FRESH_MS)
            ask = malloc(sizeof(*ask));
        if (!ask)
            continue;
        *ask = (struct summary_ask){n, all};
        all->left++;
        far_node_hold(n);
        get(n, &path, NULL, on_summary, ask);
    }
    buf_release(&path);
    one_less(all);
}

static float figure(const struct json *v, const char *group, const char *name, double scale)
{
    const struct json *number = json_at(v, group, name);

    return json_is(number, JSON_INT) ? (float)((double)json_int(number, 0) * scale) : NAN;
}

static int latest(struct node *node, const struct node_pod *pod, struct usage_latest *ret)
{
    const struct json *summary = node_of(node)->summary, *found = NULL;

    if (!pod)
        found = json_get(summary, "node");
    json_each (p, pod ? json_get(summary, "pods") : NULL)
        if (json_string_is(json_at(p, "podRef", "uid"), pod->uid) &&
            json_string_is(json_at(p, "podRef", "namespace"), pod->ns) &&
            json_string_is(json_at(p, "podRef", "name"), pod->name))
            found = p;
    memset(ret, 0, sizeof(*ret));
    if (time_parse(json_string(json_at(found, "cpu", "time"), ""), &ret->sample.time_ms) < 0)
        return -ENOENT;
    ret->sample.v[USAGE_CPU] = figure(found, "cpu", "usageNanoCores", 1e-9);
    ret->sample.v[USAGE_MEMORY] = figure(found, "memory", "workingSetBytes", 1);
    ret->window_ms = json_get_int(found, "windowMilliseconds", 0);
    json_each (c, json_get(found, "containers")) {
        struct usage_container *to = &ret->containers[ret->containers_len];

        if (ret->containers_len == POD_CONTAINERS_LIMIT)
            break;
        (void)snprintf(to->name, sizeof(to->name), "%s", json_get_string(c, "name", ""));
        to->cpu = figure(c, "cpu", "usageNanoCores", 1e-9);
        to->memory = figure(c, "memory", "workingSetBytes", 1);
        ret->containers_len++;
    }
    return 0;
}

/* --- nodes -------------------------------------------------------------------------------- */

static const struct node_ops far_ops = {.open_log = open_log,
                                        .list_logs = list_logs,
                                        .exec = far_exec,
                                        .attach = far_attach,
                                        .forward = far_forward,
                                        .samples = samples,
                                        .latest = latest};

static void node_free(struct far_node *n)
{
    transport_free(n->transport);
    arena_release(&n->summary_arena);
    free(n->name);
    free(n->who);
    free(n->url);
    free(n->ca_pem);
    free(n);
}

/* Not from inside the transport's own callbacks. */
static void sweep(void *arg)
{
    struct far *f = arg;

    f->sweeping = false;
    for (struct far_node *n = f->retired, *next; n; n = next) {
        next = n->next;
        if (n->users)
            continue;
        list_remove(&f->retired, n);
        node_free(n);
    }
}

static void sweep_later(struct far *f)
{
    if (!f->sweeping)
        f->sweeping = loop_defer(f->loop, sweep, f) == 0;
}

void far_node_hold(struct far_node *n)
{
    n->users++;
}

void far_node_release(struct far_node *n)
{
    n->users--;
    if (n->users == 0 && n->far->retired)
        sweep_later(n->far);
}

static void retire(struct far_node *n)
{
    struct far *f = n->far;

    list_remove(&f->nodes, n);
    f->nodes_len--;
    list_push(&f->retired, n);
    sweep_later(f);
}

static int renew_certificate(struct far *f, struct err *err)
{
    int64_t now = now_ms(f);

    if (f->certified_ms && now - f->certified_ms < CREDENTIAL_MS && now >= f->certified_ms)
        return 0;
    buf_clear(&f->key);
    buf_clear(&f->certificate);
    f->certified_ms = now;
    return certificate_make_client(&f->authority, OUR_USER, OUR_GROUP, now / 1000, &f->key,
                                   &f->certificate, err);
}

static struct far_node *node_new(struct far *f, const char *name, const char *url,
                                 const char *ca_pem, struct err *err)
{
    struct far_node *n = renew_certificate(f, err) == 0 ? calloc(1, sizeof(*n)) : NULL;
    struct client_config config = {
        .server = url,
        .reach = {.ca_pem = ca_pem, .cert_pem = f->certificate.data, .key_pem = f->key.data}};

    if (!n) {
        (void)door_out_of_memory(err); /* unless already set */
        return NULL;
    }
    n->node = (struct node){.ops = &far_ops};
    n->far = f;
    n->made_ms = now_ms(f);
    n->summary_ms = n->made_ms - FAR_FRESH_MS;
    arena_init(&n->summary_arena, 0);
    n->name = strdup(name);
    n->url = strdup(url);
    n->ca_pem = strdup(ca_pem);
    n->node.name = n->name;
    if (asprintf(&n->who, "node \"%s\"", name) < 0)
        n->who = NULL;
    if (!n->name || !n->url || !n->ca_pem || !n->who)
        (void)door_out_of_memory(err);
    else
        n->transport = http_transport_new(f->loop, &config, err);
    if (n->transport)
        return n;
    node_free(n);
    return NULL;
}

/* Only numeric addresses: a name would have to be resolved, and someone else might control it. */
static bool write_url(const struct json *node, char *out, size_t size)
{
    int64_t port = json_int(json_at(node, "status", "daemonEndpoints", "kubeletEndpoint", "Port"),
                            0);
    unsigned char bytes[sizeof(struct in6_addr)];

    json_each (a, json_at(node, "status", "addresses")) {
        const char *address = json_get_string(a, "address", "");
        bool v6 = inet_pton(AF_INET6, address, bytes) == 1;

        if (!json_string_is(json_get(a, "type"), "InternalIP") || port <= 0 || port > 65535 ||
            (!v6 && inet_pton(AF_INET, address, bytes) != 1))
            continue;
        (void)snprintf(out, size, "https://%s%s%s:%d", v6 ? "[" : "", address, v6 ? "]" : "",
                       (int)port);
        return true;
    }
    return false;
}

static struct node *find(struct node_directory *d, const struct json *node, struct err *err)
{
    struct far *f = far_of(d);
    const char *name = object_name(node), *ca = object_annotation(node, ANNOTATION_NODE_CA);
    char url[128];
    struct far_node *n = f->nodes;

    if (!write_url(node, url, sizeof(url)) || !ca || !*ca) {
        (void)err_set(err, ERR_NOT_FOUND,
                      "node \"%s\" has no endpoint for it in status.addresses, "
                      "status.daemonEndpoints and the annotation " ANNOTATION_NODE_CA
                      ", as muster node does",
                      name);
        return NULL;
    }
    while (n && strcmp(n->name, name) != 0)
        n = n->next;
    if (n && (strcmp(n->url, url) != 0 || strcmp(n->ca_pem, ca) != 0 ||
              now_ms(f) - n->made_ms >= CREDENTIAL_MS)) {
        retire(n);
        n = NULL;
    }
    if (n)
        return &n->node;
    for (n = f->nodes; n && n->next; n = n->next)
        ;
    if (f->nodes_len >= FAR_NODES_LIMIT)
        retire(n); /* the oldest */
    n = node_new(f, name, url, ca, err);
    if (!n)
        return NULL;
    list_push(&f->nodes, n);
    f->nodes_len++;
    return &n->node;
}

/* --- life --------------------------------------------------------------------------------- */

static const struct node_directory_ops directory_ops = {.find = find, .refresh = refresh};

struct node_directory *far_new(struct loop *l, const struct key_pair *authority, struct err *err)
{
    struct far *f = calloc(1, sizeof(*f));

    if (f) {
        *f = (struct far){.directory = {.ops = &directory_ops},
                          .loop = l,
                          .arena = ARENA_INIT(4 * CERTIFICATE_PEM_LIMIT_BYTES),
                          .key = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES),
                          .certificate = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES)};
        f->authority.key = arena_strdup(&f->arena, authority->key);
        f->authority.certificate = arena_strdup(&f->arena, authority->certificate);
        if (!arena_failed(&f->arena))
            return &f->directory;
        far_free(&f->directory);
    }
    (void)door_out_of_memory(err);
    return NULL;
}

void far_stop(struct node_directory *d)
{
    struct far *f = d ? far_of(d) : NULL;
    auto_err err = ERR_INIT;

    if (!f)
        return;
    f->stopped = true;
    (void)err_set(&err, ERR_UNAVAILABLE, "the server is stopping");
    for (struct far_get *g = f->gets, *next; g; g = next) {
        next = g->next;
        if (g->log_fn || g->whole_fn) /* it waits for its start, or for the complete answer */
            get_failed(g, &err);
    }
    far_stop_sessions(f, &err);
}

void far_free(struct node_directory *d)
{
    struct far *f = d ? far_of(d) : NULL;

    if (!f)
        return;
    while (f->nodes)
        retire(f->nodes);
    for (struct far_node *n = f->retired, *next; n; n = next) {
        next = n->next;
        node_free(n);
    }
    buf_release(&f->key);
    buf_release(&f->certificate);
    arena_release(&f->arena);
    free(f);
}
