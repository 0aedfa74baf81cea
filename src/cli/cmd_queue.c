/* cmd_queue.c - `muster queue`: the queues, who runs and who waits in them, and why. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "cli/columns.h"
#include "cli/output.h"
#include "cli/session.h"

struct queue_options {
    struct session_options session;
    const char *format, *quota, *max_duration, *namespaces, *nodes;
    int64_t priority;
    bool keeps_room;
};

static const struct queue_options defaults = {.format = "table", .priority = -1};

static const struct option_spec options[] = {
    {.name = "quota",
     .type = OPTION_TEXT,
     .offset = offsetof(struct queue_options, quota),
     .value_name = "LIST",
     .doc = "create: what it may hold, like cpu=8,memory=32Gi,nvidia.com/gpu=2"},
    {.name = "priority",
     .type = OPTION_INT,
     .offset = offsetof(struct queue_options, priority),
     .value_name = "N",
     .doc = "create: 0 to 100; higher goes first and may take room of lower ones"},
    {.name = "max-duration",
     .type = OPTION_TEXT,
     .offset = offsetof(struct queue_options, max_duration),
     .value_name = "TIME",
     .doc = "create: how long a job may run, like 12h; then it is paused"},
    {.name = "namespaces",
     .type = OPTION_TEXT,
     .offset = offsetof(struct queue_options, namespaces),
     .value_name = "LIST",
     .doc = "create: namespaces that may use it, like a,b (default: all)"},
    {.name = "nodes",
     .type = OPTION_TEXT,
     .offset = offsetof(struct queue_options, nodes),
     .value_name = "LABELS",
     .doc = "create: labels of the nodes it may use, like disk=ssd (default: all)"},
    {.name = "keeps-room",
     .type = OPTION_FLAG,
     .offset = offsetof(struct queue_options, keeps_room),
     .doc = "create: nobody takes room from it"},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_CHOICE,
     .offset = offsetof(struct queue_options, format),
     .value_name = OUTPUT_FORMAT_NAMES,
     .doc = "how to print them",
     .values = output_formats},
    SESSION_OPTIONS(struct queue_options, session),
    {0},
};

struct queue_call {
    struct cli *cli;
    const struct queue_options *options;
    struct session session;
    int64_t now_ms;
};

static int call_get(struct queue_call *c, const char *name, struct json **ret, struct err *err)
{
    int r = session_get(&c->session, &kind_queue, QUEUE_NAMESPACE, name, ret, err);

    if (r && err->reason == ERR_NOT_FOUND)
        err_hint(err, "'muster queue' lists them");
    return r;
}

/* --- groups --- */

/* One group of a queue: what it is of, and where it stands. */
struct entry {
    const struct json *group;
    bool runs;
    long position; /* as the scheduler tells it; LONG_MAX when it does not */
};

static const struct json *group_status(const struct json *group)
{
    return json_get(group, "status");
}

static bool is_scheduled(const struct json *group)
{
    return json_string_is(json_get(object_condition(group, "GroupScheduled"), "status"), "True");
}

static long position_of(const struct json *group)
{
    const char *at = strstr(json_get_string(group_status(group), "message", ""), "number ");
    long n = at ? strtol(at + strlen("number "), NULL, 10) : 0;

    if (n > 0)
        return n;
    return *json_get_string(group_status(group), "message", "") ? 1 : LONG_MAX;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int64_t p = json_int(json_at(x->group, "spec", "priority"), 0);
    int64_t q = json_int(json_at(y->group, "spec", "priority"), 0);

    if (x->runs != y->runs)
        return x->runs ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    if (p != q)
        return p > q ? -1 : 1;
    if (object_created_ms(x->group) != object_created_ms(y->group))
        return object_created_ms(x->group) < object_created_ms(y->group) ? -1 : 1;
    return strcmp(object_name(x->group), object_name(y->group));
}

static bool is_of(const struct json *group, const char *queue)
{
    return strcmp(json_string(json_at(group, "spec", "queue"), DEFAULT_QUEUE), queue) == 0;
}

static struct entry *entries_of(struct arena *a, const struct json *groups, const char *queue,
                                size_t *ret_len)
{
    struct entry *list = arena_alloc(a, (json_len(groups) + 1) * sizeof(*list));
    size_t n = 0;

    json_each (g, groups)
        if (list && is_of(g, queue)) {
            bool runs = is_scheduled(g);

            list[n++] = (struct entry){
                .group = g, .runs = runs, .position = runs ? 0 : position_of(g)};
        }
    if (n > 1)
        qsort(list, n, sizeof(*list), compare_entries);
    *ret_len = n;
    return list;
}

/* --- printing --- */

static const char *map_text(struct arena *a, const struct json *map)
{
    const char *text = "";

    json_each (m, map)
        text = arena_printf(a, "%s%s%s=%s", text ? text : "", text && *text ? "," : "", m->key,
                            json_string(m, ""));
    return text && *text ? text : "-";
}

static void add_queue(struct queue_call *c, struct columns *table, const struct json *queue,
                      const struct json *groups)
{
    struct arena *a = &c->cli->arena;
    const struct json *spec = json_get(queue, "spec"), *quota = json_at(spec, "quota", "requests");
    int64_t running = 0, waiting = 0, oldest = INT64_MAX;
    char age[TIME_TEXT_SIZE];

    json_each (g, groups) {
        if (!is_of(g, object_name(queue)))
            continue;
        if (is_scheduled(g)) {
            running++;
            continue;
        }
        waiting++;
        oldest = min_i64(oldest, object_created_ms(g));
    }
    columns_add(table, object_name(queue));
    columns_addf(table, "%lld", (long long)json_get_int(spec, "priority", 0));
    columns_add(table, json_get_bool(spec, "closed", false) ? "closed" : "open");
    columns_add(table, map_text(a, quota));
    columns_add(table, map_text(a, json_at(queue, "status", "allocated")));
    columns_addf(table, "%lld", (long long)running);
    columns_addf(table, "%lld", (long long)waiting);
    columns_add(table, waiting ? time_age(c->now_ms - oldest, age) : "-");
}

static void print_queues(struct queue_call *c, const struct json *queues, const struct json *groups)
{
    static const char *const names[] = {"NAME", "PRIORITY", "STATE",   "QUOTA",
                                        "USED", "RUNNING",  "WAITING", "OLDEST WAIT"};
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    struct columns table;

    columns_init(&table, names, ELEMS(names));
    json_each (q, queues)
        add_queue(c, &table, q, groups);
    columns_write(&table, strcmp(c->options->format, "wide") == 0 ? 0 : c->cli->talk.columns, &out);
    output_text(&out);
    columns_release(&table);
    buf_release(&out);
}

/* What the group is of, as users know it. */
static const char *subject(struct arena *a, const struct json *group)
{
    const struct json *owner = object_controller(group);

    return owner ? arena_printf(a, "%s/%s", object_namespace(group),
                                json_get_string(owner, "name", ""))
                 : arena_printf(a, "%s/%s", object_namespace(group), object_name(group));
}

static void print_groups(struct queue_call *c, const struct json *groups, const char *queue)
{
    static const char *const names[] = {"LINE", "JOB", "PRIORITY", "PODS", "AGE", "WHY"};
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    struct columns table;
    size_t len, waiting = 0;
    const struct entry *list = entries_of(&c->cli->arena, groups, queue, &len);
    char age[TIME_TEXT_SIZE];

    columns_init(&table, names, ELEMS(names));
    for (size_t i = 0; i < len; i++) {
        const struct json *g = list[i].group, *spec = json_get(g, "spec");

        if (list[i].runs)
            columns_add(&table, "runs");
        else
            columns_addf(&table, "%zu", ++waiting);
        columns_add(&table, subject(&c->cli->arena, g));
        columns_addf(&table, "%lld", (long long)json_get_int(spec, "priority", 0));
        columns_addf(&table, "%lld", (long long)json_get_int(spec, "minMember", 1));
        columns_add(&table, time_age(c->now_ms - object_created_ms(g), age));
        columns_add(&table, list[i].runs ? "" : json_get_string(group_status(g), "message", ""));
    }
    if (len > 0)
        columns_write(&table, strcmp(c->options->format, "wide") == 0 ? 0 : c->cli->talk.columns,
                      &out);
    output_text(&out);
    if (len == 0)
        talk_note(&c->cli->talk, "nothing runs or waits in queue '%s'", queue);
    columns_release(&table);
    buf_release(&out);
}

/* --- the words after `queue` --- */

static int list(struct queue_call *c, const char *name, struct err *err)
{
    struct json *queues = NULL, *groups = NULL;
    int r = session_list(&c->session, &kind_queue, QUEUE_NAMESPACE, NULL, &queues, err);

    (void)name;
    if (r == 0)
        for (struct json *q = json_first_mut(json_get_mut(queues, "items")); q; q = q->next) {
            json_set_string(&c->cli->arena, q, "apiVersion",
                            kind_api_version(&c->cli->arena, &kind_queue));
            json_set_string(&c->cli->arena, q, "kind", kind_queue.name);
        }
    if (r || output_list(c->options->format, queues))
        return r;
    r = session_list(&c->session, &kind_pod_group, NULL, NULL, &groups, err);
    if (r == 0)
        print_queues(c, json_get(queues, "items"), json_get(groups, "items"));
    return r;
}

static int get(struct queue_call *c, const char *name, struct err *err)
{
    struct json *queue = NULL, *groups = NULL, *one = json_new_object(&c->cli->arena), *items;
    int r = call_get(c, name, &queue, err);

    if (r)
        return r;
    json_set_string(&c->cli->arena, one, "apiVersion", "v1");
    json_set_string(&c->cli->arena, one, "kind", "List");
    items = json_make_array(&c->cli->arena, one, "items");
    json_append(items, queue);
    if (output_list(c->options->format, one))
        return 0;
    r = session_list(&c->session, &kind_pod_group, NULL, NULL, &groups, err);
    if (r)
        return r;
    print_queues(c, items, json_get(groups, "items"));
    printf("\n");
    print_groups(c, json_get(groups, "items"), name);
    return 0;
}

/* "a=b,c=d" into a map. */
static int add_pairs(struct arena *a, struct json *map, const char *option, const char *text,
                     struct err *err)
{
    while (*text) {
        size_t len = strcspn(text, ",");
        const char *equals = memchr(text, '=', len), *key, *value;

        if (!equals || equals == text || equals + 1 == text + len)
            return err_set(err, ERR_BAD_REQUEST, "%s wants NAME=VALUE,..., not \"%s\"", option,
                           text);
        key = arena_strndup(a, text, (size_t)(equals - text));
        value = arena_strndup(a, equals + 1, (size_t)(text + len - equals - 1));
        if (!key || !value)
            return err_set(err, ERR_INTERNAL, "out of memory");
        json_set_string(a, map, key, value);
        text += len + (text[len] == ',');
    }
    return 0;
}

/* A selector that is not there selects none. */
static void select_namespaces(struct arena *a, struct json *spec, const char *list)
{
    struct json *selector = json_make_object(a, spec, "namespaceSelector");
    struct json *term = json_append(json_make_array(a, selector, "matchExpressions"),
                                    json_new_object(a));
    struct json *values;

    json_set_string(a, term, "key", "kubernetes.io/metadata.name");
    json_set_string(a, term, "operator", list ? "In" : "Exists");
    if (!list)
        return;
    values = json_make_array(a, term, "values");
    while (*list) {
        size_t len = strcspn(list, ",");

        json_append_string(a, values, arena_strndup(a, list, len));
        list += len + (list[len] == ',');
    }
}

static int create(struct queue_call *c, const char *name, struct err *err)
{
    const struct queue_options *o = c->options;
    struct arena *a = &c->cli->arena;
    struct json *queue = json_new_object(a), *meta, *spec, *made = NULL;
    int r = 0;

    json_set_string(a, queue, "apiVersion", kind_api_version(a, &kind_queue));
    json_set_string(a, queue, "kind", kind_queue.name);
    meta = json_make_object(a, queue, "metadata");
    json_set_string(a, meta, "namespace", QUEUE_NAMESPACE);
    json_set_string(a, meta, "name", name);
    spec = json_make_object(a, queue, "spec");
    select_namespaces(a, spec, o->namespaces);
    if (o->priority >= 0)
        json_set_int(a, spec, "priority", o->priority);
    if (o->keeps_room)
        json_set_bool(a, spec, "preemptible", false);
    if (o->max_duration)
        json_set_string(a, spec, "maxDuration", o->max_duration);
    if (o->quota)
        r = add_pairs(a, json_make_object(a, json_make_object(a, spec, "quota"), "requests"),
                      "--quota", o->quota, err);
    if (r == 0 && o->nodes)
        r = add_pairs(a,
                      json_make_object(a, json_make_object(a, spec, "nodeSelector"), "matchLabels"),
                      "--nodes", o->nodes, err);
    if (r == 0)
        r = session_create(&c->session, &kind_queue, queue, &made, err);
    if (r == 0)
        printf("%s.%s/%s created\n", kind_queue.singular, kind_queue.group, name);
    return r;
}

static int set_closed(struct queue_call *c, const char *name, bool closed, struct err *err)
{
    struct arena *a = &c->cli->arena;
    struct json *queue = NULL, *patch = json_new_object(a);
    int r = call_get(c, name, &queue, err);

    json_set_bool(a, json_make_object(a, patch, "spec"), "closed", closed);
    if (r == 0 && json_bool(json_at(queue, "spec", "closed"), false) == closed) {
        printf("%s.%s/%s is %s already\n", kind_queue.singular, kind_queue.group, name,
               closed ? "closed" : "open");
        return 0;
    }
    if (r == 0)
        r = session_patch(&c->session, &kind_queue, QUEUE_NAMESPACE, name, patch, err);
    if (r == 0)
        printf("%s.%s/%s %s\n", kind_queue.singular, kind_queue.group, name,
               closed ? "closed: nothing new starts, what runs goes on" : "opened");
    return r;
}

static int open_queue(struct queue_call *c, const char *name, struct err *err)
{
    return set_closed(c, name, false, err);
}

static int close_queue(struct queue_call *c, const char *name, struct err *err)
{
    return set_closed(c, name, true, err);
}

static const struct verb {
    const char *word;
    bool named, makes;
    int (*run)(struct queue_call *c, const char *name, struct err *err);
} verbs[] = {
    {"list", false, false, list},        {"get", true, false, get},
    {"create", true, true, create},      {"open", true, false, open_queue},
    {"close", true, false, close_queue},
};

static const struct verb *find_verb(struct cli *cli, const struct args *args)
{
    const char *word = args->len ? args->list[0] : "list";

    for (size_t i = 0; i < ELEMS(verbs); i++) {
        if (strcmp(verbs[i].word, word) != 0)
            continue;
        if ((args->len == 2) == verbs[i].named)
            return &verbs[i];
        talk_errorf(&cli->talk, "'muster queue %s' wants %s", word,
                    verbs[i].named ? "the name of a queue" : "no name");
        return NULL;
    }
    talk_errorf(&cli->talk, "'muster queue %s': there is list, get, create, open and close", word);
    return NULL;
}

static bool describes(const struct queue_options *o)
{
    return o->quota || o->max_duration || o->namespaces || o->nodes || o->keeps_room ||
           o->priority != defaults.priority;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    auto_err err = ERR_INIT;
    struct queue_call c = {.cli = cli, .options = values};
    const struct verb *verb = find_verb(cli, args);
    int r;

    if (!verb)
        return EXIT_USAGE;
    if (!verb->makes && describes(c.options)) {
        talk_errorf(&cli->talk, "that option is for 'muster queue create'; edit a queue with: "
                                "kubectl -n " QUEUE_NAMESPACE " edit queue NAME");
        return EXIT_USAGE;
    }
    r = session_open(cli, &c.options->session, &c.session, &err);
    if (r == 0) {
        c.now_ms = clock_now_ms(loop_clock(c.session.loop));
        r = verb->run(&c, verb->named ? args->list[1] : NULL, &err);
    }
    session_close(&c.session);
    return r ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_queue = {
    .name = "queue",
    .args = "[get|create|open|close NAME]",
    .summary = "List queues, and who waits in them for what",
    .help =
        "  muster queue\n"
        "  muster queue get default\n"
        "  muster queue create night --quota cpu=8,memory=32Gi --priority 10 --max-duration 12h\n"
        "  muster queue close night\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct queue_options),
    .max_args = 2,
    .run = run,
};
