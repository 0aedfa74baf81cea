/* tensor.h - reads a TensorProto that holds one number, some of them, or texts. */
#ifndef MUSTER_BOARD_TENSOR_H
#define MUSTER_BOARD_TENSOR_H

#include "base/base.h"

/* False when it is malformed, has not exactly one element, or is not of a type of numbers. */
bool tensor_scalar(const void *data, size_t len, double *ret);
/* The index-th string of a tensor of strings; false when there is none. */
bool tensor_text(const void *data, size_t len, size_t index, const char **ret, size_t *ret_len);

/* Floats or doubles as they stand in a message, not aligned. */
struct tensor_numbers {
    const unsigned char *data;
    size_t size, len; /* of one, in bytes; how many */
};

/* All numbers of a tensor of floats or doubles, whatever its shape; false when it is none. */
bool tensor_floats(const void *data, size_t len, struct tensor_numbers *ret);
double tensor_number(const struct tensor_numbers *n, size_t index);

#endif
