/* secret.c - see secret.h. How long it takes depends on what was given, never on the secret: every
 * letter given is compared, and the compiler cannot see that one difference is enough. */
#include "base/secret.h"

#include <string.h>

bool secret_equal(const char *secret, const char *given)
{
    size_t len = strlen(secret), given_len = strlen(given);
    volatile unsigned char different = len != given_len || len == 0;

    for (size_t i = 0; i < given_len; i++)
        different = (unsigned char)(different | (secret[i % (len + 1)] ^ given[i]));
    return !different;
}
