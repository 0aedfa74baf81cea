/* kind_node.c - Node. Cluster-scoped; its agent writes the status. */
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/object.h"
#include "api/pod_fields.h"

#define ROLE_PREFIX "node-role.kubernetes.io/"

static const struct field taint_fields[] = {
    {.name = "key", .type = FIELD_STRING, .flags = FIELD_REQUIRED, .doc = "Key."},
    {.name = "value", .type = FIELD_STRING, .doc = "Value."},
    {.name = "effect",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED,
     .doc = "NoSchedule, PreferNoSchedule or NoExecute."},
    {.name = "timeAdded", .type = FIELD_TIME, .doc = "When it was added."},
    {0}};

static const struct field spec_fields[] = {
    {.name = "podCIDR", .type = FIELD_STRING, .doc = "Addresses of the node's pods."},
    {.name = "podCIDRs",
     .type = FIELD_LIST,
     .item = FIELD_STRING,
     .doc = "Addresses of the node's pods."},
    {.name = "providerID", .type = FIELD_STRING, .doc = "ID given by who runs the machine."},
    {.name = "unschedulable", .type = FIELD_BOOL, .doc = "True: no new pods are placed here."},
    {.name = "taints",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .fields = taint_fields,
     .doc = "Keep pods away that do not tolerate them."},
    {0}};

static const struct field address_fields[] = {
    {.name = "type",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED,
     .doc = "InternalIP, ExternalIP or Hostname."},
    {.name = "address", .type = FIELD_STRING, .flags = FIELD_REQUIRED, .doc = "The address."},
    {0}};

static const struct field info_fields[] = {
    {.name = "kubeletVersion", .type = FIELD_STRING, .doc = "Version of the node agent."},
    {.name = "osImage", .type = FIELD_STRING, .doc = "Operating system."},
    {.name = "kernelVersion", .type = FIELD_STRING, .doc = "Kernel."},
    {.name = "containerRuntimeVersion", .type = FIELD_STRING, .doc = "What runs containers."},
    {.name = "operatingSystem", .type = FIELD_STRING, .doc = "linux."},
    {.name = "architecture", .type = FIELD_STRING, .doc = "amd64, arm64."},
    {.name = "machineID", .type = FIELD_STRING, .doc = "ID of the machine."},
    {.name = "bootID", .type = FIELD_STRING, .doc = "ID of this start of the machine."},
    {.name = "systemUUID", .type = FIELD_STRING, .doc = "ID given by the firmware."},
    {.name = "kubeProxyVersion", .type = FIELD_STRING, .doc = "Not used."},
    {0}};

static const struct field endpoint_fields[] = {
    {.name = "Port", .type = FIELD_INT32, .flags = FIELD_REQUIRED, .doc = "The port."}, {0}};

static const struct field endpoints_fields[] = {{.name = "kubeletEndpoint",
                                                 .type = FIELD_OBJECT,
                                                 .fields = endpoint_fields,
                                                 .doc = "Logs, exec and their kin, over HTTPS."},
                                                {0}};

static const struct field status_fields[] = {
    {.name = "capacity",
     .type = FIELD_MAP,
     .item = FIELD_QUANTITY,
     .doc = "What the machine has: cpu, memory, pods, nvidia.com/gpu."},
    {.name = "allocatable",
     .type = FIELD_MAP,
     .item = FIELD_QUANTITY,
     .doc = "What of it pods may use."},
    F_CONDITIONS("Ready and others.", KEYED_BY("type")),
    {.name = "addresses",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .fields = address_fields,
     .merge_key = "type",
     .doc = "Addresses of the machine."},
    {.name = "daemonEndpoints",
     .type = FIELD_OBJECT,
     .fields = endpoints_fields,
     .doc = "Where the node agent serves."},
    {.name = "nodeInfo",
     .type = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN,
     .fields = info_fields,
     .doc = "Versions of what runs on the machine."},
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
    json_each (address, json_at(node, "status", "addresses"))
        if (json_string_is(json_get(address, "type"), type))
            return column_string(a, json_get(address, "address"));
    return NULL;
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
    {.name = "Status",
     .type = "string",
     .doc = "Ready, NotReady or Unknown.",
     .render = render_status},
    {.name = "Roles", .type = "string", .doc = "Roles of the node.", .render = render_roles},
    COLUMN_AGE,
    {.name = "Version",
     .type = "string",
     .doc = "Version of the node agent.",
     .render = render_version},
    {.name = "Internal-IP",
     .type = "string",
     .priority = 1,
     .doc = "Address inside the cluster.",
     .render = render_internal},
    {.name = "External-IP",
     .type = "string",
     .priority = 1,
     .doc = "Address outside the cluster.",
     .render = render_external},
    {.name = "OS-Image",
     .type = "string",
     .priority = 1,
     .doc = "Operating system.",
     .render = render_os},
    {.name = "Kernel-Version",
     .type = "string",
     .priority = 1,
     .doc = "Kernel.",
     .render = render_kernel},
    {.name = "Container-Runtime",
     .type = "string",
     .priority = 1,
     .doc = "What runs containers.",
     .render = render_runtime},
    {0}};

const struct kind kind_node = {
    .group = "",
    .version = "v1",
    .name = "Node",
    .plural = "nodes",
    .singular = "node",
    .short_names = (const char *const[]){"no", NULL},
    .has_status = true,
    .doc = "Node is a machine that runs pods.",
    .fields = fields,
    .columns = columns,
    .field_selectors = (const char *const[]){"spec.unschedulable", NULL}};
