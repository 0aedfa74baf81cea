/* cmd_events.c - `muster events`: what happened to a job and its pods, or in a namespace. */
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "cli/columns.h"
#include "cli/output.h"
#include "cli/session.h"
#include "core/job.h"

struct events_options {
    struct session_options session;
    const char *format;
    bool warnings;
};

static const struct events_options defaults = {.format = "table"};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct events_options, warnings, "warnings", "only warnings", .letter = 'w'),
    OPTION_OUTPUT(struct events_options),
    SESSION_OPTIONS(struct events_options, session),
    {0},
};

static int64_t last_seen(const struct json *event)
{
    int64_t last = object_time(event, "lastTimestamp");

    return last ? last : object_time(event, "eventTime");
}

static int by_time(const void *a, const void *b)
{
    const struct json *x = *(struct json *const *)a, *y = *(struct json *const *)b;
    int64_t x_ms = last_seen(x), y_ms = last_seen(y);

    return x_ms != y_ms ? (x_ms < y_ms ? -1 : 1)
                        : strverscmp(object_resource_version(x), object_resource_version(y));
}

/* Of the job itself, its PodGroup or one of its pods, also one that is gone. */
static bool is_about(struct arena *a, const struct json *event, const struct json *job)
{
    const struct json *about = json_get(event, "involvedObject");
    const char *name = json_get_string(about, "name", "");
    const char *child = job_child_name(a, job);
    size_t len = child ? strlen(child) : 0;

    return json_string_is(json_get(about, "uid"), object_uid(job)) ||
           (child && strncmp(name, child, len) == 0 && (!name[len] || name[len] == '-'));
}

static void write_table(struct cli *cli, const struct json *list, int64_t now_ms)
{
    static const char *const header[] = {"LAST", "COUNT", "TYPE", "REASON", "OBJECT", "MESSAGE"};
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    struct columns table;

    columns_init(&table, header, ELEMS(header));
    json_each (event, json_get(list, "items")) {
        char age[TIME_TEXT_SIZE];

        columns_add(&table, time_age(now_ms - last_seen(event), age));
        columns_addf(&table, "%lld", (long long)json_get_int(event, "count", 1));
        columns_add(&table, json_get_string(event, "type", ""));
        columns_add(&table, json_get_string(event, "reason", ""));
        columns_add(&table, json_string(json_at(event, "involvedObject", "name"), ""));
        columns_add(&table, json_get_string(event, "message", ""));
    }
    columns_write(&table, cli->talk.columns, &out);
    output_text(&out);
    columns_release(&table);
    buf_release(&out);
}

/* The wanted ones, oldest first. */
static struct json *choose(const struct events_options *o, struct arena *a, struct json *list,
                           const struct json *job)
{
    struct json *items = json_get_mut(list, "items"), *chosen = json_new_object(a), *out;
    struct json **all = arena_alloc(a, max_size(json_len(items), 1) * sizeof(*all));
    size_t n = 0;

    json_set_string(a, chosen, "apiVersion", "v1");
    json_set_string(a, chosen, "kind", "List");
    out = json_make_array(a, chosen, "items");
    for (struct json *e = json_first_mut(items); e && all; e = e->next)
        if ((!job || is_about(a, e, job)) &&
            (!o->warnings || json_string_is(json_get(e, "type"), "Warning")))
            all[n++] = e;
    if (n)
        qsort(all, n, sizeof(struct json *), by_time);
    for (size_t i = 0; i < n; i++) {
        json_set_string(a, all[i], "apiVersion", "v1");
        json_set_string(a, all[i], "kind", "Event");
        (void)json_append(out, json_clone(a, all[i]));
    }
    return all ? chosen : NULL;
}

static int events(struct cli *cli, const struct events_options *o, const char *name,
                  struct session *s, struct err *err)
{
    const struct kind *k = NULL;
    struct json *job = NULL, *list = NULL;
    int r = session_open(cli, &o->session, s, err);

    if (r == 0 && name)
        r = session_find_job(s, name, &k, &job, err);
    if (r == 0)
        r = session_list(s, &kind_event, s->ns, NULL, &list, err);
    if (r)
        return r;
    list = choose(o, s->arena, list, job);
    if (!list)
        return err_set(err, ERR_INTERNAL, "out of memory");
    r = output_list(o->format, list, err);
    if (r)
        return r < 0 ? r : 0;
    if (json_len(json_get(list, "items")))
        write_table(cli, list, clock_now_ms(loop_clock(s->loop)));
    else
        talk_note(&cli->talk, "no events%s; they are kept for a while only",
                  o->warnings ? " that warn" : "");
    return 0;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    auto_err err = ERR_INIT;
    struct session s = {0};
    int r = events(cli, values, args->len ? args->list[0] : NULL, &s, &err);

    session_close(&s);
    return r ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_events = {
    .name = "events",
    .args = "[JOB]",
    .summary = "Print what happened to a job and its pods",
    .help = "  muster events mnist\n"
            "  muster events --warnings\n"
            "\n"
            "Oldest first. Without a job: all of the namespace.\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct events_options),
    .max_args = 1,
    .run = run,
};
