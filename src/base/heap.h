/* heap.h - memory that outlives a request and is neither a map nor a buffer. Core's ledger uses it:
 * its caller owns the ledger, so core itself still holds no state. */
#ifndef MUSTER_BASE_HEAP_H
#define MUSTER_BASE_HEAP_H

#include "base/base.h"

void *heap_new(size_t size) must_check; /* zeroed; NULL: out of memory */
void *heap_resize(void *p, size_t size) must_check;
char *heap_text(const char *text) must_check; /* a copy */
void heap_free(void *p);

#endif
