/* container_end.c - see container_end.h. */
#include "runtime/container_end.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "runtime/end_message.h"

static void explain_start_error(struct container_end *e, struct arena *a)
{
    struct launch_result r = {.pid = 0};

    launch_explain(e->start, &e->slot->failure, a, &r);
    e->exit_code = r.exit_code;
    e->reason = "StartError";
    e->message = r.message;
}

/* A program cannot comment on SIGKILL. */
static void explain_exit(struct container_end *e, struct arena *a)
{
    struct last_words words = e->log->words;
    const char *said = last_words_text(&words, a);

    e->reason = e->exit_code == 0 ? "Completed" : "Error";
    e->message = "";
    if (e->exit_code == 128 + SIGKILL && e->slot->killed)
        e->message = e->slot->killed_why;
    else if (oom_explain_end(a, e->start, e->slot->oom.group, e->exit_code, said, &e->reason,
                             &e->message))
        return;
    else if (e->exit_code == 128 + SIGKILL)
        e->message = oom_words(a, e->slot->oom, oom_count_read(""), &e->reason);
    else if (e->exit_code != 0)
        e->message = said;
}

/* The program's own message takes precedence. */
static const char *own_words(const struct container_end *e, struct arena *a)
{
    const char *text = end_message_read(e->start, a);

    if (!text && e->exit_code != 0 && e->start->message_from_log_on_error)
        text = end_message_from_log(e->dir_fd, e->start, e->log->run, &e->log->cri, a);
    return text;
}

static bool says_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(text, *words))
            return true;
    return false;
}

/* Adds what the agent knew at the start, if that is what the program complains about. */
static const char *with_note(const struct container_end *e, struct arena *a, const char *message)
{
    static const char *const denied[] = {"permission denied", "EACCES", "not writable", NULL};
    static const char *const missing[] = {"no such file", "not found", "ENOENT", NULL};
    const char *note = NULL;

    if (e->start->denied_note && says_one_of(message, denied))
        note = e->start->denied_note;
    else if (e->start->missing_note && says_one_of(message, missing))
        note = e->start->missing_note;
    return note ? arena_printf(a, "%s; %s", message, note) : message;
}

void container_end_explain(struct container_end *e, struct arena *a)
{
    int status = e->slot->status;
    const char *own;

    e->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    e->exit_code = e->signal ? 128 + e->signal : WEXITSTATUS(status);
    if (e->slot->failure.stage != LAUNCH_STAGE_NONE)
        explain_start_error(e, a);
    else
        explain_exit(e, a);
    own = e->slot->failure.stage == LAUNCH_STAGE_NONE ? own_words(e, a) : NULL;
    if (own)
        e->message = own;
    if (e->message && e->exit_code != 0)
        e->message = with_note(e, a, e->message);
    if (!e->message)
        e->message = "out of memory";
}
