/*
 * power_loss_test.c - the power goes at any write, truncation or sync of the database. Of what was
 * not synced each sector is there, is not, or is garbage. What was acknowledged must be there
 * afterwards, and the state be that of some revision: no write without all before it.
 *
 * MUSTER_POWER_LOSSES says how often it goes; MUSTER_POWER_SEED repeats a run.
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "fixture.h"
#include "loop/random.h"

#define SECTOR 512
#define KEYS 24
#define WRITES_LIMIT 200
#define VALUE_LIMIT 12000
#define OPERATIONS_LIMIT 400 /* of the disk, until the power goes at the latest */

/* --- chance --- */

/* Drawn on the writer's thread too. */
static atomic_ullong chance_state;

static uint64_t chance_next(void)
{
    uint64_t z = atomic_fetch_add(&chance_state, 0x9e3779b97f4a7c15u) + 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static size_t below(size_t n)
{
    return (size_t)(chance_next() % n);
}

/* --- the disk --- */

/* Something that is not synced. */
struct pending {
    struct pending *next;
    sqlite3_int64 at; /* of a truncation: the size */
    size_t len;
    bool truncation;
    unsigned char data[];
};

enum { DATABASE, LOG, OTHER, FILES };

struct disk_file {
    unsigned char *data; /* what is on the disk for good */
    size_t len;
    struct pending *first, **end;
};

static struct {
    sqlite3_vfs vfs, *real;
    pthread_mutex_t lock;
    struct disk_file files[FILES];
    atomic_size_t operations_left; /* 0: the power does not go */
    atomic_bool gone;
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct power_file {
    sqlite3_file base;
    struct disk_file *file;
    sqlite3_file *real; /* behind this one in the same allocation */
};

static sqlite3_file *real_of(sqlite3_file *f)
{
    return ((struct power_file *)f)->real;
}

static struct disk_file *file_of(sqlite3_file *f)
{
    return ((struct power_file *)f)->file;
}

static void resize(struct disk_file *f, size_t len)
{
    if (len > f->len) {
        f->data = realloc(f->data, len);
        assert_non_null(f->data);
        memset(f->data + f->len, 0, len - f->len);
    }
    f->len = len;
}

static void overwrite(struct disk_file *f, size_t at, const unsigned char *data, size_t len)
{
    if (at + len > f->len)
        resize(f, at + len);
    if (len)
        memcpy(f->data + at, data, len);
}

static void forget_pending(struct disk_file *f)
{
    while (f->first) {
        struct pending *p = f->first;

        f->first = p->next;
        free(p);
    }
    f->end = &f->first;
}

static void forget_file(struct disk_file *f)
{
    forget_pending(f);
    free(f->data);
    *f = (struct disk_file){.end = &f->first};
}

static void add_pending(struct disk_file *f, bool truncation, sqlite3_int64 at, const void *data,
                        size_t len)
{
    struct pending *p = malloc(sizeof(*p) + len);

    assert_non_null(p);
    *p = (struct pending){.at = at, .len = len, .truncation = truncation};
    if (len)
        memcpy(p->data, data, len);
    *f->end = p;
    f->end = &p->next;
}

static void sync_file(struct disk_file *f)
{
    for (const struct pending *p = f->first; p; p = p->next) {
        if (p->truncation)
            resize(f, (size_t)p->at);
        else
            overwrite(f, (size_t)p->at, p->data, p->len);
    }
    forget_pending(f);
}

/* Sector by sector: there, not there, or garbage. */
static void lose_write(struct disk_file *f, const struct pending *p)
{
    for (size_t done = 0, n; done < p->len; done += n) {
        size_t at = (size_t)p->at + done;
        unsigned char garbage[SECTOR];

        n = min_size(SECTOR - at % SECTOR, p->len - done);
        switch (below(5)) {
        case 0:
        case 1:
            overwrite(f, at, p->data + done, n);
            break;
        case 2:
            for (size_t i = 0; i < n; i++)
                garbage[i] = (unsigned char)chance_next();
            overwrite(f, at, garbage, n);
            break;
        default:
            break;
        }
    }
}

/* What is found when the power is back. */
static void lose_power(void)
{
    for (size_t i = 0; i < FILES; i++) {
        struct disk_file *f = &disk.files[i];

        for (const struct pending *p = f->first; p; p = p->next) {
            if (!p->truncation)
                lose_write(f, p);
            else if (below(2))
                resize(f, (size_t)p->at);
        }
        forget_pending(f);
    }
}

/* Before each operation: whether it can still be done. */
static bool power_is_on(void)
{
    if (!disk.gone && disk.operations_left && --disk.operations_left == 0) {
        disk.gone = true;
        lose_power();
    }
    return !disk.gone;
}

static int power_close(sqlite3_file *f)
{
    return real_of(f)->pMethods ? real_of(f)->pMethods->xClose(real_of(f)) : SQLITE_OK;
}

static int power_read(sqlite3_file *f, void *out, int n, sqlite3_int64 at)
{
    return real_of(f)->pMethods->xRead(real_of(f), out, n, at);
}

static int power_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at)
{
    bool on;

    pthread_mutex_lock(&disk.lock);
    on = power_is_on();
    if (on)
        add_pending(file_of(f), false, at, data, (size_t)n);
    pthread_mutex_unlock(&disk.lock);
    return on ? real_of(f)->pMethods->xWrite(real_of(f), data, n, at) : SQLITE_IOERR_WRITE;
}

static int power_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    bool on;

    pthread_mutex_lock(&disk.lock);
    on = power_is_on();
    if (on)
        add_pending(file_of(f), true, size, NULL, 0);
    pthread_mutex_unlock(&disk.lock);
    return on ? real_of(f)->pMethods->xTruncate(real_of(f), size) : SQLITE_IOERR_TRUNCATE;
}

/* The real disk is not waited for: nothing here depends on it. */
static int power_sync(sqlite3_file *f, int flags)
{
    bool on;

    (void)flags;
    pthread_mutex_lock(&disk.lock);
    on = power_is_on();
    if (on)
        sync_file(file_of(f));
    pthread_mutex_unlock(&disk.lock);
    return on ? SQLITE_OK : SQLITE_IOERR_FSYNC;
}

static int power_size(sqlite3_file *f, sqlite3_int64 *ret)
{
    return real_of(f)->pMethods->xFileSize(real_of(f), ret);
}

static int power_lock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int power_unlock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int power_check_lock(sqlite3_file *f, int *ret)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), ret);
}

static int power_control(sqlite3_file *f, int op, void *arg)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int power_sector(sqlite3_file *f)
{
    (void)f;
    return SECTOR;
}

static int power_device(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static const sqlite3_io_methods power_methods = {
    .iVersion = 1,
    .xClose = power_close,
    .xRead = power_read,
    .xWrite = power_write,
    .xTruncate = power_truncate,
    .xSync = power_sync,
    .xFileSize = power_size,
    .xLock = power_lock,
    .xUnlock = power_unlock,
    .xCheckReservedLock = power_check_lock,
    .xFileControl = power_control,
    .xSectorSize = power_sector,
    .xDeviceCharacteristics = power_device,
};

static int power_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
                      int *ret_flags)
{
    struct power_file *file = (struct power_file *)f;

    (void)vfs;
    memset(file, 0, sizeof(*file));
    file->real = (sqlite3_file *)(file + 1);
    file->file = &disk.files[flags & SQLITE_OPEN_MAIN_DB ? DATABASE
                             : flags & SQLITE_OPEN_WAL   ? LOG
                                                         : OTHER];
    file->base.pMethods = &power_methods;
    return disk.real->xOpen(disk.real, name, file->real, flags, ret_flags);
}

static void power_register(void)
{
    disk.real = sqlite3_vfs_find(NULL);
    disk.vfs = *disk.real;
    disk.vfs.zName = "power";
    disk.vfs.szOsFile = (int)sizeof(struct power_file) + disk.real->szOsFile;
    disk.vfs.xOpen = power_open;
    sqlite3_vfs_register(&disk.vfs, 1);
    for (size_t i = 0; i < FILES; i++)
        disk.files[i].end = &disk.files[i].first;
}

/* --- what was written, and what must be found --- */

/* What the store was asked to write since it was opened; what it had then is in `found`. */
struct attempt {
    struct written written;
    size_t key, size;
    bool deletion;
};

static struct {
    struct attempt attempts[WRITES_LIMIT];
    size_t attempts_len;
    struct {
        int64_t revision; /* 0: not there */
        size_t size;
    } found[KEYS];
    int64_t acknowledged; /* the newest revision that was */
    size_t losses, while_opening, recovered;
} t;

static const char *key_of(size_t k)
{
    static char key[32];

    (void)snprintf(key, sizeof(key), "d/k%zu", k);
    return key;
}

/* A value says which it is and is as long as it says. */
static struct blob *value_of(int64_t revision, size_t size)
{
    char *text = malloc(size + 64);
    struct blob *b;
    int n;

    assert_non_null(text);
    n = snprintf(text, 64, "%" PRId64 " %zu ", revision, size);
    for (size_t i = (size_t)n; i < size; i++)
        text[i] = (char)('a' + (revision + (int64_t)i) % 23);
    b = blob_new(text, max_size(size, (size_t)n));
    free(text);
    assert_non_null(b);
    return b;
}

static void attempt_one(struct fixture *f)
{
    struct attempt *a = &t.attempts[t.attempts_len];
    struct blob *value;
    int rc;

    a->key = below(KEYS);
    a->size = below(10) ? below(600) : below(VALUE_LIMIT);
    a->deletion = store_head(f->pods, key_of(a->key)) && below(4) == 0;
    a->written = write_started(f);
    value = value_of(a->written.revision, a->size);
    rc = a->deletion ? store_delete(f->pods, key_of(a->key), value, ended, &a->written)
                     : store_put(f->pods, key_of(a->key), value, ended, &a->written);
    blob_unref(value);
    assert_int_equal(rc, 0);
    t.attempts_len++;
}

static void note_acknowledged(void)
{
    for (size_t i = 0; i < t.attempts_len; i++) {
        const struct attempt *a = &t.attempts[i];

        if (a->written.order && a->written.reason == ERR_NONE)
            t.acknowledged = max_i64(t.acknowledged, a->written.revision);
    }
}

/* The state of the revision the store says it has. */
static void check_found(struct fixture *f)
{
    int64_t revision = store_revision(f->store);

    if (revision < t.acknowledged)
        fail_msg("revision %" PRId64 " is found, %" PRId64 " was acknowledged", revision,
                 t.acknowledged);
    assert_int_equal(store_damage_count(f->store), 0);
    for (size_t i = 0; i < t.attempts_len; i++) {
        const struct attempt *a = &t.attempts[i];

        if (a->written.revision > revision)
            break;
        t.found[a->key].revision = a->deletion ? 0 : a->written.revision;
        t.found[a->key].size = a->size;
    }
    for (size_t k = 0; k < KEYS; k++) {
        const struct store_item *item = store_get(f->pods, key_of(k));
        struct blob *value;

        if (!item != !t.found[k].revision || (item && item->revision != t.found[k].revision))
            fail_msg("%s is of revision %" PRId64 ", not %" PRId64 " (the store is at %" PRId64 ")",
                     key_of(k), item ? item->revision : 0, t.found[k].revision, revision);
        if (!item)
            continue;
        value = value_of(t.found[k].revision, t.found[k].size);
        assert_int_equal(item->value->len, value->len);
        assert_memory_equal(item->value->data, value->data, value->len);
        blob_unref(value);
    }
    t.attempts_len = 0;
    t.acknowledged = revision;
}

/* --- the test --- */

static void write_file(const char *path, const struct disk_file *f)
{
    FILE *out;

    (void)unlink(path);
    if (!f->len)
        return;
    out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(f->data, 1, f->len, out), f->len);
    assert_int_equal(fclose(out), 0);
}

/* The files as the disk has them: what was not synced is lost, the rest is there. */
static void power_comes_back(struct fixture *f)
{
    char log_path[128];

    (void)snprintf(log_path, sizeof(log_path), "%s-wal", f->path);
    write_file(f->path, &disk.files[DATABASE]);
    write_file(log_path, &disk.files[LOG]);
    assert_int_equal(chmod(f->path, 0600), 0);
    disk.gone = false;
    disk.operations_left = 0;
}

/* false: the power went before it was open. */
static bool open_store(struct fixture *f)
{
    auto_err err = ERR_INIT;

    f->loop = loop_new(&err);
    f->store = store_open(f->loop, f->path, &f->options, &err);
    if (!f->store && !disk.gone)
        fail_msg("%s", err.text);
    f->pods = f->store ? store_collection(f->store, "/pods") : NULL;
    return f->pods;
}

static void write_until_the_power_goes(struct fixture *f)
{
    size_t writes = 1 + below(WRITES_LIMIT);

    if (!disk.operations_left)
        disk.operations_left = 1 + below(OPERATIONS_LIMIT);
    for (size_t i = 0; i < writes && !disk.gone; i++) {
        attempt_one(f);
        switch (below(8)) {
        case 0:
            settle_all(f);
            break;
        case 1:
        case 2:
            turn(f);
            break;
        default:
            break;
        }
    }
    settle_all(f);
}

static void what_was_acknowledged_survives(void **state)
{
    const char *count = getenv("MUSTER_POWER_LOSSES"), *seed = getenv("MUSTER_POWER_SEED");
    struct fixture *f = *state;
    uint64_t first = 0;

    random_bytes(&first, sizeof(first));
    chance_state = seed ? strtoull(seed, NULL, 10) : first;
    first = chance_state;
    t.losses = count ? strtoul(count, NULL, 10) : 60;
    printf("MUSTER_POWER_SEED=%llu\n", (unsigned long long)first);
    fflush(stdout);
    for (size_t i = 0; i < t.losses; i++) {
        if (f->store) {
            write_until_the_power_goes(f);
            note_acknowledged();
            store_close(f->store);
            f->store = NULL;
            note_acknowledged();
        }
        loop_free(f->loop);
        f->loop = NULL;
        if (!disk.gone) { /* it goes now: what was closed is written, but perhaps not synced */
            disk.gone = true;
            lose_power();
        }
        power_comes_back(f);
        if (below(6) == 0)
            disk.operations_left = 1 + below(12);
        if (!open_store(f)) {
            t.while_opening++;
            continue;
        }
        check_found(f);
        t.recovered++;
    }
    if (!f->store) {
        loop_free(f->loop);
        power_comes_back(f);
        assert_true(open_store(f));
        check_found(f);
        t.recovered++;
    }
    printf("power lost %zu times (%zu of them while the database was opened), %zu states checked, "
           "0 acknowledged writes lost\n",
           t.losses, t.while_opening, t.recovered);
}

static int set_up(void **state)
{
    power_register();
    return fixture_set_up(state);
}

static int tear_down(void **state)
{
    int rc = fixture_tear_down(state);

    for (size_t i = 0; i < FILES; i++)
        forget_file(&disk.files[i]);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_acknowledged_survives, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("store/power_loss", tests, NULL, NULL);
}
