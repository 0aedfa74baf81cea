/* exit_words.h - what an exit code means, in actionable words. */
#ifndef MUSTER_CORE_EXIT_WORDS_H
#define MUSTER_CORE_EXIT_WORDS_H

#include "base/base.h"

/* reason is the container's (OOMKilled ...), or ""; explained: more than the code is known, so
 * guesses are left out. NULL when there is nothing to say about the code. */
const char *exit_words(int code, const char *reason, bool explained);
/* 128 plus a signal: the program could not report its own end. */
bool exit_by_signal(int code);

#endif
