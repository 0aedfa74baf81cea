/*
 * board_read.c - reads a folder of event files with src/board and says how long it took, what was
 * there and how much memory it needed, as JSON. With --points, all points besides (a line each:
 * run, tag, step, time, value), to compare with another reader's.
 *
 *   board_read FOLDER [--points]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "board/board.h"
#include "board/points.h"

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print_points(const struct run *run, const struct tag *tag)
{
    const struct points_range all = {.from = INT64_MIN, .to = INT64_MAX};
    size_t len;
    struct point *p = points_of(&tag->series, &all, &len);

    for (size_t i = 0; p && i < len; i++)
        printf("%s\t%s\t%lld\t%.17g\t%.17g\n", run->name, tag->name, (long long)p[i].step,
               p[i].wall_time, p[i].value);
    free(p);
}

static uint64_t each_tag(const struct board *b, bool print)
{
    uint64_t points = 0;

    map_for_each (node, board_runs(b)) {
        const struct run *run = node->value;
        size_t len;
        const struct tag **tags = run_tags(run, &len);

        for (size_t i = 0; i < len; i++) {
            points += tags[i]->kind == TAG_SCALAR ? tags[i]->series.read : 0;
            if (print && tags[i]->kind == TAG_SCALAR)
                print_points(run, tags[i]);
        }
        free(tags);
    }
    return points;
}

int main(int argc, char **argv)
{
    const struct board_root root = {.base = argc > 1 ? argv[1] : ".", .relative = "", .name = ""};
    struct board *b = board_new(&(struct board_options){.roots = &root, .roots_len = 1});
    bool print = argc > 2 && strcmp(argv[2], "--points") == 0;
    double start = seconds(), end;
    auto_err err = ERR_INIT;
    struct board_totals t;
    struct rusage usage;

    if (!b || board_look(b, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.text ? err.text : "out of memory");
        return 1;
    }
    while (board_read(b, 64u << 20))
        ;
    end = seconds();
    board_totals(b, &t);
    (void)getrusage(RUSAGE_SELF, &usage);
    if (print)
        (void)each_tag(b, true);
    else
        printf("{\"seconds\": %.3f, \"bytes\": %llu, \"records\": %llu, \"points\": %llu, "
               "\"runs\": %zu, \"bad\": %llu, \"max_rss_kb\": %ld}\n",
               end - start, (unsigned long long)t.bytes_read, (unsigned long long)t.records,
               (unsigned long long)each_tag(b, false), board_runs(b)->count,
               (unsigned long long)t.bad_records, usage.ru_maxrss);
    board_free(b);
    return 0;
}
