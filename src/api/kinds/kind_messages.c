/* kind_messages.c - kinds that are sent and returned but never stored: options, reviews, Status.
 * Protobuf and OpenAPI use their tables. */
#include "api/field_macros.h"
#include "api/kinds/pod_parts.h"
#include "api/metadata.h"

/* --- Status, options ------------------------------------------------------------------- */

static const struct field list_meta_fields[] = {
    F_STR("selfLink", "Not used.", P(1)),
    F_STR("resourceVersion", "Version of the list.", P(2)),
    F_STR("continue", "Token of the next page.", P(3)),
    F_INT64("remainingItemCount", "How many items come after this page.", PZ(4)),
    {0}};

static const struct field cause_fields[] = {F_STR("reason", "CamelCase reason.", P(1)),
                                            F_STR("message", "Readable message.", P(2)),
                                            F_STR("field", "The field concerned.", P(3)),
                                            {0}};

static const struct field details_fields[] = {
    F_STR("name", "Name of the object.", P(1)),
    F_STR("group", "Its group.", P(2)),
    F_STR("kind", "Its kind or resource.", P(3)),
    F_OBJS("causes", cause_fields, "The problems, one by one.", P(4)),
    F_INT32("retryAfterSeconds", "When to retry.", P(5)),
    F_STR("uid", "Its UID.", P(6)),
    {0}};

static const struct field status_fields[] = {
    F_OBJ("metadata", list_meta_fields, "Not used.", P(1)),
    F_STR("status", "Success or Failure.", P(2)),
    F_STR("message", "Readable message.", P(3)),
    F_STR("reason", "CamelCase reason.", P(4)),
    F_OBJ("details", details_fields, "The object concerned.", P(5)),
    F_INT32("code", "HTTP status code.", P(6)),
    {0}};

const struct kind kind_status = {KIND_NAMES("", "v1", "Status", "", ""), .fields = status_fields};

/* The metadata of a list of any kind. */
const struct field list_fields[] = {
    F_OBJ("metadata", list_meta_fields, "Version and paging.", P(1)), {0}};

static const struct field precondition_fields[] = {
    F_STR("uid", "The object's UID.", PZ(1)),
    F_STR("resourceVersion", "The object's version.", PZ(2)),
    {0}};

static const struct field delete_fields[] = {
    F_INT64("gracePeriodSeconds", "Grace period in seconds.", PZ(1)),
    F_OBJ("preconditions", precondition_fields, "Preconditions.", P(2)),
    F_BOOL("orphanDependents", "Older spelling of propagationPolicy.", PZ(3)),
    F_STR("propagationPolicy", "What happens to its dependents.", PZ(4)),
    F_STRS("dryRun", "All: the request is checked but not carried out.", P(5)),
    F_BOOL("ignoreStoreReadErrorWithClusterBreakingPotential", "Not used.", PZ(6)),
    {0}};

const struct kind kind_delete_options = {KIND_NAMES("", "v1", "DeleteOptions", "", ""),
                                         .fields = delete_fields};

static const struct field eviction_fields[] = {
    F_OBJ("deleteOptions", delete_fields, "Options of the deletion.", P(2)), {0}};

const struct kind kind_eviction = {KIND_NAMES("policy", "v1", "Eviction", "", ""),
                                   .fields = eviction_fields};

static const struct field binding_fields[] = {
    F_OBJ("target", object_reference_fields, "The node.", P(2)), {0}};

const struct kind kind_binding = {KIND_NAMES("", "v1", "Binding", "bindings", "binding"),
                                  .namespaced = true, .doc = "Binding assigns a pod to a node.",
                                  .fields = binding_fields};

/* --- Scale ----------------------------------------------------------------------------- */

static const struct field scale_spec_fields[] = {
    F_INT32("replicas", "Desired number of replicas.", P(1)), {0}};
static const struct field scale_status_fields[] = {
    F_INT32("replicas", "Current number of replicas.", PZ(1)),
    F_STR("selector", "Labels of the pods.", P(2)),
    {0}};
static const struct field scale_fields[] = {
    F_SPEC(scale_spec_fields), F_STATUS(scale_status_fields), {0}};

const struct kind kind_scale = {KIND_NAMES("autoscaling", "v1", "Scale", "", ""),
                                .fields = scale_fields};

/* --- authentication and authorization reviews ------------------------------------------ */

static const struct field bound_fields[] = {F_STR("kind", "Pod.", P(1)),
                                            F_STR("apiVersion", "v1.", P(2)),
                                            F_STR("name", "Its name.", P(3)),
                                            F_STR("uid", "Its UID.", P(4)),
                                            {0}};

static const struct field token_spec_fields[] = {
    F_STRS("audiences", "Audiences of the token.", P(1)),
    F_OBJ("boundObjectRef", bound_fields, "Object whose deletion invalidates it.", P(3)),
    F_INT64("expirationSeconds", "How long it is valid.", PZ(4)),
    {0}};

static const struct field token_status_fields[] = {
    F_STR("token", "The token.", PZ(1)),
    F_TIME("expirationTimestamp", "When the token expires.", P(2)),
    {0}};

static const struct field token_fields[] = {
    F_SPEC(token_spec_fields), F_STATUS(token_status_fields), {0}};

const struct kind kind_token_request = {
    KIND_NAMES("authentication.k8s.io", "v1", "TokenRequest", "", ""), .fields = token_fields};

#define EXTRA(n)                                                                                   \
    F_MAP(FIELD_LIST, "extra", "Additional attributes.", P(n), .wire = FIELD_WIRE_STRINGS)

static const struct field user_fields[] = {F_STR("username", "Name of the user.", P(1)),
                                           F_STR("uid", "UID of the user.", P(2)),
                                           F_STRS("groups", "Groups of the user.", P(3)),
                                           EXTRA(4),
                                           {0}};

static const struct field token_review_spec_fields[] = {
    F_STR("token", "The token.", P(1)), F_STRS("audiences", "Its audiences.", P(2)), {0}};

static const struct field token_review_status_fields[] = {
    F_BOOL("authenticated", "Whether it is valid.", P(1)),
    F_OBJ("user", user_fields, "User of the token.", P(2)),
    F_STR("error", "Why it is not valid.", P(3)),
    F_STRS("audiences", "The requested audiences it is valid for.", P(4)),
    {0}};

static const struct field token_review_fields[] = {
    F_SPEC(token_review_spec_fields), F_STATUS(token_review_status_fields), {0}};

const struct kind kind_token_review = {
    KIND_NAMES("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", "tokenreview"),
    .doc = "TokenReview identifies the user of a token.", .fields = token_review_fields};

static const struct field self_status_fields[] = {
    F_OBJ("userInfo", user_fields, "The caller.", P(1)), {0}};

static const struct field self_fields[] = {
    F_OBJ("status", self_status_fields, "The answer.", P(2), .flags = FIELD_READ_ONLY), {0}};

const struct kind kind_self_review = {KIND_NAMES("authentication.k8s.io", "v1", "SelfSubjectReview",
                                                 "selfsubjectreviews", "selfsubjectreview"),
                                      .doc = "SelfSubjectReview identifies the caller.",
                                      .fields = self_fields};

static const struct field requirement_fields[] = {
    F_STR("key", "Key of the label or field.", PZ(1)),
    F_STR("operator", "Operator, such as In or Exists.", PZ(2)),
    F_STRS("values", "Values to compare with.", P(3)),
    {0}};

static const struct field selector_fields[] = {
    F_STR("rawSelector", "As a string.", P(1)),
    F_OBJS("requirements", requirement_fields, "As parsed requirements.", P(2)),
    {0}};

static const struct field attribute_fields[] = {
    F_STR("namespace", "Namespace; all when empty.", P(1)),
    F_STR("verb", "get, list, create and so on.", P(2)),
    F_STR("group", "Group of the resource.", P(3)),
    F_STR("version", "Its version.", P(4)),
    F_STR("resource", "The resource, in the plural.", P(5)),
    F_STR("subresource", "Subresource, such as status.", P(6)),
    F_STR("name", "Name of one object; all if empty.", P(7)),
    F_OBJ("fieldSelector", selector_fields, "Restricts it to matching objects.", P(8)),
    F_OBJ("labelSelector", selector_fields, "Restricts it to matching objects.", P(9)),
    {0}};

static const struct field path_fields[] = {
    F_STR("path", "The path.", P(1)), F_STR("verb", "get and so on.", P(2)), {0}};

#define ABOUT                                                                                      \
    F_OBJ("resourceAttributes", attribute_fields, "Access to resources.", P(1)),                   \
        F_OBJ("nonResourceAttributes", path_fields, "Access to paths.", P(2))

static const struct field access_spec_fields[] = {ABOUT, {0}};

static const struct field subject_spec_fields[] = {
    ABOUT,    F_STR("user", "The user.", P(3)),       F_STRS("groups", "Groups of the user.", P(4)),
    EXTRA(5), F_STR("uid", "UID of the user.", P(6)), {0}};

static const struct field access_status_fields[] = {
    F_BOOL("allowed", "Whether it is allowed.", PZ(1)),
    F_STR("reason", "Reason for the decision.", P(2)),
    F_STR("evaluationError", "Error during the evaluation.", P(3)),
    F_BOOL("denied", "Whether it is denied.", P(4)),
    {0}};

static const struct field access_fields[] = {
    F_SPEC(access_spec_fields), F_STATUS(access_status_fields), {0}};
static const struct field subject_fields[] = {
    F_SPEC(subject_spec_fields), F_STATUS(access_status_fields), {0}};

#define AUTHORIZATION(kind, many, one) KIND_NAMES("authorization.k8s.io", "v1", kind, many, one)

const struct kind kind_access_review = {
    AUTHORIZATION("SelfSubjectAccessReview", "selfsubjectaccessreviews", "selfsubjectaccessreview"),
    .doc = "SelfSubjectAccessReview checks what the caller may do.", .fields = access_fields};

const struct kind kind_subject_review = {
    AUTHORIZATION("SubjectAccessReview", "subjectaccessreviews", "subjectaccessreview"),
    .doc = "SubjectAccessReview checks what a user may do.", .fields = subject_fields};

static const struct field rules_spec_fields[] = {F_STR("namespace", "Namespace.", P(1)), {0}};

static const struct field resource_rule_fields[] = {
    F_STRS("verbs", "Allowed verbs.", P(1)),
    F_STRS("apiGroups", "API groups of the resources.", P(2)),
    F_STRS("resources", "Resources.", P(3)),
    F_STRS("resourceNames", "Names of objects. Empty: all.", P(4)),
    {0}};

static const struct field path_rule_fields[] = {
    F_STRS("verbs", "Allowed verbs.", P(1)), F_STRS("nonResourceURLs", "Paths.", P(2)), {0}};

static const struct field rules_status_fields[] = {
    F_OBJS("resourceRules", resource_rule_fields, "Rules about resources.", P(1)),
    F_OBJS("nonResourceRules", path_rule_fields, "Rules about paths.", P(2)),
    F_BOOL("incomplete", "Whether the list may be incomplete.", PZ(3)),
    F_STR("evaluationError", "Error during the evaluation.", P(4)),
    {0}};

static const struct field rules_fields[] = {
    F_SPEC(rules_spec_fields), F_STATUS(rules_status_fields), {0}};

const struct kind kind_rules_review = {
    AUTHORIZATION("SelfSubjectRulesReview", "selfsubjectrulesreviews", "selfsubjectrulesreview"),
    .doc = "SelfSubjectRulesReview lists what the caller may do.", .fields = rules_fields};

/* --- metadata only --------------------------------------------------------------------- */

const struct kind kind_partial = {KIND_NAMES("meta.k8s.io", "v1", "PartialObjectMetadata", "", ""),
                                  .fields = (const struct field[]){{0}}};

const struct kind *const message_kinds[] = {&kind_status,
                                            &kind_delete_options,
                                            &kind_eviction,
                                            &kind_binding,
                                            &kind_scale,
                                            &kind_token_request,
                                            &kind_token_review,
                                            &kind_self_review,
                                            &kind_access_review,
                                            &kind_subject_review,
                                            &kind_rules_review,
                                            &kind_partial,
                                            NULL};
