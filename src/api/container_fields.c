/* container_fields.c - a container: what it runs, with what, and how it is looked after. */
#include "api/field_macros.h"
#include "api/pod_parts.h"

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
#define NO_INPUT "the program reads nothing and has no terminal; commands of kubectl exec have both"
#define NO_CLAIMS "there are no resource claims here"
#define SHARED_NETWORK "pods share the machine's network: the program's port is the machine's"

static const char *const proc_mounts[] = {"Default", "Unmasked", NULL};
static const char *const profile_types[] = {"Localhost", "RuntimeDefault", "Unconfined", NULL};

/* --- environment ---------------------------------------------------------------------------- */

static const struct field key_ref_fields[] = {F_STR("name", "Name of the object.", DEFAULT("\"\"")),
                                              F_STR("key", "Key in its data.", REQUIRED),
                                              F_BOOL("optional", "Whether it may be missing."),
                                              {0}};

const struct field pod_field_ref_fields[] = {
    F_STR("apiVersion", "Version of the schema the path is in.", DEFAULT("\"v1\""),
          IGNORED("there is only v1")),
    F_STR("fieldPath",
          "Field of the pod: metadata.name, metadata.namespace, metadata.uid, "
          "metadata.labels['key'], metadata.annotations['key'], spec.nodeName, "
          "spec.serviceAccountName, status.podIP, status.hostIP.",
          REQUIRED),
    {0}};

const struct field pod_resource_ref_fields[] = {
    F_STR("containerName", "Container whose resource is meant. Needed in volumes."),
    F_STR("resource", "limits.cpu, requests.memory and so on.", REQUIRED),
    F_QUANTITY("divisor", "Unit of the result, 1 by default."),
    {0}};

static const struct field file_ref_fields[] = {
    F_STR("key", "Variable in the file.", REQUIRED),
    F_STR("path", "File in the volume.", REQUIRED),
    F_STR("volumeName", "Volume that holds the file.", REQUIRED),
    F_BOOL("optional", "Whether it may be missing."),
    {0}};

static const struct field value_from_fields[] = {
    F_OBJ("fieldRef", pod_field_ref_fields, "A field of the pod.",
          CORE_TYPE("ObjectFieldSelector")),
    F_OBJ("resourceFieldRef", pod_resource_ref_fields, "A resource of a container.",
          CORE_TYPE("ResourceFieldSelector")),
    F_OBJ("configMapKeyRef", key_ref_fields, "A key of a ConfigMap.",
          CORE_TYPE("ConfigMapKeySelector")),
    F_OBJ("secretKeyRef", key_ref_fields, "A key of a Secret.", CORE_TYPE("SecretKeySelector")),
    F_OBJ("fileKeyRef", file_ref_fields, "A variable in a file of a volume.",
          IGNORED("files of volumes are not read for variables; the pod waits"),
          CORE_TYPE("FileKeySelector")),
    {0}};

static const struct field env_fields[] = {
    F_STR("name", "Name of the variable.", REQUIRED),
    F_STR("value", "Its value; $(NAME) is replaced by variables defined before it."),
    F_OBJ("valueFrom", value_from_fields, "Where the value comes from instead.",
          CORE_TYPE("EnvVarSource")),
    {0}};

static const struct field env_source_ref_fields[] = {
    F_STR("name", "Name of the object.", DEFAULT("\"\"")),
    F_BOOL("optional", "Whether it may be missing."),
    {0}};

static const struct field env_from_fields[] = {
    F_STR("prefix", "Put before every name."),
    F_OBJ("configMapRef", env_source_ref_fields, "All keys of a ConfigMap.",
          CORE_TYPE("ConfigMapEnvSource")),
    F_OBJ("secretRef", env_source_ref_fields, "All keys of a Secret.",
          CORE_TYPE("SecretEnvSource")),
    {0}};

/* --- ports, mounts, resources --------------------------------------------------------------- */

static const struct field port_fields[] = {
    F_INT32("containerPort", "Port the program listens on.", REQUIRED, PORT_NUMBER),
    F_STR("name", "Name of the port, to be used in services and probes."),
    F_STR("protocol", "TCP, UDP or SCTP.", ONE_OF(protocols), DEFAULT("\"TCP\"")),
    F_INT32("hostPort", "Port of the machine.", BETWEEN(0, 65535), IGNORED(SHARED_NETWORK)),
    F_STR("hostIP", "Address of the machine the host port is bound to.", IGNORED(SHARED_NETWORK)),
    {0}};

static const struct field mount_fields[] = {
    F_STR("name", "A volume of spec.volumes.", REQUIRED),
    F_STR("mountPath", "Where it appears in the container.", REQUIRED),
    F_STR("subPath", "Only this path of the volume."),
    F_STR("subPathExpr", "Like subPath, with $(VAR) replaced by the container's environment."),
    F_BOOL("readOnly", "Whether it may only be read."),
    F_STR("mountPropagation", "How mounts made later are passed on.", ONE_OF(propagations),
          NATURAL("None"), IGNORED("mounts are not passed on")),
    F_STR("recursiveReadOnly", "Whether mounts below are read-only too.", ONE_OF(recursive_modes),
          NATURAL("Enabled"), IGNORED("mounts below a read-only volume always are")),
    {0}};

static const struct field device_fields[] = {
    F_STR("name", "A claim of spec.volumes.", REQUIRED),
    F_STR("devicePath", "Path of the device in the container.", REQUIRED),
    {0}};

static const struct field claim_fields[] = {
    F_STR("name", "A claim of spec.resourceClaims.", REQUIRED),
    F_STR("request", "One request of the claim; all when not given."),
    {0}};

static const struct field unreserved_fields[] = {
    F_QUANTITY("ephemeral-storage", "Room on the disk.",
               IGNORED("no room is kept free on the disk; a limit is kept to")),
    {0}};

const struct field resource_fields[] = {
    F_MAP(FIELD_QUANTITY, "limits",
          "The most the container may use: cpu, memory, nvidia.com/gpu and others."),
    F_MAP(FIELD_QUANTITY, "requests",
          "What is set aside for the container; the limits when not given.",
          .fields = unreserved_fields),
    F_OBJS("claims", claim_fields, "Resource claims used by the container.", KEYED_BY("name"),
           IGNORED(NO_CLAIMS), CORE_TYPE("ResourceClaim")),
    {0}};

static const struct field resize_fields[] = {
    F_STR("resourceName", "cpu or memory.", REQUIRED),
    F_STR("restartPolicy", "Whether the container restarts when it is resized.", REQUIRED,
          ONE_OF(resize_policies)),
    {0}};

static const struct field exit_code_fields[] = {
    F_STR("operator", "In or NotIn.", REQUIRED, ONE_OF(exit_operators)),
    F_LIST(FIELD_INT32, "values", "Exit codes."),
    {0}};

static const struct field restart_rule_fields[] = {
    F_STR("action", "What happens when the rule fits.", REQUIRED, ONE_OF(rule_actions)),
    F_OBJ("exitCodes", exit_code_fields, "Exit codes the rule is for."),
    {0}};

/* --- probes and hooks ----------------------------------------------------------------------- */

static const struct field exec_fields[] = {
    F_STRS("command", "Program and its arguments; no shell is involved."), {0}};

static const struct field header_fields[] = {
    F_STR("name", "Name of the header.", REQUIRED), F_STR("value", "Its value.", REQUIRED), {0}};

static const struct field http_get_fields[] = {
    F_PORT("port", "Port number, or name of a port of the container.", REQUIRED),
    F_STR("path", "Path to ask for.", DEFAULT("\"/\"")),
    F_STR("host", "Host to connect to; the pod when not given."),
    F_STR("scheme", "HTTP or HTTPS.", ONE_OF(schemes), DEFAULT("\"HTTP\""),
          IGNORED("the request is made without TLS")),
    F_OBJS("httpHeaders", header_fields, "Headers to send.", CORE_TYPE("HTTPHeader")),
    {0}};

static const struct field tcp_fields[] = {
    F_PORT("port", "Port number, or name of a port of the container.", REQUIRED),
    F_STR("host", "Host to connect to; the pod when not given."),
    {0}};

static const struct field grpc_fields[] = {
    F_INT32("port", "Port number.", REQUIRED, PORT_NUMBER),
    F_STR("service", "Name of the service to ask about.", DEFAULT("\"\"")),
    {0}};

static const struct field sleep_fields[] = {F_INT64("seconds", "Seconds to sleep.", REQUIRED), {0}};

static const struct field probe_fields[] = {
    F_OBJ("exec", exec_fields, "A command that must exit 0.", CORE_TYPE("ExecAction")),
    F_OBJ("httpGet", http_get_fields, "An HTTP request that must succeed (200 to 399).",
          CORE_TYPE("HTTPGetAction")),
    F_OBJ("tcpSocket", tcp_fields, "A port that must accept connections.",
          CORE_TYPE("TCPSocketAction")),
    F_OBJ("grpc", grpc_fields, "A gRPC health check.",
          IGNORED("gRPC is not spoken; nothing is asked"), CORE_TYPE("GRPCAction")),
    F_INT32("initialDelaySeconds", "Seconds after the start before the first probe.", AT_LEAST(0)),
    F_INT32("timeoutSeconds", "Seconds after which a probe has failed.", AT_LEAST(1), DEFAULT("1")),
    F_INT32("periodSeconds", "Seconds between probes.", AT_LEAST(1), DEFAULT("10")),
    F_INT32("successThreshold", "Successes in a row that count as success.", AT_LEAST(1),
            DEFAULT("1")),
    F_INT32("failureThreshold", "Failures in a row that count as failure.", AT_LEAST(1),
            DEFAULT("3")),
    F_INT64("terminationGracePeriodSeconds", "Grace given when the probe ends the container.",
            AT_LEAST(1)),
    {0}};

static const struct field hook_fields[] = {
    F_OBJ("exec", exec_fields, "A command to run.", CORE_TYPE("ExecAction")),
    F_OBJ("httpGet", http_get_fields, "An HTTP request to make.", CORE_TYPE("HTTPGetAction")),
    F_OBJ("tcpSocket", tcp_fields, "Not used any more.", IGNORED("nor is it in Kubernetes"),
          CORE_TYPE("TCPSocketAction")),
    F_OBJ("sleep", sleep_fields, "A time to wait.", CORE_TYPE("SleepAction")),
    {0}};

static const struct field lifecycle_fields[] = {
    F_OBJ("postStart", hook_fields, "Done right after the start.", CORE_TYPE("LifecycleHandler")),
    F_OBJ("preStop", hook_fields, "Done before the container is asked to end.",
          CORE_TYPE("LifecycleHandler")),
    F_STR("stopSignal", "Signal that asks the container to end; SIGTERM when not given.",
          NATURAL("SIGTERM"), IGNORED("programs are asked with SIGTERM")),
    {0}};

/* --- rights --------------------------------------------------------------------------------- */

static const struct field capability_fields[] = {
    F_STRS("add", "Capabilities added."), F_STRS("drop", "Capabilities taken away."), {0}};

const struct field selinux_fields[] = {F_STR("level", "SELinux level."),
                                       F_STR("role", "SELinux role."),
                                       F_STR("type", "SELinux type."),
                                       F_STR("user", "SELinux user."),
                                       {0}};

const struct field profile_fields[] = {
    F_STR("type", "Localhost, RuntimeDefault or Unconfined.", REQUIRED, ONE_OF(profile_types)),
    F_STR("localhostProfile", "Profile on the machine, with type Localhost.",
          IGNORED("profiles of the machine cannot be loaded")),
    {0}};

const struct field windows_fields[] = {
    F_STR("gmsaCredentialSpec", "Credential of a managed account. Not for Linux."),
    F_STR("gmsaCredentialSpecName", "Name of that credential. Not for Linux."),
    F_BOOL("hostProcess", "Whether it runs as a process of the host. Not for Linux."),
    F_STR("runAsUserName", "User it runs as. Not for Linux."),
    {0}};

static const struct field security_fields[] = {
    F_INT64("runAsUser", "User ID the program runs as.", AT_LEAST(0)),
    F_INT64("runAsGroup", "Group ID the program runs as.", AT_LEAST(0)),
    F_BOOL("runAsNonRoot", "Whether running as root is refused."),
    F_BOOL("privileged", "Whether the container has all rights of the machine."),
    F_BOOL("readOnlyRootFilesystem", "Whether the root file system may only be read."),
    F_BOOL("allowPrivilegeEscalation", "Whether a process may gain more rights than its parent."),
    F_OBJ("capabilities", capability_fields, "Capabilities added and dropped.",
          CORE_TYPE("Capabilities")),
    F_OBJ("seccompProfile", profile_fields, "System calls allowed.", CORE_TYPE("SeccompProfile")),
    F_OBJ("appArmorProfile", profile_fields, "AppArmor profile.", IGNORED(NO_APPARMOR),
          CORE_TYPE("AppArmorProfile")),
    F_OBJ("seLinuxOptions", selinux_fields, "SELinux context.", IGNORED(NO_SELINUX),
          CORE_TYPE("SELinuxOptions")),
    F_OBJ("windowsOptions", windows_fields, "Not for Linux.", IGNORED("this is Linux"),
          CORE_TYPE("WindowsSecurityContextOptions")),
    F_STR("procMount", "How /proc is mounted.", ONE_OF(proc_mounts), NATURAL("Default"),
          IGNORED("only a privileged container has /proc as the machine")),
    {0}};

/* --- the container -------------------------------------------------------------------------- */

#define CONTAINER_MEMBERS                                                                          \
    F_STR("name", "Name of the container, unique in the pod.",                                     \
          .flags = FIELD_REQUIRED | FIELD_DNS_LABEL),                                              \
        F_STR("image", "Image the container is made from. Host processes do not use it.",          \
              .event = "ImageNotPulled"),                                                          \
                                                                                                   \
        F_STRS("command", "Program to run and its first arguments. $(VAR) is replaced by the "     \
                          "container's environment."),                                             \
        F_STRS("args", "Arguments after the command. $(VAR) is replaced as in command."),          \
        F_STR("workingDir", "Folder the program starts in."),                                      \
        F_OBJS("ports", port_fields, "Ports the program listens on.", MERGED_BY("containerPort"),  \
               .merge_key_2 = "protocol", CORE_TYPE("ContainerPort")),                             \
        F_OBJS("env", env_fields, "Environment variables, in order.", MERGED_BY("name"),           \
               CORE_TYPE("EnvVar")),                                                               \
        F_OBJS("envFrom", env_from_fields, "Objects whose keys all become variables.",             \
               CORE_TYPE("EnvFromSource")),                                                        \
        F_OBJ("resources", resource_fields, "CPU, memory and other resources.", DEFAULT("{}"),     \
              CORE_TYPE("ResourceRequirements")),                                                  \
        F_OBJS("resizePolicy", resize_fields, "What happens when resources change.",               \
               IGNORED("resources of a running pod do not change"),                                \
                                                                                                   \
               CORE_TYPE("ContainerResizePolicy")),                                                \
        F_STR("restartPolicy", "Always makes an init container run beside the others.",            \
              IGNORED("containers go by spec.restartPolicy, and init containers end before the "   \
                      "others begin"),                                                             \
                                                                                                   \
              ONE_OF(container_restarts)),                                                         \
        F_OBJS("restartPolicyRules", restart_rule_fields,                                          \
               "Rules by exit code, before restartPolicy.",                                        \
               IGNORED("containers go by spec.restartPolicy"), CORE_TYPE("ContainerRestartRule")), \
                                                                                                   \
        F_OBJS("volumeMounts", mount_fields, "Where volumes appear in the container.",             \
               KEYED_BY("mountPath"), CORE_TYPE("VolumeMount")),                                   \
        F_OBJS("volumeDevices", device_fields, "Block devices of the container.",                  \
               IGNORED("there are no block devices for containers here"),                          \
                                                                                                   \
               MERGED_BY("devicePath"), CORE_TYPE("VolumeDevice")),                                \
        F_OBJ("livenessProbe", probe_fields, "When it fails the container is restarted.",          \
              CORE_TYPE("Probe")),                                                                 \
        F_OBJ("readinessProbe", probe_fields, "When it fails the container is not ready.",         \
              CORE_TYPE("Probe")),                                                                 \
        F_OBJ("startupProbe", probe_fields, "The other probes wait until it has succeeded.",       \
              CORE_TYPE("Probe")),                                                                 \
        F_OBJ("lifecycle", lifecycle_fields, "What to do after the start and before the end.",     \
              CORE_TYPE("Lifecycle")),                                                             \
        F_STR("terminationMessagePath",                                                            \
              "File whose content becomes the container's termination message.",                   \
              DEFAULT("\"/dev/termination-log\"")),                                                \
        F_STR("terminationMessagePolicy",                                                          \
              "Where the termination message comes from: the file, or the end of the log.",        \
              ONE_OF(message_policies), DEFAULT("\"File\"")),                                      \
        F_STR("imagePullPolicy",                                                                   \
              "When the image is fetched. Always for images tagged latest, else IfNotPresent.",    \
              .event = "ImageNotPulled",                                                           \
                                                                                                   \
              ONE_OF(pull_policies)),                                                              \
        F_OBJ("securityContext", security_fields, "Rights of the container.",                      \
              CORE_TYPE("SecurityContext")),                                                       \
        F_BOOL("stdin", "Whether the program gets an open standard input.", IGNORED(NO_INPUT)),    \
                                                                                                   \
        F_BOOL("stdinOnce", "Whether standard input is closed after the first client.",            \
               IGNORED(NO_INPUT)),                                                                 \
                                                                                                   \
        F_BOOL("tty", "Whether the program gets a terminal.", IGNORED(NO_INPUT))

const struct field container_fields[] = {CONTAINER_MEMBERS, {0}};

const struct field ephemeral_container_fields[] = {
    CONTAINER_MEMBERS,
    F_STR("targetContainerName", "Container whose processes it may see.",
          IGNORED("containers see each other's processes")),
    {0}};
