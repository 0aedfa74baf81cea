/* log.c - writes whole lines with one write(2), so that lines of two threads never mix. Control
 * characters in user data are replaced: a log line cannot forge another. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LINE_LIMIT 2048

static enum log_level max_level = LOG_LEVEL_INFO;

static const char level_letters[] = "EWID";

void log_set_level(enum log_level level)
{
    max_level = level;
}

void log_line(enum log_level level, const char *fmt, ...)
{
    char line[LINE_LIMIT];
    struct timespec now;
    struct tm tm;
    va_list args;
    size_t len, start;
    int n;

    if (level > max_level)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    len = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &tm);
    n = snprintf(line + len, sizeof(line) - len, ".%03ldZ %c ", now.tv_nsec / 1000000,
                 level_letters[level]);
    len += (size_t)n;
    start = len;
    va_start(args, fmt);
    n = vsnprintf(line + len, sizeof(line) - len - 1, fmt, args);
    va_end(args);
    if (n > 0)
        len = min_size(len + (size_t)n, sizeof(line) - 2);
    for (size_t i = start; i < len; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = ' ';
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0)
        return; /* nowhere left to say it */
}
