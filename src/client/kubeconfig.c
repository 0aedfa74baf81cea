/*
 * kubeconfig.c - see kubeconfig.h. Reads what a token, a certificate or a password can say;
 * plugins that run programs are refused with a sentence.
 */
#include "client/kubeconfig.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/yaml.h"
#include "base/base64.h"
#include "base/percent.h"
#include "loop/file.h"

#define FILE_LIMIT_BYTES (4u * 1024u * 1024u)

/* Where we are, for messages and relative file names. */
struct reader {
    struct arena *arena;
    const char *path;
    struct err *err;
};

static int fail(struct reader *r, const struct json *at, const char *fmt, ...) printf_like(3, 4);

static int fail(struct reader *r, const struct json *at, const char *fmt, ...)
{
    struct buf text = BUF_INIT(ERR_LIMIT_BYTES / 4);
    char *message = NULL;
    va_list args;
    int rc;

    va_start(args, fmt);
    if (vasprintf(&message, fmt, args) < 0)
        message = NULL;
    va_end(args);
    if (at && at->line)
        buf_addf(&text, "%s:%u: %s", r->path, at->line, message ? message : "");
    else
        buf_addf(&text, "%s: %s", r->path, message ? message : "");
    free(message);
    rc = err_set(r->err, ERR_INVALID, "%s", text.failed ? r->path : text.data);
    if (r->err && at)
        r->err->line = at->line;
    buf_release(&text);
    return rc;
}

/* --- files and base64 --- */

static const char *beside(struct reader *r, const char *file)
{
    const char *slash = strrchr(r->path, '/');

    if (*file == '/' || !slash)
        return file;
    return arena_printf(r->arena, "%.*s/%s", (int)(slash - r->path), r->path, file);
}

static int read_file(struct reader *r, const struct json *name, const char **ret)
{
    struct buf text = BUF_INIT(FILE_LIMIT_BYTES);
    const char *path = beside(r, json_string(name, ""));
    int rc = path ? file_read(path, FILE_LIMIT_BYTES, &text) : -ENOMEM;

    if (rc < 0)
        rc = fail(r, name, "%s cannot be read: %s", path ? path : "", strerror(-rc));
    else
        *ret = arena_strndup(r->arena, text.data ? text.data : "", text.len);
    buf_release(&text);
    return rc;
}

static int decode_base64(struct reader *r, const struct json *v, const char **ret)
{
    size_t len;

    *ret = base64_decode(r->arena, json_string(v, ""), v->len, &len);
    if (!*ret && !arena_failed(r->arena))
        return fail(r, v, "%s is not base64", v->key);
    return 0;
}

/* A text given in the file itself (NAME-data, base64) or in another one (NAME). */
static int read_pem(struct reader *r, const struct json *object, const char *name, const char **ret)
{
    const char *data_name = arena_printf(r->arena, "%s-data", name);
    const struct json *data = data_name ? json_get(object, data_name) : NULL;
    const struct json *file = json_get(object, name);

    if (data && *json_string(data, ""))
        return decode_base64(r, data, ret);
    if (*json_string(file, ""))
        return read_file(r, file, ret);
    return 0;
}

/* --- cluster, user, context --- */

/* The member `what` of the entry of that name in the list. */
static const struct json *find_named(const struct json *list, const char *name, const char *what)
{
    json_each (entry, list)
        if (strcmp(json_get_string(entry, "name", ""), name) == 0)
            return json_get(entry, what);
    return NULL;
}

/* Unlike percent_decode it lets a % pass that escapes nothing: passwords have them. */
static const char *unescape(struct arena *a, const char *text, size_t len)
{
    char *out = arena_alloc(a, len + 1);
    size_t n = 0;

    for (size_t i = 0; out && i < len; i++) {
        bool escaped = text[i] == '%' && i + 2 < len && hex_digit(text[i + 1]) >= 0 &&
                       hex_digit(text[i + 2]) >= 0;

        out[n++] = escaped ? (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
        i += escaped ? 2 : 0;
    }
    return out;
}

/* "http://user:password@host" is taken apart: the address is for messages too, the password for
 * nobody's eyes. */
static void read_address(struct reader *r, const char *url, size_t len, struct client_config *ret)
{
    const char *host = strstr(url, "://") + 3, *end = url + len;
    const char *at = memrchr(host, '@', strcspn(host, "/?#"));
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;

    if (at) {
        const char *name_end = colon ? colon : at;

        ret->username = unescape(r->arena, host, (size_t)(name_end - host));
        ret->password = colon ? unescape(r->arena, colon + 1, (size_t)(at - colon - 1)) : "";
        ret->server = arena_printf(r->arena, "%.*s%.*s", (int)(host - url), url,
                                   (int)(end - at - 1), at + 1);
    } else {
        ret->server = arena_strndup(r->arena, url, len);
    }
}

static int read_cluster(struct reader *r, const struct json *cluster, struct client_config *ret)
{
    const struct json *server = json_get(cluster, "server");
    const char *url = json_string(server, "");
    size_t len = strlen(url);

    if (!len)
        return fail(r, cluster, "the cluster has no server");
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return fail(r, server, "server must begin with http:// or https://");
    while (len && url[len - 1] == '/')
        len--;
    read_address(r, url, len, ret);
    ret->insecure = json_get_bool(cluster, "insecure-skip-tls-verify", false);
    return read_pem(r, cluster, "certificate-authority", &ret->ca_pem);
}

static const char *trimmed(struct reader *r, const char *text)
{
    size_t len = text ? strlen(text) : 0;

    while (len && strchr(" \t\r\n", text[len - 1]))
        len--;
    return len ? arena_strndup(r->arena, text, len) : NULL;
}

static int read_token(struct reader *r, const struct json *user, struct client_config *ret)
{
    const struct json *file = json_get(user, "tokenFile");
    const char *token = json_get_string(user, "token", NULL);

    if ((!token || !*token) && *json_string(file, "")) {
        int rc = read_file(r, file, &token);

        if (rc < 0)
            return rc;
        ret->token_file = arena_strdup(r->arena, beside(r, json_string(file, "")));
    }
    ret->token = trimmed(r, token);
    if (ret->token && strpbrk(ret->token, "\r\n"))
        return fail(r, user, "the token has more than one line");
    return 0;
}

static int read_user(struct reader *r, const struct json *user, struct client_config *ret)
{
    static const char *const unsupported[] = {"exec", "auth-provider"};
    int rc;

    for (size_t i = 0; i < ELEMS(unsupported); i++) {
        const struct json *at = json_get(user, unsupported[i]);

        if (json_is_null(at))
            continue;
        rc = fail(r, at, "users that log in with %s are not supported", unsupported[i]);
        err_hint(r->err, "use a token or a client certificate");
        return rc;
    }
    rc = read_token(r, user, ret);
    if (rc == 0)
        rc = read_pem(r, user, "client-certificate", &ret->cert_pem);
    if (rc == 0)
        rc = read_pem(r, user, "client-key", &ret->key_pem);
    if (rc < 0)
        return rc;
    if (!ret->cert_pem != !ret->key_pem)
        return fail(r, user, "client-certificate and client-key come together or not at all");
    if (json_get_string(user, "username", NULL)) {
        ret->username = arena_strdup(r->arena, json_get_string(user, "username", ""));
        ret->password = arena_strdup(r->arena, json_get_string(user, "password", ""));
    }
    return 0;
}

static int read_context(struct reader *r, const struct json *root, const struct json *context,
                        struct client_config *ret)
{
    const struct json *cluster_at = json_get(context, "cluster");
    const struct json *user_at = json_get(context, "user");
    const char *cluster_name = json_string(cluster_at, "");
    const char *user_name = json_string(user_at, "");
    const struct json *cluster = find_named(json_get(root, "clusters"), cluster_name, "cluster");
    const struct json *user = find_named(json_get(root, "users"), user_name, "user");
    const char *ns = json_get_string(context, "namespace", NULL);
    int rc;

    if (!cluster)
        return fail(r, cluster_at ? cluster_at : context, "cluster \"%s\" is not in the file",
                    cluster_name);
    if (user_at && !user)
        return fail(r, user_at, "user \"%s\" is not in the file", user_name);
    ret->ns = ns && *ns ? arena_strdup(r->arena, ns) : NULL;
    rc = read_cluster(r, cluster, ret);
    return rc < 0 ? rc : read_user(r, user, ret);
}

static int read_root(struct reader *r, const struct json *root, struct client_config *ret)
{
    const struct json *current = json_get(root, "current-context");
    const struct json *contexts = json_get(root, "contexts");
    const char *name = json_string(current, "");
    const struct json *context;

    if (!json_is(root, JSON_OBJECT) || !json_string_is(json_get(root, "kind"), "Config"))
        return fail(r, root, "this is not a kubeconfig (kind: Config)");
    /* A file with one context needs no choice. */
    if (!*name && json_len(contexts) == 1)
        name = json_get_string(json_first(contexts), "name", "");
    if (!*name)
        return fail(r, current ? current : root, "current-context is not set");
    context = find_named(contexts, name, "context");
    if (!context)
        return fail(r, current ? current : root, "context \"%s\" is not in the file", name);
    return read_context(r, root, context, ret);
}

int kubeconfig_parse(struct arena *a, const char *path, const char *text, size_t len,
                     struct client_config *ret, struct err *err)
{
    struct arena scratch = ARENA_INIT(16 * FILE_LIMIT_BYTES);
    struct reader r = {.arena = a, .path = path, .err = err};
    struct client_config config = {0};
    const struct json *documents = yaml_parse(&scratch, text, len, NULL, NULL, err);
    int rc = -EINVAL;

    if (documents)
        rc = read_root(&r, json_first(documents), &config);
    else
        err_context(err, "%s", path);
    /* The scratch arena goes away: everything that stays was copied into a. */
    arena_release(&scratch);
    if (rc == 0 && arena_failed(a))
        rc = err_set(err, ERR_INTERNAL, "out of memory");
    if (rc == 0)
        *ret = config;
    return rc;
}

int kubeconfig_load(struct arena *a, const char *path, struct client_config *ret, struct err *err)
{
    struct buf text = BUF_INIT(FILE_LIMIT_BYTES);
    int rc = file_read(path, FILE_LIMIT_BYTES, &text);

    if (rc < 0)
        rc = err_set(err, rc == -ENOENT ? ERR_NOT_FOUND : ERR_UNAVAILABLE, "%s cannot be read: %s",
                     path, strerror(-rc));
    else
        rc = kubeconfig_parse(a, path, text.data ? text.data : "", text.len, ret, err);
    buf_release(&text);
    return rc;
}

/* --- writing --- */

static struct json *named(struct arena *a, struct json *root, const char *list, const char *what)
{
    struct json *entry = json_append(json_make_array(a, root, list), json_new_object(a));

    json_set_string(a, entry, "name", "muster");
    return json_make_object(a, entry, what);
}

void kubeconfig_write(struct buf *out, const struct client_config *config)
{
    struct arena a = ARENA_INIT(FILE_LIMIT_BYTES);
    struct json *root = json_new_object(&a);
    struct json *part;
    size_t len;

    json_set_string(&a, root, "apiVersion", "v1");
    json_set_string(&a, root, "kind", "Config");
    part = named(&a, root, "clusters", "cluster");
    json_set_string(&a, part, "server", config->server);
    if (config->ca_pem)
        json_set_string(&a, part, "certificate-authority-data",
                        base64_encode(&a, config->ca_pem, strlen(config->ca_pem), &len));
    if (config->insecure)
        json_set_bool(&a, part, "insecure-skip-tls-verify", true);
    part = named(&a, root, "users", "user");
    if (config->token)
        json_set_string(&a, part, "token", config->token);
    part = named(&a, root, "contexts", "context");
    json_set_string(&a, part, "cluster", "muster");
    json_set_string(&a, part, "user", "muster");
    if (config->ns)
        json_set_string(&a, part, "namespace", config->ns);
    json_set_string(&a, root, "current-context", "muster");
    if (arena_failed(&a))
        out->failed = true;
    else
        yaml_write(out, root);
    arena_release(&a);
}

const char *token_file_read(struct arena *a, const char *path)
{
    struct buf text = BUF_INIT(FILE_LIMIT_BYTES);
    const char *token = NULL;

    if (file_read(path, FILE_LIMIT_BYTES, &text) == 0 && text.len > 0) {
        const char *start = text.data + strspn(text.data, " \t\r\n");

        token = *start ? arena_strndup(a, start, strcspn(start, " \t\r\n")) : NULL;
    }
    buf_release(&text);
    return token;
}

const char *client_authorization(struct arena *a, const struct client_config *config)
{
    const char *pair;
    size_t len;

    if (config->token)
        return arena_printf(a, "Authorization: Bearer %s", config->token);
    if (!config->username)
        return NULL;
    pair = arena_printf(a, "%s:%s", config->username, config->password ? config->password : "");
    pair = pair ? base64_encode(a, pair, strlen(pair), &len) : NULL;
    return pair ? arena_printf(a, "Authorization: Basic %s", pair) : NULL;
}
