/*
 * pod_state.c - interprets a pod's status.
 *
 * A failed pod's exit code is that of its training container if that failed, else of the first
 * container that did: a crashed sidecar fails the pod too, and then its code decides.
 */
#include "core/pod_state.h"

#include <string.h>

#include "api/object.h"
#include "base/peer_words.h"
#include "base/utf8.h"
#include "core/exit_words.h"

#define MESSAGE_LIMIT 400 /* bytes of a container's last output that are passed on */
#define EXIT_KILLED 137
#define EVICTED "Evicted" /* by the node, which says why */

static const char *const phase_names[] = {
    [POD_PENDING] = "Pending", [POD_RUNNING] = "Running", [POD_SUCCEEDED] = "Succeeded",
    [POD_FAILED] = "Failed",   [POD_UNKNOWN] = "Unknown",
};

/* Not the pod's fault: restarting it is free. */
static const char *const lost_reasons[] = {
    "NodeLost",   "NodeShutdown", "Shutdown",
    "Preempting", "Preempted",    "ContainerStatusUnknown", /* its machine came back without it */
};

static enum pod_phase phase_of(const struct json *pod)
{
    const char *word = json_string(json_at(pod, "status", "phase"), "Pending");

    for (size_t i = 0; i < ELEMS(phase_names); i++)
        if (strcmp(phase_names[i], word) == 0)
            return (enum pod_phase)i;
    return POD_UNKNOWN;
}

bool pod_is_finished(const struct json *pod)
{
    enum pod_phase phase = phase_of(pod);

    return phase == POD_SUCCEEDED || phase == POD_FAILED;
}

static bool is_over(const struct json *pod)
{
    return object_is_deleting(pod) &&
           json_int(json_at(pod, "metadata", "deletionGracePeriodSeconds"), 0) == 0;
}

bool finalizer_is_tracking(const struct json *finalizer)
{
    return json_string_is(finalizer, FINALIZER_TRACKING) ||
           json_string_is(finalizer, FINALIZER_BATCH);
}

bool pod_is_held(const struct json *pod)
{
    bool tracked = false;

    json_each (f, json_at(pod, "metadata", "finalizers"))
        tracked = tracked || finalizer_is_tracking(f);
    return tracked && is_over(pod);
}

bool pod_is_placed(const struct json *pod)
{
    return *json_string(json_at(pod, "spec", "nodeName"), "") != '\0';
}

bool pod_is_for_default_scheduler(const struct json *pod)
{
    const char *scheduler = json_string(json_at(pod, "spec", "schedulerName"), "");

    return !*scheduler || strcmp(scheduler, "default-scheduler") == 0;
}

const char *pod_foreign_scheduler(const struct json *pod)
{
    static const char *const ours[] = {"", "default-scheduler", "t9k-scheduler", "muster"};
    const char *scheduler = json_string(json_at(pod, "spec", "schedulerName"), "");

    for (size_t i = 0; i < ELEMS(ours); i++)
        if (strcmp(scheduler, ours[i]) == 0)
            return NULL;
    return scheduler;
}

static bool is_lost(const struct json *pod)
{
    const char *reason = json_string(json_at(pod, "status", "reason"), "");

    for (size_t i = 0; i < ELEMS(lost_reasons); i++)
        if (strcmp(lost_reasons[i], reason) == 0)
            return true;
    return false;
}

static const struct json *terminated(const struct json *container_status)
{
    return json_at(container_status, "state", "terminated");
}

static const struct json *first_failed(const struct json *statuses, const char *main_container)
{
    const struct json *found = NULL;

    json_each (c, statuses) {
        if (json_get_int(terminated(c), "exitCode", 0) == 0)
            continue;
        if (main_container && strcmp(json_get_string(c, "name", ""), main_container) == 0)
            return c;
        if (!found)
            found = c;
    }
    return found;
}

static void blame(struct pod_state *s, const struct json *container_status)
{
    const struct json *end = terminated(container_status);
    int64_t started = object_time(end, "startedAt"), finished = object_time(end, "finishedAt");

    s->finished_ms = finished;
    s->exit_code = (int)json_get_int(end, "exitCode", -1);
    s->container = json_get_string(container_status, "name", "");
    s->ran_ms = started > 0 && finished > started ? finished - started : 0;
    s->reason = json_get_string(end, "reason", s->reason);
    s->message = json_get_string(end, "message", s->message);
}

/* How long a succeeded pod ran: as long as its longest container. */
static int64_t longest_run_ms(const struct json *statuses)
{
    int64_t longest = 0;

    json_each (c, statuses) {
        struct pod_state s = {.reason = "", .message = ""};

        blame(&s, c);
        longest = max_i64(longest, s.ran_ms);
    }
    return longest;
}

/* A container's end counts as its own only if it ended before being stopped. Its node may know; but
 * a failure just before may be caused by another replica that had been stopped. Times are in
 * seconds, so only an earlier second is certainly before. */
static bool ended_before_deletion(const struct json *pod, const struct json *statuses)
{
    const struct json *metadata = json_get(pod, "metadata");
    int64_t grace_ms = json_get_int(metadata, "deletionGracePeriodSeconds", 0) * 1000;
    int64_t asked_ms = object_time(metadata, "deletionTimestamp") - grace_ms;

    if (phase_of(pod) == POD_SUCCEEDED && object_condition_is(pod, POD_ENDED_BY_ITSELF))
        return true;
    json_each (c, statuses) {
        int64_t finished = object_time(terminated(c), "finishedAt");

        if (finished == 0 || finished >= asked_ms)
            return false;
    }
    return json_len(statuses) > 0;
}

struct pod_state pod_state_of(const struct json *pod, const char *main_container)
{
    const struct json *status = json_get(pod, "status");
    const struct json *containers = json_get(status, "containerStatuses");
    const struct json *failed = NULL;
    struct pod_state s = {
        .phase = phase_of(pod),
        .deleting = object_is_deleting(pod),
        .exit_code = -1,
        .container = "",
        .reason = json_get_string(status, "reason", ""),
        .message = json_get_string(status, "message", ""),
    };

    s.by_itself = s.deleting && object_condition_is(pod, POD_ENDED_BY_ITSELF);
    s.ended_first = s.deleting && ended_before_deletion(pod, containers);
    s.over = is_over(pod);
    if (s.phase == POD_SUCCEEDED) {
        s.exit_code = 0;
        s.ran_ms = longest_run_ms(containers);
    }
    if (s.phase != POD_FAILED)
        return s;
    s.lost = is_lost(pod);
    failed = first_failed(containers, main_container);
    if (!failed)
        failed = first_failed(json_get(status, "initContainerStatuses"), NULL);
    if (failed)
        blame(&s, failed);
    if (json_string_is(json_get(status, "reason"), EVICTED)) {
        s.reason = EVICTED; /* what its programs said while being stopped explains nothing */
        s.message = json_get_string(status, "message", "");
    }
    s.lost_peer = peer_words(s.message);
    s.aside = failed && main_container && strcmp(s.container, main_container) != 0;
    return s;
}

/* The last line of the program's message: on a cluster that is the end of the log, with the
 * exception in it. Shortened to fit a sentence, without control characters. */
static const char *last_line(struct arena *a, const char *text)
{
    size_t end = strlen(text), start, n = 0;
    char *line;

    while (end > 0 && (unsigned char)text[end - 1] <= ' ')
        end--;
    for (start = end; start > 0 && text[start - 1] != '\n' && text[start - 1] != '\r';)
        start--;
    while (n < end - start && n < MESSAGE_LIMIT) {
        size_t whole = utf8_sequence(text + start + n, end - start - n);

        if (whole == 0 || n + whole > MESSAGE_LIMIT)
            break;
        n += whole;
    }
    line = arena_strndup(a, text + start, n);
    for (char *c = line; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    return line ? line : "";
}

static const char *said_last(struct arena *a, const struct pod_state *s, const char *message)
{
    if (!message[0])
        return "";
    /* For a program killed by a signal the last line only hints at where it was, unless it is the
     * node's own message about the kill. */
    return exit_by_signal(s->exit_code) && s->exit_code != EXIT_KILLED &&
                   strcmp(s->reason, EVICTED) != 0
               ? arena_printf(a, "; it last said: %s", message)
               : arena_printf(a, ": %s", message);
}

const char *pod_failure_text(struct arena *a, const char *pod_name, const struct pod_state *s)
{
    const char *message = last_line(a, s->message), *said = said_last(a, s, message);
    const char *words = exit_words(s->exit_code, s->reason, message[0]);
    const char *where = s->aside ? arena_printf(a, " in container \"%s\"", s->container) : "";

    if (!where || !said)
        return NULL;
    if (s->exit_code < 0)
        return arena_printf(a, "%s failed without an exit code (%s)%s", pod_name,
                            words          ? words
                            : s->reason[0] ? s->reason
                                           : "no reason given",
                            said);
    if (!words)
        return arena_printf(a, "%s failed with exit code %d%s%s", pod_name, s->exit_code, where,
                            said);
    return arena_printf(a, "%s failed with exit code %d%s (%s)%s", pod_name, s->exit_code, where,
                        words, said);
}

struct json *pod_failure_data(struct arena *a, const char *pod_name, const struct pod_state *s)
{
    struct json *data = json_new_object(a);
    const char *message = last_line(a, s->message);

    json_set_string(a, data, "replica", pod_name);
    if (s->exit_code >= 0)
        json_set_int(a, data, "exitCode", s->exit_code);
    if (s->aside)
        json_set_string(a, data, "container", s->container);
    if (s->reason[0])
        json_set_string(a, data, "reason", s->reason);
    if (message[0])
        json_set_string(a, data, "message", message);
    return data;
}

static bool waiting_in(const struct json *statuses, const char **ret_reason,
                       const char **ret_message)
{
    json_each (c, statuses) {
        const struct json *waiting = json_at(c, "state", "waiting");
        const char *reason = json_get_string(waiting, "reason", "");

        /* These two are normal, unless there is more to say, such as how far a pull is. */
        if (!reason[0] ||
            (!*json_get_string(waiting, "message", "") &&
             (strcmp(reason, "ContainerCreating") == 0 || strcmp(reason, "PodInitializing") == 0)))
            continue;
        *ret_reason = reason;
        *ret_message = json_get_string(waiting, "message", reason);
        return true;
    }
    return false;
}

void pod_waiting_for(const struct json *pod, const char **ret_reason, const char **ret_message)
{
    const struct json *scheduled = object_condition(pod, "PodScheduled");
    const struct json *status = json_get(pod, "status");

    *ret_reason = *ret_message = "";
    if (json_string_is(json_get(scheduled, "status"), "False")) {
        *ret_reason = json_get_string(scheduled, "reason", "Unschedulable");
        *ret_message = json_get_string(scheduled, "message", "");
        return;
    }
    if (!waiting_in(json_get(status, "initContainerStatuses"), ret_reason, ret_message))
        (void)waiting_in(json_get(status, "containerStatuses"), ret_reason, ret_message);
}
