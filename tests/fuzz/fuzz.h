/*
 * fuzz.h - what the fuzzer's parts share: chance that can be repeated, and the things it breaks.
 *
 * A target is fed with mutations of its seeds. It may refuse whatever it likes; it must not crash,
 * and what it says itself (FUZZ_CHECK) must hold.
 */
#ifndef MUSTER_TESTS_FUZZ_H
#define MUSTER_TESTS_FUZZ_H

#include "base/buf.h"

#define FUZZ_INPUT_LIMIT_BYTES (64u * 1024u)

struct chance {
    uint64_t state;
};

uint64_t chance_next(struct chance *c);
size_t chance_below(struct chance *c, size_t n); /* 0 when n is 0 */

struct fuzz_target {
    const char *name;
    const char *const *seeds;                              /* NULL-terminated */
    const char *const *words;                              /* what is put in; NULL-terminated */
    void (*run)(struct chance *c, char *data, size_t len); /* data may be changed; NUL behind it */
};

extern const struct fuzz_target fuzz_parsers[];
extern const size_t fuzz_parser_count;
extern const struct fuzz_target fuzz_texts[];
extern const size_t fuzz_text_count;
extern const struct fuzz_target fuzz_server;
void fuzz_server_close(void);

/* Ends the program, saying which input it was. */
void fuzz_fail(const char *what) __attribute__((noreturn));
#define FUZZ_CHECK(truth)                                                                          \
    do {                                                                                           \
        if (!(truth))                                                                              \
            fuzz_fail(#truth);                                                                     \
    } while (0)

#endif
