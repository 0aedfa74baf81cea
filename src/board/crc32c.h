/* crc32c.h - CRC-32C (Castagnoli) as event files use it, by the processor's own instruction where
 * it has one. Any thread. */
#ifndef MUSTER_BOARD_CRC32C_H
#define MUSTER_BOARD_CRC32C_H

#include "base/base.h"

uint32_t crc32c(const void *data, size_t len);
/* A CRC kept beside its data is disguised: one over data that holds its own CRC says little. */
uint32_t crc32c_masked(const void *data, size_t len);

/* The way without the instruction, for the test that both agree. */
uint32_t crc32c_by_table(const void *data, size_t len);

#endif
