/* notify.c - see notify.h. */
#include "core/notify.h"

#include <stdio.h>
#include <string.h>

#include "api/notification.h"
#include "api/object.h"
#include "api/selector.h"
#include "base/timefmt.h"

#define MESSAGE_LIMIT 1000
#define ID_SIZE 48
#define TEST_PHASE "Test"

/* --- what a job's phase is, and since when --- */

static const struct json *status_of(const struct json *object)
{
    return json_get(object, "status");
}

static const char *phase_of(const struct json *job)
{
    return json_get_string(status_of(job), "phase", "");
}

static int64_t condition_time(const struct json *job, const char *type)
{
    return object_time(object_condition(job, type), "lastTransitionTime");
}

/* Waiting starts with the job's creation, or with the end of its last run. */
static int64_t wait_time(const struct json *job)
{
    int64_t at_ms = object_created_ms(job);

    json_each (i, json_get(status_of(job), "interruptions"))
        at_ms = max_i64(at_ms, max_i64(object_time(i, "stopTime"), object_time(i, "resumeTime")));
    return at_ms;
}

static int64_t phase_time(const struct json *job)
{
    const char *phase = phase_of(job);
    int64_t at_ms = object_has_ended(job) ? object_time(status_of(job), "completionTime")
                                          : condition_time(job, phase);

    return at_ms ? at_ms : wait_time(job);
}

/* --- ids --- */

/* FNV-1a, with a separator between the parts. */
static uint64_t hash(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return (h ^ '|') * 0x100000001b3u;
}

/* "2026-11-17T02:42:21Z-0123456789abcdef": the time can be parsed again. */
static void write_id(char out[ID_SIZE], int64_t at_ms, const char *uid, const char *phase)
{
    char stamp[TIME_TEXT_SIZE];

    (void)snprintf(out, ID_SIZE, "%.24s-%016llx", time_format(at_ms, stamp),
                   (unsigned long long)hash(hash(0xcbf29ce484222325u, uid), phase));
}

static int64_t id_time(const char *id)
{
    char stamp[ID_SIZE];
    char *end;
    int64_t at_ms;

    (void)snprintf(stamp, sizeof(stamp), "%s", id);
    end = strrchr(stamp, '-');
    if (end)
        *end = '\0';
    return time_parse(stamp, &at_ms) < 0 ? 0 : at_ms;
}

/* --- what to send --- */

static bool is_known(const struct json *status, const char *id)
{
    return json_has(json_get(status, "recent"), id) ||
           json_find(json_get(status, "pending"), "id", id);
}

static bool asks_for(const struct json *notification, const struct kind *k, const struct json *job)
{
    const struct json *spec = json_get(notification, "spec");
    const struct json *names = json_get(spec, "kinds"), *selector = json_get(spec, "selector");

    return !json_get_bool(spec, "suspend", false) &&
           json_has(json_get(spec, "phases"), phase_of(job)) &&
           (json_len(names) == 0 || json_has(names, k->name)) &&
           (!selector || label_map_matches(selector, object_labels(job)));
}

static int64_t since(const struct json *notification)
{
    int64_t at_ms = object_time(status_of(notification), "since");

    return at_ms ? at_ms : object_created_ms(notification);
}

/* Truncated between characters. */
static void set_cut(struct arena *a, struct json *to, const char *key, const char *text)
{
    size_t len = strlen(text);

    if (len > MESSAGE_LIMIT)
        for (len = MESSAGE_LIMIT; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
            len--;
    if (len)
        json_set(a, to, key, json_new_string_len(a, text, len));
}

struct json *notify_event(struct arena *a, const struct json *notification, const struct kind *k,
                          const struct json *job, bool seen)
{
    int64_t at_ms = phase_time(job);
    char id[ID_SIZE], stamp[TIME_TEXT_SIZE];
    struct json *event;

    if (!asks_for(notification, k, job) || (!seen && at_ms < since(notification)))
        return NULL;
    write_id(id, at_ms, object_uid(job), phase_of(job));
    if (is_known(status_of(notification), id))
        return NULL;
    event = json_new_object(a);
    json_set_string(a, event, "id", id);
    json_set_string(a, event, "time", time_format(at_ms, stamp));
    json_set_string(a, event, "apiVersion", kind_api_version(a, k));
    json_set_string(a, event, "kind", k->name);
    json_set_string(a, event, "name", object_name(job));
    json_set_string(a, event, "uid", object_uid(job));
    json_set_string(a, event, "phase", phase_of(job));
    set_cut(a, event, "reason", json_get_string(status_of(job), "reason", ""));
    set_cut(a, event, "message", json_get_string(status_of(job), "message", ""));
    return event;
}

/* --- what to remember --- */

struct change {
    struct arena *arena;
    struct json *status, *pending, *recent;
    int64_t now_ms;
};

static void count(struct change *c, const char *member)
{
    json_set_int(c->arena, c->status, member, json_get_int(c->status, member, 0) + 1);
}

static void set_time(struct change *c, struct json *to, const char *member, int64_t ms)
{
    char stamp[TIME_TEXT_SIZE];

    json_set_string(c->arena, to, member, time_format(ms, stamp));
}

static void set_error(struct change *c, const char *message)
{
    struct json *error = json_new_object(c->arena);

    set_time(c, error, "time", c->now_ms);
    set_cut(c->arena, error, "message", message);
    json_set(c->arena, c->status, "lastError", error);
}

/* An event whose id is forgotten is recognized as old by its time. */
static void remember(struct change *c, const char *id)
{
    json_append_string(c->arena, c->recent, id);
    while (json_len(c->recent) > NOTIFY_RECENT_LIMIT) {
        const struct json *oldest = json_first(c->recent);
        int64_t after_ms = id_time(json_string(oldest, "")) + 1000;

        if (after_ms > object_time(c->status, "since"))
            set_time(c, c->status, "since", after_ms);
        json_remove_item(c->recent, oldest);
    }
}

/* Removes it from pending. */
static void decide(struct change *c, const struct json *event)
{
    remember(c, json_get_string(event, "id", ""));
    json_remove_item(c->pending, event);
}

static void give_up(struct change *c, const struct json *event)
{
    count(c, "failed");
    decide(c, event);
}

static void keep_newest(struct change *c, size_t count)
{
    if (json_len(c->pending) > count)
        set_error(c, "too many pending events: the oldest was dropped");
    while (json_len(c->pending) > count)
        give_up(c, json_first(c->pending));
}

static void give_up_old(struct change *c)
{
    for (const struct json *e = json_first(c->pending), *next; e; e = next) {
        next = e->next;
        if (c->now_ms - object_time(e, "time") > NOTIFY_GIVE_UP_MS)
            give_up(c, e);
    }
}

static void forget_failures(struct change *c)
{
    json_remove(c->status, "failures");
    json_remove(c->status, "retryTime");
}

static void on_accepted(struct change *c, const struct json *event, int code)
{
    struct json *delivery = json_new_object(c->arena);

    json_set_string(c->arena, delivery, "id", json_get_string(event, "id", ""));
    set_time(c, delivery, "time", c->now_ms);
    json_set_stringf(c->arena, delivery, "job", "%s/%s", json_get_string(event, "kind", ""),
                     json_get_string(event, "name", ""));
    json_set_string(c->arena, delivery, "phase", json_get_string(event, "phase", ""));
    json_set_int(c->arena, delivery, "code", code);
    json_set(c->arena, c->status, "lastDelivery", delivery);
    count(c, "delivered");
    forget_failures(c);
    decide(c, event);
}

/* The receiver has a problem of its own, or asks us to slow down. */
static bool may_get_better(const struct notify_outcome *o)
{
    return o->code ? o->code == 408 || o->code == 425 || o->code == 429 || o->code >= 500
                   : !o->for_good;
}

static void on_refused(struct change *c, const struct json *event, const struct notify_outcome *o)
{
    int64_t failures = json_get_int(c->status, "failures", 0), pause_ms = NOTIFY_FIRST_PAUSE_MS;

    if (!o->code)
        set_error(c, o->error);
    else
        set_error(
            c, arena_printf(c->arena, "the receiver answered %d%s", o->code,
                            o->code >= 300 && o->code < 400 ? ": redirects are not followed" : ""));
    if (!may_get_better(o)) {
        give_up(c, event);
        return;
    }
    for (int64_t i = 0; i < failures && pause_ms < NOTIFY_LONGEST_PAUSE_MS; i++)
        pause_ms *= 2;
    json_set_int(c->arena, c->status, "failures", failures + 1);
    set_time(c, c->status, "retryTime", c->now_ms + min_i64(pause_ms, NOTIFY_LONGEST_PAUSE_MS));
    give_up_old(c);
}

static void settle(struct change *c, const struct notify_outcome *o)
{
    const struct json *event = json_find(c->pending, "id", o->id);

    if (!event)
        return;
    if (o->code >= 200 && o->code < 300)
        on_accepted(c, event, o->code);
    else
        on_refused(c, event, o);
}

/* A changed spec applies to events from now on, and is worth a retry at once. */
static void see_spec(struct change *c, const struct json *notification)
{
    int64_t generation = json_int(json_at(notification, "metadata", "generation"), 0);

    if (json_get_int(c->status, "observedGeneration", 0) == generation)
        return;
    if (json_get(c->status, "observedGeneration")) {
        set_time(c, c->status, "since", c->now_ms);
        give_up_old(c);
    } else {
        set_time(c, c->status, "since", object_created_ms(notification));
    }
    forget_failures(c);
    json_set_int(c->arena, c->status, "observedGeneration", generation);
}

/* First in line and at once: a user is waiting for it. */
static void see_test(struct change *c, const struct json *notification)
{
    const char *wanted = object_annotation(notification, ANNOTATION_SEND_TEST);
    const struct json *others;
    char id[ID_SIZE], stamp[TIME_TEXT_SIZE];
    struct json *event;

    if (!wanted || json_string_is(json_get(c->status, "lastTest"), wanted) ||
        json_get_bool(json_get(notification, "spec"), "suspend", false))
        return;
    write_id(id, c->now_ms, object_uid(notification), wanted);
    event = json_new_object(c->arena);
    json_set_string(c->arena, event, "id", id);
    json_set_string(c->arena, event, "time", time_format(c->now_ms, stamp));
    json_set_string(c->arena, event, "kind", "Notification");
    json_set_string(c->arena, event, "name", object_name(notification));
    json_set_string(c->arena, event, "phase", TEST_PHASE);
    set_cut(c->arena, event, "message", "This is a test.");
    keep_newest(c, NOTIFY_PENDING_LIMIT - 1);
    others = c->pending;
    c->pending = json_new_array(c->arena);
    json_append(c->pending, event);
    json_each (e, others)
        json_append(c->pending, json_clone(c->arena, e));
    json_set(c->arena, c->status, "pending", c->pending);
    json_set_string(c->arena, c->status, "lastTest", wanted);
    forget_failures(c);
}

static void add(struct change *c, const struct json *event)
{
    if (is_known(c->status, json_get_string(event, "id", "")))
        return;
    keep_newest(c, NOTIFY_PENDING_LIMIT - 1);
    json_append(c->pending, json_clone(c->arena, event));
}

struct json *notify_status(struct arena *a, const struct json *notification,
                           const struct json *const *events, size_t len,
                           const struct notify_outcome *outcome, int64_t now_ms)
{
    const struct json *before = status_of(notification);
    struct change c = {.arena = a, .now_ms = now_ms};

    c.status = before ? json_clone(a, before) : json_new_object(a);
    c.pending = json_make_array(a, c.status, "pending");
    c.recent = json_make_array(a, c.status, "recent");
    if (outcome && outcome->id)
        settle(&c, outcome);
    keep_newest(&c, NOTIFY_PENDING_LIMIT);
    see_spec(&c, notification);
    for (size_t i = 0; i < len; i++)
        add(&c, events[i]);
    see_test(&c, notification);
    if (json_len(c.pending) == 0)
        json_remove(c.status, "pending");
    if (json_len(c.recent) == 0)
        json_remove(c.status, "recent");
    return json_equal(c.status, before) ? NULL : c.status;
}

const struct json *notify_next(const struct json *notification, int64_t *ret_at_ms)
{
    *ret_at_ms = object_time(status_of(notification), "retryTime");
    return json_get_bool(json_get(notification, "spec"), "suspend", false)
               ? NULL
               : json_first(json_get(status_of(notification), "pending"));
}

/* --- the body --- */

static struct json *as_json(struct arena *a, const struct json *notification,
                            const struct json *event)
{
    static const char *const of_job[] = {"apiVersion", "kind", "name", "uid", NULL};
    static const char *const of_event[] = {"id", "time", "phase", "reason", "message", NULL};
    bool is_test = json_string_is(json_get(event, "phase"), TEST_PHASE);
    struct json *body = json_new_object(a), *job, *from;

    json_set_string(a, body, "type", is_test ? "test" : "job.phase");
    for (const char *const *m = of_event; *m; m++)
        json_set(a, body, *m, json_clone(a, json_get(event, *m)));
    if (!is_test) {
        job = json_make_object(a, body, "job");
        json_set_string(a, job, "namespace", object_namespace(notification));
        for (const char *const *m = of_job; *m; m++)
            json_set(a, job, *m, json_clone(a, json_get(event, *m)));
    }
    from = json_make_object(a, body, "notification");
    json_set_string(a, from, "namespace", object_namespace(notification));
    json_set_string(a, from, "name", object_name(notification));
    return body;
}

/* Slack's control characters. */
static const char *escaped(struct arena *a, const char *text)
{
    struct buf out = BUF_INIT(MESSAGE_LIMIT * 8);
    const char *copy;

    for (; *text; text++)
        if (*text == '&')
            buf_adds(&out, "&amp;");
        else if (*text == '<')
            buf_adds(&out, "&lt;");
        else if (*text == '>')
            buf_adds(&out, "&gt;");
        else
            buf_addc(&out, *text);
    copy = arena_strdup(a, out.data ? out.data : "");
    buf_release(&out);
    return copy ? copy : "";
}

static struct json *as_slack(struct arena *a, const struct json *notification,
                             const struct json *event)
{
    static const struct {
        const char *phase, *mark;
    } marks[] = {{"Succeeded", ":white_check_mark:"},
                 {"Failed", ":x:"},
                 {"Running", ":arrow_forward:"},
                 {"Paused", ":double_vertical_bar:"},
                 {TEST_PHASE, ":wave:"}};
    const char *phase = json_get_string(event, "phase", ""), *mark = ":hourglass:";
    const char *message = json_get_string(event, "message", "");
    struct json *body = json_new_object(a);

    for (size_t i = 0; i < ELEMS(marks); i++)
        if (strcmp(marks[i].phase, phase) == 0)
            mark = marks[i].mark;
    json_set_stringf(a, body, "text", "%s %s *%s* in %s: %s%s%s", mark,
                     json_get_string(event, "kind", ""), json_get_string(event, "name", ""),
                     object_namespace(notification), phase, *message ? "\n" : "",
                     escaped(a, message));
    return body;
}

struct json *notify_body(struct arena *a, const struct json *notification, const struct json *event)
{
    bool slack = json_string_is(json_at(notification, "spec", "format"), "slack");

    return slack ? as_slack(a, notification, event) : as_json(a, notification, event);
}
