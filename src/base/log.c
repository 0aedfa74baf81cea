/* log.c - writes each line with a single write(2), so that lines of two threads never mix. Control
 * characters in user data are replaced, so that one log line cannot forge another. */
#include "base/log.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"

#define LINE_LIMIT 2048

static enum log_level max_level = LOG_LEVEL_INFO;

static const char level_letters[] = "EWID";

void log_set_level(enum log_level level)
{
    max_level = level;
}

static struct {
    pthread_mutex_t lock;
    const char *path; /* NULL: stderr is managed by whatever started us */
    size_t limit_bytes;
    int copy_fd; /* or -1 */
} file = {.lock = PTHREAD_MUTEX_INITIALIZER, .copy_fd = -1};

void log_copy_to(int fd)
{
    (void)pthread_mutex_lock(&file.lock);
    file.copy_fd = fd;
    (void)pthread_mutex_unlock(&file.lock);
}

void log_keep_file(const char *path, size_t limit_bytes)
{
    (void)pthread_mutex_lock(&file.lock);
    file.path = path;
    file.limit_bytes = limit_bytes;
    (void)pthread_mutex_unlock(&file.lock);
}

/* Errors cannot be reported from here: the old file stays in use. */
static void begin_file(void)
{
    char last[PATH_MAX];
    int fd;

    if (snprintf(last, sizeof(last), "%s.1", file.path) >= (int)sizeof(last) ||
        rename(file.path, last) < 0)
        return;
    fd = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    (void)dup2(fd, STDOUT_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    (void)close(fd);
}

static void prepare(const char *line, size_t len)
{
    struct stat st;

    (void)pthread_mutex_lock(&file.lock);
    if (file.copy_fd >= 0)
        (void)!write(file.copy_fd, line, len);
    if (file.path && fstat(STDERR_FILENO, &st) == 0 && (size_t)st.st_size + len > file.limit_bytes)
        begin_file();
    (void)pthread_mutex_unlock(&file.lock);
}

/* Invalid bytes too: some terminals obey them. */
static void blank_controls(char *text, size_t len)
{
    for (size_t i = 0, n; i < len; i += n) {
        size_t valid = utf8_sequence(text + i, len - i);

        n = max_size(valid, 1);
        if (valid == 0 || utf8_is_control(text + i, n))
            memset(text + i, ' ', n);
    }
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
    blank_controls(line + start, len - start);
    line[len++] = '\n';
    prepare(line, len);
    if (write(STDERR_FILENO, line, len) < 0)
        return; /* there is no place left to report it */
}
