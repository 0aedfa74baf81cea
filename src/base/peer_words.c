/* peer_words.c - one table: how gloo, NCCL, torch's stores and torchrun report a lost peer. */
#include "base/peer_words.h"

#include <string.h>

static const char *const signs[] = {
    "Connection closed by peer",
    "Connection reset by peer",
    "Connection refused",
    "Connection timed out",
    "Connection was likely closed",
    "Broken pipe",
    "Socket closed",
    "Socket Timeout",
    "client socket has failed to connect",
    "client socket has timed out",
    "failed to recv, got 0 bytes",
    "recvValue failed",
    "remote process exited",
    "communicator was aborted",
    "caused pair closure",
    "Timed out waiting",
    "connection to the C10d store has failed",
    "RendezvousClosedError",
    "SignalException: Process",
    "Signal 15 (SIGTERM)",
};

bool peer_words(const char *text)
{
    for (size_t i = 0; i < ELEMS(signs); i++)
        if (strstr(text, signs[i]))
            return true;
    return false;
}
