/*
 * err.h - one error, three forms: a Kubernetes Status, a CLI message, a console message.
 *
 * A struct err is the last argument of a fallible function and may be NULL. It is set once, where
 * the problem is found; callers add context but do not log. Fallible functions also return 0 or a
 * negative errno.
 */
#ifndef MUSTER_BASE_ERR_H
#define MUSTER_BASE_ERR_H

#include "base/arena.h"

enum err_reason {
    ERR_NONE = 0,
    ERR_BAD_REQUEST,
    ERR_UNAUTHORIZED,
    ERR_FORBIDDEN,
    ERR_NOT_FOUND,
    ERR_METHOD_NOT_ALLOWED,
    ERR_NOT_ACCEPTABLE,
    ERR_ALREADY_EXISTS,
    ERR_CONFLICT,
    ERR_EXPIRED, /* 410: the requested revision is compacted */
    ERR_TOO_LARGE,
    ERR_UNSUPPORTED_MEDIA,
    ERR_INVALID, /* 422: causes name the fields */
    ERR_TOO_MANY_REQUESTS,
    ERR_INTERNAL,
    ERR_UNAVAILABLE,
    ERR_TIMEOUT,
    ERR_REASON_COUNT
};

/* One invalid field. type is the Kubernetes cause reason, e.g. FieldValueInvalid. */
struct err_cause {
    struct err_cause *next;
    const char *type, *field, *text;
    unsigned line; /* of the input, 1-based; 0 when unknown */
};

struct err {
    enum err_reason reason;
    const char *text; /* one sentence, no full stop needed, no newline */
    const char *hint; /* what to do about it, or NULL */
    unsigned line;    /* of the input for parse errors, 0 when unknown */
    struct err_cause *causes, *last_cause;
    struct arena arena; /* owns the strings */
};

#define ERR_LIMIT_BYTES (64u * 1024u)
#define ERR_INIT                                                                                   \
    {                                                                                              \
        .arena = ARENA_INIT(ERR_LIMIT_BYTES)                                                       \
    }
#define auto_err struct err cleanup(err_release)

void err_release(struct err *e);

/* Sets reason and text; a later call on a set error does nothing, so the first error is kept.
 * Returns the negative errno. */
int err_set(struct err *e, enum err_reason reason, const char *fmt, ...) printf_like(3, 4);
void err_hint(struct err *e, const char *fmt, ...) printf_like(2, 3);
/* Adds one invalid field; the first also makes an unset error ERR_INVALID. */
void err_cause(struct err *e, const char *type, const char *field, unsigned line, const char *fmt,
               ...) printf_like(5, 6);
/* Prefixes the text with "context: ". */
void err_context(struct err *e, const char *fmt, ...) printf_like(2, 3);
/* Moves src into dst, releasing what dst held. */
void err_move(struct err *dst, struct err *src);

static inline bool err_is_set(const struct err *e)
{
    return e && e->reason != ERR_NONE;
}

int err_http_code(enum err_reason reason);              /* 404 ... */
const char *err_reason_name(enum err_reason reason);    /* "NotFound" ... */
enum err_reason err_reason_from_name(const char *name); /* ERR_INTERNAL when unknown */
enum err_reason err_reason_from_code(int http_code, enum err_reason when_unknown);
int err_errno(enum err_reason reason); /* negative errno */

#endif
