/* mux_kind.h - what a connection speaks once it is upgraded (net/mux.h). */
#ifndef MUSTER_PORT_MUX_KIND_H
#define MUSTER_PORT_MUX_KIND_H

enum mux_kind {
    MUX_SPDY,
    MUX_CHANNELS,    /* WebSocket, [v4|v5].channel.k8s.io: streams are the channels 0 to 4 */
    MUX_TUNNEL_SPDY, /* the bytes of SPDY, cut into WebSocket messages anyhow */
    MUX_TEXT,        /* WebSocket, whole messages of text: data is called with one, on stream 0 */
};

#endif
