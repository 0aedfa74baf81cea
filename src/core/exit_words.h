/* exit_words.h - what an exit code means, in words a user can act on. */
#ifndef MUSTER_CORE_EXIT_WORDS_H
#define MUSTER_CORE_EXIT_WORDS_H

#include "base/base.h"

/* reason is the container's (OOMKilled ...), "" when none. NULL when nothing is known of the code.
 */
const char *exit_words(int code, const char *reason);

#endif
