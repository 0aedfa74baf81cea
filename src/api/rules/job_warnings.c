/* job_warnings.c - see job_warnings.h. */
#include "api/rules/job_warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void speaker_say(const struct speaker *s, const char *fmt, ...)
{
    char text[WARNING_LIMIT_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    s->say(s->arg, text);
}

void pod_warn_scheduler(const struct speaker *s, const struct json *spec, const char *at)
{
    const char *scheduler = json_get_string(spec, "schedulerName", "");

    if (*scheduler && strcmp(scheduler, "default-scheduler") != 0 &&
        *json_get_string(spec, "nodeName", ""))
        speaker_say(s, "%s.schedulerName: \"%.63s\" is not asked, nodeName says where it runs", at,
                    scheduler);
}

void job_warn_template(const struct speaker *s, const struct json *replica_spec, size_t i)
{
    const struct json *spec = json_at(replica_spec, "template", "spec");
    const char *policy = json_get_string(spec, "restartPolicy", "Never");
    char at[64];

    (void)snprintf(at, sizeof(at), "spec.replicaSpecs[%zu].template.spec", i);
    if (*policy && strcmp(policy, "Never") != 0)
        speaker_say(s,
                    "%s.restartPolicy: \"%.20s\" is not used, spec.replicaSpecs[%zu].restartPolicy "
                    "decides (%s)",
                    at, policy, i, json_get_string(replica_spec, "restartPolicy", "Never"));
    pod_warn_scheduler(s, spec, at);
}

void job_warn_run_mode(const struct speaker *s, const struct json *job,
                       bool (*has_type)(const struct json *job, const char *type))
{
    static const char *const lists[][2] = {{"debug", "replicaSpecs"}, {"pause", "resumeSpecs"}};

    for (size_t l = 0; l < ELEMS(lists); l++) {
        size_t i = 0;

        json_each (entry, json_at(job, "spec", "runMode", lists[l][0], lists[l][1])) {
            const char *type = json_get_string(entry, "type", "");

            if (!has_type(job, type))
                speaker_say(s,
                            "spec.runMode.%s.%s[%zu].type: no replica type is named \"%.63s\", "
                            "the entry has no effect",
                            lists[l][0], lists[l][1], i, type);
            i++;
        }
    }
}
