/* cri.c - see cri.h. An entry is in the file whole or not at all: a write cut short by a full disk
 * is taken back. */
#include "runtime/cri.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/timefmt.h"

#define FLUSH_BYTES (128u * 1024u)
/* One piece is taken in after FLUSH_BYTES was passed; a piece is at most a line part. */
#define OUT_LIMIT_BYTES (FLUSH_BYTES + 2 * CRI_LINE_BYTES)

static const char *const stream_names[CRI_STREAMS] = {"stdout", "stderr"};

int cri_writer_init(struct cri_writer *w, int fd)
{
    struct stat st;

    *w = (struct cri_writer){.fd = fd, .out = BUF_INIT(OUT_LIMIT_BYTES)};
    for (int s = 0; s < CRI_STREAMS; s++) {
        w->pending[s].text = malloc(CRI_LINE_BYTES);
        if (!w->pending[s].text) {
            cri_writer_release(w);
            return -ENOMEM;
        }
    }
    if (fstat(fd, &st) != 0) {
        int rc = -errno;

        cri_writer_release(w);
        return rc;
    }
    w->size = st.st_size;
    return 0;
}

void cri_writer_release(struct cri_writer *w)
{
    if (w->fd >= 0)
        (void)close(w->fd);
    w->fd = -1;
    buf_release(&w->out);
    for (int s = 0; s < CRI_STREAMS; s++) {
        free(w->pending[s].text);
        w->pending[s].text = NULL;
    }
}

int cri_writer_sync(struct cri_writer *w)
{
    return fsync(w->fd) == 0 ? 0 : -errno;
}

static void flush(struct cri_writer *w)
{
    size_t done = 0;

    while (done < w->out.len && !w->out.failed) {
        ssize_t n = pwrite(w->fd, w->out.data + done, w->out.len - done, w->size + (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (done == w->out.len && !w->out.failed) {
        w->size += (off_t)done;
    } else {
        w->lost_bytes += w->out.len;
        if (ftruncate(w->fd, w->size) != 0)
            w->size += (off_t)done; /* the torn entry stays; readers skip what does not parse */
    }
    buf_clear(&w->out);
}

static void emit(struct cri_writer *w, enum cri_stream s, const char *header, char tag,
                 const char *text, size_t len)
{
    buf_add(&w->out, header, CRI_STAMP_LEN);
    buf_addc(&w->out, ' ');
    buf_adds(&w->out, stream_names[s]);
    buf_addc(&w->out, ' ');
    buf_addc(&w->out, tag);
    buf_addc(&w->out, ' ');
    buf_add(&w->out, w->pending[s].text, w->pending[s].len);
    buf_add(&w->out, text, len);
    buf_addc(&w->out, '\n');
    w->pending[s].len = 0;
    if (w->out.len > FLUSH_BYTES)
        flush(w);
}

/* Takes in text without a newline. A part is written only when more follows it. */
static void take(struct cri_writer *w, enum cri_stream s, const char *stamp, const char *text,
                 size_t len)
{
    while (w->pending[s].len + len > CRI_LINE_BYTES) {
        size_t n = CRI_LINE_BYTES - w->pending[s].len;

        emit(w, s, stamp, 'P', text, n);
        text += n;
        len -= n;
    }
    memcpy(w->pending[s].text + w->pending[s].len, text, len);
    w->pending[s].len += len;
}

void cri_writer_feed(struct cri_writer *w, enum cri_stream s, const char *data, size_t len,
                     int64_t sec, int64_t nsec)
{
    char stamp[TIME_TEXT_SIZE];
    const char *newline;

    (void)time_format_nano(sec, nsec, stamp);
    while (len > 0 && (newline = memchr(data, '\n', len)) != NULL) {
        size_t n = (size_t)(newline - data);

        take(w, s, stamp, data, n);
        emit(w, s, stamp, 'F', "", 0);
        data += n + 1;
        len -= n + 1;
    }
    if (len > 0)
        take(w, s, stamp, data, len);
    flush(w);
}

void cri_writer_end(struct cri_writer *w, enum cri_stream s, int64_t sec, int64_t nsec)
{
    char stamp[TIME_TEXT_SIZE];

    if (w->pending[s].len == 0)
        return;
    emit(w, s, time_format_nano(sec, nsec, stamp), 'F', "", 0);
    flush(w);
}

bool cri_parse(const char *line, size_t len, struct cri_entry *ret)
{
    const char *name = line + CRI_STAMP_LEN + 1;
    char tag;

    if (len < CRI_HEADER_LEN || line[CRI_STAMP_LEN] != ' ' || name[6] != ' ' || name[8] != ' ')
        return false;
    tag = name[7];
    if (tag != 'F' && tag != 'P')
        return false;
    for (int s = 0; s < CRI_STREAMS; s++) {
        if (memcmp(name, stream_names[s], 6) != 0)
            continue;
        *ret = (struct cri_entry){.stamp = line,
                                  .stream = (enum cri_stream)s,
                                  .partial = tag == 'P',
                                  .text = line + CRI_HEADER_LEN,
                                  .len = len - CRI_HEADER_LEN};
        return true;
    }
    return false;
}
