/* base64.h - RFC 4648 with padding, as used in Secrets. */
#ifndef MUSTER_BASE_BASE64_H
#define MUSTER_BASE_BASE64_H

#include "base/arena.h"

/* Allocated in the arena, NUL-terminated; NULL when the arena failed. */
char *base64_encode(struct arena *a, const void *data, size_t len, size_t *ret_len) must_check;
/* Bytes the text decodes to, or -EINVAL when it is not base64. Line breaks are skipped. */
int64_t base64_decoded_len(const char *text, size_t len) must_check;
/* Decodes into the arena, adding a NUL; NULL when the text is not base64 or the arena failed. */
char *base64_decode(struct arena *a, const char *text, size_t len, size_t *ret_len) must_check;

/* The URL-safe alphabet, without padding. */
char *base64url_encode(struct arena *a, const void *data, size_t len) must_check;
char *base64url_decode(struct arena *a, const char *text, size_t len, size_t *ret_len) must_check;

#endif
