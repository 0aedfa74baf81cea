/* random.h - unpredictable bytes from the kernel, and names made of them. Any thread. */
#ifndef MUSTER_LOOP_RANDOM_H
#define MUSTER_LOOP_RANDOM_H

#include "base/base.h"

#define RANDOM_UID_SIZE 37
#define RANDOM_SUFFIX_SIZE 6

void random_bytes(void *out, size_t len);
void random_uid(char out[RANDOM_UID_SIZE]);       /* RFC 4122 version 4, as metadata.uid */
void random_suffix(char out[RANDOM_SUFFIX_SIZE]); /* five characters, as generateName appends */

#endif
