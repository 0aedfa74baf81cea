/* escape.h - percent-encoding of query values, as RFC 3986 wants it. */
#ifndef MUSTER_CLIENT_ESCAPE_H
#define MUSTER_CLIENT_ESCAPE_H

#include "base/buf.h"

/* Everything but unreserved characters is encoded. */
static inline void escape_query(struct buf *out, const char *text)
{
    for (; *text; text++) {
        char c = *text;

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '-' || c == '.' || c == '_' || c == '~')
            buf_addc(out, c);
        else
            buf_addf(out, "%%%02X", (unsigned)(unsigned char)c);
    }
}

#endif
