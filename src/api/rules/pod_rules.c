/*
 * pod_rules.c - pod checks beyond the tables: across fields, and of values with their own syntax.
 * In the real server's wording; runs after decoding, so types are right.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/kinds/pod_fields.h"
#include "api/metadata.h"
#include "api/object.h"
#include "api/quantity.h"

/* Names are compared pairwise. */
#define PAIRS_LIMIT 1024u
#define PORT_NAME_LIMIT 15u
#define PROBE_PATH_LIMIT_BYTES 8192u
#define PROBE_HEADERS_LIMIT_BYTES 32768u

static unsigned line_of(const struct json *v)
{
    return v ? v->line : 0;
}

static const char *text_of(const struct json *v)
{
    return json_is(v, JSON_STRING) ? v->u.text : "";
}

/* --- paths ---------------------------------------------------------------------------------- */

static bool goes_up(const char *path)
{
    for (; *path; path += strcspn(path, "/"), path += *path == '/')
        if (strncmp(path, "..", 2) == 0 && (!path[2] || path[2] == '/'))
            return true;
    return false;
}

static void check_relative(const struct json *path, const struct field_path *at, struct err *err)
{
    if (text_of(path)[0] == '/')
        problem_invalid(err, at, path, "must be a relative path");
    if (goes_up(text_of(path)))
        problem_invalid(err, at, path, "must not contain '..'");
}

/* --- one of several members ----------------------------------------------------------------- */

/* How many of names are members of v; each after the first is reported as surplus. */
static unsigned count_members(const struct json *v, const char *const *names, const char *what,
                              const struct field_path *at, struct err *err)
{
    unsigned n = 0;

    for (; *names; names++) {
        const struct json *m = json_get(v, *names);

        if (m && n++ > 0)
            problem_forbidden(err, PATH_MEMBER(at, *names), line_of(m),
                              "may not specify more than 1 %s", what);
    }
    return n;
}

/* --- volumes -------------------------------------------------------------------------------- */

static void check_items(const struct json *source, const struct field_path *at, struct err *err)
{
    const struct field_path *items = PATH_MEMBER(at, "items");
    size_t i = 0;

    json_each (item, json_get(source, "items"))
        check_relative(json_get(item, "path"), PATH_MEMBER(PATH_INDEX(items, i++), "path"), err);
}

static void check_projected(const struct json *projected, const struct field_path *at,
                            struct err *err)
{
    static const char *const parts[] = {"configMap", "secret", "downwardAPI", NULL};
    const struct field_path *sources = PATH_MEMBER(at, "sources");
    size_t i = 0;

    json_each (source, json_get(projected, "sources")) {
        const struct field_path *here = PATH_INDEX(sources, i++);

        for (size_t p = 0; parts[p]; p++)
            check_items(json_get(source, parts[p]), PATH_MEMBER(here, parts[p]), err);
    }
}

static void check_volume(const struct json *volume, const struct field_path *at, struct err *err)
{
    static const char *const with_items[] = {"configMap", "secret", "downwardAPI", NULL};
    const struct json *host = json_at(volume, "hostPath", "path");
    unsigned sources = 0;

    json_each (m, volume) {
        if (strcmp(m->key, "name") == 0)
            continue;
        if (sources++ > 0)
            problem_forbidden(err, PATH_MEMBER(at, m->key), m->line,
                              "may not specify more than 1 volume type");
    }
    for (size_t i = 0; with_items[i]; i++)
        check_items(json_get(volume, with_items[i]), PATH_MEMBER(at, with_items[i]), err);
    check_projected(json_get(volume, "projected"), PATH_MEMBER(at, "projected"), err);
    if (goes_up(text_of(host)))
        problem_invalid(err, PATH_MEMBER(PATH_MEMBER(at, "hostPath"), "path"), host,
                        "must not contain '..'");
}

static void check_mount(const struct json *spec, const struct json *mount,
                        const struct field_path *at, struct err *err)
{
    const struct json *name = json_get(mount, "name"), *path = json_get(mount, "mountPath");
    const struct json *part = json_get(mount, "subPath"), *expr = json_get(mount, "subPathExpr");

    if (*text_of(name) && !json_find(json_get(spec, "volumes"), "name", text_of(name)))
        problem_invalid(err, PATH_MEMBER(at, "name"), name,
                        "no volume of this name is in spec.volumes");
    if (*text_of(path) && text_of(path)[0] != '/')
        problem_invalid(err, PATH_MEMBER(at, "mountPath"), path, "must be an absolute path");
    if (strchr(text_of(path), ':'))
        problem_invalid(err, PATH_MEMBER(at, "mountPath"), path, "must not contain ':'");
    if (goes_up(text_of(path)))
        problem_invalid(err, PATH_MEMBER(at, "mountPath"), path, "must not contain '..'");
    check_relative(part, PATH_MEMBER(at, "subPath"), err);
    check_relative(expr, PATH_MEMBER(at, "subPathExpr"), err);
    if (*text_of(part) && *text_of(expr))
        problem_invalid(err, PATH_MEMBER(at, "subPathExpr"), expr,
                        "subPathExpr and subPath are mutually exclusive");
}

/* --- environment ---------------------------------------------------------------------------- */

static bool is_env_name(const char *name)
{
    for (; *name; name++)
        if (*name < 0x20 || *name > 0x7e || *name == '=')
            return false;
    return true;
}

static void check_variable(const struct json *env, const struct field_path *at, struct err *err)
{
    static const char *const sources[] = {"fieldRef",     "resourceFieldRef", "configMapKeyRef",
                                          "secretKeyRef", "fileKeyRef",       NULL};
    const struct json *name = json_get(env, "name"), *from = json_get(env, "valueFrom");

    if (!is_env_name(text_of(name)))
        problem_invalid(err, PATH_MEMBER(at, "name"), name,
                        "a valid environment variable name must consist only of printable ASCII "
                        "characters other than '='");
    if (!from)
        return;
    if (*json_get_string(env, "value", ""))
        problem_invalid(err, PATH_MEMBER(at, "valueFrom"), from,
                        "may not be specified when `value` is not empty");
    if (count_members(from, sources, "source of a value", PATH_MEMBER(at, "valueFrom"), err) == 0)
        problem_invalid(err, PATH_MEMBER(at, "valueFrom"), from,
                        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or "
                        "`secretKeyRef`");
}

static void check_env(const struct json *container, const struct field_path *at, struct err *err)
{
    static const char *const sources[] = {"configMapRef", "secretRef", NULL};
    const struct field_path *env = PATH_MEMBER(at, "env"), *from = PATH_MEMBER(at, "envFrom");
    size_t i = 0, j = 0;

    json_each (variable, json_get(container, "env"))
        check_variable(variable, PATH_INDEX(env, i++), err);
    json_each (source, json_get(container, "envFrom")) {
        const struct field_path *here = PATH_INDEX(from, j++);

        if (count_members(source, sources, "source", here, err) == 0)
            problem_invalid(err, here, source,
                            "must specify one of: `configMapRef` or `secretRef`");
    }
}

/* --- ports ---------------------------------------------------------------------------------- */

static const char *port_name_problem(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t len = strlen(name);

    if (len > PORT_NAME_LIMIT)
        return "must be no more than 15 characters";
    if (name[strspn(name, allowed)])
        return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
    if (!name[strcspn(name, "abcdefghijklmnopqrstuvwxyz")])
        return "must contain at least one letter (a-z)";
    if (strstr(name, "--"))
        return "must not contain consecutive hyphens";
    return name[0] == '-' || name[len - 1] == '-' ? "must not begin or end with a hyphen" : NULL;
}

static void check_ports(const struct json *container, const struct field_path *parent,
                        struct err *err)
{
    const struct json *ports = json_get(container, "ports");
    const struct field_path *at = PATH_MEMBER(parent, "ports");
    size_t i = 0;

    if (json_len(ports) > PAIRS_LIMIT) {
        problem_too_many(err, at, ports, PAIRS_LIMIT);
        return;
    }
    json_each (port, ports) {
        const struct json *name = json_get(port, "name");
        const struct field_path *here = PATH_MEMBER(PATH_INDEX(at, i++), "name");
        const char *problem = *text_of(name) ? port_name_problem(text_of(name)) : NULL;

        if (problem)
            problem_invalid(err, here, name, "%s", problem);
        if (!*text_of(name))
            continue;
        json_each (before, ports) {
            if (before == port)
                break;
            if (json_equal(json_get(before, "name"), name)) {
                problem_duplicate(err, here, name);
                break;
            }
        }
    }
}

/* --- probes --------------------------------------------------------------------------------- */

static void check_port_ref(const struct json *handler, const struct field_path *at, struct err *err)
{
    const struct json *port = json_get(handler, "port");
    const char *problem = NULL;

    if (json_is(port, JSON_INT) && (json_int(port, 0) < 1 || json_int(port, 0) > 65535))
        problem_invalid(err, PATH_MEMBER(at, "port"), port,
                        "must be between 1 and 65535, inclusive");
    if (json_is(port, JSON_STRING))
        problem = *text_of(port) ? port_name_problem(text_of(port)) : "must name a port";
    if (problem)
        problem_invalid(err, PATH_MEMBER(at, "port"), port, "%s", problem);
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

static const char *header_problem(const char *name)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    if (!*name || name[strspn(name, token)])
        return "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. "
               "'X-Header-Name')";
    if (strcasecmp(name, "Content-Length") == 0 || strcasecmp(name, "Transfer-Encoding") == 0)
        return "the request has no body";
    return NULL;
}

/* These become part of the request, so they must not contain line ends. */
static void check_request(const struct json *http, const struct field_path *at, struct err *err)
{
    const struct field_path *headers = PATH_MEMBER(at, "httpHeaders");
    const struct json *path = json_get(http, "path");
    size_t n = 0, len = 0, hosts = 0;

    if (has_control(text_of(path)))
        problem_invalid(err, PATH_MEMBER(at, "path"), path, "must not contain control characters");
    if (strlen(text_of(path)) > PROBE_PATH_LIMIT_BYTES)
        problem_forbidden(err, PATH_MEMBER(at, "path"), path->line, "may have at most %u bytes",
                          PROBE_PATH_LIMIT_BYTES);
    json_each (h, json_get(http, "httpHeaders")) {
        const struct json *name = json_get(h, "name"), *value = json_get(h, "value");
        const struct field_path *here = PATH_INDEX(headers, n++);
        const char *problem = header_problem(text_of(name));

        if (problem)
            problem_invalid(err, PATH_MEMBER(here, "name"), name, "%s", problem);
        if (has_control(text_of(value)))
            problem_invalid(err, PATH_MEMBER(here, "value"), value,
                            "must not contain control characters");
        hosts += strcasecmp(text_of(name), "Host") == 0;
        if (hosts == 2)
            problem_invalid(err, PATH_MEMBER(here, "name"), name, "a request has one Host");
        len += strlen(text_of(name)) + strlen(text_of(value));
    }
    if (len > PROBE_HEADERS_LIMIT_BYTES)
        problem_forbidden(err, headers, line_of(json_get(http, "httpHeaders")),
                          "may have at most %u bytes in all", PROBE_HEADERS_LIMIT_BYTES);
}

static void check_handler(const struct json *v, const char *const *handlers,
                          const struct field_path *at, struct err *err)
{
    const struct json *exec = json_get(v, "exec");

    if (count_members(v, handlers, "handler type", at, err) == 0)
        problem_required(err, at, line_of(v), "must specify a handler type");
    if (exec && json_len(json_get(exec, "command")) == 0)
        problem_required(err, PATH_MEMBER(PATH_MEMBER(at, "exec"), "command"), exec->line, NULL);
    check_port_ref(json_get(v, "httpGet"), PATH_MEMBER(at, "httpGet"), err);
    check_request(json_get(v, "httpGet"), PATH_MEMBER(at, "httpGet"), err);
    check_port_ref(json_get(v, "tcpSocket"), PATH_MEMBER(at, "tcpSocket"), err);
}

static const struct {
    const char *name;
    bool any_threshold; /* successThreshold may exceed 1 */
} probes[] = {{"livenessProbe", false}, {"readinessProbe", true}, {"startupProbe", false}};

static void check_probes(const struct json *container, const struct field_path *parent,
                         struct err *err)
{
    static const char *const handlers[] = {"exec", "httpGet", "tcpSocket", "grpc", NULL};

    for (size_t i = 0; i < ELEMS(probes); i++) {
        const struct json *probe = json_get(container, probes[i].name);
        const struct json *successes = json_get(probe, "successThreshold");
        const struct field_path *at = PATH_MEMBER(parent, probes[i].name);

        if (!probe)
            continue;
        check_handler(probe, handlers, at, err);
        if (!probes[i].any_threshold && json_int(successes, 1) > 1)
            problem_invalid(err, PATH_MEMBER(at, "successThreshold"), successes, "must be 1");
        if (probes[i].any_threshold && json_get(probe, "terminationGracePeriodSeconds"))
            problem_invalid(err, PATH_MEMBER(at, "terminationGracePeriodSeconds"),
                            json_get(probe, "terminationGracePeriodSeconds"),
                            "must not be set for readinessProbes");
    }
}

static void check_lifecycle(const struct json *container, const struct field_path *parent,
                            struct err *err)
{
    static const char *const hooks[] = {"postStart", "preStop"};
    static const char *const handlers[] = {"exec", "httpGet", "tcpSocket", "sleep", NULL};
    const struct json *lifecycle = json_get(container, "lifecycle");
    const struct field_path *at = PATH_MEMBER(parent, "lifecycle");

    for (size_t i = 0; i < ELEMS(hooks); i++)
        if (json_get(lifecycle, hooks[i]))
            check_handler(json_get(lifecycle, hooks[i]), handlers, PATH_MEMBER(at, hooks[i]), err);
}

/* --- resources ------------------------------------------------------------------------------ */

/* Resources with a domain (nvidia.com/gpu) are integral and cannot be shared. */
static bool is_whole(const char *resource)
{
    return strchr(resource, '/') != NULL;
}

void resource_amount_validate(const struct json *amount, const struct field_path *at,
                              struct err *err)
{
    int64_t milli = quantity_json_milli(amount, 0);

    if (milli < 0)
        problem_invalid(err, PATH_KEY(at, amount->key), amount,
                        "must be greater than or equal to 0");
    else if (is_whole(amount->key) && milli % 1000 != 0)
        problem_invalid(err, PATH_KEY(at, amount->key), amount, "must be an integer");
}

static void check_resource_name(const struct json *amount, const struct field_path *at,
                                struct err *err)
{
    static const char *const names[] = {"cpu", "memory", "ephemeral-storage", NULL};

    for (size_t i = 0; names[i]; i++)
        if (strcmp(amount->key, names[i]) == 0)
            return;
    if (!is_whole(amount->key) && strncmp(amount->key, "hugepages-", 10) != 0)
        problem_invalid(err, PATH_KEY(at, amount->key), amount,
                        "there is no such resource: it must be cpu, memory, ephemeral-storage or "
                        "hugepages-SIZE, or have a domain like nvidia.com/gpu");
}

#define AMOUNT_TEXT_SIZE 24

/* As in the manifest, where 2 may be a number or a string. */
static const char *amount_text(const struct json *amount, char out[AMOUNT_TEXT_SIZE])
{
    if (!json_is(amount, JSON_INT))
        return json_is(amount, JSON_REAL) ? amount->u.text : json_string(amount, "");
    (void)snprintf(out, AMOUNT_TEXT_SIZE, "%lld", (long long)amount->u.integer);
    return out;
}

static void check_resources(const struct json *resources, const struct field_path *at,
                            struct err *err)
{
    const struct json *limits = json_get(resources, "limits");

    json_each (limit, limits) {
        check_resource_name(limit, PATH_MEMBER(at, "limits"), err);
        resource_amount_validate(limit, PATH_MEMBER(at, "limits"), err);
    }
    json_each (request, json_get(resources, "requests")) {
        const struct json *limit = json_get(limits, request->key);
        int64_t wanted = quantity_json_milli(request, 0);
        const struct field_path *here = PATH_MEMBER(at, "requests");
        char text[AMOUNT_TEXT_SIZE];

        if (!limit)
            check_resource_name(request, here, err);
        resource_amount_validate(request, here, err);
        if (limit && wanted > quantity_json_milli(limit, INT64_MAX))
            problem_invalid(err, PATH_KEY(here, request->key), request,
                            "must be less than or equal to %.253s limit of %.100s", request->key,
                            amount_text(limit, text));
        else if (limit && is_whole(request->key) && wanted != quantity_json_milli(limit, 0))
            problem_invalid(err, PATH_KEY(here, request->key), request,
                            "must be equal to %.253s limit of %.100s", request->key,
                            amount_text(limit, text));
    }
}

/* --- containers ----------------------------------------------------------------------------- */

/* Contradictory rights. */
static void check_security(const struct json *container, const struct field_path *parent,
                           struct err *err)
{
    const struct json *security = json_get(container, "securityContext");
    const struct json *escalation = json_get(security, "allowPrivilegeEscalation");
    const struct field_path *at = PATH_MEMBER(parent, "securityContext");

    if (json_bool(escalation, true))
        return;
    if (json_get_bool(security, "privileged", false))
        problem_invalid(err, PATH_MEMBER(at, "allowPrivilegeEscalation"), escalation,
                        "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    json_each (name, json_at(security, "capabilities", "add"))
        if (json_string_is(name, "CAP_SYS_ADMIN") || json_string_is(name, "SYS_ADMIN"))
            problem_invalid(err, PATH_MEMBER(at, "allowPrivilegeEscalation"), escalation,
                            "cannot set `allowPrivilegeEscalation` to false and "
                            "`capabilities.Add` CAP_SYS_ADMIN");
}

static void check_container(const struct json *spec, const struct json *container,
                            const struct field_path *at, struct err *err)
{
    const struct field_path *mounts = PATH_MEMBER(at, "volumeMounts");
    size_t i = 0;

    json_each (mount, json_get(container, "volumeMounts"))
        check_mount(spec, mount, PATH_INDEX(mounts, i++), err);
    check_env(container, at, err);
    check_ports(container, at, err);
    check_probes(container, at, err);
    check_lifecycle(container, at, err);
    check_security(container, at, err);
    check_resources(json_get(container, "resources"), PATH_MEMBER(at, "resources"), err);
}

/* An init container ends before the others start, so it has no probes, unless it keeps running
 * (Always). */
static void check_init(const struct json *container, const struct field_path *at, struct err *err)
{
    static const char *const only_running[] = {"livenessProbe", "readinessProbe", "startupProbe",
                                               "lifecycle"};

    if (json_string_is(json_get(container, "restartPolicy"), "Always"))
        return;
    for (size_t i = 0; i < ELEMS(only_running); i++)
        if (json_get(container, only_running[i]))
            problem_forbidden(err, PATH_MEMBER(at, only_running[i]),
                              line_of(json_get(container, only_running[i])),
                              "may not be set for init containers without restartPolicy=Always");
}

static bool name_is_taken(const struct json *containers, const struct json *name)
{
    json_each (container, containers)
        if (name && json_equal(name, json_get(container, "name")))
            return true;
    return false;
}

static void check_tolerations(const struct json *spec, const struct field_path *parent,
                              struct err *err)
{
    const struct field_path *at = PATH_MEMBER(parent, "tolerations");
    size_t i = 0;

    json_each (t, json_get(spec, "tolerations")) {
        const struct field_path *here = PATH_INDEX(at, i++);
        const struct json *operator= json_get(t, "operator"), *value = json_get(t, "value");
        const struct json *effect = json_get(t, "effect");

        if (json_string_is(operator, "Exists") && *text_of(value))
            problem_invalid(err, PATH_MEMBER(here, "value"), value,
                            "value must be empty when `operator` is 'Exists'");
        if (!*json_get_string(t, "key", "") && !json_string_is(operator, "Exists"))
            problem_invalid(err, PATH_MEMBER(here, "operator"), operator,
                            "operator must be Exists when `key` is empty, which means \"match all "
                            "values and all keys\"");
        if (json_get(t, "tolerationSeconds") && !json_string_is(effect, "NoExecute"))
            problem_invalid(err, PATH_MEMBER(here, "effect"), effect,
                            "effect must be 'NoExecute' when `tolerationSeconds` is set");
    }
}

/* Of the elements of a list. */
static void check_qualified(const struct json *list, const char *member,
                            const struct field_path *at, struct err *err)
{
    size_t i = 0;

    json_each (item, list) {
        const struct json *name = json_get(item, member);
        const struct field_path *here = PATH_INDEX(at, i++);
        const char *problem = *text_of(name) ? label_key_problem(text_of(name)) : NULL;

        if (problem)
            problem_invalid(err, PATH_MEMBER(here, member), name, "%s", problem);
    }
}

/* --- ephemeral containers ------------------------------------------------------------------- */

static void check_late(const struct json *spec, const struct json *container,
                       const struct field_path *at, struct err *err)
{
    static const char *const refused[] = {"ports",         "resources",      "livenessProbe",
                                          "startupProbe",  "readinessProbe", "lifecycle",
                                          "restartPolicy", "resizePolicy"};
    const struct json *target = json_get(container, "targetContainerName");
    const struct json *name = json_get(container, "name");
    const struct json *mounts = json_get(container, "volumeMounts");

    check_container(spec, container, at, err);
    for (size_t i = 0; i < ELEMS(refused); i++) {
        const struct json *m = json_get(container, refused[i]);

        if (json_len(m) > 0 || json_is(m, JSON_STRING))
            problem_forbidden(err, PATH_MEMBER(at, refused[i]), line_of(m),
                              "cannot be set for an Ephemeral Container");
    }
    if (json_len(mounts) > 0)
        problem_forbidden(err, PATH_MEMBER(at, "volumeMounts"), line_of(mounts),
                          "it sees the volumes of the container in whose namespaces it runs");
    if (name_is_taken(json_get(spec, "containers"), name) ||
        name_is_taken(json_get(spec, "initContainers"), name))
        problem_duplicate(err, PATH_MEMBER(at, "name"), name);
    if (*text_of(target) && !json_find(json_get(spec, "containers"), "name", text_of(target)) &&
        !json_find(json_get(spec, "initContainers"), "name", text_of(target)))
        problem_invalid(err, PATH_MEMBER(at, "targetContainerName"), target,
                        "no container of this name is in the pod");
}

static void check_all_late(const struct json *spec, const struct json *old,
                           const struct field_path *at, struct err *err)
{
    const struct json *list = json_get(spec, "ephemeralContainers");
    const struct json *before = json_get(old, "ephemeralContainers");
    const struct field_path *here = PATH_MEMBER(at, "ephemeralContainers");
    size_t i = 0;

    if (!old && json_len(list) > 0)
        problem_forbidden(err, here, line_of(list), "cannot be set on create");
    json_each (container, before) {
        const struct json *now = json_find(list, "name", text_of(json_get(container, "name")));

        if (!now || !json_equal(now, container))
            problem_forbidden(err, here, line_of(list),
                              "existing ephemeral containers \"%.253s\" may not be %s",
                              text_of(json_get(container, "name")), now ? "changed" : "removed");
    }
    json_each (container, list) {
        const struct field_path *item = PATH_INDEX(here, i++);

        if (!json_find(before, "name", text_of(json_get(container, "name"))))
            check_late(spec, container, item, err);
    }
}

/* --- the spec -------------------------------------------------------------------------------- */

void pod_spec_validate(const struct json *spec, const struct json *old, const struct field_path *at,
                       struct err *err)
{
    const struct field_path *inits = PATH_MEMBER(at, "initContainers");
    const struct field_path *all = PATH_MEMBER(at, "containers");
    const struct field_path *volumes = PATH_MEMBER(at, "volumes");
    size_t i = 0, j = 0, k = 0;

    json_each (volume, json_get(spec, "volumes"))
        check_volume(volume, PATH_INDEX(volumes, k++), err);
    json_each (init, json_get(spec, "initContainers")) {
        const struct field_path *here = PATH_INDEX(inits, i++);

        check_container(spec, init, here, err);
        check_init(init, here, err);
        if (name_is_taken(json_get(spec, "containers"), json_get(init, "name")))
            problem_duplicate(err, PATH_MEMBER(here, "name"), json_get(init, "name"));
    }
    json_each (container, json_get(spec, "containers"))
        check_container(spec, container, PATH_INDEX(all, j++), err);
    check_all_late(spec, old, at, err);
    check_tolerations(spec, at, err);
    if (!old) {
        check_qualified(json_get(spec, "readinessGates"), "conditionType",
                        PATH_MEMBER(at, "readinessGates"), err);
        check_qualified(json_get(spec, "schedulingGates"), "name",
                        PATH_MEMBER(at, "schedulingGates"), err);
    }
    json_each (amount, json_get(spec, "overhead"))
        resource_amount_validate(amount, PATH_MEMBER(at, "overhead"), err);
}

/* --- annotations ---------------------------------------------------------------------------- */

void pod_annotations_validate(const struct json *metadata, const struct json *old,
                              const struct field_path *at, struct err *err)
{
    static const char *const names[] = {ANNOTATION_GPUS, ANNOTATION_SHARED_GPUS,
                                        ANNOTATION_GPU_LINKS, ANNOTATION_BOUND_QUEUE};

    metadata_refuse_annotations(metadata, old, names, ELEMS(names), at, err);
}

void pod_template_annotations_validate(const struct json *metadata, const struct field_path *at,
                                       struct err *err)
{
    static const char *const names[] = {ANNOTATION_MIN_MEMBER, ANNOTATION_GANG_SIZE,
                                        ANNOTATION_DEADLINE, ANNOTATION_PROCESSES,
                                        ANNOTATION_RUN_AS};

    pod_annotations_validate(metadata, NULL, at, err);
    metadata_refuse_annotations(metadata, NULL, names, ELEMS(names), at, err);
}
