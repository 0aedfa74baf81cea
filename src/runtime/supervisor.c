/*
 * supervisor.c - see supervisor.h. Sets up a pod's group (group.h) and leaves it to its keeper.
 *
 * Starts a pod at most once: first the lock, then the marker, then anything else.
 */
#include "runtime/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/keeper.h"
#include "runtime/mounts.h"
#include "runtime/oom.h"

enum exit_status { EXIT_STARTED = 0, EXIT_FAILED = 1, EXIT_REFUSED = 3 };

static void redirect_stdio(int dir_fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log = openat(dir_fd, POD_FILE_SUPERVISOR_LOG, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                     0600);

    (void)dup2(null, 0);
    (void)dup2(null, 1);
    (void)dup2(log >= 0 ? log : null, 2);
    if (null > 2)
        (void)close(null);
    if (log > 2)
        (void)close(log);
}

/* Everything the group will need: from here on its processes only fork. */
static int prepare(struct group *g, struct err *err)
{
    const struct json *v = pod_file_read_json(g->dir_fd, POD_FILE_RUN, &g->arena, err);
    int rc;

    if (!v)
        return err_errno(err->reason);
    rc = pod_start_from_json(&g->arena, v, &g->pod, err);
    if (rc == 0)
        rc = group_open(g, err);
    if (rc == 0 && g->pod.hosts_path)
        rc = mounts_enter(&g->pod, err);
    return rc;
}

/* Nothing was started, and nothing will be. */
static void say_failed(struct group *g, const char *message)
{
    struct container_state list[POD_CONTAINERS_LIMIT];
    struct pod_record record = {.run = {.ns = g->pod.ns ? g->pod.ns : "",
                                        .name = g->pod.name ? g->pod.name : "",
                                        .uid = g->pod.uid ? g->pod.uid : "",
                                        .owner = g->pod.owner,
                                        .attempt = g->pod.attempt,
                                        .containers = list,
                                        .containers_len = g->pod.containers_len},
                                .final = true};
    struct timespec now;
    int rc;

    (void)fprintf(stderr, "cannot start the pod: %s\n", message);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    for (size_t i = 0; i < g->pod.containers_len; i++)
        list[i] = (struct container_state){.name = g->pod.containers[i].name,
                                           .init = g->pod.containers[i].init,
                                           .phase = CONTAINER_TERMINATED,
                                           .exit_code = 128,
                                           .finished_ms = (int64_t)now.tv_sec * 1000,
                                           .reason = "StartError",
                                           .message = message};
    rc = pod_record_write(g->dir_fd, &record, POD_SYNCED);
    if (rc != 0)
        (void)fprintf(stderr, "%s: %s\n", POD_FILE_STATE, strerror(-rc));
}

static void stay_with_pod(int dir_fd, int lock_fd)
{
    struct group g = {
        .dir_fd = dir_fd, .lock_fd = lock_fd, .arena = ARENA_INIT(POD_ARENA_LIMIT_BYTES)};
    auto_err err = ERR_INIT;

    (void)setsid();
    oom_protect();
    redirect_stdio(dir_fd);
    if (chdir("/") != 0)
        (void)fprintf(stderr, "/: %s\n", strerror(errno));
    if (prepare(&g, &err) != 0)
        say_failed(&g, err.text ? err.text : "out of memory");
    else
        keeper_stay(&g);
    arena_release(&g.arena);
}

int supervisor_main(int argc, char **argv)
{
    int dir_fd, lock_fd, rc;
    pid_t pid;

    if (argc != 3) {
        (void)fprintf(stderr, "usage: muster " SUPERVISOR_COMMAND " POD-FOLDER\n");
        return EXIT_FAILED;
    }
    (void)close_range(3, ~0u, 0);
    dir_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return EXIT_FAILED;
    lock_fd = pod_lock_take(dir_fd);
    if (lock_fd < 0)
        return lock_fd == -EAGAIN ? EXIT_REFUSED : EXIT_FAILED;
    rc = pod_mark_started(dir_fd);
    if (rc != 0)
        return rc == -EEXIST ? EXIT_REFUSED : EXIT_FAILED;
    pid = fork();
    if (pid != 0)
        return pid > 0 ? EXIT_STARTED : EXIT_FAILED; /* the child holds the lock now too */
    stay_with_pod(dir_fd, lock_fd);
    (void)close(lock_fd);
    (void)close(dir_fd);
    return EXIT_STARTED;
}
