/* space.c - see space.h. Where a file system cannot allocate ahead nothing is kept, and a full disk
 * may refuse deletions too. */
#include "store/space.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define LOG_RESERVE_BYTES (2 * 1024 * 1024)
#define LOG_HEADER_BYTES 32
#define GROWTH_BYTES (256 * 1024)
/* Free bytes from which on new objects are taken again. */
#define ROOM_AGAIN_BYTES (8u * 1024u * 1024u)

/* SQLite holds no lock on the log, so that closing another descriptor of it loses none. */
static void reserve_log(const struct space *s)
{
    int fd = open(s->log_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return;
    (void)!fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, LOG_RESERVE_BYTES);
    (void)close(fd);
}

void space_init(struct space *s, sqlite3 *handle, const char *path, const char *log_path)
{
    int growth = GROWTH_BYTES, keep = 1;

    *s = (struct space){.handle = handle, .path = path, .log_path = log_path};
    (void)sqlite3_file_control(handle, NULL, SQLITE_FCNTL_CHUNK_SIZE, &growth);
    (void)sqlite3_file_control(handle, NULL, SQLITE_FCNTL_PERSIST_WAL, &keep);
    reserve_log(s);
}

bool space_want_pages(struct space *s, int64_t pages)
{
    sqlite3_int64 bytes = (sqlite3_int64)pages * PAGE_BYTES;

    if (pages <= s->allocated_pages)
        return true;
    if (sqlite3_file_control(s->handle, NULL, SQLITE_FCNTL_SIZE_HINT, &bytes) != SQLITE_OK) {
        s->scarce = true;
        return false;
    }
    bytes = (bytes + GROWTH_BYTES - 1) / GROWTH_BYTES * GROWTH_BYTES;
    s->allocated_pages = bytes / PAGE_BYTES;
    return true;
}

void space_look_again(struct space *s)
{
    struct statvfs fs;

    if (!s->scarce || statvfs(s->path, &fs) != 0 ||
        (uint64_t)fs.f_bavail * fs.f_frsize < ROOM_AGAIN_BYTES)
        return;
    s->scarce = false;
    reserve_log(s);
}

/* Without its header nothing in it counts: the next start need not read it, and a file that is put
 * in the database's place is not mixed with it. Its blocks stay ours. */
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
