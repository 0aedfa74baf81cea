/*
 * mpi_rank.c - `muster mpi-rank PROGRAM...`: the rank's side of mpi_ranks.h. It is recognized
 * before options are parsed: all of them are the program's.
 *
 * mpirun's signals go to the rank's whole process group, so the program gets them directly: we only
 * must not die of them before it. It dies with us, and we end the way it did.
 */
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/mpi_ranks.h"
#include "runtime/oom.h"

#define WORD_SIZE 254
#define WORDS_LIMIT_BYTES 65536u
#define EXIT_NOT_TOLD 1 /* how the program ended is unknown */
#define EXIT_NOT_STARTED 127

static const char *first_of(const char *const *variables, const char *otherwise)
{
    for (; *variables; variables++) {
        const char *value = getenv(*variables);

        if (value && *value && !strpbrk(value, " \n"))
            return value;
    }
    return otherwise;
}

static int dial(const char *address, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found;
    int fd = -1;

    if (getaddrinfo(address, port, &hints, &found) != 0)
        return -1;
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
        (void)close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static bool tell(int fd, const char *line, int len)
{
    return len > 0 && send(fd, line, (size_t)len, MSG_NOSIGNAL) == len;
}

/* The connection for reporting the end; -1 with a message on stderr. */
static int report_start(void)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", NULL};
    static const char *const groups[] = {"PMIX_NAMESPACE", "PMI_KVSNAME", NULL};
    char address[WORD_SIZE], port[16], key[64], host[WORD_SIZE] = "launcher", line[4 * WORD_SIZE];
    const char *where = getenv(MPI_RANKS_VARIABLE), *rank = first_of(ranks, "-1");
    int fd, len;

    if (!where || sscanf(where, "%253s %15s %63s %253s", address, port, key, host) < 3) {
        fprintf(stderr,
                "error: " MPI_RANKS_VARIABLE " is not set: muster mpi-launch starts ranks\n");
        return -1;
    }
    fd = dial(address, port);
    len = snprintf(line, sizeof(line), "%s %.60s.%.10s %.10s %s\n", key, first_of(groups, "-"),
                   rank, rank, host);
    if (fd >= 0 && tell(fd, line, len))
        return fd;
    fprintf(stderr, "error: rank %s on %s cannot reach its launcher at %s port %s: %s\n", rank,
            host, address, port, strerror(errno));
    return -1;
}

static bool report_end(int fd, int code, const char *why)
{
    char line[WORD_SIZE];

    if (!tell(fd, line, snprintf(line, sizeof(line), "%d %.200s\n", code, why)))
        return false;
    return recv(fd, line, 1, 0) == 1;
}

/* How its program ended. The launcher has another memory: what is known of ours is said here. */
static bool report(int fd, int status, struct oom_count before)
{
    struct arena a = ARENA_INIT(WORDS_LIMIT_BYTES);
    const char *reason, *why = "";
    bool told;

    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        why = oom_words(&a, before, oom_count_read(""), &reason);
    told = report_end(fd, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), why);
    arena_release(&a);
    return told;
}

static _Noreturn void become(char **argv, const sigset_t *mask, pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
        sigprocmask(SIG_SETMASK, mask, NULL) == 0)
        (void)execvp(argv[0], argv);
    fprintf(stderr, "error: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(EXIT_NOT_STARTED);
}

/* So that mpirun sees what it would have seen. */
static int end_likewise(int status)
{
    struct rlimit no_core = {0};
    sigset_t none;

    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    (void)setrlimit(RLIMIT_CORE, &no_core); /* the program has dumped its own */
    (void)signal(WTERMSIG(status), SIG_DFL);
    (void)raise(WTERMSIG(status));
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    return 128 + WTERMSIG(status);
}

int mpi_rank_main(int argc, char **argv)
{
    int status = 0, fd = argc > 0 ? report_start() : -1;
    struct oom_count kills = oom_count_read("");
    pid_t parent = getpid(), pid;
    sigset_t all, before;

    if (fd < 0)
        return EXIT_NOT_TOLD;
    (void)unsetenv(MPI_RANKS_VARIABLE);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &before);
    pid = fork();
    if (pid == 0)
        become(argv, &before, parent);
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            break;
    if (pid < 0)
        status = EXIT_NOT_STARTED << 8;
    if (!report(fd, status, kills)) {
        fprintf(stderr, "error: a rank has lost its launcher\n");
        return EXIT_NOT_TOLD;
    }
    return end_likewise(status);
}
