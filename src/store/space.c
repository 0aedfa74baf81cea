/* space.c - see space.h. On a file system that cannot preallocate nothing is reserved, and a full
 * disk may refuse deletions too. */
#include "store/space.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LOG_RESERVE_BYTES (2 * 1024 * 1024)
#define LOG_HEADER_BYTES 32
/* Free bytes above which new objects are accepted again. */
#define ROOM_AGAIN_BYTES (8u * 1024u * 1024u)

/* SQLite holds no lock on the log, so closing another descriptor of it loses none. */
void space_reserve_log(const struct space *s)
{
    int fd = open(s->log_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return;
    (void)!fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, LOG_RESERVE_BYTES);
    (void)close(fd);
}

void space_init(struct space *s, const char *path, const char *log_path)
{
    *s = (struct space){
        .path = path, .log_path = log_path, .fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
    space_reserve_log(s);
}

void space_release(struct space *s)
{
    if (s->fd > 0)
        (void)close(s->fd);
    s->fd = -1;
}

static bool allocate(const struct space *s, int64_t from, int64_t to)
{
    return from >= to || fallocate(s->fd, 0, from, to - from) == 0 ||
           (errno != ENOSPC && errno != EDQUOT);
}

/* Before SQLite does it, which would write into every block. The required part first: an attempt
 * that fails may release what it got. */
bool space_want_pages(struct space *s, int64_t pages)
{
    int64_t had = s->allocated_pages * SPACE_PAGE_BYTES, needed = pages * SPACE_PAGE_BYTES;
    int64_t wanted = (needed + SPACE_STEP_BYTES - 1) / SPACE_STEP_BYTES * SPACE_STEP_BYTES;

    if (pages <= s->allocated_pages)
        return true;
    if (!allocate(s, had, needed)) {
        s->scarce = true;
        return false;
    }
    if (!allocate(s, needed, wanted)) {
        s->scarce = true;
        wanted = needed;
    }
    s->allocated_pages = wanted / SPACE_PAGE_BYTES;
    return true;
}

void space_look_again(struct space *s)
{
    struct statvfs fs;

    if (!s->scarce || statvfs(s->path, &fs) != 0 ||
        (uint64_t)fs.f_bavail * fs.f_frsize < ROOM_AGAIN_BYTES)
        return;
    s->scarce = false;
    space_reserve_log(s);
}

/* Without its header the log's contents do not count: the next start need not read it, and a
 * database restored in its place is not mixed with it. Its blocks stay allocated. */
void space_empty_log(const char *log_path)
{
    static const char nothing[LOG_HEADER_BYTES];
    int fd = open(log_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;

    if (fd < 0)
        return;
    if (pwrite(fd, nothing, sizeof(nothing), 0) == sizeof(nothing) && fstat(fd, &st) == 0 &&
        st.st_size > LOG_RESERVE_BYTES)
        (void)!ftruncate(fd, LOG_RESERVE_BYTES);
    (void)close(fd);
}
