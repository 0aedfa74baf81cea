/*
 * cmd_export.c - `muster export`: everything about a job in one HTML file, for a bug report. It has
 * no scripts and loads nothing. Values that look like secrets are left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/object.h"
#include "api/yaml.h"
#include "base/percent.h"
#include "base/timefmt.h"
#include "base/version.h"
#include "cli/follow.h"
#include "cli/job_events.h"
#include "cli/job_pods.h"
#include "cli/output.h"

struct export_options {
    struct session_options session;
    const char *file;
    int64_t tail;
    bool replace;
};

static const struct export_options defaults = {.tail = 10000};

static const struct option_spec options[] = {
    OPTION_OF_TEXT(struct export_options, file, "file", "FILE",
                   "output file (default: JOB.html); - for standard output", .letter = 'f'),
    OPTION_OF_INT(struct export_options, tail, "tail", "N",
                  "include the last N lines of each replica's log (default 10000)"),
    OPTION_OF_FLAG(struct export_options, replace, "replace", "overwrite an existing file"),
    SESSION_OPTIONS(struct export_options, session),
    {0},
};

static const char page_top[] =
    "<!doctype html>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'\">\n"
    "<style>body{font:14px system-ui,sans-serif;margin:2em}pre{background:#f4f4f4;"
    "padding:1em;overflow:auto;max-height:40em}summary{font-weight:bold;margin:.5em 0}</style>\n";

/* --- secrets ---------------------------------------------------------------------------- */

static bool sounds_secret(const char *name)
{
    static const char *const words[] = {"TOKEN", "SECRET", "PASSW", "KEY", "CREDENTIAL"};

    for (size_t i = 0; i < ELEMS(words); i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

/* Values of variables with suspicious names, wherever a template is. */
static void hide_secrets(struct arena *a, struct json *v)
{
    const char *name = json_is(v, JSON_OBJECT) ? json_get_string(v, "name", "") : "";

    if (*name && json_get(v, "value") && sounds_secret(name))
        json_set_string(a, v, "value", "(left out)");
    if (json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY))
        for (struct json *member = json_first_mut(v); member; member = member->next)
            hide_secrets(a, member);
}

/* kubectl's own annotation repeats the manifest, secrets included. */
static struct json *shown(struct arena *a, const struct json *object)
{
    struct json *copy = json_clone(a, object);
    struct json *annotations = json_get_mut(json_get_mut(copy, "metadata"), "annotations");

    if (annotations)
        json_remove(annotations, "kubectl.kubernetes.io/last-applied-configuration");
    json_remove(json_get_mut(copy, "metadata"), "managedFields");
    hide_secrets(a, copy);
    return copy;
}

/* --- the page --------------------------------------------------------------------------- */

static void add_escaped(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] == '<')
            buf_adds(out, "&lt;");
        else if (text[i] == '&')
            buf_adds(out, "&amp;");
        else if (text[i] == '\0')
            buf_adds(out, "\xef\xbf\xbd");
        else
            buf_addc(out, text[i]);
}

static void add_section(struct buf *out, const char *title, const struct buf *text)
{
    buf_adds(out, "<details open><summary>");
    add_escaped(out, title, strlen(title));
    buf_adds(out, "</summary><pre>\n");
    add_escaped(out, text->data ? text->data : "", text->len);
    buf_adds(out, "</pre></details>\n");
}

static void add_object(struct buf *out, struct arena *a, const char *title,
                       const struct json *object)
{
    struct buf text = BUF_INIT(CLI_TEXT_LIMIT_BYTES);

    yaml_write(&text, shown(a, object));
    add_section(out, title, &text);
    buf_release(&text);
}

/* Errors appear in place of what could not be fetched. */
static void add_fetched(struct buf *out, struct session *s, const char *title, const char *path)
{
    struct buf text = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    auto_err err = ERR_INIT;

    if (session_fetch(s, path, &text, &err)) {
        buf_clear(&text);
        buf_addf(&text, "not to be had: %s", err.text ? err.text : "the server has none");
    }
    add_section(out, title, &text);
    buf_release(&text);
}

static void add_log(struct buf *out, struct session *s, const struct json *pod,
                    const char *container, int64_t tail)
{
    const char *base = kind_path(s->arena, &kind_pod, object_namespace(pod), object_name(pod));
    struct buf path = BUF_INIT(64u * 1024u);

    buf_addf(&path,
             "%s/log?timestamps=true&tailLines=%" PRId64 "&uid=%s&container=", base ? base : "",
             tail, object_uid(pod));
    percent_encode(&path, container);
    if (!path.failed)
        add_fetched(out, s,
                    arena_printf(s->arena, "log of %s", follow_label(s->arena, pod, container)),
                    path.data);
    buf_release(&path);
}

static void add_events(struct buf *out, struct cli *cli, struct session *s, const struct json *job)
{
    struct buf text = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    struct json *list = NULL;
    auto_err err = ERR_INIT;

    if (job_events_find(s, job, false, &list, &err))
        buf_addf(&text, "not to be had: %s", err.text);
    else
        job_events_write(list, clock_now_ms(loop_clock(s->loop)), 0, &text);
    (void)cli;
    add_section(out, "events", &text);
    buf_release(&text);
}

static int write_page(struct cli *cli, struct session *s, const struct kind *k,
                      const struct json *job, int64_t tail, struct buf *out, struct err *err)
{
    struct job_pods pods = {0};
    struct utsname machine;
    char now[TIME_TEXT_SIZE];
    int r = job_pods_find(s, job, &pods, err);

    if (r)
        return r;
    buf_adds(out, page_top);
    buf_adds(out, "<title>");
    add_escaped(out, object_name(job), strlen(object_name(job)));
    buf_adds(out, "</title>\n<h1>");
    add_escaped(out, object_name(job), strlen(object_name(job)));
    buf_addf(out, "</h1>\n<p>%s, exported %s by muster " MUSTER_VERSION, k->name,
             time_format(clock_now_ms(loop_clock(s->loop)), now));
    if (uname(&machine) == 0)
        buf_addf(out, " on %s %s %s", machine.sysname, machine.release, machine.machine);
    buf_adds(out,
             ". Values of variables that sound secret are left out; logs are as printed.</p>\n");
    add_object(out, s->arena, "job", job);
    add_events(out, cli, s, job);
    for (size_t i = 0; i < pods.len; i++)
        if (!job_pod_is_gone(pods.list[i].pod))
            add_object(out, s->arena,
                       arena_printf(s->arena, "pod %s", object_name(pods.list[i].pod)),
                       pods.list[i].pod);
    for (size_t i = 0; i < pods.len; i++)
        json_each (c, json_at(pods.list[i].pod, "spec", "containers"))
            add_log(out, s, pods.list[i].pod, json_get_string(c, "name", ""), tail);
    add_fetched(out, s, "scalars",
                arena_printf(s->arena, "/board/api/%s/%s/%s/points.csv", k->plural,
                             object_namespace(job), object_name(job)));
    return arena_failed(s->arena) || out->failed
               ? err_set(err, ERR_INTERNAL, "the job does not fit into memory")
               : 0;
}

static int write_file(const char *file, bool replace, const struct buf *page, struct err *err)
{
    int fd, r;

    if (strcmp(file, "-") == 0) {
        output_text(page);
        return 0;
    }
    fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC | (replace ? O_TRUNC : O_EXCL), 0644);
    if (fd < 0) {
        r = err_set(err, errno == EEXIST ? ERR_ALREADY_EXISTS : ERR_INTERNAL, "%s: %s", file,
                    strerror(errno));
        if (err->reason == ERR_ALREADY_EXISTS)
            err_hint(err, "--replace overwrites it, --file names another");
        return r;
    }
    r = output_bytes(fd, page->data, page->len);
    if (close(fd) != 0 && r == 0)
        r = -errno;
    return r ? err_set(err, ERR_INTERNAL, "%s: %s", file, strerror(-r)) : 0;
}

static int export_job(struct cli *cli, const struct export_options *o, const char *name,
                      struct session *s, struct err *err)
{
    struct buf page = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    const struct kind *k = NULL;
    struct json *job = NULL;
    const char *file = o->file;
    int r = session_open(cli, &o->session, s, err);

    if (r == 0)
        r = session_find_job(s, name, &k, &job, err);
    if (r == 0)
        r = write_page(cli, s, k, job, o->tail, &page, err);
    if (r == 0 && !file)
        file = arena_printf(s->arena, "%s.html", object_name(job));
    if (r == 0)
        r = write_file(file, o->replace, &page, err);
    if (r == 0 && strcmp(file, "-") != 0)
        talk_note(&cli->talk, "%s written; look through it before you pass it on", file);
    buf_release(&page);
    return r;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    auto_err err = ERR_INIT;
    struct session s = {0};
    int r = export_job(cli, values, args->list[0], &s, &err);

    session_close(&s);
    return r ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_export = {
    .name = "export",
    .args = "JOB",
    .summary = "Write everything about a job into one HTML file, for a bug report",
    .examples = "  muster export mnist\n"
                "  muster export mnist --file - --tail 100\n",
    .help = "Contains its manifest and status, events, pods, logs and curves. Values of\n"
            "variables whose names look secret are left out.\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct export_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
