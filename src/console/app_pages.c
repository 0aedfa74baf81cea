/*
 * app_pages.c - see app_pages.h.
 *
 * Apps are other people's programs, and show what training jobs wrote. Their pages need scripts,
 * even inline ones, so each has its own origin, where there is nothing else to reach; the policy
 * keeps their contents from being sent elsewhere.
 */
#include "console/app_pages.h"

#include <string.h>

#include "api/object.h"
#include "api/status.h"
#include "net/origin.h"

#define PAGE_LIMIT_BYTES (64u * 1024u)
#define REFRESH_SECONDS 3

#define SANDBOX "sandbox allow-scripts allow-same-origin allow-downloads"
#define SOURCES                                                                                    \
    "; default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; object-src 'none'; "          \
    "base-uri 'none'; frame-ancestors 'self'"

/* Where people work, dialogs, forms and new tabs are allowed. */
const char *app_policy(const struct app_kind *kind)
{
    return !kind || kind->runs_code ? SANDBOX " allow-forms allow-modals allow-popups" SOURCES
                                              "; form-action 'self'"
                                    : SANDBOX SOURCES "; form-action 'none'";
}

/* --- the state --------------------------------------------------------------------------- */

static const char *state_text(struct arena *a, const struct app_kind *kind, const struct json *app)
{
    const struct json *status = json_get(app, "status");
    const char *message = json_get_string(status, "message", "");
    const char *phase = json_get_string(status, "phase", "");

    if (kind && json_get_bool(json_get(app, "spec"), "suspend", false))
        return arena_printf(a,
                            "It is suspended. To start it again: kubectl -n %s patch %s %s --type "
                            "merge -p '{\"spec\":{\"suspend\":false}}'",
                            object_namespace(app), kind->job->kind->singular, object_name(app));
    if (strcmp(phase, "Paused") == 0)
        return "It was not used for long, so its pod was removed. It is being started again.";
    if (*message)
        return message;
    return "It is being started.";
}

static void write_page(struct buf *out, const char *what, const char *title, const char *phase,
                       const char *text)
{
    buf_addf(out,
             "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh "
             "content=%d><title>%s</title><style>body{font:16px/1.5 system-ui,sans-serif;"
             "max-width:40em;margin:4em auto;padding:0 1em;color-scheme:light dark}</style>"
             "<h1>%s ",
             REFRESH_SECONDS, what, what);
    html_escape(out, title);
    buf_adds(out, "</h1><p><b>");
    html_escape(out, phase);
    buf_adds(out, "</b></p><p>");
    html_escape(out, text);
    buf_adds(out, "</p><p>This page reloads by itself.</p></html>");
}

static void write_status(struct buf *out, struct arena *a, int code, const char *what,
                         const char *title, const char *text)
{
    auto_err err = ERR_INIT;
    struct json *status;

    err_set(&err, ERR_UNAVAILABLE, "%s %s: %s", what, title, text);
    status = status_from_err(a, &err, NULL, NULL);
    json_set_int(a, status, "code", code);
    json_write(out, status);
}

void app_reply_state(struct httpd_request *http, const struct app_kind *kind, bool page_wanted,
                     int code, const char *name, const struct json *app, const char *text)
{
    static const struct httpd_header headers[] = {{"Content-Security-Policy",
                                                   "default-src 'none'; style-src 'unsafe-inline'; "
                                                   "frame-ancestors 'self'"},
                                                  {"Cache-Control", "no-store"},
                                                  {"X-Content-Type-Options", "nosniff"},
                                                  {"Retry-After", "3"}};
    const char *what = kind ? kind->job->kind->name : kind_pod.name;
    const char *phase = json_string(json_at(app, "status", "phase"), "");
    const char *said = text ? text : state_text(&http->arena, kind, app);
    struct buf out = BUF_INIT(PAGE_LIMIT_BYTES);
    struct blob *body;

    if (page_wanted)
        write_page(&out, what, name, phase, said ? said : "");
    else
        write_status(&out, &http->arena, code, what, name, said ? said : "");
    body = blob_from_buf(&out);
    httpd_reply(http, body ? code : 503,
                page_wanted ? "text/html; charset=utf-8" : "application/json", headers,
                ELEMS(headers), body);
    blob_unref(body);
    buf_release(&out);
}
