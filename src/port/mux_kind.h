/* mux_kind.h - what a connection speaks once it is upgraded (net/mux.h). */
#ifndef MUSTER_PORT_MUX_KIND_H
#define MUSTER_PORT_MUX_KIND_H

enum mux_kind {
    MUX_SPDY,
    MUX_CHANNELS,    /* WebSocket, [v4|v5].channel.k8s.io: streams are the channels 0 to 4 */
    MUX_TUNNEL_SPDY, /* SPDY bytes inside WebSocket messages with arbitrary boundaries */
    MUX_TEXT,        /* WebSocket text messages: data is called with each one, on stream 0 */
};

#endif
