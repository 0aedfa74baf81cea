/*
 * record.h - the records of an event file (TFRecord), read in large pieces from where reading
 * stopped last time:
 *
 *   length (8 bytes) | masked CRC-32C of the length | data | masked CRC-32C of the data
 *
 * The file may grow meanwhile, or end in the middle of a record, which is then read once it is
 * complete. mmap is not used: truncating a mapped file would kill the process.
 */
#ifndef MUSTER_BOARD_RECORD_H
#define MUSTER_BOARD_RECORD_H

#include "base/base.h"

#define RECORD_WINDOW_BYTES (256u * 1024u)       /* read at once */
#define RECORD_LIMIT_BYTES (16u * 1024u * 1024u) /* longer records are skipped unread */

struct record_reader {
    int fd;
    uint64_t offset; /* in the file, of the next record */
    char *window;
    size_t capacity, start, end; /* window[start..end) is at offset */
};

enum record_result {
    RECORD_OK,
    RECORD_WAIT,       /* the rest is not there yet, or this is the end */
    RECORD_BAD_LENGTH, /* the start of the next one is unknown */
    RECORD_BAD_DATA,   /* skipped */
    RECORD_TOO_LONG,   /* skipped */
    RECORD_FAILED,     /* reading failed or memory ran out: errno */
};

/* The window is reused from file to file. */
void record_reader_init(struct record_reader *r);
void record_reader_release(struct record_reader *r);
/* Reads fd, which stays the caller's, from offset on. */
void record_reader_open(struct record_reader *r, int fd, uint64_t offset);

/* data is valid until the next call. Afterwards offset is behind the record, except for
 * RECORD_WAIT, RECORD_BAD_LENGTH and RECORD_FAILED. */
enum record_result record_next(struct record_reader *r, const char **ret_data, size_t *ret_len);

#endif
