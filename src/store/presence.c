/* presence.c - see presence.h. */
#include "store/presence.h"

#include <sys/stat.h>

void presence_note(struct presence *p, const char *path, const char *log_path)
{
    struct stat st;

    *p = (struct presence){.paths = {path, log_path}};
    for (size_t i = 0; i < ELEMS(p->paths); i++)
        if (stat(p->paths[i], &st) == 0) {
            p->devices[i] = st.st_dev;
            p->inodes[i] = st.st_ino;
        }
}

const char *presence_check(const struct presence *p)
{
    static const char *const gone[] = {
        "it was removed or replaced while muster runs; put it back, or stop muster",
        "its -wal file was removed or replaced while muster runs; stop muster to have all that was "
        "acknowledged written to the database itself"};
    struct stat st;

    for (size_t i = 0; i < ELEMS(p->paths); i++)
        if (p->inodes[i] && (stat(p->paths[i], &st) != 0 || p->devices[i] != st.st_dev ||
                             p->inodes[i] != st.st_ino))
            return gone[i];
    return NULL;
}
