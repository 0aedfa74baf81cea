/* arena.c - bump allocation out of doubling blocks. Never returns single pieces to the system. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/reserve.h"

#define FIRST_BLOCK_BYTES                                                                          \
    1024u /* many hold a name or two for as long as a watch or pod is there                        \
           */
#define SECOND_BLOCK_BYTES 4096u
#define LARGEST_BLOCK_BYTES (128u * 1024u) /* below malloc's mmap threshold */
#define ALIGNMENT 16u

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    _Alignas(16) char data[];
};

void arena_init(struct arena *a, size_t limit_bytes)
{
    *a = (struct arena)ARENA_INIT(limit_bytes);
}

static void free_blocks(struct arena_block *b)
{
    while (b) {
        struct arena_block *next = b->next;

        free(b);
        b = next;
    }
}

void arena_release(struct arena *a)
{
    free_blocks(a->blocks);
    arena_init(a, a->limit_bytes);
}

void arena_reset(struct arena *a)
{
    struct arena_block *keep = a->blocks;

    if (keep) {
        free_blocks(keep->next);
        keep->next = NULL;
        keep->used = 0;
    }
    a->used_bytes = 0;
    a->failed = false;
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){.block = a->blocks,
                               .block_used = a->blocks ? a->blocks->used : 0,
                               .used_bytes = a->used_bytes};
}

void arena_rewind(struct arena *a, const struct arena_mark *to)
{
    while (a->blocks != to->block) {
        struct arena_block *next = a->blocks->next;

        free(a->blocks);
        a->blocks = next;
    }
    if (a->blocks)
        a->blocks->used = to->block_used;
    a->used_bytes = to->used_bytes;
    a->failed = false;
}

static struct arena_block *add_block(struct arena *a, size_t need)
{
    size_t size = a->blocks ? max_size(SECOND_BLOCK_BYTES,
                                       min_size(a->blocks->size * 2, LARGEST_BLOCK_BYTES))
                            : FIRST_BLOCK_BYTES;
    struct arena_block *b;

    size = max_size(size, need);
    b = memory_checked(malloc(sizeof(*b) + size));
    if (!b)
        return NULL;
    b->size = size;
    b->used = 0;
    b->next = a->blocks;
    a->blocks = b;
    return b;
}

/* Does not zero the memory. */
static void *take(struct arena *a, size_t size)
{
    struct arena_block *b = a->blocks;
    void *p;

    if (size > SIZE_MAX - ALIGNMENT)
        goto fail;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (a->failed || size > a->limit_bytes - min_size(a->used_bytes, a->limit_bytes))
        goto fail;
    if (!b || b->size - b->used < size)
        b = add_block(a, size);
    if (!b)
        goto fail;
    p = b->data + b->used;
    b->used += size;
    a->used_bytes += size;
    return p;
fail:
    a->failed = true;
    return NULL;
}

void *arena_alloc(struct arena *a, size_t size)
{
    void *p = take(a, size);

    return p ? memset(p, 0, size) : NULL;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = n < SIZE_MAX ? take(a, n + 1) : NULL;

    if (!p)
        return NULL;
    if (n)
        memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list args;
    char *p;
    int n;

    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0) {
        a->failed = true;
        return NULL;
    }
    p = arena_alloc(a, (size_t)n + 1);
    if (!p)
        return NULL;
    va_start(args, fmt);
    (void)vsnprintf(p, (size_t)n + 1, fmt, args);
    va_end(args);
    return p;
}
