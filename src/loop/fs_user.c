/* fs_user.c - see fs_user.h. The kernel keeps these ids per thread; libc's setgroups would change
 * every thread's. */
#include "loop/fs_user.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PASSWD_ENTRY_LIMIT_BYTES 16384

static uid_t current_uid(void)
{
    return (uid_t)setfsuid((uid_t)-1);
}

static gid_t current_gid(void)
{
    return (gid_t)setfsgid((gid_t)-1);
}

static int set_groups(size_t len, const void *groups)
{
    return syscall(SYS_setgroups, len, groups) == 0 ? 0 : -errno;
}

int fs_user_become(struct fs_user *saved, uid_t uid, gid_t gid, const uint32_t *groups,
                   size_t groups_len)
{
    int rc;

    *saved = (struct fs_user){0};
    if (geteuid() != 0 || uid == 0)
        return 0;
    saved->groups_len = getgroups(ELEMS(saved->groups), saved->groups);
    rc = saved->groups_len < 0 ? -errno : set_groups(groups_len, groups);
    if (rc < 0)
        return rc;
    saved->changed = true;
    (void)setfsgid(gid);
    (void)setfsuid(uid);
    if (current_uid() == uid && current_gid() == gid)
        return 0;
    fs_user_restore(saved);
    saved->changed = false;
    return -EPERM;
}

void fs_user_restore(const struct fs_user *saved)
{
    if (!saved->changed)
        return;
    (void)setfsuid(geteuid());
    (void)setfsgid(getegid());
    if (set_groups((size_t)saved->groups_len, saved->groups) < 0 || current_uid() != geteuid() ||
        current_gid() != getegid())
        abort();                     /* continuing would act as the wrong user */
    (void)prctl(PR_SET_DUMPABLE, 1); /* changing ids disables core dumps */
}

gid_t fs_user_group(uid_t uid)
{
    char text[PASSWD_ENTRY_LIMIT_BYTES];
    struct passwd entry, *found = NULL;

    return getpwuid_r(uid, &entry, text, sizeof(text), &found) == 0 && found ? found->pw_gid : uid;
}
