/*
 * mux.h - one upgraded connection that carries several streams of bytes: SPDY/3.1, WebSocket with
 * Kubernetes' channels, or SPDY inside WebSocket. What uses it sees streams and need not know
 * which.
 *
 * Back-pressure is the user's: it pauses the whole connection while it cannot take more, and sends
 * only while there is room. All on the loop's thread.
 */
#ifndef MUSTER_NET_MUX_H
#define MUSTER_NET_MUX_H

#include "loop/loop.h"
#include "net/spdy.h"
#include "port/mux_kind.h"

#define MUX_READ_BYTES (64u * 1024u)  /* taken from the socket at a time */
#define MUX_ROOM_BYTES (256u * 1024u) /* waiting to be sent: more is not asked for */
#define MUX_OUTPUT_LIMIT_BYTES                                                                     \
    (1024u * 1024u)                        /* ... and with this much the connection is given up */
#define MUX_TEXT_LIMIT_BYTES (64u * 1024u) /* a message that comes */
#define MUX_TEXT_OUTPUT_LIMIT_BYTES (16u * 1024u * 1024u) /* as MUX_OUTPUT_LIMIT_BYTES */
#define MUX_LINGER_MS 5000 /* for the peer to close after we finished */

/* Called from the loop only, never from inside a function of this header. Each may free the mux. */
struct mux_handler {
    /* SPDY only: channels are there from the start. */
    void (*opened)(void *arg, uint32_t stream, const struct spdy_header *headers, size_t count);
    void (*data)(void *arg, uint32_t stream, const char *data, size_t len);
    /* The peer sends no more on it. */
    void (*ended)(void *arg, uint32_t stream, enum spdy_end how);
    void (*drained)(void *arg); /* there is room (again) */
    void (*closed)(void *arg);  /* the connection is over; nothing comes any more */
};

struct mux;

/* Takes fd also when it fails. early: what the peer sent along with its request. */
struct mux *mux_new(struct loop *l, int fd, const char *early, size_t early_len, enum mux_kind kind,
                    const struct mux_handler *handler, void *arg) must_check;
void mux_free(struct mux *m); /* closes at once; NULL-safe */

bool mux_has_room(const struct mux *m);
void mux_send(struct mux *m, uint32_t stream, const void *data, size_t len);
void mux_end(struct mux *m, uint32_t stream); /* we send no more on it */
/* Paused, nothing is read and data is not called, but for what was read already. */
enum mux_reading { MUX_READING, MUX_PAUSED };
void mux_pause(struct mux *m, enum mux_reading reading);
/* What was sent goes out, then the connection ends; closed is called when it has. Data that still
 * comes is dropped: closing on it would throw away at the peer what it has not read yet. */
void mux_finish(struct mux *m);

#endif
