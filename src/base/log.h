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

/* Rotates the file behind stdout and stderr: at limit_bytes it is renamed to PATH.1, replacing the
 * previous one, and a new file is begun. path must stay valid. */
void log_keep_file(const char *path, size_t limit_bytes);

/* Also copies lines to this descriptor; -1 stops that. */
void log_copy_to(int fd);

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
