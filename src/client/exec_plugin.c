/* exec_plugin.c - see exec_plugin.h. The plugin's stderr is ours, as its user expects. */
#include "client/exec_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/timefmt.h"

#define ANSWER_LIMIT_BYTES (1024u * 1024u)
#define INFO_NAME "KUBERNETES_EXEC_INFO"

static int64_t monotonic_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- running --------------------------------------------------------------------------------- */

static bool is_named_in(const char *variable, const char *const *list)
{
    size_t len = strcspn(variable, "=") + 1;

    for (; *list; list++)
        if (strncmp(variable, *list, len) == 0)
            return true;
    return false;
}

static char **environment_of(struct arena *a, const struct exec_plugin *p)
{
    size_t ours = 0, theirs = 0, n = 0;
    char **env;

    while (environ[ours])
        ours++;
    while (p->env[theirs])
        theirs++;
    env = arena_alloc(a, (ours + theirs + 2) * sizeof(*env));
    if (!env)
        return NULL;
    for (size_t i = 0; i < ours; i++)
        if (!is_named_in(environ[i], p->env) &&
            strncmp(environ[i], INFO_NAME "=", sizeof(INFO_NAME)) != 0)
            env[n++] = environ[i];
    for (size_t i = 0; i < theirs; i++)
        env[n++] = arena_strdup(a, p->env[i]);
    env[n++] = arena_printf(a, INFO_NAME "=%s", p->info);
    env[n] = NULL;
    return env[n - 1] ? env : NULL;
}

static int spawn(struct arena *a, const struct exec_plugin *p, int out, pid_t *ret)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    char **env = environment_of(a, p);
    int rc;

    if (!env || posix_spawn_file_actions_init(&files) != 0)
        return ENOMEM;
    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&how);
    (void)posix_spawnattr_setsigmask(&how, &none);
    (void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (!p->interactive)
        (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    rc = posix_spawnp(ret, p->argv[0], &files, &how, (char *const *)(uintptr_t)p->argv, env);
    (void)posix_spawnattr_destroy(&how);
    (void)posix_spawn_file_actions_destroy(&files);
    return rc;
}

static int wait_limit_ms(const struct exec_plugin *p)
{
    return p->interactive ? EXEC_PLUGIN_INTERACTIVE_WAIT_MS : EXEC_PLUGIN_WAIT_MS;
}

/* Until it closes its output; false: timeout, or stopped. */
static bool read_all(const struct exec_plugin *p, int fd, int stop_fd, struct buf *out)
{
    int64_t end = monotonic_ms() + wait_limit_ms(p);
    char piece[4096];

    for (;;) {
        struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
        int64_t left = end - monotonic_ms();
        ssize_t n;

        if (left <= 0)
            return false;
        if (poll(fds, ELEMS(fds), (int)left) <= 0)
            continue;
        if (fds[1].revents)
            return false;
        n = read(fd, piece, sizeof(piece));
        if (n > 0)
            buf_add(out, piece, (size_t)n);
        else if (n == 0 || errno != EINTR)
            return true;
    }
}

static int wait_for(const struct exec_plugin *p, pid_t pid, bool in_time, struct err *err)
{
    int status = 0;

    if (!in_time)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            break;
    if (!in_time)
        return err_set(
            err, ERR_UNAUTHORIZED,
            "the kubeconfig's login plugin %s did not answer within %d seconds and was stopped",
            p->argv[0], wait_limit_ms(p) / 1000);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(err, ERR_UNAUTHORIZED, "the kubeconfig's login plugin %s failed with %s %d",
                       p->argv[0], WIFEXITED(status) ? "exit code" : "signal",
                       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return 0;
}

static int ask(struct arena *a, const struct exec_plugin *p, int stop_fd, struct buf *answer,
               struct err *err)
{
    int pipe_fds[2], rc;
    bool in_time;
    pid_t pid;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return err_set(err, ERR_INTERNAL, "cannot make a pipe: %s", strerror(errno));
    rc = spawn(a, p, pipe_fds[1], &pid);
    (void)close(pipe_fds[1]);
    if (rc != 0) {
        (void)close(pipe_fds[0]);
        rc = err_set(err, ERR_UNAUTHORIZED, "the kubeconfig's login plugin %s cannot be run: %s",
                     p->argv[0], strerror(rc));
        if (p->install_hint)
            err_hint(err, "%s", p->install_hint);
        return rc;
    }
    in_time = read_all(p, pipe_fds[0], stop_fd, answer);
    (void)close(pipe_fds[0]);
    return wait_for(p, pid, in_time, err);
}

/* --- parsing its output ---------------------------------------------------------------------- */

static int wrong(const struct exec_plugin *p, const char *what, struct err *err)
{
    return err_set(err, ERR_UNAUTHORIZED, "the answer of the login plugin %s is invalid: %s",
                   p->argv[0], what);
}

static const char *text_at(const struct json *status, const char *name)
{
    const char *text = json_get_string(status, name, "");

    return *text ? text : NULL;
}

static int read_answer(struct arena *a, const struct exec_plugin *p, const struct buf *answer,
                       struct credential *ret, struct err *err)
{
    const struct json *root = answer->failed ? NULL
                                             : json_parse(a, answer->data ? answer->data : "",
                                                          answer->len, NULL);
    const struct json *status = json_get(root, "status");
    const char *expires = text_at(status, "expirationTimestamp");

    *ret = (struct credential){.token = text_at(status, "token"),
                               .cert_pem = text_at(status, "clientCertificateData"),
                               .key_pem = text_at(status, "clientKeyData")};
    if (!json_string_is(json_get(root, "kind"), "ExecCredential"))
        return wrong(p, "it is not an ExecCredential in JSON", err);
    if (!json_string_is(json_get(root, "apiVersion"), p->api_version))
        return wrong(
            p, arena_printf(a, "apiVersion must be %s, as in the kubeconfig", p->api_version), err);
    if (!ret->token && !ret->cert_pem)
        return wrong(p, "status has neither token nor clientCertificateData", err);
    if (!ret->cert_pem != !ret->key_pem)
        return wrong(p, "status.clientCertificateData and clientKeyData must both be set", err);
    if (ret->token && strpbrk(ret->token, "\r\n"))
        return wrong(p, "status.token has more than one line", err);
    if (expires && time_parse(expires, &ret->expires_ms) < 0)
        return wrong(p, "status.expirationTimestamp is not a time", err);
    return 0;
}

int exec_plugin_run(struct arena *a, const struct exec_plugin *p, int stop_fd,
                    struct credential *ret, struct err *err)
{
    struct buf answer = BUF_INIT(ANSWER_LIMIT_BYTES);
    int rc = ask(a, p, stop_fd, &answer, err);

    if (rc == 0)
        rc = read_answer(a, p, &answer, ret, err);
    if (answer.data)
        explicit_bzero(answer.data, answer.len);
    buf_release(&answer);
    return rc;
}
