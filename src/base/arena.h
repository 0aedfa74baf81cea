/*
 * arena.h - memory that is freed all at once: one arena per request, reconcile pass or command.
 *
 * An allocation that fails marks the arena as failed and returns NULL; the JSON builders accept
 * NULL and do nothing, so a caller may build a whole answer and check arena_failed() once, before
 * using it.
 */
#ifndef MUSTER_BASE_ARENA_H
#define MUSTER_BASE_ARENA_H

#include "base/base.h"

struct arena_block;

struct arena {
    struct arena_block *blocks;
    size_t used_bytes;  /* handed out, over all blocks */
    size_t limit_bytes; /* ceiling; a request that needs more fails */
    bool failed;
};

#define ARENA_INIT(limit)                                                                          \
    {                                                                                              \
        .blocks = NULL, .used_bytes = 0, .limit_bytes = (limit), .failed = false                   \
    }

void arena_init(struct arena *a, size_t limit_bytes);
void arena_release(struct arena *a);
/* Drops everything but keeps the first block for reuse. */
void arena_reset(struct arena *a);

/* What was allocated since the mark is dropped. */
struct arena_mark {
    struct arena_block *block;
    size_t block_used, used_bytes;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, const struct arena_mark *to);

void *arena_alloc(struct arena *a, size_t size) must_check; /* zeroed, aligned for any type */
char *arena_strdup(struct arena *a, const char *s) must_check;
char *arena_strndup(struct arena *a, const char *s, size_t n) must_check; /* adds the NUL */
char *arena_printf(struct arena *a, const char *fmt, ...) must_check printf_like(2, 3);

static inline bool arena_failed(const struct arena *a)
{
    return a->failed;
}

#endif
