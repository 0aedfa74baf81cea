/*
 * main.c - a fuzzer of our own: deterministic mutations, bounded time, no instrumentation.
 *
 *   fuzz [--seconds N] [--seed K] [--only TARGET] [--corpus FOLDER]
 *
 * The same seed gives the same inputs in the same order, so what broke can be broken again; the
 * input that did it is printed, and kept in FOLDER/TARGET. What is there is run first, as it is,
 * and mutated like the targets' own seeds. Meant for the sanitized build. Without coverage it digs
 * less deep than libFuzzer, and needs nothing that the compiler does not have.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define MUTATIONS_LIMIT 6
#define ROUND 64 /* executions of one target before the next has its turn */

#define TARGETS_LIMIT 64
#define SEEDS_LIMIT 256

struct seed {
    const char *data;
    size_t len;
};

/* Of a target: its own and those of the corpus. */
static struct seeds {
    struct seed list[SEEDS_LIMIT];
    size_t len, own;
} seeds[TARGETS_LIMIT];

static const char *corpus = "tests/fuzz/corpus";

static struct {
    size_t number; /* of the target */
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

static void keep_input(void)
{
    char path[512];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", corpus, now.target);
    (void)mkdir(path, 0755);
    (void)snprintf(path, sizeof(path), "%s/%s/seed-%llu", corpus, now.target,
                   (unsigned long long)now.seed);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return;
    (void)!write(fd, now.input, now.len);
    (void)close(fd);
    say("fuzz: kept as ");
    say(path);
    say("\n");
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
    keep_input();
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

static const struct seed *any_seed(struct chance *c)
{
    const struct seeds *of = &seeds[now.number];

    return &of->list[chance_below(c, of->len)];
}

static void graft(struct chance *c, const struct fuzz_target *t)
{
    const struct seed *other = any_seed(c);
    size_t at = chance_below(c, other->len);

    (void)t;
    insert(c, other->data + at, chance_below(c, other->len - at + 1));
}

static void take_seed(const struct fuzz_target *t, const struct seed *seed)
{
    now.target = t->name;
    now.len = min_size(seed->len, FUZZ_INPUT_LIMIT_BYTES);
    memcpy(now.input, seed->data, now.len);
}

static void make_input(struct chance *c, const struct fuzz_target *t)
{
    static void (*const mutations[])(struct chance *, const struct fuzz_target *) = {
        insert_word, insert_word, insert_bytes, change_byte, change_byte, cut, repeat_part, graft};
    size_t n = chance_below(c, MUTATIONS_LIMIT + 1);

    take_seed(t, any_seed(c));
    for (size_t i = 0; i < n; i++)
        mutations[chance_below(c, ELEMS(mutations))](c, t);
}

/* --- rounds ---------------------------------------------------------------------------- */

static void run_input(struct chance *c, const struct fuzz_target *t)
{
    char *copy; /* exactly as long as it is: reading beyond is seen */

    copy = malloc(now.len + 1);
    if (!copy)
        fuzz_fail("there is memory");
    memcpy(copy, now.input, now.len);
    copy[now.len] = '\0';
    t->run(c, copy, now.len);
    free(copy);
}

static void run_once(struct chance *c, const struct fuzz_target *t)
{
    now.seed = c->state;
    make_input(c, t);
    run_input(c, t);
}

/* --- seeds ------------------------------------------------------------------------------ */

static void add_seed(struct seeds *to, const char *data, size_t len)
{
    if (to->len == SEEDS_LIMIT)
        fuzz_fail("there is room for the seeds");
    to->list[to->len++] = (struct seed){data, len};
}

static void add_file(struct seeds *to, const char *path)
{
    FILE *f = fopen(path, "rb");
    char *data = malloc(FUZZ_INPUT_LIMIT_BYTES);
    size_t len;

    if (!f || !data)
        fuzz_fail("the corpus can be read");
    len = fread(data, 1, FUZZ_INPUT_LIMIT_BYTES, f);
    (void)fclose(f);
    add_seed(to, data, len);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of their names, so that a seed means the same everywhere. */
static void add_corpus(struct seeds *to, const char *target)
{
    char path[512], *names[SEEDS_LIMIT];
    struct dirent *entry;
    size_t count = 0;
    DIR *d;

    (void)snprintf(path, sizeof(path), "%s/%s", corpus, target);
    d = opendir(path);
    while (d && (entry = readdir(d)))
        if (entry->d_name[0] != '.' && count < SEEDS_LIMIT)
            names[count++] = strdup(entry->d_name);
    if (d)
        (void)closedir(d);
    qsort(names, count, sizeof(names[0]), compare_names);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s/%s", corpus, target, names[i]);
        add_file(to, path);
        free(names[i]);
    }
}

static void gather_seeds(size_t number, const struct fuzz_target *t)
{
    struct seeds *to = &seeds[number];

    for (size_t i = 0; t->seeds[i]; i++)
        add_seed(to, t->seeds[i], strlen(t->seeds[i]));
    to->own = to->len;
    add_corpus(to, t->name);
}

static void run_corpus(struct chance *c, const struct fuzz_target *t)
{
    for (size_t i = 0; i < seeds[now.number].len; i++) {
        take_seed(t, &seeds[now.number].list[i]);
        run_input(c, t);
    }
}

static void free_seeds(void)
{
    for (size_t i = 0; i < TARGETS_LIMIT; i++)
        for (size_t k = seeds[i].own; k < seeds[i].len; k++)
            free((char *)(uintptr_t)seeds[i].list[k].data);
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
    if (i < fuzz_parser_count)
        return &fuzz_parsers[i];
    i -= fuzz_parser_count;
    return i < fuzz_text_count ? &fuzz_texts[i] : &fuzz_server;
}

static void run_for(const struct options *o)
{
    size_t count = fuzz_parser_count + fuzz_text_count + 1, executions[TARGETS_LIMIT] = {0};
    size_t targets = 0, total = 0, inputs = 0;
    int64_t end;
    struct chance c = {.state = o->seed};

    if (count > TARGETS_LIMIT)
        fuzz_fail("there is room for the targets' counts");
    for (now.number = 0; now.number < count; now.number++)
        gather_seeds(now.number, target_at(now.number));
    end = milliseconds() + o->seconds * 1000;
    do {
        for (now.number = 0; now.number < count; now.number++) {
            const struct fuzz_target *t = target_at(now.number);

            if (o->only && strcmp(o->only, t->name) != 0)
                continue;
            if (executions[now.number] == 0)
                run_corpus(&c, t);
            for (int n = 0; n < ROUND; n++)
                run_once(&c, t);
            executions[now.number] += ROUND;
        }
    } while (milliseconds() < end);
    for (size_t i = 0; i < count; i++) {
        if (!executions[i])
            continue;
        printf("fuzz: %-16s %zu executions\n", target_at(i)->name, executions[i]);
        targets++;
        total += executions[i];
        inputs += seeds[i].len;
    }
    printf("fuzz: %zu targets, %zu inputs kept, %zu executions, 0 failures\n", targets, inputs,
           total);
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
        else if (strcmp(argv[i], "--corpus") == 0)
            corpus = argv[i + 1];
        else
            argc = 2;
    }
    if (argc % 2 == 0) {
        (void)fprintf(stderr, "usage: fuzz [--seconds N] [--seed K] [--only TARGET] "
                              "[--corpus FOLDER]\n");
        return 2;
    }
    catch_death();
    run_for(&o);
    fuzz_server_close();
    free_seeds();
    return 0;
}
