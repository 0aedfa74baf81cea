/*
 * tensor.c - see tensor.h. A number is in tensor_content, as bytes, or in the list of its type,
 * packed or not.
 */
#include "board/tensor.h"

#include "base/wire.h"

/* TensorProto */
enum { TENSOR_DTYPE = 1, TENSOR_SHAPE = 2, TENSOR_CONTENT = 4, TENSOR_STRINGS = 8 };
/* TensorShapeProto, its Dim */
enum { SHAPE_DIM = 2, DIM_SIZE = 1 };

static double of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static double from_float(uint64_t bits)
{
    return of_bits((uint32_t)bits);
}

static double from_double(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static double from_bfloat16(uint64_t bits)
{
    return of_bits((uint32_t)(bits & 0xffff) << 16);
}

/* One sign bit, five exponent bits, ten fraction bits. */
static double from_half(uint64_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = (uint32_t)(bits >> 10 & 31),
             fraction = (uint32_t)(bits & 1023);
    double small;

    if (exponent == 31)
        return of_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent)
        return of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    small = (double)fraction / 16777216.0; /* 2^24 */
    return sign ? -small : small;
}

static double from_int64(uint64_t bits)
{
    return (double)(int64_t)bits;
}

static double from_int32(uint64_t bits)
{
    return (double)(int32_t)(uint32_t)bits;
}

static double from_int16(uint64_t bits)
{
    return (double)(int16_t)(uint16_t)bits;
}

static double from_int8(uint64_t bits)
{
    return (double)(int8_t)(uint8_t)bits;
}

static double from_unsigned(uint64_t bits)
{
    return (double)bits;
}

static double from_bool(uint64_t bits)
{
    return bits ? 1 : 0;
}

/* TensorFlow's type numbers; list: the field of TensorProto with values of that type. */
static const struct dtype {
    uint32_t number, list;
    enum wire_type wire; /* of an element of the list */
    size_t size;         /* in tensor_content */
    double (*value)(uint64_t bits);
} dtypes[] = {
    {1, 5, WIRE_FIXED32, 4, from_float},     {2, 6, WIRE_FIXED64, 8, from_double},
    {3, 7, WIRE_VARINT, 4, from_int32},      {4, 7, WIRE_VARINT, 1, from_unsigned},
    {5, 7, WIRE_VARINT, 2, from_int16},      {6, 7, WIRE_VARINT, 1, from_int8},
    {9, 10, WIRE_VARINT, 8, from_int64},     {10, 11, WIRE_VARINT, 1, from_bool},
    {14, 13, WIRE_VARINT, 2, from_bfloat16}, {17, 7, WIRE_VARINT, 2, from_unsigned},
    {19, 13, WIRE_VARINT, 2, from_half},     {22, 16, WIRE_VARINT, 4, from_unsigned},
    {23, 17, WIRE_VARINT, 8, from_unsigned},
};

static const struct dtype *dtype_of(uint64_t number)
{
    for (size_t i = 0; i < ELEMS(dtypes); i++)
        if (dtypes[i].number == number)
            return &dtypes[i];
    return NULL;
}

/* All dimensions are 1: one element, whatever the rank. */
static bool shape_is_one(const void *data, size_t len)
{
    struct wire shape = wire_of(data, len);
    struct wire_field dim, size;

    while (wire_next(&shape, &dim)) {
        struct wire d = wire_of(dim.data, dim.len);
        uint64_t n = 0;

        if (dim.number != SHAPE_DIM || dim.type != WIRE_BYTES)
            continue;
        while (wire_next(&d, &size))
            if (size.number == DIM_SIZE && size.type == WIRE_VARINT)
                n = size.number_value;
        if (d.bad || n != 1)
            return false;
    }
    return !shape.bad;
}

/* From a list, packed or one element at a time. */
static bool element_of(const struct dtype *t, const struct wire_field *f, double *ret)
{
    struct wire packed = wire_of(f->data, f->len);
    uint64_t bits;

    if (f->type != WIRE_BYTES) {
        if (f->type != t->wire)
            return false;
        *ret = t->value(f->number_value);
        return true;
    }
    if (!f->len || !(t->wire == WIRE_VARINT ? wire_varint(&packed, &bits)
                                            : wire_fixed(&packed, t->size, &bits)))
        return false;
    *ret = t->value(bits);
    return packed.at == packed.end;
}

/* Fields may come in any order, so the type is found first. */
static const struct dtype *find_dtype(const void *data, size_t len)
{
    struct wire w = wire_of(data, len);
    struct wire_field f;
    uint64_t number = 0;

    while (wire_next(&w, &f)) {
        if (f.number == TENSOR_DTYPE && f.type == WIRE_VARINT)
            number = f.number_value;
        else if (f.number == TENSOR_SHAPE && f.type == WIRE_BYTES && !shape_is_one(f.data, f.len))
            return NULL;
    }
    return w.bad ? NULL : dtype_of(number);
}

bool tensor_scalar(const void *data, size_t len, double *ret)
{
    const struct dtype *t = find_dtype(data, len);
    struct wire w = wire_of(data, len);
    struct wire_field f;
    uint64_t bits = 0;

    if (!t)
        return false;
    *ret = 0; /* a tensor without elements is all zero */
    while (wire_next(&w, &f)) {
        if (f.number == TENSOR_CONTENT && f.type == WIRE_BYTES && f.len) {
            if (f.len != t->size)
                return false;
            memcpy(&bits, f.data, f.len);
            *ret = t->value(bits);
        } else if (f.number == t->list && !element_of(t, &f, ret)) {
            return false;
        }
    }
    return true;
}

bool tensor_text(const void *data, size_t len, size_t index, const char **ret, size_t *ret_len)
{
    struct wire w = wire_of(data, len);
    struct wire_field f;

    while (wire_next(&w, &f))
        if (f.number == TENSOR_STRINGS && f.type == WIRE_BYTES && index-- == 0) {
            *ret = (const char *)f.data;
            *ret_len = f.len;
            return true;
        }
    return false;
}

bool tensor_floats(const void *data, size_t len, struct tensor_numbers *ret)
{
    struct wire w = wire_of(data, len);
    const struct dtype *t = NULL;
    struct wire_field f;

    *ret = (struct tensor_numbers){.size = 0};
    while (wire_next(&w, &f))
        if (f.number == TENSOR_DTYPE && f.type == WIRE_VARINT)
            t = dtype_of(f.number_value);
    if (w.bad || !t || t->wire == WIRE_VARINT)
        return false;
    w = wire_of(data, len);
    while (wire_next(&w, &f))
        if ((f.number == TENSOR_CONTENT || f.number == t->list) && f.type == WIRE_BYTES && f.len)
            *ret = (struct tensor_numbers){.data = f.data, .size = t->size, .len = f.len / t->size};
    return true;
}

double tensor_number(const struct tensor_numbers *n, size_t index)
{
    uint64_t bits = 0;

    memcpy(&bits, n->data + index * n->size, n->size);
    return n->size == sizeof(double) ? from_double(bits) : from_float(bits);
}
