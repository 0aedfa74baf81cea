/* kind_job.c - Job (batch/v1): pods that run to completion. See core/batch_job.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/index_set.h"
#include "api/kinds/batch_fields.h"
#include "api/kinds/pod_parts.h"
#include "api/metadata.h"
#include "api/object.h"
#include "base/timefmt.h"

#define PARALLELISM_LIMIT 100000
#define INDEXES_LIMIT 1000000
#define CONTROLLER_UID "batch.kubernetes.io/controller-uid"

static const char *const modes[] = {"NonIndexed", "Indexed", NULL};
static const char *const replacements[] = {"TerminatingOrFailed", "Failed", NULL};
static const char *const actions[] = {"FailJob", "FailIndex", "Ignore", "Count", NULL};
static const char *const operators[] = {"In", "NotIn", NULL};

/* --- spec ------------------------------------------------------------------------------------- */

static const struct field exit_code_fields[] = {
    F_STR("containerName", "Container to match; any if absent.", PZ(1)),
    F_STR("operator", "Whether the exit code must be in the values or not.", PZ(2), REQUIRED,
          ONE_OF(operators)),
    F_LIST(FIELD_INT32, "values", "Exit codes; In must not contain 0.", P(3),
           .flags = FIELD_REQUIRED | FIELD_NON_EMPTY | FIELD_MERGE_SET, .max_items = 255),
    {0}};

static const struct field pattern_fields[] = {
    F_STR("type", "Type of the pod's condition.", PZ(1), REQUIRED),
    F_STR("status", "Its status.", PZ(2), ONE_OF(condition_states), DEFAULT("\"True\"")),
    {0}};

static const struct field rule_fields[] = {
    F_STR("action", "Action: FailJob, FailIndex, Ignore (the pod does not count), Count (it does).",
          PZ(1), REQUIRED, ONE_OF(actions)),
    F_OBJ("onExitCodes", exit_code_fields, "Container exit codes to match.", P(2)),
    F_OBJS("onPodConditions", pattern_fields, "Pod conditions to match.", P(3), .max_items = 20),
    {0}};

static const struct field failure_policy_fields[] = {
    F_OBJS("rules", rule_fields, "The first rule that matches a failed pod applies.", P(1),
           REQUIRED, .max_items = 20),
    {0}};

static const struct field success_rule_fields[] = {
    F_STR("succeededIndexes", "Indexes that must succeed: \"0,2-5\".", PZ(1)),
    F_INT32("succeededCount", "How many of them, or of all, must succeed.", PZ(2), AT_LEAST(1)),
    {0}};

static const struct field success_policy_fields[] = {
    F_OBJS("rules", success_rule_fields, "The Job ends when any rule is met.", P(1),
           .flags = FIELD_REQUIRED | FIELD_NON_EMPTY, .max_items = 20),
    {0}};

static const struct field no_fields[] = {{0}};

static const struct field gang_fields[] = {
    F_INT32("minCount", "How many pods start together.", PZ(1), AT_LEAST(1)), {0}};

static const struct field scheduling_policy_fields[] = {
    F_OBJ("basic", no_fields, "Pods start one by one.", P(1)),
    F_OBJ("gang", gang_fields, "Pods start together.", P(2)),
    {0}};

static const struct field topology_fields[] = {
    F_STR("key", "Node label whose value all pods must share.", P(1)), {0}};

static const struct field constraint_fields[] = {
    F_OBJS("topology", topology_fields, "Common placement of the pods.", P(1)), {0}};

static const struct field disruption_fields[] = {F_OBJ("single", no_fields, "One by one.", P(1)),
                                                 F_OBJ("all", no_fields, "All together.", P(2)),
                                                 {0}};

static const struct field claim_fields[] = {
    F_STR("name", "Its name.", P(1)),
    F_STR("resourceClaimName", "An existing claim.", PZ(2)),
    F_STR("resourceClaimTemplateName", "Template for claims.", PZ(3)),
    {0}};

static const struct field scheduling_fields[] = {
    F_OBJ("schedulingPolicy", scheduling_policy_fields, "How the pods start.", P(1)),
    F_OBJ("schedulingConstraints", constraint_fields, "Where the pods are placed.", P(2)),
    F_OBJ("disruptionMode", disruption_fields, "How the pods are preempted.", P(3)),
    F_OBJS("resourceClaims", claim_fields, "Resource claims shared by all.", P(4)),
    {0}};

const struct field batch_template_fields[] = {
    F_OBJ("metadata", object_meta_fields, "Labels and annotations of the pods.", P(1)),
    F_OBJ("spec", pod_spec_fields, "Spec of the pods.", P(2), REQUIRED, CORE_TYPE("PodSpec")),
    {0}};

const struct field batch_job_spec_fields[] = {
    F_INT32("parallelism", "Maximum number of pods running at once.", PZ(1), AT_LEAST(0)),
    F_INT32("completions",
            "How many must succeed; if absent, one success is enough, and the others end by "
            "themselves.",
            PZ(2), AT_LEAST(0)),
    F_INT64("activeDeadlineSeconds", "Seconds after the start after which the Job fails.", PZ(3),
            AT_LEAST(0)),
    F_OBJ("podFailurePolicy", failure_policy_fields, "How to handle failed pods.", P(11),
          .flags = FIELD_IMMUTABLE),
    F_OBJ("successPolicy", success_policy_fields, "When an Indexed Job succeeds early.", P(16),
          .flags = FIELD_IMMUTABLE),
    F_INT32("backoffLimit", "How many pods may fail before the Job fails.", PZ(7), AT_LEAST(0)),
    F_INT32("backoffLimitPerIndex", "How many pods of an index may fail before the index fails.",
            PZ(12), .flags = FIELD_IMMUTABLE, AT_LEAST(0)),
    F_INT32("maxFailedIndexes", "How many indexes may fail before the Job fails.", PZ(13),
            AT_LEAST(0)),
    F_OBJ("selector", label_selector_fields, "Selects the Job's pods; set by the server.", P(4),
          .flags = FIELD_IMMUTABLE),
    F_BOOL("manualSelector", "Whether the user sets selector.", PZ(5)),
    F_OBJ("template", batch_template_fields, "The pod.", P(6), REQUIRED,
          .schema_name = "io.k8s.api.core.v1.PodTemplateSpec"),
    F_INT32("ttlSecondsAfterFinished", "Seconds after its end until the Job itself is deleted.",
            PZ(8), AT_LEAST(0)),
    F_STR("completionMode",
          "NonIndexed, or Indexed: each pod has an index, and each index succeeds once.", PZ(9),
          .flags = FIELD_IMMUTABLE, ONE_OF(modes), DEFAULT("\"NonIndexed\"")),
    F_BOOL("suspend", "Whether it has no pods for now.", PZ(10), DEFAULT("false")),
    F_STR("podReplacementPolicy", "Whether a terminating pod is replaced at once.", PZ(14),
          .flags = FIELD_IMMUTABLE, ONE_OF(replacements)),
    F_STR("managedBy", "Controller of the Job, if not this server's own.", PZ(15),
          .flags = FIELD_IMMUTABLE),
    F_OBJ("scheduling", scheduling_fields, "How the pods are scheduled as a group.", P(17),
          IGNORED("the annotation muster.dev/gang makes the pods start together")),
    {0}};

/* --- status ----------------------------------------------------------------------------------- */

static const struct field job_condition_fields[] = {
    F_CONDITION(4, 5, 6), F_TIME("lastProbeTime", "When it was last checked.", P(3)), {0}};

static const struct field uncounted_fields[] = {
    F_STRS("succeeded", "UIDs of pods that succeeded.", P(1), .flags = FIELD_MERGE_SET),
    F_STRS("failed", "UIDs of pods that failed.", P(2), .flags = FIELD_MERGE_SET),
    {0}};

static const struct field status_fields[] = {
    F_CONDITIONS(job_condition_fields,
                 "Complete, Failed, Suspended, SuccessCriteriaMet, FailureTarget.", P(1),
                 MERGED_BY("type")),
    F_TIME("startTime", "When it started, or was resumed.", P(2)),
    F_TIME("completionTime", "When it succeeded.", P(3)),
    F_INT32("active", "Pods waiting or running.", P(4)),
    F_INT32("succeeded", "Pods that succeeded.", P(5)),
    F_INT32("failed", "Pods that failed.", P(6)),
    F_INT32("terminating", "Terminating pods.", PZ(11)),
    F_STR("completedIndexes", "Indexes that succeeded: \"0,2-5\".", P(7)),
    F_STR("failedIndexes", "Indexes that failed.", PZ(10)),
    F_OBJ("uncountedTerminatedPods", uncounted_fields,
          "Pods that have ended but are not yet counted.", P(8)),
    F_INT32("ready", "Pods that are ready.", PZ(9)),
    {0}};

static const struct field fields[] = {
    F_SPEC(batch_job_spec_fields, REQUIRED), F_STATUS(status_fields), {0}};

/* --- defaults --------------------------------------------------------------------------------- */

static void default_int(struct arena *a, struct json *spec, const char *key, int64_t value)
{
    if (!json_get(spec, key))
        json_set_int(a, spec, key, value);
}

void batch_job_set_defaults(struct arena *a, struct json *spec)
{
    bool neither = !json_get(spec, "completions") && !json_get(spec, "parallelism");
    bool by_index = json_get(spec, "backoffLimitPerIndex");

    if (!spec)
        return;
    if (neither)
        json_set_int(a, spec, "completions", 1);
    default_int(a, spec, "parallelism", 1);
    default_int(a, spec, "backoffLimit", by_index ? INT32_MAX : 6);
    if (!json_get(spec, "podReplacementPolicy"))
        json_set_string(a, spec, "podReplacementPolicy",
                        json_get(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
}

/* A Job's pods are selected by its UID unless the spec has a selector. */
static void set_defaults(struct arena *a, struct json *job)
{
    const char *uid = object_uid(job), *name = object_name(job);
    const struct {
        const char *key, *value;
    } ours[] = {{CONTROLLER_UID, uid},
                {"batch.kubernetes.io/job-name", name},
                {"controller-uid", uid},
                {"job-name", name}};
    struct json *spec = json_get_mut(job, "spec"), *template = json_get_mut(spec, "template");
    struct json *labels;

    batch_job_set_defaults(a, spec);
    if (!*uid || !template || json_get_bool(spec, "manualSelector", false) ||
        json_get(spec, "selector"))
        return;
    labels = json_make_object(a, json_make_object(a, template, "metadata"), "labels");
    for (size_t i = 0; i < ELEMS(ours); i++)
        json_set_string(a, labels, ours[i].key, ours[i].value);
    labels = json_make_object(a, json_make_object(a, spec, "selector"), "matchLabels");
    json_set_string(a, labels, CONTROLLER_UID, uid);
}

/* --- rules ------------------------------------------------------------------------------------ */

static void check_failure_rules(const struct json *spec, const struct field_path *at,
                                struct err *err)
{
    const struct field_path *policy = PATH_MEMBER(at, "podFailurePolicy");
    const struct field_path *list = PATH_MEMBER(policy, "rules");
    const struct json *restart = json_at(spec, "template", "spec", "restartPolicy");
    size_t i = 0;

    if (!json_get(spec, "podFailurePolicy"))
        return;
    if (!json_string_is(restart, "Never"))
        problem_invalid(
            err, PATH_MEMBER(PATH_MEMBER(PATH_MEMBER(at, "template"), "spec"), "restartPolicy"),
            restart, "only \"Never\" is supported when podFailurePolicy is specified");
    json_each (rule, json_at(spec, "podFailurePolicy", "rules")) {
        const struct field_path *where = PATH_INDEX(list, i++);
        const struct json *codes = json_get(rule, "onExitCodes");
        bool conditions = json_len(json_get(rule, "onPodConditions")) > 0;

        if (codes && conditions)
            problem_invalid(err, where, rule,
                            "specifying both OnExitCodes and OnPodConditions is not supported");
        else if (!codes && !conditions)
            problem_invalid(err, where, rule,
                            "specifying one of OnExitCodes and OnPodConditions is required");
        if (json_string_is(json_get(rule, "action"), "FailIndex") &&
            !json_get(spec, "backoffLimitPerIndex"))
            problem_invalid(err, PATH_MEMBER(where, "action"), json_get(rule, "action"),
                            "requires the backoffLimitPerIndex to be set");
        json_each (code, json_get(codes, "values"))
            if (json_int(code, 0) == 0 && json_string_is(json_get(codes, "operator"), "In"))
                problem_invalid(err, PATH_MEMBER(PATH_MEMBER(where, "onExitCodes"), "values"), code,
                                "must not be 0 for the In operator");
    }
}

static void check_success_rules(const struct json *spec, const struct field_path *at,
                                int64_t completions, struct err *err)
{
    const struct field_path *policy = PATH_MEMBER(at, "successPolicy");
    const struct field_path *list = PATH_MEMBER(policy, "rules");
    size_t i = 0;

    json_each (rule, json_at(spec, "successPolicy", "rules")) {
        const struct field_path *where = PATH_INDEX(list, i++);
        const struct json *indexes = json_get(rule, "succeededIndexes");

        if (!indexes && !json_get(rule, "succeededCount"))
            problem_required(
                err, where, rule->line,
                "at least one of succeededCount or succeededIndexes must be specified");
        if (indexes && !index_set_is_valid(json_string(indexes, ""), completions))
            problem_invalid(err, PATH_MEMBER(where, "succeededIndexes"), indexes,
                            "must be ascending indexes below completions, such as \"0,2-5\"");
    }
}

static void check_indexes(const struct json *spec, const struct field_path *at, struct err *err)
{
    static const char *const only_indexed[] = {"backoffLimitPerIndex", "successPolicy"};
    bool indexed = json_string_is(json_get(spec, "completionMode"), "Indexed");
    const struct json *completions = json_get(spec, "completions");

    if (indexed && !completions)
        problem_required(err, PATH_MEMBER(at, "completions"), spec->line,
                         "when completion mode is Indexed");
    if (indexed && json_int(completions, 0) > INDEXES_LIMIT)
        problem_invalid(err, PATH_MEMBER(at, "completions"), completions,
                        "must be less than or equal to %d when completion mode is Indexed",
                        INDEXES_LIMIT);
    if (json_get_int(spec, "parallelism", 0) > PARALLELISM_LIMIT && indexed)
        problem_invalid(err, PATH_MEMBER(at, "parallelism"), json_get(spec, "parallelism"),
                        "must be less than or equal to %d when completion mode is Indexed",
                        PARALLELISM_LIMIT);
    for (size_t i = 0; i < ELEMS(only_indexed) && !indexed; i++)
        if (json_get(spec, only_indexed[i]))
            problem_invalid(err, PATH_MEMBER(at, only_indexed[i]), json_get(spec, only_indexed[i]),
                            "requires indexed completion mode");
    if (json_get(spec, "maxFailedIndexes") && !json_get(spec, "backoffLimitPerIndex"))
        problem_required(err, PATH_MEMBER(at, "backoffLimitPerIndex"), spec->line,
                         "when maxFailedIndexes is specified");
    check_success_rules(spec, at, json_int(completions, 0), err);
}

void batch_job_spec_validate(const struct json *spec, const struct field_path *at, struct err *err)
{
    const struct field_path *template = PATH_MEMBER(at, "template");
    const struct field_path *pod = PATH_MEMBER(template, "spec");
    const struct json *restart = json_at(spec, "template", "spec", "restartPolicy");

    if (!json_string_is(restart, "Never") && !json_string_is(restart, "OnFailure"))
        problem_required(err, PATH_MEMBER(pod, "restartPolicy"), 0,
                         "valid values: \"OnFailure\", \"Never\"");
    pod_spec_validate(json_at(spec, "template", "spec"), NULL, pod, err);
    pod_template_annotations_validate(json_at(spec, "template", "metadata"),
                                      PATH_MEMBER(template, "metadata"), err);
    check_indexes(spec, at, err);
    check_failure_rules(spec, at, err);
}

/* What may change in a suspended Job's template: where its pods are placed. */
static bool is_placement(const char *member)
{
    static const char *const names[] = {"nodeSelector", "affinity", "tolerations",
                                        "schedulingGates"};

    for (size_t i = 0; i < ELEMS(names); i++)
        if (strcmp(names[i], member) == 0)
            return true;
    return false;
}

static bool same_pods(const struct json *spec, const struct json *old)
{
    json_each (m, spec)
        if (!is_placement(m->key) && !json_equal(m, json_get(old, m->key)))
            return false;
    json_each (m, old)
        if (!is_placement(m->key) && !json_get(spec, m->key))
            return false;
    return true;
}

static void check_changes(const struct json *job, const struct json *old, struct err *err)
{
    const struct field_path at = {.name = "spec"};
    const struct json *next = json_get(job, "spec"), *spec = json_get(old, "spec");
    const struct json *template = json_get(next, "template"), *before = json_get(spec, "template");
    const struct json *completions = json_get(next, "completions");
    bool waits = json_get_bool(spec, "suspend", false) && !json_at(old, "status", "startTime");
    bool elastic = json_string_is(json_get(spec, "completionMode"), "Indexed") &&
                   json_equal(completions, json_get(next, "parallelism"));

    if (!json_equal(template, before) &&
        !(waits && same_pods(json_get(template, "spec"), json_get(before, "spec"))))
        problem_invalid(err, PATH_MEMBER(&at, "template"), template, "field is immutable");
    if (!elastic && !json_equal(completions, json_get(spec, "completions")))
        problem_invalid(err, PATH_MEMBER(&at, "completions"), completions, "field is immutable");
}

static void validate(const struct json *job, const struct json *old, struct err *err)
{
    const struct field_path spec = {.name = "spec"}, meta = {.name = "metadata"};
    const struct json *name = json_at(job, "metadata", "name");

    if (!old && label_value_problem(json_string(name, "")))
        problem_invalid(err, PATH_MEMBER(&meta, "name"), name,
                        "must be no more than 63 characters: it is a label of its pods");
    if (!old || !json_equal(json_get(job, "spec"), json_get(old, "spec")))
        batch_job_spec_validate(json_get(job, "spec"), &spec, err);
    if (old)
        check_changes(job, old, err);
}

/* --- columns ---------------------------------------------------------------------------------- */

static struct json *render_state(struct arena *a, const struct json *job, int64_t now_ms)
{
    (void)now_ms;
    if (object_condition_is(job, "Complete"))
        return json_new_string(a, "Complete");
    if (object_condition_is(job, "Failed"))
        return json_new_string(a, "Failed");
    if (object_is_deleting(job))
        return json_new_string(a, "Terminating");
    if (object_condition_is(job, "Suspended"))
        return json_new_string(a, "Suspended");
    if (object_condition_is(job, "FailureTarget"))
        return json_new_string(a, "FailureTarget");
    if (object_condition_is(job, "SuccessCriteriaMet"))
        return json_new_string(a, "SuccessCriteriaMet");
    return json_new_string(a, "Running");
}

static struct json *render_completions(struct arena *a, const struct json *job, int64_t now_ms)
{
    const struct json *spec = json_get(job, "spec");
    int64_t done = json_int(json_at(job, "status", "succeeded"), 0);
    int64_t at_once = json_get_int(spec, "parallelism", 1);

    (void)now_ms;
    if (json_get(spec, "completions"))
        return json_new_stringf(a, "%" PRId64 "/%" PRId64, done,
                                json_get_int(spec, "completions", 0));
    if (at_once > 1)
        return json_new_stringf(a, "%" PRId64 "/1 of %" PRId64, done, at_once);
    return json_new_stringf(a, "%" PRId64 "/1", done);
}

static struct json *render_duration(struct arena *a, const struct json *job, int64_t now_ms)
{
    const struct json *status = json_get(job, "status");
    int64_t began = object_time(status, "startTime"), ended = object_time(status, "completionTime");
    char text[TIME_TEXT_SIZE];

    if (!began)
        return json_new_string(a, "");
    return json_new_string(a, time_age((ended ? ended : now_ms) - began, text));
}

/* The given member of each container: name or image. */
static struct json *render_containers(struct arena *a, const struct json *job, const char *member)
{
    const char *text = "";

    json_each (c, json_at(job, "spec", "template", "spec", "containers"))
        text = arena_printf(a, "%s%s%s", text ? text : "", text && *text ? "," : "",
                            json_get_string(c, member, ""));
    return json_new_string(a, text);
}

static struct json *render_names(struct arena *a, const struct json *job, int64_t now_ms)
{
    (void)now_ms;
    return render_containers(a, job, "name");
}

static struct json *render_images(struct arena *a, const struct json *job, int64_t now_ms)
{
    (void)now_ms;
    return render_containers(a, job, "image");
}

static struct json *render_selector(struct arena *a, const struct json *job, int64_t now_ms)
{
    (void)now_ms;
    return column_map(a, json_at(job, "spec", "selector", "matchLabels"));
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Status", "string", "Complete, Failed, Suspended or Running.", .render = render_state),
    COLUMN("Completions", "string", "Succeeded pods, out of all.", .render = render_completions),
    COLUMN("Duration", "string", "From its start to its success.", .render = render_duration),
    COLUMN_AGE,
    COLUMN("Containers", "string", "Its containers.", .priority = 1, .render = render_names),
    COLUMN("Images", "string", "Their images.", .priority = 1, .render = render_images),
    COLUMN("Selector", "string", "Selector of its pods.", .priority = 1, .render = render_selector),
    {0}};

const struct kind kind_job = {KIND_NAMES("batch", "v1", "Job", "jobs", "job"),
                              .categories = (const char *const[]){"all", NULL},
                              .namespaced = true,
                              .has_status = true,
                              .has_generation = true,
                              .collected = true,
                              .doc = "Job runs pods until enough of them have succeeded.",
                              .fields = fields,
                              .columns = columns,
                              .validate = validate,
                              .set_defaults = set_defaults};
