/* elected.c - see elected.h. */
#include "cli/elected.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "control/leader.h"
#include "loop/random.h"

#define IDENTITY_SIZE 256

struct elected {
    struct control_options options;
    struct leader *leader;
    struct control *control; /* while it leads */
};

/* Machine and process namespace, in which a process number means something: "host_ns_". */
static void write_place(char out[IDENTITY_SIZE])
{
    char host[128] = "unknown";
    struct stat ns = {0};

    (void)gethostname(host, sizeof(host) - 1);
    if (stat("/proc/self/ns/pid", &ns) < 0)
        ns.st_ino = 0;
    (void)snprintf(out, IDENTITY_SIZE, "%s_%lu_", host, (unsigned long)ns.st_ino);
}

static void write_identity(char out[IDENTITY_SIZE])
{
    char uid[RANDOM_UID_SIZE];
    size_t len;

    write_place(out);
    random_uid(uid);
    len = strlen(out);
    (void)snprintf(out + len, IDENTITY_SIZE - len, "%ld_%s", (long)getpid(), uid);
}

/* A process of this place whose number nobody has any more. */
static bool is_gone(const char *identity)
{
    char place[IDENTITY_SIZE];
    long pid;

    write_place(place);
    if (strncmp(identity, place, strlen(place)) != 0)
        return false;
    pid = strtol(identity + strlen(place), NULL, 10);
    return pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static void on_change(void *arg, bool leads)
{
    struct elected *e = arg;
    auto_err err = ERR_INIT;

    control_free(e->control);
    e->control = leads ? control_new(&e->options, &err) : NULL;
    if (leads && !e->control)
        log_error("%s", err.text);
}

struct elected *elected_new(const char *lease, const struct control_options *options,
                            struct err *err)
{
    struct elected *e = calloc(1, sizeof(*e));
    char identity[IDENTITY_SIZE];

    write_identity(identity);
    if (e) {
        e->options = *options;
        e->leader = leader_new(&(struct leader_options){.transport = options->transport,
                                                        .clock = options->clock,
                                                        .name = lease,
                                                        .identity = identity,
                                                        .is_gone = is_gone,
                                                        .on_change = on_change,
                                                        .arg = e});
    }
    if (e && e->leader)
        return e;
    err_set(err, ERR_INTERNAL, "out of memory");
    free(e);
    return NULL;
}

void elected_free(struct elected *e)
{
    if (!e)
        return;
    leader_free(e->leader);
    control_free(e->control);
    free(e);
}
