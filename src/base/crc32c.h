/* crc32c.h - CRC-32C (Castagnoli), with the processor's own instruction where it has one. Any
 * thread. */
#ifndef MUSTER_BASE_CRC32C_H
#define MUSTER_BASE_CRC32C_H

#include "base/base.h"

uint32_t crc32c(const void *data, size_t len);
/* Extends crc by data; 0 is the CRC of nothing. */
uint32_t crc32c_add(uint32_t crc, const void *data, size_t len);
/* Masked as event files store it: a CRC over data that contains its own CRC proves little. */
uint32_t crc32c_masked(const void *data, size_t len);

/* The implementation without the instruction, for the test that both agree. */
uint32_t crc32c_by_table(const void *data, size_t len);

#endif
