/* percent.h - percent-encoding of URL components (RFC 3986). */
#ifndef MUSTER_BASE_PERCENT_H
#define MUSTER_BASE_PERCENT_H

#include "base/arena.h"
#include "base/buf.h"

/* The value of a hexadecimal digit, or -1. */
int hex_digit(char c);

/* Encodes everything but unreserved characters: safe in a path segment and in a query value. */
void percent_encode(struct buf *out, const char *text);
/* Decoded into the arena; NULL when malformed, containing NUL, or out of memory. */
char *percent_decode(struct arena *a, const char *text, size_t len) must_check;
/* The same for a query name or value, where + is a space. */
char *percent_decode_query(struct arena *a, const char *text, size_t len) must_check;

#endif
