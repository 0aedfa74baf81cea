/*
 * crc32c.c - see crc32c.h. The implementation is picked at first use, because the binary is built
 * for the architecture's baseline processor.
 */
#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#define HARDWARE __attribute__((target("sse4.2")))
#define CRC_8(crc, bytes) ((uint32_t)__builtin_ia32_crc32di((crc), (bytes)))
#define CRC_1(crc, byte) __builtin_ia32_crc32qi((crc), (byte))
static bool has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#define HARDWARE __attribute__((target("+crc")))
#define CRC_8(crc, bytes) __crc32cd((crc), (bytes))
#define CRC_1(crc, byte) __crc32cb((crc), (byte))
static bool has_instruction(void)
{
    return getauxval(AT_HWCAP) & HWCAP_CRC32;
}
#endif

#define POLYNOMIAL 0x82f63b78u /* Castagnoli, bits reversed */
#define MASK_DELTA 0xa282ead8u

typedef uint32_t crc_fn(uint32_t crc, const unsigned char *p, size_t len);

static uint32_t table[8][256]; /* of a byte followed by 0 to 7 zero bytes */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        table[0][byte] = crc;
    }
    for (size_t n = 1; n < 8; n++)
        for (size_t byte = 0; byte < 256; byte++)
            table[n][byte] = table[n - 1][byte] >> 8 ^ table[0][table[n - 1][byte] & 0xff];
}

static uint32_t by_table(uint32_t crc, const unsigned char *p, size_t len)
{
    for (; len >= 8; p += 8, len -= 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                              (uint32_t)p[3] << 24);

        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
              table[4][low >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
              table[0][p[7]];
    }
    while (len--)
        crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xff];
    return crc;
}

static crc_fn *best = by_table;

#ifdef HARDWARE
HARDWARE static uint32_t by_instruction(uint32_t crc, const unsigned char *p, size_t len)
{
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t bytes;

        memcpy(&bytes, p, sizeof(bytes));
        crc = CRC_8(crc, bytes);
    }
    while (len--)
        crc = CRC_1(crc, *p++);
    return crc;
}
#endif

static void choose(void)
{
    make_table();
#ifdef HARDWARE
    if (has_instruction())
        best = by_instruction;
#endif
}

static void prepare(void)
{
    (void)pthread_once(&once, choose);
}

uint32_t crc32c_add(uint32_t crc, const void *data, size_t len)
{
    prepare();
    return ~best(~crc, data, len);
}

uint32_t crc32c(const void *data, size_t len)
{
    return crc32c_add(0, data, len);
}

uint32_t crc32c_masked(const void *data, size_t len)
{
    uint32_t crc = crc32c(data, len);

    return (crc >> 15 | crc << 17) + MASK_DELTA;
}

uint32_t crc32c_by_table(const void *data, size_t len)
{
    prepare();
    return ~by_table(~0u, data, len);
}
