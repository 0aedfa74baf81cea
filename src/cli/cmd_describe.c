/* cmd_describe.c - `muster describe`: an object in readable form. For a job: its state, the reason
 * for it, its replicas; for any kind: labels, conditions and events. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/object.h"
#include "api/yaml.h"
#include "base/timefmt.h"
#include "cli/columns.h"
#include "cli/job_events.h"
#include "cli/job_pods.h"
#include "cli/job_table.h"
#include "cli/jobphase.h"
#include "cli/output.h"
#include "cli/tame.h"
#include "cli/words.h"
#include "core/job.h"

#define LABEL_COLUMNS 13u
#define FACT_LIMIT_BYTES (1024u * 1024u)

struct describe_options {
    struct session_options session;
    const char *format;
};

static const struct describe_options defaults = {.format = "table"};

static const struct option_spec options[] = {
    OPTION_OUTPUT(struct describe_options),
    SESSION_OPTIONS(struct describe_options, session),
    {0},
};

struct description {
    struct cli *cli;
    struct session *session;
    const struct kind *kind;
    struct json *object;
    bool wide;
    size_t width; /* 0: unlimited */
    int64_t now_ms;
    struct buf out;
};

/* --- lines ------------------------------------------------------------------------------ */

/* "Why:         no node has ...", wrapped below itself; nothing for an empty value or NULL. */
static void fact(struct description *d, const char *label, const char *value)
{
    char *text = value && *value ? arena_strdup(&d->cli->arena, value) : NULL;
    struct buf lines = BUF_INIT(FACT_LIMIT_BYTES);

    if (text) {
        tame_blank(text);
        columns_wrap(&lines, text, LABEL_COLUMNS, d->width ? d->width : FACT_LIMIT_BYTES);
        buf_addf(&d->out, "%s%s%*s%s", label, *label ? ":" : "",
                 (int)(LABEL_COLUMNS - strlen(label) - (*label ? 1 : 0)), "",
                 lines.data ? lines.data + LABEL_COLUMNS : "\n");
    }
    buf_release(&lines);
}

static void section(struct description *d, const char *title)
{
    buf_addf(&d->out, "\n%s:\n", title);
}

static void time_fact(struct description *d, const char *label, int64_t at_ms)
{
    char at[TIME_TEXT_SIZE], age[TIME_TEXT_SIZE];

    if (at_ms > 0)
        fact(d, label,
             arena_printf(&d->cli->arena, "%s (%s ago)", time_format(at_ms, at),
                          time_age(d->now_ms - at_ms, age)));
}

static void map_fact(struct description *d, const char *label, const struct json *map)
{
    json_each (m, map)
        if (strcmp(m->key, "kubectl.kubernetes.io/last-applied-configuration") != 0) {
            fact(d, label, arena_printf(&d->cli->arena, "%s=%s", m->key, json_string(m, "")));
            label = "";
        }
}

/* As it would be typed into a shell. */
static void add_word(struct buf *line, const char *word)
{
    bool plain = *word && !word[strcspn(word, " \t\n\"'$`\\;&|<>()*?[]#~{}!")];

    buf_adds(line, line->len ? " " : "");
    buf_adds(line, plain ? "" : "'");
    for (; *word; word++)
        if (*word == '\'')
            buf_adds(line, "'\\''");
        else
            buf_addc(line, *word);
    buf_adds(line, plain ? "" : "'");
}

static const char *command_line(struct arena *a, const struct json *container)
{
    struct buf line = BUF_INIT(FACT_LIMIT_BYTES);
    const char *text;

    json_each (word, json_get(container, "command"))
        add_word(&line, json_string(word, ""));
    json_each (word, json_get(container, "args"))
        add_word(&line, json_string(word, ""));
    text = line.len && !line.failed ? arena_strdup(a, line.data) : NULL;
    buf_release(&line);
    return text ? text : "";
}

static const char *requests_of(struct arena *a, const struct json *container)
{
    const struct json *resources = json_get(container, "resources");
    const struct json *requests = json_get(resources, "requests");
    const char *text = "";

    json_each (r, requests ? requests : json_get(resources, "limits"))
        text = arena_printf(a, "%s%s%s=%s", text ? text : "", text && *text ? "," : "", r->key,
                            json_string(r, ""));
    return text ? text : "";
}

/* --- parts ------------------------------------------------------------------------------ */

static void add_head(struct description *d)
{
    fact(d, "Name", object_name(d->object));
    fact(d, "Kind", d->kind->name);
    fact(d, "Namespace", object_namespace(d->object));
    if (object_is_deleting(d->object))
        time_fact(d, "Deleting", object_time(json_get(d->object, "metadata"), "deletionTimestamp"));
}

static void add_labels(struct description *d)
{
    map_fact(d, "Labels", object_labels(d->object));
    map_fact(d, "Annotations", json_at(d->object, "metadata", "annotations"));
}

static void add_queue(struct description *d)
{
    const char *queue = job_table_queue(d->object);
    int64_t place = json_int(json_at(d->object, "status", "place"), 0);

    if (queue && place > 0)
        fact(d, "Queue",
             arena_printf(&d->cli->arena, "%s, place %" PRId64 " in line", queue, place));
    else
        fact(d, "Queue", queue ? queue : "");
}

static void add_job_facts(struct description *d)
{
    const struct json *job = d->object, *status = json_get(job, "status");
    int64_t started_ms = object_time(status, "startTime");
    int64_t ended_ms = object_time(status, "completionTime");
    char progress[JOB_PROGRESS_SIZE], ran[TIME_TEXT_SIZE];

    fact(d, "Phase", job_phase(job));
    fact(d, "Why", job_why(job));
    fact(d, "Progress", job_progress(job, true, progress));
    time_fact(d, "Created", object_created_ms(job));
    time_fact(d, "Started", started_ms);
    time_fact(d, "Ended", ended_ms);
    if (started_ms && ended_ms)
        fact(d, "Ran for",
             time_age(ended_ms - started_ms + json_get_int(status, "ranSeconds", 0) * 1000, ran));
    fact(d, "Restarts",
         arena_printf(&d->cli->arena, "%" PRId64 " of %" PRId64, job_restarts(job),
                      json_int(json_at(job, "spec", "runPolicy", "backoffLimit"), 0)));
    add_queue(d);
}

static void add_replica_specs(struct description *d)
{
    static const char *const header[] = {"TYPE", "COUNT", "RESTART", "REQUESTS", "COMMAND"};
    struct arena *a = &d->cli->arena;
    struct columns table;

    columns_init(&table, header, ELEMS(header));
    json_each (spec, json_at(d->object, "spec", "replicaSpecs")) {
        const struct json *c = json_index(json_at(spec, "template", "spec", "containers"), 0);

        columns_add(&table, json_get_string(spec, "type", ""));
        columns_addf(&table, "%" PRId64, json_get_int(spec, "replicas", 1));
        columns_add(&table, json_get_string(spec, "restartPolicy", "Never"));
        columns_add(&table, requests_of(a, c));
        columns_add(&table, command_line(a, c));
    }
    section(d, "Replica types");
    columns_write(&table, d->width, &d->out);
    columns_release(&table);
}

static int add_replicas(struct description *d, struct err *err)
{
    struct job_pods pods = {0};
    int r = job_pods_find(d->session, d->object, &pods, err);

    if (r || pods.len == 0)
        return r;
    section(d, "Replicas");
    job_pods_write(&d->cli->arena, &pods, d->width, &d->out);
    return 0;
}

static void add_pod(struct description *d)
{
    static const char *const header[] = {"CONTAINER", "STATE", "RESTARTS", "REQUESTS", "COMMAND"};
    const struct json *pod = d->object, *owner = object_controller(pod);
    struct arena *a = &d->cli->arena;
    struct columns table;

    if (owner)
        fact(d, "Owner",
             arena_printf(&d->cli->arena, "%s/%s", json_get_string(owner, "kind", ""),
                          json_get_string(owner, "name", "")));
    fact(d, "Node", json_string(json_at(pod, "spec", "nodeName"), ""));
    fact(d, "Phase", json_string(json_at(pod, "status", "phase"), ""));
    fact(d, "Why", job_pod_why(a, pod));
    time_fact(d, "Created", object_created_ms(pod));
    add_labels(d);
    columns_init(&table, header, ELEMS(header));
    json_each (c, json_at(pod, "spec", "containers")) {
        const struct json *status = NULL, *state;

        json_each (s, json_at(pod, "status", "containerStatuses"))
            status = json_string_is(json_get(s, "name"), json_get_string(c, "name", "")) ? s
                                                                                         : status;
        state = json_get(status, "state");
        columns_add(&table, json_get_string(c, "name", ""));
        columns_add(&table, json_first(state) ? json_first(state)->key : "-");
        columns_addf(&table, "%" PRId64, json_get_int(status, "restartCount", 0));
        columns_add(&table, requests_of(a, c));
        columns_add(&table, command_line(a, c));
    }
    section(d, "Containers");
    columns_write(&table, d->width, &d->out);
    columns_release(&table);
}

/* A secret's data stays out of terminals and the logs of scripts. */
static void hide_data(struct arena *a, struct json *object)
{
    for (struct json *m = json_first_mut(json_get_mut(object, "data")); m; m = m->next)
        json_set_string(a, json_get_mut(object, "data"), m->key, "(hidden)");
}

/* What the tables above do not show, as YAML. */
static void add_rest(struct description *d)
{
    struct arena *a = &d->cli->arena;
    struct json *rest = json_clone(a, d->object);

    if (d->kind == &kind_secret)
        hide_data(a, rest);
    json_remove(rest, "apiVersion");
    json_remove(rest, "kind");
    json_remove(rest, "metadata");
    if (json_get(rest, "status"))
        json_remove(json_get_mut(rest, "status"), "conditions");
    if (json_len(rest) == 0)
        return;
    buf_addc(&d->out, '\n');
    yaml_write(&d->out, rest);
}

static void add_conditions(struct description *d)
{
    static const char *const header[] = {"CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE"};
    const struct json *conditions = json_at(d->object, "status", "conditions");
    struct columns table;

    if (json_len(conditions) == 0)
        return;
    columns_init(&table, header, ELEMS(header));
    json_each (c, conditions) {
        int64_t since_ms = object_time(c, "lastTransitionTime");
        char age[TIME_TEXT_SIZE];

        columns_add(&table, json_get_string(c, "type", ""));
        columns_add(&table, json_get_string(c, "status", ""));
        columns_add(&table, since_ms ? time_age(d->now_ms - since_ms, age) : "-");
        columns_add(&table, json_get_string(c, "reason", ""));
        columns_add(&table, json_get_string(c, "message", ""));
    }
    section(d, "Conditions");
    columns_write(&table, d->width, &d->out);
    columns_release(&table);
}

static void add_events(struct description *d)
{
    auto_err err = ERR_INIT;
    struct json *list = NULL;

    if (job_events_find(d->session, d->object, false, &list, &err)) {
        section(d, "Events");
        buf_addf(&d->out, "not available: %s\n", err.text);
    } else if (json_len(json_get(list, "items"))) {
        section(d, "Events");
        job_events_write(list, d->now_ms, d->width, &d->out);
    }
}

static void hint_next(const struct description *d, const char *word)
{
    const char *phase = job_phase(d->object);
    const struct talk *t = &d->cli->talk;

    if (!job_is_kind(d->kind))
        return;
    if (strcmp(phase, "Running") == 0)
        talk_hint(t, "follow it with: muster logs -f %s", word);
    else if (strcmp(phase, "Paused") == 0)
        talk_hint(t, "resume with: muster resume %s", word);
    else if (strcmp(phase, "Failed") == 0)
        talk_hint(t, "its output: muster logs %s   run it again: muster rerun %s", word, word);
    else if (job_is_finished(d->object))
        talk_hint(t, "its output: muster logs %s   its curves: muster board %s", word, word);
}

/* --- the command ------------------------------------------------------------------------ */

static int write_description(struct description *d, struct err *err)
{
    int r = 0;

    add_head(d);
    if (job_is_kind(d->kind)) {
        add_job_facts(d);
        add_labels(d);
        add_replica_specs(d);
        r = add_replicas(d, err);
    } else if (d->kind == &kind_pod) {
        add_pod(d);
    } else {
        time_fact(d, "Created", object_created_ms(d->object));
        add_labels(d);
        add_rest(d);
    }
    if (r)
        return r;
    if (d->wide || !job_is_kind(d->kind)) /* a job's phase and why say the same */
        add_conditions(d);
    add_events(d);
    return d->out.failed || arena_failed(&d->cli->arena)
               ? err_set(err, ERR_INTERNAL, "out of memory")
               : 0;
}

static int print_objects(struct cli *cli, const char *format, struct json *const *objects,
                         size_t len, struct err *err)
{
    struct json *list = json_new_object(&cli->arena), *items;
    int r;

    json_set_string(&cli->arena, list, "apiVersion", "v1");
    json_set_string(&cli->arena, list, "kind", "List");
    items = json_make_array(&cli->arena, list, "items");
    for (size_t i = 0; i < len; i++)
        json_append(items, objects[i]);
    r = output_list(format, list, err);
    return r < 0 ? r : 0;
}

static int describe(struct cli *cli, const struct describe_options *o, const struct args *args,
                    struct session *s, struct err *err)
{
    bool wide = strcmp(o->format, "wide") == 0, table = wide || strcmp(o->format, "table") == 0;
    struct json **objects = arena_alloc(&cli->arena, args->len * sizeof(*objects));
    int r = session_open(cli, &o->session, s, err);

    if (!objects)
        return err_set(err, ERR_INTERNAL, "out of memory");
    for (size_t i = 0; r == 0 && i < args->len; i++) {
        struct description d = {.cli = cli,
                                .session = s,
                                .wide = wide,
                                .width = wide ? 0 : cli->talk.columns,
                                .now_ms = clock_now_ms(loop_clock(s->loop)),
                                .out = BUF_INIT(CLI_TEXT_LIMIT_BYTES)};

        buf_adds(&d.out, i ? "\n" : "");
        r = session_find_object(s, args->list[i], &d.kind, &d.object, err);
        objects[i] = d.object;
        if (r == 0 && table)
            r = write_description(&d, err);
        if (r == 0 && table) {
            output_text(&d.out);
            (void)fflush(stdout);
            hint_next(&d, args->list[i]);
        }
        buf_release(&d.out);
    }
    return r || table ? r : print_objects(cli, o->format, objects, args->len, err);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    auto_err err = ERR_INIT;
    struct session s = {0};
    int r = describe(cli, values, args, &s, &err);

    session_close(&s);
    return r ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_describe = {
    .name = "describe",
    .args = "JOB | KIND/NAME...",
    .summary = "Describe an object: its state, why, replicas and events",
    .examples = "  muster describe mnist\n"
                "  muster describe pod/mnist-3fa85-worker-0\n"
                "  muster describe queue/default node/$(hostname)\n"
                "  muster describe mnist -o yaml\n",
    .help = "A bare name is that of a job, else of a pod. -o wide cuts no lines and\n"
            "shows a job's conditions; -o json and yaml print the objects themselves.\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct describe_options),
    .min_args = 1,
    .max_args = ARGS_LIMIT,
    .run = run,
};
