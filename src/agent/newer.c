/* newer.c - see newer.h. A mark in the pod's folder remembers it: the database soon has later
 * revisions than the pod's. */
#include "agent/newer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "runtime/podfolder.h"

static int open_folder(struct arena *a, const char *pod_root, const char *uid)
{
    const char *path = arena_printf(a, "%s/%s", pod_root, uid);

    return path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

bool newer_check(const char *pod_root, const struct pod_run *run, int64_t revision)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    int rc, fd = open_folder(&a, pod_root, run->uid);
    bool newer = fd >= 0 && pod_is_newer(fd);

    if (fd >= 0 && !newer) {
        const struct json *start = pod_file_read_json(fd, POD_FILE_RUN, &a, NULL);

        newer = json_get_int(start, "revision", 0) > revision;
        rc = newer ? pod_mark_newer(fd) : 0;
        if (rc != 0)
            log_error("pod %s/%s: %s: %s; it will be ended at the next start", run->ns, run->name,
                      POD_FILE_NEWER, strerror(-rc));
    }
    if (newer)
        log_warn("pod %s/%s runs, but %s", run->ns, run->name, newer_text(&a, pod_root, run->uid));
    if (fd >= 0)
        (void)close(fd);
    arena_release(&a);
    return newer;
}

void newer_forget(const char *pod_root, const char *uid)
{
    struct arena a = ARENA_INIT(4096);
    const char *path = arena_printf(&a, "%s/%s/" POD_FILE_NEWER, pod_root, uid);

    if (path)
        (void)unlink(path);
    arena_release(&a);
}

const char *newer_text(struct arena *a, const char *pod_root, const char *uid)
{
    int fd = open_folder(a, pod_root, uid);
    const struct json *state = fd < 0 ? NULL : pod_file_read_json(fd, POD_FILE_STATE, a, NULL);
    const char *text = arena_printf(a,
                                    "the database is older than it and does not know it: it goes "
                                    "on, and new pods wait for it; 'kill %" PRId64 "' ends it",
                                    json_get_int(state, "keeperPid", 0));

    if (fd >= 0)
        (void)close(fd);
    return text ? text : "out of memory";
}
