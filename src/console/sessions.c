/* sessions.c - see sessions.h. */
#include "console/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "loop/random.h"

/* A token is not left lying in freed memory. */
static void forget_text(char **at)
{
    if (*at)
        explicit_bzero(*at, strlen(*at));
    free(*at);
    *at = NULL;
}

static void entry_clear(struct session_entry *e)
{
    forget_text(&e->token);
    free(e->user);
    *e = (struct session_entry){.name = ""};
}

void sessions_init(struct sessions *s, struct clock *clock)
{
    *s = (struct sessions){.clock = clock};
}

void sessions_release(struct sessions *s)
{
    for (size_t i = 0; i < SESSIONS_LIMIT; i++)
        entry_clear(&s->entries[i]);
    for (size_t i = 0; i < SESSION_CODES; i++)
        forget_text(&s->codes[i].token);
}

const struct session_entry *session_begin(struct sessions *s, const char *token, const char *user)
{
    struct session_entry *e = s->entries;

    for (size_t i = 1; i < SESSIONS_LIMIT; i++)
        if (s->entries[i].until_ms < e->until_ms)
            e = &s->entries[i];
    entry_clear(e);
    e->token = strdup(token);
    e->user = strdup(user);
    if (!e->token || !e->user) {
        entry_clear(e);
        return NULL;
    }
    random_uid(e->name);
    e->until_ms = clock_now_ms(s->clock) + SESSION_MS;
    return e;
}

const struct session_entry *session_find(const struct sessions *s, const char *name)
{
    for (size_t i = 0; i < SESSIONS_LIMIT; i++)
        if (secret_equal(s->entries[i].name, name) &&
            s->entries[i].until_ms > clock_now_ms(s->clock))
            return &s->entries[i];
    return NULL;
}

void session_end(struct sessions *s, const char *name)
{
    for (size_t i = 0; i < SESSIONS_LIMIT; i++)
        if (secret_equal(s->entries[i].name, name))
            entry_clear(&s->entries[i]);
}

bool session_code_make(struct sessions *s, const char *token, char out[SESSION_NAME_SIZE])
{
    struct session_code *c = s->codes;

    for (size_t i = 1; i < SESSION_CODES; i++)
        if (s->codes[i].until_ms < c->until_ms)
            c = &s->codes[i];
    forget_text(&c->token);
    *c = (struct session_code){.token = strdup(token)};
    if (!c->token)
        return false;
    random_uid(c->code);
    c->until_ms = clock_now_ms(s->clock) + SESSION_CODE_MS;
    (void)snprintf(out, SESSION_NAME_SIZE, "%s", c->code);
    return true;
}

char *session_code_take(struct sessions *s, const char *code)
{
    for (size_t i = 0; i < SESSION_CODES; i++) {
        struct session_code *c = &s->codes[i];
        char *token = c->token;

        if (!secret_equal(c->code, code) || c->until_ms <= clock_now_ms(s->clock))
            continue;
        *c = (struct session_code){.token = NULL};
        return token;
    }
    return NULL;
}
