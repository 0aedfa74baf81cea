/*
 * faults.c - a library that is loaded before all others (LD_PRELOAD) and makes allocations and
 * system calls fail. A test says which one by a file that both have mapped (MUSTER_FAULTS); only
 * the process named there is touched, so what it starts runs untroubled.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum what { ALLOCATION, CALL };
enum mode { MODE_ERROR, MODE_SHORT };

/* As tests/fault/sweep_test.py packs it. */
struct control {
    atomic_int pid;       /* 0: nobody */
    atomic_int what;      /* enum what */
    atomic_int countdown; /* the so manyth fails; 0: none */
    atomic_int burst;     /* and so many behind it */
    atomic_int mode;      /* enum mode, of calls */
    atomic_int error;     /* of calls; 0: whichever may be the call's */
    atomic_uint seen[2];  /* allocations and calls since the test set them to 0 */
    atomic_uint failed;   /* since then */
};

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

static struct control *control;

__attribute__((constructor)) static void map_control(void)
{
    const char *path = getenv("MUSTER_FAULTS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *p = fd < 0 ? MAP_FAILED
                     : mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        (void)close(fd);
    if (p != MAP_FAILED)
        control = p;
}

static int fails(enum what what)
{
    int left;

    if (!control || atomic_load_explicit(&control->pid, memory_order_relaxed) != getpid())
        return 0;
    atomic_fetch_add(&control->seen[what], 1);
    if (atomic_load(&control->what) != (int)what || atomic_load(&control->countdown) <= 0)
        return 0;
    left = atomic_fetch_sub(&control->countdown, 1);
    if (left != 1)
        return 0;
    if (atomic_fetch_sub(&control->burst, 1) > 0)
        atomic_store(&control->countdown, 1);
    atomic_fetch_add(&control->failed, 1);
    return 1;
}

/* --- allocations --- */

void *malloc(size_t size)
{
    if (!fails(ALLOCATION))
        return __libc_malloc(size);
    errno = ENOMEM;
    return NULL;
}

void *calloc(size_t count, size_t size)
{
    if (!fails(ALLOCATION))
        return __libc_calloc(count, size);
    errno = ENOMEM;
    return NULL;
}

void *realloc(void *p, size_t size)
{
    if (size == 0 || !fails(ALLOCATION))
        return __libc_realloc(p, size);
    errno = ENOMEM;
    return NULL;
}

/* --- calls --- */

/* Errors a call can have, but for its own. */
#define IO 1
#define SPACE 2
#define DESCRIPTORS 4
#define INTERRUPTED 8

static int can_have(int errors)
{
    switch (control ? atomic_load(&control->error) : 0) {
    case EIO:
        return errors & IO;
    case ENOSPC:
        return errors & SPACE;
    case EMFILE:
        return errors & DESCRIPTORS;
    case EINTR:
        return errors & INTERRUPTED;
    default:
        return 1;
    }
}

static int call_fails(int usual, int errors)
{
    int error;

    if (!can_have(errors) || (control && atomic_load(&control->mode) == MODE_SHORT) || !fails(CALL))
        return 0;
    error = atomic_load(&control->error);
    errno = error ? error : usual;
    return 1;
}

/* Counters of wake-ups and timers are of no type: they do not fail. */
static int type_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) < 0 ? 0 : (int)(st.st_mode & S_IFMT);
}

/* How many bytes of a transfer are done; -1: it fails. */
static ssize_t bytes_of(int fd, size_t n, int usual, int errors)
{
    int type;

    if (!control || atomic_load_explicit(&control->pid, memory_order_relaxed) != getpid() || n < 2)
        return (ssize_t)n;
    type = type_of(fd);
    if (type != S_IFREG && type != S_IFSOCK && type != S_IFIFO)
        return (ssize_t)n;
    if (type != S_IFREG)
        errors &= INTERRUPTED;
    if (atomic_load(&control->mode) == MODE_SHORT)
        return fails(CALL) ? (ssize_t)(1 + (size_t)rand() % (n - 1)) : (ssize_t)n;
    return call_fails(type == S_IFREG ? usual : EINTR, errors) ? -1 : (ssize_t)n;
}

#define REAL(type, name, ...)                                                                      \
    static type (*real)(__VA_ARGS__);                                                              \
    if (!real)                                                                                     \
    real = (type(*)(__VA_ARGS__))(uintptr_t)dlsym(RTLD_NEXT, name)

#define WITH_MODE(last)                                                                            \
    mode_t mode = 0;                                                                               \
    va_list list;                                                                                  \
    va_start(list, last);                                                                          \
    if (last & (O_CREAT | O_TMPFILE))                                                              \
        mode = (mode_t)va_arg(list, int);                                                          \
    va_end(list)

int open64(const char *path, int flags, ...)
{
    REAL(int, "open64", const char *, int, ...);
    WITH_MODE(flags);
    return call_fails(EMFILE, DESCRIPTORS | INTERRUPTED | IO | (flags & O_CREAT ? SPACE : 0))
               ? -1
               : real(path, flags, mode);
}

int openat64(int fd, const char *path, int flags, ...)
{
    REAL(int, "openat64", int, const char *, int, ...);
    WITH_MODE(flags);
    return call_fails(EMFILE, DESCRIPTORS | INTERRUPTED | IO | (flags & O_CREAT ? SPACE : 0))
               ? -1
               : real(fd, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    REAL(int, "open", const char *, int, ...);
    WITH_MODE(flags);
    return call_fails(EMFILE, DESCRIPTORS | INTERRUPTED | IO | (flags & O_CREAT ? SPACE : 0))
               ? -1
               : real(path, flags, mode);
}

int openat(int fd, const char *path, int flags, ...)
{
    REAL(int, "openat", int, const char *, int, ...);
    WITH_MODE(flags);
    return call_fails(EMFILE, DESCRIPTORS | INTERRUPTED | IO | (flags & O_CREAT ? SPACE : 0))
               ? -1
               : real(fd, path, flags, mode);
}

ssize_t read(int fd, void *out, size_t n)
{
    REAL(ssize_t, "read", int, void *, size_t);
    ssize_t some = bytes_of(fd, n, EIO, IO | INTERRUPTED);

    return some < 0 ? -1 : real(fd, out, (size_t)some);
}

ssize_t write(int fd, const void *data, size_t n)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    ssize_t some = bytes_of(fd, n, ENOSPC, IO | SPACE | INTERRUPTED);

    return some < 0 ? -1 : real(fd, data, (size_t)some);
}

ssize_t pread64(int fd, void *out, size_t n, off64_t at)
{
    REAL(ssize_t, "pread64", int, void *, size_t, off64_t);
    ssize_t some = bytes_of(fd, n, EIO, IO | INTERRUPTED);

    return some < 0 ? -1 : real(fd, out, (size_t)some, at);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    ssize_t some = bytes_of(fd, n, ENOSPC, IO | SPACE | INTERRUPTED);

    return some < 0 ? -1 : real(fd, data, (size_t)some, at);
}

int fdatasync(int fd)
{
    REAL(int, "fdatasync", int);
    return call_fails(EIO, IO | INTERRUPTED) ? -1 : real(fd);
}

int fsync(int fd)
{
    REAL(int, "fsync", int);
    return call_fails(EIO, IO | INTERRUPTED) ? -1 : real(fd);
}

int ftruncate64(int fd, off64_t size)
{
    REAL(int, "ftruncate64", int, off64_t);
    return call_fails(EIO, IO | INTERRUPTED) ? -1 : real(fd, size);
}

int rename(const char *from, const char *to)
{
    REAL(int, "rename", const char *, const char *);
    return call_fails(ENOSPC, IO | SPACE) ? -1 : real(from, to);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    REAL(int, "renameat", int, const char *, int, const char *);
    return call_fails(ENOSPC, IO | SPACE) ? -1 : real(from_fd, from, to_fd, to);
}

int mkdir(const char *path, mode_t mode)
{
    REAL(int, "mkdir", const char *, mode_t);
    return call_fails(ENOSPC, IO | SPACE) ? -1 : real(path, mode);
}

int mkdirat(int fd, const char *path, mode_t mode)
{
    REAL(int, "mkdirat", int, const char *, mode_t);
    return call_fails(ENOSPC, IO | SPACE) ? -1 : real(fd, path, mode);
}

int pipe2(int fds[2], int flags)
{
    REAL(int, "pipe2", int *, int);
    return call_fails(EMFILE, DESCRIPTORS) ? -1 : real(fds, flags);
}

int socket(int domain, int type, int protocol)
{
    REAL(int, "socket", int, int, int);
    return call_fails(EMFILE, DESCRIPTORS) ? -1 : real(domain, type, protocol);
}

int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict len, int flags)
{
    REAL(int, "accept4", int, struct sockaddr *restrict, socklen_t *restrict, int);
    return call_fails(EMFILE, DESCRIPTORS) ? -1 : real(fd, address, len, flags);
}

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    REAL(int, "inotify_add_watch", int, const char *, uint32_t);
    return call_fails(ENOSPC, IO | SPACE) ? -1 : real(fd, path, mask);
}

pid_t fork(void)
{
    REAL(pid_t, "fork", void);
    return call_fails(EAGAIN, 0) ? -1 : real();
}
