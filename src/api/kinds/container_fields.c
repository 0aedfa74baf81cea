/* container_fields.c - the fields of a container. */
#include "api/field_macros.h"
#include "api/kinds/pod_parts.h"

static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};
static const char *const message_policies[] = {"FallbackToLogsOnError", "File", NULL};
static const char *const schemes[] = {"HTTP", "HTTPS", NULL};
static const char *const propagations[] = {"Bidirectional", "HostToContainer", "None", NULL};
static const char *const recursive_modes[] = {"Disabled", "Enabled", "IfPossible", NULL};
static const char *const resize_policies[] = {"NotRequired", "RestartContainer", NULL};
static const char *const container_restarts[] = {"Always", "Never", "OnFailure", NULL};
static const char *const rule_actions[] = {"Restart", "RestartAllContainers", NULL};
static const char *const exit_operators[] = {"In", "NotIn", NULL};
#define NO_CLAIMS "resource claims are not supported"
#define SHARED_NETWORK "pods share the machine's network: the program's port is the machine's"

static const char *const proc_mounts[] = {"Default", "Unmasked", NULL};
static const char *const profile_types[] = {"Localhost", "RuntimeDefault", "Unconfined", NULL};

/* --- environment ---------------------------------------------------------------------------- */

static const struct field key_ref_fields[] = {
    F_STR("name", "Name of the object.", P_IN(1, 1), DEFAULT("\"\"")),
    F_STR("key", "Key in its data.", PZ(2), REQUIRED),
    F_BOOL("optional", "Whether it may be missing.", PZ(3)),
    {0}};

const struct field pod_field_ref_fields[] = {
    F_STR("apiVersion", "Schema version of the path.", P(1), DEFAULT("\"v1\""),
          IGNORED("only v1 exists")),
    F_STR("fieldPath",
          "Field of the pod: metadata.name, metadata.namespace, metadata.uid, "
          "metadata.labels['key'], metadata.annotations['key'], spec.nodeName, "
          "spec.serviceAccountName, status.podIP, status.hostIP.",
          PZ(2), REQUIRED),
    {0}};

const struct field pod_resource_ref_fields[] = {
    F_STR("containerName", "Container of the resource. Required in volumes.", P(1)),
    F_STR("resource", "limits.cpu, requests.memory and so on.", PZ(2), REQUIRED),
    F_QUANTITY("divisor", "Unit of the result, 1 by default.", P(3)),
    {0}};

static const struct field file_ref_fields[] = {
    F_STR("key", "Variable in the file.", PZ(3), REQUIRED),
    F_STR("path", "File in the volume.", PZ(2), REQUIRED),
    F_STR("volumeName", "Volume that holds the file.", PZ(1), REQUIRED),
    F_BOOL("optional", "Whether it may be missing.", PZ(4)),
    {0}};

static const struct field value_from_fields[] = {
    F_OBJ("fieldRef", pod_field_ref_fields, "A field of the pod.", P(1),
          CORE_TYPE("ObjectFieldSelector")),
    F_OBJ("resourceFieldRef", pod_resource_ref_fields, "A resource of a container.", P(2),
          CORE_TYPE("ResourceFieldSelector")),
    F_OBJ("configMapKeyRef", key_ref_fields, "A key of a ConfigMap.", P(3),
          CORE_TYPE("ConfigMapKeySelector")),
    F_OBJ("secretKeyRef", key_ref_fields, "A key of a Secret.", P(4),
          CORE_TYPE("SecretKeySelector")),
    F_OBJ("fileKeyRef", file_ref_fields, "A variable in a file of a volume.", P(5),
          IGNORED("variables from files in volumes are not supported; the pod waits"),
          CORE_TYPE("FileKeySelector")),
    {0}};

static const struct field env_fields[] = {
    F_STR("name", "Name of the variable.", PZ(1), REQUIRED),
    F_STR("value", "Its value; $(NAME) is replaced by variables defined before it.", P(2)),
    F_OBJ("valueFrom", value_from_fields, "Where the value comes from instead.", P(3),
          CORE_TYPE("EnvVarSource")),
    {0}};

static const struct field env_source_ref_fields[] = {
    F_STR("name", "Name of the object.", P_IN(1, 1), DEFAULT("\"\"")),
    F_BOOL("optional", "Whether it may be missing.", PZ(2)),
    {0}};

static const struct field env_from_fields[] = {
    F_STR("prefix", "Prefix of every name.", P(1)),
    F_OBJ("configMapRef", env_source_ref_fields, "All keys of a ConfigMap.", P(2),
          CORE_TYPE("ConfigMapEnvSource")),
    F_OBJ("secretRef", env_source_ref_fields, "All keys of a Secret.", P(3),
          CORE_TYPE("SecretEnvSource")),
    {0}};

/* --- ports, mounts, resources --------------------------------------------------------------- */

static const struct field port_fields[] = {
    F_INT32("containerPort", "Port the program listens on.", PZ(3), REQUIRED, PORT_NUMBER),
    F_STR("name", "Name of the port, for use in Services and probes.", P(1)),
    F_STR("protocol", "TCP, UDP or SCTP.", P(4), ONE_OF(protocols), DEFAULT("\"TCP\"")),
    F_INT32("hostPort", "Port of the machine.", P(2), BETWEEN(0, 65535), IGNORED(SHARED_NETWORK)),
    F_STR("hostIP", "Address of the machine that the host port is bound to.", P(5),
          IGNORED(SHARED_NETWORK)),
    {0}};

static const struct field mount_fields[] = {
    F_STR("name", "A volume of spec.volumes.", PZ(1), REQUIRED),
    F_STR("mountPath", "Where it is mounted in the container.", PZ(3), REQUIRED),
    F_STR("subPath", "Path within the volume to mount.", P(4)),
    F_STR("subPathExpr", "Like subPath, with $(VAR) replaced by the container's environment.",
          P(6)),
    F_BOOL("readOnly", "Whether it is read-only.", P(2)),
    F_STR("mountPropagation", "How later mounts propagate.", PZ(5), ONE_OF(propagations),
          NATURAL("None"), IGNORED("mounts do not propagate")),
    F_STR("recursiveReadOnly", "Whether mounts below are read-only too.", PZ(7),
          ONE_OF(recursive_modes), NATURAL("Enabled"), IGNORED("they always are")),
    {0}};

static const struct field device_fields[] = {
    F_STR("name", "A claim of spec.volumes.", PZ(1), REQUIRED),
    F_STR("devicePath", "Path of the device in the container.", PZ(2), REQUIRED),
    {0}};

static const struct field claim_fields[] = {
    F_STR("name", "A claim of spec.resourceClaims.", PZ(1), REQUIRED),
    F_STR("request", "One request of the claim; all by default.", P(2)),
    {0}};

static const struct field unreserved_fields[] = {
    F_QUANTITY("ephemeral-storage", "Room on the disk.",
               IGNORED("nothing is reserved on the disk; limits are enforced")),
    {0}};

static const struct field unplaced_fields[] = {
    F_QUANTITY("ephemeral-storage", "Room on the disk.",
               PARTLY("is enforced, but no node is chosen by it: nothing is reserved on the disk")),
    {0}};

const struct field resource_fields[] = {
    F_MAP(FIELD_QUANTITY, "limits",
          "The most the container may use: cpu, memory, nvidia.com/gpu and others.", P(1),
          .fields = unplaced_fields),
    F_MAP(FIELD_QUANTITY, "requests",
          "Resources reserved for the container; the limits by default.", P(2),
          .fields = unreserved_fields),
    F_OBJS("claims", claim_fields, "Resource claims used by the container.", P(3), KEYED_BY("name"),
           IGNORED(NO_CLAIMS), CORE_TYPE("ResourceClaim")),
    {0}};

static const struct field resize_fields[] = {
    F_STR("resourceName", "cpu or memory.", PZ(1), REQUIRED),
    F_STR("restartPolicy", "Whether the container restarts when it is resized.", PZ(2), REQUIRED,
          ONE_OF(resize_policies)),
    {0}};

static const struct field exit_code_fields[] = {
    F_STR("operator", "In or NotIn.", P(1), REQUIRED, ONE_OF(exit_operators)),
    F_LIST(FIELD_INT32, "values", "Exit codes.", P(2)),
    {0}};

static const struct field restart_rule_fields[] = {
    F_STR("action", "What to do if the rule matches.", P(1), REQUIRED, ONE_OF(rule_actions)),
    F_OBJ("exitCodes", exit_code_fields, "Exit codes to match.", P(2)),
    {0}};

/* --- probes and hooks ----------------------------------------------------------------------- */

static const struct field exec_fields[] = {
    F_STRS("command", "Program and its arguments; no shell is involved.", P(1)), {0}};

static const struct field header_fields[] = {F_STR("name", "Name of the header.", PZ(1), REQUIRED),
                                             F_STR("value", "Its value.", PZ(2), REQUIRED),
                                             {0}};

static const struct field http_get_fields[] = {
    F_PORT("port", "Port number, or name of a port of the container.", PZ(2), REQUIRED),
    F_STR("path", "Path of the request.", P(1), DEFAULT("\"/\"")),
    F_STR("host", "Host to connect to; the pod by default.", P(3)),
    F_STR("scheme", "HTTP or HTTPS.", P(4), ONE_OF(schemes), DEFAULT("\"HTTP\""),
          IGNORED("the request is sent without TLS")),
    F_OBJS("httpHeaders", header_fields, "Headers to send.", P(5), CORE_TYPE("HTTPHeader")),
    {0}};

static const struct field tcp_fields[] = {
    F_PORT("port", "Port number, or name of a port of the container.", PZ(1), REQUIRED),
    F_STR("host", "Host to connect to; the pod by default.", P(2)),
    {0}};

static const struct field grpc_fields[] = {
    F_INT32("port", "Port number.", PZ(1), REQUIRED, PORT_NUMBER),
    F_STR("service", "Name of the service to check.", PZ(2), DEFAULT("\"\"")),
    {0}};

static const struct field sleep_fields[] = {
    F_INT64("seconds", "Seconds to sleep.", PZ(1), REQUIRED), {0}};

static const struct field probe_fields[] = {
    F_OBJ("exec", exec_fields, "A command that must exit 0.", P_IN(1, 1), CORE_TYPE("ExecAction")),
    F_OBJ("httpGet", http_get_fields, "An HTTP request that must succeed (200 to 399).", P_IN(1, 2),
          CORE_TYPE("HTTPGetAction")),
    F_OBJ("tcpSocket", tcp_fields, "A port that must accept connections.", P_IN(1, 3),
          CORE_TYPE("TCPSocketAction")),
    F_OBJ("grpc", grpc_fields, "A gRPC health check.", P_IN(1, 4),
          IGNORED("gRPC probes are not supported; nothing is checked"), CORE_TYPE("GRPCAction")),
    F_INT32("initialDelaySeconds", "Seconds after the start before the first probe.", P(2),
            AT_LEAST(0)),
    F_INT32("timeoutSeconds", "Seconds after which a probe has failed.", P(3), AT_LEAST(1),
            DEFAULT("1")),
    F_INT32("periodSeconds", "Seconds between probes.", P(4), AT_LEAST(1), DEFAULT("10")),
    F_INT32("successThreshold", "Consecutive successes that count as success.", P(5), AT_LEAST(1),
            DEFAULT("1")),
    F_INT32("failureThreshold", "Consecutive failures that count as failure.", P(6), AT_LEAST(1),
            DEFAULT("3")),
    F_INT64("terminationGracePeriodSeconds", "Grace period when the probe ends the container.",
            PZ(7), AT_LEAST(1)),
    {0}};

static const struct field hook_fields[] = {
    F_OBJ("exec", exec_fields, "A command to run.", P(1), CORE_TYPE("ExecAction")),
    F_OBJ("httpGet", http_get_fields, "An HTTP request to make.", P(2), CORE_TYPE("HTTPGetAction")),
    F_OBJ("tcpSocket", tcp_fields, "Deprecated.", P(3),
          IGNORED("it has no effect in Kubernetes either"), CORE_TYPE("TCPSocketAction")),
    F_OBJ("sleep", sleep_fields, "A time to wait.", P(4), CORE_TYPE("SleepAction")),
    {0}};

static const struct field lifecycle_fields[] = {
    F_OBJ("postStart", hook_fields, "Run right after the start.", P(1),
          CORE_TYPE("LifecycleHandler")),
    F_OBJ("preStop", hook_fields, "Run before the container is stopped.", P(2),
          CORE_TYPE("LifecycleHandler")),
    F_STR("stopSignal", "Signal that stops the container; SIGTERM by default.", PZ(3),
          NATURAL("SIGTERM"), IGNORED("programs are stopped with SIGTERM")),
    {0}};

/* --- rights --------------------------------------------------------------------------------- */

static const struct field capability_fields[] = {
    F_STRS("add", "Capabilities added.", P(1)), F_STRS("drop", "Capabilities removed.", P(2)), {0}};

const struct field selinux_fields[] = {F_STR("level", "SELinux level.", P(4)),
                                       F_STR("role", "SELinux role.", P(2)),
                                       F_STR("type", "SELinux type.", P(3)),
                                       F_STR("user", "SELinux user.", P(1)),
                                       {0}};

const struct field profile_fields[] = {F_STR("type", "Localhost, RuntimeDefault or Unconfined.",
                                             PZ(1), REQUIRED, ONE_OF(profile_types)),
                                       F_STR("localhostProfile",
                                             "Profile on the machine, with type Localhost.", PZ(2),
                                             IGNORED("profiles of the machine cannot be loaded")),
                                       {0}};

const struct field windows_fields[] = {
    F_STR("gmsaCredentialSpec", "Credential of a managed account. Not for Linux.", PZ(2)),
    F_STR("gmsaCredentialSpecName", "Name of that credential. Not for Linux.", PZ(1)),
    F_BOOL("hostProcess", "Whether it runs as a process of the host. Not for Linux.", PZ(4)),
    F_STR("runAsUserName", "User it runs as. Not for Linux.", PZ(3)),
    {0}};

static const struct field security_fields[] = {
    F_INT64("runAsUser", "User ID the program runs as.", PZ(4), AT_LEAST(0)),
    F_INT64("runAsGroup", "Group ID the program runs as.", PZ(8), AT_LEAST(0)),
    F_BOOL("runAsNonRoot", "Whether running as root is refused.", PZ(5)),
    F_BOOL("privileged", "Whether the container has full access to the machine.", PZ(2)),
    F_BOOL("readOnlyRootFilesystem", "Whether the root file system is read-only.", PZ(6)),
    F_BOOL("allowPrivilegeEscalation",
           "Whether a process may gain more privileges than its parent.", PZ(7)),
    F_OBJ("capabilities", capability_fields, "Capabilities added and dropped.", P(1),
          CORE_TYPE("Capabilities")),
    F_OBJ("seccompProfile", profile_fields, "Allowed system calls.", P(11),
          CORE_TYPE("SeccompProfile")),
    F_OBJ("appArmorProfile", profile_fields, "AppArmor profile.", P(12), IGNORED(NO_APPARMOR),
          CORE_TYPE("AppArmorProfile")),
    F_OBJ("seLinuxOptions", selinux_fields, "SELinux context.", P(3), IGNORED(NO_SELINUX),
          CORE_TYPE("SELinuxOptions")),
    F_OBJ("windowsOptions", windows_fields, "Not for Linux.", P(10), IGNORED("this is Linux"),
          CORE_TYPE("WindowsSecurityContextOptions")),
    F_STR("procMount", "How /proc is mounted.", PZ(9), ONE_OF(proc_mounts), NATURAL("Default"),
          IGNORED("only privileged containers see the machine's /proc")),
    {0}};

/* --- the container -------------------------------------------------------------------------- */

#define CONTAINER_MEMBERS(in)                                                                      \
    F_STR("name", "Name of the container, unique in the pod.", PZ_IN(in, 1),                       \
          .flags = FIELD_REQUIRED | FIELD_DNS_LABEL),                                              \
        F_STR("image",                                                                             \
              "Image the container is made from. Pods of the class process do not use it.",        \
              P_IN(in, 2), .event = "ImageNotPulled"),                                             \
                                                                                                   \
        F_STRS("command",                                                                          \
               "Program to run and its first arguments. $(VAR) is replaced by the "                \
               "container's environment.",                                                         \
               P_IN(in, 3)),                                                                       \
        F_STRS("args", "Arguments after the command. $(VAR) is replaced as in command.",           \
               P_IN(in, 4)),                                                                       \
        F_STR("workingDir", "Working directory of the program.", P_IN(in, 5)),                     \
        F_OBJS("ports", port_fields, "Ports the program listens on.", P_IN(in, 6),                 \
               MERGED_BY("containerPort"), .merge_key_2 = "protocol", CORE_TYPE("ContainerPort")), \
        F_OBJS("env", env_fields, "Environment variables, in order.", P_IN(in, 7),                 \
               MERGED_BY("name"), CORE_TYPE("EnvVar")),                                            \
        F_OBJS("envFrom", env_from_fields, "Objects whose keys become variables.", P_IN(in, 19),   \
               CORE_TYPE("EnvFromSource")),                                                        \
        F_OBJ("resources", resource_fields, "CPU, memory and other resources.", P_IN(in, 8),       \
              DEFAULT("{}"), CORE_TYPE("ResourceRequirements")),                                   \
        F_OBJS("resizePolicy", resize_fields, "What to do when resources change.", P_IN(in, 23),   \
               IGNORED("resources of a running pod do not change"),                                \
                                                                                                   \
               CORE_TYPE("ContainerResizePolicy")),                                                \
        F_STR("restartPolicy", "Always makes an init container run alongside the others.",         \
              PZ_IN(in, 24),                                                                       \
              IGNORED("containers follow spec.restartPolicy, and init containers end before the "  \
                      "others start"),                                                             \
                                                                                                   \
              ONE_OF(container_restarts)),                                                         \
        F_OBJS("restartPolicyRules", restart_rule_fields,                                          \
               "Rules by exit code, before restartPolicy.", P_IN(in, 25),                          \
               IGNORED("containers follow spec.restartPolicy"),                                    \
               CORE_TYPE("ContainerRestartRule")),                                                 \
                                                                                                   \
        F_OBJS("volumeMounts", mount_fields, "Where volumes are mounted in the container.",        \
               P_IN(in, 9), KEYED_BY("mountPath"), CORE_TYPE("VolumeMount")),                      \
        F_OBJS("volumeDevices", device_fields, "Block devices of the container.", P_IN(in, 21),    \
               IGNORED("block devices are not supported"),                                         \
                                                                                                   \
               MERGED_BY("devicePath"), CORE_TYPE("VolumeDevice")),                                \
        F_OBJ("livenessProbe", probe_fields, "When it fails the container is restarted.",          \
              P_IN(in, 10), CORE_TYPE("Probe")),                                                   \
        F_OBJ("readinessProbe", probe_fields, "When it fails the container is not ready.",         \
              P_IN(in, 11), CORE_TYPE("Probe")),                                                   \
        F_OBJ("startupProbe", probe_fields, "The other probes wait until it has succeeded.",       \
              P_IN(in, 22), CORE_TYPE("Probe")),                                                   \
        F_OBJ("lifecycle", lifecycle_fields, "Actions after the start and before the end.",        \
              P_IN(in, 12), CORE_TYPE("Lifecycle")),                                               \
        F_STR("terminationMessagePath",                                                            \
              "File whose content becomes the container's termination message.", P_IN(in, 13),     \
              DEFAULT("\"/dev/termination-log\"")),                                                \
        F_STR("terminationMessagePolicy",                                                          \
              "Where the termination message comes from: the file, or the end of the log.",        \
              P_IN(in, 20), ONE_OF(message_policies), DEFAULT("\"File\"")),                        \
        F_STR(                                                                                     \
            "imagePullPolicy",                                                                     \
            "When the image is pulled. Always for images tagged latest, otherwise IfNotPresent.",  \
            P_IN(in, 14), .event = "ImageNotPulled",                                               \
                                                                                                   \
            ONE_OF(pull_policies)),                                                                \
        F_OBJ("securityContext", security_fields, "Security settings of the container.",           \
              P_IN(in, 15), CORE_TYPE("SecurityContext")),                                         \
        F_BOOL("stdin", "Whether the program gets an open standard input.", P_IN(in, 16)),         \
        F_BOOL("stdinOnce", "Whether standard input is closed after the first client.",            \
               P_IN(in, 17)),                                                                      \
        F_BOOL("tty", "Whether the program gets a terminal.", P_IN(in, 18))

const struct field container_fields[] = {CONTAINER_MEMBERS(0), {0}};

const struct field ephemeral_container_fields[] = {
    CONTAINER_MEMBERS(1),
    F_STR("targetContainerName",
          "Container in whose namespaces it runs, instead of those of the first that runs.", P(2)),
    {0}};
