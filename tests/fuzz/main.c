/*
 * main.c - a fuzzer of our own: deterministic mutations, bounded time, no instrumentation.
 *
 *   fuzz [--seconds N] [--seed K] [--only TARGET]
 *
 * The same seed gives the same inputs in the same order, so what broke can be broken again; the
 * input that did it is printed as well. Meant for the sanitized build. Without coverage it digs
 * less deep than libFuzzer, and needs nothing that the compiler does not have.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define MUTATIONS_LIMIT 6
#define ROUND 64 /* executions of one target before the next has its turn */

static struct {
    const char *target;
    uint64_t seed;
    char input[FUZZ_INPUT_LIMIT_BYTES + 1];
    size_t len;
} now;

uint64_t chance_next(struct chance *c)
{
    uint64_t z = c->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

size_t chance_below(struct chance *c, size_t n)
{
    return n ? (size_t)(chance_next(c) % n) : 0;
}

/* --- saying what broke ----------------------------------------------------------------- */

static void say(const char *text)
{
    (void)!write(2, text, strlen(text));
}

/* Called when the process dies, so it only writes. */
static void say_input(void)
{
    static const char digits[] = "0123456789abcdef";
    char line[80];

    (void)snprintf(line, sizeof(line), "\nfuzz: target %s, seed %llu, %zu bytes:\n", now.target,
                   (unsigned long long)now.seed, now.len);
    say(line);
    for (size_t i = 0; i < now.len; i++) {
        unsigned char b = (unsigned char)now.input[i];
        char text[5] = {'\\', 'x', digits[b >> 4], digits[b & 15], '\0'};

        if (b >= 0x20 && b < 0x7f && b != '\\') {
            text[0] = (char)b;
            text[1] = '\0';
        }
        say(text);
    }
    say("\n");
}

static void died(int number)
{
    say_input();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void fuzz_fail(const char *what)
{
    say("fuzz: does not hold: ");
    say(what);
    say_input();
    _exit(1);
}

/* Of the sanitizers' run time, when there is one. */
void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

static void catch_death(void)
{
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(say_input);
        return;
    }
    (void)signal(SIGSEGV, died);
    (void)signal(SIGABRT, died);
    (void)signal(SIGBUS, died);
}

/* --- mutations ------------------------------------------------------------------------- */

static size_t count_of(const char *const *list)
{
    size_t n = 0;

    while (list[n])
        n++;
    return n;
}

static void insert(struct chance *c, const char *text, size_t len)
{
    size_t at = chance_below(c, now.len + 1);

    if (len > FUZZ_INPUT_LIMIT_BYTES - now.len)
        return;
    memmove(now.input + at + len, now.input + at, now.len - at);
    memcpy(now.input + at, text, len);
    now.len += len;
}

static void insert_word(struct chance *c, const struct fuzz_target *t)
{
    const char *word = t->words[chance_below(c, count_of(t->words))];

    insert(c, word, strlen(word));
}

static void insert_bytes(struct chance *c, const struct fuzz_target *t)
{
    char bytes[8];
    size_t n = 1 + chance_below(c, sizeof(bytes));

    (void)t;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)chance_next(c);
    insert(c, bytes, n);
}

static void change_byte(struct chance *c, const struct fuzz_target *t)
{
    size_t at = chance_below(c, now.len);

    (void)t;
    if (!now.len)
        return;
    if (chance_below(c, 2))
        now.input[at] = (char)chance_next(c);
    else
        now.input[at] ^= (char)(1 << chance_below(c, 8));
}

static void cut(struct chance *c, const struct fuzz_target *t)
{
    size_t at = chance_below(c, now.len), n = 1 + chance_below(c, now.len - at);

    (void)t;
    if (n > now.len - at)
        return;
    memmove(now.input + at, now.input + at + n, now.len - at - n);
    now.len -= n;
}

static void repeat_part(struct chance *c, const struct fuzz_target *t)
{
    static char part[256];
    size_t at = chance_below(c, now.len), n = min_size(now.len - at, 1 + chance_below(c, 256));
    size_t times = chance_below(c, 8) ? 1 : chance_below(c, 64);

    (void)t;
    memcpy(part, now.input + at, n);
    for (size_t i = 0; i < times; i++)
        insert(c, part, n);
}

static void splice(struct chance *c, const struct fuzz_target *t)
{
    const char *other = t->seeds[chance_below(c, count_of(t->seeds))];
    size_t at = chance_below(c, strlen(other));

    insert(c, other + at, chance_below(c, strlen(other) - at + 1));
}

static void make_input(struct chance *c, const struct fuzz_target *t)
{
    static void (*const mutations[])(struct chance *, const struct fuzz_target *) = {
        insert_word, insert_word, insert_bytes, change_byte, change_byte, cut, repeat_part, splice};
    const char *seed = t->seeds[chance_below(c, count_of(t->seeds))];
    size_t n = chance_below(c, MUTATIONS_LIMIT + 1);

    now.target = t->name;
    now.len = min_size(strlen(seed), FUZZ_INPUT_LIMIT_BYTES);
    memcpy(now.input, seed, now.len);
    for (size_t i = 0; i < n; i++)
        mutations[chance_below(c, ELEMS(mutations))](c, t);
}

/* --- rounds ---------------------------------------------------------------------------- */

static void run_once(struct chance *c, const struct fuzz_target *t)
{
    char *copy; /* exactly as long as it is: reading beyond is seen */

    now.seed = c->state;
    make_input(c, t);
    copy = malloc(now.len + 1);
    if (!copy)
        fuzz_fail("there is memory");
    memcpy(copy, now.input, now.len);
    copy[now.len] = '\0';
    t->run(c, copy, now.len);
    free(copy);
}

static int64_t milliseconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct options {
    int64_t seconds;
    uint64_t seed;
    const char *only;
};

static const struct fuzz_target *target_at(size_t i)
{
    return i < fuzz_parser_count ? &fuzz_parsers[i] : &fuzz_server;
}

static void run_for(const struct options *o)
{
    size_t count = fuzz_parser_count + 1, executions[32] = {0};
    int64_t end = milliseconds() + o->seconds * 1000;
    struct chance c = {.state = o->seed};

    if (count > ELEMS(executions))
        fuzz_fail("there is room for the targets' counts");
    do {
        for (size_t i = 0; i < count; i++) {
            if (o->only && strcmp(o->only, target_at(i)->name) != 0)
                continue;
            for (int n = 0; n < ROUND; n++)
                run_once(&c, target_at(i));
            executions[i] += ROUND;
        }
    } while (milliseconds() < end);
    for (size_t i = 0; i < count; i++)
        if (executions[i])
            printf("fuzz: %-16s %zu executions\n", target_at(i)->name, executions[i]);
}

int main(int argc, char **argv)
{
    struct options o = {.seconds = 5, .seed = 1};

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0)
            o.seconds = strtoll(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            o.seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--only") == 0)
            o.only = argv[i + 1];
        else
            argc = 2;
    }
    if (argc % 2 == 0) {
        (void)fprintf(stderr, "usage: fuzz [--seconds N] [--seed K] [--only TARGET]\n");
        return 2;
    }
    catch_death();
    run_for(&o);
    fuzz_server_close();
    return 0;
}
