/* record.c - see record.h. */
#include "board/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"

#define HEADER_BYTES 12u /* length and its CRC */
#define FOOTER_BYTES 4u

void record_reader_init(struct record_reader *r)
{
    *r = (struct record_reader){.fd = -1};
}

void record_reader_release(struct record_reader *r)
{
    free(r->window);
    record_reader_init(r);
}

void record_reader_open(struct record_reader *r, int fd, uint64_t offset)
{
    r->fd = fd;
    r->offset = offset;
    r->start = r->end = 0;
}

static bool make_room(struct record_reader *r, size_t need)
{
    size_t capacity = max_size(need, RECORD_WINDOW_BYTES);
    char *larger;

    if (r->start) {
        memmove(r->window, r->window + r->start, r->end - r->start);
        r->end -= r->start;
        r->start = 0;
    }
    if (capacity <= r->capacity)
        return true;
    larger = realloc(r->window, capacity);
    if (!larger)
        return false;
    r->window = larger;
    r->capacity = capacity;
    return true;
}

/* Makes sure that need bytes are in the window, if the file has them. 1, 0 (not there), -1
 * (errno). */
static int fill(struct record_reader *r, size_t need)
{
    if (r->end - r->start >= need)
        return 1;
    if (!make_room(r, need))
        return -1;
    while (r->end < need) {
        ssize_t n = pread(r->fd, r->window + r->end, r->capacity - r->end,
                          (off_t)(r->offset + r->end));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -1 : 0;
        r->end += (size_t)n;
    }
    return 1;
}

static uint32_t u32_at(const char *p)
{
    uint32_t value;

    memcpy(&value, p, sizeof(value));
    return value;
}

static uint64_t u64_at(const char *p)
{
    uint64_t value;

    memcpy(&value, p, sizeof(value));
    return value;
}

static void consume(struct record_reader *r, size_t n)
{
    r->start += n;
    r->offset += n;
}

static enum record_result step_over(struct record_reader *r, uint64_t len)
{
    struct stat st;

    if (fstat(r->fd, &st) < 0)
        return RECORD_FAILED;
    if ((uint64_t)st.st_size < r->offset ||
        (uint64_t)st.st_size - r->offset < HEADER_BYTES + FOOTER_BYTES ||
        (uint64_t)st.st_size - r->offset - HEADER_BYTES - FOOTER_BYTES < len)
        return RECORD_WAIT;
    record_reader_open(r, r->fd, r->offset + HEADER_BYTES + len + FOOTER_BYTES);
    return RECORD_TOO_LONG;
}

enum record_result record_next(struct record_reader *r, const char **ret_data, size_t *ret_len)
{
    const char *data;
    uint64_t len;
    bool good;
    int rc = fill(r, HEADER_BYTES);

    if (rc <= 0)
        return rc < 0 ? RECORD_FAILED : RECORD_WAIT;
    data = r->window + r->start;
    len = u64_at(data);
    if (crc32c_masked(data, 8) != u32_at(data + 8))
        return RECORD_BAD_LENGTH;
    if (len > RECORD_LIMIT_BYTES)
        return step_over(r, len);
    rc = fill(r, HEADER_BYTES + len + FOOTER_BYTES);
    if (rc <= 0)
        return rc < 0 ? RECORD_FAILED : RECORD_WAIT;
    data = r->window + r->start + HEADER_BYTES;
    good = crc32c_masked(data, len) == u32_at(data + len);
    consume(r, HEADER_BYTES + len + FOOTER_BYTES);
    *ret_data = data;
    *ret_len = len;
    return good ? RECORD_OK : RECORD_BAD_DATA;
}
