/* kind_node.c - Node. Cluster-scoped; the node's agent writes the status. */
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kinds/pod_fields.h"
#include "api/object.h"

#define ROLE_PREFIX "node-role.kubernetes.io/"

static const struct field taint_fields[] = {
    F_STR("key", "Key.", PZ(1), REQUIRED),
    F_STR("value", "Value.", P(2)),
    F_STR("effect", "NoSchedule, PreferNoSchedule or NoExecute.", PZ(3), REQUIRED),
    F_TIME("timeAdded", "When it was added.", P(4)),
    {0}};

static const struct field spec_fields[] = {
    F_STR("podCIDR", "Addresses of the node's pods.", P(1)),
    F_STRS("podCIDRs", "Addresses of the node's pods.", P(7)),
    F_STR("providerID", "ID assigned by the machine's provider.", P(3)),
    F_BOOL("unschedulable", "Whether no new pods are placed here.", P(4)),
    F_STR("externalID", "Not used.", P(2)),
    F_OBJS("taints", taint_fields, "Repel pods that do not tolerate them.", P(5)),
    {0}};

static const struct field address_fields[] = {
    F_STR("type", "InternalIP, ExternalIP or Hostname.", PZ(1), REQUIRED),
    F_STR("address", "The address.", PZ(2), REQUIRED),
    {0}};

static const struct field swap_fields[] = {F_INT64("capacity", "Bytes of swap.", PZ(1)), {0}};

static const struct field info_fields[] = {
    F_STR("kubeletVersion", "Version of the node agent.", PZ(7)),
    F_STR("osImage", "Operating system.", PZ(5)),
    F_STR("kernelVersion", "Kernel.", PZ(4)),
    F_STR("containerRuntimeVersion", "The container runtime.", PZ(6)),
    F_STR("operatingSystem", "linux.", PZ(9)),
    F_STR("architecture", "amd64, arm64.", PZ(10)),
    F_STR("machineID", "ID of the machine.", PZ(1)),
    F_STR("bootID", "ID of this boot of the machine.", PZ(3)),
    F_STR("systemUUID", "ID from the firmware.", PZ(2)),
    F_STR("kubeProxyVersion", "Not used.", PZ(8)),
    F_OBJ("swap", swap_fields, "Swap of the machine.", P(11)),
    {0}};

static const struct field endpoint_fields[] = {F_INT32("Port", "The port.", PZ(1), REQUIRED), {0}};

static const struct field endpoints_fields[] = {
    F_OBJ("kubeletEndpoint", endpoint_fields, "Logs, exec and so on, over HTTPS.", P(1)), {0}};

static const struct field node_condition_fields[] = {
    F_CONDITION(4, 5, 6), F_TIME("lastHeartbeatTime", "When the node last reported.", P(3)), {0}};

static const struct field image_fields[] = {
    F_STRS("names", "Names of the image.", P(1)), F_INT64("sizeBytes", "Its size.", P(2)), {0}};

static const struct field attached_fields[] = {F_STR("name", "The volume.", PZ(1), REQUIRED),
                                               F_STR("devicePath", "Where it is.", PZ(2), REQUIRED),
                                               {0}};

static const struct field config_map_source_fields[] = {
    F_STR("namespace", "Its namespace.", PZ(1), REQUIRED),
    F_STR("name", "Its name.", PZ(2), REQUIRED),
    F_STR("uid", "Its UID.", P(3)),
    F_STR("resourceVersion", "Its version.", P(4)),
    F_STR("kubeletConfigKey", "Key in its data.", PZ(5), REQUIRED),
    {0}};

static const struct field config_source_fields[] = {
    F_OBJ("configMap", config_map_source_fields, "A ConfigMap.", P(2)), {0}};

static const struct field config_status_fields[] = {
    F_OBJ("assigned", config_source_fields, "The assigned configuration.", P(1)),
    F_OBJ("active", config_source_fields, "The active configuration.", P(2)),
    F_OBJ("lastKnownGood", config_source_fields, "The last configuration known to work.", P(3)),
    F_STR("error", "The problem.", P(4)),
    {0}};

static const struct field handler_feature_fields[] = {
    F_BOOL("recursiveReadOnlyMounts", "Whether mounts below are read-only too.", PZ(1)),
    F_BOOL("userNamespaces", "Whether it has user namespaces.", PZ(2)),
    {0}};

static const struct field handler_fields[] = {
    F_STR("name", "Its name.", PZ(1)),
    F_OBJ("features", handler_feature_fields, "What it can do.", P(2)),
    {0}};

static const struct field feature_fields[] = {
    F_BOOL("supplementalGroupsPolicy", "Whether it knows supplementalGroupsPolicy.", PZ(1)), {0}};

static const struct field status_fields[] = {
    F_MAP(FIELD_QUANTITY, "capacity",
          "Resources of the machine: cpu, memory, pods, nvidia.com/gpu.", P(1)),
    F_MAP(FIELD_QUANTITY, "allocatable", "Resources available to pods.", P(2)),
    F_CONDITIONS(node_condition_fields, "Ready and others.", P(4), KEYED_BY("type")),
    F_OBJS("addresses", address_fields, "Addresses of the machine.", P(5), MERGED_BY("type")),
    F_OBJ("daemonEndpoints", endpoints_fields, "Endpoints of the node agent.", P(6)),
    F_OBJ("nodeInfo", info_fields, "Versions of the machine's software.", P(7),
          .flags = FIELD_KEEP_UNKNOWN),
    F_STR("phase", "Not used.", P(3)),
    F_OBJS("images", image_fields, "Images on the machine.", P(8)),
    F_STRS("volumesInUse", "Volumes that are mounted.", P(9)),
    F_OBJS("volumesAttached", attached_fields, "Volumes that are attached.", P(10)),
    F_OBJ("config", config_status_fields, "Not used.", P(11)),
    F_OBJS("runtimeHandlers", handler_fields, "Container runtimes.", P(12)),
    F_OBJ("features", feature_fields, "Features of the node agent.", P(13)),
    F_STRS("declaredFeatures", "Features declared by the node agent.", P(14)),
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
    COLUMN("Container-Runtime", "string", "The container runtime.", .priority = 1,
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
