/* cmd_down.c - `muster down`: stops the daemon of the data folder. Training continues; that is the
 * point. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/daemon.h"
#include "cli/home.h"
#include "cli/words.h"

#define STOP_TIMEOUT_MS 60000

struct down_options {
    const char *dir;
};

static const struct option_spec options[] = {
    OPTION_DIR(struct down_options),
    {0},
};

/* A pidfd stays with its process; that it is the holder is checked after opening it. */
static int open_holder(const struct home *home, struct home_holder *ret, struct err *err)
{
    struct home_holder again;
    int r = home_find_holder(home, ret, err), fd;

    if (r < 0)
        return r;
    if (r == 0)
        return err_set(err, ERR_NOT_FOUND, words("muster is not up (data folder %s)"), home->dir);
    if (ret->pid == 0) {
        err_set(err, ERR_CONFLICT, "muster is just starting or stopping on %s", home->dir);
        err_hint(err, "try again in a moment");
        return -EAGAIN;
    }
    fd = (int)syscall(SYS_pidfd_open, ret->pid, 0);
    if (fd < 0)
        return err_set(err, ERR_INTERNAL, "cannot reach process %d: %s", (int)ret->pid,
                       strerror(errno));
    if (home_find_holder(home, &again, err) == 1 && again.pid == ret->pid)
        return fd;
    close(fd);
    return err_is_set(err) ? -EIO
                           : err_set(err, ERR_NOT_FOUND,
                                     "muster is not up any more (data folder %s)", home->dir);
}

static int stop(const struct home *home, struct err *err)
{
    struct home_holder holder;
    int fd = open_holder(home, &holder, err);
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    int r;

    if (fd < 0)
        return fd;
    if (syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) != 0 && errno != ESRCH) {
        r = err_set(err, ERR_FORBIDDEN, "cannot stop process %d: %s", (int)holder.pid,
                    strerror(errno));
    } else {
        do
            r = poll(&gone, 1, STOP_TIMEOUT_MS);
        while (r < 0 && errno == EINTR);
        r = r > 0 ? 0 : err_set(err, ERR_TIMEOUT, "process %d does not stop", (int)holder.pid);
    }
    close(fd);
    return r;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct down_options *o = values;
    auto_err err = ERR_INIT;
    struct home home;
    size_t pods;

    (void)args;
    if (home_locate(&cli->arena, o->dir, &home, &err) || stop(&home, &err))
        return command_fail(cli, &err);
    pods = daemon_count_pods(&home);
    if (pods)
        printf("stopped; %zu pod%s still running, 'muster up' finds %s again\n", pods,
               pods == 1 ? " is" : "s are", pods == 1 ? "it" : "them");
    else
        puts("stopped");
    return EXIT_OK;
}

const struct command command_down = {
    .name = "down",
    .args = "",
    .summary = "Stop the daemon; running training continues",
    .examples = "  muster down\n",
    .options = options,
    .options_size = sizeof(struct down_options),
    .run = run,
};
