/*
 * tensorboard_pages.c - see tensorboard_pages.h.
 *
 * TensorBoard is a foreign program, and it shows what a user's training wrote. Its pages
 * need scripts, even inline ones, so they have an origin of their own, where there is nothing else
 * to be had; the policy keeps what they show from being sent elsewhere.
 */
#include "console/tensorboard_pages.h"

#include <string.h>

#include "api/object.h"
#include "api/status.h"

#define PAGE_LIMIT_BYTES (64u * 1024u)
#define REFRESH_SECONDS 3

const char tensorboard_policy[] =
    "sandbox allow-scripts allow-same-origin allow-downloads; default-src 'self' data: blob: "
    "'unsafe-inline' 'unsafe-eval'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'";

/* --- the state --------------------------------------------------------------------------- */

static void add_escaped(struct buf *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<':
            buf_adds(out, "&lt;");
            break;
        case '>':
            buf_adds(out, "&gt;");
            break;
        case '&':
            buf_adds(out, "&amp;");
            break;
        case '"':
            buf_adds(out, "&quot;");
            break;
        default:
            buf_addc(out, *text);
        }
}

static const char *state_text(struct arena *a, const struct json *board)
{
    const struct json *status = json_get(board, "status");
    const char *message = json_get_string(status, "message", "");
    const char *phase = json_get_string(status, "phase", "");

    if (json_get_bool(json_get(board, "spec"), "suspend", false))
        return arena_printf(a,
                            "It is suspended. To start it again: kubectl -n %s patch tensorboard "
                            "%s --type merge -p '{\"spec\":{\"suspend\":false}}'",
                            object_namespace(board), object_name(board));
    if (strcmp(phase, "Paused") == 0)
        return "Nobody has used it for 24 hours, so its pod was removed. It is being started "
               "again.";
    if (*message)
        return message;
    return "It is being started.";
}

static void write_page(struct buf *out, const char *title, const char *phase, const char *text)
{
    buf_addf(out,
             "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh "
             "content=%d><title>TensorBoard</title><style>body{font:16px/1.5 system-ui,sans-serif;"
             "max-width:40em;margin:4em auto;padding:0 1em;color-scheme:light dark}</style>"
             "<h1>TensorBoard ",
             REFRESH_SECONDS);
    add_escaped(out, title);
    buf_adds(out, "</h1><p><b>");
    add_escaped(out, phase);
    buf_adds(out, "</b></p><p>");
    add_escaped(out, text);
    buf_adds(out, "</p><p>This page looks again by itself.</p></html>");
}

static void write_status(struct buf *out, struct arena *a, int code, const char *title,
                         const char *text)
{
    auto_err err = ERR_INIT;

    err_set(&err, code == 404 ? ERR_NOT_FOUND : ERR_UNAVAILABLE, "TensorBoard %s: %s", title, text);
    json_write(out, status_from_err(a, &err, NULL, NULL));
}

void tensorboard_reply_state(struct httpd_request *http, bool page_wanted, int code,
                             const struct json *board, const char *text)
{
    static const struct httpd_header headers[] = {{"Content-Security-Policy",
                                                   "default-src 'none'; style-src 'unsafe-inline'; "
                                                   "frame-ancestors 'self'"},
                                                  {"Cache-Control", "no-store"},
                                                  {"X-Content-Type-Options", "nosniff"},
                                                  {"Retry-After", "3"}};
    const char *phase = json_string(json_at(board, "status", "phase"), "");
    const char *said = text ? text : state_text(&http->arena, board);
    struct buf out = BUF_INIT(PAGE_LIMIT_BYTES);
    struct blob *body;

    if (page_wanted)
        write_page(&out, object_name(board), phase, said ? said : "");
    else
        write_status(&out, &http->arena, code, object_name(board), said ? said : "");
    body = blob_from_buf(&out);
    httpd_reply(http, body ? code : 503,
                page_wanted ? "text/html; charset=utf-8" : "application/json", headers,
                ELEMS(headers), body);
    blob_unref(body);
    buf_release(&out);
}
