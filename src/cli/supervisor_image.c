/* supervisor_image.c - see supervisor_image.h. A sealed file in memory: what pods run stays what
 * was built, even when the binary is replaced. */
#include "cli/supervisor_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3; before that every such file is executable */
#endif

extern const char supervisor_image[];
extern const uint64_t supervisor_image_len;

static int make_file(void)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("muster-supervise", flags | MFD_EXEC);

    return fd < 0 && errno == EINVAL ? memfd_create("muster-supervise", flags) : fd;
}

static bool fill(int fd)
{
    size_t done = 0;

    while (done < supervisor_image_len) {
        ssize_t n = write(fd, supervisor_image + done, supervisor_image_len - done);

        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0;
}

static int open_image(void)
{
    int fd = supervisor_image_len ? make_file() : -1;

    if (fd < 0 || fill(fd))
        return fd;
    (void)close(fd);
    return -1;
}

const char *supervisor_image_path(void)
{
    static char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
    static bool is_asked;
    int fd;

    if (!is_asked && (fd = open_image()) >= 0)
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    is_asked = true;
    return *path ? path : NULL;
}
