/* err.c - see err.h. Running out of memory while describing an error leaves a shorter error, never
 * none. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int http_code, errnum;
} reasons[ERR_REASON_COUNT] = {
    [ERR_NONE] = {"", 200, 0},
    [ERR_BAD_REQUEST] = {"BadRequest", 400, EINVAL},
    [ERR_UNAUTHORIZED] = {"Unauthorized", 401, EACCES},
    [ERR_FORBIDDEN] = {"Forbidden", 403, EPERM},
    [ERR_NOT_FOUND] = {"NotFound", 404, ENOENT},
    [ERR_METHOD_NOT_ALLOWED] = {"MethodNotAllowed", 405, EOPNOTSUPP},
    [ERR_NOT_ACCEPTABLE] = {"NotAcceptable", 406, EPROTO},
    [ERR_ALREADY_EXISTS] = {"AlreadyExists", 409, EEXIST},
    [ERR_CONFLICT] = {"Conflict", 409, EAGAIN},
    [ERR_EXPIRED] = {"Expired", 410, ESTALE},
    [ERR_TOO_LARGE] = {"RequestEntityTooLarge", 413, EFBIG},
    [ERR_UNSUPPORTED_MEDIA] = {"UnsupportedMediaType", 415, EPROTONOSUPPORT},
    [ERR_INVALID] = {"Invalid", 422, EINVAL},
    [ERR_TOO_MANY_REQUESTS] = {"TooManyRequests", 429, EBUSY},
    [ERR_INTERNAL] = {"InternalError", 500, EIO},
    [ERR_UNAVAILABLE] = {"ServiceUnavailable", 503, EHOSTUNREACH},
    [ERR_TIMEOUT] = {"Timeout", 504, ETIMEDOUT},
};

void err_release(struct err *e)
{
    arena_release(&e->arena);
    *e = (struct err)ERR_INIT;
}

int err_http_code(enum err_reason reason)
{
    return reasons[reason].http_code;
}

const char *err_reason_name(enum err_reason reason)
{
    return reasons[reason].name;
}

enum err_reason err_reason_from_name(const char *name)
{
    for (size_t i = 1; i < ELEMS(reasons); i++)
        if (strcmp(reasons[i].name, name) == 0)
            return (enum err_reason)i;
    return ERR_INTERNAL;
}

enum err_reason err_reason_from_code(int http_code, enum err_reason when_unknown)
{
    for (size_t i = 1; i < ELEMS(reasons); i++)
        if (err_http_code((enum err_reason)i) == http_code)
            return (enum err_reason)i;
    return when_unknown;
}

int err_errno(enum err_reason reason)
{
    return -reasons[reason].errnum;
}

printf_like(2, 0) static const char *format(struct err *e, const char *fmt, va_list args)
{
    va_list again;
    char *p = NULL;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n >= 0)
        p = arena_alloc(&e->arena, (size_t)n + 1);
    if (!p)
        return "out of memory";
    (void)vsnprintf(p, (size_t)n + 1, fmt, args);
    return p;
}

int err_set(struct err *e, enum err_reason reason, const char *fmt, ...)
{
    va_list args;

    if (!e || err_is_set(e))
        return err_errno(reason);
    va_start(args, fmt);
    e->text = format(e, fmt, args);
    va_end(args);
    e->reason = reason;
    return err_errno(reason);
}

void err_hint(struct err *e, const char *fmt, ...)
{
    va_list args;

    if (!e)
        return;
    va_start(args, fmt);
    e->hint = format(e, fmt, args);
    va_end(args);
}

void err_cause(struct err *e, const char *type, const char *field, unsigned line, const char *fmt,
               ...)
{
    struct err_cause *c;
    va_list args;

    if (!e)
        return;
    va_start(args, fmt);
    c = arena_alloc(&e->arena, sizeof(*c));
    if (!err_is_set(e)) {
        e->reason = ERR_INVALID;
        e->text = "";
    }
    if (c) {
        c->type = type;
        c->field = arena_strdup(&e->arena, field);
        c->text = format(e, fmt, args);
        c->line = line;
        if (!c->field)
            c->field = "";
        if (e->last_cause)
            e->last_cause->next = c;
        else
            e->causes = c;
        e->last_cause = c;
    }
    va_end(args);
}

void err_context(struct err *e, const char *fmt, ...)
{
    const char *context, *joined;
    va_list args;

    if (!err_is_set(e))
        return;
    va_start(args, fmt);
    context = format(e, fmt, args);
    va_end(args);
    joined = arena_printf(&e->arena, "%s: %s", context, e->text);
    if (joined)
        e->text = joined;
}

void err_move(struct err *dst, struct err *src)
{
    if (dst) {
        err_release(dst);
        *dst = *src;
    } else {
        err_release(src);
    }
    *src = (struct err)ERR_INIT;
}
