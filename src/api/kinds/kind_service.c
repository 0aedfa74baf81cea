/* kind_service.c - Service. Each job replica gets a headless one; cluster IPs are not allocated. */

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kinds/pod_fields.h"
#include "api/object.h"
#include "api/problem.h"

static const char *const types[] = {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort", NULL};
static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
static const char *const affinities[] = {"ClientIP", "None", NULL};

#define HERE_ONLY                                                                                  \
    "a Service can be reached on this machine only, by its name and its pods' addresses"

static const struct field port_fields[] = {
    F_STR("name", "Name of the port.", P(1), .flags = FIELD_DNS_LABEL),
    F_INT32("port", "Port of the service.", PZ(3), REQUIRED, BETWEEN(1, 65535)),
    F_PORT("targetPort", "Port of the pods, by number or name; same as port by default.", P(4)),
    F_STR("protocol", "TCP, UDP or SCTP.", P(2), ONE_OF(protocols), DEFAULT("\"TCP\"")),
    F_INT32("nodePort", "Port on every node.", P(5), IGNORED(HERE_ONLY)),
    F_STR("appProtocol", "Protocol spoken on the port.", PZ(6)),
    {0}};

static const struct field client_ip_fields[] = {
    F_INT32("timeoutSeconds", "How long a client stays with its pod.", PZ(1)), {0}};

static const struct field affinity_config_fields[] = {
    F_OBJ("clientIP", client_ip_fields, "By the client's address.", P(1)), {0}};

static const struct field balancer_port_fields[] = {F_INT32("port", "The port.", PZ(1), REQUIRED),
                                                    F_STR("protocol", "TCP, UDP or SCTP.", PZ(2)),
                                                    F_STR("error", "The problem.", PZ(3)),
                                                    {0}};

static const struct field ingress_fields[] = {F_STR("ip", "Address.", P(1)),
                                              F_STR("hostname", "Name.", P(2)),
                                              F_STR("ipMode", "VIP or Proxy.", PZ(3)),
                                              F_OBJS("ports", balancer_port_fields, "Ports.", P(4)),
                                              {0}};

static const struct field balancer_fields[] = {
    F_OBJS("ingress", ingress_fields, "Its addresses.", P(1)), {0}};

static const struct field status_fields[] = {
    F_OBJ("loadBalancer", balancer_fields, "The load balancer.", P(1), .flags = FIELD_KEEP_UNKNOWN),
    F_CONDITIONS(meta_condition_fields, "Its conditions.", P(2), MERGED_BY("type")),
    {0}};

static const struct field spec_fields[] = {
    F_STR_MAP("selector", "Labels of the pods behind the service.", P(2), .flags = FIELD_LABELS),
    F_OBJS("ports", port_fields, "Ports of the service.", P(1), .flags = FIELD_KEEP_UNKNOWN,
           MERGED_BY("port"), .merge_key_2 = "protocol"),
    F_STR("clusterIP",
          "Address of the service; None for a headless one (its name resolves to the pods).", P(3)),
    F_STRS("clusterIPs", "Addresses of the service.", P(18)),
    F_STR("type", "How the service is exposed.", P(4), ONE_OF(types), DEFAULT("\"ClusterIP\"")),
    F_STR("sessionAffinity", "Whether a client stays with its pod.", P(7), ONE_OF(affinities),
          DEFAULT("\"None\"")),
    F_BOOL("publishNotReadyAddresses", "Whether pods that are not ready are included.", P(13)),
    F_STR("externalName", "Name an ExternalName service stands for.", P(10)),
    F_STRS("externalIPs", "More addresses the service answers on.", P(5), IGNORED(HERE_ONLY)),
    F_STR("internalTrafficPolicy", "Cluster or Local.", PZ(22), DEFAULT("\"Cluster\"")),
    F_STR("externalTrafficPolicy", "Cluster or Local.", P(11)),
    F_STRS("ipFamilies", "IPv4, IPv6 or both.", P(19)),
    F_STR("ipFamilyPolicy", "Whether one or both are wanted.", PZ(17)),
    F_STR("trafficDistribution", "Which pods are preferred.", PZ(23)),
    F_OBJ("sessionAffinityConfig", affinity_config_fields, "How a client stays with its pod.",
          P(14)),
    F_STR("loadBalancerIP", "Address of the load balancer.", P(8), IGNORED(HERE_ONLY)),
    F_STR("loadBalancerClass", "Class of the load balancer.", PZ(21), IGNORED(HERE_ONLY)),
    F_STRS("loadBalancerSourceRanges", "Addresses that may use the load balancer.", P(9),
           IGNORED(HERE_ONLY)),
    F_BOOL("allocateLoadBalancerNodePorts", "Whether a load balancer needs ports of nodes.",
           PZ(20)),
    F_INT32("healthCheckNodePort", "Port for health checks.", P(12)),
    {0}};

static const struct field fields[] = {
    F_SPEC(spec_fields, DEFAULT("{}"), .flags = FIELD_KEEP_UNKNOWN),
    F_STATUS(status_fields, DEFAULT("{\"loadBalancer\":{}}")),
    {0}};

static void set_defaults(struct arena *a, struct json *service)
{
    struct json *spec = json_make_object(a, service, "spec");
    struct json *ports = json_get_mut(spec, "ports");

    if (!json_string_is(json_get(spec, "type"), "ExternalName")) {
        if (json_string_is(json_get(spec, "clusterIP"), "None") && !json_get(spec, "clusterIPs"))
            json_append_string(a, json_make_array(a, spec, "clusterIPs"), "None");
        if (!json_get(spec, "ipFamilies"))
            json_append_string(a, json_make_array(a, spec, "ipFamilies"), "IPv4");
        if (!json_get(spec, "ipFamilyPolicy"))
            json_set_string(a, spec, "ipFamilyPolicy", "SingleStack");
    }
    for (struct json *p = json_first_mut(ports); p; p = p->next)
        if (!json_get(p, "targetPort") && json_get(p, "port"))
            json_set_int(a, p, "targetPort", json_get_int(p, "port", 0));
}

static void check_ports(const struct json *spec, const struct field_path *at, struct err *err)
{
    const struct json *ports = json_get(spec, "ports");
    bool headless = json_string_is(json_get(spec, "clusterIP"), "None");
    size_t i = 0;

    if (json_len(ports) == 0 && !headless &&
        !json_string_is(json_get(spec, "type"), "ExternalName"))
        problem_required(err, at, spec ? spec->line : 0, NULL);
    if (json_len(ports) > 1)
        json_each (p, ports) {
            if (!*json_get_string(p, "name", ""))
                problem_required(err, PATH_MEMBER(PATH_INDEX(at, i), "name"), p->line, NULL);
            i++;
        }
}

/* Clients that know the address keep using it. */
static void check_address(const struct json *spec, const struct json *old, struct err *err)
{
    const struct field_path at = {.name = "spec"};
    const struct json *next = json_get(spec, "clusterIP");
    const char *address = json_get_string(old, "clusterIP", "");

    if (*address && !json_string_is(next, address) &&
        !json_string_is(json_get(spec, "type"), "ExternalName") &&
        !json_string_is(json_get(old, "type"), "ExternalName"))
        problem_invalid(err, PATH_INDEX(PATH_MEMBER(&at, "clusterIPs"), 0), next,
                        "may not change once set");
}

static void validate(const struct json *service, const struct json *old, struct err *err)
{
    const struct json *name = json_at(service, "metadata", "name");
    const char *problem = *json_string(name, "") ? dns_1035_label_problem(name->u.text) : NULL;

    if (problem)
        problem_invalid(err, PATH_MEMBER(PATH_MEMBER(NULL, "metadata"), "name"), name, "%s",
                        problem);
    if (old)
        check_address(json_get(service, "spec"), json_get(old, "spec"), err);
    check_ports(json_get(service, "spec"), PATH_MEMBER(PATH_MEMBER(NULL, "spec"), "ports"), err);
}

static void warn(const struct json *service, void (*say)(void *arg, const char *text), void *arg)
{
    const struct json *type = json_at(service, "spec", "type");

    if (json_string_is(type, "LoadBalancer") || json_string_is(type, "NodePort"))
        say(arg, "spec.type has no effect here: " HERE_ONLY);
}

static struct json *render_cluster_ip(struct arena *a, const struct json *service, int64_t now_ms)
{
    (void)now_ms;
    return column_string(a, json_at(service, "spec", "clusterIP"));
}

static struct json *render_external_ip(struct arena *a, const struct json *service, int64_t now_ms)
{
    const struct json *spec = json_get(service, "spec");
    const struct json *ips = json_get(spec, "externalIPs");

    (void)now_ms;
    if (json_string_is(json_get(spec, "type"), "ExternalName"))
        return column_string(a, json_get(spec, "externalName"));
    if (json_string_is(json_get(spec, "type"), "LoadBalancer") && json_len(ips) == 0)
        return json_new_string(a, "<pending>");
    return column_string(a, json_index(ips, 0));
}

static struct json *render_ports(struct arena *a, const struct json *service, int64_t now_ms)
{
    struct buf out = BUF_INIT(4096);
    struct json *cell = NULL;

    (void)now_ms;
    json_each (p, json_at(service, "spec", "ports")) {
        int64_t node_port = json_get_int(p, "nodePort", 0);

        buf_addf(&out, "%s%lld", out.len ? "," : "", (long long)json_get_int(p, "port", 0));
        if (node_port)
            buf_addf(&out, ":%lld", (long long)node_port);
        buf_addf(&out, "/%s", json_get_string(p, "protocol", "TCP"));
    }
    if (out.data)
        cell = json_new_string_len(a, out.data, out.len);
    buf_release(&out);
    return cell;
}

static struct json *render_selector(struct arena *a, const struct json *service, int64_t now_ms)
{
    (void)now_ms;
    return column_map(a, json_at(service, "spec", "selector"));
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Type", "string", "How it is exposed.", .path = ".spec.type"),
    COLUMN("Cluster-IP", "string", "Address.", .render = render_cluster_ip),
    COLUMN("External-IP", "string", "Addresses outside the cluster.", .render = render_external_ip),
    COLUMN("Port(s)", "string", "Ports.", .render = render_ports),
    COLUMN_AGE,
    COLUMN("Selector", "string", "Labels of the pods behind it.", .priority = 1,
           .render = render_selector),
    {0}};

const struct kind kind_service = {
    KIND_NAMES("", "v1", "Service", "services", "service"),
    .short_names = (const char *const[]){"svc", NULL},
    .categories = (const char *const[]){"all", NULL},
    .namespaced = true,
    .has_status = true,
    .collected = true,
    .doc = "Service is a name under which pods are reached.",
    .fields = fields,
    .columns = columns,
    .validate = validate,
    .set_defaults = set_defaults,
    .warn = warn,
    .field_selectors = (const char *const[]){"spec.clusterIP", "spec.type", NULL}};
