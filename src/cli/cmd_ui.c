/* cmd_ui.c - `muster ui`: a full-screen view of jobs, a job, and its logs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "api/object.h"
#include "base/percent.h"
#include "cli/columns.h"
#include "cli/follow.h"
#include "cli/job_choice.h"
#include "cli/job_events.h"
#include "cli/job_pods.h"
#include "cli/job_table.h"
#include "cli/jobphase.h"
#include "cli/live.h"
#include "cli/output.h"
#include "cli/tame.h"
#include "cli/words.h"

#define EVERY_MS 1000
#define SCREEN_ON "\033[?1049h\033[?25l"
#define SCREEN_OFF "\033[?25h\033[?1049l"
#define INVERSE "\033[7m"
#define PLAIN "\033[0m"
#define NAME_SIZE 256
#define SCROLL_LIMIT 100000

struct ui_options {
    struct session_options session;
    const char *selector;
    bool all;
};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct ui_options, all, "all-namespaces", "jobs in every namespace",
                   .letter = 'A'),
    OPTION_OF_TEXT(struct ui_options, selector, "selector", "LABELS", "only jobs with these labels",
                   .letter = 'l'),
    SESSION_OPTIONS(struct ui_options, session),
    {0},
};

enum view { VIEW_LIST, VIEW_JOB, VIEW_LOG };

struct ui {
    struct cli *cli;
    const struct ui_options *options;
    struct session *session;
    enum view view;
    size_t rows, columns;
    /* Selections are by name: lines move. */
    char job_uid[NAME_SIZE], pod_uid[NAME_SIZE];
    int move;        /* keys pressed since the last drawing: lines down, or up */
    size_t back;     /* lines the log is scrolled back */
    int asked;       /* 's', 'r' or 'd': needs confirmation; 0: none */
    int confirmed;   /* the confirmed one */
    char said[1024]; /* its result */
};

/* --- lines of the screen ---------------------------------------------------------------- */

static void measure(struct ui *u)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};

    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    u->rows = max_size(size.ws_row, 4);
    u->columns = max_size(size.ws_col, 20);
}

/* One line, cut to the screen's width; text must not contain control characters. */
static void add_line(struct ui *u, struct buf *out, const char *text, bool chosen)
{
    size_t fit = columns_fit(text, u->columns);

    buf_adds(out, chosen ? INVERSE : "");
    buf_add(out, text, fit);
    buf_adds(out, chosen ? PLAIN "\033[K\r\n" : "\033[K\r\n");
}

/* The lines of text from the first on; chosen: index of the highlighted one. */
static size_t add_lines(struct ui *u, struct buf *out, char *text, size_t first, size_t most,
                        size_t chosen)
{
    size_t n = 0, at = 0;

    for (char *line = text, *end; line && *line && n < most; line = end ? end + 1 : NULL, at++) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        if (at < first)
            continue;
        tame_blank(line);
        add_line(u, out, line, at == chosen);
        n++;
    }
    return n;
}

static void add_bar(struct ui *u, struct buf *out, size_t used, const char *text)
{
    for (; used + 1 < u->rows; used++)
        buf_adds(out, "\033[K\r\n");
    buf_adds(out, INVERSE);
    buf_add(out, text, columns_fit(text, u->columns - 1));
    buf_adds(out, PLAIN "\033[K\033[J");
}

static const char *bar_text(const struct ui *u)
{
    static const char *const keys[] = {
        [VIEW_LIST] = "up/down choose  Enter job  l logs  s stop  r resume  d remove  q quit",
        [VIEW_JOB] = "up/down choose  Enter logs  s stop  r resume  d remove  Esc back  q quit",
        [VIEW_LOG] = "up/down, page keys scroll  f newest lines  Esc back  q quit",
    };
    static const char *const questions[] = {
        ['s'] = "stop the job? y/n", ['r'] = "resume the job? y/n", ['d'] = "remove the job? y/n"};

    if (u->asked)
        return words(questions[u->asked]);
    return *u->said ? u->said : words(keys[u->view]);
}

/* The index of the kept uid, moved by the keys pressed. Updates the kept uid. */
static size_t choose(struct ui *u, char kept[NAME_SIZE], const char *const *uids, size_t len)
{
    size_t at = 0;

    for (size_t i = 0; i < len; i++)
        if (strcmp(uids[i], kept) == 0)
            at = i;
    if (u->move < 0)
        at -= min_size(at, (size_t)-u->move);
    else if (len)
        at = min_size(at + (size_t)u->move, len - 1);
    u->move = 0;
    if (len)
        (void)snprintf(kept, NAME_SIZE, "%s", uids[at]);
    return at;
}

/* --- views ------------------------------------------------------------------------------ */

static const struct json *find_job(const struct ui *u, const struct json *list)
{
    json_each (job, json_get(list, "items"))
        if (strcmp(object_uid(job), u->job_uid) == 0)
            return job;
    return NULL;
}

static void draw_list(struct ui *u, struct json *list, struct buf *out)
{
    struct buf text = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    size_t len = json_len(json_get(list, "items")), n = 0, at, room = u->rows - 2;
    const char **uids = arena_alloc(u->session->arena, max_size(len, 1) * sizeof(*uids));

    if (!uids)
        return;
    json_each (job, json_get(list, "items"))
        uids[n++] = object_uid(job);
    at = choose(u, u->job_uid, uids, len);
    job_table_write(u->session->arena, list, clock_now_ms(loop_clock(u->session->loop)), u->columns,
                    (struct job_table_shape){.all = u->options->all}, &text);
    if (len == 0) {
        add_line(u, out, words("no jobs; start one with: muster run -- python train.py"), false);
        n = 1;
    } else {
        char *rest = strchr(text.data, '\n');

        if (rest)
            *rest++ = '\0';
        add_line(u, out, text.data, false);
        n = 1 + add_lines(u, out, rest ? rest : text.data + text.len, at < room ? 0 : at - room + 1,
                          room, at);
    }
    add_bar(u, out, n, bar_text(u));
    buf_release(&text);
}

static size_t choose_pod(struct ui *u, const struct job_pods *pods)
{
    const char **uids = arena_alloc(u->session->arena, max_size(pods->len, 1) * sizeof(*uids));

    for (size_t i = 0; uids && i < pods->len; i++)
        uids[i] = object_uid(pods->list[i].pod);
    return uids ? choose(u, u->pod_uid, uids, pods->len) : 0;
}

static int draw_job(struct ui *u, const struct json *job, struct buf *out, struct err *err)
{
    struct buf text = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    struct job_pods pods = {0};
    struct json *events = NULL;
    char progress[JOB_PROGRESS_SIZE];
    size_t n, at, room;
    int r = job_pods_find(u->session, job, &pods, err);

    if (r == 0)
        r = job_events_find(u->session, job, false, &events, err);
    if (r)
        return r;
    at = choose_pod(u, &pods);
    buf_addf(&text, "%s  %s  %s  %s\n%s\n\n", json_get_string(job, "kind", ""), object_name(job),
             object_is_deleting(job) ? "Deleting" : job_phase(job),
             job_progress(job, true, progress), job_has_succeeded(job) ? "" : job_why(job));
    n = add_lines(u, out, text.data, 0, u->rows - 1, SIZE_MAX);
    buf_clear(&text);
    job_pods_write(u->session->arena, &pods, u->columns, &text);
    room = max_size((u->rows - n - 1) / 2, 2);
    n += add_lines(u, out, text.data, at + 1 < room ? 0 : at + 2 - room, room, at + 1);
    add_line(u, out, "", false);
    buf_clear(&text);
    job_events_write(events, clock_now_ms(loop_clock(u->session->loop)), u->columns, &text);
    room = u->rows > n + 2 ? u->rows - n - 2 : 0;
    at = json_len(json_get(events, "items")) + 1;
    n += 1 + (room ? add_lines(u, out, text.data, at > room ? at - room : 0, room, SIZE_MAX) : 0);
    add_bar(u, out, n, bar_text(u));
    buf_release(&text);
    return 0;
}

/* The visible last lines of its first container. */
static int fetch_log(struct ui *u, const struct json *pod, size_t lines, struct buf *text,
                     struct err *err)
{
    struct arena *a = u->session->arena;
    const char *base = kind_path(a, &kind_pod, object_namespace(pod), object_name(pod));
    const char *container = json_get_string(json_index(json_at(pod, "spec", "containers"), 0),
                                            "name", "");
    struct buf path = BUF_INIT(64u * 1024u);
    auto_err failed = ERR_INIT;
    int r;

    buf_addf(&path, "%s/log?tailLines=%zu&uid=%s&container=", base ? base : "", lines,
             object_uid(pod));
    percent_encode(&path, container);
    r = path.failed ? err_set(err, ERR_INTERNAL, "out of memory")
                    : session_fetch(u->session, path.data, text, &failed);
    buf_release(&path);
    if (r && failed.reason != ERR_UNAVAILABLE) { /* not started yet, or gone */
        buf_clear(text);
        buf_addf(text, "no log: %s\n", failed.text ? failed.text : "");
        return 0;
    }
    if (r)
        err_move(err, &failed);
    return r;
}

static size_t count_lines(const struct buf *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->len; i++)
        n += text->data[i] == '\n';
    return n + (text->len && text->data[text->len - 1] != '\n');
}

static int draw_log(struct ui *u, const struct json *job, struct buf *out, struct err *err)
{
    struct buf text = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    struct job_pods pods = {0};
    size_t room = u->rows - 2, n = 1, lines, wanted;
    int r = job_pods_find(u->session, job, &pods, err);
    int64_t back = (int64_t)u->back - u->move;
    const struct json *pod;

    if (r)
        return r;
    u->move = 0;
    u->back = (size_t)min_i64(max_i64(back, 0), SCROLL_LIMIT);
    wanted = room + u->back;
    pod = pods.len ? pods.list[choose_pod(u, &pods)].pod : NULL;
    if (pod)
        r = fetch_log(u, pod, wanted, &text, err);
    if (r == 0) {
        lines = count_lines(&text);
        u->back = lines < wanted ? (lines > room ? lines - room : 0) : u->back;
        add_line(u, out,
                 arena_printf(u->session->arena, "%s  %s%s", object_name(job),
                              pod ? follow_label(u->session->arena, pod, NULL) : "no replica",
                              u->back ? "  (scrolled back)" : ""),
                 false);
        if (text.len)
            n += add_lines(u, out, text.data, 0, min_size(room, lines), SIZE_MAX);
        add_bar(u, out, n, bar_text(u));
    }
    buf_release(&text);
    return r;
}

/* --- actions ---------------------------------------------------------------------------- */

static void carry_out(struct ui *u, const struct json *job)
{
    const struct kind *k = kind_of_object(job);
    bool paused = u->confirmed == 's';
    auto_err err = ERR_INIT;
    int r = u->confirmed == 'd' ? session_delete(u->session, k, object_namespace(job),
                                                 object_name(job), object_uid(job), &err)
                                : job_choice_set_paused(&paused, u->session, k, job, &err);

    (void)snprintf(u->said, sizeof(u->said), "%s: %s", object_name(job),
                   r                     ? err.text
                   : u->confirmed == 'd' ? words("removed")
                   : u->confirmed == 's' ? words("stopped")
                                         : words("resumed"));
    u->confirmed = 0;
}

static int draw(void *arg, struct live *live, struct err *err)
{
    struct ui *u = arg;
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    struct json *list = NULL;
    const struct json *job;
    int r = session_list_jobs(u->session, u->options->all ? NULL : u->session->ns,
                              u->options->selector, &list, err);

    (void)live;
    if (r)
        return r;
    measure(u);
    job = find_job(u, list);
    if (!job)
        u->view = VIEW_LIST;
    if (job && u->confirmed)
        carry_out(u, job);
    buf_adds(&out, "\033[H");
    if (u->view == VIEW_LIST)
        draw_list(u, list, &out);
    else
        r = u->view == VIEW_JOB ? draw_job(u, job, &out, err) : draw_log(u, job, &out, err);
    if (r == 0 && output_bytes(STDOUT_FILENO, out.data, out.len) != 0)
        r = err_set(err, ERR_INTERNAL, "the terminal is gone");
    buf_release(&out);
    return r;
}

/* --- keys ------------------------------------------------------------------------------- */

static void go_to(struct ui *u, enum view view)
{
    u->view = view;
    u->move = 0;
    u->back = 0;
    if (view == VIEW_LIST)
        *u->pod_uid = '\0';
}

static void answer(struct ui *u, int key)
{
    if (key == 'y')
        u->confirmed = u->asked;
    u->asked = 0;
}

static void on_key(void *arg, struct live *live, int key)
{
    struct ui *u = arg;

    *u->said = '\0';
    if (u->asked) {
        answer(u, key);
        return;
    }
    switch (key) {
    case LIVE_KEY_UP:
    case 'k':
        u->move--;
        break;
    case LIVE_KEY_DOWN:
    case 'j':
        u->move++;
        break;
    case LIVE_KEY_PAGE_UP:
        u->move -= (int)u->rows - 3;
        break;
    case LIVE_KEY_PAGE_DOWN:
    case ' ':
        u->move += (int)u->rows - 3;
        break;
    case '\r':
    case '\n':
    case LIVE_KEY_RIGHT:
        if (u->view != VIEW_LOG)
            go_to(u, u->view == VIEW_LIST ? VIEW_JOB : VIEW_LOG);
        break;
    case 'l':
        go_to(u, VIEW_LOG);
        break;
    case 'f':
        u->back = 0;
        break;
    case LIVE_KEY_ESCAPE:
    case LIVE_KEY_LEFT:
    case 127:
        go_to(u, u->view == VIEW_LOG ? VIEW_JOB : VIEW_LIST);
        break;
    case 's':
    case 'r':
    case 'd':
        u->asked = u->view == VIEW_LOG || !*u->job_uid ? 0 : key;
        break;
    case 'q':
    case 3: /* Ctrl-C */
        live_quit(live);
        break;
    default:
        break;
    }
}

/* --- the command ------------------------------------------------------------------------ */

/* Restores the terminal, whatever happened. */
static int with_screen(struct ui *u, struct err *err)
{
    struct termios saved, raw;
    int flags = fcntl(STDIN_FILENO, F_GETFL), r;

    if (tcgetattr(STDIN_FILENO, &saved) != 0)
        return err_set(err, ERR_INTERNAL, "the terminal does not answer: %s", strerror(errno));
    raw = saved;
    cfmakeraw(&raw);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    (void)fputs(SCREEN_ON, stdout);
    (void)fflush(stdout);
    r = live_run(&(struct live_options){.session = u->session,
                                        .ns = u->options->all ? NULL : u->session->ns,
                                        .labels = u->options->selector,
                                        .every_ms = EVERY_MS,
                                        .draw = draw,
                                        .key = on_key,
                                        .arg = u},
                 err);
    if (flags >= 0)
        (void)fcntl(STDIN_FILENO, F_SETFL, flags);
    (void)fputs(SCREEN_OFF, stdout);
    (void)fflush(stdout);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &saved);
    return r;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct ui_options *o = values;
    auto_err err = ERR_INIT;
    struct session s = {0};
    struct ui ui = {.cli = cli, .options = o, .session = &s};
    int r;

    (void)args;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        talk_errorf(&cli->talk, "'muster ui' needs a terminal");
        talk_hint(&cli->talk, "'muster ps' prints the same list into a pipe");
        return EXIT_USAGE;
    }
    r = session_open(cli, &o->session, &s, &err);
    if (r == 0)
        r = with_screen(&ui, &err);
    session_close(&s);
    return r ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_ui = {
    .name = "ui",
    .args = "",
    .summary = "Watch jobs, replicas and logs in full screen",
    .examples = "  muster ui\n"
                "  muster ui -l team=nlp\n",
    .help = "Arrows select, Enter opens a job and a replica's log, Esc goes back, s stops, r\n"
            "resumes, d removes (each asks first), q quits.\n",
    .options = options,
    .options_size = sizeof(struct ui_options),
    .run = run,
};
