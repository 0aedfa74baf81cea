/* hook.c - see hook.h. */
#include "runtime/hook.h"

#include <signal.h>
#include <sys/pidfd.h>

#include "runtime/group.h"

void hook_init(struct hook *h)
{
    *h = (struct hook){.probe = {.fd = -1}};
}

static void begin(struct hook *h, const struct probe_start *how, int64_t most_ms)
{
    int64_t now = group_clock_ms();

    h->how = *how;
    h->how.timeout_seconds = max_i64((most_ms + 999) / 1000, 1);
    h->how.period_seconds = INT32_MAX;
    h->how.success_threshold = h->how.failure_threshold = 1;
    probe_begin(&h->probe, &h->how, now);
    h->probe.next_at_ms = now;
    h->begun = true;
}

enum hook_outcome hook_run(struct hook *h, const struct probe_start *how,
                           const struct container_start *c, const struct pod_members *pod,
                           int64_t most_ms)
{
    int64_t now;

    if (!h->begun)
        begin(h, how, most_ms);
    now = group_clock_ms();
    probe_ask(&h->probe, c, pod, now);
    if (!probe_answer(&h->probe, now) && h->probe.fd >= 0)
        return HOOK_RUNNING;
    return h->probe.passed ? HOOK_GOOD : HOOK_BAD;
}

const char *hook_words(const struct hook *h)
{
    return h->probe.text_len > 1 ? h->probe.text + 1 : "it could not be done";
}

void hook_end(struct hook *h)
{
    if (h->probe.fd >= 0)
        (void)pidfd_send_signal(h->probe.child_fd, SIGKILL, NULL, 0);
    probe_end(&h->probe);
    h->begun = false;
}
