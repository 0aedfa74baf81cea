/* expand.h - $(VAR) in commands, arguments and environment values, as Kubernetes does it. */
#ifndef MUSTER_CORE_EXPAND_H
#define MUSTER_CORE_EXPAND_H

#include "base/arena.h"

/* The value of a variable, or NULL. name is not NUL-terminated. */
typedef const char *expand_lookup_fn(void *arg, const char *name, size_t len);

/* $(NAME) becomes its value, or stays unchanged when there is no such variable; $$ becomes $, so
 * $$(NAME) is the text $(NAME). NULL when the arena failed. */
const char *expand_vars(struct arena *a, const char *text, expand_lookup_fn *lookup, void *arg);

#endif
