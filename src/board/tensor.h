/* tensor.h - reads a TensorProto with one number, several numbers, or texts. */
#ifndef MUSTER_BOARD_TENSOR_H
#define MUSTER_BOARD_TENSOR_H

#include "base/base.h"

/* False when malformed, not exactly one element, or not numeric. */
bool tensor_scalar(const void *data, size_t len, double *ret);
/* The index-th string of a tensor of strings; false when there is none. */
bool tensor_text(const void *data, size_t len, size_t index, const char **ret, size_t *ret_len);

/* Floats or doubles as stored in a message, unaligned. */
struct tensor_numbers {
    const unsigned char *data;
    size_t size, len; /* bytes of one; how many */
};

/* All numbers of a tensor of floats or doubles, whatever its shape; false for anything else. */
bool tensor_floats(const void *data, size_t len, struct tensor_numbers *ret);
double tensor_number(const struct tensor_numbers *n, size_t index);

#endif
