/* fuzz.h - the reader given arbitrary bytes: an event file, or what stands in its records. */
#ifndef MUSTER_BOARD_FUZZ_H
#define MUSTER_BOARD_FUZZ_H

#include "base/base.h"

/* Takes the bytes for an Event, and again for a whole file of records, of which damaged checksums
 * are forgiven: a fuzzer does not find right ones. Answers the number of points read. */
size_t board_fuzz(const void *data, size_t len);

#endif
