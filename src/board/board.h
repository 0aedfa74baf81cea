/*
 * board.h - the event files below some folders, read once and then incrementally. Used by one
 * thread at a time, with blocking I/O: not on the loop's thread.
 *
 * A folder with event files is a run, named by its path; a run's files are read in order of their
 * names, which is the order of creation. A corrupt record is skipped; a file with a corrupt record
 * length is read no further unless it changes.
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

/* Where to look: relative to base. */
struct board_root {
    const char *base, *relative;
    struct folder_fence fence;
    const char *name; /* prefix of its runs' names; "" with a single root */
    enum folder_scope scope;
};

struct board_options {
    const struct board_root *roots;
    size_t roots_len;
    /* Which files count; NULL: all. Called during board_look, with arg. */
    bool (*wants)(void *arg, const char *file_name, uid_t owner);
    void *arg;
    uint32_t capacity;  /* points per tag; 0: SERIES_CAPACITY_DEFAULT */
    size_t limit_bytes; /* of points and tags; 0: BOARD_POINTS_LIMIT_BYTES */
};

struct board_totals {
    uint64_t files, bytes, bytes_read;
    uint64_t records, bad_records, long_records; /* read; skipped as corrupt, as too long */
    uint64_t ended_files;                        /* given up at a corrupt length */
    bool limited;                                /* there is more than the limits allow */
};

struct board;

struct board *board_new(const struct board_options *options) must_check; /* NULL: no memory */
void board_free(struct board *b);

/* Finds files and their sizes. A missing root is no error (yet); one that may not be read is. */
int board_look(struct board *b, struct err *err) must_check;
/* How long to wait before another look is worth its cost: folders may be as large as a disk. */
int64_t board_rest_ms(const struct board *b);
/* Reads about budget_bytes of what board_look found. True when there is more. */
bool board_read(struct board *b, uint64_t budget_bytes);

/* Changes the memory limit for points; curves are thinned out as needed. */
void board_limit(struct board *b, size_t limit_bytes);
/* Used by all points and tags. */
size_t board_bytes(const struct board *b);

/* name -> struct run, in order. */
const struct map *board_runs(const struct board *b);
const struct run *board_run(const struct board *b, const char *name);
void board_totals(const struct board *b, struct board_totals *ret);

#define BOARD_READ_AGAIN_LIMIT_BYTES (64u * 1024u * 1024u) /* per call, roughly */

/* v is valid during the call. */
typedef void board_value_fn(void *arg, const struct sample *s, const struct event_value *v);
/* Reads a tag's histograms, images or texts again from their files, newest first; those no longer
 * there are skipped. False when the limit was reached. */
bool board_read_again(const struct board *b, const struct run *run, const struct tag *tag,
                      board_value_fn *fn, void *arg);

#endif
