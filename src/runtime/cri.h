/*
 * cri.h - the log format of the Container Runtime Interface: one entry per line,
 *
 *   2026-11-15T08:00:00.123456789Z stdout F text\n
 *
 * F ends the program's line, P is a part of one that goes on in the next entry of the same stream.
 * Our stamps always have nine digits, so every header is CRI_HEADER_LEN bytes.
 */
#ifndef MUSTER_RUNTIME_CRI_H
#define MUSTER_RUNTIME_CRI_H

#include <sys/types.h>

#include "base/buf.h"

#define CRI_STAMP_LEN 30u
#define CRI_HEADER_LEN 40u
#define CRI_LINE_BYTES 16384u /* longer lines are cut into parts of this size */

enum cri_stream { CRI_STDOUT, CRI_STDERR, CRI_STREAMS };

/* Owns the log file's descriptor; the program's bytes go in, entries come out, whole. */
struct cri_writer {
    int fd;
    off_t size;          /* of what is whole in the file */
    uint64_t lost_bytes; /* could not be written: the program is never held up by a full disk */
    struct buf out;
    struct {
        char *text; /* the unfinished line */
        size_t len;
    } pending[CRI_STREAMS];
};

int cri_writer_init(struct cri_writer *w, int fd) must_check; /* takes fd, also when it fails */
void cri_writer_feed(struct cri_writer *w, enum cri_stream s, const char *data, size_t len,
                     int64_t sec, int64_t nsec);
/* The stream has ended: what it left unfinished becomes a line. */
void cri_writer_end(struct cri_writer *w, enum cri_stream s, int64_t sec, int64_t nsec);
int cri_writer_sync(struct cri_writer *w) must_check;
void cri_writer_release(struct cri_writer *w);

struct cri_entry {
    const char *stamp; /* CRI_STAMP_LEN bytes */
    enum cri_stream stream;
    bool partial;
    const char *text;
    size_t len;
};

/* line: one entry without its newline. false when it is not one. */
bool cri_parse(const char *line, size_t len, struct cri_entry *ret);

#endif
