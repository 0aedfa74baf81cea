/* sessions.c - see sessions.h. */
#include "net/sessions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/share.h"
#include "loop/file.h"
#include "loop/random.h"

#define FILE_LIMIT_BYTES (8u * 1024u * 1024u)
#define FILE_MEMORY_BYTES (64u * 1024u * 1024u)
#define SAVE_USE_MS ((int64_t)3600 * 1000) /* how far used_ms in the file may lag behind */

/* Wiped, so that no token stays in freed memory. */
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
    *e = (struct session_entry){.id = 0};
}

static void hash_key(const char *key, unsigned char out[SHA256_BYTES])
{
    struct sha256 sum;

    sha256_init(&sum);
    sha256_add(&sum, key, strlen(key));
    sha256_end(&sum, out);
}

static uint64_t id_of(const unsigned char hash[SHA256_BYTES])
{
    uint64_t id;

    memcpy(&id, hash, sizeof(id));
    return id ? id : 1;
}

static void write_hex(const unsigned char *bytes, size_t len, char *out)
{
    for (size_t i = 0; i < len; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static bool read_hex(const char *text, unsigned char *out, size_t len)
{
    if (strlen(text) != 2 * len || strspn(text, "0123456789abcdef") != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned value = 0;

        (void)sscanf(text + 2 * i, "%2x", &value);
        out[i] = (unsigned char)value;
    }
    return true;
}

/* --- the file ---------------------------------------------------------------------------- */

static void save(struct sessions *s)
{
    struct arena a = ARENA_INIT(FILE_MEMORY_BYTES);
    struct buf text = BUF_INIT(FILE_LIMIT_BYTES);
    struct json *list = json_new_array(&a);
    int rc;

    if (!s->path) {
        arena_release(&a);
        return;
    }
    for (size_t i = 0; i < SESSIONS_LIMIT; i++) {
        struct session_entry *e = &s->entries[i];
        char hash[2 * SHA256_BYTES + 1];
        struct json *v;

        if (!e->id)
            continue;
        write_hex(e->hash, sizeof(e->hash), hash);
        v = json_append(list, json_new_object(&a));
        json_set_string(&a, v, "hash", hash);
        json_set_int(&a, v, "began", e->began_ms);
        json_set_int(&a, v, "used", e->used_ms);
        json_set_string(&a, v, "who", e->token);
        json_set_string(&a, v, "user", e->user);
        e->saved_ms = e->used_ms;
    }
    json_write(&text, list);
    rc = text.failed || arena_failed(&a) ? -ENOMEM
                                         : file_write_atomic(s->path, text.data, text.len, 0600);
    if (rc < 0) {
        log_warn("%s: %s: users may have to sign in again after a restart", s->path, strerror(-rc));
        (void)remove(s->path); /* otherwise signed-out sessions would come back */
    }
    if (text.data)
        explicit_bzero(text.data, text.len);
    buf_release(&text);
    arena_release(&a);
}

static void load(struct sessions *s)
{
    struct arena a = ARENA_INIT(FILE_MEMORY_BYTES);
    struct buf text = BUF_INIT(FILE_LIMIT_BYTES);
    const struct json *list = NULL;
    size_t n = 0;
    bool clean = true;

    if (s->path && file_read(s->path, FILE_LIMIT_BYTES, &text) == 0)
        list = json_parse(&a, text.data ? text.data : "", text.len, NULL);
    json_each (v, list) {
        struct session_entry *e = &s->entries[n];

        if (n == SESSIONS_LIMIT)
            break;
        if (!read_hex(json_get_string(v, "hash", ""), e->hash, sizeof(e->hash)))
            continue;
        if (*json_get_string(v, "token", "")) { /* earlier versions stored them */
            clean = false;
            continue;
        }
        e->token = strdup(json_get_string(v, "who", ""));
        e->user = strdup(json_get_string(v, "user", ""));
        e->began_ms = json_get_int(v, "began", 0);
        e->used_ms = e->saved_ms = json_get_int(v, "used", 0);
        e->id = id_of(e->hash);
        if (e->token && e->user)
            n++;
        else
            entry_clear(e);
    }
    if (text.data)
        explicit_bzero(text.data, text.len);
    buf_release(&text);
    arena_release(&a);
    if (!clean)
        save(s);
}

/* --- ends -------------------------------------------------------------------------------- */

/* A time in the future means the clock was set back: it must not extend a session. */
static int64_t left_ms(const struct sessions *s, const struct session_entry *e)
{
    int64_t now = clock_now_ms(s->how.clock);

    if (e->began_ms > now || e->used_ms > now)
        return 0;
    return min_i64(e->began_ms + s->how.lifetime_ms, e->used_ms + SESSION_IDLE_MS) - now;
}

static void end_entry(struct sessions *s, struct session_entry *e)
{
    uint64_t id = e->id;

    entry_clear(e);
    if (id && s->how.ended)
        s->how.ended(s->how.arg, id);
}

static void on_end(void *arg);

static void watch_ends(struct sessions *s)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < SESSIONS_LIMIT; i++)
        if (s->entries[i].id)
            first = min_i64(first, left_ms(s, &s->entries[i]));
    clock_stop(s->how.clock, s->timer);
    s->timer = first == INT64_MAX ? NULL : clock_start(s->how.clock, max_i64(first, 1), on_end, s);
}

static void on_end(void *arg)
{
    struct sessions *s = arg;
    bool any = false;

    s->timer = NULL;
    for (size_t i = 0; i < SESSIONS_LIMIT; i++)
        if (s->entries[i].id && left_ms(s, &s->entries[i]) <= 0) {
            end_entry(s, &s->entries[i]);
            any = true;
        }
    if (any)
        save(s);
    watch_ends(s);
}

/* --- sessions ---------------------------------------------------------------------------- */

int sessions_init(struct sessions *s, const struct sessions_options *options)
{
    *s = (struct sessions){.how = *options};
    if (options->path && !(s->path = strdup(options->path)))
        return -ENOMEM;
    load(s);
    watch_ends(s);
    return 0;
}

void sessions_release(struct sessions *s)
{
    if (s->how.clock)
        clock_stop(s->how.clock, s->timer);
    for (size_t i = 0; i < SESSIONS_LIMIT; i++)
        entry_clear(&s->entries[i]);
    for (size_t i = 0; i < SESSION_CODES; i++)
        forget_text(&s->codes[i].token);
    free(s->path);
    *s = (struct sessions){.path = NULL};
}

static bool is_same_user(const struct session_entry *e, const char *token, const char *user)
{
    return strcmp(e->user, user) == 0 && !*e->token == !*token &&
           (strcmp(user, SESSION_USER_UNKNOWN) != 0 || strcmp(e->token, token) == 0);
}

/* A free slot, or the user's own oldest one; NULL when there is neither. */
static struct session_entry *find_place(struct sessions *s, const char *token, const char *user)
{
    struct session_entry *free_one = NULL, *own = NULL;
    struct share share = {.limit = SESSIONS_LIMIT};
    enum share_left left;

    for (size_t i = 0; i < SESSIONS_LIMIT; i++) {
        struct session_entry *e = &s->entries[i];

        if (!e->id) {
            free_one = e;
            continue;
        }
        share.all++;
        share.accounts += *e->token != '\0';
        if (!is_same_user(e, token, user))
            continue;
        share.own++;
        if (!own || e->used_ms < own->used_ms)
            own = e;
    }
    left = share_ask(&share, !*token);
    return left == SHARE_LEFT ? free_one : own;
}

int session_begin(struct sessions *s, const char *token, const char *user,
                  char ret_key[SESSION_KEY_SIZE])
{
    struct session_entry *e = find_place(s, token, user);
    unsigned char bytes[32];

    if (!e)
        return -EBUSY;
    end_entry(s, e);
    e->token = strdup(token);
    e->user = strdup(user);
    if (!e->token || !e->user) {
        entry_clear(e);
        return -ENOMEM;
    }
    random_bytes(bytes, sizeof(bytes));
    write_hex(bytes, sizeof(bytes), stpcpy(ret_key, SESSION_KEY_PREFIX));
    hash_key(ret_key, e->hash);
    e->id = id_of(e->hash);
    e->began_ms = e->used_ms = clock_now_ms(s->how.clock);
    save(s);
    watch_ends(s);
    return 0;
}

bool session_is_key(const char *text)
{
    return strncmp(text, SESSION_KEY_PREFIX, strlen(SESSION_KEY_PREFIX)) == 0;
}

static struct session_entry *use(struct sessions *s, struct session_entry *e)
{
    if (left_ms(s, e) <= 0)
        return NULL;
    e->used_ms = clock_now_ms(s->how.clock);
    if (e->used_ms - e->saved_ms >= SAVE_USE_MS)
        save(s);
    return e;
}

const struct session_entry *session_find(struct sessions *s, const char *key)
{
    unsigned char hash[SHA256_BYTES];

    hash_key(key, hash);
    /* Timing reveals something about a hash, nothing about a key. */
    for (size_t i = 0; i < SESSIONS_LIMIT; i++)
        if (s->entries[i].id && memcmp(s->entries[i].hash, hash, sizeof(hash)) == 0)
            return use(s, &s->entries[i]);
    return NULL;
}

const struct session_entry *session_find_id(struct sessions *s, uint64_t id)
{
    for (size_t i = 0; id && i < SESSIONS_LIMIT; i++)
        if (s->entries[i].id == id)
            return use(s, &s->entries[i]);
    return NULL;
}

void session_end(struct sessions *s, uint64_t id)
{
    for (size_t i = 0; id && i < SESSIONS_LIMIT; i++)
        if (s->entries[i].id == id) {
            end_entry(s, &s->entries[i]);
            save(s);
        }
}

/* --- codes ------------------------------------------------------------------------------- */

int session_code_make(struct sessions *s, const char *token, char out[SESSION_CODE_SIZE])
{
    struct session_code *c = s->codes;

    for (size_t i = 1; i < SESSION_CODES; i++)
        if (s->codes[i].until_ms < c->until_ms)
            c = &s->codes[i];
    if (c->until_ms > clock_now_ms(s->how.clock))
        return -EBUSY;
    forget_text(&c->token);
    *c = (struct session_code){.token = strdup(token)};
    if (!c->token)
        return -ENOMEM;
    random_uid(c->code);
    c->until_ms = clock_now_ms(s->how.clock) + SESSION_CODE_MS;
    (void)snprintf(out, SESSION_CODE_SIZE, "%s", c->code);
    return 0;
}

char *session_code_take(struct sessions *s, const char *code)
{
    for (size_t i = 0; i < SESSION_CODES; i++) {
        struct session_code *c = &s->codes[i];
        char *token = c->token;

        if (!secret_equal(c->code, code) || c->until_ms <= clock_now_ms(s->how.clock))
            continue;
        *c = (struct session_code){.token = NULL};
        return token;
    }
    return NULL;
}
