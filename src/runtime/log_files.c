/* log_files.c - see log_files.h. */
#include "runtime/log_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cri.h"

bool log_segment_parse(const char *file, const char *container, uint32_t *run, uint32_t *segment)
{
    size_t n = strlen(container);
    int end = -1;

    return strncmp(file, container, n) == 0 &&
           sscanf(file + n, ".%9u.%9u.log%n", run, segment, &end) == 2 && end > 0 &&
           file[n + (size_t)end] == '\0';
}

struct log_segments log_segments_of(int dir_fd, const char *container, uint32_t least_run,
                                    uint32_t most_run)
{
    struct log_segments s = {.found = false};
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    uint32_t run, segment;

    while (d && (e = readdir(d)) != NULL) {
        if (!log_segment_parse(e->d_name, container, &run, &segment) || run < least_run ||
            run > most_run || (s.found && run < s.run))
            continue;
        if (!s.found || run > s.run)
            s = (struct log_segments){.run = run, .first = segment, .last = segment, .found = true};
        s.first = segment < s.first ? segment : s.first;
        s.last = segment > s.last ? segment : s.last;
    }
    if (d)
        (void)closedir(d);
    else if (fd >= 0)
        (void)close(fd);
    return s;
}

struct log_segments log_segments_choose(int dir_fd, const char *container, bool previous)
{
    struct log_segments s = log_segments_of(dir_fd, container, 0, UINT32_MAX);

    if (!s.found || !previous)
        return s;
    return s.run > 0 ? log_segments_of(dir_fd, container, 0, s.run - 1)
                     : (struct log_segments){.found = false};
}

int log_segment_open(int dir_fd, const char *container, uint32_t run, uint32_t segment)
{
    char name[CRI_NAME_SIZE];
    int fd = openat(dir_fd, cri_segment_name(name, container, run, segment),
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    return fd >= 0 ? fd : -errno;
}
