/* login.c - see login.h. */
#include "server/login.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/secret.h"
#include "loop/random.h"
#include "net/place.h"

#define SESSION_MS ((int64_t)7 * 24 * 3600 * 1000)
#define CODE_MS ((int64_t)10 * 60 * 1000)
#define OWNER_MARK "o."
#define TOKEN_MARK "t." /* then a name of the session's own, a dot, the token */
#define ANSWER_LIMIT_BYTES 4096u

enum path { PATH_NONE, PATH_LOGIN, PATH_CODE_LOGIN, PATH_LOGOUT, PATH_SESSION, PATH_CODE };

static const struct {
    const char *method, *path;
    enum path id;
    bool open;
} paths[] = {
    {"POST", "/console/v1/login", PATH_LOGIN, true},
    {"GET", "/login", PATH_CODE_LOGIN, true},
    {"POST", "/console/v1/logout", PATH_LOGOUT, false},
    {"GET", "/console/v1/session", PATH_SESSION, false},
    {"POST", "/console/v1/code", PATH_CODE, false},
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

    /* Without a code it is the console's own page. */
    return i < ELEMS(paths) && paths[i].open &&
           (paths[i].id != PATH_CODE_LOGIN || strncmp(http->query, "code=", 5) == 0);
}

/* --- answers ----------------------------------------------------------------------------- */

static void reply_text(struct httpd_request *http, int code, const char *text)
{
    const struct httpd_header header = {"Cache-Control", "no-store"};
    struct blob *body = blob_new(text, strlen(text));

    httpd_reply(http, code, "application/json", &header, 1, body);
    blob_unref(body);
}

static void refuse(struct httpd_request *http, enum err_reason reason, const char *text)
{
    auto_err err = ERR_INIT;

    (void)err_set(&err, reason, "%s", text);
    place_refuse(http, &err);
}

/* --- the cookie -------------------------------------------------------------------------- */

static const char *owner_session(struct server *s, struct arena *a)
{
    const char *text = arena_printf(a, OWNER_MARK "%" PRId64, clock_now_ms(s->clock) + SESSION_MS);
    const char *signature = text ? token_sign(s, a, text) : NULL;

    return signature ? arena_printf(a, "%s.%s", text, signature) : NULL;
}

static bool is_owner_session(struct server *s, struct arena *a, const char *value)
{
    const char *dot = strrchr(value, '.');
    const char *text = dot ? arena_strndup(a, value, (size_t)(dot - value)) : NULL;
    const char *signature = text ? token_sign(s, a, text) : NULL;

    return signature && secret_equal(signature, dot + 1) &&
           strtoll(text + strlen(OWNER_MARK), NULL, 10) > clock_now_ms(s->clock);
}

static bool knows_cookie(struct server *s, struct arena *a, const char *value,
                         const struct caller **ret)
{
    *ret = &caller_owner;
    if (strncmp(value, OWNER_MARK, strlen(OWNER_MARK)) == 0)
        return is_owner_session(s, a, value);
    if (strncmp(value, TOKEN_MARK, strlen(TOKEN_MARK)) != 0)
        return false;
    value = strchr(value + strlen(TOKEN_MARK), '.');
    *ret = value ? token_caller(s, a, value + 1) : NULL;
    return *ret != NULL;
}

bool login_by_cookie(struct server *s, struct httpd_request *http, const struct caller **ret,
                     struct err *err)
{
    const char *value = place_cookie(http);

    return value && knows_cookie(s, &http->arena, value, ret) &&
           place_check_cookie_use(http, err) == 0;
}

/* --- signing in and out ------------------------------------------------------------------ */

/* The cookie's value for a token, or NULL when the token is not known. No two are the same: who
 * signs out with one ends no session of another browser. */
static const char *session_for(struct server *s, struct arena *a, const char *token)
{
    const struct caller *caller = NULL;
    char name[RANDOM_UID_SIZE];

    if (!front_knows_token(s, a, token, &caller))
        return NULL;
    random_uid(name);
    return caller->kind == CALLER_OWNER ? owner_session(s, a)
                                        : arena_printf(a, TOKEN_MARK "%s.%s", name, token);
}

static void reply_signed_in(struct httpd_request *http, const char *session, int code,
                            const char *location)
{
    struct httpd_header headers[] = {
        {"Set-Cookie",
         place_set_cookie(&http->arena, place_cookie_name(http), session, SESSION_MS / 1000)},
        {"Cache-Control", "no-store"},
        {"Location", location}};

    if (!headers[0].value)
        httpd_reply(http, 503, NULL, NULL, 0, NULL);
    else
        httpd_reply(http, code, NULL, headers, location ? 3 : 2, NULL);
}

static void sign_in(struct server *s, struct httpd_request *http)
{
    const struct json *body = json_parse(&http->arena, http->body, http->body_len, NULL);
    const char *token = json_get_string(body, "token", "");
    const char *session = *token ? session_for(s, &http->arena, token) : NULL;

    if (session)
        reply_signed_in(http, session, 204, NULL);
    else
        refuse(http, ERR_UNAUTHORIZED, "the token is not known here");
}

static void sign_out(struct server *s, struct httpd_request *http)
{
    struct httpd_header gone = {"Set-Cookie",
                                place_set_cookie(&http->arena, place_cookie_name(http), "", 0)};
    const char *cookie = place_cookie(http);

    if (cookie && s->pages.signed_out)
        s->pages.signed_out(s->pages.live, cookie);
    httpd_reply(http, gone.value ? 204 : 503, NULL, &gone, gone.value ? 1 : 0, NULL);
}

static bool take_code(struct server *s, const char *code)
{
    for (size_t i = 0; i < LOGIN_CODES; i++) {
        struct login_code *c = &s->login_codes[i];

        if (*c->code && c->until_ms > clock_now_ms(s->clock) && secret_equal(c->code, code)) {
            *c->code = '\0';
            return true;
        }
    }
    return false;
}

static void sign_in_by_code(struct server *s, struct httpd_request *http)
{
    const char *session = take_code(s, http->query + strlen("code="))
                              ? owner_session(s, &http->arena)
                              : NULL;

    /* One that was used goes to the page that asks for the token, or to the jobs when the cookie is
     * there from the first time. */
    if (session)
        reply_signed_in(http, session, 303, "/jobs");
    else
        httpd_reply(http, 303, NULL, &(struct httpd_header){"Location", "/jobs"}, 1, NULL);
}

void server_login_code(struct server *s, char out[SERVER_LOGIN_CODE_SIZE])
{
    struct login_code *oldest = s->login_codes;

    for (size_t i = 1; i < LOGIN_CODES; i++)
        if (s->login_codes[i].until_ms < oldest->until_ms)
            oldest = &s->login_codes[i];
    random_uid(oldest->code);
    oldest->until_ms = clock_now_ms(s->clock) + CODE_MS;
    (void)snprintf(out, SERVER_LOGIN_CODE_SIZE, "%s", oldest->code);
}

static void reply_session(struct server *s, struct httpd_request *http, const struct caller *caller)
{
    struct arena *a = &http->arena;
    struct json *v = json_new_object(a);
    struct buf b = BUF_INIT(ANSWER_LIMIT_BYTES);

    json_set_string(a, v, "user", caller->kind == CALLER_OWNER ? "owner" : caller->user);
    json_set_string(a, v, "namespace", *caller->ns ? caller->ns : "default");
    json_set_string(a, v, "version", server_version_text());
    json_set_bool(a, v, "local", true);
    json_set_string(a, v, "console", s->pages.hash ? s->pages.hash : "");
    json_write(&b, v);
    reply_text(http, b.failed ? 503 : 200, b.failed ? "" : b.data);
    buf_release(&b);
}

static void reply_code(struct server *s, struct httpd_request *http, const struct caller *caller)
{
    char code[SERVER_LOGIN_CODE_SIZE];
    const char *text;

    if (caller->kind != CALLER_OWNER) {
        refuse(http, ERR_FORBIDDEN, "only the owner can have a code to sign in with");
        return;
    }
    server_login_code(s, code);
    text = arena_printf(&http->arena, "{\"path\":\"/login?code=%s\"}", code);
    reply_text(http, text ? 201 : 503, text ? text : "");
}

bool login_handle(struct server *s, struct httpd_request *http, const struct caller *caller)
{
    size_t i = path_index(http);

    switch (i < ELEMS(paths) ? paths[i].id : PATH_NONE) {
    case PATH_LOGIN:
        sign_in(s, http);
        return true;
    case PATH_CODE_LOGIN:
        sign_in_by_code(s, http);
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
    case PATH_NONE:
        break;
    }
    return false;
}
