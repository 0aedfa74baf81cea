/* peer_words.h - whether a program's last output only says that it lost a peer: among several
 * replicas that failed together, that one is a victim and not the cause. */
#ifndef MUSTER_BASE_PEER_WORDS_H
#define MUSTER_BASE_PEER_WORDS_H

#include "base/base.h"

bool peer_words(const char *text);

#endif
