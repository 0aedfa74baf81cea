/*
 * mux.h - an upgraded connection that carries several byte streams: SPDY/3.1, WebSocket with
 * Kubernetes' channels, or SPDY inside WebSocket. Its user sees streams and need not know which.
 *
 * Back-pressure is the user's job: pause the whole connection while it cannot take more, and send
 * only while there is room. Loop thread only.
 */
#ifndef MUSTER_NET_MUX_H
#define MUSTER_NET_MUX_H

#include "loop/loop.h"
#include "net/spdy.h"
#include "port/mux_kind.h"

#define MUX_READ_BYTES (64u * 1024u)           /* read from the socket at once */
#define MUX_ROOM_BYTES (256u * 1024u)          /* unsent: beyond it no more is requested */
#define MUX_OUTPUT_LIMIT_BYTES (1024u * 1024u) /* ... and then the connection is given up */
#define MUX_TEXT_LIMIT_BYTES (64u * 1024u)     /* an incoming message */
#define MUX_TEXT_OUTPUT_LIMIT_BYTES (16u * 1024u * 1024u) /* as MUX_OUTPUT_LIMIT_BYTES */
#define MUX_LINGER_MS 5000 /* for the peer to close after we finished */

/* Called from the loop only, never from inside a function of this header. Each may free the mux. */
struct mux_handler {
    /* SPDY only: channels exist from the start. */
    void (*opened)(void *arg, uint32_t stream, const struct spdy_header *headers, size_t count);
    void (*data)(void *arg, uint32_t stream, const char *data, size_t len);
    /* The peer will send no more on it. */
    void (*ended)(void *arg, uint32_t stream, enum spdy_end how);
    void (*drained)(void *arg); /* there is room (again) */
    void (*closed)(void *arg);  /* the connection is over; no further calls */
};

struct mux;

/* Takes fd, even on failure. early: what the peer sent along with its request. */
struct mux *mux_new(struct loop *l, int fd, const char *early, size_t early_len, enum mux_kind kind,
                    const struct mux_handler *handler, void *arg) must_check;
void mux_free(struct mux *m); /* closes at once; NULL-safe */

bool mux_has_room(const struct mux *m);
void mux_send(struct mux *m, uint32_t stream, const void *data, size_t len);
void mux_end(struct mux *m, uint32_t stream); /* we send no more on it */
/* While paused nothing is read, and data is not called except for what was already read. */
enum mux_reading { MUX_READING, MUX_PAUSED };
void mux_pause(struct mux *m, enum mux_reading reading);
/* Sends what is left, then ends the connection; closed is called afterwards. Incoming data is
 * dropped: closing without reading it would discard what the peer has not read yet. */
void mux_finish(struct mux *m);

#endif
