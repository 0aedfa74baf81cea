/* board.c - see board.h. */
#include "board/board.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/record.h"

#define LOOK_AGAIN_MS 400
/* A walk takes a microsecond or two per entry: this keeps it below a hundredth of the time. */
#define LOOK_ENTRIES_PER_MS 4u

struct log_file {
    char *name;      /* of the file itself */
    uint64_t offset; /* of the first record not yet read */
    uint64_t size;
    struct timespec changed;
    ino_t inode;
    dev_t device;
    bool rests; /* nothing to read until it changes */
    bool ended; /* its next length is corrupt */
    uint64_t records, bad, too_long;
};

struct run_files {
    struct run *run;
    const struct root *root;
    char *path;             /* relative to the root */
    struct log_file *files; /* by name */
    size_t len;
};

struct root {
    char *base, *relative, *name, *outside;
    bool trusted;
    uid_t uid;
    gid_t gid;
    enum folder_scope scope;
};

struct board {
    struct root roots[BOARD_ROOTS_LIMIT];
    size_t roots_len;
    bool (*wants)(void *arg, const char *file_name, uid_t owner);
    void *arg;
    struct run_limits limits;
    struct map runs;  /* name -> struct run */
    struct map files; /* name -> struct run_files */
    size_t files_len;
    size_t entries; /* in the folders, at the last look */
    bool limited;
};

/* --- life ------------------------------------------------------------------------------- */

static bool copy_root(struct root *to, const struct board_root *from)
{
    *to = (struct root){.base = strdup(from->base),
                        .relative = strdup(from->relative),
                        .name = strdup(from->name),
                        .outside = from->fence.path ? strdup(from->fence.path) : NULL,
                        .trusted = from->fence.trusted_base,
                        .uid = from->fence.uid,
                        .gid = from->fence.gid,
                        .scope = from->scope};
    return to->base && to->relative && to->name && (to->outside || !from->fence.path);
}

static struct folder_fence fence_of(const struct root *root)
{
    return (struct folder_fence){
        .path = root->outside, .trusted_base = root->trusted, .uid = root->uid, .gid = root->gid};
}

struct board *board_new(const struct board_options *o)
{
    struct board *b = calloc(1, sizeof(*b));
    bool ok = b;

    if (!ok)
        return NULL;
    b->wants = o->wants;
    b->arg = o->arg;
    b->limits = (struct run_limits){.capacity = o->capacity ? o->capacity : SERIES_CAPACITY_DEFAULT,
                                    .limit_bytes = o->limit_bytes ? o->limit_bytes
                                                                  : BOARD_POINTS_LIMIT_BYTES,
                                    .tags_limit = BOARD_TAGS_LIMIT};
    for (size_t i = 0; ok && i < o->roots_len && i < BOARD_ROOTS_LIMIT; i++) {
        ok = copy_root(&b->roots[i], &o->roots[i]);
        b->roots_len++;
    }
    if (ok)
        return b;
    board_free(b);
    return NULL;
}

static void free_run(void *value)
{
    run_free(value);
}

static void free_files(void *value)
{
    struct run_files *f = value;

    for (size_t i = 0; i < f->len; i++)
        free(f->files[i].name);
    free(f->files);
    free(f->path);
    free(f);
}

void board_free(struct board *b)
{
    if (!b)
        return;
    map_release(&b->files, free_files);
    map_release(&b->runs, free_run);
    for (size_t i = 0; i < b->roots_len; i++) {
        free(b->roots[i].base);
        free(b->roots[i].relative);
        free(b->roots[i].name);
        free(b->roots[i].outside);
    }
    free(b);
}

/* --- finding files ---------------------------------------------------------------------- */

struct look {
    struct board *board;
    const struct root *root;
};

static struct run_files *make_run(struct board *b, const struct root *root, const char *name,
                                  const char *path)
{
    struct run_files *f = b->runs.count < BOARD_RUNS_LIMIT ? calloc(1, sizeof(*f)) : NULL;

    if (!f) {
        b->limited = true;
        return NULL;
    }
    f->root = root;
    f->path = strdup(path);
    f->run = run_new(name, &b->limits);
    if (f->path && f->run && map_puts(&b->runs, name, f->run, NULL) == 0) {
        if (map_puts(&b->files, name, f, NULL) == 0)
            return f;
        map_removes(&b->runs, name);
    }
    run_free(f->run);
    free_files(f);
    return NULL;
}

static struct run_files *find_run(const struct look *l, const char *path)
{
    const char *root = l->root->name;
    char name[FOLDER_PATH_LIMIT + 512];
    struct run_files *f;

    (void)snprintf(name, sizeof(name), "%s%s%s", root, *root && *path ? "/" : "",
                   *root || *path ? path : ".");
    f = map_gets(&l->board->files, name);
    return f ? f : make_run(l->board, l->root, name, path);
}

/* The file's position in the sorted list, existing or not. */
static size_t place_of(const struct run_files *f, const char *name)
{
    size_t low = 0, high = f->len;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (strcmp(f->files[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct log_file *make_file(struct board *b, struct run_files *f, const char *name, size_t at)
{
    struct log_file *larger;
    char *copy;

    if (b->files_len >= BOARD_FILES_LIMIT) {
        b->limited = true;
        return NULL;
    }
    larger = reallocarray(f->files, f->len + 1, sizeof(*larger));
    if (!larger)
        return NULL;
    f->files = larger;
    copy = strdup(name);
    if (!copy)
        return NULL;
    memmove(f->files + at + 1, f->files + at, (f->len - at) * sizeof(*f->files));
    f->files[at] = (struct log_file){.name = copy};
    f->len++;
    b->files_len++;
    return &f->files[at];
}

static bool has_changed(const struct log_file *f, const struct stat *st)
{
    return f->size != (uint64_t)st->st_size || f->inode != st->st_ino || f->device != st->st_dev ||
           f->changed.tv_sec != st->st_mtim.tv_sec || f->changed.tv_nsec != st->st_mtim.tv_nsec;
}

static void note_file(struct log_file *f, const struct stat *st)
{
    bool is_other = f->inode && (f->inode != st->st_ino || f->device != st->st_dev);

    if (!has_changed(f, st))
        return;
    if (is_other || (uint64_t)st->st_size < f->offset)
        f->offset = 0; /* rewritten: its steps start over, and supersede what we have */
    f->size = (uint64_t)st->st_size;
    f->inode = st->st_ino;
    f->device = st->st_dev;
    f->changed = st->st_mtim;
    f->rests = f->offset >= f->size;
    f->ended = false;
}

static void found(void *arg, const char *path, const char *name, const struct stat *st)
{
    const struct look *l = arg;
    struct board *b = l->board;
    struct run_files *run;
    struct log_file *file = NULL;
    size_t at;

    if (b->wants && !b->wants(b->arg, name, st->st_uid))
        return;
    run = find_run(l, path);
    if (!run)
        return;
    at = place_of(run, name);
    if (at < run->len && strcmp(run->files[at].name, name) == 0)
        file = &run->files[at];
    else
        file = make_file(b, run, name, at);
    if (file)
        note_file(file, st);
}

int board_look(struct board *b, struct err *err)
{
    int result = 0;

    b->entries = 0;
    for (size_t i = 0; i < b->roots_len; i++) {
        const struct root *root = &b->roots[i];
        struct look l = {.board = b, .root = root};
        int fd = folder_open(root->base, root->relative, fence_of(root));

        if (fd >= 0) {
            if (!folder_walk(fd, root->scope, fence_of(root), found, &l, &b->entries))
                b->limited = true;
            (void)close(fd);
        } else if (fd != -ENOENT && result == 0) {
            result = err_set(err, ERR_FORBIDDEN, "cannot read the folder of event files %s/%s: %s",
                             root->base, root->relative,
                             fd == -ELOOP || fd == -EINVAL ? "it leads out of its volume"
                             : fd == -EACCES && root->outside
                                 ? "it may not be read, or is in muster's own folder: only a "
                                   "PersistentVolumeClaim of the job's namespace leads there"
                                 : strerror(-fd));
        }
    }
    return result;
}

int64_t board_rest_ms(const struct board *b)
{
    return max_i64(LOOK_AGAIN_MS, (int64_t)(b->entries / LOOK_ENTRIES_PER_MS));
}

/* --- reading ---------------------------------------------------------------------------- */

static int open_file(const struct run_files *f, const char *name)
{
    char path[FOLDER_PATH_LIMIT + NAME_MAX + 2];
    int folder = folder_open(f->root->base, f->root->relative, fence_of(f->root)), fd;

    if (folder < 0)
        return folder;
    (void)snprintf(path, sizeof(path), "%s/%s", f->path, name);
    fd = folder_open_file(folder, path, fence_of(f->root));
    (void)close(folder);
    return fd;
}

/* Memory ran out at this capacity: halves every series until it fits again, or is at its
 * minimum. */
static void keep_limits(struct board *b)
{
    while (b->limits.bytes > b->limits.limit_bytes && b->limits.capacity > SERIES_CAPACITY_MIN) {
        b->limits.capacity = (uint32_t)max_size(b->limits.capacity / 2, SERIES_CAPACITY_MIN);
        map_for_each (node, &b->runs)
            run_shrink(node->value);
    }
}

void board_limit(struct board *b, size_t limit_bytes)
{
    b->limits.limit_bytes = limit_bytes;
    keep_limits(b);
}

size_t board_bytes(const struct board *b)
{
    return b->limits.bytes;
}

static void take_record(struct board *b, struct run_files *f, struct log_file *file,
                        uint64_t offset, const char *data, size_t len)
{
    struct event e;

    file->records++;
    if (!event_decode(data, len, &e)) {
        file->bad++;
        return;
    }
    run_take(
        f->run, &e,
        &(struct run_place){.file = file->name, .offset = offset, .first_file = file == f->files});
    if (b->limits.bytes > b->limits.limit_bytes)
        keep_limits(b);
}

/* Until the end, or until *budget is used up. */
static void read_records(struct board *b, struct record_reader *r, struct run_files *f,
                         struct log_file *file, uint64_t *budget)
{
    uint64_t start = r->offset;

    while (r->offset - start < *budget) {
        const char *data = NULL;
        uint64_t offset = r->offset;
        size_t len = 0;

        switch (record_next(r, &data, &len)) {
        case RECORD_OK:
            take_record(b, f, file, offset, data, len);
            break;
        case RECORD_BAD_DATA:
            file->bad++;
            break;
        case RECORD_TOO_LONG:
            file->too_long++;
            break;
        case RECORD_BAD_LENGTH:
            file->ended = true;
            file->rests = true;
            break;
        case RECORD_WAIT:
        case RECORD_FAILED:
            file->rests = true;
            break;
        }
        if (file->rests)
            break;
    }
    file->offset = r->offset;
    *budget -= r->offset - start < *budget ? r->offset - start : *budget;
}

static void read_file(struct board *b, struct record_reader *r, struct run_files *f,
                      struct log_file *file, uint64_t *budget)
{
    int fd = open_file(f, file->name);

    if (fd < 0) {
        file->rests = true;
        return;
    }
    record_reader_open(r, fd, file->offset);
    read_records(b, r, f, file, budget);
    (void)close(fd);
}

bool board_read(struct board *b, uint64_t budget_bytes)
{
    struct record_reader r;
    bool more = false;

    record_reader_init(&r);
    map_for_each (node, &b->files) {
        struct run_files *f = node->value;

        for (size_t i = 0; i < f->len && !more; i++) {
            if (f->files[i].rests)
                continue;
            if (budget_bytes == 0)
                more = true;
            else
                read_file(b, &r, f, &f->files[i], &budget_bytes);
            more = more || !f->files[i].rests;
        }
    }
    record_reader_release(&r);
    return more;
}

/* --- reading values again --------------------------------------------------------------- */

/* The value of this tag in the reader's current record. */
static bool value_again(struct record_reader *r, const struct tag *tag, struct event_value *ret)
{
    const char *data;
    struct event e;
    size_t len;

    if (record_next(r, &data, &len) != RECORD_OK || !event_decode(data, len, &e))
        return false;
    for (size_t i = 0; i < e.summaries_len; i++)
        while (event_next_value(&e.summaries[i], ret))
            if (ret->tag.len == tag->name_len &&
                memcmp(ret->tag.data, tag->name, tag->name_len) == 0)
                return true;
    return false;
}

bool board_read_again(const struct board *b, const struct run *run, const struct tag *tag,
                      board_value_fn *fn, void *arg)
{
    const struct run_files *f = map_gets(&b->files, run->name);
    const struct samples *all = &tag->samples;
    struct record_reader r;
    uint64_t read = 0;
    bool whole = true;

    record_reader_init(&r);
    for (uint32_t i = all->len; f && i-- > 0 && whole;) { /* newest first: they matter most */
        int fd = open_file(f, all->at[i].file);
        struct event_value v;

        if (fd < 0)
            continue;
        record_reader_open(&r, fd, all->at[i].offset);
        if (value_again(&r, tag, &v))
            fn(arg, &all->at[i], &v);
        read += r.offset - all->at[i].offset;
        whole = read < BOARD_READ_AGAIN_LIMIT_BYTES || i == 0;
        (void)close(fd);
    }
    record_reader_release(&r);
    return whole;
}

/* --- accessors -------------------------------------------------------------------------- */

const struct map *board_runs(const struct board *b)
{
    return &b->runs;
}

const struct run *board_run(const struct board *b, const char *name)
{
    return map_gets(&b->runs, name);
}

void board_totals(const struct board *b, struct board_totals *ret)
{
    *ret = (struct board_totals){.limited = b->limited || b->limits.tags_left_out > 0};
    map_for_each (node, &b->files) {
        const struct run_files *f = node->value;

        for (size_t i = 0; i < f->len; i++) {
            const struct log_file *file = &f->files[i];

            ret->files++;
            ret->bytes += file->size;
            ret->bytes_read += file->offset;
            ret->records += file->records;
            ret->bad_records += file->bad;
            ret->long_records += file->too_long;
            ret->ended_files += file->ended;
        }
    }
}
