/* log_files.h - the files of a container's log in its pod's folder (cri.h). */
#ifndef MUSTER_RUNTIME_LOG_FILES_H
#define MUSTER_RUNTIME_LOG_FILES_H

#include "base/base.h"

struct log_segments {
    uint32_t run, first, last;
    bool found;
};

/* Parses NAME.RUN.SEGMENT.log. */
bool log_segment_parse(const char *file, const char *container, uint32_t *run, uint32_t *segment);
/* The segments of the newest run within these limits ... */
struct log_segments log_segments_of(int dir_fd, const char *container, uint32_t least_run,
                                    uint32_t most_run);
/* ... or of the newest run of all, or the one before it. */
struct log_segments log_segments_choose(int dir_fd, const char *container, bool previous);
/* A descriptor, or a negative errno. */
int log_segment_open(int dir_fd, const char *container, uint32_t run, uint32_t segment) must_check;

#endif
