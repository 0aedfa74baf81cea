/* app_place.c - see app_place.h. */
#include "console/app_place.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/object.h"
#include "base/percent.h"
#include "net/origin.h"

#define PROXY_SUBRESOURCE "proxy"

bool app_place_has_dots(const char *path)
{
    for (const char *at = path; *at;) {
        size_t len = strcspn(at, "/"), dots = 0, i = 0;

        for (; i < len; dots++) {
            if (at[i] == '.')
                i++;
            else if (len - i >= 3 && strncasecmp(at + i, "%2e", 3) == 0)
                i += 3;
            else
                break;
        }
        if (len > 0 && i == len && dots <= 2)
            return true;
        at += len;
        at += *at == '/';
    }
    return false;
}

/* The next segment of a path, in the arena; advances at. */
static const char *next_part(struct arena *a, const char **at)
{
    size_t len;

    *at += **at == '/';
    len = strcspn(*at, "/");
    *at += len;
    return arena_strndup(a, *at - len, len);
}

unsigned app_place_port(const char *text)
{
    bool digits = *text && strlen(text) <= 5 && strspn(text, "0123456789") == strlen(text);
    unsigned long port = digits ? strtoul(text, NULL, 10) : 0;

    return port <= 65535 ? (unsigned)port : 0;
}

/* --- apps and ports of pods ------------------------------------------------------------------- */

/* For PATH/NAMESPACE/NAME/... or APP_PORT_PREFIX/NAMESPACE/pods/NAME/PORT/... */
static int parse_app(struct arena *a, const char *path, struct app_place *ret, struct err *err)
{
    const struct app_kind *kind = app_kind_at(path);
    const char *prefix = kind ? kind->path : APP_PORT_PREFIX, *pods = "pods", *port = "1";
    const char *at = path + strlen(prefix);

    *ret = (struct app_place){.kind = kind, .ns = next_part(a, &at)};
    if (!kind)
        pods = next_part(a, &at);
    ret->name = next_part(a, &at);
    if (!kind)
        port = next_part(a, &at);
    ret->rest = at;
    if (!ret->ns || !ret->name || !pods || !port)
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    ret->port = app_place_port(port);
    if (dns_label_problem(ret->ns) || dns_name_problem(ret->name) || strcmp(pods, "pods") != 0 ||
        !ret->port)
        return err_set(err, ERR_NOT_FOUND, "there is no such path: it is %s%s", prefix,
                       kind ? "/NAMESPACE/NAME/" : "/NAMESPACE/pods/NAME/PORT/");
    return 0;
}

/* --- the proxy subresource -------------------------------------------------------------------- */

struct proxy_path {
    size_t ns, ns_len, name, name_len, rest;
    bool service;
};

/* /api/v1/namespaces/NS/pods|services/NAME/proxy[/...] */
static bool split_proxy(const char *path, struct proxy_path *ret)
{
    static const char before[] = APP_API_PREFIX "/namespaces/";
    const char *at = path;
    size_t len;

    if (strncmp(at, before, strlen(before)) != 0)
        return false;
    at += strlen(before);
    *ret = (struct proxy_path){.ns = (size_t)(at - path), .ns_len = strcspn(at, "/")};
    at += ret->ns_len;
    ret->service = strncmp(at, "/services/", strlen("/services/")) == 0;
    if (!ret->service && strncmp(at, "/pods/", strlen("/pods/")) != 0)
        return false;
    at = strchr(at + 1, '/') + 1;
    ret->name = (size_t)(at - path);
    ret->name_len = strcspn(at, "/");
    at += ret->name_len;
    len = strlen("/" PROXY_SUBRESOURCE);
    ret->rest = (size_t)(at - path) + len;
    return ret->ns_len && ret->name_len && strncmp(at, "/" PROXY_SUBRESOURCE, len) == 0 &&
           (!at[len] || at[len] == '/');
}

bool app_place_is_proxy(const char *path)
{
    struct proxy_path parts;

    return split_proxy(path, &parts);
}

/* [SCHEME:]NAME[:PORT] */
static int split_asked(struct arena *a, struct app_place *p, struct err *err)
{
    const char *first = strchr(p->asked, ':'), *second = first ? strchr(first + 1, ':') : NULL;
    const char *name = second ? first + 1 : p->asked;
    size_t len = second ? (size_t)(second - name) : strcspn(name, ":");

    if (second && strncmp(p->asked, "https:", strlen("https:")) == 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "https is not supported: programs in pods are reached over plain HTTP on "
                       "this machine; port-forward passes TLS on as it is");
    if (second && strncmp(p->asked, "http:", strlen("http:")) != 0)
        return err_set(err, ERR_BAD_REQUEST, "invalid %s request \"%s\"",
                       p->service ? "service" : "pod", p->asked);
    p->name = arena_strndup(a, name, len);
    p->port_text = name[len] ? name + len + 1 : "";
    p->port = p->service ? 0 : app_place_port(p->port_text);
    if (!p->name)
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    if (dns_name_problem(p->name) || (!p->service && *p->port_text && !p->port))
        return err_set(err, ERR_BAD_REQUEST, "invalid %s request \"%s\": it is NAME or NAME:PORT",
                       p->service ? "service" : "pod", p->asked);
    return 0;
}

static int parse_proxy(struct arena *a, const char *path, const struct proxy_path *parts,
                       struct app_place *ret, struct err *err)
{
    *ret = (struct app_place){.api = true,
                              .service = parts->service,
                              .ns = percent_decode(a, path + parts->ns, parts->ns_len),
                              .asked = percent_decode(a, path + parts->name, parts->name_len),
                              .rest = path + parts->rest};
    if (!ret->ns || !ret->asked || dns_label_problem(ret->ns))
        return err_set(err, ERR_NOT_FOUND, "the server could not find the requested resource");
    return split_asked(a, ret, err);
}

int app_place_parse(struct arena *a, const char *path, struct app_place *ret, struct err *err)
{
    struct proxy_path parts;
    int rc = split_proxy(path, &parts) ? parse_proxy(a, path, &parts, ret, err)
                                       : parse_app(a, path, ret, err);

    if (rc < 0)
        return rc;
    ret->url = arena_printf(a, "%.*s/", (int)(ret->rest - path), path);
    if (!ret->url)
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    if (!origin_is_printable(path) || app_place_has_dots(ret->rest))
        return err_set(err, ERR_BAD_REQUEST,
                       "the path must not contain \".\" or \"..\" or invalid characters");
    return 0;
}

/* --- rights ----------------------------------------------------------------------------------- */

static const char *verb_of(const char *method)
{
    static const struct {
        const char *method, *verb;
    } verbs[] = {{"POST", "create"}, {"PUT", "update"}, {"PATCH", "patch"}, {"DELETE", "delete"}};

    for (size_t i = 0; i < ELEMS(verbs); i++)
        if (strcmp(method, verbs[i].method) == 0)
            return verbs[i].verb;
    return "get";
}

/* A page of a program at the API's own address could act with the rights of a browser that is
 * signed in, so that only other clients are let in. */
static int check_proxy_rights(const struct app_place *p, const struct mount_request *m,
                              struct err *err)
{
    const char *verb = verb_of(m->http->method);
    const char *what = p->service ? "services/" PROXY_SUBRESOURCE : "pods/" PROXY_SUBRESOURCE;

    if (m->session)
        return err_set(err, ERR_FORBIDDEN,
                       "a browser's session may not use the proxy: open " APP_PORT_PREFIX
                       "/%s/pods/NAME/PORT/ in the console instead",
                       p->ns);
    if (!m->may(m, verb, "", what, p->ns, p->asked))
        return err_set(err, ERR_FORBIDDEN,
                       "%s \"%s\" is forbidden: User \"%s\" cannot %s resource \"%s\" in API group "
                       "\"\" in the namespace \"%s\"",
                       p->service ? "services" : "pods", p->asked, m->user, verb, what, p->ns);
    return 0;
}

/* An app that executes code requires the right to do so in the pod: see also got_pod. */
int app_place_check_rights(const struct app_place *place, const struct mount_request *m,
                           struct err *err)
{
    const struct app_kind *kind = place->kind;
    const struct kind *k = kind ? kind->job->kind : NULL;
    const char *way = !kind ? "pods/portforward" : kind->runs_code ? "pods/exec" : NULL;
    const char *pod = arena_printf(&m->http->arena, "%s%s", place->name, kind ? kind->suffix : "");

    if (place->api)
        return check_proxy_rights(place, m, err);
    if (k && !m->may(m, "get", k->group, k->plural, place->ns, place->name))
        return err_set(err, ERR_FORBIDDEN, "%s.%s \"%s\" is forbidden: you may not get it",
                       k->plural, k->group, place->name);
    if (way && (!pod || !m->may(m, "create", "", way, place->ns, pod)))
        return err_set(err, ERR_FORBIDDEN,
                       "\"%s\" is forbidden: opening it needs the right to create %s", place->name,
                       way);
    return 0;
}
