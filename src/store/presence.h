/* presence.h - are a database's files still the ones that were opened? Writing into files that were
 * removed would succeed, and be lost. */
#ifndef MUSTER_STORE_PRESENCE_H
#define MUSTER_STORE_PRESENCE_H

#include "base/base.h"

struct presence {
    const char *paths[2]; /* the file and its log; the caller's */
    uint64_t devices[2], inodes[2];
};

void presence_note(struct presence *p, const char *path, const char *log_path);
/* NULL, or a sentence that says what is gone. */
const char *presence_check(const struct presence *p);

#endif
