/*
 * fs_user.h - lets the calling thread use files, and open sockets, with another user's rights: what
 * root does on behalf of a user must not exceed that user's rights. Only root can switch; for other
 * users these functions do nothing.
 */
#ifndef MUSTER_LOOP_FS_USER_H
#define MUSTER_LOOP_FS_USER_H

#include <sys/types.h>

#include "base/base.h"

#define FS_USER_GROUPS_LIMIT 256

struct fs_user {
    bool changed;
    gid_t groups[FS_USER_GROUPS_LIMIT]; /* the daemon's own */
    int groups_len;
};

/* Returns 0, or a negative errno with nothing changed. */
int fs_user_become(struct fs_user *saved, uid_t uid, gid_t gid, const uint32_t *groups,
                   size_t groups_len) must_check;
void fs_user_restore(const struct fs_user *saved);
/* The user's primary group: from passwd, else the same number. */
gid_t fs_user_group(uid_t uid);

#endif
