/* login.c - see login.h. */
#include "server/login.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "net/origin.h"
#include "server/apps.h"
#include "server/session.h"

#define LIFETIME_MS ((int64_t)7 * 24 * 3600 * 1000)
#define ANSWER_LIMIT_BYTES 4096u

enum path { PATH_NONE, PATH_LOGIN, PATH_LOGOUT, PATH_SESSION, PATH_CODE, PATH_OPEN };

static const struct {
    const char *method, *path;
    enum path id;
    bool open;
} paths[] = {
    {"POST", "/console/v1/login", PATH_LOGIN, true},
    {"POST", "/console/v1/logout", PATH_LOGOUT, false},
    {"GET", "/console/v1/session", PATH_SESSION, false},
    {"POST", "/console/v1/code", PATH_CODE, false},
    {"POST", "/console/v1/open", PATH_OPEN, false},
};

static size_t path_index(const struct httpd_request *http)
{
    for (size_t i = 0; i < ELEMS(paths); i++)
        if (strcmp(http->method, paths[i].method) == 0 && strcmp(http->path, paths[i].path) == 0)
            return i;
    return ELEMS(paths);
}

bool login_is_open(const struct httpd_request *http)
{
    size_t i = path_index(http);

    return i < ELEMS(paths) && paths[i].open;
}

/* --- answers ----------------------------------------------------------------------------- */

static void reply_text(struct httpd_request *http, int code, const char *text)
{
    const struct httpd_header header = {"Cache-Control", "no-store"};
    struct blob *body = blob_new(text, strlen(text));

    httpd_reply(http, code, "application/json", &header, 1, body);
    blob_unref(body);
}

/* --- sessions ---------------------------------------------------------------------------- */

/* Whatever the session has open ends with it, except for the request that ends it. */
static void on_ended(void *arg, uint64_t id)
{
    struct server *s = arg;

    if (s->pages.signed_out)
        s->pages.signed_out(s->pages.live, id);
    for (size_t i = 0; i < s->mounts_len; i++)
        if (s->mounts[i].is_app)
            s->mounts[i].app.signed_out(s->mounts[i].arg, id);
    apps_forget(s, id);
    sessions_end_login(s, id);
    if (s->httpd)
        httpd_end_session(s->httpd, id, s->signing_out);
}

int login_start(struct server *s, const char *path)
{
    return sessions_init(&s->logins, &(struct sessions_options){.clock = s->clock,
                                                                .lifetime_ms = LIFETIME_MS,
                                                                .path = path,
                                                                .ended = on_ended,
                                                                .arg = s});
}

static bool is_of(struct server *s, struct httpd_request *http, const struct session_entry *e,
                  const struct caller **ret)
{
    if (!e)
        return false;
    *ret = *e->token ? token_caller_named(s, &http->arena, e->token) : &caller_owner;
    http->session = e->id;
    return *ret != NULL;
}

bool login_knows_key(struct server *s, struct httpd_request *http, const char *key,
                     const struct caller **ret)
{
    return session_is_key(key) && is_of(s, http, session_find(&s->logins, key), ret);
}

bool login_knows_session(struct server *s, struct httpd_request *http, uint64_t session,
                         const struct caller **ret)
{
    return is_of(s, http, session_find_id(&s->logins, session), ret);
}

/* --- signing in and out ------------------------------------------------------------------ */

/* The token is no longer needed and not kept: only its owner and expiry are. */
static void begin_session(struct server *s, struct httpd_request *http, const char *token,
                          const struct caller *caller)
{
    char key[SESSION_KEY_SIZE];
    const char *who = caller->kind == CALLER_OWNER ? "" : token_name(&http->arena, token);
    int rc = who ? session_begin(&s->logins, who, caller->user, key) : -ENOMEM;
    const char *text = rc == 0 ? arena_printf(&http->arena, "{\"key\":\"%s\"}", key) : NULL;

    if (rc == -EBUSY)
        origin_refuse_with(http, ERR_TOO_MANY_REQUESTS, SESSIONS_FULL);
    else
        reply_text(http, text ? 201 : 503, text ? text : "");
}

static void sign_in(struct server *s, struct httpd_request *http)
{
    const struct json *body = json_parse(&http->arena, http->body, http->body_len, NULL);
    const char *token = json_get_string(body, "token", ""), *code;
    const struct caller *caller = NULL;
    char *owner;

    code = json_get_string(body, "code", "");
    owner = *code ? session_code_take(&s->logins, code) : NULL;
    if (owner)
        begin_session(s, http, "", &caller_owner);
    else if (*token && front_knows_token(s, &http->arena, token, &caller))
        begin_session(s, http, token, caller);
    else
        origin_refuse_with(http, ERR_UNAUTHORIZED,
                           *code ? "the code has already been used, or has expired"
                                 : "the token is not valid here");
    free(owner);
}

static void sign_out(struct server *s, struct httpd_request *http)
{
    s->signing_out = http;
    session_end(&s->logins, http->session);
    s->signing_out = NULL;
    httpd_reply(http, 204, NULL, NULL, 0, NULL);
}

void server_login_code(struct server *s, char out[SERVER_LOGIN_CODE_SIZE])
{
    if (session_code_make(&s->logins, "", out) < 0)
        *out = '\0';
}

static void reply_session(struct server *s, struct httpd_request *http, const struct caller *caller)
{
    struct arena *a = &http->arena;
    struct json *v = json_new_object(a);
    struct buf b = BUF_INIT(ANSWER_LIMIT_BYTES);

    json_set_string(a, v, "user", caller->kind == CALLER_OWNER ? "owner" : caller->user);
    json_set_string(a, v, "namespace", *caller->ns ? caller->ns : "default");
    json_set_string(a, v, "version", MUSTER_VERSION);
    json_set_bool(a, v, "local", true);
    json_set_bool(a, v, "overcommit", s->overcommit);
    if (caller->kind == CALLER_OWNER && s->kubeconfig_path) /* it reveals a user and a folder */
        json_set_string(a, v, "kubeconfig", s->kubeconfig_path);
    json_set_string(a, v, "console", s->pages.hash ? s->pages.hash : "");
    json_write(&b, v);
    reply_text(http, b.failed ? 503 : 200, b.failed ? "" : b.data);
    buf_release(&b);
}

static void reply_code(struct server *s, struct httpd_request *http, const struct caller *caller)
{
    char code[SERVER_LOGIN_CODE_SIZE];
    const char *text;
    int rc;

    if (caller->kind != CALLER_OWNER) {
        origin_refuse_with(http, ERR_FORBIDDEN, "only the owner can get a sign-in code");
        return;
    }
    rc = session_code_make(&s->logins, "", code);
    if (rc == -EBUSY) {
        origin_refuse_with(http, ERR_TOO_MANY_REQUESTS,
                           "too many codes are still valid: use one, or ask again in ten minutes");
        return;
    }
    text = rc < 0 ? NULL : arena_printf(&http->arena, "{\"path\":\"/login?code=%s\"}", code);
    reply_text(http, text ? 201 : 503, text ? text : "");
}

bool login_handle(struct server *s, struct httpd_request *http, const struct caller *caller)
{
    size_t i = path_index(http);

    switch (i < ELEMS(paths) ? paths[i].id : PATH_NONE) {
    case PATH_LOGIN:
        sign_in(s, http);
        return true;
    case PATH_LOGOUT:
        sign_out(s, http);
        return true;
    case PATH_SESSION:
        reply_session(s, http, caller);
        return true;
    case PATH_CODE:
        reply_code(s, http, caller);
        return true;
    case PATH_OPEN: /* whatever is opened belongs to the session */
        if (caller->kind == CALLER_IMPERSONATED)
            origin_refuse_with(
                http, ERR_BAD_REQUEST,
                "a program is opened for the signed-in user: leave the Impersonate headers out");
        else
            apps_open(s, http, caller);
        return true;
    case PATH_NONE:
        break;
    }
    return false;
}
