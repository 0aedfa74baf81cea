/*
 * log_search.c - see log_search.h. Forwards, the files are read block by block. Backwards, a window
 * before the current position is read, starting at a line, searched forwards, and the results are
 * emitted in reverse.
 */
#include "runtime/log_search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/list.h"
#include "base/share.h"
#include "base/timefmt.h"
#include "runtime/cri.h"
#include "runtime/line_match.h"
#include "runtime/log_files.h"
#include "runtime/podfolder.h"

#define BLOCK_BYTES (256u * 1024u)
/* Only this much of a longer line is searched. */
#define LINE_LIMIT_BYTES (1024u * 1024u)
#define WINDOW_LIMIT_BYTES (2u * LINE_LIMIT_BYTES)
#define TEXT_LIMIT_BYTES 8192u  /* of a returned line ... */
#define TEXT_BEFORE_BYTES 1024u /* ... before the match */
#define SLICE_BYTES (8u * 1024u * 1024u)
#define HELD_BYTES (256u * 1024u)              /* not consumed yet: the search then waits */
#define MADE_LIMIT_BYTES (16u * 1024u * 1024u) /* of one step back, many short lines */
#define RUNNING_LIMIT 2u                       /* of the pool's threads */
#define TURN_MS 100                            /* of CPU time: then it is another search's turn */

struct place {
    uint32_t segment;
    off_t byte;
};

/* A line of the program whose last part has not been read yet. */
struct joint {
    struct buf text;
    size_t length; /* of the line, including what text does not have */
    struct place at;
    char stamp[CRI_STAMP_LEN];
    bool open;
};

/* A match found by a step back. */
struct found {
    size_t from, len; /* in made */
    struct place at;
};

struct log_search {
    struct stream base;
    struct log_searches *all;       /* NULL: already freed */
    struct log_search *prev, *next; /* among those waiting or running */
    bool queued, busy, broken;
    atomic_bool closed; /* the reader is gone */
    struct buf out;     /* for the consumer; the rest belongs to the pool thread while busy */
    size_t out_at;

    struct node_log_search options; /* without its text */
    struct node_log_place from;
    struct line_match *match;
    char *container, *user;
    int dir_fd, fd;
    struct log_segments files;
    uint32_t segment; /* of the open file */
    off_t at;         /* forwards: the next byte to read; backwards: everything before it is
                       * unread */
    size_t window;    /* backwards */
    struct buf in, made;
    struct joint joints[CRI_STREAMS];
    struct found *found;
    size_t found_len, found_cap;
    int64_t given, count, scanned, total;
    struct place start;
    struct place reached; /* where the next search continues */
    bool began, full, over;
    int failure; /* a negative errno */
};

/* --- output ------------------------------------------------------------------------------ */

static void put_place(struct buf *out, const char *name, struct place p)
{
    buf_addf(out, "\"%s\":\"%u.%lld\"", name, p.segment, (long long)p.byte);
}

static void put_progress(struct log_search *s)
{
    const char *why = s->failure == -E2BIG
                          ? "search: this expression takes too long on the line here: make it "
                            "simpler, above all repetitions inside repetitions"
                          : strerror(-s->failure);

    buf_addf(&s->made, "{\"scanned\":%lld,\"total\":%lld,\"count\":%lld", (long long)s->scanned,
             (long long)max_i64(s->total, s->scanned), (long long)s->count);
    if (s->over && s->failure == 0) {
        buf_addf(&s->made, ",\"end\":true,\"all\":%s,",
                 s->full && !s->options.count ? "false" : "true");
        put_place(&s->made, "began", s->start);
        buf_addc(&s->made, ',');
        put_place(&s->made, "next", s->reached);
    } else if (s->over) {
        buf_adds(&s->made, ",\"error\":");
        json_write_string(&s->made, why, strlen(why));
        buf_addc(&s->made, ',');
        put_place(&s->made, "at", s->reached);
    }
    buf_adds(&s->made, "}\n");
}

/* Moves back to the start of a character. */
static size_t whole_before(const char *text, size_t at)
{
    for (size_t n = 0; n < 3 && at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80; n++)
        at--;
    return at;
}

static void put_line(struct log_search *s, const struct cri_entry *e, struct place at,
                     size_t length, size_t match_at)
{
    size_t from = 0, to = e->len;

    if (e->len > TEXT_LIMIT_BYTES) {
        if (match_at > TEXT_LIMIT_BYTES - TEXT_BEFORE_BYTES)
            from = whole_before(e->text, match_at - TEXT_BEFORE_BYTES);
        to = e->len - from > TEXT_LIMIT_BYTES ? whole_before(e->text, from + TEXT_LIMIT_BYTES)
                                              : e->len;
    }
    buf_addc(&s->made, '{');
    put_place(&s->made, "at", at);
    buf_addf(&s->made, ",\"time\":\"%.*s\",\"stream\":\"%s\",\"text\":", (int)CRI_STAMP_LEN,
             e->stamp, e->stream == CRI_STDERR ? "stderr" : "stdout");
    json_write_string(&s->made, e->text + from, to - from);
    if (to - from < length)
        buf_addf(&s->made, ",\"cut\":true,\"from\":%zu,\"length\":%zu", from, length);
    buf_adds(&s->made, "}\n");
}

/* --- lines ------------------------------------------------------------------------------ */

static void fail(struct log_search *s, int failure)
{
    s->failure = failure;
    s->over = true;
}

static bool remember(struct log_search *s, struct place at, size_t from)
{
    size_t cap = s->found_cap ? 2 * s->found_cap : 256;
    struct found *more = s->found;

    if (s->found_len == s->found_cap) {
        more = realloc(s->found, cap * sizeof(*more));
        if (!more)
            return false;
        s->found = more;
        s->found_cap = cap;
    }
    more[s->found_len++] = (struct found){.from = from, .len = s->made.len - from, .at = at};
    return true;
}

/* after: start of the next line. */
static void look_at(struct log_search *s, const struct cri_entry *e, struct place at, size_t length,
                    struct place after)
{
    size_t from = s->made.len, match_at;
    int rc = line_match_test(s->match, e->text, e->len, &match_at);

    if (rc < 0) {
        s->reached = at;
        fail(s, rc);
    }
    if (rc != 1)
        return;
    if (s->options.back) {
        put_line(s, e, at, length, match_at);
        if (!remember(s, at, from))
            fail(s, -ENOMEM);
        return;
    }
    s->count++;
    if (s->given < s->options.lines) {
        put_line(s, e, at, length, match_at);
        s->given++;
        s->reached = after;
    }
    s->full = s->given == s->options.lines;
    s->over = s->over || (s->full && !s->options.count);
}

static void join(struct joint *j, const struct cri_entry *e, struct place at)
{
    size_t room = LINE_LIMIT_BYTES - j->text.len;

    if (!j->open) {
        buf_clear(&j->text);
        j->length = 0;
        j->at = at;
        memcpy(j->stamp, e->stamp, CRI_STAMP_LEN);
        j->open = true;
        room = LINE_LIMIT_BYTES;
    }
    buf_add(&j->text, e->text, min_size(e->len, room));
    j->length += e->len;
}

static void take_entry(struct log_search *s, const char *line, size_t len, off_t byte)
{
    struct place at = {s->segment, byte}, after = {s->segment, byte + (off_t)len + 1};
    struct cri_entry e;
    struct joint *j;

    if (!cri_parse(line, len, &e))
        return;
    j = &s->joints[e.stream];
    if (!e.partial && !j->open) {
        look_at(s, &e, at, e.len, after);
        return;
    }
    join(j, &e, at);
    if (e.partial)
        return;
    j->open = false;
    e.stamp = j->stamp;
    e.text = j->text.data ? j->text.data : "";
    e.len = j->text.len;
    look_at(s, &e, j->at, j->length, after);
}

/* Processes the data at that offset of the file: how much of it was whole entries. */
static size_t take_entries(struct log_search *s, const char *data, size_t len, off_t byte)
{
    size_t at = 0;
    const char *end;

    while (at < len && !s->over && !s->closed &&
           (end = memchr(data + at, '\n', len - at)) != NULL) {
        take_entry(s, data + at, (size_t)(end - data) - at, byte + (off_t)at);
        at = (size_t)(end - data) + 1;
    }
    return at;
}

/* --- files ------------------------------------------------------------------------------ */

static bool open_file(struct log_search *s, uint32_t segment)
{
    int fd = log_segment_open(s->dir_fd, s->container, s->files.run, segment);

    if (fd < 0)
        return false;
    if (s->fd >= 0)
        (void)close(s->fd);
    s->fd = fd;
    s->segment = segment;
    return true;
}

static off_t size_of_file(const struct log_search *s)
{
    struct stat st;

    return fstat(s->fd, &st) == 0 ? st.st_size : 0;
}

/* The first entry at or after an offset: its position and stamp. */
static bool next_stamp(const struct log_search *s, off_t byte, off_t *ret,
                       char stamp[CRI_STAMP_LEN])
{
    char block[2 * (CRI_LINE_BYTES + CRI_HEADER_LEN + 1)];
    off_t from = byte > 0 ? byte - 1 : 0;
    ssize_t n = pread(s->fd, block, sizeof(block), from);
    size_t at = 0, len = n > 0 ? (size_t)n : 0;
    struct cri_entry e;

    for (const char *end; at < len; at = (size_t)(end - block) + 1) {
        if ((at > 0 || byte == 0) &&
            cri_parse(block + at, min_size(len - at, CRI_HEADER_LEN), &e)) {
            memcpy(stamp, e.stamp, CRI_STAMP_LEN);
            *ret = from + (off_t)at;
            return true;
        }
        end = memchr(block + at, '\n', len - at);
        if (!end)
            break;
    }
    return false;
}

/* Stamps increase, so a time is found by bisection. */
static off_t find_time(const struct log_search *s, const char *time)
{
    char stamp[CRI_STAMP_LEN];
    off_t low = 0, high = size_of_file(s), at;

    /* low: everything before it is earlier; high: the first entry from here on is not earlier */
    while (low < high) {
        off_t middle = low + (high - low) / 2;

        if (next_stamp(s, middle, &at, stamp) && memcmp(stamp, time, CRI_STAMP_LEN) < 0)
            low = at + 1;
        else
            high = middle;
    }
    return next_stamp(s, low, &at, stamp) ? at : size_of_file(s);
}

static void seek_time(struct log_search *s)
{
    char time[TIME_TEXT_SIZE], stamp[CRI_STAMP_LEN];
    uint32_t segment = s->files.last;
    off_t at;

    (void)time_format_nano(s->from.time_ms / 1000, s->from.time_ms % 1000 * 1000000, time);
    while (segment > s->files.first && (!open_file(s, segment) || !next_stamp(s, 0, &at, stamp) ||
                                        memcmp(stamp, time, CRI_STAMP_LEN) >= 0))
        segment--;
    s->at = open_file(s, segment) ? find_time(s, time) : 0;
}

static void seek(struct log_search *s)
{
    if (s->from.kind == LOG_PLACE_TIME) {
        seek_time(s);
    } else if (s->from.kind == LOG_PLACE_BYTE && s->from.segment >= s->files.first &&
               open_file(s, (uint32_t)min_i64(s->from.segment, s->files.last))) {
        s->at = s->from.segment > s->files.last ? size_of_file(s)
                                                : min_i64(s->from.byte, size_of_file(s));
    } else if (s->from.kind == LOG_PLACE_NONE && s->options.back && open_file(s, s->files.last)) {
        s->at = size_of_file(s);
    } else if (open_file(s, s->files.first)) { /* or the file is gone */
        s->at = 0;
    }
}

static void begin(struct log_search *s)
{
    s->began = true;
    s->over = !s->files.found;
    for (uint32_t i = s->files.first; s->files.found && i <= s->files.last; i++)
        if (open_file(s, i))
            s->total += size_of_file(s);
    if (s->files.found)
        seek(s);
    if (s->files.found && s->fd < 0)
        fail(s, -ENOENT);
    s->reached = s->start = (struct place){s->segment, s->at};
}

/* --- forwards --------------------------------------------------------------------------- */

/* Everything was read: the next search continues after the last complete line. */
static void end_forward(struct log_search *s)
{
    s->over = true;
    if (s->full)
        return;
    s->reached = (struct place){s->segment, s->at - (off_t)s->in.len};
    for (int i = 0; i < CRI_STREAMS; i++)
        if (s->joints[i].open && (s->joints[i].at.segment < s->reached.segment ||
                                  (s->joints[i].at.segment == s->reached.segment &&
                                   s->joints[i].at.byte < s->reached.byte)))
            s->reached = s->joints[i].at;
}

static void next_file(struct log_search *s)
{
    struct log_segments now;

    if (!open_file(s, s->segment + 1)) {
        now = log_segments_of(s->dir_fd, s->container, s->files.run, s->files.run);
        if (!now.found || now.last <= s->segment ||
            !open_file(s, now.first > s->segment ? now.first : s->segment + 1)) {
            end_forward(s);
            return;
        }
    }
    s->at = 0;
    buf_clear(&s->in);
}

static size_t step_forward(struct log_search *s)
{
    char *room = buf_reserve(&s->in, BLOCK_BYTES);
    ssize_t n = room ? pread(s->fd, room, BLOCK_BYTES, s->at) : -1;

    if (n < 0) {
        fail(s, room ? -errno : -ENOMEM);
        return 0;
    }
    if (n == 0) {
        next_file(s);
        return 0;
    }
    s->in.len += (size_t)n;
    s->at += n;
    s->scanned += n;
    buf_consume(&s->in, take_entries(s, s->in.data, s->in.len, s->at - (off_t)s->in.len));
    if (s->in.len > BLOCK_BYTES)
        buf_clear(&s->in); /* not a log of ours */
    return (size_t)n;
}

/* --- backwards -------------------------------------------------------------------------- */

/* A certain start of a line: after an entry that ends one. 0: none. */
static size_t line_start(const char *data, size_t len)
{
    const char *end = memchr(data, '\n', len);
    struct cri_entry e;

    while (end) {
        const char *entry = end + 1;
        size_t left = len - (size_t)(entry - data);

        end = left ? memchr(entry, '\n', left) : NULL;
        if (end && (!cri_parse(entry, (size_t)(end - entry), &e) || !e.partial))
            return (size_t)(end + 1 - data) < len ? (size_t)(end + 1 - data) : 0;
    }
    return 0;
}

static void put_found(struct log_search *s, struct buf *lines)
{
    for (size_t i = s->found_len; i-- > 0 && (!s->full || s->options.count);) {
        const struct found *f = &s->found[i];

        s->count++;
        if (s->full)
            continue;
        buf_add(&s->made, lines->data + f->from, f->len);
        s->reached = f->at;
        s->full = ++s->given >= s->options.lines;
    }
    s->found_len = 0;
    s->over = s->over || (s->full && !s->options.count);
}

/* Searches between two offsets of the file, both at the start of lines. */
static void search_window(struct log_search *s, const char *data, size_t len, off_t byte)
{
    struct buf made = s->made, lines;

    buf_init(&s->made, MADE_LIMIT_BYTES);
    for (int i = 0; i < CRI_STREAMS; i++)
        s->joints[i].open = false;
    (void)take_entries(s, data, len, byte);
    if (s->made.failed)
        fail(s, -ENOMEM);
    made.failed = made.failed || s->made.failed;
    lines = s->made;
    s->made = made;
    put_found(s, &lines);
    buf_release(&lines);
}

static size_t step_back(struct log_search *s)
{
    off_t from = s->at > (off_t)s->window ? s->at - (off_t)s->window : 0;
    size_t len = (size_t)(s->at - from), start;
    char *room;
    ssize_t n;

    if (len == 0) {
        if (s->segment > s->files.first && open_file(s, s->segment - 1)) {
            s->at = size_of_file(s);
        } else {
            s->over = true;
            if (!s->full)
                s->reached = (struct place){s->segment, 0};
        }
        return 0;
    }
    buf_clear(&s->in);
    room = buf_reserve(&s->in, len);
    n = room ? pread(s->fd, room, len, from) : -1;
    if (!room || n < (ssize_t)len) {
        fail(s, !room ? -ENOMEM : n < 0 ? -errno : -EIO);
        return 0;
    }
    start = from > 0 ? line_start(room, len) : 0;
    if (from > 0 && start == 0 && s->window < WINDOW_LIMIT_BYTES) {
        s->window *= 2; /* inside a long line */
        return len;
    }
    search_window(s, room + start, len - start, from + (off_t)start);
    s->scanned += (int64_t)(len - start);
    s->at = from + (off_t)start;
    s->window = BLOCK_BYTES;
    return len;
}

/* --- turns ------------------------------------------------------------------------------ */

/* On a pool thread. */
static void work(void *arg)
{
    struct log_search *s = arg;
    int64_t until_ns = line_match_cpu_ns() + TURN_MS * 1000000LL;
    size_t done = 0;

    if (!s->began)
        begin(s);
    while (!s->over && !s->closed && done < SLICE_BYTES && s->made.len < HELD_BYTES &&
           line_match_cpu_ns() < until_ns) {
        line_match_begin(s->match, &s->closed);
        done += s->options.back ? step_back(s) : step_forward(s);
    }
    put_progress(s);
}

static void done(void *arg);

static void search_free(struct log_search *s)
{
    for (size_t i = 0; s->all && i < LOG_SEARCHES_LIMIT; i++)
        if (s->all->open[i] == s)
            s->all->open[i] = NULL;
    line_match_free(s->match);
    if (s->fd >= 0)
        (void)close(s->fd);
    if (s->dir_fd >= 0)
        (void)close(s->dir_fd);
    for (int i = 0; i < CRI_STREAMS; i++)
        buf_release(&s->joints[i].text);
    buf_release(&s->in);
    buf_release(&s->made);
    buf_release(&s->out);
    free(s->found);
    free(s->container);
    free(s->user);
    free(s);
}

/* Starts those that waited longest, as many as may run at once. */
static void start_next(struct log_searches *all)
{
    while (all->running < RUNNING_LIMIT && all->waiting) {
        struct log_search *s = all->waiting;

        while (s->next)
            s = s->next;
        list_remove(&all->waiting, s);
        s->queued = false;
        s->busy = loop_work(all->loop, work, done, s) == 0;
        s->broken = !s->busy;
        all->running += s->busy;
        if (s->busy)
            list_push(&all->working, s);
    }
}

/* Queues it, if the reader consumes what was found. */
static void go_on(struct log_search *s)
{
    if (s->busy || s->queued || s->over || s->broken || s->out.len - s->out_at >= HELD_BYTES)
        return;
    list_push(&s->all->waiting, s);
    s->queued = true;
    start_next(s->all);
}

static void done(void *arg)
{
    struct log_search *s = arg;
    struct log_searches *all = s->all;

    s->busy = false;
    if (!all) {
        search_free(s);
        return;
    }
    list_remove(&all->working, s);
    all->running--;
    if (s->closed) {
        search_free(s);
    } else {
        s->broken = s->made.failed;
        buf_add(&s->out, s->made.data ? s->made.data : "", s->made.len);
        s->broken = s->broken || s->out.failed;
        buf_clear(&s->made);
        go_on(s);
        stream_ready(&s->base);
    }
    start_next(all);
}

void log_searches_end(struct log_searches *all)
{
    for (struct log_search *s = all->working; s; s = s->next) {
        s->all = NULL;
        s->closed = true;
    }
}

static struct log_search *self_of(struct stream *s)
{
    return container_of(s, struct log_search, base);
}

static ssize_t search_read(struct stream *stream, char *out, size_t cap)
{
    struct log_search *s = self_of(stream);
    size_t n = min_size(cap, s->out.len - s->out_at);

    if (n > 0) {
        memcpy(out, s->out.data + s->out_at, n);
        s->out_at += n;
    }
    if (s->out_at == s->out.len) {
        buf_clear(&s->out);
        s->out_at = 0;
    }
    go_on(s);
    if (n > 0)
        return (ssize_t)n;
    if (s->busy || s->queued)
        return 0;
    return s->broken ? STREAM_BROKEN : STREAM_END;
}

static void search_close(struct stream *stream)
{
    struct log_search *s = self_of(stream);

    if (s->queued)
        list_remove(&s->all->waiting, s);
    s->queued = false;
    s->closed = true;
    if (!s->busy)
        search_free(s);
}

static const struct stream_ops search_ops = {.read = search_read, .close = search_close};

int log_search_check(const struct log_searches *all, const struct node_log_search *s,
                     struct err *err)
{
    struct share share = {.limit = LOG_SEARCHES_LIMIT};
    const char *user = s->user ? s->user : "";
    struct line_match *m;

    for (size_t i = 0; i < LOG_SEARCHES_LIMIT; i++)
        if (all->open[i])
            share_count(&share, all->open[i]->user, "", user, "");
    switch (share_ask(&share, !*user)) {
    case SHARE_OWN_USED:
        return err_set(err, ERR_TOO_MANY_REQUESTS,
                       "%zu searches of yours are under way on this node already: try again later",
                       share.own);
    case SHARE_ALL_USED:
        return err_set(err, ERR_TOO_MANY_REQUESTS,
                       "%zu searches are under way on this node already: try again later",
                       share.all);
    case SHARE_LEFT:
        break;
    }
    m = line_match_new(s, err);
    line_match_free(m);
    if (!m && err)
        err_context(err, "search");
    return m ? 0 : -1;
}

int log_search_open(struct log_searches *all, const char *pod_root, const char *pod_uid,
                    const char *container, const struct node_log_options *options,
                    struct stream **ret, struct err *err)
{
    struct log_search *s;
    char *dir = NULL;
    int rc = 0;

    if (!pod_name_is_safe(pod_uid) || !pod_name_is_safe(container))
        return err_set(err, ERR_BAD_REQUEST, "no such container: \"%s\"", container);
    s = calloc(1, sizeof(*s));
    if (!s)
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    *s = (struct log_search){.base = {.ops = &search_ops},
                             .all = all,
                             .out = BUF_INIT(2 * MADE_LIMIT_BYTES),
                             .options = options->search,
                             .from = options->from,
                             .dir_fd = -1,
                             .fd = -1,
                             .window = BLOCK_BYTES,
                             .in = BUF_INIT(WINDOW_LIMIT_BYTES + 2 * BLOCK_BYTES),
                             .made = BUF_INIT(2 * MADE_LIMIT_BYTES)};
    for (size_t i = 0, taken = 0; i < LOG_SEARCHES_LIMIT && !taken; i++)
        if (!all->open[i]) {
            all->open[i] = s;
            taken = 1;
        }
    for (int i = 0; i < CRI_STREAMS; i++)
        buf_init(&s->joints[i].text, LINE_LIMIT_BYTES);
    s->options.text = NULL;
    s->full = options->search.lines == 0;
    s->container = strdup(container);
    s->user = strdup(options->search.user ? options->search.user : "");
    s->match = line_match_new(&options->search, err);
    if (asprintf(&dir, "%s/%s", pod_root, pod_uid) < 0)
        dir = NULL;
    if (!s->match)
        rc = -1;
    else if (!s->container || !s->user || !dir)
        rc = err_set(err, ERR_UNAVAILABLE, "out of memory");
    else if ((s->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        rc = err_set(err, ERR_NOT_FOUND, "container \"%s\" has no log yet: it was not started",
                     container);
    free(dir);
    if (rc == 0)
        s->files = log_segments_choose(s->dir_fd, container, options->previous);
    if (rc == 0 && !s->files.found && options->previous)
        rc = err_set(err, ERR_NOT_FOUND, "previous terminated container \"%s\" not found",
                     container);
    if (rc < 0)
        search_free(s);
    else
        *ret = &s->base;
    return rc;
}
