/*
 * pod_fields.c - a pod's fields, assembled from the tables of its parts. Shared by pods and the
 * templates in jobs. image is not required: host processes do not use it.
 */
#include "api/kinds/pod_fields.h"

#include "api/field_macros.h"
#include "api/kinds/pod_parts.h"

#define OWN_NAMES "names are resolved as on the machine, after those of Services"
#define NO_DOMAIN "pods have no domain"

static const char *const restart_policies[] = {"Always", "Never", "OnFailure", NULL};
static const char *const dns_policies[] = {"ClusterFirst", "ClusterFirstWithHostNet", "Default",
                                           "None", NULL};
const char *const condition_states[] = {"True", "False", "Unknown", NULL};
static const char *const preemption_policies[] = {"Never", "PreemptLowerPriority", NULL};
static const char *const system_names[] = {"linux", "windows", NULL};
static const char *const group_policies[] = {"Merge", "Strict", NULL};
static const char *const change_policies[] = {"Always", "OnRootMismatch", NULL};
static const char *const selinux_policies[] = {"MountOption", "Recursive", NULL};

#define GENERATION(n)                                                                              \
    F_INT64("observedGeneration", "The metadata.generation the condition is based on.", P(n))
#define PROBE_TIME(n) F_TIME("lastProbeTime", "When the condition was last checked.", P(n))

const struct field condition_fields[] = {
    F_CONDITION(4, 5, 6),
    PROBE_TIME(0),
    F_TIME("lastHeartbeatTime", "When the node last reported."),
    GENERATION(3),
    {0}};

const struct field pod_condition_fields[] = {
    F_CONDITION(4, 5, 6), PROBE_TIME(3), GENERATION(7), {0}};

const struct field meta_condition_fields[] = {F_CONDITION(4, 5, 6), GENERATION(3), {0}};

/* --- parts of the spec ---------------------------------------------------------------------- */

static const struct field sysctl_fields[] = {
    F_STR("name", "Setting.", PZ(1), REQUIRED), F_STR("value", "Its value.", PZ(2), REQUIRED), {0}};

static const struct field pod_security_fields[] = {
    F_INT64("runAsUser", "User ID of all containers.", PZ(2), AT_LEAST(0)),
    F_INT64("runAsGroup", "Group ID of all containers.", PZ(6), AT_LEAST(0)),
    F_BOOL("runAsNonRoot", "Whether running as root is refused.", PZ(3)),
    F_INT64("fsGroup", "Group that owns the volumes.", PZ(5), AT_LEAST(0)),
    F_STR("fsGroupChangePolicy", "When the owner of volumes is changed.", PZ(9),
          ONE_OF(change_policies), IGNORED("existing files in a volume keep their group")),
    F_LIST(FIELD_INT64, "supplementalGroups", "Additional groups of the processes.", P(4)),
    F_STR("supplementalGroupsPolicy", "Whether groups of the image count too.", PZ(12),
          ONE_OF(group_policies), NATURAL("Merge"),
          IGNORED("groups of the machine's user count too")),
    F_OBJ("seLinuxOptions", selinux_fields, "SELinux context of all containers.", P(1),
          IGNORED(NO_SELINUX), CORE_TYPE("SELinuxOptions")),
    F_STR("seLinuxChangePolicy", "How volumes get the SELinux context.", PZ(13),
          ONE_OF(selinux_policies), IGNORED(NO_SELINUX)),
    F_OBJ("seccompProfile", profile_fields, "Allowed system calls.", P(10),
          CORE_TYPE("SeccompProfile")),
    F_OBJ("appArmorProfile", profile_fields, "AppArmor profile of all containers.", P(11),
          IGNORED(NO_APPARMOR), CORE_TYPE("AppArmorProfile")),
    F_OBJ("windowsOptions", windows_fields, "Not for Linux.", P(8), IGNORED("this is Linux"),
          CORE_TYPE("WindowsSecurityContextOptions")),
    F_OBJS("sysctls", sysctl_fields, "Kernel settings of the pod.", P(7),
           IGNORED("pods have the machine's kernel settings"), CORE_TYPE("Sysctl")),
    {0}};

const struct field local_reference_fields[] = {
    F_STR("name", "Name of the object.", P(1), DEFAULT("\"\"")), {0}};

static const struct field host_alias_fields[] = {
    F_STR("ip", "Address.", PZ(1), REQUIRED),
    F_STRS("hostnames", "Names that resolve to it.", P(2)),
    {0}};

static const struct field dns_option_fields[] = {
    F_STR("name", "Option of the resolver.", P(1)), F_STR("value", "Its value.", PZ(2)), {0}};

static const struct field dns_config_fields[] = {
    F_STRS("nameservers", "Addresses of name servers.", P(1)),
    F_STRS("searches", "Search domains.", P(2)),
    F_OBJS("options", dns_option_fields, "Options of the resolver.", P(3),
           CORE_TYPE("PodDNSConfigOption")),
    {0}};

static const struct field gate_fields[] = {
    F_STR("conditionType", "Condition of the pod that must be True.", PZ(1), REQUIRED), {0}};

static const struct field scheduling_gate_fields[] = {
    F_STR("name", "Name of the gate.", PZ(1), REQUIRED), {0}};

static const struct field os_fields[] = {F_STR("name", "linux or windows.", PZ(1), REQUIRED,
                                               ONE_OF(system_names), NATURAL("linux"),
                                               IGNORED("this is Linux")),
                                         {0}};

static const struct field pod_claim_fields[] = {
    F_STR("name", "Name of the claim in the pod.", PZ(1), REQUIRED),
    F_STR("resourceClaimName", "A claim of the namespace.", PZ(3)),
    F_STR("resourceClaimTemplateName", "Template for claims.", PZ(4)),
    {0}};

/* --- the spec ------------------------------------------------------------------------------- */

const struct field pod_spec_fields[] = {
    F_OBJS("containers", container_fields, "Containers that run together in the pod.", P(2),
           .flags = FIELD_REQUIRED | FIELD_NON_EMPTY, KEYED_BY("name"), CORE_TYPE("Container")),
    F_OBJS("initContainers", container_fields,
           "Containers that run before the others, one after the other.", P(20), KEYED_BY("name"),
           CORE_TYPE("Container")),
    F_OBJS("ephemeralContainers", ephemeral_container_fields,
           "Containers added to a running pod, for debugging.", P(34), KEYED_BY("name"),
           CORE_TYPE("EphemeralContainer")),
    F_OBJS("volumes", volume_fields, "Storage the containers may mount.", P(1),
           .flags = FIELD_RETAIN_KEYS, KEYED_BY("name"), CORE_TYPE("Volume")),
    F_STR("restartPolicy",
          "When containers of the pod are restarted. Jobs set Never and replace pods.", P(3),
          ONE_OF(restart_policies), DEFAULT("\"Always\"")),
    F_INT64("terminationGracePeriodSeconds", "Grace period in seconds.", PZ(4), AT_LEAST(0),
            DEFAULT("30")),
    F_INT64("activeDeadlineSeconds", "Seconds the pod may run.", PZ(5), AT_LEAST(1),
            IGNORED("only a job's runPolicy.activeDeadlineSeconds is enforced")),
    F_STR("dnsPolicy", "How names are resolved.", P(6), ONE_OF(dns_policies), IGNORED(OWN_NAMES),
          DEFAULT("\"ClusterFirst\"")),
    F_OBJ("dnsConfig", dns_config_fields, "Additional configuration of the resolver.", P(26),
          IGNORED(OWN_NAMES), CORE_TYPE("PodDNSConfig")),
    F_STR_MAP("nodeSelector", "Labels a node must have.", P(7), .flags = FIELD_LABELS),
    F_STR("nodeName", "Node the pod runs on. Set by the scheduler, once.", P(10),
          .flags = FIELD_DNS_NAME),
    F_STR("serviceAccountName", "ServiceAccount the pod acts as.", P(8)),
    F_STR("serviceAccount", "Older spelling of serviceAccountName.", P(9)),
    F_BOOL("automountServiceAccountToken", "Whether the account's token is mounted.", PZ(21)),
    F_BOOL("hostNetwork", "Whether the pod uses the machine's network.", P(11), NATURAL("true"),
           IGNORED("all pods do")),
    F_BOOL("hostPID", "Whether the pod sees the machine's processes.", P(12), NATURAL("true"),
           IGNORED("all pods do")),
    F_BOOL("hostIPC", "Whether the pod uses the machine's IPC.", P(13), NATURAL("true"),
           IGNORED("all pods do")),
    F_BOOL("hostUsers", "Whether the machine's user IDs are used.", PZ(37), NATURAL("true"),
           IGNORED("all pods do")),
    F_BOOL("shareProcessNamespace", "Whether containers see each other's processes.", PZ(27),
           NATURAL("true"), IGNORED("they always do")),
    F_OBJ("securityContext", pod_security_fields, "Security settings of all containers.", P(14),
          DEFAULT("{}"), CORE_TYPE("PodSecurityContext")),
    F_OBJS("imagePullSecrets", local_reference_fields, "Secrets used to pull images.", P(15),
           .event = "ImageNotPulled", MERGED_BY("name"), CORE_TYPE("LocalObjectReference")),
    F_STR("hostname", "Host name of the pod.", P(16), .flags = FIELD_DNS_LABEL),
    F_STR("hostnameOverride", "Host name of the pod with its domain, overriding the others.",
          PZ(41), IGNORED("the name is spec.hostname or the pod's own")),
    F_STR("subdomain", "Domain of the host name: other pods find it as HOSTNAME.SUBDOMAIN.", P(17),
          .flags = FIELD_DNS_LABEL),
    F_BOOL("setHostnameAsFQDN", "Whether the host name includes the domain.", PZ(35),
           IGNORED(NO_DOMAIN)),
    F_OBJS("hostAliases", host_alias_fields, "Lines for the pod's hosts file.", P(23),
           IGNORED("all pods of a namespace share one hosts file"), MERGED_BY("ip"),
           CORE_TYPE("HostAlias")),
    F_OBJ("affinity", affinity_fields, "Preferences for nodes and other pods.", P(18),
          CORE_TYPE("Affinity")),
    F_OBJS("tolerations", toleration_fields, "Taints of nodes the pod tolerates.", P(22),
           CORE_TYPE("Toleration")),
    F_OBJS("topologySpreadConstraints", spread_fields, "How pods spread over the cluster.", P(33),
           MERGED_BY("topologyKey"), .merge_key_2 = "whenUnsatisfiable",
           CORE_TYPE("TopologySpreadConstraint")),
    F_STR("schedulerName", "Scheduler that places the pod.", P(19),
          DEFAULT("\"default-scheduler\"")),
    F_OBJS("schedulingGates", scheduling_gate_fields,
           "Gates that must be removed before the pod is scheduled.", P(38), MERGED_BY("name"),
           CORE_TYPE("PodSchedulingGate")),
    F_STR("priorityClassName", "Class of the pod's priority.", P(24)),
    F_INT32("priority", "The pod's priority.", PZ(25)),
    F_STR("preemptionPolicy", "Whether the pod may preempt others.", PZ(31),
          ONE_OF(preemption_policies)),
    F_OBJS("readinessGates", gate_fields, "Conditions that must be True for the pod to be ready.",
           P(28), IGNORED("a pod is ready when its containers are"), CORE_TYPE("PodReadinessGate")),
    F_STR("runtimeClassName",
          "What runs the containers: image runs them in their image, process with this machine's "
          "own software. Without one the node decides (muster up --runtime).",
          PZ(29), NATURAL("image|process"),
          IGNORED("only the classes image and process do, others are as if there were none")),
    F_BOOL("enableServiceLinks", "Whether services become environment variables.", PZ(30),
           NATURAL("false"), IGNORED("Services do not become variables here; their names resolve"),
           DEFAULT("true")),
    F_MAP(FIELD_QUANTITY, "overhead", "Resources used in addition to the containers.", P(32)),
    F_OBJ("os", os_fields, "Operating system of the containers.", P(36), CORE_TYPE("PodOS")),
    F_OBJ("resources", resource_fields, "Resources of the pod as a whole.", P(40),
          IGNORED("only its containers' resources count"), CORE_TYPE("ResourceRequirements")),
    F_OBJS("resourceClaims", pod_claim_fields, "Resource claims of the pod.", P(39),
           IGNORED("resource claims are not supported"), MERGED_BY("name"),
           CORE_TYPE("PodResourceClaim")),
    {0}};

/* --- templates ------------------------------------------------------------------------------ */

static const struct field template_meta_fields[] = {
    F_STR_MAP("labels", "Labels of the pods.", .flags = FIELD_LABELS),
    F_STR_MAP("annotations", "Annotations of the pods."),
    F_STR("name", "Not used: pods are named after their job.",
          IGNORED("pods are named after their job")),
    F_STR("generateName", "Not used: pods are named after their job.",
          IGNORED("pods are named after their job")),
    F_STR("namespace", "Not used: pods are in their job's namespace.",
          IGNORED("pods are in their job's namespace")),
    F_STRS("finalizers", "Not used.", IGNORED("pods do not get the template's finalizers")),
    F_TIME("creationTimestamp", "Not used.", IGNORED("it is the pod's creation time")),
    {0}};

const struct field pod_template_fields[] = {
    F_OBJ("metadata", template_meta_fields, "Labels and annotations of the pods."),
    F_OBJ("spec", pod_spec_fields, "Spec of the pods.", REQUIRED, CORE_TYPE("PodSpec")),
    {0}};
