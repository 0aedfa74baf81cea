/* websocket.c - see websocket.h. */
#include "net/websocket.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <string.h>

#define FIN 0x80u
#define RESERVED 0x70u
#define MASKED 0x80u
#define MASK_BYTES WEBSOCKET_MASK_BYTES
#define SHA1_BYTES 20

/* --- the handshake --------------------------------------------------------------------- */

void websocket_accept(const char *key, char out[WEBSOCKET_ACCEPT_SIZE])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455, 1.3 */
    unsigned char hash[SHA1_BYTES + 1] = {0};
    gnutls_hash_hd_t sum;

    if (gnutls_hash_init(&sum, GNUTLS_DIG_SHA1) == 0) { /* otherwise the client will reject it */
        (void)gnutls_hash(sum, key, strlen(key));
        (void)gnutls_hash(sum, guid, strlen(guid));
        gnutls_hash_deinit(sum, hash);
    }
    for (size_t i = 0; i < SHA1_BYTES; i += 3, out += 4) {
        unsigned v = (unsigned)hash[i] << 16 | (unsigned)hash[i + 1] << 8 | hash[i + 2];

        for (int k = 0; k < 4; k++)
            out[k] = digits[v >> (18 - 6 * k) & 63];
    }
    out[-1] = '='; /* 20 bytes: the last group has two */
    out[0] = '\0';
}

/* --- output ---------------------------------------------------------------------------- */

size_t websocket_head(unsigned char out[WEBSOCKET_HEAD_LIMIT_BYTES], enum websocket_opcode opcode,
                      size_t len)
{
    size_t bytes = len < 126 ? 0 : len <= 0xffff ? 2 : 8;

    out[0] = (unsigned char)(FIN | (unsigned)opcode);
    out[1] = (unsigned char)(bytes == 0 ? len : bytes == 2 ? 126 : 127);
    for (size_t i = 0; i < bytes; i++)
        out[2 + i] = (unsigned char)((uint64_t)len >> (8 * (bytes - 1 - i)));
    return 2 + bytes;
}

size_t websocket_head_masked(unsigned char out[WEBSOCKET_HEAD_LIMIT_BYTES],
                             enum websocket_opcode opcode, size_t len,
                             const unsigned char mask[WEBSOCKET_MASK_BYTES])
{
    size_t n = websocket_head(out, opcode, len);

    out[1] |= MASKED;
    memcpy(out + n, mask, MASK_BYTES);
    return n + MASK_BYTES;
}

/* --- input ----------------------------------------------------------------------------- */

void websocket_init(struct websocket *w, const struct websocket_handler *handler, void *arg)
{
    *w = (struct websocket){.handler = *handler, .arg = arg};
}

void websocket_init_client(struct websocket *w, const struct websocket_handler *handler, void *arg)
{
    websocket_init(w, handler, arg);
    w->is_client = true;
}

static enum websocket_opcode opcode_of(const struct websocket *w)
{
    return (enum websocket_opcode)(w->head[0] & 15);
}

static bool is_control(const struct websocket *w)
{
    return w->head[0] & 8;
}

/* The head's length, as far as its first bytes tell. */
static size_t head_size(const struct websocket *w)
{
    unsigned len = w->head[1] & 0x7f;

    if (w->head_len < 2)
        return 2;
    return 2 + (w->is_client ? 0 : MASK_BYTES) + (len == 126 ? 2 : len == 127 ? 8 : 0);
}

static uint64_t payload_length(const struct websocket *w)
{
    unsigned len = w->head[1] & 0x7f;
    size_t bytes = len == 126 ? 2 : len == 127 ? 8 : 0;
    uint64_t v = bytes ? 0 : len;

    for (size_t i = 0; i < bytes; i++)
        v = v << 8 | w->head[2 + i];
    return v;
}

static bool head_is_allowed(const struct websocket *w)
{
    enum websocket_opcode opcode = opcode_of(w);

    if (w->head[0] & RESERVED || w->left > INT64_MAX)
        return false;
    if (is_control(w))
        return opcode <= WEBSOCKET_PONG && w->head[0] & FIN &&
               w->left <= WEBSOCKET_CONTROL_LIMIT_BYTES;
    return opcode <= WEBSOCKET_BINARY && (opcode == WEBSOCKET_CONTINUATION) == w->in_message;
}

static int frame_begins(struct websocket *w)
{
    w->left = payload_length(w);
    if (!head_is_allowed(w))
        return -EPROTO;
    w->in_frame = true;
    w->mask_at = 0;
    w->control_len = 0;
    if (!is_control(w)) {
        w->message_began = opcode_of(w) != WEBSOCKET_CONTINUATION;
        w->in_message = !(w->head[0] & FIN);
    }
    return 0;
}

static void unmask(struct websocket *w, char *data, size_t len)
{
    const unsigned char *mask = w->head + head_size(w) - MASK_BYTES;
    unsigned at = w->mask_at;

    for (size_t i = 0; i < len; i++, at = (at + 1) % MASK_BYTES)
        data[i] = (char)((unsigned char)data[i] ^ mask[at]);
    w->mask_at = at;
}

static void frame_part(struct websocket *w, char *data, size_t len)
{
    if (!w->is_client)
        unmask(w, data, len);
    w->left -= len;
    if (is_control(w)) {
        memcpy(w->control + w->control_len, data, len);
        w->control_len += len;
    } else {
        bool first = w->message_began;

        w->message_began = false;
        w->handler.part(w->arg, first, data, len);
    }
}

static void frame_ends(struct websocket *w)
{
    w->in_frame = false;
    w->head_len = 0;
    if (is_control(w))
        w->handler.control(w->arg, opcode_of(w), w->control, w->control_len);
}

int websocket_feed(struct websocket *w, char *data, size_t len)
{
    while (len > 0 || (w->in_frame && w->left == 0)) {
        size_t n = w->in_frame ? (size_t)(w->left < len ? w->left : len)
                               : min_size(len, head_size(w) - w->head_len);

        if (!w->in_frame) {
            memcpy(w->head + w->head_len, data, n);
            w->head_len += n;
            /* With the wrong masking the head is never accepted. */
            if (w->head_len >= 2 && !(w->head[1] & MASKED) != w->is_client)
                return -EPROTO;
            if (w->head_len >= 2 && w->head_len == head_size(w) && frame_begins(w) < 0)
                return -EPROTO;
        } else {
            frame_part(w, data, n);
            if (w->left == 0)
                frame_ends(w);
        }
        data += n;
        len -= n;
    }
    return 0;
}
