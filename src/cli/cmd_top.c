/* cmd_top.c - `muster top`: current usage of nodes and replicas; refreshed on a terminal. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/object.h"
#include "api/quantity.h"
#include "cli/columns.h"
#include "cli/follow.h"
#include "cli/live.h"
#include "cli/output.h"

#define METRICS_VERSION "metrics.k8s.io/v1beta1"
#define EVERY_MS 2000 /* the sampling interval */

struct top_options {
    struct session_options session;
    const char *format;
    bool all, once;
};

static const struct top_options defaults = {.format = "table"};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct top_options, all, "all-namespaces", "replicas in every namespace",
                   .letter = 'A'),
    OPTION_OF_FLAG(struct top_options, once, "once", "print once, even on a terminal"),
    OPTION_OUTPUT(struct top_options),
    SESSION_OPTIONS(struct top_options, session),
    {0},
};

struct top {
    struct cli *cli;
    const struct top_options *options;
    struct session *session;
    const char *job; /* its UID: only its replicas; NULL: everything */
};

static int fetch_list(struct session *s, const char *path, struct json **ret, struct err *err)
{
    struct buf body = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    int r = session_fetch(s, path, &body, err);

    if (r == -ENOTSUP) {
        err_release(err);
        err_set(err, ERR_NOT_FOUND, "this API server measures nothing: it has no metrics.k8s.io");
        err_hint(err, "install metrics-server in the cluster");
    }
    if (r == 0)
        *ret = json_parse(s->arena, body.data ? body.data : "", body.len, err);
    buf_release(&body);
    return r ? r : *ret ? 0 : -EPROTO;
}

/* --- nodes ------------------------------------------------------------------------------ */

static const struct json *find_named(const struct json *list, const char *name)
{
    json_each (item, json_get(list, "items"))
        if (strcmp(object_name(item), name) == 0)
            return item;
    return NULL;
}

static void add_share(struct columns *c, int64_t used, int64_t whole, const char *text)
{
    if (whole > 0)
        columns_addf(c, "%s (%d%%)", text, (int)(100.0 * (double)used / (double)whole + 0.5));
    else
        columns_add(c, text);
}

static void add_usage(struct columns *c, int64_t cpu_milli, int64_t memory, int64_t cpu_whole,
                      int64_t memory_whole)
{
    char cpu[QUANTITY_TEXT_SIZE], text[QUANTITY_TEXT_SIZE];

    (void)snprintf(cpu, sizeof(cpu), "%.2f", (double)cpu_milli / 1000);
    add_share(c, cpu_milli, cpu_whole, cpu);
    (void)snprintf(text, sizeof(text), "%.1fMi", (double)memory / (1024 * 1024));
    add_share(c, memory, memory_whole, text);
}

static void write_nodes(const struct json *metrics, const struct json *nodes, size_t width,
                        struct buf *out)
{
    static const char *const header[] = {"NODE", "CPU", "MEMORY"};
    struct columns table;

    columns_init(&table, header, ELEMS(header));
    json_each (m, json_get(metrics, "items")) {
        const struct json *has = json_at(find_named(nodes, object_name(m)), "status",
                                         "allocatable");

        columns_add(&table, object_name(m));
        add_usage(&table, quantity_json_milli(json_at(m, "usage", "cpu"), 0),
                  quantity_json_value(json_at(m, "usage", "memory"), 0),
                  quantity_json_milli(json_get(has, "cpu"), 0),
                  quantity_json_value(json_get(has, "memory"), 0));
    }
    columns_write(&table, width, out);
    columns_release(&table);
}

/* --- replicas --------------------------------------------------------------------------- */

struct usage {
    const struct json *pod;
    int64_t cpu_milli, memory;
};

static int by_cpu(const void *a, const void *b)
{
    const struct usage *x = a, *y = b;

    return x->cpu_milli != y->cpu_milli ? (x->cpu_milli < y->cpu_milli ? 1 : -1)
                                        : strcmp(object_name(x->pod), object_name(y->pod));
}

static int64_t limit_of(const struct json *pod, const char *what,
                        int64_t (*read)(const struct json *, int64_t))
{
    int64_t sum = 0;

    json_each (c, json_at(pod, "spec", "containers")) {
        int64_t one = read(json_get(json_at(c, "resources", "limits"), what), 0);

        if (one == 0)
            return 0;
        sum += one;
    }
    return sum;
}

/* The latest of a pod's samples; negative: none. */
static double last_gpu(struct session *s, const struct json *pod)
{
    auto_err ignored = ERR_INIT;
    struct json *samples = NULL;
    const struct json *values;
    const char *path = kind_path(s->arena, &kind_pod, object_namespace(pod), object_name(pod));
    double last = -1;

    if (!path || fetch_list(s, arena_printf(s->arena, "%s/samples", path), &samples, &ignored))
        return -1;
    values = json_get(json_at(samples, "columns", "gpu"), "values");
    json_each (v, values)
        if (json_is(v, JSON_INT) || json_is(v, JSON_REAL))
            last = json_is(v, JSON_INT) ? (double)v->u.integer : strtod(v->u.text, NULL);
    return last;
}

static bool has_gpus(const struct json *nodes)
{
    json_each (node, json_get(nodes, "items"))
        json_each (r, json_at(node, "status", "allocatable"))
            if (strstr(r->key, "/gpu") && quantity_json_value(r, 0) > 0)
                return true;
    return false;
}

static void write_pods(struct session *s, const struct json *metrics, const struct json *pods,
                       bool all, bool gpus, bool wide, size_t width, struct buf *out)
{
    const char *header[COLUMNS_LIMIT];
    size_t n = 0, len = 0;
    struct usage *list = arena_alloc(s->arena, max_size(json_len(json_get(metrics, "items")), 1) *
                                                   sizeof(*list));
    struct columns table;

    if (all)
        header[n++] = "NAMESPACE";
    header[n++] = "JOB";
    header[n++] = "REPLICA";
    header[n++] = "CPU";
    header[n++] = "MEMORY";
    if (gpus)
        header[n++] = "GPU";
    if (wide) {
        header[n++] = "NODE";
        header[n++] = "POD";
    }
    json_each (m, json_get(metrics, "items")) {
        const struct json *pod = find_named(pods, object_name(m));

        if (!list || !pod)
            continue;
        list[len] = (struct usage){.pod = pod};
        json_each (c, json_get(m, "containers")) {
            list[len].cpu_milli += quantity_json_milli(json_at(c, "usage", "cpu"), 0);
            list[len].memory += quantity_json_value(json_at(c, "usage", "memory"), 0);
        }
        len++;
    }
    if (len)
        qsort(list, len, sizeof(*list), by_cpu);
    columns_init(&table, header, n);
    for (size_t i = 0; i < len; i++) {
        const char *job = object_label(list[i].pod, LABEL_OWNER_NAME);

        if (all)
            columns_add(&table, object_namespace(list[i].pod));
        columns_add(&table, job ? job : "");
        columns_add(&table, follow_label(s->arena, list[i].pod, NULL));
        add_usage(&table, list[i].cpu_milli, list[i].memory,
                  limit_of(list[i].pod, "cpu", quantity_json_milli),
                  limit_of(list[i].pod, "memory", quantity_json_value));
        if (gpus) {
            double gpu = last_gpu(s, list[i].pod);

            if (gpu < 0)
                columns_add(&table, "");
            else
                columns_addf(&table, "%.2f", gpu);
        }
        if (wide) {
            columns_add(&table, json_string(json_at(list[i].pod, "spec", "nodeName"), ""));
            columns_add(&table, object_name(list[i].pod));
        }
    }
    columns_write(&table, width, out);
    columns_release(&table);
}

static void append_items(struct arena *a, struct json *items, const struct json *list,
                         const char *kind)
{
    json_each (item, json_get(list, "items")) {
        struct json *copy = json_clone(a, item);

        json_set_string(a, copy, "apiVersion", METRICS_VERSION);
        json_set_string(a, copy, "kind", kind);
        (void)json_append(items, copy);
    }
}

/* The metrics themselves; 1 when printed, 0 for a table, negative for an error. */
static int print_metrics(const struct top *t, const struct json *nodes, const struct json *pods,
                         struct err *err)
{
    struct arena *a = t->session->arena;
    struct json *list = json_new_object(a), *items;

    json_set_string(a, list, "apiVersion", "v1");
    json_set_string(a, list, "kind", "List");
    items = json_make_array(a, list, "items");
    append_items(a, items, nodes, "NodeMetrics");
    append_items(a, items, pods, "PodMetrics");
    return output_list(t->options->format, list, err);
}

/* Those of the job. */
static struct json *of_job(struct arena *a, const struct json *metrics, const struct json *pods,
                           const char *job)
{
    struct json *list = json_new_object(a), *items = json_make_array(a, list, "items");

    json_each (m, json_get(metrics, "items"))
        if (json_string_is(json_get(object_controller(find_named(pods, object_name(m))), "uid"),
                           job))
            (void)json_append(items, json_clone(a, m));
    return list;
}

static int draw(void *arg, struct live *live, struct err *err)
{
    const struct top *t = arg;
    struct session *s = t->session;
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    struct json *node_metrics = NULL, *pod_metrics = NULL, *nodes = NULL, *pods = NULL;
    bool wide = strcmp(t->options->format, "wide") == 0, sees_nodes;
    size_t width = wide ? 0 : t->cli->talk.columns;
    const char *ns = t->options->all ? NULL : s->ns;
    const char *path = ns ? arena_printf(s->arena, "/apis/" METRICS_VERSION "/namespaces/%s/pods",
                                         ns)
                          : "/apis/" METRICS_VERSION "/pods";
    auto_err not_allowed = ERR_INIT;
    int r = path ? fetch_list(s, path, &pod_metrics, err)
                 : err_set(err, ERR_INTERNAL, "out of memory");

    if (r == 0)
        r = session_list(s, &kind_pod, ns, NULL, &pods, err);
    if (r)
        return r;
    if (t->job)
        pod_metrics = of_job(s->arena, pod_metrics, pods, t->job);
    /* not every user may see nodes */
    sees_nodes = !t->job && session_list(s, &kind_node, NULL, NULL, &nodes, &not_allowed) == 0 &&
                 fetch_list(s, "/apis/" METRICS_VERSION "/nodes", &node_metrics, &not_allowed) == 0;
    r = print_metrics(t, node_metrics, pod_metrics, err);
    if (r)
        return r < 0 ? r : 0;
    if (!live && json_len(json_get(node_metrics, "items")) == 0 &&
        json_len(json_get(pod_metrics, "items")) == 0) {
        talk_note(&t->cli->talk,
                  "nothing has been measured yet; usage is sampled every two seconds");
        return 0;
    }
    if (live)
        buf_adds(&out, "\033[H\033[J");
    if (sees_nodes) {
        write_nodes(node_metrics, nodes, width, &out);
        buf_addc(&out, '\n');
    }
    write_pods(s, pod_metrics, pods, t->options->all, has_gpus(nodes), wide, width, &out);
    r = output_bytes(STDOUT_FILENO, out.data, out.len);
    buf_release(&out);
    return r ? err_set(err, ERR_INTERNAL, "standard output is closed") : 0;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct top_options *o = values;
    auto_err err = ERR_INIT;
    struct session s = {0};
    struct top top = {.cli = cli, .options = o, .session = &s};
    bool table = strcmp(o->format, "table") == 0 || strcmp(o->format, "wide") == 0;
    bool again = cli->talk.columns && !o->once && table;
    const struct kind *k = NULL;
    struct json *job = NULL;
    int r = session_open(cli, &o->session, &s, &err);

    if (r == 0 && args->len > 0)
        r = session_find_job(&s, args->list[0], &k, &job, &err);
    top.job = job ? object_uid(job) : NULL;
    if (r == 0)
        r = again ? live_run(&(struct live_options){.session = &s,
                                                    .ns = o->all ? NULL : s.ns,
                                                    .every_ms = EVERY_MS,
                                                    .draw = draw,
                                                    .arg = &top},
                             &err)
                  : draw(&top, NULL, &err);
    session_close(&s);
    if (r)
        return command_fail(cli, &err);
    return again ? EXIT_INTERRUPTED : EXIT_OK;
}

const struct command command_top = {
    .name = "top",
    .args = "[JOB]",
    .summary = "Show the current usage of nodes and replicas",
    .examples = "  muster top\n"
                "  muster top mnist\n"
                "  muster top -A --once\n"
                "  muster top -o json\n",
    .help = "Refreshes until Ctrl-C on a terminal; prints once into a pipe. Percentages are of\n"
            "what the node offers, and of a replica's limits. -o json, yaml, name and jsonpath\n"
            "print the NodeMetrics and PodMetrics once.\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct top_options),
    .max_args = 1,
    .run = run,
};
