/* exit_words.h - what an exit code means, in words a user can act on. */
#ifndef MUSTER_CORE_EXIT_WORDS_H
#define MUSTER_CORE_EXIT_WORDS_H

#include "base/base.h"

/* reason is the container's (OOMKilled ...), "" when none; explained: more is known than the code,
 * so guesses and empty words are left out. NULL when there is nothing to say of the code. */
const char *exit_words(int code, const char *reason, bool explained);
/* 128 plus a signal: the program could not report its own end. */
bool exit_by_signal(int code);

#endif
