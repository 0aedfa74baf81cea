/*
 * store_bench.c - durable writes per second of the store alone, without HTTP.
 *
 * Each of N writers has one write outstanding and makes the next when it is acknowledged, as N
 * clients would. Prints one line per N: writes per second, p50 and p99 latency.
 *
 *   store_bench [-d FOLDER] [-s OBJECT_BYTES] [-t SECONDS] [-u] [N...]      (-u: updates of 1,000)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "loop/file.h"
#include "store/store.h"

#define WRITES_LIMIT 4000000u
#define UPDATED_OBJECTS 1000

struct bench {
    struct loop *loop;
    struct store *store;
    struct store_collection *pods;
    char *object;
    size_t object_bytes;
    bool updates;
    int64_t deadline_ns;
    unsigned outstanding;
    uint64_t made;
    uint32_t *latencies_us;
    size_t count;
};

struct client {
    struct bench *bench;
    int64_t began_ns;
};

static int64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "store_bench: %s: %s\n", what, why);
    exit(1);
}

static void acknowledged(void *arg, const struct err *err);

static void write_one(struct client *c)
{
    struct bench *b = c->bench;
    struct blob *value = blob_new(b->object, b->object_bytes);
    char key[64];
    int r;

    b->made++;
    snprintf(key, sizeof(key), "default/pod-%09llu",
             (unsigned long long)(b->updates ? b->made % UPDATED_OBJECTS : b->made));
    c->began_ns = now_ns();
    r = value ? store_put(b->pods, key, value, acknowledged, c) : -ENOMEM;
    if (r < 0)
        die("store_put", strerror(-r));
    blob_unref(value);
    b->outstanding++;
}

static void acknowledged(void *arg, const struct err *err)
{
    struct client *c = arg;
    struct bench *b = c->bench;
    int64_t now = now_ns();

    if (err)
        die("write", err->text);
    b->outstanding--;
    if (b->count < WRITES_LIMIT)
        b->latencies_us[b->count++] = (uint32_t)((now - c->began_ns) / 1000);
    if (now < b->deadline_ns)
        write_one(c);
    else if (b->outstanding == 0)
        loop_stop(b->loop);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void bench_one(struct bench *b, unsigned writers, double seconds)
{
    struct client *clients = calloc(writers, sizeof(*clients));
    int64_t began = now_ns();
    double took;

    b->count = 0;
    b->deadline_ns = began + (int64_t)(seconds * 1e9);
    for (unsigned i = 0; i < writers; i++) {
        clients[i].bench = b;
        write_one(&clients[i]);
    }
    loop_run(b->loop);
    took = (double)(now_ns() - began) / 1e9;
    qsort(b->latencies_us, b->count, sizeof(uint32_t), by_value);
    printf("%5u writers  %8.0f writes/s  p50 %6u us  p99 %6u us  max %6u us\n", writers,
           (double)b->count / took, b->latencies_us[b->count / 2],
           b->latencies_us[b->count * 99 / 100], b->latencies_us[b->count - 1]);
    fflush(stdout);
    free(clients);
}

static void open_store(struct bench *b, const char *path)
{
    auto_err err = ERR_INIT;
    int64_t began = now_ns();

    b->loop = loop_new(&err);
    b->store = b->loop ? store_open(b->loop, path, NULL, &err) : NULL;
    if (!b->store)
        die(path, err.text);
    b->pods = store_collection(b->store, "/pods");
    printf("open: %.1f ms, %zu objects\n", (double)(now_ns() - began) / 1e6, store_count(b->pods));
}

static void close_store(struct bench *b)
{
    store_close(b->store);
    loop_free(b->loop);
}

static void fill_object(struct bench *b)
{
    b->object = malloc(b->object_bytes);
    b->latencies_us = malloc(WRITES_LIMIT * sizeof(uint32_t));
    if (!b->object || !b->latencies_us)
        die("memory", strerror(ENOMEM));
    for (size_t i = 0; i < b->object_bytes; i++)
        b->object[i] = (char)('a' + i % 26);
}

int main(int argc, char **argv)
{
    struct bench b = {.object_bytes = 1700};
    const char *parent = "/tmp";
    double seconds = 3;
    char folder[512], path[600];
    static const unsigned defaults[] = {1, 100, 1000};
    int option;

    while ((option = getopt(argc, argv, "d:s:t:u")) != -1) {
        if (option == 'd')
            parent = optarg;
        else if (option == 's')
            b.object_bytes = strtoul(optarg, NULL, 10);
        else if (option == 't')
            seconds = strtod(optarg, NULL);
        else if (option == 'u')
            b.updates = true;
        else
            return 2;
    }
    snprintf(folder, sizeof(folder), "%s/store-bench-XXXXXX", parent);
    if (!mkdtemp(folder))
        die(folder, strerror(errno));
    snprintf(path, sizeof(path), "%s/muster.db", folder);
    fill_object(&b);
    open_store(&b, path);
    for (size_t i = 0; optind == argc && i < ELEMS(defaults); i++)
        bench_one(&b, defaults[i], seconds);
    for (int i = optind; i < argc; i++)
        bench_one(&b, (unsigned)strtoul(argv[i], NULL, 10), seconds);
    close_store(&b);
    open_store(&b, path);
    close_store(&b);
    free(b.object);
    free(b.latencies_us);
    unlink(path);
    return rmdir(folder) < 0;
}
