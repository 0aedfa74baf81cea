/* presence.h - checks that a database's files are still the ones that were opened. Writes to
 * removed files would succeed and be lost. */
#ifndef MUSTER_STORE_PRESENCE_H
#define MUSTER_STORE_PRESENCE_H

#include "base/base.h"

struct presence {
    const char *paths[2]; /* the file and its log; owned by the caller */
    uint64_t devices[2], inodes[2];
};

void presence_note(struct presence *p, const char *path, const char *log_path);
/* NULL, or a sentence about what is gone. */
const char *presence_check(const struct presence *p);

#endif
