/* exit_words.c - one table. Codes from 129 on are 128 plus the signal, as shells count. */
#include "core/exit_words.h"

#include <string.h>

static const struct {
    int code;
    const char *words;
} meanings[] = {
    {1, "the program ended with an error"},
    {2, "the program was called wrongly or ended with an error"},
    {126, "command found but not executable"},
    {127, "command not found"},
    {129, "hung up, SIGHUP"},
    {130, "interrupted, SIGINT"},
    {132, "illegal instruction, SIGILL: built for another CPU?"},
    {134, "aborted, SIGABRT"},
    {135, "bus error, SIGBUS: is /dev/shm too small?"},
    {136, "arithmetic error, SIGFPE"},
    {137, "killed, SIGKILL: perhaps out of memory"},
    {138, "the program asked to be run again"},
    {139, "segmentation fault, SIGSEGV"},
    {141, "broken pipe, SIGPIPE"},
    {143, "terminated, SIGTERM"},
};

static const struct {
    const char *reason, *words;
} reasons[] = {
    {"OOMKilled", "out of memory: it used more than its memory limit"},
    {"ContainerCannotRun", "the container could not be started"},
    {"StartError", "the container could not be started"},
    {"Evicted", "evicted by the node"},
    {"DeadlineExceeded", "the pod's own activeDeadlineSeconds passed"},
};

const char *exit_words(int code, const char *reason)
{
    for (size_t i = 0; i < ELEMS(reasons); i++)
        if (strcmp(reasons[i].reason, reason) == 0)
            return reasons[i].words;
    for (size_t i = 0; i < ELEMS(meanings); i++)
        if (meanings[i].code == code)
            return meanings[i].words;
    return NULL;
}
