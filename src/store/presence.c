/*
 * presence.c - see presence.h.
 *
 * Only the file's identity is queried. Querying its times would, on kernels with multigrain
 * timestamps, give it new ones at the next write, which each commit would then have to write too.
 */
#include "store/presence.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static bool look(const char *path, uint64_t *ret_device, uint64_t *ret_inode)
{
    struct statx st;

    if (statx(AT_FDCWD, path, 0, STATX_INO, &st) < 0)
        return false;
    *ret_device = makedev(st.stx_dev_major, st.stx_dev_minor);
    *ret_inode = st.stx_ino;
    return true;
}

void presence_note(struct presence *p, const char *path, const char *log_path)
{
    *p = (struct presence){.paths = {path, log_path}};
    for (size_t i = 0; i < ELEMS(p->paths); i++)
        (void)look(p->paths[i], &p->devices[i], &p->inodes[i]);
}

const char *presence_check(const struct presence *p)
{
    static const char *const gone[] = {
        "it was removed or replaced while muster was running; put it back, or stop muster",
        "its -wal file was removed or replaced while muster was running; stop muster to write "
        "everything acknowledged to the database itself"};
    uint64_t device, inode;

    for (size_t i = 0; i < ELEMS(p->paths); i++)
        if (p->inodes[i] && (!look(p->paths[i], &device, &inode) || p->devices[i] != device ||
                             p->inodes[i] != inode))
            return gone[i];
    return NULL;
}
