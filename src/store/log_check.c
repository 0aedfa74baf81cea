/*
 * log_check.c - see log_check.h.
 *
 * Each frame's checksum continues that of the frame before, so frames behind a damaged one can
 * still be verified from what is stored there. A transaction is written only once the one before it
 * is synced, and one that fails or is cut off is overwritten from its first frame on. So a frame
 * that continues a commit proves that this commit, and all before it, had been on disk.
 *
 * A damaged header hides the whole log. It may also be one that was cut off when the log was
 * started again; then all transactions are in the database, and the pages there are compared.
 */
#include "store/log_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES 32
#define FRAME_HEADER_BYTES 24
#define PAGE_BYTES 4096   /* when the header is unreadable */
#define MAGIC 0x377f0682u /* or the next: words are big-endian */

struct sum {
    uint32_t a, b;
};

struct frame {
    uint32_t page, size; /* size: of the database, where it ends a transaction */
    uint64_t salts;
    struct sum stored, computed;
    bool follows; /* verified as the continuation of the frame before */
};

struct reading {
    int fd, database_fd;
    bool has_header, big_endian;
    size_t page_bytes, count;
    struct frame header, *frames;
    unsigned char *buffer, *page; /* a frame, and a page of the database */
};

static uint32_t big(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t little(const unsigned char *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static struct sum sum_of(const unsigned char *p)
{
    return (struct sum){big(p), big(p + 4)};
}

static bool same(struct sum x, struct sum y)
{
    return x.a == y.a && x.b == y.b;
}

static struct sum sum_add(const struct reading *r, struct sum s, const unsigned char *p, size_t len)
{
    for (const unsigned char *end = p + len; p < end; p += 8) {
        s.a += (r->big_endian ? big(p) : little(p)) + s.b;
        s.b += (r->big_endian ? big(p + 4) : little(p + 4)) + s.a;
    }
    return s;
}

static struct sum frame_sum(const struct reading *r, struct sum before)
{
    return sum_add(r, sum_add(r, before, r->buffer, 8), r->buffer + FRAME_HEADER_BYTES,
                   r->page_bytes);
}

/* 1; 0: the file is shorter. */
static int read_at(int fd, void *to, size_t len, uint64_t at)
{
    ssize_t n;

    do {
        n = pread(fd, to, len, (off_t)at);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : (size_t)n == len;
}

static uint64_t frame_at(const struct reading *r, size_t i)
{
    return HEADER_BYTES + (uint64_t)i * (FRAME_HEADER_BYTES + r->page_bytes);
}

static int read_bytes(const struct reading *r, size_t i)
{
    return read_at(r->fd, r->buffer, FRAME_HEADER_BYTES + r->page_bytes, frame_at(r, i));
}

/* false: it is empty, as after a shutdown. */
static bool decode_header(struct reading *r, const unsigned char h[HEADER_BYTES])
{
    static const unsigned char empty[HEADER_BYTES];
    uint32_t page_bytes = big(h + 8);

    r->big_endian = big(h) & 1;
    r->header.stored = sum_of(h + 24);
    r->has_header = (big(h) & ~1u) == MAGIC && page_bytes >= 512 && page_bytes <= 65536 &&
                    (page_bytes & (page_bytes - 1)) == 0 &&
                    same(sum_add(r, (struct sum){0, 0}, h, 24), r->header.stored);
    r->header.follows = r->has_header;
    r->header.computed = r->header.stored;
    r->header.salts = (uint64_t)big(h + 16) << 32 | big(h + 20);
    r->page_bytes = r->has_header ? page_bytes : PAGE_BYTES;
    if (!r->has_header)
        r->big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    return memcmp(h, empty, sizeof(empty)) != 0;
}

static int read_frame(struct reading *r, size_t i)
{
    const struct frame *before = i ? &r->frames[i - 1] : &r->header;
    struct frame *f = &r->frames[i];
    int n = read_bytes(r, i);

    if (n <= 0)
        return n < 0 ? n : -EIO;
    f->page = big(r->buffer);
    f->size = big(r->buffer + 4);
    f->salts = (uint64_t)big(r->buffer + 8) << 32 | big(r->buffer + 12);
    f->stored = sum_of(r->buffer + 16);
    if (f->salts != (r->has_header ? r->header.salts : before->salts)) {
        f->computed = f->stored;
        return 0;
    }
    f->computed = frame_sum(r, before->stored);
    f->follows = f->page && (same(f->computed, f->stored) ||
                             (!before->follows && same(frame_sum(r, before->computed), f->stored)));
    return 0;
}

static int read_log(struct reading *r, uint64_t bytes)
{
    int n = 0;

    r->count = (size_t)((bytes - HEADER_BYTES) / (FRAME_HEADER_BYTES + r->page_bytes));
    r->frames = calloc(r->count + 1, sizeof(*r->frames));
    r->buffer = malloc(FRAME_HEADER_BYTES + 2 * r->page_bytes);
    if (!r->frames || !r->buffer)
        return -ENOMEM;
    r->page = r->buffer + FRAME_HEADER_BYTES + r->page_bytes;
    for (size_t i = 0; i < r->count && n == 0; i++)
        n = read_frame(r, i);
    return n;
}

/* The end of the last transaction that had been on disk and that SQLite would not find behind the
 * frame `first`; count: there is none. */
static size_t last_behind(const struct reading *r, size_t first)
{
    size_t last = r->count;
    bool proven = false;

    for (size_t i = first + 1; i < r->count; i++) {
        const struct frame *before = &r->frames[i - 1];

        if (!r->frames[i].follows) {
            proven = false;
        } else if (before->follows && before->size) {
            proven = true;
            last = i - 1;
        }
        if (proven && r->frames[i].size)
            last = i;
    }
    return last;
}

/* The same without a header, with which the first sector may be lost. */
static size_t last_of_all(const struct reading *r)
{
    size_t last = r->count, i = 0;

    while (i < 3 && i < r->count && !r->frames[i].follows)
        i++;
    for (; i < r->count && r->frames[i].follows; i++)
        if (r->frames[i].size)
            last = i;
    return last;
}

/* Whether the database has the pages as they were after frame `last`. */
static int is_stored(const struct reading *r, size_t last)
{
    uint32_t size = r->frames[last].size;
    unsigned char *seen = calloc(size / 8 + 1, 1);
    int n = seen ? 1 : -ENOMEM;

    for (size_t i = last + 1; i-- > 0 && n > 0;) {
        uint32_t page = r->frames[i].page;

        if (!r->frames[i].follows || page > size || (seen[page / 8] & 1u << page % 8))
            continue;
        seen[page / 8] |= (unsigned char)(1u << page % 8);
        n = read_bytes(r, i);
        if (n > 0)
            n = read_at(r->database_fd, r->page, r->page_bytes,
                        (uint64_t)(page - 1) * r->page_bytes);
        if (n > 0)
            n = memcmp(r->page, r->buffer + FRAME_HEADER_BYTES, r->page_bytes) == 0;
    }
    free(seen);
    return n;
}

static int refuse(const struct reading *r, const char *path, size_t first, bool stored,
                  struct err *err)
{
    int n = r->has_header
                ? err_set(err, ERR_INTERNAL,
                          "the log %s is damaged: frame %zu is not what was written, and "
                          "acknowledged writes are behind it",
                          path, first + 1)
                : err_set(err, ERR_INTERNAL,
                          "the log %s is damaged: its header is not what was written, and "
                          "acknowledged writes are behind it",
                          path);

    err_hint(err, stored ? "the database has all of them: remove this log"
                         : "restore the database from a backup, or see \"A damaged log\" in "
                           "docs/storage.md");
    return n;
}

static int check(struct reading *r, const char *path, struct err *err)
{
    unsigned char header[HEADER_BYTES];
    struct stat st;
    size_t first = 0, last;
    int n = fstat(r->fd, &st) < 0 ? -errno : read_at(r->fd, header, sizeof(header), 0);

    if (n <= 0 || !decode_header(r, header))
        return n < 0 ? n : 0;
    n = read_log(r, (uint64_t)st.st_size);
    if (n < 0)
        return n;
    while (first < r->count && r->frames[first].follows)
        first++;
    last = r->has_header ? last_behind(r, first) : last_of_all(r);
    n = last < r->count ? is_stored(r, last) : 0;
    if (n < 0 || last == r->count || (n > 0 && !r->has_header))
        return n < 0 ? n : 0;
    return refuse(r, path, first, n > 0, err);
}

int log_check(const char *log_path, int database_fd, struct err *err)
{
    struct reading r = {.database_fd = database_fd};
    int n;

    /* SQLite holds no lock on the log, so closing another descriptor of it loses none */
    r.fd = open(log_path, O_RDONLY | O_CLOEXEC);
    n = r.fd >= 0 ? check(&r, log_path, err) : errno == ENOENT ? 0 : -errno;
    /* what a killed process had not synced is served from now on */
    if (n == 0 && r.count && fdatasync(r.fd) < 0)
        n = -errno;
    if (n < 0) /* unless it is set */
        n = err_set(err, ERR_UNAVAILABLE, "cannot read the log %s: %s", log_path, strerror(-n));
    if (r.fd >= 0)
        (void)close(r.fd);
    free(r.frames);
    free(r.buffer);
    return n;
}
