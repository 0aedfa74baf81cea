/* cmd_queue.c - `muster queue`: the queues, what runs and what waits in them, and why. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/quantity.h"
#include "base/timefmt.h"
#include "cli/columns.h"
#include "cli/output.h"
#include "cli/session.h"
#include "core/pod_state.h"
#include "core/schedule.h"

/* Pods without a group. */
#define LONE_PODS "labelSelector=%21scheduler.tensorstack.dev%2Fgroup-name"

struct queue_options {
    struct session_options session;
    const char *format, *quota, *max_duration, *namespaces, *nodes;
    int64_t priority;
    bool keeps_room, force;
};

static const struct queue_options defaults = {.format = "table", .priority = -1};

static const struct option_spec options[] = {
    {.name = "quota",
     .type = OPTION_TEXT,
     .offset = offsetof(struct queue_options, quota),
     .value_name = "LIST",
     .doc = "create: its quota, like cpu=8,memory=32Gi,nvidia.com/gpu=2"},
    {.name = "priority",
     .type = OPTION_INT,
     .offset = offsetof(struct queue_options, priority),
     .value_name = "N",
     .doc = "create: 0 to 100; higher ones come first and may preempt lower ones"},
    {.name = "max-duration",
     .type = OPTION_TEXT,
     .offset = offsetof(struct queue_options, max_duration),
     .value_name = "TIME",
     .doc = "create: how long a job may run, like 12h, before it is paused"},
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
     .doc = "create: its jobs are never preempted"},
    {.name = "force",
     .type = OPTION_FLAG,
     .offset = offsetof(struct queue_options, force),
     .doc = "delete: even if there are jobs in it"},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_CHOICE,
     .offset = offsetof(struct queue_options, format),
     .value_name = OUTPUT_FORMAT_NAMES,
     .doc = "output format",
     .values = output_formats},
    SESSION_OPTIONS(struct queue_options, session),
    {0},
};

struct queue_call {
    struct cli *cli;
    const struct queue_options *options;
    struct session session;
    int64_t now_ms;
    struct json *made; /* the object that create makes */
};

static int call_get(struct queue_call *c, const char *name, struct json **ret, struct err *err)
{
    int r = session_get(&c->session, &kind_queue, QUEUE_NAMESPACE, name, ret, err);

    if (r && err->reason == ERR_NOT_FOUND)
        err_hint(err, "'muster queue' lists them");
    return r;
}

/* --- groups --- */

enum standing { RUNS, WAITS, RESTS };

/* A group in a queue, or a single pod: its owner and state. */
struct entry {
    const struct json *object;
    const char *queue, *why;
    enum standing state;
    const char *word; /* of its state, unless it waits */
    int64_t place;    /* in the line of all queues; 0: in none, or a pod by itself */
    int64_t priority, members;
    int64_t since_ms; /* waiting since; otherwise its creation */
};

struct entries {
    struct entry *list;
    size_t len;
    const char *ns; /* the only namespace visible to us, or NULL for all */
};

/* Anything else waits. */
static const struct {
    const char *phase, *word;
    enum standing state;
} standings[] = {{"Running", "runs", RUNS},
                 {"Paused", "paused", RESTS},
                 {"Finished", "ended", RESTS},
                 {"Empty", "empty", RESTS}};

static struct entry entry_of_group(const struct json *group)
{
    const struct json *spec = json_get(group, "spec"), *status = json_get(group, "status");
    const char *phase = json_get_string(status, "phase", "");
    struct entry e = {.object = group,
                      .queue = json_get_string(spec, "queue", DEFAULT_QUEUE),
                      .why = json_get_string(status, "message", ""),
                      .state = WAITS,
                      .since_ms = object_created_ms(group),
                      .place = json_get_int(status, "place", 0),
                      .priority = json_get_int(spec, "priority", 0),
                      .members = json_get_int(spec, "minMember", 1)};

    if (json_get(status, "waitingSince"))
        e.since_ms = object_time(status, "waitingSince");
    for (size_t i = 0; i < ELEMS(standings); i++)
        if (strcmp(phase, standings[i].phase) == 0) {
            e.state = standings[i].state;
            e.word = standings[i].word;
        }
    return e;
}

static struct entry entry_of_pod(const struct json *pod)
{
    const char *queue = object_label(pod, LABEL_QUEUE);

    return (struct entry){
        .object = pod,
        .queue = queue && *queue ? queue : DEFAULT_QUEUE,
        .why = json_get_string(object_condition(pod, "PodScheduled"), "message", ""),
        .state = pod_is_placed(pod) ? RUNS : WAITS,
        .word = "runs",
        .since_ms = object_created_ms(pod),
        .members = 1};
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    if (x->place != y->place)
        return x->place && (!y->place || x->place < y->place) ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (object_created_ms(x->object) != object_created_ms(y->object))
        return object_created_ms(x->object) < object_created_ms(y->object) ? -1 : 1;
    return strcmp(object_name(x->object), object_name(y->object));
}

static int list_entries(struct queue_call *c, const char *ns, struct json **ret_groups,
                        struct json **ret_pods, struct err *err)
{
    int r = session_list(&c->session, &kind_pod_group, ns, NULL, ret_groups, err);

    return r ? r : session_list(&c->session, &kind_pod, ns, LONE_PODS, ret_pods, err);
}

/* A user who may see one namespace sees only that part of the line. */
static int read_entries(struct queue_call *c, struct entries *ret, struct err *err)
{
    struct json *groups = NULL, *pods = NULL;
    const char *ns = NULL;
    struct entry *list;
    size_t n = 0;
    int r = list_entries(c, NULL, &groups, &pods, err);

    if (r && err->reason == ERR_FORBIDDEN) {
        ns = c->session.ns;
        err_release(err);
        *err = (struct err)ERR_INIT;
        r = list_entries(c, ns, &groups, &pods, err);
    }
    if (r)
        return r;
    list = arena_alloc(&c->cli->arena, (json_len(json_get(groups, "items")) +
                                        json_len(json_get(pods, "items")) + 1) *
                                           sizeof(*list));
    if (!list)
        return err_set(err, ERR_INTERNAL, "out of memory");
    json_each (g, json_get(groups, "items"))
        list[n++] = entry_of_group(g);
    json_each (p, json_get(pods, "items"))
        if (!pod_is_finished(p) && (pod_is_placed(p) || !pod_foreign_scheduler(p)))
            list[n++] = entry_of_pod(p);
    if (n > 1)
        qsort(list, n, sizeof(*list), compare_entries);
    *ret = (struct entries){list, n, ns};
    return 0;
}

/* --- printing --- */

static const char *map_text(struct arena *a, const struct json *map)
{
    const char *text = "";

    json_each (m, map)
        text = arena_printf(a, "%s%s%s=%s", text ? text : "", text && *text ? "," : "", m->key,
                            quantity_json_text(a, m));
    return text && *text ? text : "-";
}

static void add_queue(struct queue_call *c, struct columns *table, const struct json *queue,
                      const struct entries *entries)
{
    struct arena *a = &c->cli->arena;
    const struct json *spec = json_get(queue, "spec"), *quota = json_at(spec, "quota", "requests");
    int64_t count[] = {[RUNS] = 0, [WAITS] = 0, [RESTS] = 0}, oldest = INT64_MAX;
    char age[TIME_TEXT_SIZE];

    for (size_t i = 0; i < entries->len; i++) {
        const struct entry *e = &entries->list[i];

        if (strcmp(e->queue, object_name(queue)) != 0)
            continue;
        count[e->state]++;
        if (e->state == WAITS)
            oldest = min_i64(oldest, e->since_ms);
    }
    if (entries->ns) { /* the scheduler counts those of others, too */
        const struct json *all = json_at(queue, "status", "podGroups");

        count[RUNS] = max_i64(count[RUNS], json_get_int(all, "running", 0));
        count[WAITS] = max_i64(count[WAITS], json_get_int(all, "waiting", 0));
    }
    columns_add(table, object_name(queue));
    columns_addf(table, "%lld", (long long)json_get_int(spec, "priority", 0));
    columns_add(table, json_get_bool(spec, "closed", false) ? "closed" : "open");
    columns_add(table, map_text(a, quota));
    columns_add(table, map_text(a, json_at(queue, "status", "allocated")));
    columns_addf(table, "%lld", (long long)count[RUNS]);
    columns_addf(table, "%lld", (long long)count[WAITS]);
    columns_add(table, oldest < INT64_MAX ? time_age(c->now_ms - oldest, age) : "-");
}

static void print_queues(struct queue_call *c, const struct json *queues,
                         const struct entries *entries)
{
    static const char *const names[] = {"NAME", "PRIORITY", "STATE",   "QUOTA",
                                        "USED", "RUNNING",  "WAITING", "OLDEST WAIT"};
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    struct columns table;

    columns_init(&table, names, ELEMS(names));
    json_each (q, queues)
        add_queue(c, &table, q, entries);
    columns_write(&table, strcmp(c->options->format, "wide") == 0 ? 0 : c->cli->talk.columns, &out);
    output_text(&out);
    if (entries->ns)
        talk_note(
            &c->cli->talk,
            "you may only see jobs of namespace '%s': OLDEST WAIT and the line are limited to it",
            entries->ns);
    columns_release(&table);
    buf_release(&out);
}

/* The group's owner, as users know it. */
static const char *subject(struct arena *a, const struct json *object)
{
    const struct json *owner = object_controller(object);

    return arena_printf(a, "%s/%s", object_namespace(object),
                        owner ? json_get_string(owner, "name", "") : object_name(object));
}

static void print_entries(struct queue_call *c, const struct entries *entries, const char *queue)
{
    static const char *const names[] = {"LINE", "JOB", "PRIORITY", "PODS", "AGE", "WHY"};
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    struct columns table;
    size_t shown = 0;
    char age[TIME_TEXT_SIZE];

    columns_init(&table, names, ELEMS(names));
    for (size_t i = 0; i < entries->len; i++) {
        const struct entry *e = &entries->list[i];

        if (strcmp(e->queue, queue) != 0)
            continue;
        shown++;
        if (e->state != WAITS)
            columns_add(&table, e->word);
        else if (e->place == 0)
            columns_add(&table, "-");
        else if (e->place > PLACES_TOLD)
            columns_addf(&table, ">%d", PLACES_TOLD);
        else
            columns_addf(&table, "#%lld", (long long)e->place);
        columns_add(&table, subject(&c->cli->arena, e->object));
        columns_addf(&table, "%lld", (long long)e->priority);
        columns_addf(&table, "%lld", (long long)e->members);
        columns_add(&table, time_age(c->now_ms - object_created_ms(e->object), age));
        columns_add(&table, e->state == RUNS ? "" : e->why);
    }
    if (shown > 0)
        columns_write(&table, strcmp(c->options->format, "wide") == 0 ? 0 : c->cli->talk.columns,
                      &out);
    output_text(&out);
    if (shown == 0)
        talk_note(&c->cli->talk, "nothing runs or waits in queue '%s'", queue);
    columns_release(&table);
    buf_release(&out);
}

/* --- subcommands --- */

static int list(struct queue_call *c, const char *name, struct err *err)
{
    struct json *queues = NULL;
    struct entries entries = {0};
    int r = session_list(&c->session, &kind_queue, QUEUE_NAMESPACE, NULL, &queues, err);

    (void)name;
    if (r == 0)
        for (struct json *q = json_first_mut(json_get_mut(queues, "items")); q; q = q->next) {
            json_set_string(&c->cli->arena, q, "apiVersion",
                            kind_api_version(&c->cli->arena, &kind_queue));
            json_set_string(&c->cli->arena, q, "kind", kind_queue.name);
        }
    if (r == 0)
        r = output_list(c->options->format, queues, err);
    if (r)
        return r < 0 ? r : 0;
    r = read_entries(c, &entries, err);
    if (r == 0)
        print_queues(c, json_get(queues, "items"), &entries);
    return r;
}

static int get(struct queue_call *c, const char *name, struct err *err)
{
    struct json *queue = NULL, *one = json_new_object(&c->cli->arena), *items;
    struct entries entries = {0};
    int r = call_get(c, name, &queue, err);

    if (r)
        return r;
    json_set_string(&c->cli->arena, one, "apiVersion", "v1");
    json_set_string(&c->cli->arena, one, "kind", "List");
    items = json_make_array(&c->cli->arena, one, "items");
    json_append(items, queue);
    r = output_list(c->options->format, one, err);
    if (r)
        return r < 0 ? r : 0;
    r = read_entries(c, &entries, err);
    if (r)
        return r;
    print_queues(c, items, &entries);
    printf("\n");
    print_entries(c, &entries, name);
    return 0;
}

/* "a=b,c=d" into a map. */
static int add_pairs(struct arena *a, struct json *map, const char *option, const char *text,
                     struct err *err)
{
    for (bool more = true; more;) {
        size_t len = strcspn(text, ",");
        const char *equals = memchr(text, '=', len), *key, *value;

        if (!equals || equals == text || equals + 1 == text + len)
            return err_set(err, ERR_BAD_REQUEST, "%s takes NAME=VALUE,..., not \"%s\"", option,
                           text);
        key = arena_strndup(a, text, (size_t)(equals - text));
        value = arena_strndup(a, equals + 1, (size_t)(text + len - equals - 1));
        if (!key || !value)
            return err_set(err, ERR_INTERNAL, "out of memory");
        if (json_get(map, key))
            return err_set(err, ERR_BAD_REQUEST, "%s names %s twice: give it one value", option,
                           key);
        json_set_string(a, map, key, value);
        more = text[len] == ',';
        text += len + more;
    }
    return 0;
}

/* A missing selector selects nothing. */
static int select_namespaces(struct arena *a, struct json *spec, const char *list, struct err *err)
{
    struct json *selector = json_make_object(a, spec, "namespaceSelector");
    struct json *term = json_append(json_make_array(a, selector, "matchExpressions"),
                                    json_new_object(a));
    struct json *values;

    json_set_string(a, term, "key", "kubernetes.io/metadata.name");
    json_set_string(a, term, "operator", list ? "In" : "Exists");
    values = list ? json_make_array(a, term, "values") : NULL;
    for (bool more = list; more;) {
        size_t len = strcspn(list, ",");
        const char *name = arena_strndup(a, list, len);
        const char *problem = name ? dns_label_problem(name) : "out of memory";

        if (problem)
            return err_set(err, ERR_BAD_REQUEST,
                           "--namespaces takes names of namespaces, like a,b: \"%.*s\" is none: "
                           "%s",
                           (int)min_i64((int64_t)len, 80), list, problem);
        json_append_string(a, values, name);
        more = list[len] == ',';
        list += len + more;
    }
    return 0;
}

static void say_warning(void *arg, const char *text)
{
    talk_warn(arg, "%s", text);
}

/* The queue described by the options. */
static int describe(struct queue_call *c, const char *name, struct err *err)
{
    const struct queue_options *o = c->options;
    struct arena *a = &c->cli->arena;
    struct json *queue = json_new_object(a), *meta, *spec;
    int r;

    c->made = queue;
    json_set_string(a, queue, "apiVersion", kind_api_version(a, &kind_queue));
    json_set_string(a, queue, "kind", kind_queue.name);
    meta = json_make_object(a, queue, "metadata");
    json_set_string(a, meta, "namespace", QUEUE_NAMESPACE);
    json_set_string(a, meta, "name", name);
    spec = json_make_object(a, queue, "spec");
    r = select_namespaces(a, spec, o->namespaces, err);
    if (o->priority >= 0)
        json_set_int(a, spec, "priority", o->priority);
    if (o->keeps_room)
        json_set_bool(a, spec, "preemptible", false);
    if (o->max_duration)
        json_set_string(a, spec, "maxDuration", o->max_duration);
    if (r == 0 && o->quota)
        r = add_pairs(a, json_make_object(a, json_make_object(a, spec, "quota"), "requests"),
                      "--quota", o->quota, err);
    if (r == 0 && o->nodes)
        r = add_pairs(a,
                      json_make_object(a, json_make_object(a, spec, "nodeSelector"), "matchLabels"),
                      "--nodes", o->nodes, err);
    return r;
}

static int create(struct queue_call *c, const char *name, struct err *err)
{
    struct json *made = NULL;
    int r = session_create(&c->session, &kind_queue, c->made, &made, err);

    if (r == 0)
        kind_queue.warn(c->made, say_warning, &c->cli->talk);
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
               closed ? "closed: nothing new starts, running jobs continue" : "opened");
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

#define NAMED_LIMIT 10

/* Jobs are not lost with their queue: running ones continue, waiting ones say so. */
static int check_empty(struct queue_call *c, const char *name, struct err *err)
{
    struct arena *a = &c->cli->arena;
    struct entries entries = {0};
    const char *text = "";
    size_t count = 0;
    int r = read_entries(c, &entries, err);

    for (size_t i = 0; i < entries.len; i++) {
        const struct entry *e = &entries.list[i];

        if (strcmp(e->queue, name) == 0 && ++count <= NAMED_LIMIT)
            text = arena_printf(a, "%s%s%s (%s)", text, count > 1 ? ", " : "",
                                subject(a, e->object), e->state == WAITS ? "waits" : e->word);
    }
    if (r || count == 0)
        return r;
    if (count > NAMED_LIMIT)
        text = arena_printf(a, "%s and %zu more", text, count - NAMED_LIMIT);
    (void)err_set(err, ERR_CONFLICT, "queue \"%s\" is in use: %s", name, text);
    err_hint(err,
             strcmp(name, DEFAULT_QUEUE) == 0
                 ? "'muster queue close %s' lets running jobs end; it cannot be deleted, because "
                   "jobs that name no queue use it"
                 : "'muster queue close %s' lets running jobs end; with --force running jobs "
                   "continue, and waiting ones report that their queue is gone",
             name);
    return -1;
}

static int delete_queue(struct queue_call *c, const char *name, struct err *err)
{
    struct json *queue = NULL;
    int r = call_get(c, name, &queue, err);

    if (r == 0 && !c->options->force)
        r = check_empty(c, name, err);
    if (r == 0)
        r = session_delete(&c->session, &kind_queue, QUEUE_NAMESPACE, name, object_uid(queue), err);
    if (r == 0)
        printf("%s.%s/%s deleted\n", kind_queue.singular, kind_queue.group, name);
    return r;
}

static const struct verb {
    const char *word;
    bool named, makes;
    int (*run)(struct queue_call *c, const char *name, struct err *err);
} verbs[] = {
    {"list", false, false, list},        {"get", true, false, get},
    {"create", true, true, create},      {"open", true, false, open_queue},
    {"close", true, false, close_queue}, {"delete", true, false, delete_queue},
};

static const struct verb *find_verb(struct cli *cli, const struct args *args)
{
    const char *word = args->len ? args->list[0] : "list";

    for (size_t i = 0; i < ELEMS(verbs); i++) {
        if (strcmp(verbs[i].word, word) != 0)
            continue;
        if ((args->len == 2) == verbs[i].named)
            return &verbs[i];
        talk_errorf(&cli->talk, "'muster queue %s' needs %s", word,
                    verbs[i].named ? "the name of a queue" : "no name");
        return NULL;
    }
    talk_errorf(&cli->talk, "'muster queue %s': there is list, get, create, open, close and delete",
                word);
    return NULL;
}

static bool describes(const struct queue_options *o)
{
    return o->quota || o->max_duration || o->namespaces || o->nodes || o->keeps_room ||
           o->priority != defaults.priority;
}

/* NAME, or queue/NAME. */
static const char *bare_name(const char *word)
{
    const char *slash = strchr(word, '/');

    return slash && session_kind_is_called(&kind_queue, word, (size_t)(slash - word)) ? slash + 1
                                                                                      : word;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    auto_err err = ERR_INIT;
    struct queue_call c = {.cli = cli, .options = values};
    const struct verb *verb = find_verb(cli, args);
    const char *name = verb && verb->named ? bare_name(args->list[1]) : NULL;
    int r;

    if (!verb)
        return EXIT_USAGE;
    if (!verb->makes && describes(c.options)) {
        talk_errorf(&cli->talk, "that option is for 'muster queue create'; edit a queue with: "
                                "kubectl -n " QUEUE_NAMESPACE " edit queue NAME");
        return EXIT_USAGE;
    }
    if (c.options->force && verb->run != delete_queue) {
        talk_errorf(&cli->talk, "--force is for 'muster queue delete'");
        return EXIT_USAGE;
    }
    if (verb->makes && describe(&c, name, &err) < 0) {
        talk_error(&cli->talk, &err);
        return EXIT_USAGE;
    }
    r = session_open(cli, &c.options->session, &c.session, &err);
    if (r == 0) {
        c.now_ms = clock_now_ms(loop_clock(c.session.loop));
        r = verb->run(&c, name, &err);
    }
    session_close(&c.session);
    return r ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_queue = {
    .name = "queue",
    .args = "[get|create|open|close|delete NAME]",
    .summary = "List queues, and what waits in them and why",
    .examples =
        "  muster queue\n"
        "  muster queue get default\n"
        "  muster queue create night --quota cpu=8,memory=32Gi --priority 10 --max-duration 12h\n"
        "  muster queue close night\n"
        "  muster queue delete night\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct queue_options),
    .max_args = 2,
    .run = run,
};
