/*
 * words.h - the command line's messages in the user's language: Chinese if the first set of LC_ALL,
 * LC_MESSAGES and LANG starts with zh; otherwise English. Data, names in it, and the server's
 * messages are not translated.
 */
#ifndef MUSTER_CLI_WORDS_H
#define MUSTER_CLI_WORDS_H

#include "base/base.h"

/* The text itself if there is no translation. Formats keep their conversions, in the same order. */
const char *words(const char *english) __attribute__((format_arg(1)));
/* The help of a command; the table has it as "help NAME". */
const char *words_of_help(const char *command, const char *english);

struct words_pair {
    const char *english, *chinese;
};
extern const struct words_pair words_chinese[]; /* ends with NULL */

#endif
