/* kubeconfig.c - see kubeconfig.h. Settings that would change our identity and are not supported
 * are refused by name. */
#include "client/kubeconfig.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/yaml.h"
#include "base/base64.h"
#include "base/percent.h"
#include "loop/file.h"

#define FILE_LIMIT_BYTES (4u * 1024u * 1024u)

/* The current file, for messages and relative file names. */
#define SOURCES_LIMIT 16u

struct reader {
    struct arena *arena;
    const char *path; /* of the current file */
    struct err *err;
    struct source {
        const char *path;
        const struct json *root;
    } sources[SOURCES_LIMIT];
    size_t count;
    const char *ca_pem; /* the cluster's */
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

/* Inline text (NAME-data, base64), or the contents of another file (NAME). */
static int read_pem(struct reader *r, const struct json *object, const char *name, const char **ret,
                    const char **ret_file)
{
    const char *data_name = arena_printf(r->arena, "%s-data", name);
    const struct json *data = data_name ? json_get(object, data_name) : NULL;
    const struct json *file = json_get(object, name);

    if (data && *json_string(data, ""))
        return decode_base64(r, data, ret);
    if (!*json_string(file, ""))
        return 0;
    if (ret_file)
        *ret_file = arena_strdup(r->arena, beside(r, json_string(file, "")));
    return read_file(r, file, ret);
}

/* --- cluster, user, context --- */

/* The member `what` of the entry with that name; of several files the first that has one wins. */
static const struct json *find_named(struct reader *r, const char *list, const char *name,
                                     const char *what)
{
    for (size_t i = 0; i < r->count; i++)
        json_each (entry, json_get(r->sources[i].root, list))
            if (strcmp(json_get_string(entry, "name", ""), name) == 0) {
                r->path = r->sources[i].path;
                return json_get(entry, what);
            }
    return NULL;
}

/* Refuses unsupported settings that would change our identity or the server's. */
static int refuse(struct reader *r, const struct json *object, const char *const *members,
                  const char *hint)
{
    for (; *members; members++) {
        const struct json *at = json_get(object, *members);
        int rc;

        if (json_is_null(at))
            continue;
        rc = fail(r, at, "%s is not supported", *members);
        err_hint(r->err, "%s", hint);
        return rc;
    }
    return 0;
}

/* Unlike percent_decode it tolerates a % that escapes nothing: passwords contain them. */
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

/* Splits "http://user:password@host": the address appears in messages, the password must not. */
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

/* The certificate's name replaces the server's in the URL; we still connect to the server. */
static void read_server_name(struct reader *r, const char *name, struct client_config *ret)
{
    const char *host = strstr(ret->server, "://") + 3;
    size_t host_len = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
    const char *port = host[host_len] == ':' ? host + host_len + 1 : "443";
    int port_len = (int)strcspn(port, "/");

    if (!*name || strncmp(ret->server, "https://", 8) != 0)
        return;
    ret->reach.connect_to = arena_printf(r->arena, "%.*s:%.*s", (int)host_len, host, port_len,
                                         port);
    ret->server = arena_printf(r->arena, "https://%s:%.*s%s", name, port_len, port,
                               host + host_len + strcspn(host + host_len, "/"));
}

static int read_proxy(struct reader *r, const struct json *proxy, struct client_config *ret)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://"};
    const char *url = json_string(proxy, "");

    if (!*url)
        return 0;
    for (size_t i = 0; i < ELEMS(schemes); i++)
        if (strncmp(url, schemes[i], strlen(schemes[i])) == 0) {
            ret->reach.proxy = arena_strdup(r->arena, url);
            return 0;
        }
    return fail(r, proxy, "proxy-url must begin with http://, https:// or socks5://");
}

static int read_cluster(struct reader *r, const struct json *cluster, struct client_config *ret)
{
    const struct json *server = json_get(cluster, "server");
    const char *url = json_string(server, "");
    size_t len = strlen(url);
    int rc;

    if (!len)
        return fail(r, cluster, "the cluster has no server");
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return fail(r, server, "server must begin with http:// or https://");
    while (url[len - 1] == '/')
        len--;
    if (url + len < strstr(url, "://") + 3)
        return fail(r, server, "server names no host");
    read_address(r, url, len, ret);
    read_server_name(r, json_get_string(cluster, "tls-server-name", ""), ret);
    ret->reach.insecure = json_get_bool(cluster, "insecure-skip-tls-verify", false);
    rc = read_proxy(r, json_get(cluster, "proxy-url"), ret);
    return rc < 0 ? rc : read_pem(r, cluster, "certificate-authority", &ret->reach.ca_pem, NULL);
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

/* --- plugins --- */

#define AUTHENTICATION_GROUP "client.authentication.k8s.io"

static const char **strings_of(struct reader *r, const char *first, const struct json *list)
{
    const char **out = arena_alloc(r->arena, (json_len(list) + 2) * sizeof(*out));
    size_t n = 0;

    if (out && first)
        out[n++] = first;
    json_each (item, list) {
        if (out && json_is(item, JSON_OBJECT))
            out[n++] = arena_printf(r->arena, "%s=%s", json_get_string(item, "name", ""),
                                    json_get_string(item, "value", ""));
        else if (out)
            out[n++] = arena_strdup(r->arena, json_string(item, ""));
    }
    if (out)
        out[n] = NULL;
    return out;
}

/* The plugin's input: includes the cluster only if it asks for it. */
static const char *plugin_info(struct reader *r, const struct json *exec,
                               const struct json *cluster, bool interactive)
{
    static const char *const copied[] = {"server", "tls-server-name", "insecure-skip-tls-verify",
                                         "certificate-authority-data", "proxy-url"};
    struct buf text = BUF_INIT(FILE_LIMIT_BYTES);
    struct json *root = json_new_object(r->arena), *spec, *part;
    const char *info;
    size_t len;

    json_set_string(r->arena, root, "apiVersion", json_get_string(exec, "apiVersion", ""));
    json_set_string(r->arena, root, "kind", "ExecCredential");
    spec = json_make_object(r->arena, root, "spec");
    json_set_bool(r->arena, spec, "interactive", interactive);
    if (json_get_bool(exec, "provideClusterInfo", false)) {
        part = json_make_object(r->arena, spec, "cluster");
        for (size_t i = 0; i < ELEMS(copied); i++)
            if (json_get(cluster, copied[i]))
                json_set(r->arena, part, copied[i],
                         json_clone(r->arena, json_get(cluster, copied[i])));
        if (r->ca_pem && !json_get(cluster, "certificate-authority-data"))
            json_set_string(r->arena, part, "certificate-authority-data",
                            base64_encode(r->arena, r->ca_pem, strlen(r->ca_pem), &len));
        json_each (extension, json_get(cluster, "extensions"))
            if (json_string_is(json_get(extension, "name"), AUTHENTICATION_GROUP "/exec"))
                json_set(r->arena, part, "config",
                         json_clone(r->arena, json_get(extension, "extension")));
    }
    json_write(&text, root);
    info = text.failed ? NULL : arena_strdup(r->arena, text.data);
    buf_release(&text);
    return info;
}

static int check_plugin(struct reader *r, const struct json *exec)
{
    const struct json *version = json_get(exec, "apiVersion"),
                      *mode = json_get(exec, "interactiveMode");
    const char *text = json_string(mode, "");

    if (!*json_get_string(exec, "command", ""))
        return fail(r, exec, "exec has no command");
    if (!json_string_is(version, AUTHENTICATION_GROUP "/v1") &&
        !json_string_is(version, AUTHENTICATION_GROUP "/v1beta1"))
        return fail(r, version ? version : exec,
                    "exec.apiVersion must be " AUTHENTICATION_GROUP "/v1 or v1beta1");
    if (*text ? strcmp(text, "Never") != 0 && strcmp(text, "IfAvailable") != 0 &&
                    strcmp(text, "Always") != 0
              : json_string_is(version, AUTHENTICATION_GROUP "/v1"))
        return fail(r, mode ? mode : exec,
                    "exec.interactiveMode must be Never, IfAvailable or Always");
    if (strcmp(text, "Always") == 0 && !isatty(STDIN_FILENO))
        return fail(r, mode, "exec.interactiveMode is Always, but there is no terminal");
    return 0;
}

static int read_plugin(struct reader *r, const struct json *exec, const struct json *cluster,
                       struct client_config *ret)
{
    struct exec_plugin *p = arena_alloc(r->arena, sizeof(*p));
    const char *command = json_get_string(exec, "command", "");
    const char *hint = json_get_string(exec, "installHint", "");
    int rc = check_plugin(r, exec);

    if (rc < 0 || !p)
        return rc;
    /* A bare name is searched in PATH. */
    command = arena_strdup(r->arena, strchr(command, '/') ? beside(r, command) : command);
    p->api_version = arena_strdup(r->arena, json_get_string(exec, "apiVersion", ""));
    p->interactive = strcmp(json_get_string(exec, "interactiveMode", ""), "Never") != 0 &&
                     isatty(STDIN_FILENO);
    p->argv = strings_of(r, command, json_get(exec, "args"));
    p->env = strings_of(r, NULL, json_get(exec, "env"));
    p->info = plugin_info(r, exec, cluster, p->interactive);
    p->install_hint = *hint ? arena_strdup(r->arena, hint) : NULL;
    ret->plugin = p;
    return 0;
}

static int read_user(struct reader *r, const struct json *user, const struct json *cluster,
                     struct client_config *ret)
{
    static const char *const unsupported[] = {"auth-provider", "as", "as-uid", "as-groups",
                                              "as-user-extra", NULL};
    const struct json *exec = json_get(user, "exec");
    int rc = refuse(r, user, unsupported,
                    "use a token, a client certificate or an exec plugin of the intended user");

    if (rc == 0)
        rc = read_token(r, user, ret);
    if (rc == 0)
        rc = read_pem(r, user, "client-certificate", &ret->reach.cert_pem, &ret->cert_file);
    if (rc == 0)
        rc = read_pem(r, user, "client-key", &ret->reach.key_pem, &ret->key_file);
    if (rc == 0 && json_is(exec, JSON_OBJECT) && !ret->token)
        rc = read_plugin(r, exec, cluster, ret);
    if (rc < 0)
        return rc;
    if (!ret->reach.cert_pem != !ret->reach.key_pem)
        return fail(r, user,
                    "client-certificate and client-key must both be set or both be absent");
    if (json_get_string(user, "username", NULL)) {
        ret->username = arena_strdup(r->arena, json_get_string(user, "username", ""));
        ret->password = arena_strdup(r->arena, json_get_string(user, "password", ""));
    }
    return 0;
}

static int read_context(struct reader *r, const struct json *context, struct client_config *ret)
{
    const char *path = r->path, *cluster_path;
    const struct json *cluster_at = json_get(context, "cluster");
    const struct json *user_at = json_get(context, "user");
    const char *cluster_name = json_string(cluster_at, "");
    const char *user_name = json_string(user_at, "");
    const struct json *cluster = find_named(r, "clusters", cluster_name, "cluster"), *user;
    const char *ns = json_get_string(context, "namespace", NULL);
    int rc;

    cluster_path = r->path;
    r->path = path;
    if (!cluster)
        return fail(r, cluster_at ? cluster_at : context, "cluster \"%s\" is not in the file",
                    cluster_name);
    user = find_named(r, "users", user_name, "user");
    if (user_at && !user)
        return fail(r, user_at, "user \"%s\" is not in the file", user_name);
    ret->ns = ns && *ns ? arena_strdup(r->arena, ns) : NULL;
    path = r->path;
    r->path = cluster_path;
    rc = read_cluster(r, cluster, ret);
    r->ca_pem = ret->reach.ca_pem;
    r->path = path;
    return rc < 0 ? rc : read_user(r, user, cluster, ret);
}

static const struct json *current_context(struct reader *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct json *current = json_get(r->sources[i].root, "current-context");

        r->path = r->sources[i].path;
        if (*json_string(current, ""))
            return current;
    }
    r->path = r->sources[0].path;
    return json_get(r->sources[0].root, "current-context");
}

static int read_sources(struct reader *r, const char *wanted, struct client_config *ret)
{
    const struct json *first = r->sources[0].root, *contexts = json_get(first, "contexts");
    const struct json *current = current_context(r), *context;
    const char *name = wanted ? wanted : json_string(current, ""), *path = r->path;

    for (size_t i = 0; i < r->count; i++) {
        const struct json *root = r->sources[i].root;

        r->path = r->sources[i].path;
        if (!json_is(root, JSON_OBJECT) || !json_string_is(json_get(root, "kind"), "Config"))
            return fail(r, root, "this is not a kubeconfig (kind: Config)");
    }
    r->path = path;
    /* With a single context no choice is needed. */
    if (!*name && r->count == 1 && json_len(contexts) == 1)
        name = json_get_string(json_first(contexts), "name", "");
    if (!*name)
        return fail(r, current ? current : first, "current-context is not set");
    context = find_named(r, "contexts", name, "context");
    if (!context)
        return fail(r, !wanted && current ? current : first, "context \"%s\" is not in the file",
                    name);
    return read_context(r, context, ret);
}

/* --- files --- */

static int add_source(struct reader *r, struct arena *scratch, const char *path, const char *text,
                      size_t len)
{
    const struct json *documents = yaml_parse(scratch, text, len, NULL, NULL, r->err);

    if (!documents) {
        err_context(r->err, "%s", path);
        return -EINVAL;
    }
    if (r->count < SOURCES_LIMIT)
        r->sources[r->count++] = (struct source){path, json_first(documents)};
    return 0;
}

static int finish(struct reader *r, const char *context, struct client_config *ret)
{
    struct client_config config = {0};
    int rc = read_sources(r, context, &config);

    if (rc == 0 && arena_failed(r->arena))
        rc = err_set(r->err, ERR_INTERNAL, "out of memory");
    if (rc == 0)
        *ret = config;
    return rc;
}

int kubeconfig_parse(struct arena *a, const char *path, const char *text, size_t len,
                     struct client_config *ret, struct err *err)
{
    struct arena scratch = ARENA_INIT(16 * FILE_LIMIT_BYTES);
    struct reader r = {.arena = a, .err = err};
    int rc = add_source(&r, &scratch, path, text, len);

    if (rc == 0)
        rc = finish(&r, NULL, ret);
    /* The scratch arena is released: everything to be kept was copied into a. */
    arena_release(&scratch);
    return rc;
}

static int load_source(struct reader *r, struct arena *scratch, const char *path, bool may_miss)
{
    struct buf text = BUF_INIT(FILE_LIMIT_BYTES);
    int rc = file_read(path, FILE_LIMIT_BYTES, &text);

    if (rc == -ENOENT && may_miss)
        rc = 0;
    else if (rc < 0)
        rc = err_set(r->err, rc == -ENOENT ? ERR_NOT_FOUND : ERR_UNAVAILABLE,
                     "%s cannot be read: %s", path, strerror(-rc));
    else
        rc = add_source(r, scratch, path,
                        arena_strndup(scratch, text.data ? text.data : "", text.len), text.len);
    buf_release(&text);
    return rc;
}

int kubeconfig_load(struct arena *a, const char *paths, const char *context,
                    struct client_config *ret, struct err *err)
{
    struct arena scratch = ARENA_INIT(16 * FILE_LIMIT_BYTES);
    struct reader r = {.arena = a, .err = err};
    bool several = strchr(paths, ':');
    int rc = 0;

    for (const char *at = paths; rc == 0 && *at;) {
        size_t len = strcspn(at, ":");

        if (len)
            rc = load_source(&r, &scratch, arena_strndup(a, at, len), several);
        at += len;
        at += *at == ':';
    }
    if (rc == 0 && r.count == 0)
        rc = err_set(err, ERR_NOT_FOUND, "%s: none of these files exists", paths);
    if (rc == 0)
        rc = finish(&r, context, ret);
    arena_release(&scratch);
    return rc;
}

const char *kubeconfig_of_user(struct arena *a)
{
    const char *named = getenv("KUBECONFIG"), *home = getenv("HOME");

    if (named && *named)
        return named;
    return home && *home ? arena_printf(a, "%s/.kube/config", home) : NULL;
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
    if (config->reach.ca_pem)
        json_set_string(
            &a, part, "certificate-authority-data",
            base64_encode(&a, config->reach.ca_pem, strlen(config->reach.ca_pem), &len));
    if (config->reach.insecure)
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

struct reach client_reach_of_others(const struct client_config *server)
{
    struct reach reach = server->reach;

    reach.cert_pem = reach.key_pem = NULL;
    return reach;
}

int client_config_login(struct arena *a, struct client_config *config, int stop_fd, struct err *err)
{
    struct credential c;

    if (!config->plugin)
        return 0;
    if (exec_plugin_run(a, config->plugin, stop_fd, &c, err) < 0)
        return -EACCES;
    config->token = c.token;
    config->expires_ms = c.expires_ms;
    if (c.cert_pem) {
        config->reach.cert_pem = c.cert_pem;
        config->reach.key_pem = c.key_pem;
    }
    return 0;
}
