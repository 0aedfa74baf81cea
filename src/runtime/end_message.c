/* end_message.c - see end_message.h. The program controls the file: it may be anything, of any
 * size. */
#include "runtime/end_message.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"

/* Enough for the lines shown, and at least one whole entry. */
#define LOG_TAIL_BYTES (2 * (CRI_HEADER_LEN + 1 + CRI_LINE_BYTES))

void end_message_clear(const struct container_start *c)
{
    if (c->message_file && truncate(c->message_file, 0) != 0)
        return; /* then an old message may be shown, which is no reason not to start */
}

/* NULL: nothing is left of it. */
static const char *clean(const char *text, size_t len, struct arena *a)
{
    const char *out = utf8_without_controls(a, text, len);

    return out && *out ? out : NULL;
}

/* The last size bytes of the first `whole` bytes; whole -1: of all. */
static size_t read_end(int fd, int64_t whole, char *out, size_t size)
{
    struct stat st;
    ssize_t n = -1;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        int64_t end = whole < 0 ? st.st_size : min_i64(whole, st.st_size);
        int64_t from = max_i64(end - (int64_t)size, 0);

        n = pread(fd, out, (size_t)(end - from), from);
    }
    return n > 0 ? (size_t)n : 0;
}

const char *end_message_read(const struct container_start *c, struct arena *a)
{
    char text[END_MESSAGE_BYTES];
    size_t len = 0;
    int fd = c->message_file ? open(c->message_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                             : -1;

    if (fd < 0)
        return NULL;
    len = read_end(fd, -1, text, sizeof(text));
    (void)close(fd);
    return clean(text, len, a);
}

/* Turns entries into the program's text, in place. The first may be truncated and is skipped. */
static size_t join_entries(char *data, size_t len, bool from_start)
{
    char *at = data, *end = data + len, *next;
    size_t out = 0;

    for (bool whole = from_start; at < end; at = next + 1, whole = true) {
        struct cri_entry e;

        next = memchr(at, '\n', (size_t)(end - at));
        if (!next)
            break;
        if (!whole || !cri_parse(at, (size_t)(next - at), &e))
            continue;
        memmove(data + out, e.text, e.len);
        out += e.len;
        if (!e.partial)
            data[out++] = '\n';
    }
    return out;
}

static const char *last_lines(const char *text, size_t len, struct arena *a)
{
    const char *from = text + len;
    size_t lines = 0;

    while (from > text && (size_t)(text + len - from) < END_MESSAGE_LOG_BYTES) {
        if (from[-1] == '\n' && ++lines > END_MESSAGE_LOG_LINES)
            break;
        from--;
    }
    while (from < text + len && ((unsigned char)*from & 0xc0) == 0x80)
        from++; /* not inside a character */
    return clean(from, (size_t)(text + len - from), a);
}

const char *end_message_from_log(int dir_fd, const struct container_start *c, uint32_t run,
                                 const struct cri_state *log, struct arena *a)
{
    char name[CRI_NAME_SIZE], *data = arena_alloc(a, LOG_TAIL_BYTES);
    int fd = openat(dir_fd, cri_segment_name(name, c->name, run, log->segment),
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t len = 0;

    if (fd >= 0 && data)
        len = read_end(fd, log->size, data, LOG_TAIL_BYTES);
    if (fd >= 0)
        (void)close(fd);
    if (len == 0)
        return NULL;
    return last_lines(data, join_entries(data, len, log->size <= (int64_t)LOG_TAIL_BYTES), a);
}
