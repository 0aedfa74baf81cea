/* kind_pod.c - Pod: its table, its computed defaults, and what may change later. */
#include <string.h>

#include "api/field_macros.h"
#include "api/kind.h"
#include "api/kinds/pod_columns.h"
#include "api/kinds/pod_fields.h"
#include "api/object.h"
#include "api/rules/job_warnings.h"

static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown", NULL};

static const struct field waiting_fields[] = {
    F_STR("reason", "CamelCase reason why it does not run yet.", P(1)),
    F_STR("message", "Message about why it does not run yet.", P(2)),
    {0}};

static const struct field running_fields[] = {F_TIME("startedAt", "When it was started.", P(1)),
                                              {0}};

static const struct field terminated_fields[] = {
    F_INT32("exitCode", "Exit code of the program.", PZ(1), REQUIRED),
    F_INT32("signal", "Signal that ended it.", P(2)),
    F_STR("reason", "CamelCase reason of its end.", P(3)),
    F_STR("message", "Its last output, or its termination message.", P(4)),
    F_TIME("startedAt", "When it was started.", P(5)),
    F_TIME("finishedAt", "When it ended.", P(6)),
    F_STR("containerID", "ID assigned by the runtime.", P(7)),
    {0}};

static const struct field state_fields[] = {
    F_OBJ("waiting", waiting_fields, "It does not run yet.", P(1),
          CORE_TYPE("ContainerStateWaiting")),
    F_OBJ("running", running_fields, "It runs.", P(2), CORE_TYPE("ContainerStateRunning")),
    F_OBJ("terminated", terminated_fields, "It has ended.", P(3),
          CORE_TYPE("ContainerStateTerminated")),
    {0}};

static const struct field mount_status_fields[] = {
    F_STR("name", "The volume.", PZ(1)),
    F_STR("mountPath", "Where it is.", PZ(2)),
    F_BOOL("readOnly", "Whether it is read-only.", P(3)),
    F_STR("recursiveReadOnly", "Whether mounts below are read-only too.", PZ(4)),
    {0}};

static const struct field linux_user_fields[] = {
    F_INT64("uid", "User.", PZ(1)),
    F_INT64("gid", "Group.", PZ(2)),
    F_LIST(FIELD_INT64, "supplementalGroups", "More groups.", P(3)),
    {0}};

static const struct field user_fields[] = {
    F_OBJ("linux", linux_user_fields, "User and groups, on Linux.", P(1)), {0}};

static const struct field resource_health_fields[] = {
    F_STR("resourceID", "ID of the device.", PZ(1), REQUIRED),
    F_STR("health", "Healthy, Unhealthy or Unknown.", P(2)),
    {0}};

static const struct field resource_status_fields[] = {
    F_STR("name", "Resource.", PZ(1), REQUIRED),
    F_OBJS("resources", resource_health_fields, "Health of its devices.", P(2)),
    {0}};

static const struct field container_status_fields[] = {
    F_STR("name", "Container.", PZ(1), REQUIRED),
    F_BOOL("ready", "Whether it is ready.", PZ(4)),
    F_BOOL("started", "Whether it has started.", PZ(9)),
    F_INT32("restartCount", "How often it was restarted.", PZ(5)),
    F_STR("image", "Image it runs.", PZ(6)),
    F_STR("imageID", "Digest of the image.", PZ(7)),
    F_STR("containerID", "ID assigned by the runtime.", P(8)),
    F_OBJ("state", state_fields, "waiting, running or terminated, with details.", P(2),
          .flags = FIELD_KEEP_UNKNOWN, CORE_TYPE("ContainerState")),
    F_OBJ("lastState", state_fields, "State before the last restart.", P(3),
          .flags = FIELD_KEEP_UNKNOWN, CORE_TYPE("ContainerState")),
    F_OBJ("resources", resource_fields, "Resources it has.", P(11),
          CORE_TYPE("ResourceRequirements")),
    F_MAP(FIELD_QUANTITY, "allocatedResources", "Resources allocated to it.", P(10)),
    F_OBJS("volumeMounts", mount_status_fields, "Volumes that are mounted.", P(12)),
    F_OBJ("user", user_fields, "User it runs as.", P(13)),
    F_OBJS("allocatedResourcesStatus", resource_status_fields, "Health of its resources.", P(14)),
    F_STR("stopSignal", "Signal that stops it.", PZ(15)),
    {0}};

static const struct field ip_fields[] = {F_STR("ip", "The address.", PZ(1)), {0}};

static const struct field claim_status_fields[] = {
    F_STR("name", "Claim of the pod.", PZ(1), REQUIRED),
    F_STR("resourceClaimName", "The claim created for it.", PZ(2)),
    {0}};

static const struct field claim_request_fields[] = {
    F_STR("containerName", "Container.", PZ(1)),
    F_STR("resourceName", "Resource of the container.", PZ(2)),
    F_STR("requestName", "Request of the claim.", PZ(3)),
    {0}};

static const struct field extended_claim_fields[] = {
    F_OBJS("requestMappings", claim_request_fields, "Which request is for which resource.", P(1)),
    F_STR("resourceClaimName", "The claim.", PZ(2)),
    {0}};

#define CONTAINER_STATUSES(n, d, number)                                                           \
    F_OBJS(n, container_status_fields, d, number, .flags = FIELD_KEEP_UNKNOWN)

static const struct field status_fields[] = {
    F_STR("phase", "Phase of the pod.", P(1), ONE_OF(phases)),
    F_CONDITIONS(pod_condition_fields, "PodScheduled, Initialized, ContainersReady, Ready.", P(2),
                 KEYED_BY("type")),
    F_STR("reason", "CamelCase reason for the phase.", P(4)),
    F_STR("message", "Message about the phase.", P(3)),
    F_STR("nominatedNodeName", "Node on which pods are being preempted for it.", P(11)),
    F_STR("hostIP", "Address of the node.", P(5)),
    F_OBJS("hostIPs", ip_fields, "Addresses of the node.", P(16), .flags = FIELD_KEEP_UNKNOWN,
           MERGED_BY("ip")),
    F_STR("podIP", "Address of the pod.", P(6)),
    F_OBJS("podIPs", ip_fields, "Addresses of the pod.", P(12), .flags = FIELD_KEEP_UNKNOWN,
           MERGED_BY("ip")),
    F_TIME("startTime", "When the node accepted the pod.", P(7)),
    F_STR("qosClass", "Guaranteed, Burstable or BestEffort.", P(9)),
    CONTAINER_STATUSES("initContainerStatuses", "State of the init containers.", P(10)),
    CONTAINER_STATUSES("containerStatuses", "State of the containers.", P(8)),
    CONTAINER_STATUSES("ephemeralContainerStatuses", "State of containers added later.", P(13)),
    F_INT64("observedGeneration", "The last metadata.generation observed.", P(17)),
    F_STR("resize", "Progress of a change of resources.", P(14)),
    F_OBJS("resourceClaimStatuses", claim_status_fields, "State of the claims.", P(15),
           MERGED_BY("name")),
    F_OBJ("extendedResourceClaimStatus", extended_claim_fields, "The claim of other resources.",
          P(18)),
    F_MAP(FIELD_QUANTITY, "allocatedResources", "Resources allocated to it.", P(19)),
    F_OBJ("resources", resource_fields, "Resources it has.", P(20),
          CORE_TYPE("ResourceRequirements")),
    {0}};

static const struct field fields[] = {
    F_SPEC(pod_spec_fields, REQUIRED, CORE_TYPE("PodSpec")), F_STATUS(status_fields), {0}};

/* --- defaults ------------------------------------------------------------------------------- */

static const char *pull_policy_of(const char *image)
{
    const char *name = strrchr(image, '/'), *tag = strrchr(name ? name : image, ':');

    if (strchr(image, '@'))
        return "IfNotPresent";
    return !tag || strcmp(tag, ":latest") == 0 ? "Always" : "IfNotPresent";
}

/* A limit without a request is requested in full. */
static void default_requests(struct arena *a, struct json *resources)
{
    const struct json *limits = json_get(resources, "limits");
    struct json *requests;

    if (json_len(limits) == 0)
        return;
    requests = json_make_object(a, resources, "requests");
    json_each (limit, limits)
        if (!json_get(requests, limit->key))
            json_set(a, requests, limit->key, json_clone(a, limit));
}

static void default_containers(struct arena *a, struct json *spec, const char *list)
{
    for (struct json *c = json_first_mut(json_get_mut(spec, list)); c; c = c->next) {
        const char *image = json_get_string(c, "image", "");

        if (*image && !*json_get_string(c, "imagePullPolicy", ""))
            json_set_string(a, c, "imagePullPolicy", pull_policy_of(image));
        default_requests(a, json_get_mut(c, "resources"));
    }
}

/* As in Kubernetes, a volume without a source is an emptyDir. */
static void default_volumes(struct arena *a, struct json *spec)
{
    for (struct json *v = json_first_mut(json_get_mut(spec, "volumes")); v; v = v->next)
        if (json_is(v, JSON_OBJECT) && json_len(v) == 1 && json_get(v, "name"))
            (void)json_make_object(a, v, "emptyDir");
}

static void default_host_ports(struct arena *a, struct json *spec)
{
    if (!json_get_bool(spec, "hostNetwork", false))
        return;
    for (struct json *c = json_first_mut(json_get_mut(spec, "containers")); c; c = c->next)
        for (struct json *p = json_first_mut(json_get_mut(c, "ports")); p; p = p->next)
            if (!json_get(p, "hostPort"))
                json_set_int(a, p, "hostPort", json_get_int(p, "containerPort", 0));
}

/* serviceAccount is the deprecated name of serviceAccountName. */
static void default_account(struct arena *a, struct json *spec)
{
    const char *name = json_get_string(spec, "serviceAccountName", "");
    const char *old = json_get_string(spec, "serviceAccount", "");

    if (!*name && *old)
        json_set_string(a, spec, "serviceAccountName", old);
    else if (*name && !*old)
        json_set_string(a, spec, "serviceAccount", name);
}

static bool all_limited(const struct json *spec, const char *resource)
{
    json_each (c, json_get(spec, "containers")) {
        const struct json *limit = json_at(c, "resources", "limits", resource);

        if (!limit || !json_equal(limit, json_at(c, "resources", "requests", resource)))
            return false;
    }
    return true;
}

static const char *qos_class(const struct json *spec)
{
    bool any = false;

    json_each (c, json_get(spec, "containers"))
        any = any || json_len(json_at(c, "resources", "requests")) ||
              json_len(json_at(c, "resources", "limits"));
    if (!any)
        return "BestEffort";
    return all_limited(spec, "cpu") && all_limited(spec, "memory") ? "Guaranteed" : "Burstable";
}

static void set_defaults(struct arena *a, struct json *pod)
{
    struct json *spec = json_get_mut(pod, "spec"), *status;

    if (!spec)
        return;
    default_containers(a, spec, "initContainers");
    default_containers(a, spec, "containers");
    default_containers(a, spec, "ephemeralContainers");
    default_volumes(a, spec);
    default_host_ports(a, spec);
    default_account(a, spec);
    status = json_make_object(a, pod, "status");
    if (!json_get(status, "phase"))
        json_set_string(a, status, "phase", "Pending");
    if (!json_get(status, "qosClass"))
        json_set_string(a, status, "qosClass", qos_class(spec));
}

/* --- updates -------------------------------------------------------------------------------- */

static bool is_one_of(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static bool same_but(const struct json *a, const struct json *b, const char *const *except)
{
    json_each (m, a)
        if (!is_one_of(except, m->key) && !json_equal(m, json_get(b, m->key)))
            return false;
    json_each (m, b)
        if (!is_one_of(except, m->key) && !json_get(a, m->key))
            return false;
    return true;
}

static bool same_containers(const struct json *a, const struct json *b)
{
    static const char *const image_only[] = {"image", "imagePullPolicy", NULL};
    const struct json *other = json_first(b);

    if (json_len(a) != json_len(b))
        return false;
    json_each (c, a) {
        if (!same_but(c, other, image_only))
            return false;
        other = other->next;
    }
    return true;
}

static void check_update(const struct json *spec, const struct json *old, struct err *err)
{
    /* the first three are checked below, ephemeral containers in pod_spec_validate; the others
     * may change */
    static const char *const apart[] = {"containers",
                                        "initContainers",
                                        "nodeName",
                                        "activeDeadlineSeconds",
                                        "tolerations",
                                        "terminationGracePeriodSeconds",
                                        "schedulingGates",
                                        "ephemeralContainers",
                                        NULL};
    const struct json *node = json_get(spec, "nodeName");
    const char *before = json_get_string(old, "nodeName", "");
    const struct field_path at = {.name = "spec"};

    if (*before && !json_string_is(node, before))
        problem_forbidden(err, PATH_MEMBER(&at, "nodeName"), node ? node->line : 0,
                          "the pod is on node %.253s already", before);
    if (!same_but(spec, old, apart) ||
        !same_containers(json_get(spec, "containers"), json_get(old, "containers")) ||
        !same_containers(json_get(spec, "initContainers"), json_get(old, "initContainers")))
        problem_forbidden(err, &at, spec ? spec->line : 0,
                          "pod updates may not change fields other than "
                          "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                          "`spec.activeDeadlineSeconds`,`spec.tolerations`,"
                          "`spec.terminationGracePeriodSeconds`");
}

/* The scheduler relies on a pod's group, role and queue, and on what its job has noted. */
static void check_group(const struct json *pod, const struct json *old, struct err *err)
{
    static const char *const fixed[] = {LABEL_GROUP_NAME, LABEL_GROUP_ROLE, LABEL_QUEUE};
    static const char *const noted[] = {ANNOTATION_GANG_SIZE, ANNOTATION_DEADLINE,
                                        ANNOTATION_BOUND_QUEUE, ANNOTATION_GPUS};
    const struct field_path at = {.name = "metadata"};

    for (size_t i = 0; i < ELEMS(noted); i++)
        if (!json_equal(json_at(pod, "metadata", "annotations", noted[i]),
                        json_at(old, "metadata", "annotations", noted[i])))
            problem_forbidden(err, PATH_KEY(PATH_MEMBER(&at, "annotations"), noted[i]), 0,
                              "its job or the scheduler has noted this: it stays");

    for (size_t i = 0; i < ELEMS(fixed); i++)
        if (!json_equal(json_get(object_labels(pod), fixed[i]),
                        json_get(object_labels(old), fixed[i])))
            problem_forbidden(err, PATH_KEY(PATH_MEMBER(&at, "labels"), fixed[i]), 0,
                              "a pod stays in its group and queue");
}

/* Scheduling gates can only be removed after creation. */
static void check_gates(const struct json *gates, const struct json *old, struct err *err)
{
    const struct field_path spec = {.name = "spec"};

    json_each (gate, gates) {
        bool found = false;

        json_each (other, old)
            found = found || json_equal(json_get(gate, "name"), json_get(other, "name"));
        if (!found)
            problem_forbidden(err, PATH_MEMBER(&spec, "schedulingGates"), gate->line,
                              "only deletion is allowed, but found new scheduling gate '%.253s'",
                              json_get_string(gate, "name", ""));
    }
}

static void warn(const struct json *pod, void (*say)(void *arg, const char *text), void *arg)
{
    /* The older form of securityContext.appArmorProfile. */
    static const char prefix[] = "container.apparmor.security.beta.kubernetes.io/";

    if (!*object_resource_version(pod)) /* later, the scheduler has set nodeName */
        pod_warn_scheduler(&(struct speaker){say, arg}, json_get(pod, "spec"), "spec");
    json_each (v, json_at(pod, "metadata", "annotations"))
        if (strncmp(v->key, prefix, strlen(prefix)) == 0) {
            say(arg, "metadata.annotations: AppArmor profiles of containers have no effect here");
            return;
        }
}

static bool is_binding(const struct json *spec, const struct json *old)
{
    return old && json_get(spec, "nodeName") && !json_get(old, "nodeName");
}

static void validate(const struct json *pod, const struct json *old, struct err *err)
{
    const struct json *spec = json_get(pod, "spec");
    const struct field_path at = {.name = "spec"};

    pod_spec_validate(spec, json_get(old, "spec"), &at, err);
    if (old) {
        check_update(spec, json_get(old, "spec"), err);
        check_gates(json_get(spec, "schedulingGates"), json_at(old, "spec", "schedulingGates"),
                    err);
        if (!is_binding(spec, json_get(old, "spec")))
            check_group(pod, old, err);
    }
    if (!is_binding(spec, json_get(old, "spec")))
        pod_annotations_validate(json_get(pod, "metadata"), json_get(old, "metadata"),
                                 &(struct field_path){.name = "metadata"}, err);
}

const struct kind kind_pod = {KIND_NAMES("", "v1", "Pod", "pods", "pod"),
                              .short_names = (const char *const[]){"po", NULL},
                              .categories = (const char *const[]){"all", NULL},
                              .namespaced = true,
                              .has_status = true,
                              .collected = true,
                              .doc = "Pod is one or more programs that run together on one node.",
                              .fields = fields,
                              .columns = pod_columns,
                              .row_parts = pod_row_parts,
                              .validate = validate,
                              .warn = warn,
                              .set_defaults = set_defaults,
                              .field_selectors = (const char *const[]){
                                  "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
                                  "spec.serviceAccountName", "spec.hostNetwork", "status.phase",
                                  "status.podIP", "status.nominatedNodeName", NULL}};
