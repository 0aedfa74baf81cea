/* base.h - the few macros every file uses. Nothing here allocates, logs or touches the system. */
#ifndef MUSTER_BASE_BASE_H
#define MUSTER_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STRINGIFY_WORDS(text) #text
#define STRINGIFY(macro) STRINGIFY_WORDS(macro) /* expands the macro first */
#define ELEMS(a) (sizeof(a) / sizeof((a)[0]))
#define must_check __attribute__((warn_unused_result))
#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))
#define unreachable() __builtin_unreachable()
#define cleanup(fn) __attribute__((cleanup(fn)))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static inline int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Arithmetic on user-supplied numbers saturates instead of wrapping. */
static inline int64_t add_i64(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static inline int64_t subtract_i64(int64_t a, int64_t b)
{
    int64_t rest;

    return __builtin_sub_overflow(a, b, &rest) ? (b < 0 ? INT64_MAX : INT64_MIN) : rest;
}

static inline int64_t multiply_i64(int64_t a, int64_t b)
{
    int64_t product;

    return __builtin_mul_overflow(a, b, &product) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN)
                                                  : product;
}

#endif
