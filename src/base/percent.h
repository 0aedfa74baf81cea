/* percent.h - percent-encoding of the parts of an address, as RFC 3986 wants it. */
#ifndef MUSTER_BASE_PERCENT_H
#define MUSTER_BASE_PERCENT_H

#include "base/arena.h"
#include "base/buf.h"

/* The value of a hexadecimal digit, -1 when it is none. */
int hex_digit(char c);

/* Everything but unreserved characters is encoded: fit for a path's part and a query's value. */
void percent_encode(struct buf *out, const char *text);
/* %XX undone, in the arena; NULL when malformed, holding NUL, or out of memory. */
char *percent_decode(struct arena *a, const char *text, size_t len) must_check;
/* Likewise of a query's name or value, where + is a space. */
char *percent_decode_query(struct arena *a, const char *text, size_t len) must_check;

#endif
