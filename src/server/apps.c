/* apps.c - see apps.h. */
#include "server/apps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/secret.h"
#include "loop/random.h"
#include "server/login.h"

#define TICKET_MS 30000
#define COOKIE "muster_app"
#define OPEN_PREFIX "/.muster/" /* followed by the ticket, then the path */
#define ANSWER_LIMIT_BYTES (16u * 1024u)

void apps_refuse(struct httpd_request *http)
{
    origin_refuse_with(
        http, ERR_NOT_FOUND,
        "programs are shown at an origin of their own: open this address in a browser");
}

/* --- finding the app --------------------------------------------------------------------- */

/* Splits /PREFIX/NAMESPACE/NAME (or more parts); returns where the parts end. */
static const char *parts_of(const struct server_mount *mount, struct arena *a, const char *path,
                            const char **ret_ns, const char **ret_name)
{
    const char *end = path + strlen(mount->prefix);

    for (unsigned i = 0; i < mount->app.parts; i++) {
        size_t len = *end == '/' ? strcspn(end + 1, "/?") : 0;

        if (len == 0)
            return NULL;
        if (i == 0)
            *ret_ns = arena_strndup(a, end + 1, len);
        if (i == mount->app.name_part)
            *ret_name = arena_strndup(a, end + 1, len);
        end += len + 1;
    }
    return *ret_ns && *ret_name ? end : NULL;
}

/* The mount of an app's path, and the label of its origin; or NULL. */
static const struct server_mount *app_of(struct server *s, struct arena *a, const char *path,
                                         char ret_app[ORIGIN_APP_SIZE])
{
    const struct server_mount *mount = front_find_mount(s, path);
    const char *ns = NULL, *name = NULL, *key, *which;
    const char *end = mount && mount->is_app ? parts_of(mount, a, path, &ns, &name) : NULL;
    const struct store_item *item;
    const struct json *object;
    unsigned char digest[SHA256_BYTES];

    key = end ? object_key(a, mount->app.kind, ns, name) : NULL;
    item = key ? store_head(server_collection(s, mount->app.kind), key) : NULL;
    object = item ? blob_parse(a, item->value, NULL) : NULL;
    which = object ? arena_printf(a, "%.*s of %s", (int)(end - path), path, object_uid(object))
                   : NULL;
    if (!which || !token_digest(s, "origin", which, strlen(which), digest))
        return NULL;
    (void)snprintf(ret_app, ORIGIN_APP_SIZE, "%s", ORIGIN_APP_PREFIX);
    for (size_t i = 0; i < ORIGIN_APP_DIGITS / 2; i++)
        (void)snprintf(ret_app + strlen(ORIGIN_APP_PREFIX) + 2 * i, 3, "%02x", digest[i]);
    return mount;
}

/* --- tickets ----------------------------------------------------------------------------- */

/* Slots are per session: no other session can use them up. */
static struct app_ticket *ticket_place(struct server *s, uint64_t session)
{
    struct app_ticket *own = NULL, *free = NULL;
    size_t own_len = 0;

    for (size_t i = 0; i < APP_TICKETS; i++) {
        struct app_ticket *t = &s->app_tickets[i];

        if (t->until_ms <= clock_now_ms(s->clock)) {
            free = t;
        } else if (t->session == session) {
            own_len++;
            own = own && own->until_ms <= t->until_ms ? own : t;
        }
    }
    return own_len < APP_TICKETS_OF_SESSION && free ? free : own ? own : s->app_tickets;
}

static const char *ticket_make(struct server *s, uint64_t session, const char *app)
{
    struct app_ticket *t = ticket_place(s, session);

    random_uid(t->ticket);
    (void)snprintf(t->app, sizeof(t->app), "%s", app);
    t->session = session;
    t->until_ms = clock_now_ms(s->clock) + TICKET_MS;
    return t->ticket;
}

void apps_forget(struct server *s, uint64_t session)
{
    for (size_t i = 0; i < APP_TICKETS; i++)
        if (s->app_tickets[i].session == session)
            s->app_tickets[i] = (struct app_ticket){.session = 0};
}

/* The session it was made for; 0: none. */
static uint64_t ticket_take(struct server *s, const char *ticket, const char *app)
{
    for (size_t i = 0; i < APP_TICKETS; i++) {
        struct app_ticket *t = &s->app_tickets[i];
        uint64_t session = t->session;

        if (!secret_equal(t->ticket, ticket) || strcmp(t->app, app) != 0)
            continue;
        session = t->until_ms > clock_now_ms(s->clock) ? session : 0;
        *t = (struct app_ticket){.session = 0};
        return session;
    }
    return 0;
}

/* An app that executes code is not opened for a caller that may not enter its pod. */
static int may_enter(struct server *s, const struct mount_request *r,
                     const struct server_mount *mount, const char *path, struct err *err)
{
    struct arena *a = &r->http->arena;
    const char *ns = NULL, *name = NULL, *key;
    const struct store_item *item;
    const struct json *pod;

    if (!mount->app.pod_suffix || !parts_of(mount, a, path, &ns, &name))
        return 0;
    name = arena_printf(a, "%s%s", name, mount->app.pod_suffix);
    key = name ? object_key(a, &kind_pod, ns, name) : NULL;
    if (!key)
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    item = store_head(server_collection(s, &kind_pod), key);
    if (!item)
        return 0; /* each request checks again */
    pod = blob_parse(a, item->value, NULL);
    return pod ? r->enter(r, pod, err) : err_set(err, ERR_UNAVAILABLE, "its pod cannot be read");
}

/* Decides as for a request to the app itself: a caller who may not see it does not learn whether it
 * exists. */
static int may_open(struct server *s, struct httpd_request *http, const struct caller *caller,
                    const char *path, struct err *err)
{
    const struct server_mount *mount = front_find_mount(s, path);
    const struct mount_request *r = front_mount_request(s, http, caller);
    const char *bare = arena_strndup(&http->arena, path, strcspn(path, "?"));

    if (!origin_is_printable(path) || !mount || !mount->is_app)
        return err_set(err, ERR_NOT_FOUND, "path: there is no program to be shown at this path");
    if (!r || !bare)
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    if (mount->app.may_open(r, bare, err) < 0)
        return -EPERM;
    return may_enter(s, r, mount, bare, err);
}

void apps_open(struct server *s, struct httpd_request *http, const struct caller *caller)
{
    static const struct httpd_header header = {"Cache-Control", "no-store"};
    const struct json *request = json_parse(&http->arena, http->body, http->body_len, NULL);
    const char *path = json_get_string(request, "path", "");
    struct json *answer = json_new_object(&http->arena);
    struct buf text = BUF_INIT(ANSWER_LIMIT_BYTES);
    char app[ORIGIN_APP_SIZE];
    const char *url;
    struct blob *body;
    auto_err err = ERR_INIT;

    if (!http->session) {
        origin_refuse_with(http, ERR_FORBIDDEN,
                           "only a user signed in with a browser can open a program");
        return;
    }
    if (!origin_is_loopback(http)) {
        origin_refuse_with(
            http, ERR_FORBIDDEN,
            "programs are shown in a browser of this machine only: open the console at "
            "http://127.0.0.1, from elsewhere through an ssh tunnel");
        return;
    }
    if (may_open(s, http, caller, path, &err) < 0) {
        origin_refuse(http, &err);
        return;
    }
    if (!app_of(s, &http->arena, path, app)) {
        origin_refuse_with(http, ERR_NOT_FOUND,
                           "path: there is no program to be shown at this path");
        return;
    }
    if (s->other_loopback == -EADDRINUSE) {
        origin_refuse_with(
            http, ERR_UNAVAILABLE,
            "another program listens on this port of the other loopback address ([::1] or "
            "127.0.0.1), and browsers would ask it: end it, or choose another port with "
            "muster up --listen");
        return;
    }
    url = arena_printf(&http->arena, "http://%s.localhost%s" OPEN_PREFIX "%s%s", app,
                       origin_port(http), ticket_make(s, http->session, app), path);
    json_set_string(&http->arena, answer, "url", url ? url : "");
    json_write(&text, answer);
    body = url ? blob_from_buf(&text) : NULL;
    httpd_reply(http, body ? 201 : 503, "application/json", &header, 1, body);
    blob_unref(body);
    buf_release(&text);
}

/* --- requests at the origin -------------------------------------------------------------- */

/* user: the browser's. */
static const char *cookie_value(struct server *s, struct arena *a, const char *app,
                                uint64_t session, uid_t user)
{
    const char *text = arena_printf(a, "cookie of %s for %016" PRIx64 " and user %u", app, session,
                                    (unsigned)user);
    const char *signature = text ? token_sign(s, a, text) : NULL;

    return signature ? arena_printf(a, "%016" PRIx64 ".%s", session, signature) : NULL;
}

/* By a page elsewhere; one on another port of the same host would have the cookie sent along. */
static bool is_led_here(const struct httpd_request *http)
{
    const char *site = httpd_header(http, "Sec-Fetch-Site");

    return site && strcmp(site, "none") != 0 && strcmp(site, "same-origin") != 0;
}

/* The caller the cookie belongs to. A program at another port of this host can put cookies of the
 * same name in front of ours, as many as a browser keeps. */
static bool knows(struct server *s, struct httpd_request *http, const char *app,
                  const struct caller **ret)
{
    const char *at = is_led_here(http) ? NULL : httpd_header(http, "Cookie"), *given;
    uid_t user;

    if (!at || !httpd_peer_user(http, &user))
        return false;
    while ((given = origin_cookie(http, COOKIE, &at))) {
        uint64_t session = strtoull(given, NULL, 16);
        const char *good = session ? cookie_value(s, &http->arena, app, session, user) : NULL;

        if (good && secret_equal(good, given) && login_knows_session(s, http, session, ret))
            return true;
    }
    return false;
}

/* Sends page loads to the console, which knows who is signed in. The app's own requests just
 * fail. */
static void send_to_console(struct httpd_request *http, const char *path)
{
    const char *accept = httpd_header(http, "Accept");
    const char *to = arena_printf(&http->arena, "http://127.0.0.1%s%s%s%s", origin_port(http), path,
                                  *http->query ? "?" : "", http->query);
    struct httpd_header headers[] = {{"Location", to}, {"Cache-Control", "no-store"}};

    if (!to || strcmp(http->method, "GET") != 0 || !accept || !strstr(accept, "text/html"))
        origin_refuse_with(http, ERR_UNAUTHORIZED, "Unauthorized");
    else
        httpd_reply(http, 303, NULL, headers, ELEMS(headers), NULL);
}

/* OPEN_PREFIX TICKET /path: answers with the cookie and a page that continues to the path by
 * itself. A redirect would be part of the console's navigation, which carries no SameSite=Strict
 * cookie. */
static void enter(struct server *s, struct httpd_request *http, const char *app)
{
    const char *ticket = http->path + strlen(OPEN_PREFIX);
    const char *path = strchrnul(ticket, '/');
    char of_path[ORIGIN_APP_SIZE];
    uint64_t session;
    uid_t user;
    const char *cookie, *on;

    ticket = arena_strndup(&http->arena, ticket, (size_t)(path - ticket));
    if (!ticket || !app_of(s, &http->arena, path, of_path) || strcmp(of_path, app) != 0) {
        origin_refuse_with(http, ERR_NOT_FOUND, "there is no such path");
        return;
    }
    session = ticket_take(s, ticket, app);
    if (!session) {
        send_to_console(http, path);
        return;
    }
    if (!httpd_peer_user(http, &user)) {
        origin_refuse_with(http, ERR_UNAVAILABLE,
                           "the browser's user on this machine cannot be determined");
        return;
    }
    cookie = cookie_value(s, &http->arena, app, session, user);
    cookie = cookie ? arena_printf(&http->arena, COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict",
                                   cookie)
                    : NULL;
    on = arena_printf(&http->arena, "0;url=%s%s%s", path, *http->query ? "?" : "", http->query);
    if (cookie && on)
        httpd_reply(http, 200, "text/html; charset=utf-8",
                    (const struct httpd_header[]){
                        {"Set-Cookie", cookie},
                        {"Refresh", on},
                        {"Cache-Control", "no-store"},
                        {"Referrer-Policy", "no-referrer"},
                        {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"}},
                    5, NULL);
    else
        httpd_reply(http, 503, NULL, NULL, 0, NULL);
}

/* A page elsewhere must not open an app in the user's name, with whatever its address asks of the
 * app. */
bool apps_asks_first(struct server *s, struct httpd_request *http)
{
    static const struct httpd_header headers[] = {
        {"Cache-Control", "no-store"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"X-Content-Type-Options", "nosniff"},
        {"Content-Security-Policy",
         "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}};
    const struct server_mount *mount = front_find_mount(s, http->path);
    struct buf page = BUF_INIT(ANSWER_LIMIT_BYTES);
    struct blob *body;

    if (!mount || !mount->is_app || !is_led_here(http))
        return false;
    buf_adds(&page, "<!doctype html><html lang=en><meta charset=utf-8><title>muster</title>"
                    "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:4em auto;"
                    "padding:0 1em;color-scheme:light dark}</style>"
                    "<p>Another page leads to this program of yours.</p>"
                    "<p lang=zh>另一个网页指向您的这个程序。</p><p><a id=open href=\"");
    html_escape(&page, http->path);
    buf_adds(&page, *http->query ? "?" : "");
    html_escape(&page, http->query);
    buf_adds(&page, "\">Open 打开 <code>");
    html_escape(&page, http->path);
    buf_adds(&page, "</code></a></p></html>");
    body = page.failed ? NULL : blob_from_buf(&page);
    httpd_reply(http, body ? 200 : 503, "text/html; charset=utf-8", headers, ELEMS(headers), body);
    blob_unref(body);
    buf_release(&page);
    return true;
}

bool apps_admits(struct server *s, struct httpd_request *http, const char *app)
{
    const struct caller *caller;
    auto_err err = ERR_INIT;

    http->pulls_body = http->body_len != SIZE_MAX;
    return origin_check_app(http, &err) == 0 && knows(s, http, app, &caller);
}

void apps_handle(struct server *s, struct httpd_request *http, const char *app)
{
    const struct server_mount *mount;
    const struct caller *caller;
    char of_path[ORIGIN_APP_SIZE];
    auto_err err = ERR_INIT;

    if (origin_check_app(http, &err) < 0) {
        origin_refuse(http, &err);
        return;
    }
    if (strncmp(http->path, OPEN_PREFIX, strlen(OPEN_PREFIX)) == 0) {
        enter(s, http, app);
        return;
    }
    mount = app_of(s, &http->arena, http->path, of_path);
    if (!mount || strcmp(of_path, app) != 0)
        origin_refuse_with(http, ERR_NOT_FOUND,
                           "there is no such path at this origin; the program is gone, or was "
                           "replaced: open it from the console");
    else if (!knows(s, http, app, &caller))
        send_to_console(http, http->path);
    else
        front_run_mount(s, http, caller, mount);
}
