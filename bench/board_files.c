/*
 * board_files.c - writes event files to measure readers with: two runs, scalars as PyTorch and as
 * TensorFlow 2 write them, histograms and images. About half of the bytes are scalars; with
 * `scalars` all of them, which is the worst case for a reader.
 *
 *   board_files FOLDER MEGABYTES [scalars]
 *   board_files FOLDER run SEED TAGS POINTS     one run of a sweep
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "board/event_writer.h"

#define FLUSH_BYTES (4u << 20)

static const char *const tags[] = {"train/loss", "train/accuracy", "train/learning_rate",
                                   "system/gpu_memory", "val/loss"};
static char noise[64 * 1024];

static void scalars(struct buf *out, int64_t step, double wall)
{
    for (size_t i = 0; i < ELEMS(tags); i++)
        put_scalar(out, step, wall, tags[i], (float)(exp((double)-step / 1e5) + (double)i));
}

static void tensor_scalar(struct buf *out, int64_t step, double wall)
{
    float value = (float)sin((double)step / 1000);
    struct buf rest = BUF_INIT(64);

    put_bytes(&rest, 4, &value, sizeof(value));
    put_tensor(out, step, wall, "epoch_loss", "scalars", 1, &rest);
    buf_release(&rest);
}

static void histogram(struct buf *out, int64_t step, double wall)
{
    struct buf proto = BUF_INIT(1u << 20), fields = BUF_INIT(1u << 20);
    double limits[100], counts[100];

    for (unsigned i = 0; i < ELEMS(limits); i++) {
        limits[i] = i;
        counts[i] = (double)step + i;
    }
    for (unsigned field = 1; field <= 5; field++)
        put_double(&proto, field, field);
    put_bytes(&proto, 6, limits, sizeof(limits));
    put_bytes(&proto, 7, counts, sizeof(counts));
    put_bytes(&fields, 5, proto.data, proto.len);
    put_summary(out, step, wall, "weights", &fields);
    buf_release(&proto);
    buf_release(&fields);
}

static void image(struct buf *out, int64_t step, double wall)
{
    struct buf proto = BUF_INIT(1u << 20), fields = BUF_INIT(1u << 20);

    for (unsigned field = 1; field <= 3; field++)
        put_int(&proto, field, 128);
    put_bytes(&proto, 4, noise, sizeof(noise));
    put_bytes(&fields, 4, proto.data, proto.len);
    put_summary(out, step, wall, "samples", &fields);
    buf_release(&proto);
    buf_release(&fields);
}

static void step_of(struct buf *out, int64_t step, bool only_scalars)
{
    double wall = 1.7e9 + (double)step / 10;

    scalars(out, step, wall);
    tensor_scalar(out, step, wall);
    if (only_scalars)
        return;
    if (step % 10 == 0)
        histogram(out, step, wall);
    if (step % 250 == 0)
        image(out, step, wall);
}

static void sweep_step(struct buf *out, int64_t step, unsigned seed, unsigned tags_len)
{
    char tag[32];

    for (unsigned i = 0; i < tags_len; i++) {
        (void)snprintf(tag, sizeof(tag), i ? "metrics/tag-%02u" : "train/loss", i);
        put_scalar(out, step, 1.7e9 + (double)step / 10, tag,
                   (float)(exp((double)-step / (2e4 + 500 * seed)) + 0.02 * seed +
                           0.05 * sin((double)(step * (7 + i)))));
    }
}

static int write_run(const char *folder, unsigned seed, unsigned tags_len, int64_t points)
{
    struct buf out = BUF_INIT(64u << 20);
    char path[4096];
    bool ok;
    int fd;

    (void)mkdir(folder, 0755);
    (void)snprintf(path, sizeof(path), "%s/events.out.tfevents.1700000000.host.1.0", folder);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ok = fd >= 0;
    put_version(&out);
    for (int64_t step = 0; ok && step < points; step++) {
        sweep_step(&out, step, seed, tags_len);
        if (out.len < FLUSH_BYTES && step + 1 < points)
            continue;
        ok = !out.failed && write(fd, out.data, out.len) == (ssize_t)out.len;
        buf_clear(&out);
    }
    buf_release(&out);
    return fd >= 0 && close(fd) == 0 && ok ? 0 : -1;
}

static int write_file(const char *folder, uint64_t bytes, int64_t *step, bool only_scalars)
{
    struct buf out = BUF_INIT(64u << 20);
    char path[4096];
    uint64_t written = 0;
    int fd;

    (void)mkdir(folder, 0755);
    (void)snprintf(path, sizeof(path), "%s/events.out.tfevents.%010lld.host.1.0", folder,
                   1700000000LL + (long long)*step);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    put_version(&out);
    while (written < bytes) {
        while (out.len < FLUSH_BYTES && written + out.len < bytes)
            step_of(&out, (*step)++, only_scalars);
        if (out.failed || write(fd, out.data, out.len) != (ssize_t)out.len) {
            (void)close(fd);
            return -1;
        }
        written += out.len;
        buf_clear(&out);
    }
    buf_release(&out);
    return close(fd);
}

int main(int argc, char **argv)
{
    uint64_t bytes = argc > 2 ? strtoull(argv[2], NULL, 10) << 20 : 0;
    char folder[2048];

    if (argc == 6 && strcmp(argv[2], "run") == 0) {
        if (write_run(argv[1], (unsigned)strtoul(argv[3], NULL, 10),
                      (unsigned)strtoul(argv[4], NULL, 10), strtoll(argv[5], NULL, 10)) == 0)
            return 0;
        perror(argv[1]);
        return 1;
    }
    if (!bytes) {
        (void)fprintf(
            stderr,
            "usage: board_files FOLDER MEGABYTES [scalars] | FOLDER run SEED TAGS POINTS\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)(i * 2654435761u >> 13);
    (void)mkdir(argv[1], 0755);
    for (int run = 0; run < 2; run++) {
        int64_t step = 0;

        (void)snprintf(folder, sizeof(folder), "%s/run%d", argv[1], run);
        for (int part = 0; part < 2; part++)
            if (write_file(folder, bytes / 4, &step, argc > 3) < 0) {
                perror(folder);
                return 1;
            }
    }
    return 0;
}
