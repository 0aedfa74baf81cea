/* secret.c - see secret.h. The time depends only on the length of the input, never on the secret:
 * every byte given is compared, and the compiler cannot tell that one difference is enough. */
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
