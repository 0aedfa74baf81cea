/* secret.h - constant-time comparison of secrets. */
#ifndef MUSTER_BASE_SECRET_H
#define MUSTER_BASE_SECRET_H

#include "base/base.h"

/* Takes as long for a wrong text as for the right one. An empty secret matches nothing. */
bool secret_equal(const char *secret, const char *given);

#endif
