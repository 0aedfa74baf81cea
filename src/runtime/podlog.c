/*
 * podlog.c - see podlog.h. Reads at most one block per call, so that a log of any size blocks
 * nothing: for a tail first backwards, block by block, until enough line ends are counted; then
 * forwards, from file to file. Everything uses descriptors, so that a pod removed meanwhile can be
 * read to its end.
 */
#include "runtime/podlog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/timefmt.h"
#include "runtime/cri.h"
#include "runtime/log_files.h"
#include "runtime/notify.h"
#include "runtime/podfolder.h"

#define BLOCK_BYTES 65536u
/* An entry is read completely: our own are far smaller. */
#define ENTRY_LIMIT_BYTES (1024u * 1024u)
/* Parts of one line are joined up to this size; a longer line comes in pieces. */
#define LINE_LIMIT_BYTES (4u * 1024u * 1024u)
/* The log was closed and yet the supervisor seems alive: it is just exiting. */
#define END_RECHECK_MS 100

enum phase { PHASE_WAIT, PHASE_TAIL, PHASE_READ, PHASE_END };

/* A line of the program whose last part has not been read yet. */
struct joint {
    struct buf text;
    bool open; /* its start was already emitted, or is in text */
};

struct podlog {
    struct stream base;
    struct loop *loop;
    struct node_log_options options;
    char since[TIME_TEXT_SIZE]; /* stamps compare as text; "": from the start */
    char *container;
    uint32_t run, segment; /* of the open file */
    int dir_fd, fd;
    struct notify *notify;
    struct clock_timer *end_timer, *again_timer;
    enum phase phase;
    off_t at;              /* next byte to read; PHASE_TAIL: everything from here on was examined */
    off_t tail_from;       /* PHASE_TAIL: start of the last entry found ... */
    uint32_t tail_segment; /* ... in which file */
    int64_t tail_left;     /* PHASE_TAIL: line ends still to be found */
    struct buf in;         /* a partial entry */
    struct joint joints[CRI_STREAMS];
    struct buf out;
    size_t out_at;
    int64_t bytes_left; /* of limit_bytes; -1: no limit */
    bool ended;         /* nothing will be appended any more */
};

/* --- has it ended? --- */

static bool has_ended(const struct podlog *p)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    /* in this order: the lock is taken before the start is marked */
    bool ended = pod_is_started(p->dir_fd) && !pod_lock_is_held(p->dir_fd);
    const struct container_state *c;
    struct pod_record s;

    if (!ended && pod_record_read(p->dir_fd, &a, &s, NULL) == 0) {
        c = pod_record_container(&s, p->container);
        ended = s.final || !c || c->phase == CONTAINER_TERMINATED ||
                c->restart_count > (int64_t)p->run ||
                (c->phase == CONTAINER_WAITING && c->last && p->fd >= 0);
    }
    arena_release(&a);
    return ended;
}

/* --- files --- */

static bool open_segment(struct podlog *p, uint32_t segment)
{
    int fd = log_segment_open(p->dir_fd, p->container, p->run, segment);

    if (fd < 0)
        return false;
    if (p->fd >= 0)
        (void)close(p->fd);
    p->fd = fd;
    p->segment = segment;
    return true;
}

static bool has_next_segment(const struct podlog *p)
{
    char name[CRI_NAME_SIZE];

    return faccessat(p->dir_fd, cri_segment_name(name, p->container, p->run, p->segment + 1), F_OK,
                     0) == 0;
}

/* The file after this one; for a slow reader, the oldest that is left. */
static bool open_next_segment(struct podlog *p)
{
    struct log_segments s;

    if (!open_segment(p, p->segment + 1)) {
        s = log_segments_of(p->dir_fd, p->container, p->run, p->run);
        if (!s.found || s.last <= p->segment ||
            !open_segment(p, s.first > p->segment ? s.first : p->segment + 1))
            return false;
    }
    p->at = 0;
    buf_clear(&p->in);
    return true;
}

static bool is_own_file(const struct podlog *p, const char *name)
{
    uint32_t run, segment;

    return strcmp(name, POD_FILE_STATE) == 0 ||
           log_segment_parse(name, p->container, &run, &segment);
}

static void on_end_timer(void *arg)
{
    struct podlog *p = arg;

    p->end_timer = NULL;
    stream_ready(&p->base);
}

static void on_file(void *arg, uint32_t mask, const char *name)
{
    struct podlog *p = arg;

    if (*name && !is_own_file(p, name))
        return;
    if ((mask & IN_CLOSE_WRITE) && !p->end_timer)
        p->end_timer = clock_start(loop_clock(p->loop), END_RECHECK_MS, on_end_timer, p);
    stream_ready(&p->base);
}

static void on_again_timer(void *arg)
{
    struct podlog *p = arg;

    p->again_timer = NULL;
    stream_ready(&p->base);
}

/* More could be done at once, but others come first. */
static ssize_t yield(struct podlog *p)
{
    if (!p->again_timer)
        p->again_timer = clock_start(loop_clock(p->loop), 0, on_again_timer, p);
    return p->again_timer ? 0 : STREAM_END;
}

/* --- backwards --- */

static void start_reading(struct podlog *p, uint32_t segment, off_t at)
{
    p->at = at;
    p->phase = PHASE_READ;
    if (segment != p->segment && !open_segment(p, segment))
        p->at = 0; /* it was just removed: what is left starts here */
}

static void start_tail(struct podlog *p)
{
    struct stat st;

    if (fstat(p->fd, &st) != 0) {
        start_reading(p, p->segment, 0);
        return;
    }
    p->at = p->tail_from = st.st_size;
    p->tail_segment = p->segment;
    p->tail_left = p->options.tail_lines;
    p->phase = PHASE_TAIL;
}

/* An entry at offset. An F entry ends a line: reading starts after the wanted number of them,
 * counted from the end. */
static bool count_entry(struct podlog *p, const char *entry, size_t len, off_t offset)
{
    struct cri_entry e;

    if (cri_parse(entry, min_size(len, CRI_HEADER_LEN), &e) && !e.partial && p->tail_left-- == 0) {
        start_reading(p, p->tail_segment, p->tail_from);
        return true;
    }
    p->tail_from = offset;
    p->tail_segment = p->segment;
    return false;
}

/* At the start of a file: continue at the end of the previous one, if any. */
static void step_to_older(struct podlog *p)
{
    struct stat st;

    if (p->segment > 0 && open_segment(p, p->segment - 1) && fstat(p->fd, &st) == 0)
        p->at = st.st_size;
    else
        start_reading(p, p->tail_segment, p->tail_from);
}

/* One block further back; a header may extend into the block after it. */
static int step_back(struct podlog *p)
{
    char block[BLOCK_BYTES + CRI_HEADER_LEN];
    off_t from = p->at > (off_t)BLOCK_BYTES ? p->at - (off_t)BLOCK_BYTES : 0;
    size_t fresh = (size_t)(p->at - from);
    ssize_t len = pread(p->fd, block, fresh + CRI_HEADER_LEN, from);

    if (len < (ssize_t)fresh)
        return -EIO;
    if (fresh == 0) {
        step_to_older(p);
        return 0;
    }
    for (size_t i = fresh; i-- > 0;)
        if (block[i] == '\n' &&
            count_entry(p, block + i + 1, (size_t)len - i - 1, from + (off_t)i + 1))
            return 0;
    p->at = from;
    if (from == 0 && !count_entry(p, block, (size_t)len, 0))
        step_to_older(p);
    return 0;
}

/* --- forwards --- */

static void put_beginning(const struct podlog *p, struct buf *to, const struct cri_entry *e,
                          off_t at)
{
    if (p->options.offsets)
        buf_addf(to, "%u.%lld ", p->segment, (long long)at);
    if (!p->options.timestamps)
        return;
    buf_add(to, e->stamp, CRI_STAMP_LEN);
    buf_addc(to, ' ');
}

static void put_joint(struct podlog *p, struct joint *j)
{
    if (j->text.len > 0)
        buf_add(&p->out, j->text.data, j->text.len);
    buf_clear(&j->text);
}

static void take_entry(struct podlog *p, const char *line, size_t len, off_t place)
{
    struct cri_entry e;
    struct joint *j;

    if (!cri_parse(line, len, &e) || strncmp(e.stamp, p->since, strlen(p->since)) < 0)
        return;
    j = &p->joints[e.stream];
    if (j->text.len + e.len > LINE_LIMIT_BYTES)
        put_joint(p, j);
    if (!e.partial)
        put_joint(p, j);
    if (!j->open)
        put_beginning(p, e.partial ? &j->text : &p->out, &e, place);
    buf_add(e.partial ? &j->text : &p->out, e.text, e.len);
    if (!e.partial)
        buf_addc(&p->out, '\n');
    j->open = e.partial;
}

static void take_entries(struct podlog *p)
{
    off_t from = p->at - (off_t)p->in.len;
    size_t at = 0;
    const char *end;

    while (at < p->in.len && (end = memchr(p->in.data + at, '\n', p->in.len - at)) != NULL) {
        take_entry(p, p->in.data + at, (size_t)(end - p->in.data) - at, from + (off_t)at);
        at = (size_t)(end - p->in.data) + 1;
    }
    buf_consume(&p->in, at);
    if (p->in.len > ENTRY_LIMIT_BYTES)
        buf_clear(&p->in); /* not a log of ours */
}

/* 0: at the end of the file. */
static ssize_t step_forward(struct podlog *p)
{
    char *room = buf_reserve(&p->in, BLOCK_BYTES);
    ssize_t n = room ? pread(p->fd, room, BLOCK_BYTES, p->at) : -ENOMEM;

    if (n <= 0)
        return n;
    p->in.len += (size_t)n;
    p->at += n;
    take_entries(p);
    return p->out.failed ? -ENOMEM : n;
}

/* --- the stream --- */

static struct podlog *self_of(struct stream *s)
{
    return container_of(s, struct podlog, base);
}

static ssize_t hand_out(struct podlog *p, char *to, size_t cap)
{
    size_t n = min_size(p->out.len - p->out_at, cap);

    if (p->bytes_left >= 0)
        n = min_size(n, (size_t)p->bytes_left);
    memcpy(to, p->out.data + p->out_at, n);
    p->out_at += n;
    if (p->bytes_left >= 0)
        p->bytes_left -= (int64_t)n;
    if (p->out_at == p->out.len) {
        if (p->out.cap > 4 * BLOCK_BYTES)
            buf_release(&p->out);
        else
            buf_clear(&p->out);
        p->out_at = 0;
    }
    return (ssize_t)n;
}

static void finish(struct podlog *p)
{
    for (int s = 0; s < CRI_STREAMS; s++)
        put_joint(p, &p->joints[s]);
    p->phase = PHASE_END;
}

/* At the end of the file, or before there is one. True: try again. */
static bool at_end(struct podlog *p)
{
    if (!p->options.follow || p->ended) {
        finish(p);
        return true;
    }
    p->ended = has_ended(p); /* what was written before that may still be unread */
    return p->ended;
}

/* Starts at a position; if its file is gone, at the oldest that is left. */
static void start_at(struct podlog *p, const struct log_segments *s)
{
    const struct node_log_place *from = &p->options.from;
    bool there = from->kind == LOG_PLACE_BYTE && from->segment <= s->last &&
                 open_segment(p, from->segment);

    if (!there && !open_segment(p, s->first))
        return;
    p->at = there ? (off_t)from->byte : 0;
    p->phase = PHASE_READ;
}

static void open_file(struct podlog *p)
{
    struct log_segments s = log_segments_choose(p->dir_fd, p->container, p->options.previous);

    if (!s.found)
        return;
    p->run = s.run;
    if (p->options.tail_lines >= 0 && open_segment(p, s.last))
        start_tail(p);
    else
        start_at(p, &s);
}

/* At the end of a file. False: there is nothing after it yet. */
static bool go_on(struct podlog *p)
{
    ssize_t n;

    if (!has_next_segment(p) &&
        log_segments_of(p->dir_fd, p->container, p->run, p->run).last <= p->segment)
        return false;
    n = step_forward(p); /* what was written after we checked, before the next file was created */
    if (n > 0)
        return true;
    return n == 0 && open_next_segment(p);
}

static ssize_t podlog_read(struct stream *s, char *out, size_t cap)
{
    struct podlog *p = self_of(s);
    ssize_t n;

    for (;;) {
        if (p->bytes_left == 0)
            return STREAM_END;
        if (p->out_at < p->out.len)
            return hand_out(p, out, cap);
        switch (p->phase) {
        case PHASE_WAIT:
            open_file(p);
            if (p->phase == PHASE_WAIT && !at_end(p))
                return 0;
            break;
        case PHASE_TAIL:
            if (step_back(p) != 0)
                return STREAM_END;
            if (p->phase == PHASE_TAIL)
                return yield(p);
            break;
        case PHASE_READ:
            n = step_forward(p);
            if (n < 0)
                return STREAM_END;
            if (n == 0 && !go_on(p) && !at_end(p))
                return 0;
            if (n > 0 && p->out.len == 0)
                return yield(p);
            break;
        case PHASE_END:
            return STREAM_END;
        }
    }
}

static void podlog_close(struct stream *s)
{
    struct podlog *p = self_of(s);

    notify_stop(p->notify);
    clock_stop(loop_clock(p->loop), p->end_timer);
    clock_stop(loop_clock(p->loop), p->again_timer);
    if (p->fd >= 0)
        (void)close(p->fd);
    if (p->dir_fd >= 0)
        (void)close(p->dir_fd);
    for (int i = 0; i < CRI_STREAMS; i++)
        buf_release(&p->joints[i].text);
    buf_release(&p->in);
    buf_release(&p->out);
    free(p->container);
    free(p);
}

static const struct stream_ops podlog_ops = {.read = podlog_read, .close = podlog_close};

static struct podlog *podlog_new(struct loop *l, const char *container,
                                 const struct node_log_options *options)
{
    struct podlog *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->base.ops = &podlog_ops;
    p->loop = l;
    p->options = *options;
    p->dir_fd = p->fd = -1;
    p->bytes_left = options->limit_bytes;
    buf_init(&p->in, ENTRY_LIMIT_BYTES + 2 * BLOCK_BYTES);
    buf_init(&p->out, 2 * LINE_LIMIT_BYTES);
    for (int i = 0; i < CRI_STREAMS; i++)
        buf_init(&p->joints[i].text, LINE_LIMIT_BYTES + BLOCK_BYTES);
    if (options->from.kind == LOG_PLACE_TIME)
        p->options.since_ms = max_i64(options->since_ms, options->from.time_ms);
    if (p->options.since_ms > 0)
        (void)time_format_nano(p->options.since_ms / 1000, p->options.since_ms % 1000 * 1000000,
                               p->since);
    p->container = strdup(container);
    if (!p->container) {
        podlog_close(&p->base);
        return NULL;
    }
    return p;
}

static int open_pod(struct podlog *p, const char *dir, struct err *err)
{
    const uint32_t mask = IN_MODIFY | IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO;
    int rc;

    p->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->dir_fd < 0)
        return err_set(err, ERR_NOT_FOUND, "container \"%s\" has no log yet: it was not started",
                       p->container);
    if (p->options.follow) {
        rc = notify_watch(p->loop, dir, mask, on_file, p, &p->notify);
        if (rc != 0)
            return err_set(err, ERR_INTERNAL, "cannot follow the log: %s", strerror(-rc));
    }
    open_file(p);
    if (p->fd < 0 && p->options.previous)
        return err_set(err, ERR_NOT_FOUND, "previous terminated container \"%s\" not found",
                       p->container);
    if (p->fd < 0 && !p->options.follow && !has_ended(p))
        return err_set(err, ERR_BAD_REQUEST, "container \"%s\" is waiting to start", p->container);
    return 0;
}

int podlog_open(struct loop *l, const char *pod_root, const char *pod_uid, const char *container,
                const struct node_log_options *options, struct stream **ret, struct err *err)
{
    struct podlog *p;
    char *dir = NULL;
    int rc;

    if (!pod_name_is_safe(pod_uid) || !pod_name_is_safe(container))
        return err_set(err, ERR_BAD_REQUEST, "no such container: \"%s\"", container);
    p = podlog_new(l, container, options);
    if (!p || asprintf(&dir, "%s/%s", pod_root, pod_uid) < 0)
        rc = err_set(err, ERR_INTERNAL, "out of memory");
    else
        rc = open_pod(p, dir, err);
    if (rc == 0)
        *ret = &p->base;
    else if (p)
        podlog_close(&p->base);
    if (p)
        free(dir);
    return rc;
}
