/* mpi_watch.c - see mpi_watch.h. Only stderr passes through us; the ranks' output goes its own
 * way. */
#include "cli/mpi_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/output.h"

#define READ_BYTES 65536
/* How long mpirun may take to notice that no rank is left, and then to end when told to. */
#define LOST_MS 10000
#define END_MS 5000

static const int passed_on[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP};

struct mpirun {
    pid_t pid;
    int errors, signals; /* its stderr; our own signals */
    struct mpi_ranks *ranks;
    bool over;
    int64_t lost_since_ms; /* 0: they are not lost */
    int told;              /* termination signals sent */
    int status;
    struct mpi_words words;
};

/* In its own process group: otherwise a signal to our group would arrive twice, and mpirun does not
 * clean up on the second. */
static _Noreturn void become(const char *path, const char *const *argv, int err_fd, pid_t parent)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setpgid(0, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && dup2(err_fd, 2) == 2)
        (void)execv(path, (char *const *)(uintptr_t)argv);
    _exit(127);
}

static int start(struct mpirun *m, const char *path, const char *const *argv)
{
    pid_t parent = getpid();
    sigset_t set;
    int ends[2];

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < ELEMS(passed_on); i++)
        (void)sigaddset(&set, passed_on[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0 || pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    m->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    m->pid = m->signals >= 0 ? fork() : -1;
    if (m->pid == 0)
        become(path, argv, ends[1], parent);
    m->errors = ends[0];
    (void)close(ends[1]);
    return m->pid < 0 ? -errno : 0;
}

/* Each rank has a connection. mpirun keeps its original limit. */
static void allow_many_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void pass_errors(struct mpirun *m)
{
    static char bytes[READ_BYTES];
    ssize_t n = read(m->errors, bytes, sizeof(bytes));

    if (n > 0) {
        mpi_words_feed(&m->words, bytes, (size_t)n);
        if (output_bytes(STDERR_FILENO, bytes, (size_t)n) == 0)
            return;
    } else if (n < 0 && errno == EINTR) {
        return;
    }
    (void)close(m->errors);
    m->errors = -1;
}

static void pass_signals(struct mpirun *m)
{
    struct signalfd_siginfo info;

    while (read(m->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo != SIGCHLD && !m->over)
            (void)kill(m->pid, (int)info.ssi_signo); /* not reaped: the pid is its own */
    if (!m->over && waitpid(m->pid, &m->status, WNOHANG) == m->pid)
        m->over = true;
}

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Ends an mpirun that waits for lost ranks. Returns how long to wait; -1: forever. */
static int give_up(struct mpirun *m)
{
    int64_t now = now_ms(), left;

    if (!mpi_ranks_are_lost(m->ranks)) {
        m->lost_since_ms = 0;
        return -1;
    }
    if (m->lost_since_ms == 0)
        m->lost_since_ms = now;
    left = m->lost_since_ms + LOST_MS + m->told * END_MS - now;
    if (left > 0)
        return (int)left;
    (void)kill(m->pid, m->told == 0 ? SIGTERM : SIGKILL);
    m->told++;
    return END_MS;
}

/* Its stderr may be held open by leftovers, which are not waited for. */
static void follow(struct mpirun *m)
{
    while (!m->over) {
        struct pollfd fds[] = {{.fd = m->signals, .events = POLLIN},
                               {.fd = m->errors, .events = POLLIN},
                               {.fd = mpi_ranks_fd(m->ranks), .events = POLLIN}};

        if (poll(fds, ELEMS(fds), give_up(m)) < 0)
            continue;
        if (fds[1].revents)
            pass_errors(m);
        if (fds[2].revents)
            mpi_ranks_serve(m->ranks);
        if (fds[0].revents)
            pass_signals(m);
    }
    if (m->errors >= 0)
        (void)fcntl(m->errors, F_SETFL, O_NONBLOCK);
    while (m->errors >= 0)
        pass_errors(m);
}

int mpi_watch_run(const char *path, const char *const *argv, struct mpi_ranks *ranks,
                  struct arena *a, const char **ret_cause, struct err *err)
{
    struct mpirun m = {.errors = -1, .signals = -1, .ranks = ranks};
    int code, rc = start(&m, path, argv);
    struct mpi_end failed;
    bool any;

    if (rc < 0)
        return err_set(err, ERR_INTERNAL, "cannot run %s: %s", path, strerror(-rc));
    mpi_words_init(&m.words);
    allow_many_files();
    follow(&m);
    (void)close(m.signals);
    any = mpi_ranks_failure(ranks, &failed);
    if (m.told > 0)
        m.status = 0; /* the ranks' results count */
    code = WIFSIGNALED(m.status) ? 128 + WTERMSIG(m.status) : WEXITSTATUS(m.status);
    *ret_cause = WIFSIGNALED(m.status) ? NULL
                                       : mpi_words_cause(&m.words, a, any ? &failed : NULL, &code);
    mpi_words_release(&m.words);
    return code;
}
