/* pod_config.c - see pod_config.h. */
#include "client/pod_config.h"

#include <stdlib.h>
#include <string.h>

#include "loop/file.h"

#define ACCOUNT_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount/"
#define FILE_LIMIT_BYTES (1024u * 1024u)

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

/* A file's text without its final newline; NULL if there is none. */
static const char *read_text(struct arena *a, const char *path)
{
    struct buf text = BUF_INIT(FILE_LIMIT_BYTES);
    const char *copy = NULL;

    if (file_read(path, FILE_LIMIT_BYTES, &text) == 0 && text.len > 0)
        copy = arena_strndup(a, text.data, strcspn(text.data, "\r\n"));
    buf_release(&text);
    return copy;
}

static const char *read_whole(struct arena *a, const char *path)
{
    struct buf text = BUF_INIT(FILE_LIMIT_BYTES);
    const char *copy = NULL;

    if (file_read(path, FILE_LIMIT_BYTES, &text) == 0 && text.len > 0)
        copy = arena_strndup(a, text.data, text.len);
    buf_release(&text);
    return copy;
}

static const char *cluster_server(struct arena *a)
{
    const char *host = variable("KUBERNETES_SERVICE_HOST");
    const char *port = variable("KUBERNETES_SERVICE_PORT");
    bool six = host && strchr(host, ':');

    if (!host)
        return NULL;
    return arena_printf(a, "https://%s%s%s:%s", six ? "[" : "", host, six ? "]" : "",
                        port ? port : "443");
}

int pod_config_load(struct arena *a, struct client_config *ret, struct err *err)
{
    const char *own = variable("MUSTER_SERVER"), *ns = variable("MUSTER_NAMESPACE");
    const char *file = own ? variable("MUSTER_TOKEN_FILE") : ACCOUNT_FOLDER "token";
    int rc;

    *ret = (struct client_config){.server = own ? own : cluster_server(a),
                                  .token = file ? token_file_read(a, file) : NULL,
                                  .ns = ns ? ns : read_text(a, ACCOUNT_FOLDER "namespace")};
    if (ret->token)
        ret->token_file = file; /* renewed in the file, which a variable cannot be */
    else if (own)
        ret->token = variable("MUSTER_TOKEN");
    ret->reach.ca_pem = own ? variable("MUSTER_CA") : read_whole(a, ACCOUNT_FOLDER "ca.crt");
    if (ret->server && ret->token)
        return 0;
    rc = err_set(err, ERR_UNAUTHORIZED, "this pod has no service account token");
    err_hint(err, "give it one with spec.serviceAccountName; it comes as MUSTER_TOKEN and "
                  "MUSTER_SERVER, or in " ACCOUNT_FOLDER);
    return rc;
}
