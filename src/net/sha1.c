/* sha1.c - see sha1.h. */
#include "net/sha1.h"

static uint32_t rotate(uint32_t v, unsigned n)
{
    return v << n | v >> (32 - n);
}

void sha1_init(struct sha1 *s)
{
    *s = (struct sha1){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
}

static uint32_t mix(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
    static const uint32_t constants[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t f = round == 0   ? (b & c) | (~b & d)
                 : round == 2 ? (b & c) | (b & d) | (c & d)
                              : b ^ c ^ d;

    return f + constants[round];
}

static void add_block(struct sha1 *s)
{
    uint32_t w[80], v[5];

    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 |
               (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
    for (size_t i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (size_t i = 0; i < 5; i++)
        v[i] = s->state[i];
    for (unsigned i = 0; i < 80; i++) {
        uint32_t next = rotate(v[0], 5) + mix(i / 20, v[1], v[2], v[3]) + v[4] + w[i];

        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotate(v[1], 30);
        v[1] = v[0];
        v[0] = next;
    }
    for (size_t i = 0; i < 5; i++)
        s->state[i] += v[i];
}

void sha1_add(struct sha1 *s, const void *data, size_t len)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < len; i++) {
        s->block[s->len++ % SHA1_BLOCK_BYTES] = p[i];
        if (s->len % SHA1_BLOCK_BYTES == 0)
            add_block(s);
    }
}

void sha1_end(struct sha1 *s, unsigned char out[SHA1_BYTES])
{
    uint64_t bits = s->len * 8;
    unsigned char length[8];

    for (size_t i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha1_add(s, "\x80", 1);
    while (s->len % SHA1_BLOCK_BYTES != SHA1_BLOCK_BYTES - 8)
        sha1_add(s, "", 1);
    sha1_add(s, length, sizeof(length));
    for (size_t i = 0; i < SHA1_BYTES; i++)
        out[i] = (unsigned char)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}
