/* peer_words.h - whether a program's last words only say that it lost another: of several that
 * failed together, such a one is a victim and not the cause. */
#ifndef MUSTER_BASE_PEER_WORDS_H
#define MUSTER_BASE_PEER_WORDS_H

#include "base/base.h"

bool peer_words(const char *text);

#endif
