/*
 * board.h - the event files of some folders, read once and then only what was added to them. It is
 * used by one thread at a time and does blocking I/O: not on the loop's thread.
 *
 * A folder with event files is a run, named by its path; a run's files are read in the order of
 * their names, which is the order they were made in. A record that is damaged is left out; a file
 * whose record lengths are damaged is read no further unless it changes.
 */
#ifndef MUSTER_BOARD_BOARD_H
#define MUSTER_BOARD_BOARD_H

#include "base/err.h"
#include "base/map.h"
#include "board/folder.h"
#include "board/run.h"

#define BOARD_ROOTS_LIMIT 8u
#define BOARD_RUNS_LIMIT 4096u
#define BOARD_FILES_LIMIT 16384u
#define BOARD_TAGS_LIMIT 16384u
#define BOARD_POINTS_LIMIT_BYTES (24u * 1024u * 1024u)

/* Where to look: relative below base. */
struct board_root {
    const char *base, *relative;
    struct folder_fence fence;
    const char *name; /* before the names of its runs; "" when there is one root only */
    enum folder_scope scope;
};

struct board_options {
    const struct board_root *roots;
    size_t roots_len;
    /* Which files count; NULL: all. Called while looking, with arg. */
    bool (*wants)(void *arg, const char *file_name, uid_t owner);
    void *arg;
    uint32_t capacity;  /* points per tag; 0: SERIES_CAPACITY_DEFAULT */
    size_t limit_bytes; /* of points and tags; 0: BOARD_POINTS_LIMIT_BYTES */
};

struct board_totals {
    uint64_t files, bytes, bytes_read;
    uint64_t records, bad_records, long_records; /* read; left out as damaged, as too long */
    uint64_t ended_files;                        /* given up at a damaged length */
    bool limited;                                /* there is more than the ceilings let in */
};

struct board;

struct board *board_new(const struct board_options *options) must_check; /* NULL: no memory */
void board_free(struct board *b);

/* Looks which files there are and how long. A root that is not there (yet) is no error; one that
 * may not be read is. */
int board_look(struct board *b, struct err *err) must_check;
/* How long after the last look another is worth its cost: folders may be as large as a disk. */
int64_t board_rest_ms(const struct board *b);
/* Reads about budget_bytes of what board_look found. True when there is more to read. */
bool board_read(struct board *b, uint64_t budget_bytes);

/* From now on it has so much for its points: of every curve as many are put together as it takes.
 */
void board_limit(struct board *b, size_t limit_bytes);
/* Of all points and tags. */
size_t board_bytes(const struct board *b);

/* name -> struct run, in order. */
const struct map *board_runs(const struct board *b);
const struct run *board_run(const struct board *b, const char *name);
void board_totals(const struct board *b, struct board_totals *ret);

#define BOARD_READ_AGAIN_LIMIT_BYTES (64u * 1024u * 1024u) /* for one call, about */

/* v is valid inside only. */
typedef void board_value_fn(void *arg, const struct sample *s, const struct event_value *v);
/* Reads the histograms, images or texts of a tag again from where they stand, the newest first;
 * those that are not there any more are left out. False when the limit was reached. */
bool board_read_again(const struct board *b, const struct run *run, const struct tag *tag,
                      board_value_fn *fn, void *arg);

#endif
