/* kept.c - see kept.h. A folder's last change is when its pod went: nothing is written
 * afterwards. */
#include "runtime/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/podfolder.h"

#define FOLDERS_LIMIT 100000u

static DIR *open_dir(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

    if (!d && fd >= 0)
        (void)close(fd);
    return d;
}

static const struct dirent *next_entry(DIR *d)
{
    const struct dirent *e;

    while (d && (e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            return e;
    return NULL;
}

static int64_t mtime_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static int64_t size_of(DIR *d)
{
    const struct dirent *e;
    int64_t bytes = 0;
    struct stat st;

    while ((e = next_entry(d)) != NULL)
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += (int64_t)st.st_blocks * 512;
    return bytes;
}

/* --- finding --- */

static bool is_attempt(int dir_fd, const char *uid, int64_t attempt)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct pod_record record;
    int fd = attempt == NODE_ANY_ATTEMPT
                 ? -1
                 : openat(dir_fd, uid, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    bool is = attempt == NODE_ANY_ATTEMPT;

    if (fd >= 0) {
        is = pod_record_read(fd, &a, &record, NULL) == 0 && record.run.attempt == attempt;
        (void)close(fd);
    }
    arena_release(&a);
    return is;
}

bool kept_find(const char *dir, const char *not_uid, int64_t attempt, char ret[KEPT_UID_SIZE])
{
    DIR *d = open_dir(AT_FDCWD, dir);
    const struct dirent *e;
    int64_t newest = -1;
    struct stat st;

    while ((e = next_entry(d)) != NULL)
        if (strcmp(e->d_name, not_uid) != 0 && pod_name_is_safe(e->d_name) &&
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
            mtime_ns(&st) > newest && is_attempt(dirfd(d), e->d_name, attempt)) {
            newest = mtime_ns(&st);
            (void)snprintf(ret, KEPT_UID_SIZE, "%s", e->d_name);
        }
    if (d)
        (void)closedir(d);
    return newest >= 0;
}

/* --- listing --- */

#define LIST_AT_ONCE 16u
#define LIST_LIMIT_BYTES (1024u * 1024u)

struct kept_list {
    struct stream base;
    struct loop *loop;
    struct clock_timer *again;
    DIR *names, *pods; /* of the namespace; of one name in it, or pods not yet moved here */
    char ns[NAME_MAX + 1], name[NAME_MAX + 1]; /* name "": as recorded in each */
    struct buf out;
    size_t out_at;
};

static void add_string(struct buf *out, const char *key, const char *value)
{
    buf_addf(out, "\"%s\":", key);
    json_write_string(out, value, strlen(value));
    buf_addc(out, ',');
}

static void list_one(struct kept_list *k, const char *uid)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    DIR *d = open_dir(dirfd(k->pods), uid);
    struct pod_record record;
    struct stat st;

    if (d && fstat(dirfd(d), &st) == 0 && pod_record_read(dirfd(d), &a, &record, NULL) == 0 &&
        (*k->name || strcmp(record.run.ns, k->ns) == 0)) {
        buf_addc(&k->out, '{');
        add_string(&k->out, "pod", *k->name ? k->name : record.run.name);
        add_string(&k->out, "uid", uid);
        add_string(&k->out, "owner", record.run.owner ? record.run.owner : "");
        buf_addf(&k->out, "\"attempt\":%lld,\"leftMs\":%lld,\"bytes\":%lld,\"containers\":[",
                 (long long)record.run.attempt, (long long)(mtime_ns(&st) / 1000000),
                 (long long)size_of(d));
        for (size_t i = 0; i < record.run.containers_len; i++) {
            const char *name = record.run.containers[i].name;

            buf_adds(&k->out, i ? "," : "");
            json_write_string(&k->out, name, strlen(name));
        }
        buf_adds(&k->out, "]}\n");
    }
    if (d)
        (void)closedir(d);
    arena_release(&a);
}

/* False: that was all. */
static bool list_next(struct kept_list *k)
{
    const struct dirent *e = next_entry(k->pods);

    if (e) {
        list_one(k, e->d_name);
        return true;
    }
    if (k->pods)
        (void)closedir(k->pods);
    k->pods = NULL;
    e = next_entry(k->names);
    if (!e)
        return false;
    (void)snprintf(k->name, sizeof(k->name), "%s", e->d_name);
    k->pods = open_dir(dirfd(k->names), e->d_name);
    return true;
}

static void on_again(void *arg)
{
    struct kept_list *k = arg;

    k->again = NULL;
    stream_ready(&k->base);
}

static ssize_t list_read(struct stream *s, char *out, size_t cap)
{
    struct kept_list *k = container_of(s, struct kept_list, base);
    bool more = true;
    size_t n;

    if (k->out_at == k->out.len) {
        buf_clear(&k->out);
        k->out_at = 0;
        for (size_t i = 0; i < LIST_AT_ONCE && more; i++)
            more = list_next(k);
    }
    n = min_size(cap, k->out.len - k->out_at);
    if (n > 0) {
        memcpy(out, k->out.data + k->out_at, n);
        k->out_at += n;
        return (ssize_t)n;
    }
    if (!more)
        return STREAM_END;
    if (!k->again)
        k->again = clock_start(loop_clock(k->loop), 0, on_again, k);
    return k->again ? 0 : STREAM_BROKEN;
}

static void list_close(struct stream *s)
{
    struct kept_list *k = container_of(s, struct kept_list, base);

    clock_stop(loop_clock(k->loop), k->again);
    if (k->pods)
        (void)closedir(k->pods);
    if (k->names)
        (void)closedir(k->names);
    buf_release(&k->out);
    free(k);
}

int kept_list_open(struct loop *l, const char *pod_root, const char *root, const char *ns,
                   struct stream **ret)
{
    static const struct stream_ops ops = {.read = list_read, .close = list_close};
    char path[PATH_MAX];
    struct kept_list *k;

    if (!pod_name_is_safe(ns) || strlen(ns) > NAME_MAX ||
        (size_t)snprintf(path, sizeof(path), "%s/%s", root, ns) >= sizeof(path))
        return -EINVAL;
    k = calloc(1, sizeof(*k));
    if (!k)
        return -ENOMEM;
    k->base.ops = &ops;
    k->loop = l;
    buf_init(&k->out, LIST_LIMIT_BYTES);
    (void)snprintf(k->ns, sizeof(k->ns), "%s", ns);
    k->pods = open_dir(AT_FDCWD, pod_root);
    k->names = open_dir(AT_FDCWD, path); /* NULL: nothing is kept for it */
    *ret = &k->base;
    return 0;
}

/* --- trimming --- */

struct folder {
    char *ns, *name, *uid; /* location below the root */
    char *group;
    int64_t bytes, left_ns;
    bool gone;
};

struct folders {
    struct folder *list;
    size_t len, cap;
};

static void folder_release(struct folder *f)
{
    free(f->ns);
    free(f->name);
    free(f->uid);
    free(f->group);
}

/* Its job, or the pods of its name. */
static char *read_group(int dir_fd, const char *name)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct pod_record record;
    const char *owner = "";
    char *group;

    if (pod_record_read(dir_fd, &a, &record, NULL) == 0 && record.run.owner)
        owner = record.run.owner;
    group = strdup(*owner ? owner : name);
    arena_release(&a);
    return group;
}

static bool grow(struct folders *f)
{
    size_t cap = f->cap ? f->cap * 2 : 64;
    struct folder *more = f->len < f->cap ? f->list : realloc(f->list, cap * sizeof(*more));

    if (!more)
        return false;
    f->cap = f->len < f->cap ? f->cap : cap;
    f->list = more;
    return true;
}

static void add_folder(struct folders *f, int name_fd, const char *ns, const char *name,
                       const char *uid)
{
    DIR *d = open_dir(name_fd, uid);
    struct folder *one;
    struct stat st;

    if (d && f->len < FOLDERS_LIMIT && fstat(dirfd(d), &st) == 0 && grow(f)) {
        one = &f->list[f->len];
        *one = (struct folder){.left_ns = mtime_ns(&st),
                               .bytes = size_of(d),
                               .ns = strdup(ns),
                               .name = strdup(name),
                               .uid = strdup(uid),
                               .group = read_group(dirfd(d), name)};
        if (one->ns && one->name && one->uid && one->group)
            f->len++;
        else
            folder_release(one); /* out of memory: next time */
    }
    if (d)
        (void)closedir(d);
}

static void read_tree(struct folders *f, DIR *root)
{
    const struct dirent *ns, *name, *uid;

    while ((ns = next_entry(root)) != NULL) {
        DIR *d = open_dir(dirfd(root), ns->d_name);

        while ((name = next_entry(d)) != NULL) {
            DIR *pods = open_dir(dirfd(d), name->d_name);

            while ((uid = next_entry(pods)) != NULL)
                add_folder(f, dirfd(pods), ns->d_name, name->d_name, uid->d_name);
            if (pods)
                (void)closedir(pods);
        }
        if (d)
            (void)closedir(d);
    }
}

static int newest_first(const void *a, const void *b)
{
    const struct folder *x = a, *y = b;

    return x->left_ns < y->left_ns ? 1 : x->left_ns > y->left_ns ? -1 : strcmp(x->uid, y->uid);
}

/* Groups are per namespace: a pod can claim any owner. */
static int compare_groups(const struct folder *x, const struct folder *y)
{
    int order = strcmp(x->ns, y->ns);

    return order ? order : strcmp(x->group, y->group);
}

static int by_group(const void *a, const void *b)
{
    int order = compare_groups(a, b);

    return order ? order : newest_first(a, b);
}

/* Removes one pod's folder, and its parents if it was the last there. */
static void remove_pod(int root_fd, const struct folder *f)
{
    char path[PATH_MAX];
    const struct dirent *e;
    DIR *d;

    (void)snprintf(path, sizeof(path), "%s/%s/%s", f->ns, f->name, f->uid);
    d = open_dir(root_fd, path);
    while ((e = next_entry(d)) != NULL)
        (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        (void)closedir(d);
    (void)unlinkat(root_fd, path, AT_REMOVEDIR);
    (void)snprintf(path, sizeof(path), "%s/%s", f->ns, f->name);
    if (unlinkat(root_fd, path, AT_REMOVEDIR) == 0)
        (void)unlinkat(root_fd, f->ns, AT_REMOVEDIR);
}

/* Newest first: whatever exceeds a limit is removed. */
static void trim_run(struct folder *list, size_t len, int root_fd, int64_t most_bytes,
                     size_t most_folders)
{
    int64_t bytes = 0;
    size_t count = 0;

    for (size_t i = 0; i < len; i++) {
        struct folder *one = &list[i];

        if (one->gone)
            continue;
        bytes += one->bytes;
        count++;
        if (bytes <= most_bytes && count <= most_folders)
            continue;
        remove_pod(root_fd, one);
        one->gone = true;
        bytes = max_i64(bytes, most_bytes + 1); /* older ones are removed too, even if smaller */
    }
}

static void trim_groups(struct folders *f, int root_fd, const struct kept_limits *limits)
{
    size_t start = 0;

    qsort(f->list, f->len, sizeof(*f->list), by_group);
    for (size_t i = 1; i <= f->len; i++) {
        if (i < f->len && compare_groups(&f->list[i], &f->list[start]) == 0)
            continue;
        trim_run(f->list + start, i - start, root_fd, limits->group_bytes, limits->group_folders);
        start = i;
    }
}

void kept_trim(const char *root, const struct kept_limits *limits)
{
    DIR *d = open_dir(AT_FDCWD, root);
    struct folders f = {.list = NULL};

    if (!d)
        return;
    read_tree(&f, d);
    if (f.len > 0) {
        trim_groups(&f, dirfd(d), limits);
        qsort(f.list, f.len, sizeof(*f.list), newest_first);
        trim_run(f.list, f.len, dirfd(d), limits->total_bytes, limits->total_folders);
    }
    for (size_t i = 0; i < f.len; i++)
        folder_release(&f.list[i]);
    free(f.list);
    (void)closedir(d);
}
