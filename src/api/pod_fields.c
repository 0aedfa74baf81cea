/*
 * pod_fields.c - what a pod is made of, put together from the tables of its parts. Pods and the
 * templates in jobs share it. image is not required: host processes do not use it.
 */
#include "api/pod_fields.h"

#include "api/field_macros.h"
#include "api/pod_parts.h"

#define OWN_NAMES "names are resolved as on the machine, services' before"
#define NO_DOMAIN "pods have no domain"

static const char *const restart_policies[] = {"Always", "Never", "OnFailure", NULL};
static const char *const dns_policies[] = {"ClusterFirst", "ClusterFirstWithHostNet", "Default",
                                           "None", NULL};
static const char *const condition_states[] = {"True", "False", "Unknown", NULL};
static const char *const preemption_policies[] = {"Never", "PreemptLowerPriority", NULL};
static const char *const system_names[] = {"linux", "windows", NULL};
static const char *const group_policies[] = {"Merge", "Strict", NULL};
static const char *const change_policies[] = {"Always", "OnRootMismatch", NULL};
static const char *const selinux_policies[] = {"MountOption", "Recursive", NULL};

const struct field condition_fields[] = {
    F_STR("type", "What the condition is about.", REQUIRED),
    F_STR("status", "True, False or Unknown.", REQUIRED, ONE_OF(condition_states)),
    F_STR("reason", "One word for the last change; - when there is nothing special."),
    F_STR("message", "A sentence about the last change."),
    F_TIME("lastTransitionTime", "When status last changed."),
    F_TIME("lastProbeTime", "When the condition was last looked at."),
    F_TIME("lastHeartbeatTime", "When news last came."),
    F_INT64("observedGeneration", "The metadata.generation the condition was made from."),
    {0}};

/* --- parts of the spec ---------------------------------------------------------------------- */

static const struct field sysctl_fields[] = {
    F_STR("name", "Setting.", REQUIRED), F_STR("value", "Its value.", REQUIRED), {0}};

static const struct field pod_security_fields[] = {
    F_INT64("runAsUser", "User ID of all containers.", AT_LEAST(0)),
    F_INT64("runAsGroup", "Group ID of all containers.", AT_LEAST(0)),
    F_BOOL("runAsNonRoot", "Whether running as root is refused."),
    F_INT64("fsGroup", "Group that owns the volumes.", AT_LEAST(0)),
    F_STR("fsGroupChangePolicy", "When the owner of volumes is changed.", ONE_OF(change_policies),
          IGNORED("files that are in a volume keep their group")),
    F_LIST(FIELD_INT64, "supplementalGroups", "More groups of the processes."),
    F_STR("supplementalGroupsPolicy", "Whether groups of the image count too.",
          ONE_OF(group_policies), NATURAL("Merge"),
          IGNORED("groups of the machine's user count too")),
    F_OBJ("seLinuxOptions", selinux_fields, "SELinux context of all containers.",
          IGNORED(NO_SELINUX), CORE_TYPE("SELinuxOptions")),
    F_STR("seLinuxChangePolicy", "How volumes get the SELinux context.", ONE_OF(selinux_policies),
          IGNORED(NO_SELINUX)),
    F_OBJ("seccompProfile", profile_fields, "System calls allowed.", CORE_TYPE("SeccompProfile")),
    F_OBJ("appArmorProfile", profile_fields, "AppArmor profile of all containers.",
          IGNORED(NO_APPARMOR), CORE_TYPE("AppArmorProfile")),
    F_OBJ("windowsOptions", windows_fields, "Not for Linux.", IGNORED("this is Linux"),
          CORE_TYPE("WindowsSecurityContextOptions")),
    F_OBJS("sysctls", sysctl_fields, "Kernel settings of the pod.",
           IGNORED("pods have the machine's kernel settings"), CORE_TYPE("Sysctl")),
    {0}};

const struct field local_reference_fields[] = {
    F_STR("name", "Name of the object.", DEFAULT("\"\"")), {0}};

static const struct field host_alias_fields[] = {
    F_STR("ip", "Address.", REQUIRED), F_STRS("hostnames", "Names that resolve to it."), {0}};

static const struct field dns_option_fields[] = {
    F_STR("name", "Option of the resolver."), F_STR("value", "Its value."), {0}};

static const struct field dns_config_fields[] = {
    F_STRS("nameservers", "Addresses of name servers."),
    F_STRS("searches", "Domains that are tried."),
    F_OBJS("options", dns_option_fields, "Options of the resolver.",
           CORE_TYPE("PodDNSConfigOption")),
    {0}};

static const struct field gate_fields[] = {
    F_STR("conditionType", "Condition of the pod that must be True.", REQUIRED), {0}};

static const struct field scheduling_gate_fields[] = {F_STR("name", "Name of the gate.", REQUIRED),
                                                      {0}};

static const struct field os_fields[] = {F_STR("name", "linux or windows.", REQUIRED,
                                               ONE_OF(system_names), NATURAL("linux"),
                                               IGNORED("this is Linux")),
                                         {0}};

static const struct field pod_claim_fields[] = {
    F_STR("name", "Name of the claim in the pod.", REQUIRED),
    F_STR("resourceClaimName", "A claim of the namespace."),
    F_STR("resourceClaimTemplateName", "A template claims are made from."),
    {0}};

/* --- the spec ------------------------------------------------------------------------------- */

const struct field pod_spec_fields[] = {
    F_OBJS("containers", container_fields, "What runs in the pod, all together.",
           .flags = FIELD_REQUIRED | FIELD_NON_EMPTY, KEYED_BY("name"), CORE_TYPE("Container")),
    F_OBJS("initContainers", container_fields,
           "What runs before the containers, one after the other.", KEYED_BY("name"),
           CORE_TYPE("Container")),
    F_OBJS("ephemeralContainers", ephemeral_container_fields,
           "Containers added while the pod runs, to look into it.",
           IGNORED("none is started; use kubectl exec"), KEYED_BY("name"),
           CORE_TYPE("EphemeralContainer")),
    F_OBJS("volumes", volume_fields, "Storage the containers may mount.",
           .flags = FIELD_RETAIN_KEYS, KEYED_BY("name"), CORE_TYPE("Volume")),
    F_STR("restartPolicy",
          "When containers of the pod are started again. Jobs set Never and replace pods.",
          ONE_OF(restart_policies), DEFAULT("\"Always\"")),
    F_INT64("terminationGracePeriodSeconds", "Seconds between the request to end and the end.",
            AT_LEAST(0), DEFAULT("30")),
    F_INT64("activeDeadlineSeconds", "Seconds the pod may run.", AT_LEAST(1),
            IGNORED("only a job's runPolicy.activeDeadlineSeconds is")),
    F_STR("dnsPolicy", "How names are resolved.", ONE_OF(dns_policies), IGNORED(OWN_NAMES),
          DEFAULT("\"ClusterFirst\"")),
    F_OBJ("dnsConfig", dns_config_fields, "More for the resolver's configuration.",
          IGNORED(OWN_NAMES), CORE_TYPE("PodDNSConfig")),
    F_STR_MAP("nodeSelector", "Labels a node must have.", .flags = FIELD_LABELS),
    F_STR("nodeName", "Node the pod runs on. Set by the scheduler, once.", .flags = FIELD_DNS_NAME),
    F_STR("serviceAccountName", "ServiceAccount the pod acts as."),
    F_STR("serviceAccount", "Older spelling of serviceAccountName."),
    F_BOOL("automountServiceAccountToken", "Whether the account's token is put into the pod."),
    F_BOOL("hostNetwork", "Whether the pod uses the machine's network.", NATURAL("true"),
           IGNORED("all pods do")),
    F_BOOL("hostPID", "Whether the pod sees the machine's processes.", NATURAL("true"),
           IGNORED("all pods do")),
    F_BOOL("hostIPC", "Whether the pod uses the machine's IPC.", NATURAL("true"),
           IGNORED("all pods do")),
    F_BOOL("hostUsers", "Whether the machine's user IDs are used.", NATURAL("true"),
           IGNORED("all pods do")),
    F_BOOL("shareProcessNamespace", "Whether containers see each other's processes.",
           NATURAL("true"), IGNORED("they always do")),
    F_OBJ("securityContext", pod_security_fields, "Rights of all containers.", DEFAULT("{}"),
          CORE_TYPE("PodSecurityContext")),
    F_OBJS("imagePullSecrets", local_reference_fields, "Secrets used to fetch images.",
           .event = "ImageNotPulled", MERGED_BY("name"), CORE_TYPE("LocalObjectReference")),
    F_STR("hostname", "Host name of the pod.", .flags = FIELD_DNS_LABEL),
    F_STR("hostnameOverride", "Host name of the pod, with its domain, whatever else is said.",
          IGNORED("the name is spec.hostname or the pod's own")),
    F_STR("subdomain", "Domain of the host name.", .flags = FIELD_DNS_LABEL, IGNORED(NO_DOMAIN)),
    F_BOOL("setHostnameAsFQDN", "Whether the host name holds the domain.", IGNORED(NO_DOMAIN)),
    F_OBJS("hostAliases", host_alias_fields, "Lines for the pod's hosts file.",
           IGNORED("all pods of a namespace have one hosts file"), MERGED_BY("ip"),
           CORE_TYPE("HostAlias")),
    F_OBJ("affinity", affinity_fields, "Preferences for nodes and other pods.",
          CORE_TYPE("Affinity")),
    F_OBJS("tolerations", toleration_fields, "Taints of nodes the pod tolerates.",
           CORE_TYPE("Toleration")),
    F_OBJS("topologySpreadConstraints", spread_fields, "How pods spread over the cluster.",
           MERGED_BY("topologyKey"), .merge_key_2 = "whenUnsatisfiable",
           CORE_TYPE("TopologySpreadConstraint")),
    F_STR("schedulerName", "Scheduler that places the pod.", DEFAULT("\"default-scheduler\"")),
    F_OBJS("schedulingGates", scheduling_gate_fields,
           "What must be removed before the pod is scheduled.", MERGED_BY("name"),
           CORE_TYPE("PodSchedulingGate")),
    F_STR("priorityClassName", "Class of the pod's priority."),
    F_INT32("priority", "The pod's priority."),
    F_STR("preemptionPolicy", "Whether the pod may push others out.", ONE_OF(preemption_policies)),
    F_OBJS("readinessGates", gate_fields, "Conditions that must be True for the pod to be ready.",
           IGNORED("a pod is ready when its containers are"), CORE_TYPE("PodReadinessGate")),
    F_STR("runtimeClassName", "What runs the containers.",
          IGNORED("containers are processes of this machine")),
    F_BOOL("enableServiceLinks", "Whether services become environment variables.", NATURAL("false"),
           IGNORED("services are no variables here; their names resolve"), DEFAULT("true")),
    F_MAP(FIELD_QUANTITY, "overhead", "Resources used beside the containers."),
    F_OBJ("os", os_fields, "Operating system of the containers.", CORE_TYPE("PodOS")),
    F_OBJ("resources", resource_fields, "Resources of the pod as a whole.",
          IGNORED("only its containers' resources count"), CORE_TYPE("ResourceRequirements")),
    F_OBJS("resourceClaims", pod_claim_fields, "Resource claims of the pod.",
           IGNORED("there are no resource claims here"), MERGED_BY("name"),
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
    F_STR("namespace", "Not used: pods are where their job is.",
          IGNORED("pods are where their job is")),
    F_STRS("finalizers", "Not used.", IGNORED("pods have no finalizers of their template")),
    F_TIME("creationTimestamp", "Not used.", IGNORED("it is the time the pod is made")),
    {0}};

const struct field pod_template_fields[] = {
    F_OBJ("metadata", template_meta_fields, "Labels and annotations of the pods."),
    F_OBJ("spec", pod_spec_fields, "What the pods run.", REQUIRED, CORE_TYPE("PodSpec")),
    {0}};
