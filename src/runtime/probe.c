/* probe.c - see probe.h. The child writes one character, 0 for success or 1 for failure, then the
 * reason, and exits. It keeps its own time limit; we only enforce it when it does not. */
#include "runtime/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "loop/fs_user.h"
#include "runtime/cgroup.h"
#include "runtime/group.h"
#include "runtime/join.h"
#include "runtime/launch.h"

#define STUCK_MS 2000 /* beyond its timeout */
#define ANSWER_BYTES 4096u
#define REQUEST_LIMIT_BYTES (128u * 1024u)

/* --- in the child --- */

static _Noreturn void answer(int fd, bool well, const char *text)
{
    char out[PROBE_TEXT_SIZE];
    int n = snprintf(out, sizeof(out), "%c%s", well ? '0' : '1', text);

    if (write(fd, out, min_size((size_t)max_i64(n, 0), sizeof(out) - 1)) < 0)
        _exit(1);
    _exit(0);
}

static int64_t left_ms(int64_t until_ms)
{
    return max_i64(until_ms - group_clock_ms(), 0);
}

/* The start of a command's output, for the event; the rest is read too, so that it can continue. */
struct printed {
    char text[PROBE_TEXT_SIZE / 2];
    size_t len;
};

static void read_printed(int fd, struct printed *p)
{
    char more[ANSWER_BYTES];
    ssize_t n;

    while ((n = read(fd, more, sizeof(more))) > 0) {
        size_t room = min_size(sizeof(p->text) - 1 - p->len, (size_t)n);

        memcpy(p->text + p->len, more, room);
        p->len += room;
    }
    p->text[p->len] = '\0';
    p->text[strcspn(p->text, "\n")] = '\0';
}

/* False: it has not ended in time. */
static bool await_command(pid_t pid, int printed_fd, int64_t until_ms, struct printed *printed,
                          int *ret_status)
{
    struct pollfd fds[] = {{.fd = pidfd_open(pid, 0), .events = POLLIN},
                           {.fd = printed_fd, .events = POLLIN}};
    pid_t done;

    while ((done = waitpid(pid, ret_status, WNOHANG)) == 0 && left_ms(until_ms) > 0) {
        if (poll(fds, ELEMS(fds), (int)min_i64(left_ms(until_ms), INT32_MAX)) > 0)
            read_printed(printed_fd, printed);
    }
    read_printed(printed_fd, printed);
    return done != 0;
}

/* An image's files as its program sees them are in that program's view only. */
static int join_container(struct container_start *command, const struct pod_members *pod,
                          struct err *err)
{
    int rc = cgroup_enter(command->cgroups, false); /* while the groups are visible */

    command->cgroups = NULL;
    if (rc < 0)
        return err_set(err, ERR_INTERNAL, "cannot enter the container's control group: %s",
                       strerror(-rc));
    return join_namespaces(pod->program_fd, pod->program, err);
}

static _Noreturn void ask_command(const struct container_start *c, const struct probe_start *how,
                                  const struct pod_members *pod, int out, int64_t until_ms)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct container_start command = *c;
    struct launch_result r;
    struct launch_pipes pipes;
    struct printed printed = {.len = 0};
    int both[2], status = 0;
    bool ended;
    auto_err err = ERR_INIT;

    if (c->image && join_container(&command, pod, &err) != 0)
        answer(out, false, err.text ? err.text : "out of memory");
    if (pipe2(both, O_CLOEXEC | O_NONBLOCK) != 0)
        answer(out, false, strerror(errno));
    (void)fcntl(both[1], F_SETFL, 0);
    pipes = (struct launch_pipes){
        .in = -1, .out = both[1], .err = both[1], .joined = c->image != NULL};
    command.argv = how->argv;
    launch(&command, &pipes, NULL, &a, &r);
    if (r.pid == 0)
        answer(out, false, r.message);
    ended = await_command(r.pid, both[0], until_ms, &printed, &status);
    (void)kill(-r.pid, SIGKILL);
    if (!ended)
        answer(out, false, "the command took too long");
    answer(out, WIFEXITED(status) && WEXITSTATUS(status) == 0, printed.text);
}

static int connect_to_pod(const struct probe_start *how, const struct pod_members *pod,
                          int64_t until_ms, const char **ret_why)
{
    int fd = pod_port_connect(pod, (unsigned)how->port, (int)left_ms(until_ms), NULL);

    *ret_why = fd < 0 ? pod_port_problem(fd) : "";
    return fd;
}

/* A probe may name any address of the machine, and a server that checks a connection's owner must
 * not mistake the container's for root's. */
static int socket_of(const struct container_identity *id)
{
    struct fs_user saved = {0};
    int fd = -1;

    if (!id->wanted || fs_user_become(&saved, id->uid, id->gid, id->groups, id->groups_len) == 0)
        fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    fs_user_restore(&saved);
    return fd;
}

static int connect_by(const struct probe_start *how, const struct container_identity *id,
                      int64_t until_ms, const char **ret_why)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)how->port)};
    int fd = socket_of(id), error = 0;
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    socklen_t size = sizeof(error);

    *ret_why = "its host is not an IPv4 address";
    if (fd < 0 || inet_pton(AF_INET, how->host, &to.sin_addr) != 1)
        return -1;
    *ret_why = "no connection in time";
    if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0 && errno != EINPROGRESS)
        error = errno;
    else if (poll(&ready, 1, (int)left_ms(until_ms)) != 1 ||
             getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        return -1;
    if (error)
        *ret_why = strerror(error);
    return error ? -1 : fd;
}

static const char *host_of(const struct probe_start *how)
{
    return *how->host ? how->host : "127.0.0.1";
}

/* Only the status line matters. */
static int http_status(int fd, const struct probe_start *how, int64_t until_ms)
{
    struct buf request = BUF_INIT(REQUEST_LIMIT_BYTES);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char line[64];
    size_t len = 0;
    int status = 0;

    buf_addf(&request,
             "GET %s HTTP/1.1\r\nUser-Agent: muster-probe\r\n%sAccept: */*\r\n"
             "Connection: close\r\n\r\n",
             how->path, how->headers);
    if (request.failed || send(fd, request.data, request.len, MSG_NOSIGNAL) < 0)
        return 0;
    while (len < sizeof(line) - 1 && poll(&ready, 1, (int)left_ms(until_ms)) == 1) {
        ssize_t n = recv(fd, line + len, sizeof(line) - 1 - len, 0);

        if (n <= 0)
            break;
        len += (size_t)n;
    }
    line[len] = '\0';
    return sscanf(line, "HTTP/%*d.%*d %d", &status) == 1 ? status : 0;
}

static _Noreturn void ask_network(const struct container_start *c, const struct probe_start *how,
                                  const struct pod_members *pod, int out, int64_t until_ms)
{
    char text[128];
    const char *why;
    int fd = *how->host ? connect_by(how, &c->identity, until_ms, &why)
                        : connect_to_pod(how, pod, until_ms, &why);
    int status;

    if (fd < 0) {
        (void)snprintf(text, sizeof(text), "%.64s:%d: %s", host_of(how), (int)how->port, why);
        answer(out, false, text);
    }
    if (how->kind == PROBE_TCP)
        answer(out, true, "");
    status = http_status(fd, how, until_ms);
    if (status == 0)
        answer(out, false, "no answer in time");
    (void)snprintf(text, sizeof(text), "HTTP probe failed with statuscode: %d", status);
    answer(out, status >= 200 && status < 400, text);
}

static _Noreturn void sleep_for(const struct probe_start *how, int out, int64_t until_ms)
{
    int64_t wake_ms = min_i64(group_clock_ms() + how->delay_seconds * 1000, until_ms);

    while (left_ms(wake_ms) > 0)
        (void)poll(NULL, 0, (int)min_i64(left_ms(wake_ms), INT32_MAX));
    answer(out, true, "");
}

static _Noreturn void be_prober(const struct probe_start *how, const struct container_start *c,
                                const struct pod_members *pod, int out)
{
    int64_t until_ms = group_clock_ms() + how->timeout_seconds * 1000;
    sigset_t none;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, "muster-probe");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
    (void)signal(SIGTERM, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (how->kind == PROBE_EXEC)
        ask_command(c, how, pod, out, until_ms);
    if (how->kind == PROBE_SLEEP)
        sleep_for(how, out, until_ms);
    ask_network(c, how, pod, out, until_ms);
}

/* --- in the worker --- */

void probe_begin(struct probe *p, const struct probe_start *how, int64_t now_ms)
{
    *p = (struct probe){.how = how, .fd = -1};
    if (how->kind != PROBE_NONE)
        p->next_at_ms = now_ms + how->delay_seconds * 1000;
}

static void close_answer(struct probe *p)
{
    if (p->fd < 0)
        return;
    (void)close(p->fd);
    if (p->child_fd >= 0)
        (void)close(p->child_fd);
    p->fd = p->child_fd = -1;
}

void probe_end(struct probe *p)
{
    close_answer(p);
    p->next_at_ms = 0;
}

void probe_ask(struct probe *p, const struct container_start *c, const struct pod_members *pod,
               int64_t now_ms)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct container_start start = *c;
    int fds[2];
    pid_t pid;

    if (p->next_at_ms == 0 || now_ms < p->next_at_ms || p->fd >= 0)
        return;
    p->next_at_ms = now_ms + p->how->period_seconds * 1000;
    p->give_up_ms = now_ms + p->how->timeout_seconds * 1000 + STUCK_MS;
    p->text_len = 0;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return;
    start.env = pod_marked_env(&a, c->env, pod->pod->uid, c->name);
    pid = fork();
    if (pid == 0)
        be_prober(p->how, &start, pod, fds[1]);
    (void)close(fds[1]);
    (void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
    p->fd = fds[0];
    p->child_fd = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (pid < 0)
        close_answer(p);
    arena_release(&a);
}

static void judge(struct probe *p, bool well)
{
    p->good = well ? p->good + 1 : 0;
    p->bad = well ? 0 : p->bad + 1;
    if (p->good >= p->how->success_threshold) {
        p->passed = true;
        p->failed = false;
    } else if (p->bad >= p->how->failure_threshold) {
        p->failed = true;
        p->passed = false;
    }
}

bool probe_answer(struct probe *p, int64_t now_ms)
{
    ssize_t n;
    bool well;

    if (p->fd < 0)
        return false;
    n = read(p->fd, p->text + p->text_len, sizeof(p->text) - 1 - p->text_len);
    if (n > 0) {
        p->text_len += (size_t)n;
        return false;
    }
    if (n < 0 && now_ms < p->give_up_ms)
        return false;
    close_answer(p);
    p->text[p->text_len] = '\0';
    well = p->text_len > 0 && p->text[0] == '0';
    if (p->text_len == 0)
        (void)snprintf(p->text, sizeof(p->text), "1no answer");
    judge(p, well);
    return true;
}

int64_t probe_wake_ms(const struct probe *p)
{
    return p->fd >= 0 ? p->give_up_ms : p->next_at_ms;
}
