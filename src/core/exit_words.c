/* exit_words.c - one table. Codes from 129 on are 128 plus the signal, as shells count. */
#include "core/exit_words.h"

#include <string.h>

#define SIGNAL_BASE 128
#define SIGNAL_LAST 64
#define KILLED 137
#define ASKED_FOR_RESTART 138 /* SIGUSR1 by number; by convention the program's own request */

static const struct {
    int code;
    const char *words;
    const char *alone; /* used instead of words when nothing else is known */
} meanings[] = {
    {1, NULL, "the program ended with an error"},
    {2, NULL, "the program was used incorrectly or ended with an error"},
    {126, "command found but not executable", NULL},
    {127, "command not found", NULL},
    {129, "hung up, SIGHUP", NULL},
    {130, "interrupted, SIGINT", NULL},
    {132, "illegal instruction, SIGILL: built for another CPU?", NULL},
    {134, "aborted, SIGABRT", NULL},
    {135, "bus error, SIGBUS: is /dev/shm too small?", NULL},
    {136, "arithmetic error, SIGFPE", NULL},
    {137, "killed, SIGKILL", "killed, SIGKILL: likely out of memory"},
    {138, "the program requested a restart", NULL},
    {139, "segmentation fault, SIGSEGV", NULL},
    {141, "broken pipe, SIGPIPE", NULL},
    {143, "terminated, SIGTERM", NULL},
};

static const struct {
    const char *reason, *words;
} reasons[] = {
    {"OOMKilled", "killed, SIGKILL: out of memory, according to the kernel"},
    {"ContainerCannotRun", "the container could not be started"},
    {"StartError", "the container could not be started"},
    {"SupervisorLost", "killed along with its supervisor, by a user or the kernel"},
    {"Evicted", "evicted by the node"},
    {"DeadlineExceeded", "the pod's own activeDeadlineSeconds passed"},
};

bool exit_by_signal(int code)
{
    return code > SIGNAL_BASE && code <= SIGNAL_BASE + SIGNAL_LAST && code != ASKED_FOR_RESTART;
}

static const char *words_of_reason(const char *reason)
{
    for (size_t i = 0; i < ELEMS(reasons); i++)
        if (strcmp(reasons[i].reason, reason) == 0)
            return reasons[i].words;
    return NULL;
}

static const char *words_of_code(int code, bool explained)
{
    for (size_t i = 0; i < ELEMS(meanings); i++)
        if (meanings[i].code == code)
            return meanings[i].alone && !explained ? meanings[i].alone : meanings[i].words;
    return NULL;
}

const char *exit_words(int code, const char *reason, bool explained)
{
    const char *words = words_of_reason(reason);

    /* The OOM killer hit a child process; the program's own exit code says what it made of that. */
    if (strcmp(reason, "OOMKilled") == 0 && code != KILLED)
        return "out of memory, according to the kernel";
    /* "Command not found" says more than that the container did not start. */
    if (words && strcmp(reason, "StartError") == 0 && words_of_code(code, explained))
        return words_of_code(code, explained);
    return words ? words : words_of_code(code, explained);
}
