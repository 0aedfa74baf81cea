/*
 * cri.h - the log format of the Container Runtime Interface: one entry per line,
 *
 *   2026-11-15T08:00:00.123456789Z stdout F text\n
 *
 * F ends the program's line, P is a part of a line that continues in the next entry of the same
 * stream. Our stamps always have nine digits, so every header is CRI_HEADER_LEN bytes.
 *
 * A container's log is a sequence of files, NAME.RUN.SEGMENT.log: RUN counts the container's
 * restarts, SEGMENT grows when a file is full, and the oldest go when there are too many.
 */
#ifndef MUSTER_RUNTIME_CRI_H
#define MUSTER_RUNTIME_CRI_H

#include <sys/types.h>

#include "base/buf.h"

#define CRI_STAMP_LEN 30u
#define CRI_HEADER_LEN 40u
#define CRI_LINE_BYTES 16384u /* longer lines are cut into parts of this size */
#define CRI_NAME_SIZE 256u    /* of a segment's file name */

enum cri_stream { CRI_STDOUT, CRI_STDERR, CRI_STREAMS };

struct cri_limits {
    int64_t segment_bytes; /* a file of this size is full */
    uint32_t segments;     /* kept per run */
};

/* What is completely in the files, and the unfinished lines that are not yet. Plain data: it may be
 * in memory that outlives the writer. */
struct cri_state {
    uint32_t segment;
    int64_t size;        /* of the segment */
    uint64_t lost_bytes; /* of output that could not be written: a full disk blocks no program */
    uint64_t told_bytes; /* already reported in the log; an entry will report the rest */
    struct {
        uint32_t len;
        char text[CRI_LINE_BYTES];
    } pending[CRI_STREAMS];
};

struct cri_writer {
    int dir_fd, fd;
    const char *name; /* the container's */
    uint32_t run, segment;
    struct cri_limits limits;
    struct buf out;
    size_t taken_bytes; /* the program's, in out */
    bool tells_lost;    /* whether out starts with an entry about what is missing before it */
};

const char *cri_segment_name(char out[CRI_NAME_SIZE], const char *container, uint32_t run,
                             uint32_t segment);

void cri_writer_init(struct cri_writer *w, int dir_fd, const char *container, uint32_t run,
                     struct cri_limits limits);
void cri_writer_release(struct cri_writer *w);
/* Creates the file if there is none. */
void cri_writer_open(struct cri_writer *w, uint32_t segment);

/* Takes in the program's bytes: afterwards *to describes what is in the files. *from is only read;
 * as long as it is the valid one, the same call can be repeated and writes the same bytes to the
 * same place. */
void cri_writer_feed(struct cri_writer *w, const struct cri_state *from, struct cri_state *to,
                     enum cri_stream s, const char *data, size_t len, int64_t sec, int64_t nsec);
/* The streams have ended: what they left unfinished becomes lines. */
void cri_writer_end(struct cri_writer *w, const struct cri_state *from, struct cri_state *to,
                    int64_t sec, int64_t nsec);
/* On a full disk: gives up as many of the last entries as the mark needs room for. Writes nothing
 * itself: *to must become valid before the mark overwrites them and the rest of the file is cut
 * off. False: there are none. */
bool cri_writer_make_room(struct cri_writer *w, const struct cri_state *from, struct cri_state *to);
void cri_writer_cut(const struct cri_writer *w, const struct cri_state *state);
int cri_writer_sync(struct cri_writer *w) must_check;

struct cri_entry {
    const char *stamp; /* CRI_STAMP_LEN bytes */
    enum cri_stream stream;
    bool partial;
    const char *text;
    size_t len;
};

/* line: one entry without its newline. False when it is not valid. */
bool cri_parse(const char *line, size_t len, struct cri_entry *ret);

#endif
