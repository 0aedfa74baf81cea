/* cri.c - see cri.h. An entry is in the file completely or not at all: a write cut short by a full
 * disk is undone. */
#include "runtime/cri.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/timefmt.h"

#define FLUSH_BYTES (128u * 1024u)
/* One piece is taken in after FLUSH_BYTES was exceeded; a piece is at most a line part. */
#define OUT_LIMIT_BYTES (FLUSH_BYTES + 4 * CRI_LINE_BYTES)
#define MARK "[muster: "
#define MARK_LINE MARK "%" PRIu64 " bytes of this log could not be written here]\n"
#define MARK_MOST_BYTES (CRI_HEADER_LEN + sizeof(MARK_LINE) + 20)
#define FIRST_BLOCK_BYTES 4096 /* kept for each log from its start */

static const char *const stream_names[CRI_STREAMS] = {"stdout", "stderr"};

const char *cri_segment_name(char out[CRI_NAME_SIZE], const char *container, uint32_t run,
                             uint32_t segment)
{
    (void)snprintf(out, CRI_NAME_SIZE, "%.200s.%u.%u.log", container, run, segment);
    return out;
}

/* --- files --- */

void cri_writer_init(struct cri_writer *w, int dir_fd, const char *container, uint32_t run,
                     struct cri_limits limits)
{
    *w = (struct cri_writer){.dir_fd = dir_fd,
                             .fd = -1,
                             .name = container,
                             .run = run,
                             .limits = limits,
                             .out = BUF_INIT(OUT_LIMIT_BYTES)};
}

static void close_file(struct cri_writer *w)
{
    if (w->fd >= 0)
        (void)close(w->fd);
    w->fd = -1;
}

void cri_writer_release(struct cri_writer *w)
{
    close_file(w);
    buf_release(&w->out);
}

int cri_writer_sync(struct cri_writer *w)
{
    return w->fd < 0 || fsync(w->fd) == 0 ? 0 : -errno;
}

void cri_writer_open(struct cri_writer *w, uint32_t segment)
{
    char name[CRI_NAME_SIZE];

    if (w->fd >= 0 && w->segment == segment)
        return;
    close_file(w);
    w->segment = segment;
    w->fd = openat(w->dir_fd, cri_segment_name(name, w->name, w->run, segment),
                   O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (w->fd >= 0 && segment == 0 && lseek(w->fd, 0, SEEK_END) == 0)
        (void)fallocate(w->fd, FALLOC_FL_KEEP_SIZE, 0, FIRST_BLOCK_BYTES);
}

/* Starts the next file when this one is full. Idempotent from the same state. */
static void rotate(struct cri_writer *w, const struct cri_state *from, struct cri_state *to)
{
    char name[CRI_NAME_SIZE];

    if (w->limits.segment_bytes <= 0 || from->size < w->limits.segment_bytes)
        return;
    to->segment = from->segment + 1;
    to->size = 0;
    if (w->limits.segments > 0 && to->segment >= w->limits.segments)
        (void)unlinkat(w->dir_fd,
                       cri_segment_name(name, w->name, w->run, to->segment - w->limits.segments),
                       0);
}

static void flush(struct cri_writer *w, struct cri_state *to)
{
    size_t done = 0;

    while (w->fd >= 0 && done < w->out.len && !w->out.failed) {
        ssize_t n = pwrite(w->fd, w->out.data + done, w->out.len - done, to->size + (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (done == w->out.len && !w->out.failed) {
        to->size += (off_t)done;
        if (w->tells_lost)
            to->told_bytes = to->lost_bytes;
    } else {
        to->lost_bytes += w->taken_bytes;
        if (w->fd >= 0 && ftruncate(w->fd, to->size) != 0)
            to->size += (off_t)done; /* the torn entry stays; readers skip what does not parse */
    }
    buf_clear(&w->out);
    w->tells_lost = false;
    w->taken_bytes = 0;
}

/* --- entries --- */

/* One call's work: the header of its entries is written once. */
struct feed {
    struct cri_writer *w;
    struct cri_state *to;
    enum cri_stream stream;
    char header[CRI_HEADER_LEN];
};

static void set_stream(struct feed *f, enum cri_stream s)
{
    f->stream = s;
    memcpy(f->header + CRI_STAMP_LEN + 1, stream_names[s], 6);
}

static void copy_state(const struct cri_state *from, struct cri_state *to)
{
    to->segment = from->segment;
    to->size = from->size;
    to->lost_bytes = from->lost_bytes;
    to->told_bytes = from->told_bytes;
    for (int i = 0; i < CRI_STREAMS; i++) {
        to->pending[i].len = from->pending[i].len;
        memcpy(to->pending[i].text, from->pending[i].text, from->pending[i].len);
    }
}

static struct feed feed_begin(struct cri_writer *w, const struct cri_state *from,
                              struct cri_state *to, enum cri_stream s, int64_t sec, int64_t nsec)
{
    struct feed f = {.w = w, .to = to};
    char stamp[TIME_TEXT_SIZE];

    copy_state(from, to);
    rotate(w, from, to);
    cri_writer_open(w, to->segment);
    (void)time_format_nano(sec, nsec, stamp);
    memcpy(f.header, stamp, CRI_STAMP_LEN);
    f.header[CRI_STAMP_LEN] = ' ';
    set_stream(&f, s);
    memcpy(f.header + CRI_STAMP_LEN + 7, " F ", 3);
    return f;
}

/* A gap is marked where it is, as soon as there is room again. */
static void tell_lost(struct feed *f)
{
    enum cri_stream s = f->stream;

    if (f->w->out.len > 0 || f->to->lost_bytes == f->to->told_bytes)
        return;
    set_stream(f, CRI_STDERR);
    f->header[CRI_STAMP_LEN + 8] = 'F';
    buf_add(&f->w->out, f->header, CRI_HEADER_LEN);
    buf_addf(&f->w->out, MARK_LINE, f->to->lost_bytes - f->to->told_bytes);
    f->w->tells_lost = true;
    set_stream(f, s);
}

/* newline: whether the program wrote the one that ends the entry. */
static void emit(struct feed *f, char tag, bool newline, const char *text, size_t len)
{
    size_t held = f->to->pending[f->stream].len;
    char *out;

    tell_lost(f);
    out = buf_reserve(&f->w->out, CRI_HEADER_LEN + held + len + 1);
    f->w->taken_bytes += held + len + newline;
    f->to->pending[f->stream].len = 0;
    if (!out)
        return; /* then nothing of the buffer can be written, which flush() counts */
    f->header[CRI_STAMP_LEN + 8] = tag;
    memcpy(out, f->header, CRI_HEADER_LEN);
    memcpy(out + CRI_HEADER_LEN, f->to->pending[f->stream].text, held);
    memcpy(out + CRI_HEADER_LEN + held, text, len);
    out[CRI_HEADER_LEN + held + len] = '\n';
    f->w->out.len += CRI_HEADER_LEN + held + len + 1;
    if (f->w->out.len > FLUSH_BYTES)
        flush(f->w, f->to);
}

/* Text without a newline yet. A part is written only when more follows. */
static void hold(struct feed *f, const char *text, size_t len)
{
    memcpy(f->to->pending[f->stream].text + f->to->pending[f->stream].len, text, len);
    f->to->pending[f->stream].len += (uint32_t)len;
}

/* Splits off parts of a line that is too long for one entry; the rest fits. */
static void cut(struct feed *f, const char **text, size_t *len)
{
    while (f->to->pending[f->stream].len + *len > CRI_LINE_BYTES) {
        size_t n = CRI_LINE_BYTES - f->to->pending[f->stream].len;

        emit(f, 'P', false, *text, n);
        *text += n;
        *len -= n;
    }
}

void cri_writer_feed(struct cri_writer *w, const struct cri_state *from, struct cri_state *to,
                     enum cri_stream s, const char *data, size_t len, int64_t sec, int64_t nsec)
{
    struct feed f = feed_begin(w, from, to, s, sec, nsec);
    const char *newline;

    while (len > 0 && (newline = memchr(data, '\n', len)) != NULL) {
        size_t n = (size_t)(newline - data);

        len -= n + 1;
        cut(&f, &data, &n);
        emit(&f, 'F', true, data, n);
        data = newline + 1;
    }
    cut(&f, &data, &len);
    hold(&f, data, len);
    flush(w, to);
}

void cri_writer_end(struct cri_writer *w, const struct cri_state *from, struct cri_state *to,
                    int64_t sec, int64_t nsec)
{
    struct feed f = feed_begin(w, from, to, CRI_STDOUT, sec, nsec);

    tell_lost(&f);
    for (int s = 0; s < CRI_STREAMS; s++) {
        set_stream(&f, (enum cri_stream)s);
        if (to->pending[s].len > 0)
            emit(&f, 'F', false, "", 0);
    }
    flush(w, to);
}

/* The program's bytes in entries that are about to be overwritten; a mark stands for others. */
static void give_up(const char *entries, size_t len, struct cri_state *to)
{
    const char *newline;

    while (len > 0 && (newline = memchr(entries, '\n', len)) != NULL) {
        size_t n = (size_t)(newline - entries);
        struct cri_entry e;
        uint64_t told;

        if (cri_parse(entries, n, &e)) {
            bool mark = e.stream == CRI_STDERR && e.len > strlen(MARK) &&
                        memcmp(e.text, MARK, strlen(MARK)) == 0;

            told = mark ? strtoull(e.text + strlen(MARK), NULL, 10) : 0;
            if (told > 0 && told <= to->told_bytes)
                to->told_bytes -= told;
            else
                to->lost_bytes += e.len + !e.partial;
        }
        entries = newline + 1;
        len -= n + 1;
    }
}

bool cri_writer_make_room(struct cri_writer *w, const struct cri_state *from, struct cri_state *to)
{
    char name[CRI_NAME_SIZE];
    size_t most = (size_t)min_i64(from->size, 2 * (int64_t)CRI_LINE_BYTES), begin;
    int fd = openat(w->dir_fd, cri_segment_name(name, w->name, w->run, from->segment),
                    O_RDONLY | O_CLOEXEC);
    char *tail = fd >= 0 && most > 0 ? buf_reserve(&w->out, most) : NULL;
    bool whole = tail && pread(fd, tail, most, from->size - (off_t)most) == (ssize_t)most;

    if (fd >= 0)
        (void)close(fd);
    if (!whole)
        return false;
    begin = most > MARK_MOST_BYTES ? most - MARK_MOST_BYTES : 0;
    while (begin > 0 && tail[begin - 1] != '\n')
        begin--;
    if (begin == 0 && (int64_t)most < from->size)
        return false;
    copy_state(from, to);
    to->size = from->size - (off_t)(most - begin);
    give_up(tail + begin, most - begin, to);
    return true;
}

void cri_writer_cut(const struct cri_writer *w, const struct cri_state *state)
{
    if (w->fd >= 0 && ftruncate(w->fd, state->size) != 0)
        return; /* the rest of the file has older lines */
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
