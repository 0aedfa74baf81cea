/* tensor.h - reads a TensorProto that holds one number, or one text. */
#ifndef MUSTER_BOARD_TENSOR_H
#define MUSTER_BOARD_TENSOR_H

#include "base/base.h"

/* False when it is malformed, has not exactly one element, or is not of a type of numbers. */
bool tensor_scalar(const void *data, size_t len, double *ret);
/* The first string of a tensor of strings; false when there is none. */
bool tensor_text(const void *data, size_t len, const char **ret, size_t *ret_len);

#endif
