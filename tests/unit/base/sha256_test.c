/* sha256_test.c - the examples of FIPS 180-4 and RFC 4231. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/sha256.h"

static void expect(const unsigned char hash[SHA256_BYTES], const char *hex)
{
    char text[2 * SHA256_BYTES + 1];

    for (size_t i = 0; i < SHA256_BYTES; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", hash[i]);
    assert_string_equal(text, hex);
}

static void hashes_are_those_of_the_standard(void **state)
{
    static const struct {
        const char *text, *hex;
    } examples[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(examples); i++) {
        unsigned char hash[SHA256_BYTES];
        struct sha256 s;

        sha256_init(&s);
        sha256_add(&s, examples[i].text, strlen(examples[i].text));
        sha256_end(&s, hash);
        expect(hash, examples[i].hex);
    }
}

static void a_million_letters_in_pieces(void **state)
{
    unsigned char hash[SHA256_BYTES];
    char letters[1000];
    struct sha256 s;

    (void)state;
    memset(letters, 'a', sizeof(letters));
    sha256_init(&s);
    for (int i = 0; i < 1000; i++)
        sha256_add(&s, letters, sizeof(letters));
    sha256_end(&s, hash);
    expect(hash, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void signatures_are_those_of_the_rfc(void **state)
{
    unsigned char key[131], hash[SHA256_BYTES];
    const char *long_key = "Test Using Larger Than Block-Size Key - Hash Key First";

    (void)state;
    hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, hash);
    expect(hash, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key));
    hmac_sha256(key, sizeof(key), long_key, strlen(long_key), hash);
    expect(hash, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_of_the_standard),
        cmocka_unit_test(a_million_letters_in_pieces),
        cmocka_unit_test(signatures_are_those_of_the_rfc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
