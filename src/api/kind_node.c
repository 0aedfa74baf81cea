/* kind_node.c - Node. Cluster-scoped; its agent writes the status. */
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/object.h"
#include "api/pod_fields.h"

#define ROLE_PREFIX "node-role.kubernetes.io/"

static const struct field taint_fields[] = {
    F_STR("key", "Key.", REQUIRED),
    F_STR("value", "Value."),
    F_STR("effect", "NoSchedule, PreferNoSchedule or NoExecute.", REQUIRED),
    F_TIME("timeAdded", "When it was added."),
    {0}};

static const struct field spec_fields[] = {
    F_STR("podCIDR", "Addresses of the node's pods."),
    F_STRS("podCIDRs", "Addresses of the node's pods."),
    F_STR("providerID", "ID given by who runs the machine."),
    F_BOOL("unschedulable", "True: no new pods are placed here."),
    F_OBJS("taints", taint_fields, "Keep pods away that do not tolerate them."),
    {0}};

static const struct field address_fields[] = {
    F_STR("type", "InternalIP, ExternalIP or Hostname.", REQUIRED),
    F_STR("address", "The address.", REQUIRED),
    {0}};

static const struct field info_fields[] = {
    F_STR("kubeletVersion", "Version of the node agent."),
    F_STR("osImage", "Operating system."),
    F_STR("kernelVersion", "Kernel."),
    F_STR("containerRuntimeVersion", "What runs containers."),
    F_STR("operatingSystem", "linux."),
    F_STR("architecture", "amd64, arm64."),
    F_STR("machineID", "ID of the machine."),
    F_STR("bootID", "ID of this start of the machine."),
    F_STR("systemUUID", "ID given by the firmware."),
    F_STR("kubeProxyVersion", "Not used."),
    {0}};

static const struct field endpoint_fields[] = {F_INT32("Port", "The port.", REQUIRED), {0}};

static const struct field endpoints_fields[] = {
    F_OBJ("kubeletEndpoint", endpoint_fields, "Logs, exec and their kin, over HTTPS."), {0}};

static const struct field status_fields[] = {
    F_MAP(FIELD_QUANTITY, "capacity", "What the machine has: cpu, memory, pods, nvidia.com/gpu."),
    F_MAP(FIELD_QUANTITY, "allocatable", "What of it pods may use."),
    F_CONDITIONS("Ready and others.", KEYED_BY("type")),
    F_OBJS("addresses", address_fields, "Addresses of the machine.", MERGED_BY("type")),
    F_OBJ("daemonEndpoints", endpoints_fields, "Where the node agent serves."),
    F_OBJ("nodeInfo", info_fields, "Versions of what runs on the machine.",
          .flags = FIELD_KEEP_UNKNOWN),
    {0}};

static const struct field fields[] = {
    F_SPEC(spec_fields, DEFAULT("{}"), .flags = FIELD_KEEP_UNKNOWN), F_STATUS(status_fields), {0}};

static struct json *render_status(struct arena *a, const struct json *node, int64_t now_ms)
{
    const struct json *ready = object_condition(node, "Ready");
    const char *state = !ready                                              ? "Unknown"
                        : json_string_is(json_get(ready, "status"), "True") ? "Ready"
                                                                            : "NotReady";

    (void)now_ms;
    return json_new_stringf(
        a, "%s%s", state,
        json_bool(json_at(node, "spec", "unschedulable"), false) ? ",SchedulingDisabled" : "");
}

static struct json *render_roles(struct arena *a, const struct json *node, int64_t now_ms)
{
    struct buf out = BUF_INIT(1024);
    struct json *cell = NULL;

    (void)now_ms;
    json_each (label, object_labels(node))
        if (strncmp(label->key, ROLE_PREFIX, strlen(ROLE_PREFIX)) == 0 &&
            label->key[strlen(ROLE_PREFIX)])
            buf_addf(&out, "%s%s", out.len ? "," : "", label->key + strlen(ROLE_PREFIX));
    if (out.data)
        cell = json_new_string(a, out.data);
    buf_release(&out);
    return cell;
}

static struct json *address_of(struct arena *a, const struct json *node, const char *type)
{
    return column_string(
        a, json_get(json_find(json_at(node, "status", "addresses"), "type", type), "address"));
}

static struct json *render_internal(struct arena *a, const struct json *node, int64_t now_ms)
{
    (void)now_ms;
    return address_of(a, node, "InternalIP");
}

static struct json *render_external(struct arena *a, const struct json *node, int64_t now_ms)
{
    (void)now_ms;
    return address_of(a, node, "ExternalIP");
}

static struct json *info(struct arena *a, const struct json *node, const char *key)
{
    struct json *cell = column_string(a, json_at(node, "status", "nodeInfo", key));

    return cell ? cell : json_new_string(a, "<unknown>");
}

static struct json *render_version(struct arena *a, const struct json *node, int64_t now_ms)
{
    (void)now_ms;
    return column_string(a, json_at(node, "status", "nodeInfo", "kubeletVersion"));
}

static struct json *render_os(struct arena *a, const struct json *node, int64_t now_ms)
{
    (void)now_ms;
    return info(a, node, "osImage");
}

static struct json *render_kernel(struct arena *a, const struct json *node, int64_t now_ms)
{
    (void)now_ms;
    return info(a, node, "kernelVersion");
}

static struct json *render_runtime(struct arena *a, const struct json *node, int64_t now_ms)
{
    (void)now_ms;
    return info(a, node, "containerRuntimeVersion");
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Status", "string", "Ready, NotReady or Unknown.", .render = render_status),
    COLUMN("Roles", "string", "Roles of the node.", .render = render_roles),
    COLUMN_AGE,
    COLUMN("Version", "string", "Version of the node agent.", .render = render_version),
    COLUMN("Internal-IP", "string", "Address inside the cluster.", .priority = 1,
           .render = render_internal),
    COLUMN("External-IP", "string", "Address outside the cluster.", .priority = 1,
           .render = render_external),
    COLUMN("OS-Image", "string", "Operating system.", .priority = 1, .render = render_os),
    COLUMN("Kernel-Version", "string", "Kernel.", .priority = 1, .render = render_kernel),
    COLUMN("Container-Runtime", "string", "What runs containers.", .priority = 1,
           .render = render_runtime),
    {0}};

const struct kind kind_node = {
    KIND_NAMES("", "v1", "Node", "nodes", "node"),
    .short_names = (const char *const[]){"no", NULL},
    .has_status = true,
    .doc = "Node is a machine that runs pods.",
    .fields = fields,
    .columns = columns,
    .field_selectors = (const char *const[]){"spec.unschedulable", NULL}};
