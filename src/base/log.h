/*
 * log.h - one line per fact, to stderr. Libraries do not log: the top of a request, a reconcile or
 * a command does, once, with the object's name.
 */
#ifndef MUSTER_BASE_LOG_H
#define MUSTER_BASE_LOG_H

#include "base/base.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level);
void log_line(enum log_level level, const char *fmt, ...) printf_like(2, 3);

/* The file that stderr and stdout are, and may be at most so large: then it becomes PATH.1 in place
 * of the last one, and another begins. path stays the caller's, and there. */
void log_keep_file(const char *path, size_t limit_bytes);

/* Lines go to this descriptor too; -1: no longer. */
void log_copy_to(int fd);

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
