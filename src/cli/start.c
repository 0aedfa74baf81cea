/* start.c - see start.h. */
#include "cli/start.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/home.h"

/* Another `muster run` may be starting it right now: one at a time. */
static int lock_start(struct cli *cli, const struct home *home, struct err *err)
{
    const char *path = arena_printf(&cli->arena, "%s/start.lock", home->dir);
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd < 0)
        return err_set(err, ERR_INTERNAL, "cannot open %s: %s", path ? path : "a file",
                       strerror(errno));
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR)
        ;
    return fd;
}

/* Its messages go to stderr: stdout has the jobs' output. */
static int start_daemon(const struct home *home, struct err *err)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        execl("/proc/self/exe", "muster", "up", "--detach", "--dir", home->dir, (char *)NULL);
        _exit(EXIT_FAILED);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    err_set(err, ERR_UNAVAILABLE, "muster is not up, and could not be started");
    err_hint(err, "start it with: muster up --detach");
    return -EIO;
}

static int ensure_daemon(struct cli *cli, const char *dir, struct err *err)
{
    struct home_holder holder;
    struct home home;
    int lock, result;

    if (home_locate(&cli->arena, dir, &home, err) || home_create(&home, err))
        return -EINVAL;
    lock = lock_start(cli, &home, err);
    if (lock < 0)
        return lock;
    result = home_find_holder(&home, &holder, err);
    if (result == 0)
        result = start_daemon(&home, err);
    close(lock);
    return result < 0 ? result : 0;
}

int start_session(struct cli *cli, const struct session_options *options, struct session *ret,
                  struct err *err)
{
    if (session_uses_own_daemon(options) && ensure_daemon(cli, options->dir, err))
        return -EINVAL;
    return session_open(cli, options, ret, err);
}
