/* fixture.h - a folder of event files in a temporary place, and a board on it. */
#ifndef MUSTER_TESTS_BOARD_FIXTURE_H
#define MUSTER_TESTS_BOARD_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "board/board.h"
#include "board/event_writer.h"
#include "board/points.h"
#include "loop/file.h"

#define FILES_LIMIT_BYTES (64u << 20)
#define EVENT_FILE "events.out.tfevents.1700000000.host.1.0"

struct place {
    char path[128];
};

static inline void place_make(struct place *p)
{
    (void)snprintf(p->path, sizeof(p->path), "/tmp/muster-board-XXXXXX");
    assert_non_null(mkdtemp(p->path));
}

static inline void place_remove(const struct place *p)
{
    char command[160];

    (void)snprintf(command, sizeof(command), "rm -rf '%s'", p->path);
    assert_int_equal(system(command), 0);
}

/* Writes (or adds to) a file below the place. */
static inline void place_write(const struct place *p, const char *folder, const char *name,
                               const void *data, size_t len, int flags)
{
    char path[512];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", p->path, folder);
    assert_int_equal(file_make_dirs(path, 0755), 0);
    (void)snprintf(path, sizeof(path), "%s/%s/%s", p->path, folder, name);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), (ssize_t)len);
    assert_int_equal(close(fd), 0);
}

static inline struct board *place_board(const struct place *p)
{
    const struct board_root root = {.base = p->path, .relative = "", .name = ""};
    struct board *b = board_new(&(struct board_options){.roots = &root, .roots_len = 1});

    assert_non_null(b);
    return b;
}

static inline void read_all(struct board *b)
{
    auto_err err = ERR_INIT;

    assert_int_equal(board_look(b, &err), 0);
    while (board_read(b, 1u << 20))
        ;
}

static inline const struct series *series_named(const struct board *b, const char *run,
                                                const char *tag)
{
    const struct run *r = board_run(b, run);
    const struct tag *t = r ? run_find(r, tag) : NULL;

    return t ? &t->series : NULL;
}

static inline size_t points_named(const struct board *b, const char *run, const char *tag)
{
    const struct points_range all = {.from = INT64_MIN, .to = INT64_MAX};
    const struct series *s = series_named(b, run, tag);
    size_t len = 0;

    if (s)
        free(points_of(s, &all, &len));
    return len;
}

#endif
