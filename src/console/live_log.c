/*
 * live_log.c - a followed log in a tab. Only as much is sent as the page has given credit for: what
 * it cannot show in time stays in the log file.
 */

#include "console/live_internal.h"

#define CREDIT_LIMIT_BYTES (64 * INT64_C(1048576))
#define TAIL_BYTES 3u /* of a possibly incomplete character */

/* How many bytes at the end belong to an incomplete character. */
static size_t cut_bytes(const char *data, size_t len)
{
    for (size_t n = 1; n <= TAIL_BYTES && n <= len; n++) {
        unsigned char c = (unsigned char)data[len - n];
        size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;

        if (c >= 0xc0)
            return whole > n ? n : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

static void send_lines(struct live_sub *s, size_t len)
{
    struct buf b = BUF_INIT(LIVE_MESSAGE_LIMIT_BYTES);

    buf_addf(&b, "{\"id\":%u,\"t\":\"lines\",\"bytes\":%zu,\"text\":", s->id, len);
    json_write_string(&b, s->line.data, len);
    buf_adds(&b, "}");
    live_send(s->tab, &b);
    s->credit -= (int64_t)len;
    buf_consume(&s->line, len);
}

/* Sends as much as credit and room allow; the log waits while something is left. */
static void go_on(struct live_sub *s)
{
    size_t len = s->line.len;
    bool full;

    if (s->credit < (int64_t)len)
        len = s->credit > 0 ? (size_t)s->credit : 0;
    if (len < s->line.len || !s->over)
        len -= cut_bytes(s->line.data, len);
    if (len > 0 && live_has_room(s->tab))
        send_lines(s, len);
    full = s->line.len > TAIL_BYTES || s->credit <= 0 || !live_has_room(s->tab);
    if (s->stream && full != s->paused) {
        s->paused = full;
        transport_pause(s->tab->transport, s->stream, full);
    }
    if (s->over && !s->told && s->line.len == 0) {
        s->told = true;
        live_send_end(s);
    }
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct live_sub *s = arg;

    buf_add(&s->line, data, len);
    if (s->line.failed) /* more than can arrive before a pause takes effect */
        buf_clear(&s->line);
    go_on(s);
}

static void on_end(void *arg, const struct api_reply *reply)
{
    struct live_sub *s = arg;

    s->stream = NULL;
    s->over = true;
    if (reply->status != 200) {
        s->told = true;
        live_refused(s, reply);
    }
    go_on(s);
}

static void begin(struct live_sub *s)
{
    const struct api_stream_handler handler = {.on_data = on_data, .on_end = on_end, .arg = s};

    s->credit = min_i64(s->credit, CREDIT_LIMIT_BYTES);
    s->stream = transport_open(s->tab->transport, s->path, &handler);
    if (!s->stream)
        live_send_error(s, 503, "ServiceUnavailable", "out of memory");
}

static void credit(struct live_sub *s, int64_t bytes)
{
    if (bytes > 0)
        s->credit = min_i64(s->credit + min_i64(bytes, CREDIT_LIMIT_BYTES), CREDIT_LIMIT_BYTES);
    go_on(s);
}

const struct live_ops live_log_ops = {.begin = begin, .room = go_on, .credit = credit};
