/* placement_fields.c - where a pod may run: affinity, tolerations, spreading. */
#include "api/field_macros.h"
#include "api/kinds/pod_parts.h"

static const char *const selector_operators[] = {"DoesNotExist", "Exists", "In", "NotIn", NULL};
static const char *const node_operators[] = {"DoesNotExist", "Exists", "Gt", "In",
                                             "Lt",           "NotIn",  NULL};
static const char *const toleration_operators[] = {"Equal", "Exists", NULL};
static const char *const effects[] = {"", "NoExecute", "NoSchedule", "PreferNoSchedule", NULL};
static const char *const spread_actions[] = {"DoNotSchedule", "ScheduleAnyway", NULL};
static const char *const honour[] = {"Honor", "Ignore", NULL};

#define LABEL_SELECTOR_TYPE .schema_name = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"

static const struct field selector_requirement_fields[] = {
    F_STR("key", "Label.", PZ(1), REQUIRED),
    F_STR("operator", "In, NotIn, Exists or DoesNotExist.", PZ(2), REQUIRED,
          ONE_OF(selector_operators)),
    F_STRS("values", "Values, for In and NotIn.", P(3)),
    {0}};

const struct field label_selector_fields[] = {
    F_STR_MAP("matchLabels", "Labels that must be equal.", P(1), .flags = FIELD_LABELS),
    F_OBJS("matchExpressions", selector_requirement_fields,
           "Requirements, all of which must be met.", P(2),
           .schema_name = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement"),
    {0}};

/* --- nodes ---------------------------------------------------------------------------------- */

static const struct field node_requirement_fields[] = {
    F_STR("key", "Label, or field, of the node.", PZ(1), REQUIRED),
    F_STR("operator", "In, NotIn, Exists, DoesNotExist, Gt or Lt.", PZ(2), REQUIRED,
          ONE_OF(node_operators)),
    F_STRS("values", "Values; one number for Gt and Lt.", P(3)),
    {0}};

static const struct field node_term_fields[] = {
    F_OBJS("matchExpressions", node_requirement_fields, "Requirements on labels.", P(1),
           CORE_TYPE("NodeSelectorRequirement")),
    F_OBJS("matchFields", node_requirement_fields, "Requirements on fields: metadata.name.", P(2),
           CORE_TYPE("NodeSelectorRequirement")),
    {0}};

const struct field node_selector_fields[] = {F_OBJS("nodeSelectorTerms", node_term_fields,
                                                    "Terms, one of which must be met.", P(1),
                                                    REQUIRED, CORE_TYPE("NodeSelectorTerm")),
                                             {0}};

static const struct field preferred_node_fields[] = {
    F_INT32("weight", "Weight, 1 to 100.", PZ(1), REQUIRED, BETWEEN(1, 100)),
    F_OBJ("preference", node_term_fields, "The preference.", P(2), REQUIRED,
          CORE_TYPE("NodeSelectorTerm")),
    {0}};

static const struct field node_affinity_fields[] = {
    F_OBJ("requiredDuringSchedulingIgnoredDuringExecution", node_selector_fields,
          "Required properties of a node.", P(1), CORE_TYPE("NodeSelector")),
    F_OBJS("preferredDuringSchedulingIgnoredDuringExecution", preferred_node_fields,
           "Preferred properties of a node.", P(2), CORE_TYPE("PreferredSchedulingTerm")),
    {0}};

/* --- other pods ----------------------------------------------------------------------------- */

static const struct field pod_term_fields[] = {
    F_OBJ("labelSelector", label_selector_fields, "Pods it refers to.", P(1), LABEL_SELECTOR_TYPE),
    F_STRS("matchLabelKeys", "Labels in which the pods equal this one.", P(5),
           IGNORED("only the selector counts")),
    F_STRS("mismatchLabelKeys", "Labels in which the pods differ from this one.", P(6),
           IGNORED("only the selector counts")),
    F_OBJ("namespaceSelector", label_selector_fields, "Namespaces it refers to.", P(4),
          LABEL_SELECTOR_TYPE),
    F_STRS("namespaces", "Namespaces it refers to; the pod's own by default.", P(2)),
    F_STR("topologyKey", "Node label that defines a topology domain.", PZ(3), REQUIRED),
    {0}};

static const struct field weighted_pod_term_fields[] = {
    F_INT32("weight", "Weight, 1 to 100.", PZ(1), REQUIRED, BETWEEN(1, 100)),
    F_OBJ("podAffinityTerm", pod_term_fields, "The preference.", P(2), REQUIRED,
          CORE_TYPE("PodAffinityTerm")),
    {0}};

static const struct field pod_affinity_fields[] = {
    F_OBJS("requiredDuringSchedulingIgnoredDuringExecution", pod_term_fields, "Preconditions.",
           P(1), CORE_TYPE("PodAffinityTerm")),
    F_OBJS("preferredDuringSchedulingIgnoredDuringExecution", weighted_pod_term_fields,
           "Preferred terms.", P(2), CORE_TYPE("WeightedPodAffinityTerm")),
    {0}};

const struct field affinity_fields[] = {
    F_OBJ("nodeAffinity", node_affinity_fields, "Rules about nodes.", P(1),
          CORE_TYPE("NodeAffinity")),
    F_OBJ("podAffinity", pod_affinity_fields, "Pods to be placed near.", P(2),
          CORE_TYPE("PodAffinity")),
    F_OBJ("podAntiAffinity", pod_affinity_fields, "Pods to be placed away from.", P(3),
          CORE_TYPE("PodAntiAffinity")),
    {0}};

const struct field toleration_fields[] = {
    F_STR("key", "Taint key that is tolerated; all when empty.", P(1)),
    F_STR("operator", "Exists or Equal.", P(2), ONE_OF(toleration_operators)),
    F_STR("value", "Taint value that is tolerated.", P(3)),
    F_STR("effect", "Taint effect that is tolerated; all when empty.", P(4), ONE_OF(effects)),
    F_INT64("tolerationSeconds", "How long a NoExecute taint is tolerated.", PZ(5),
            IGNORED("taints repel new pods and end no running ones; pods of a lost node are given "
                    "up with the node")),
    {0}};

const struct field spread_fields[] = {
    F_STR("topologyKey", "Node label that defines a topology domain.", PZ(2), REQUIRED),
    F_INT32("maxSkew", "Maximum difference between domains.", PZ(1), REQUIRED, AT_LEAST(1)),
    F_STR("whenUnsatisfiable", "DoNotSchedule or ScheduleAnyway.", PZ(3), REQUIRED,
          ONE_OF(spread_actions)),
    F_OBJ("labelSelector", label_selector_fields, "Pods that are counted.", P(4),
          LABEL_SELECTOR_TYPE),
    F_STRS("matchLabelKeys", "Labels in which the pods equal this one.", P(8),
           IGNORED("only the selector counts")),
    F_INT32("minDomains", "Minimum number of domains.", PZ(5),
            IGNORED("domains are counted as they are"), AT_LEAST(1)),
    F_STR("nodeAffinityPolicy", "Whether nodes that do not fit count.", PZ(6),
          IGNORED("all nodes count"), ONE_OF(honour)),
    F_STR("nodeTaintsPolicy", "Whether tainted nodes count.", PZ(7), IGNORED("all nodes count"),
          ONE_OF(honour)),
    {0}};
