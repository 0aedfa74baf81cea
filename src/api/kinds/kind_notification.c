/* kind_notification.c - Notification (muster.dev/v1beta1): where to post when a namespace's jobs
 * reach a phase. */
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kinds/job_fields.h"
#include "api/kinds/pod_fields.h"
#include "api/kinds/pod_parts.h"
#include "api/notification.h"
#include "api/object.h"
#include "api/problem.h"

#define URL_LIMIT 2048
#define URL_WORDS "must be a URL that starts with http:// or https:// and names a host"
#define ONE_WORDS "set either url or urlFrom.secretKeyRef"

static const char *const formats[] = {"json", "slack", NULL};
static const char *const job_names[] = {"PyTorchTrainingJob", "MPIJob", NULL};

static const struct field secret_key_fields[] = {
    F_STR("name", "Secret of the same namespace.", .flags = FIELD_REQUIRED | FIELD_DNS_NAME),
    F_STR("key", "Key in it.", .flags = FIELD_REQUIRED | FIELD_NON_EMPTY),
    {0}};

static const struct field url_from_fields[] = {
    F_OBJ("secretKeyRef", secret_key_fields, "The Secret key that contains the address.", REQUIRED),
    {0}};

static const struct field spec_fields[] = {
    F_STRS("phases", "Phases that cause a notification when a job reaches them.",
           ONE_OF(job_phases), .flags = FIELD_NON_EMPTY, DEFAULT("[\"Succeeded\",\"Failed\"]")),
    F_STRS("kinds", "Kinds of jobs to notify about. Unset: all.", ONE_OF(job_names)),
    F_OBJ("selector", label_selector_fields, "Labels of jobs to notify about. Unset: all."),
    F_STR("url",
          "Where to post, http or https. It is visible to everyone who can read the Notification: "
          "secret addresses, such as Slack's, belong in urlFrom.",
          .pattern = "^https?://[^/?#[:space:][:cntrl:]][^[:space:][:cntrl:]]*$"),
    F_OBJ("urlFrom", url_from_fields, "Source of the address, instead of url."),
    F_STR("format",
          "json: the event as an object; slack: as text for Slack and compatible services.",
          ONE_OF(formats), DEFAULT("\"json\"")),
    F_BOOL("suspend", "Whether nothing is sent; events meanwhile are never sent.",
           DEFAULT("false")),
    {0}};

static const struct field pending_fields[] = {
    F_STR("id", "ID of the event: the same in every delivery attempt."),
    F_TIME("time", "When the job reached the phase."),
    F_STR("apiVersion", "API version of the job."),
    F_STR("kind", "Kind of the job."),
    F_STR("name", "Name of the job."),
    F_STR("uid", "UID of the job."),
    F_STR("phase", "Phase it reached, or Test."),
    F_STR("reason", "CamelCase reason."),
    F_STR("message", "Message about the reason."),
    {0}};

static const struct field delivery_fields[] = {
    F_STR("id", "ID of the event."),
    F_TIME("time", "When it was accepted."),
    F_STR("job", "The job: Kind/name."),
    F_STR("phase", "The phase it reached, or Test."),
    F_INT32("code", "HTTP status code of the receiver's answer."),
    {0}};

static const struct field error_fields[] = {
    F_TIME("time", "When it was tried."), F_STR("message", "What failed."), {0}};

static const struct field status_fields[] = {
    F_INT64("delivered", "Events accepted by the receiver."),
    F_INT64("failed", "Events that could not be delivered."),
    F_OBJ("lastDelivery", delivery_fields, "The last event that was accepted."),
    F_OBJ("lastError", error_fields, "Why the last failed attempt failed."),
    F_INT32("failures", "Consecutive failed attempts."),
    F_TIME("retryTime", "When the first of pending will be retried."),
    F_OBJS("pending", pending_fields, "Events to be delivered, the first one next.",
           .max_items = NOTIFY_PENDING_LIMIT),
    F_TIME("since", "Earlier events are not sent."),
    F_STRS("recent", "IDs of the last events handled.", .max_items = NOTIFY_RECENT_LIMIT),
    F_STR("lastTest", "The value of the annotation " ANNOTATION_SEND_TEST " that was answered."),
    F_INT64("observedGeneration", "The metadata.generation this status is based on."),
    {0}};

static const struct rule spec_rules[] = {
    {.rule = "has(self.url) != has(self.urlFrom)", .field = ".url", .message = ONE_WORDS}, {0}};

static const struct field fields[] = {
    F_SPEC(spec_fields, REQUIRED, .rules = spec_rules), F_STATUS(status_fields), {0}};

bool notification_url_is_fine(const char *url)
{
    const char *host = strncmp(url, "http://", 7) == 0    ? url + 7
                       : strncmp(url, "https://", 8) == 0 ? url + 8
                                                          : "";
    size_t len = strlen(url);

    for (const char *c = url; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    return *host && !strchr("/?#", *host) && len <= URL_LIMIT;
}

static void validate(const struct json *notification, const struct json *old, struct err *err)
{
    const struct json *spec = json_get(notification, "spec"), *url = json_get(spec, "url");
    const struct field_path at = {.name = "spec"};

    (void)old;
    if (!url == !json_get(spec, "urlFrom"))
        problem_invalid(err, PATH_MEMBER(&at, "url"), NULL, ONE_WORDS);
    if (url && !notification_url_is_fine(json_string(url, "")))
        problem_invalid(err, PATH_MEMBER(&at, "url"), NULL, URL_WORDS);
}

static void warn(const struct json *notification, void (*say)(void *arg, const char *text),
                 void *arg)
{
    const char *url = json_string(json_at(notification, "spec", "url"), "");

    if (strstr(url, "hooks.slack.com"))
        say(arg, "spec.url: anyone who knows a Slack address can post there: keep it in a Secret "
                 "and use urlFrom.secretKeyRef");
    else if (strchr(url, '@') || strchr(url, '?'))
        say(arg, "spec.url: it may contain a password or token, visible to everyone who can read "
                 "the Notification: keep it in a Secret and use urlFrom.secretKeyRef");
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Format", "string", "json or slack.", .path = ".spec.format"),
    COLUMN("Suspend", "boolean", "Whether it is suspended.", .path = ".spec.suspend"),
    COLUMN("Delivered", "integer", "Events accepted by the receiver.", .path = ".status.delivered"),
    COLUMN("Failed", "integer", "Events that could not be delivered.", .path = ".status.failed"),
    COLUMN("Last", "date", "When the last was accepted.", .path = ".status.lastDelivery.time"),
    COLUMN_AGE,
    COLUMN("Error", "string", "Why the last failed attempt failed.", .priority = 1,
           .path = ".status.lastError.message"),
    {0}};

const struct kind kind_notification = {
    KIND_NAMES("muster.dev", "v1beta1", "Notification", "notifications", "notification"),
    .categories = (const char *const[]){"muster", NULL},
    .namespaced = true,
    .has_status = true,
    .custom = true,
    .collected = true,
    .doc = "Notification posts to an HTTP receiver, or Slack, when jobs in its namespace reach a "
           "phase.",
    .fields = fields,
    .columns = columns,
    .validate = validate,
    .warn = warn};
