/* job_warnings.c - see job_warnings.h. */
#include "api/job_warnings.h"

#include <stdarg.h>
#include <stdio.h>

void speaker_say(const struct speaker *s, const char *fmt, ...)
{
    char text[WARNING_LIMIT_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    s->say(s->arg, text);
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
