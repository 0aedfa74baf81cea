/*
 * pod_fields.c - what a pod is made of. Pods and the templates in jobs share these tables.
 *
 * Not all that Kubernetes knows is listed, so unknown members are kept without a word
 * (FIELD_KEEP_UNKNOWN): a manifest made for a cluster must survive the way through us. image is not
 * required: host processes do not use it.
 */
#include "api/pod_fields.h"

#include <string.h>

#include "api/quantity.h"

#define STR(n, d)                                                                                  \
    {                                                                                              \
        .name = (n), .type = FIELD_STRING, .doc = (d)                                              \
    }
#define BOOL(n, d)                                                                                 \
    {                                                                                              \
        .name = (n), .type = FIELD_BOOL, .doc = (d)                                                \
    }
#define INT32(n, d)                                                                                \
    {                                                                                              \
        .name = (n), .type = FIELD_INT32, .doc = (d)                                               \
    }
#define INT64(n, d)                                                                                \
    {                                                                                              \
        .name = (n), .type = FIELD_INT64, .doc = (d)                                               \
    }
#define STRINGS(n, d)                                                                              \
    {                                                                                              \
        .name = (n), .type = FIELD_LIST, .item = FIELD_STRING, .doc = (d)                          \
    }
#define STRING_MAP(n, d)                                                                           \
    {                                                                                              \
        .name = (n), .type = FIELD_MAP, .item = FIELD_STRING, .doc = (d)                           \
    }
#define OBJECT(n, f, d)                                                                            \
    {                                                                                              \
        .name = (n), .type = FIELD_OBJECT, .flags = FIELD_KEEP_UNKNOWN, .fields = (f), .doc = (d)  \
    }
#define OBJECTS(n, f, d)                                                                           \
    {                                                                                              \
        .name = (n), .type = FIELD_LIST, .item = FIELD_OBJECT, .flags = FIELD_KEEP_UNKNOWN,        \
        .fields = (f), .doc = (d)                                                                  \
    }
/* Patches merge the elements by a member, which need not be unique. */
#define KEYED(n, f, k, d)                                                                          \
    {                                                                                              \
        .name = (n), .type = FIELD_LIST, .item = FIELD_OBJECT, .flags = FIELD_KEEP_UNKNOWN,        \
        .fields = (f), .merge_key = (k), .doc = (d)                                                \
    }
#define ANY(n, d)                                                                                  \
    {                                                                                              \
        .name = (n), .type = FIELD_ANY, .doc = (d)                                                 \
    }
#define PORT_NUMBER .has_min = true, .min = 1, .has_max = true, .max = 65535

static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};
static const char *const restart_policies[] = {"Always", "OnFailure", "Never", NULL};
static const char *const dns_policies[] = {"ClusterFirstWithHostNet", "ClusterFirst", "Default",
                                           "None", NULL};
static const char *const message_policies[] = {"File", "FallbackToLogsOnError", NULL};
static const char *const condition_states[] = {"True", "False", "Unknown", NULL};

const struct field condition_fields[] = {
    {.name = "type",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED,
     .doc = "What the condition is about.",
     .doc_zh = "状况的类型。"},
    {.name = "status",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED,
     .values = condition_states,
     .doc = "True, False or Unknown.",
     .doc_zh = "True、False 或 Unknown。"},
    {.name = "reason",
     .type = FIELD_STRING,
     .doc = "One word for the last change; - when there is nothing special.",
     .doc_zh = "最近一次变化的原因（一个单词）；- 表示无特别原因。"},
    {.name = "message",
     .type = FIELD_STRING,
     .doc = "A sentence about the last change.",
     .doc_zh = "关于最近一次变化的说明。"},
    {.name = "lastTransitionTime",
     .type = FIELD_TIME,
     .doc = "When status last changed.",
     .doc_zh = "status 最近一次变化的时间。"},
    {.name = "lastProbeTime", .type = FIELD_TIME, .doc = "When the condition was last looked at."},
    {.name = "lastHeartbeatTime", .type = FIELD_TIME, .doc = "When news last came."},
    {.name = "observedGeneration",
     .type = FIELD_INT64,
     .doc = "The metadata.generation the condition was made from."},
    {0}};

const struct field resource_fields[] = {
    {.name = "limits",
     .type = FIELD_MAP,
     .item = FIELD_QUANTITY,
     .doc = "The most the container may use: cpu, memory, nvidia.com/gpu and others."},
    {.name = "requests",
     .type = FIELD_MAP,
     .item = FIELD_QUANTITY,
     .doc = "What is set aside for the container; the limits when not given."},
    ANY("claims", "Names of resource claims used by the container."),
    {0}};

static const struct field container_port_fields[] = {
    {.name = "containerPort",
     .type = FIELD_INT32,
     .flags = FIELD_REQUIRED,
     PORT_NUMBER,
     .doc = "Port the program listens on."},
    STR("name", "Name of the port, to be used in services."),
    {.name = "protocol",
     .type = FIELD_STRING,
     .values = protocols,
     .default_json = "\"TCP\"",
     .doc = "TCP, UDP or SCTP."},
    {.name = "hostPort",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 0,
     .has_max = true,
     .max = 65535,
     .doc = "Port of the machine."},
    STR("hostIP", "Address of the machine the host port is bound to."),
    {0}};

static const struct field key_ref_fields[] = {
    STR("name", "Name of the object."),
    {.name = "key", .type = FIELD_STRING, .flags = FIELD_REQUIRED, .doc = "Key in its data."},
    BOOL("optional", "Whether it may be missing."),
    {0}};

static const struct field field_ref_fields[] = {
    {.name = "apiVersion",
     .type = FIELD_STRING,
     .default_json = "\"v1\"",
     .doc = "Version of the schema the path is in."},
    {.name = "fieldPath",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED,
     .doc = "Field of the pod: metadata.name, metadata.namespace, metadata.uid, "
            "metadata.labels['key'], metadata.annotations['key'], spec.nodeName, status.podIP, "
            "status.hostIP."},
    {0}};

static const struct field resource_ref_fields[] = {
    STR("containerName", "Container whose resource is meant."),
    {.name = "resource",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED,
     .doc = "limits.cpu, requests.memory and so on."},
    {.name = "divisor", .type = FIELD_QUANTITY, .doc = "Unit of the result, 1 by default."},
    {0}};

static const struct field value_from_fields[] = {
    OBJECT("fieldRef", field_ref_fields, "A field of the pod."),
    OBJECT("resourceFieldRef", resource_ref_fields, "A resource of a container."),
    OBJECT("configMapKeyRef", key_ref_fields, "A key of a ConfigMap."),
    OBJECT("secretKeyRef", key_ref_fields, "A key of a Secret."),
    {0}};

static const struct field env_fields[] = {
    {.name = "name", .type = FIELD_STRING, .flags = FIELD_REQUIRED, .doc = "Name of the variable."},
    STR("value", "Its value; $(NAME) is replaced by variables defined before it."),
    OBJECT("valueFrom", value_from_fields, "Where the value comes from instead."),
    {0}};

static const struct field env_source_ref_fields[] = {
    STR("name", "Name of the object."), BOOL("optional", "Whether it may be missing."), {0}};

static const struct field env_from_fields[] = {
    STR("prefix", "Put before every name."),
    OBJECT("configMapRef", env_source_ref_fields, "All keys of a ConfigMap."),
    OBJECT("secretRef", env_source_ref_fields, "All keys of a Secret."),
    {0}};

static const struct field volume_mount_fields[] = {
    {.name = "name",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED,
     .doc = "A volume of spec.volumes."},
    {.name = "mountPath",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED,
     .doc = "Where it appears in the container."},
    STR("subPath", "Only this path of the volume."),
    STR("subPathExpr", "Like subPath, with $(VAR) replaced."),
    BOOL("readOnly", "Whether it may only be read."),
    STR("mountPropagation", "How mounts made later are passed on."),
    STR("recursiveReadOnly", "Whether mounts below are read-only too."),
    {0}};

static const struct field exec_fields[] = {STRINGS("command", "Program and its arguments."), {0}};

static const struct field http_get_fields[] = {{.name = "port",
                                                .type = FIELD_INT_OR_STRING,
                                                .flags = FIELD_REQUIRED,
                                                .doc = "Port number or name."},
                                               STR("path", "Path to ask for."),
                                               STR("host", "Host to connect to."),
                                               STR("scheme", "HTTP or HTTPS."),
                                               ANY("httpHeaders", "Headers to send."),
                                               {0}};

static const struct field tcp_socket_fields[] = {{.name = "port",
                                                  .type = FIELD_INT_OR_STRING,
                                                  .flags = FIELD_REQUIRED,
                                                  .doc = "Port number or name."},
                                                 STR("host", "Host to connect to."),
                                                 {0}};

static const struct field probe_fields[] = {
    OBJECT("exec", exec_fields, "A command that must exit 0."),
    OBJECT("httpGet", http_get_fields, "An HTTP request that must succeed."),
    OBJECT("tcpSocket", tcp_socket_fields, "A port that must accept connections."),
    ANY("grpc", "A gRPC health check."),
    INT32("initialDelaySeconds", "Seconds after the start before the first probe."),
    {.name = "timeoutSeconds",
     .type = FIELD_INT32,
     .default_json = "1",
     .doc = "Seconds after which a probe has failed."},
    {.name = "periodSeconds",
     .type = FIELD_INT32,
     .default_json = "10",
     .doc = "Seconds between probes."},
    {.name = "successThreshold",
     .type = FIELD_INT32,
     .default_json = "1",
     .doc = "Successes in a row that count as success."},
    {.name = "failureThreshold",
     .type = FIELD_INT32,
     .default_json = "3",
     .doc = "Failures in a row that count as failure."},
    INT64("terminationGracePeriodSeconds", "Grace given when the probe ends the container."),
    {0}};

static const struct field container_security_fields[] = {
    INT64("runAsUser", "User ID the program runs as."),
    INT64("runAsGroup", "Group ID the program runs as."),
    BOOL("runAsNonRoot", "Whether running as root is refused."),
    BOOL("privileged", "Whether the container has all rights of the machine."),
    BOOL("readOnlyRootFilesystem", "Whether the root file system may only be read."),
    BOOL("allowPrivilegeEscalation", "Whether a process may gain more rights than its parent."),
    ANY("capabilities", "Capabilities added and dropped."),
    ANY("seccompProfile", "System calls allowed."),
    ANY("seLinuxOptions", "SELinux context."),
    ANY("appArmorProfile", "AppArmor profile."),
    ANY("windowsOptions", "Not for Linux."),
    STR("procMount", "How /proc is mounted."),
    {0}};

static const struct field container_fields[] = {
    {.name = "name",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED | FIELD_DNS_LABEL,
     .doc = "Name of the container, unique in the pod."},
    STR("image", "Image the container is made from. Host processes do not use it."),
    STRINGS("command", "Program to run and its first arguments. $(VAR) is replaced by the "
                       "container's environment."),
    STRINGS("args", "Arguments after the command. $(VAR) is replaced as in command."),
    STR("workingDir", "Folder the program starts in."),
    KEYED("ports", container_port_fields, "containerPort", "Ports the program listens on."),
    KEYED("env", env_fields, "name", "Environment variables, in order."),
    OBJECTS("envFrom", env_from_fields, "Objects whose keys all become variables."),
    {.name = "resources",
     .type = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN,
     .fields = resource_fields,
     .default_json = "{}",
     .doc = "CPU, memory and other resources."},
    {.name = "volumeMounts",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN,
     .fields = volume_mount_fields,
     .list_key = "mountPath",
     .doc = "Where volumes appear in the container."},
    KEYED("volumeDevices", NULL, "devicePath", "Block devices of the container."),
    OBJECT("livenessProbe", probe_fields, "When it fails the container is restarted."),
    OBJECT("readinessProbe", probe_fields, "When it fails the container is not ready."),
    OBJECT("startupProbe", probe_fields, "The other probes wait until it has succeeded."),
    ANY("lifecycle", "What to run after the start and before the end."),
    ANY("resizePolicy", "What happens when resources change."),
    {.name = "restartPolicy",
     .type = FIELD_STRING,
     .doc = "Always makes an init container run beside the others."},
    {.name = "terminationMessagePath",
     .type = FIELD_STRING,
     .default_json = "\"/dev/termination-log\"",
     .doc = "File whose content becomes the container's termination message."},
    {.name = "terminationMessagePolicy",
     .type = FIELD_STRING,
     .values = message_policies,
     .default_json = "\"File\"",
     .doc = "Where the termination message comes from: the file, or the end of the log."},
    {.name = "imagePullPolicy",
     .type = FIELD_STRING,
     .values = pull_policies,
     .doc = "When the image is fetched. Always for images tagged latest, else IfNotPresent."},
    OBJECT("securityContext", container_security_fields, "Rights of the container."),
    BOOL("stdin", "Whether the program gets an open standard input."),
    BOOL("stdinOnce", "Whether standard input is closed after the first client."),
    BOOL("tty", "Whether the program gets a terminal."),
    {0}};

static const struct field key_to_path_fields[] = {
    {.name = "key", .type = FIELD_STRING, .flags = FIELD_REQUIRED, .doc = "Key in the data."},
    {.name = "path", .type = FIELD_STRING, .flags = FIELD_REQUIRED, .doc = "File to write it to."},
    INT32("mode", "Permissions of the file."),
    {0}};

static const struct field empty_dir_fields[] = {
    STR("medium", "Memory for a folder in memory; the machine's disk by default."),
    {.name = "sizeLimit", .type = FIELD_QUANTITY, .doc = "The most it may hold."},
    {0}};

static const struct field host_path_fields[] = {
    {.name = "path", .type = FIELD_STRING, .flags = FIELD_REQUIRED, .doc = "Path on the machine."},
    STR("type", "What must be there: Directory, DirectoryOrCreate, File and others."),
    {0}};

static const struct field claim_source_fields[] = {{.name = "claimName",
                                                    .type = FIELD_STRING,
                                                    .flags = FIELD_REQUIRED,
                                                    .doc = "A claim of the same namespace."},
                                                   BOOL("readOnly", "Whether it may only be read."),
                                                   {0}};

static const struct field config_map_source_fields[] = {
    STR("name", "Name of the ConfigMap."),
    OBJECTS("items", key_to_path_fields, "Keys to write as files; all when not given."),
    INT32("defaultMode", "Permissions of the files."),
    BOOL("optional", "Whether it may be missing."),
    {0}};

static const struct field secret_source_fields[] = {
    STR("secretName", "Name of the Secret."),
    OBJECTS("items", key_to_path_fields, "Keys to write as files; all when not given."),
    INT32("defaultMode", "Permissions of the files."),
    BOOL("optional", "Whether it may be missing."),
    {0}};

static const struct field volume_fields[] = {
    {.name = "name",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED | FIELD_DNS_LABEL,
     .doc = "Name of the volume, unique in the pod."},
    OBJECT("emptyDir", empty_dir_fields, "A folder that lives as long as the pod."),
    OBJECT("hostPath", host_path_fields, "A path of the machine."),
    OBJECT("persistentVolumeClaim", claim_source_fields, "A claim's storage."),
    OBJECT("configMap", config_map_source_fields, "A ConfigMap's keys as files."),
    OBJECT("secret", secret_source_fields, "A Secret's keys as files."),
    ANY("downwardAPI", "Fields of the pod as files."),
    ANY("projected", "Several sources in one folder."),
    ANY("nfs", "An NFS share."),
    ANY("csi", "A volume of a storage driver."),
    ANY("ephemeral", "A claim made for the pod."),
    ANY("image", "The content of an image."),
    ANY("gitRepo", "A Git repository."),
    ANY("iscsi", "An iSCSI disk."),
    ANY("fc", "A Fibre Channel disk."),
    ANY("glusterfs", "A Gluster volume."),
    ANY("cephfs", "A Ceph file system."),
    ANY("rbd", "A Ceph block device."),
    ANY("flexVolume", "A volume of a plugin."),
    ANY("flocker", "A Flocker volume."),
    ANY("cinder", "An OpenStack volume."),
    ANY("awsElasticBlockStore", "An AWS disk."),
    ANY("gcePersistentDisk", "A GCE disk."),
    ANY("azureDisk", "An Azure disk."),
    ANY("azureFile", "An Azure file share."),
    ANY("vsphereVolume", "A vSphere disk."),
    ANY("photonPersistentDisk", "A Photon disk."),
    ANY("portworxVolume", "A Portworx volume."),
    ANY("quobyte", "A Quobyte volume."),
    ANY("scaleIO", "A ScaleIO volume."),
    ANY("storageos", "A StorageOS volume."),
    {0}};

static const struct field pod_security_fields[] = {
    INT64("runAsUser", "User ID of all containers."),
    INT64("runAsGroup", "Group ID of all containers."),
    BOOL("runAsNonRoot", "Whether running as root is refused."),
    INT64("fsGroup", "Group that owns the volumes."),
    {.name = "supplementalGroups",
     .type = FIELD_LIST,
     .item = FIELD_INT64,
     .doc = "More groups of the processes."},
    STR("supplementalGroupsPolicy", "Whether groups of the image count too."),
    STR("fsGroupChangePolicy", "When the owner of volumes is changed."),
    ANY("seLinuxOptions", "SELinux context of all containers."),
    ANY("seccompProfile", "System calls allowed."),
    ANY("appArmorProfile", "AppArmor profile of all containers."),
    ANY("windowsOptions", "Not for Linux."),
    ANY("sysctls", "Kernel settings of the pod."),
    {0}};

static const struct field local_ref_fields[] = {STR("name", "Name of the object."), {0}};

static const struct field toleration_fields[] = {
    STR("key", "Taint key that is tolerated."),
    STR("operator", "Exists or Equal."),
    STR("value", "Taint value that is tolerated."),
    STR("effect", "Taint effect that is tolerated; all when empty."),
    INT64("tolerationSeconds", "How long a NoExecute taint is tolerated."),
    {0}};

static const struct field host_alias_fields[] = {
    STR("ip", "Address."), STRINGS("hostnames", "Names that resolve to it."), {0}};

const struct field pod_spec_fields[] = {
    {.name = "containers",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .flags = FIELD_REQUIRED | FIELD_NON_EMPTY | FIELD_KEEP_UNKNOWN,
     .fields = container_fields,
     .list_key = "name",
     .doc = "What runs in the pod, all together."},
    {.name = "initContainers",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN,
     .fields = container_fields,
     .list_key = "name",
     .doc = "What runs before the containers, one after the other."},
    {.name = "volumes",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN | FIELD_RETAIN_KEYS,
     .fields = volume_fields,
     .list_key = "name",
     .doc = "Storage the containers may mount."},
    {.name = "restartPolicy",
     .type = FIELD_STRING,
     .values = restart_policies,
     .default_json = "\"Always\"",
     .doc = "When containers of the pod are started again. Jobs set Never and replace pods."},
    {.name = "terminationGracePeriodSeconds",
     .type = FIELD_INT64,
     .has_min = true,
     .min = 0,
     .default_json = "30",
     .doc = "Seconds between the request to end and the end."},
    {.name = "activeDeadlineSeconds",
     .type = FIELD_INT64,
     .has_min = true,
     .min = 1,
     .doc = "Seconds the pod may run."},
    {.name = "dnsPolicy",
     .type = FIELD_STRING,
     .values = dns_policies,
     .default_json = "\"ClusterFirst\"",
     .doc = "How names are resolved."},
    {.name = "nodeSelector",
     .type = FIELD_MAP,
     .item = FIELD_STRING,
     .doc = "Labels a node must have."},
    STR("nodeName", "Node the pod runs on. Set by the scheduler, once."),
    STR("serviceAccountName", "ServiceAccount the pod acts as."),
    STR("serviceAccount", "Older spelling of serviceAccountName."),
    BOOL("automountServiceAccountToken", "Whether the account's token is put into the pod."),
    BOOL("hostNetwork", "Whether the pod uses the machine's network."),
    BOOL("hostPID", "Whether the pod sees the machine's processes."),
    BOOL("hostIPC", "Whether the pod uses the machine's IPC."),
    BOOL("shareProcessNamespace", "Whether containers see each other's processes."),
    {.name = "securityContext",
     .type = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN,
     .fields = pod_security_fields,
     .default_json = "{}",
     .doc = "Rights of all containers."},
    KEYED("imagePullSecrets", local_ref_fields, "name", "Secrets used to fetch images."),
    STR("hostname", "Host name of the pod."),
    STR("subdomain", "Domain of the host name."),
    ANY("affinity", "Preferences for nodes and other pods."),
    {.name = "schedulerName",
     .type = FIELD_STRING,
     .default_json = "\"default-scheduler\"",
     .doc = "Scheduler that places the pod."},
    OBJECTS("tolerations", toleration_fields, "Taints of nodes the pod tolerates."),
    KEYED("hostAliases", host_alias_fields, "ip", "Lines for the pod's hosts file."),
    STR("priorityClassName", "Class of the pod's priority."),
    INT32("priority", "The pod's priority."),
    ANY("dnsConfig", "More for the resolver's configuration."),
    ANY("readinessGates", "Conditions that must be True for the pod to be ready."),
    STR("runtimeClassName", "What runs the containers."),
    {.name = "enableServiceLinks",
     .type = FIELD_BOOL,
     .default_json = "true",
     .doc = "Whether services become environment variables."},
    STR("preemptionPolicy", "Whether the pod may push others out."),
    {.name = "overhead",
     .type = FIELD_MAP,
     .item = FIELD_QUANTITY,
     .doc = "Resources used beside the containers."},
    KEYED("topologySpreadConstraints", NULL, "topologyKey", "How pods spread over the cluster."),
    BOOL("setHostnameAsFQDN", "Whether the host name holds the domain."),
    ANY("os", "Operating system of the containers."),
    OBJECT("resources", resource_fields, "Resources of the pod as a whole."),
    BOOL("hostUsers", "Whether the machine's user IDs are used."),
    KEYED("schedulingGates", NULL, "name", "What must be removed before the pod is scheduled."),
    KEYED("resourceClaims", NULL, "name", "Resource claims of the pod."),
    KEYED("ephemeralContainers", NULL, "name",
          "Containers added while the pod runs, to look into it."),
    {0}};

static const struct field template_meta_fields[] = {
    {.name = "labels",
     .type = FIELD_MAP,
     .item = FIELD_STRING,
     .flags = FIELD_LABELS,
     .doc = "Labels of the pods.",
     .doc_zh = "Pod 的标签。"},
    STRING_MAP("annotations", "Annotations of the pods."),
    STR("name", "Not used: pods are named after their job."),
    {.name = "creationTimestamp", .type = FIELD_TIME, .doc = "Not used."},
    {0}};

const struct field pod_template_fields[] = {{.name = "metadata",
                                             .type = FIELD_OBJECT,
                                             .flags = FIELD_KEEP_UNKNOWN,
                                             .fields = template_meta_fields,
                                             .doc = "Labels and annotations of the pods.",
                                             .doc_zh = "Pod 的标签和注释。"},
                                            {.name = "spec",
                                             .type = FIELD_OBJECT,
                                             .flags = FIELD_REQUIRED | FIELD_KEEP_UNKNOWN,
                                             .fields = pod_spec_fields,
                                             .doc = "What the pods run.",
                                             .doc_zh = "Pod 运行的内容。"},
                                            {0}};

/* --- checks across fields ------------------------------------------------------------------- */

static bool has_volume(const struct json *spec, const char *name)
{
    json_each (volume, json_get(spec, "volumes"))
        if (json_string_is(json_get(volume, "name"), name))
            return true;
    return false;
}

static void check_mounts(const struct json *spec, const struct json *container,
                         const struct field_path *at, struct err *err)
{
    const struct field_path *mounts = PATH_MEMBER(at, "volumeMounts");
    size_t i = 0;

    json_each (mount, json_get(container, "volumeMounts")) {
        const struct json *name = json_get(mount, "name");

        if (json_is(name, JSON_STRING) && name->len && !has_volume(spec, name->u.text))
            problem_invalid(err, PATH_MEMBER(PATH_INDEX(mounts, i), "name"), name,
                            "no volume of this name is in spec.volumes");
        i++;
    }
}

static void check_resources(const struct json *resources, const struct field_path *at,
                            struct err *err)
{
    const struct json *limits = json_get(resources, "limits");

    json_each (request, json_get(resources, "requests")) {
        const struct json *limit = json_get(limits, request->key);

        if (quantity_json_milli(request, 0) < 0)
            problem_invalid(err, PATH_KEY(PATH_MEMBER(at, "requests"), request->key), request,
                            "must be greater than or equal to 0");
        if (limit && quantity_json_milli(request, 0) > quantity_json_milli(limit, INT64_MAX))
            problem_invalid(err, PATH_KEY(PATH_MEMBER(at, "requests"), request->key), request,
                            "must be less than or equal to %s limit of %s", request->key,
                            json_string(limit, ""));
    }
    json_each (limit, limits)
        if (quantity_json_milli(limit, 0) < 0)
            problem_invalid(err, PATH_KEY(PATH_MEMBER(at, "limits"), limit->key), limit,
                            "must be greater than or equal to 0");
}

static void check_containers(const struct json *spec, const char *list,
                             const struct field_path *parent, struct err *err)
{
    const struct field_path *at = PATH_MEMBER(parent, list);
    size_t i = 0;

    json_each (container, json_get(spec, list)) {
        const struct field_path *here = PATH_INDEX(at, i++);

        check_mounts(spec, container, here, err);
        check_resources(json_get(container, "resources"), PATH_MEMBER(here, "resources"), err);
    }
}

void pod_spec_validate(const struct json *spec, const struct field_path *at, struct err *err)
{
    const struct field_path *inits = PATH_MEMBER(at, "initContainers");
    size_t i = 0;

    check_containers(spec, "initContainers", at, err);
    check_containers(spec, "containers", at, err);
    json_each (init, json_get(spec, "initContainers")) {
        const struct json *name = json_get(init, "name");

        json_each (container, json_get(spec, "containers"))
            if (name && json_equal(name, json_get(container, "name")))
                problem_duplicate(err, PATH_MEMBER(PATH_INDEX(inits, i), "name"), name);
        i++;
    }
}
