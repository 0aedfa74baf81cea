/*
 * jobs_fill.c - a data folder with so many finished jobs, without having run them.
 *
 *   jobs_fill DIR COUNT
 *
 * DIR is of a daemon that was stopped after one job, SEED_NAME, had finished. Every object of that
 * job and the folder of every pod are copied COUNT times, under other names and UIDs, through the
 * store: what is left behind is what that many jobs would have left.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "loop/loop.h"
#include "store/store.h"

#define SEED_NAME "seed-0000000"
#define NAME_FORMAT "fill-%07u"
#define UIDS_LIMIT 64
#define UID_BYTES 36
#define DAY_AND_HOUR_BYTES 14 /* of "2026-01-31T15:04:05Z" */
#define TURN_JOBS 500
#define OBJECTS_LIMIT 64
#define FILE_BYTES (64u * 1024u)

static const char *const collections[] = {"batch.tensorstack.dev/pytorchtrainingjobs", "/pods",
                                          "scheduler.tensorstack.dev/podgroups", "/services"};
static const char *const files[] = {"run.json", "state.json",      "lock",
                                    "started",  ".supervisor.log", "pytorch.0.0.log"};

struct object {
    struct store_collection *collection;
    char *key;
    struct blob *value;
    bool is_pod;
};

static struct {
    const char *dir;
    struct store *store;
    struct object objects[OBJECTS_LIMIT];
    size_t objects_len;
    char uids[UIDS_LIMIT][UID_BYTES + 1];
    size_t uids_len;
    char hash[8]; /* in the names of the seed's children */
    unsigned written;
} b;

static void die(const char *what)
{
    (void)fprintf(stderr, "jobs_fill: %s\n", what);
    exit(1);
}

static void note_uid(const char *value)
{
    static const char member[] = "\"uid\":\"";
    const char *at = value;

    while ((at = strstr(at, member)) != NULL) {
        char *uid = b.uids[b.uids_len];
        bool known = false;

        at += sizeof(member) - 1;
        memcpy(uid, at, UID_BYTES);
        for (size_t i = 0; i < b.uids_len; i++)
            known = known || strcmp(b.uids[i], uid) == 0;
        if (!known && ++b.uids_len == UIDS_LIMIT)
            die("too many UIDs");
    }
}

struct taking {
    struct store_collection *collection;
    bool pods;
};

static bool take(void *arg, const struct store_item *item)
{
    const struct taking *t = arg;

    if (!strstr(item->key, SEED_NAME))
        return true;
    if (b.objects_len == OBJECTS_LIMIT)
        die("too many objects");
    note_uid(item->value->data);
    b.objects[b.objects_len++] = (struct object){.collection = t->collection,
                                                 .key = strdup(item->key),
                                                 .value = blob_ref(item->value),
                                                 .is_pod = t->pods};
    return true;
}

/* As core/replica_names.c does it: pods of another name are not the job's. */
static void hash_of(const char *name, const char *uid, char out[8])
{
    uint64_t hash = fnv1a_64(FNV1A_64_START, name, strlen(name));

    (void)snprintf(out, 8, "%05x", (unsigned)(fnv1a_64(hash, uid, strlen(uid)) >> 44));
}

/* As random as a real one: what they take when many are kept depends on it. */
static void make_uid(const char *seed, unsigned number, char out[UID_BYTES + 1])
{
    uint64_t hash = fnv1a_64(FNV1A_64_START, seed, UID_BYTES);

    memcpy(out, seed, UID_BYTES + 1);
    for (int i = 0; i < UID_BYTES; i++) {
        hash = fnv1a_64(hash, &number, sizeof(number));
        if (out[i] != '-')
            out[i] = "0123456789abcdef"[hash >> 40 & 15];
    }
}

/* Names keep their length, and so do UIDs. */
static void rename_all(char *text, size_t len, unsigned number)
{
    char name[32], uid[UID_BYTES + 1], hash[8], *at = text;

    (void)snprintf(name, sizeof(name), NAME_FORMAT, number);
    make_uid(b.uids[0], number, uid);
    hash_of(name, uid, hash);
    while ((at = memmem(at, len - (size_t)(at - text), SEED_NAME, strlen(SEED_NAME)))) {
        memcpy(at, name, strlen(SEED_NAME));
        at += strlen(SEED_NAME);
        if (len - (size_t)(at - text) > 5 && memcmp(at + 1, b.hash, 5) == 0)
            memcpy(at + 1, hash, 5);
    }
    for (size_t i = 0; i < b.uids_len; i++) {
        make_uid(b.uids[i], number, uid);
        for (at = text; (at = memmem(at, len - (size_t)(at - text), b.uids[i], UID_BYTES)) != NULL;)
            memcpy(at, uid, UID_BYTES), at += UID_BYTES;
    }
}

/* Minutes and seconds: a job takes some. */
static void vary_times(char *text, size_t len, unsigned number)
{
    static const char member[] = "\"creationTimestamp\":\"";
    char day[DAY_AND_HOUR_BYTES], *at = memmem(text, len, member, strlen(member));
    unsigned seconds = number;

    if (!at)
        die("an object has no creationTimestamp");
    memcpy(day, at + strlen(member), sizeof(day));
    for (at = text; (at = memmem(at, len - (size_t)(at - text), day, sizeof(day))) != NULL;) {
        char digits[8];

        at += sizeof(day);
        (void)snprintf(digits, sizeof(digits), "%02u:%02u", seconds / 60 % 60, seconds % 60);
        memcpy(at, digits, 5);
        seconds += number % 3;
    }
}

static struct blob *with_revision(const struct blob *value, int64_t revision)
{
    static const char member[] = "\"resourceVersion\":\"";
    struct buf out = BUF_INIT(1u << 20);
    const char *at = strstr(value->data, member), *end;
    struct blob *blob;

    if (!at)
        die("an object has no resourceVersion");
    at += sizeof(member) - 1;
    end = strchr(at, '"');
    buf_add(&out, value->data, (size_t)(at - value->data));
    buf_addf(&out, "%" PRId64, revision);
    buf_adds(&out, end);
    blob = blob_from_buf(&out);
    buf_release(&out);
    return blob;
}

static void on_written(void *arg, const struct err *err)
{
    (void)arg;
    if (err)
        die(err->text);
    b.written++;
}

static void put_copy(const struct object *o, unsigned number)
{
    struct blob *value = with_revision(o->value, store_next_revision(b.store));
    char key[600];

    (void)snprintf(key, sizeof(key), "%s", o->key);
    if (!value)
        die("out of memory");
    rename_all(key, strlen(key), number);
    rename_all(value->data, value->len, number);
    vary_times(value->data, value->len, number);
    if (store_put(o->collection, key, value, on_written, NULL) != 0)
        die("the store refuses");
    blob_unref(value);
}

static void copy_folder(const char *seed_uid, unsigned number)
{
    char from[512], to[512], uid[UID_BYTES + 1];
    static char text[FILE_BYTES];

    make_uid(seed_uid, number, uid);
    (void)snprintf(to, sizeof(to), "%s/pods/%s", b.dir, uid);
    if (mkdir(to, 0700) != 0)
        die(strerror(errno));
    for (size_t i = 0; i < ELEMS(files); i++) {
        ssize_t n = 0;
        int in, out;

        (void)snprintf(from, sizeof(from), "%s/pods/%s/%s", b.dir, seed_uid, files[i]);
        (void)snprintf(to, sizeof(to), "%s/pods/%s/%s", b.dir, uid, files[i]);
        in = open(from, O_RDONLY | O_CLOEXEC);
        out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (in >= 0)
            n = read(in, text, sizeof(text));
        if (n > 0)
            rename_all(text, (size_t)n, number);
        if (out < 0 || (n > 0 && write(out, text, (size_t)n) != n))
            die(strerror(errno));
        (void)close(out);
        if (in >= 0)
            (void)close(in);
    }
}

static void copy_folders(unsigned number)
{
    static const char member[] = "\"uid\":\"";

    for (size_t i = 0; i < b.objects_len; i++) {
        const struct object *o = &b.objects[i];
        char uid[UID_BYTES + 1] = "", *path;

        if (!o->is_pod)
            continue;
        for (const char *at = o->value->data; (at = strstr(at, member)) != NULL;) {
            at += sizeof(member) - 1;
            memcpy(uid, at, UID_BYTES);
            if (asprintf(&path, "%s/pods/%s", b.dir, uid) < 0)
                die("out of memory");
            if (access(path, F_OK) == 0)
                copy_folder(uid, number);
            free(path);
        }
    }
}

int main(int argc, char **argv)
{
    unsigned count = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0, wanted = 0;
    struct loop *loop = loop_new(NULL);
    auto_err err = ERR_INIT;
    char path[512];

    if (count == 0 || !loop)
        die("jobs_fill DIR COUNT");
    b.dir = argv[1];
    (void)snprintf(path, sizeof(path), "%s/muster.db", b.dir);
    b.store = store_open(loop, path, NULL, &err);
    if (!b.store)
        die(err.text);
    for (size_t i = 0; i < ELEMS(collections); i++) {
        struct taking t = {store_collection(b.store, collections[i]),
                           strcmp(collections[i], "/pods") == 0};

        store_list(t.collection, NULL, NULL, take, &t);
    }
    if (b.objects_len == 0)
        die("there is no job " SEED_NAME);
    hash_of(SEED_NAME, b.uids[0], b.hash); /* the job is the first that was taken */
    for (unsigned n = 1; n <= count; n++) {
        for (size_t i = 0; i < b.objects_len; i++, wanted++)
            put_copy(&b.objects[i], n);
        copy_folders(n);
        if (n % TURN_JOBS == 0 || n == count)
            while (b.written < wanted)
                loop_run_once(loop);
    }
    for (size_t i = 0; i < b.objects_len; i++) {
        blob_unref(b.objects[i].value);
        free(b.objects[i].key);
    }
    store_close(b.store);
    loop_free(loop);
    return 0;
}
