/* cmd_doctor.c - `muster doctor`: checks whether this machine has what training jobs need, and says
 * what to do if not. */
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

#include "agent/machine.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/home.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/tame.h"
#include "runtime/cgroup.h"
#include "runtime/mounts.h"

#define PORT 7447
#define TEXT_SIZE 512
#define GIB (1024.0 * 1024.0 * 1024.0)
#define DISK_FAIL_GIB 1.0
#define DISK_WARN_GIB 10.0
#define FILES_WANTED 4096u
#define STORAGE_LIMIT_BYTES (1024u * 1024u)

struct doctor_options {
    const char *dir;
};

static const struct option_spec options[] = {
    OPTION_DIR(struct doctor_options),
    {0},
};

enum finding { FINDING_OK, FINDING_WARN, FINDING_FAIL };

struct look {
    struct cli *cli;
    struct home home;
    struct home_holder holder;
    bool is_up;
    struct machine machine;
    char text[TEXT_SIZE];
    const char *fix; /* or NULL */
};

printf_like(4, 5) static enum finding
    say(struct look *l, enum finding what, const char *fix, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(l->text, sizeof(l->text), fmt, args);
    va_end(args);
    l->fix = what == FINDING_OK ? NULL : fix;
    return what;
}

/* The first line a program prints; false: it cannot be run, or fails. */
static bool first_line(const char *command, char out[TEXT_SIZE])
{
    FILE *pipe = popen(command, "re"); /* NOLINT(cert-env33-c): of constants only */
    bool any = pipe && fgets(out, TEXT_SIZE, pipe);

    if (any)
        out[strcspn(out, "\n")] = '\0';
    while (pipe && fgetc(pipe) != EOF)
        ;
    return pipe && pclose(pipe) == 0 && any;
}

static enum finding check_kernel(struct look *l)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    if (fd < 0)
        return say(l, FINDING_FAIL, "muster needs Linux 5.4 or newer", "Linux %s has no pidfd_open",
                   l->machine.kernel);
    close(fd);
    return say(l, FINDING_OK, NULL, "Linux %s, %s", l->machine.kernel, l->machine.os_image);
}

static enum finding check_cgroups(struct look *l)
{
    char name[CGROUP_NAME_BYTES], problem[TEXT_SIZE] = "";
    struct cgroups groups = {0};
    bool unified = false;

    cgroup_daemon_name(name);
    if (cgroups_init(&groups, &(struct cgroups_options){.root = "", .name = name}))
        return say(l, FINDING_FAIL, "free some memory", "out of memory");
    if (cgroups_problem(&groups))
        (void)snprintf(problem, sizeof(problem), "%s", cgroups_problem(&groups));
    for (size_t i = 0; i < groups.len; i++) {
        unified = unified || groups.places[i].unified;
        if (groups.places[i].current)
            (void)rmdir(groups.places[i].path);
    }
    cgroups_release(&groups);
    if (*problem)
        return say(l, FINDING_WARN,
                   "run muster as root, or in a group of its own: systemd-run --user --scope -p "
                   "Delegate=yes muster up",
                   "limits of CPU and memory are not enforced: %s", problem);
    return say(l, FINDING_OK, NULL, "version %d, limits are enforced", unified ? 2 : 1);
}

static enum finding check_namespaces(struct look *l)
{
    if (mounts_probe())
        return say(l, FINDING_OK, NULL, "pods get mounts of their own");
    return say(l, FINDING_WARN,
               access("/etc/hosts", F_OK) != 0
                   ? "echo 127.0.0.1 localhost >/etc/hosts"
                   : "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 "
                     "user.max_user_namespaces=10000; or run muster as root",
               "volumes cannot be mounted: %s", mounts_obstacle());
}

static enum finding check_gpus(struct look *l)
{
    char line[TEXT_SIZE] = "";

    if (l->machine.gpus > 0)
        return say(l, FINDING_OK, NULL, "%lld NVIDIA%s%s", (long long)l->machine.gpus,
                   *l->machine.gpu_product ? ", " : "", l->machine.gpu_product);
    if (first_line("lspci 2>/dev/null | grep -i nvidia", line))
        return say(l, FINDING_WARN, "install NVIDIA's driver; then nvidia-smi lists them",
                   "there is one, without its driver: %.200s", line);
    return say(l, FINDING_OK, NULL, "none; jobs run on CPUs");
}

static enum finding check_port(struct look *l)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(PORT),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    int r = fd < 0 ? -1 : setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));

    if (l->is_up) {
        close(fd);
        return say(l, FINDING_OK, NULL, "muster listens at %s", l->holder.address);
    }
    if (r == 0)
        r = bind(fd, (struct sockaddr *)&at, sizeof(at));
    if (fd >= 0)
        close(fd);
    if (r != 0 && home_is_service_up(&l->cli->arena))
        return say(l, FINDING_OK, NULL,
                   "%d is the system service's (data folder " SERVICE_FOLDER ")", PORT);
    if (r != 0)
        return say(l, FINDING_WARN, "muster up --listen 127.0.0.1:0 chooses a free one",
                   "%d is taken by another program", PORT);
    return say(l, FINDING_OK, NULL, "%d is free", PORT);
}

static enum finding check_disk(struct look *l)
{
    char *folder = strdup(l->home.dir), *slash;
    struct statvfs room;
    double free_gib;
    int r;

    /* It may not exist yet. */
    while (folder && (r = statvfs(folder, &room)) != 0 && errno == ENOENT &&
           (slash = strrchr(folder, '/')) && slash > folder)
        *slash = '\0';
    free(folder);
    if (!folder || r != 0)
        return say(l, FINDING_FAIL, "choose another folder with --dir or MUSTER_HOME",
                   "%.300s cannot be examined: %s", l->home.dir, strerror(errno));
    free_gib = (double)room.f_bavail * (double)room.f_frsize / GIB;
    return say(l,
               free_gib < DISK_FAIL_GIB   ? FINDING_FAIL
               : free_gib < DISK_WARN_GIB ? FINDING_WARN
                                          : FINDING_OK,
               "make room, or choose another folder with --dir or MUSTER_HOME",
               "%.1f GiB free for %.300s", free_gib, l->home.dir);
}

static enum finding check_files(struct look *l)
{
    struct rlimit limit = {0};

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < FILES_WANTED)
        return say(l, FINDING_WARN, "raise it: ulimit -Hn 65536, or LimitNOFILE= of the unit",
                   "at most %llu open files", (unsigned long long)limit.rlim_max);
    return say(l, FINDING_OK, NULL, "up to %llu", (unsigned long long)limit.rlim_max);
}

static enum finding check_clock(struct look *l)
{
    struct timex now = {0};
    int state = adjtimex(&now);

    if (state < 0)
        return say(l, FINDING_WARN, "check with: timedatectl",
                   "cannot tell whether it is synchronized");
    if (now.status & STA_UNSYNC)
        return say(l, FINDING_WARN, "on several machines: timedatectl set-ntp true",
                   "not synchronized");
    return say(l, FINDING_OK, NULL, "synchronized");
}

static enum finding check_python(struct look *l)
{
    char line[TEXT_SIZE];

    if (!first_line("python3 -c 'import sys; print(sys.version.split()[0], sys.executable)' "
                    "2>/dev/null",
                    line))
        return say(l, FINDING_WARN, "apt install python3", "python3 is not installed");
    return say(l, FINDING_OK, NULL, "%.300s", line);
}

/* Found, not imported: that would take seconds. */
static enum finding check_torch(struct look *l)
{
    char line[TEXT_SIZE];

    if (!first_line("python3 -c 'import importlib.util as u, importlib.metadata as m; "
                    "print(m.version(\"torch\") if u.find_spec(\"torch\") else 1/0)' 2>/dev/null",
                    line))
        return say(l, FINDING_WARN, "pip install torch, in the environment you run muster from",
                   "python3 has no torch");
    return say(l, FINDING_OK, NULL, "torch %.100s", line);
}

static enum finding check_mpirun(struct look *l)
{
    char line[TEXT_SIZE];

    if (!first_line("mpirun --version 2>/dev/null", line))
        return say(l, FINDING_WARN, "for MPI jobs: apt install openmpi-bin",
                   "mpirun is not installed");
    return say(l, FINDING_OK, NULL, "%.200s", line);
}

static enum finding check_daemon(struct look *l)
{
    if (l->is_up)
        return say(l, FINDING_OK, NULL, "up, process %d", (int)l->holder.pid);
    return say(l, FINDING_OK, NULL, "not up; 'muster up --detach' or 'muster run' starts it");
}

/* A plain error names what is damaged, one to a line. */
static enum finding check_storage(struct look *l)
{
    const struct session_options own = {.dir = l->home.dir};
    struct session session;
    struct buf body = BUF_INIT(STORAGE_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    int rc;

    if (!l->is_up)
        return say(l, FINDING_OK, NULL, "not checked: the daemon is not up");
    rc = session_open(l->cli, &own, &session, &err);
    if (rc == 0) {
        rc = session_fetch(&session, "/readyz/storage", &body, &err);
        session_close(&session);
    }
    buf_release(&body);
    return rc == 0 ? say(l, FINDING_OK, NULL, "no damaged objects")
                   : say(l, FINDING_FAIL, "see docs/storage.md, Damage", "%s", err.text);
}

static const struct {
    const char *name;
    enum finding (*look)(struct look *l);
} checks[] = {
    {"kernel", check_kernel},   {"cgroups", check_cgroups},  {"namespaces", check_namespaces},
    {"GPUs", check_gpus},       {"daemon", check_daemon},    {"port", check_port},
    {"disk", check_disk},       {"open files", check_files}, {"clock", check_clock},
    {"python", check_python},   {"torch", check_torch},      {"mpirun", check_mpirun},
    {"storage", check_storage},
};

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    static const char *const words[] = {"ok  ", "warn", "fail"};
    static const char *const colors[] = {"\033[32m", "\033[33m", "\033[31m"};
    const struct doctor_options *o = values;
    struct look l = {.cli = cli};
    auto_err err = ERR_INIT;
    size_t counts[3] = {0};

    (void)args;
    if (home_locate(&cli->arena, o->dir, &l.home, &err))
        return command_fail(cli, &err);
    l.is_up = home_find_holder(&l.home, &l.holder, &err) > 0;
    machine_read(&l.machine);
    for (size_t i = 0; i < ELEMS(checks); i++) {
        enum finding what = checks[i].look(&l);

        counts[what]++;
        tame_blank(l.text);
        printf("%s%s%s  %-10s  %s\n", cli->talk.color_out ? colors[what] : "", words[what],
               talk_plain(&cli->talk), checks[i].name, l.text);
        if (l.fix)
            printf("      %-10s  fix: %s\n", "", l.fix);
    }
    if (counts[FINDING_FAIL])
        talk_note(&cli->talk,
                  "%zu of %zu checks failed: muster will not work here until that is fixed",
                  counts[FINDING_FAIL], ELEMS(checks));
    return counts[FINDING_FAIL] ? EXIT_FAILED : EXIT_OK;
}

const struct command command_doctor = {
    .name = "doctor",
    .args = "",
    .summary = "Check this machine, and say how to fix problems",
    .examples = "  muster doctor\n",
    .help = "Changes nothing. A warning costs a feature; after a failure nothing works, and the\n"
            "exit code is 1.\n",
    .options = options,
    .options_size = sizeof(struct doctor_options),
    .run = run,
};
