/* heap.c - see heap.h. */
#include "base/heap.h"

#include <stdlib.h>
#include <string.h>

void *heap_new(size_t size)
{
    return calloc(1, size);
}

void *heap_resize(void *p, size_t size)
{
    return realloc(p, size);
}

char *heap_text(const char *text)
{
    return strdup(text);
}

void heap_free(void *p)
{
    free(p);
}
