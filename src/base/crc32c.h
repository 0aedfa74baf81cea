/* crc32c.h - CRC-32C (Castagnoli), by the processor's own instruction where it has one. Any thread.
 */
#ifndef MUSTER_BASE_CRC32C_H
#define MUSTER_BASE_CRC32C_H

#include "base/base.h"

uint32_t crc32c(const void *data, size_t len);
/* Of what crc is the CRC of, with data behind it; 0 is the CRC of nothing. */
uint32_t crc32c_add(uint32_t crc, const void *data, size_t len);
/* As event files keep it beside the data, disguised: a CRC over data that holds its own says
 * little.
 */
uint32_t crc32c_masked(const void *data, size_t len);

/* The way without the instruction, for the test that both agree. */
uint32_t crc32c_by_table(const void *data, size_t len);

#endif
