/*
 * words.h - what the command line says, in the user's language: Chinese where LC_ALL, LC_MESSAGES
 * or LANG, the first of them that is set, begins with zh; English otherwise. Data, the names in it,
 * and what the server says are not translated.
 */
#ifndef MUSTER_CLI_WORDS_H
#define MUSTER_CLI_WORDS_H

#include "base/base.h"

/* The text itself where there is no other. Formats keep their conversions, in the same order. */
const char *words(const char *english) __attribute__((format_arg(1)));

struct words_pair {
    const char *english, *chinese;
};
extern const struct words_pair words_chinese[]; /* ends with NULL */

#endif
