/*
 * fault_vfs.h - SQLite's own file layer with a gate and faults in front of the log: a test can hold
 * a commit at the disk, let it go, or make it fail. Register before the store is opened.
 */
#ifndef MUSTER_TESTS_FAULT_VFS_H
#define MUSTER_TESTS_FAULT_VFS_H

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

struct fault_file {
    sqlite3_file base;
    bool log;
    sqlite3_file *real; /* behind this one in the same allocation */
};

static struct {
    sqlite3_vfs vfs, *real;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool hold;       /* syncs of the log wait */
    int held;        /* how many do */
    int fail_write;  /* SQLite code for writes to the log, 0: none */
    int fail_sync;   /* SQLite code for syncs of the log, 0: none */
    int spare_syncs; /* so many of them succeed first */
    bool once;       /* only the first of the others fails */
    int syncs;
} fault = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static inline sqlite3_file *real_of(sqlite3_file *f)
{
    return ((struct fault_file *)f)->real;
}

static inline int fault_close(sqlite3_file *f)
{
    return real_of(f)->pMethods ? real_of(f)->pMethods->xClose(real_of(f)) : SQLITE_OK;
}

static inline int fault_read(sqlite3_file *f, void *out, int n, sqlite3_int64 at)
{
    return real_of(f)->pMethods->xRead(real_of(f), out, n, at);
}

static inline int fault_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at)
{
    int code = SQLITE_OK;

    if (((struct fault_file *)f)->log) {
        pthread_mutex_lock(&fault.lock);
        code = fault.fail_write;
        pthread_mutex_unlock(&fault.lock);
    }
    return code ? code : real_of(f)->pMethods->xWrite(real_of(f), data, n, at);
}

static inline int fault_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    return real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static inline int fault_sync(sqlite3_file *f, int flags)
{
    int code = SQLITE_OK;

    if (((struct fault_file *)f)->log) {
        pthread_mutex_lock(&fault.lock);
        fault.syncs++;
        fault.held++;
        pthread_cond_broadcast(&fault.changed);
        while (fault.hold)
            pthread_cond_wait(&fault.changed, &fault.lock);
        fault.held--;
        if (fault.spare_syncs > 0)
            fault.spare_syncs--;
        else
            code = fault.fail_sync;
        if (code && fault.once)
            fault.fail_sync = 0;
        pthread_mutex_unlock(&fault.lock);
    }
    return code ? code : real_of(f)->pMethods->xSync(real_of(f), flags);
}

static inline int fault_size(sqlite3_file *f, sqlite3_int64 *ret)
{
    return real_of(f)->pMethods->xFileSize(real_of(f), ret);
}

static inline int fault_lock_file(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xLock(real_of(f), level);
}

static inline int fault_unlock_file(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static inline int fault_check_lock(sqlite3_file *f, int *ret)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), ret);
}

static inline int fault_control(sqlite3_file *f, int op, void *arg)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static inline int fault_sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static inline int fault_device(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

/* Version 1: no shared memory, as the store keeps its file to itself. */
static const sqlite3_io_methods fault_methods = {
    .iVersion = 1,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_size,
    .xLock = fault_lock_file,
    .xUnlock = fault_unlock_file,
    .xCheckReservedLock = fault_check_lock,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector,
    .xDeviceCharacteristics = fault_device,
};

static inline int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
                             int *ret_flags)
{
    struct fault_file *file = (struct fault_file *)f;

    (void)vfs;
    memset(file, 0, sizeof(*file));
    file->real = (sqlite3_file *)(file + 1);
    file->log = (flags & SQLITE_OPEN_WAL) != 0;
    file->base.pMethods = &fault_methods;
    return fault.real->xOpen(fault.real, name, file->real, flags, ret_flags);
}

static inline void fault_register(void)
{
    fault.real = sqlite3_vfs_find(NULL);
    fault.vfs = *fault.real;
    fault.vfs.zName = "fault";
    fault.vfs.szOsFile = (int)sizeof(struct fault_file) + fault.real->szOsFile;
    fault.vfs.xOpen = fault_open;
    sqlite3_vfs_register(&fault.vfs, 1);
}

static inline void fault_hold(void)
{
    pthread_mutex_lock(&fault.lock);
    fault.hold = true;
    pthread_mutex_unlock(&fault.lock);
}

/* Returns once a commit waits at the disk. */
static inline void fault_wait_held(void)
{
    pthread_mutex_lock(&fault.lock);
    while (!fault.held)
        pthread_cond_wait(&fault.changed, &fault.lock);
    pthread_mutex_unlock(&fault.lock);
}

static inline void fault_set(int write_code, int sync_code)
{
    pthread_mutex_lock(&fault.lock);
    fault.fail_write = write_code;
    fault.fail_sync = sync_code;
    fault.spare_syncs = 0;
    fault.once = false;
    pthread_mutex_unlock(&fault.lock);
}

static inline void fault_set_sync_once(int sync_code)
{
    pthread_mutex_lock(&fault.lock);
    fault.fail_sync = sync_code;
    fault.once = true;
    pthread_mutex_unlock(&fault.lock);
}

static inline void fault_set_sync_after(int spared, int sync_code)
{
    pthread_mutex_lock(&fault.lock);
    fault.spare_syncs = spared;
    fault.fail_sync = sync_code;
    pthread_mutex_unlock(&fault.lock);
}

static inline int fault_syncs(void)
{
    int n;

    pthread_mutex_lock(&fault.lock);
    n = fault.syncs;
    pthread_mutex_unlock(&fault.lock);
    return n;
}

/* Returns once this many syncs were asked for. */
static inline void fault_wait_syncs(int n)
{
    pthread_mutex_lock(&fault.lock);
    while (fault.syncs < n)
        pthread_cond_wait(&fault.changed, &fault.lock);
    pthread_mutex_unlock(&fault.lock);
}

static inline void fault_let_go(void)
{
    pthread_mutex_lock(&fault.lock);
    fault.hold = false;
    pthread_cond_broadcast(&fault.changed);
    pthread_mutex_unlock(&fault.lock);
}

#endif
