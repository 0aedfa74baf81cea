/* image_store.c - see image_store.h. */
#include "runtime/image_store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/percent.h"
#include "base/sha256.h"
#include "loop/file.h"
#include "runtime/image_root.h"

#define NAME_LIMIT 512
#define BLOB_LIMIT_BYTES (4u * 1024u * 1024u) /* of manifests and configurations */
#define OUTPUT_LIMIT_BYTES (2 * BLOB_LIMIT_BYTES)
#define PROGRESS_MS 500
#define PARTIAL_BLOB "oci-put-blob" /* skopeo's names of layers under way, in the layout */
#define DIGEST_PREFIX "sha256:"
#define DIGEST_HEX 64
#define IMAGE_FILE "image.json"

/* --- names --- */

static bool is_digest(const char *text)
{
    return strncmp(text, DIGEST_PREFIX, strlen(DIGEST_PREFIX)) == 0 &&
           strlen(text) == strlen(DIGEST_PREFIX) + DIGEST_HEX &&
           strspn(text + strlen(DIGEST_PREFIX), "0123456789abcdef") == DIGEST_HEX;
}

static const char *digest_of_name(const char *name)
{
    const char *at = strchr(name, '@');

    return at ? at + 1 : NULL;
}

size_t image_repository_len(const char *name)
{
    size_t n = strcspn(name, "@");
    const char *slash = memrchr(name, '/', n);
    const char *colon = memchr(slash ? slash : name, ':',
                               n - (size_t)((slash ? slash : name) - name));

    return colon ? (size_t)(colon - name) : n;
}

int image_name_complete(struct arena *a, const char *name, const char **ret, struct err *err)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@";
    size_t n = strlen(name), repository = image_repository_len(name);
    const char *digest = digest_of_name(name);

    if (n == 0 || n > NAME_LIMIT || strspn(name, allowed) != n ||
        !isalnum((unsigned char)name[0]) || strstr(name, "//") || (digest && !is_digest(digest)))
        return err_set(err, ERR_INVALID, "\"%s\" is not the name of an image", name);
    if (digest) /* takes precedence over a tag */
        *ret = arena_printf(a, "%.*s@%s", (int)repository, name, digest);
    else
        *ret = arena_printf(a, "%s%s", name, name[repository] ? "" : ":latest");
    return *ret ? 0 : err_set(err, ERR_INTERNAL, "out of memory");
}

/* Where Docker, too, expects no certificate. */
static bool is_on_loopback(const char *name)
{
    return strncmp(name, "127.", 4) == 0 || strncmp(name, "localhost:", 10) == 0 ||
           strncmp(name, "localhost/", 10) == 0;
}

/* --- paths --- */

static const char *in_store(struct arena *a, const char *data, const char *rest)
{
    return arena_printf(a, "%s/" IMAGE_STORE_FOLDER "/%s", data, rest);
}

static const char *name_path(struct arena *a, const char *data, const char *name)
{
    struct buf text = BUF_INIT(4 * NAME_LIMIT);
    const char *path;

    percent_encode(&text, name);
    path = text.failed ? NULL : in_store(a, data, arena_printf(a, "names/%s", text.data));
    buf_release(&text);
    return path;
}

static const char *unpacked_path(struct arena *a, const char *data, const char *digest)
{
    return in_store(a, data, arena_printf(a, "unpacked/%s", digest + strlen(DIGEST_PREFIX)));
}

/* --- files --- */

static struct json *read_json(struct arena *a, const char *path)
{
    struct buf text = BUF_INIT(BLOB_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    struct json *v = NULL;

    if (path && file_read(path, BLOB_LIMIT_BYTES, &text) == 0)
        v = json_parse(a, text.data, text.len, &err);
    buf_release(&text);
    return v;
}

static int write_json(const char *path, const struct json *v)
{
    struct buf text = BUF_INIT(BLOB_LIMIT_BYTES);
    int rc;

    json_write(&text, v);
    rc = !path || !v || text.failed ? -ENOMEM : file_write_atomic(path, text.data, text.len, 0600);
    buf_release(&text);
    return rc;
}

static int64_t time_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

static int read_image(struct arena *a, const char *data, const char *name, const char *digest,
                      struct image *ret)
{
    const char *folder = unpacked_path(a, data, digest);
    const char *path = folder ? arena_printf(a, "%s/" IMAGE_FILE, folder) : NULL;
    const struct json *v = read_json(a, path);
    struct stat st;

    if (!v || stat(path, &st) != 0)
        return -ENOENT;
    *ret = (struct image){.name = name,
                          .digest = digest,
                          .folder = folder,
                          .config = json_get(v, "config"),
                          .bytes = json_get_int(v, "bytes", 0),
                          .used_ms = time_of(&st)};
    return 0;
}

int image_find(struct arena *a, const char *data, const char *name, struct image *ret)
{
    const struct json *v = read_json(a, name_path(a, data, name));
    const char *digest = json_get_string(v, "digest", "");

    return is_digest(digest) ? read_image(a, data, name, digest, ret) : -ENOENT;
}

void image_touch(const struct image *i)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/" IMAGE_FILE, i->folder);
    (void)utimensat(AT_FDCWD, path, NULL, 0);
}

/* fn(arg, name in the folder), until it returns other than 0. */
static int each_entry(const char *folder, int (*fn)(void *arg, const char *name), void *arg)
{
    DIR *d = folder ? opendir(folder) : NULL;
    const struct dirent *e;
    int rc = 0;

    while (d && rc == 0 && (e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = fn(arg, e->d_name);
    if (d)
        (void)closedir(d);
    return rc;
}

struct listing {
    struct arena *a;
    const char *data;
    struct image *list;
    size_t len, room;
};

static int add_image(void *arg, const char *file)
{
    struct listing *l = arg;
    const char *name = percent_decode(l->a, file, strlen(file));
    struct image image;

    if (!name || image_find(l->a, l->data, name, &image) != 0)
        return 0;
    if (l->len == l->room) {
        struct image *more = arena_alloc(l->a, (2 * l->room + 16) * sizeof(*more));

        if (!more)
            return -ENOMEM;
        if (l->len > 0)
            memcpy(more, l->list, l->len * sizeof(*more));
        l->list = more;
        l->room = 2 * l->room + 16;
    }
    l->list[l->len++] = image;
    return 0;
}

int image_list(struct arena *a, const char *data, struct image **ret, size_t *ret_len,
               struct err *err)
{
    struct listing l = {.a = a, .data = data};

    if (each_entry(in_store(a, data, "names"), add_image, &l) != 0 || arena_failed(a))
        return err_set(err, ERR_INTERNAL, "out of memory");
    *ret = l.list;
    *ret_len = l.len;
    return 0;
}

/* --- progress --- */

struct pulling {
    struct arena *a;
    struct image_pull *p;
    const char *tmp, *out; /* the layout, and the image unpacked from it */
    const char *digest;
    const struct json *layers; /* of the registry's manifest; NULL: not known */
    struct json *image;        /* image.json */
    struct err *err;
};

struct image_progress image_pull_progress(const struct image_pull *p)
{
    return (struct image_progress){.layers = atomic_load(&p->layers),
                                   .layers_done = atomic_load(&p->layers_done),
                                   .bytes = atomic_load(&p->bytes),
                                   .bytes_done = atomic_load(&p->bytes_done),
                                   .unpacks = atomic_load(&p->unpacks)};
}

struct partial {
    const struct pulling *w;
    int64_t bytes;
};

static int add_partial(void *arg, const char *name)
{
    struct partial *sum = arg;
    char path[PATH_MAX];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s/%s", sum->w->tmp, name);
    if (strncmp(name, PARTIAL_BLOB, strlen(PARTIAL_BLOB)) == 0 && stat(path, &st) == 0)
        sum->bytes += st.st_size;
    return 0;
}

static void note_progress(const struct pulling *w)
{
    struct partial sum = {.w = w};
    unsigned layers = 0, done = 0;
    int64_t bytes = 0;
    char path[PATH_MAX];

    json_each (layer, w->layers) {
        int64_t size = json_get_int(layer, "size", 0);
        const char *digest = json_get_string(layer, "digest", "");

        (void)snprintf(path, sizeof(path), "%s/blobs/sha256/%s", w->tmp,
                       is_digest(digest) ? digest + strlen(DIGEST_PREFIX) : "-");
        layers++;
        bytes += size;
        if (access(path, F_OK) == 0) {
            done++;
            sum.bytes += size;
        }
    }
    (void)each_entry(w->tmp, add_partial, &sum);
    atomic_store(&w->p->bytes, bytes);
    atomic_store(&w->p->bytes_done, min_i64(sum.bytes, bytes));
    atomic_store(&w->p->layers_done, done);
    atomic_store(&w->p->layers, layers);
}

/* --- programs --- */

struct output {
    int fd;
    struct buf text;
};

static void read_output(struct output *o)
{
    char bytes[4096];
    ssize_t n = read(o->fd, bytes, sizeof(bytes));

    if (n > 0) {
        if (o->text.len + (size_t)n > OUTPUT_LIMIT_BYTES / 2)
            buf_clear(&o->text); /* the end says why it failed */
        buf_add(&o->text, bytes, (size_t)n);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        file_close(&o->fd);
    }
}

static _Noreturn void become(const char *const argv[], const char *runtime_dir, int out, int error,
                             pid_t parent)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(137);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    /* Without a session of its own a user's login would be looked for in a folder that may be
     * closed to him. */
    if (!getenv("XDG_RUNTIME_DIR"))
        (void)setenv("XDG_RUNTIME_DIR", runtime_dir, 1);
    if (dup2(nothing, 0) >= 0 && dup2(out, 1) >= 0 && dup2(error, 2) >= 0)
        (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* Waits before it reaps, so that its number is never another's while it can be read. */
static int await_end(struct image_pull *p, pid_t pid)
{
    siginfo_t info;
    int status = 0;

    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
    atomic_store(&p->child, 0);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Its own words: skopeo's after msg=, otherwise the last line. */
static const char *words_of(struct arena *a, const char *text)
{
    static const char mark[] = "level=fatal msg=\"";
    const char *from = strstr(text, mark), *line = text;
    struct buf out = BUF_INIT(OUTPUT_LIMIT_BYTES);
    const char *words;

    if (from) {
        for (from += strlen(mark); *from && *from != '"' && *from != '\n'; from++) {
            bool escaped = *from == '\\' && from[1];

            from += escaped;
            buf_addc(&out, escaped && isalpha((unsigned char)*from) ? ' ' : *from);
        }
    } else {
        for (const char *p = text; *p; p++)
            if (p[0] == '\n' && p[1] && p[1] != '\n')
                line = p + 1;
        while (*line && !isalnum((unsigned char)*line))
            line++;
        buf_add(&out, line, strcspn(line, "\n"));
    }
    words = out.failed || out.len == 0 ? NULL : arena_strndup(a, out.data, out.len);
    buf_release(&out);
    return words ? words : "it failed without a word";
}

void image_pull_end(struct image_pull *p)
{
    pid_t pid;

    atomic_store(&p->ended, true);
    pid = atomic_load(&p->child);
    if (pid > 0)
        (void)kill(pid, SIGKILL);
}

/* What it printed goes to ret_out, unless that is NULL. */
static int run(struct pulling *w, const char *const argv[], const char **ret_out)
{
    struct arena *a = w->a;
    struct image_pull *p = w->p;
    struct err *err = w->err;
    struct output outputs[2] = {{.fd = -1, .text = BUF_INIT(OUTPUT_LIMIT_BYTES)},
                                {.fd = -1, .text = BUF_INIT(OUTPUT_LIMIT_BYTES)}};
    int out[2] = {-1, -1}, error[2] = {-1, -1}, code = -1, rc = 0;
    pid_t self = getpid(), pid = -1;

    if (pipe2(out, O_CLOEXEC) == 0 && pipe2(error, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0)
        become(argv, in_store(a, p->data, "tmp"), out[1], error[1], self);
    file_close(&out[1]);
    file_close(&error[1]);
    outputs[0].fd = out[0];
    outputs[1].fd = error[0];
    if (pid > 0) {
        atomic_store(&p->child, pid);
        if (atomic_load(&p->ended))
            (void)kill(pid, SIGKILL);
    }
    while (pid > 0 && (outputs[0].fd >= 0 || outputs[1].fd >= 0)) {
        struct pollfd fds[2] = {{.fd = outputs[0].fd, .events = POLLIN},
                                {.fd = outputs[1].fd, .events = POLLIN}};

        if (poll(fds, 2, w->layers ? PROGRESS_MS : -1) < 0 && errno != EINTR)
            break;
        if (w->layers)
            note_progress(w);
        for (size_t i = 0; i < 2; i++)
            if (fds[i].revents != 0)
                read_output(&outputs[i]);
    }
    if (pid > 0)
        code = await_end(p, pid);
    if (code == 127)
        rc = err_set(err, ERR_UNAVAILABLE, "%s is not installed: install the package %s", argv[0],
                     argv[0]);
    else if (code > 128)
        rc = err_set(err, ERR_UNAVAILABLE, "%s was ended by signal %d", argv[0], code - 128);
    else if (code != 0)
        rc = err_set(err, ERR_UNAVAILABLE, "%s",
                     pid < 0 ? "out of memory"
                             : words_of(a, outputs[1].text.data ? outputs[1].text.data : ""));
    else if (ret_out)
        *ret_out = arena_strndup(a, outputs[0].text.data ? outputs[0].text.data : "",
                                 outputs[0].text.len);
    for (size_t i = 0; i < 2; i++) {
        file_close(&outputs[i].fd);
        buf_release(&outputs[i].text);
    }
    return rc;
}

/* --- one pull --- */

static int failed(struct pulling *w, const char *what, int rc)
{
    return err_set(w->err, ERR_INTERNAL, "%s: %s", what ? what : "images", strerror(-rc));
}

static int remove_below(void *arg, const char *name)
{
    struct pulling *w = arg;
    const char *path = in_store(w->a, w->p->data, arena_printf(w->a, "tmp/%s", name));

    return path ? file_remove_tree(path) : -ENOMEM;
}

/* Of those who were killed: the lock is ours. */
static int prepare_folders(struct pulling *w)
{
    static const char *const folders[] = {"blobs/sha256", "unpacked", "names", "tmp"};
    const char *data = w->p->data;
    int rc = 0;

    for (size_t i = 0; i < ELEMS(folders) && rc == 0; i++)
        rc = file_make_dirs(in_store(w->a, data, folders[i]), 0700);
    if (rc == 0)
        rc = each_entry(in_store(w->a, data, "tmp"), remove_below, w);
    w->tmp = in_store(w->a, data, "tmp/pull");
    w->out = arena_printf(w->a, "%s/out", w->tmp);
    if (rc == 0 && !w->out)
        rc = -ENOMEM;
    if (rc == 0)
        rc = file_make_dirs(w->out, 0700);
    if (rc == 0 && symlink("../../blobs", arena_printf(w->a, "%s/blobs", w->tmp)) != 0)
        rc = -errno;
    return rc == 0 ? 0 : failed(w, in_store(w->a, data, ""), rc);
}

static const char *authfile(struct pulling *w)
{
    const char *path = w->p->auth ? arena_printf(w->a, "%s/auth.json", w->tmp) : NULL;

    if (path && file_write_atomic(path, w->p->auth, strlen(w->p->auth), 0600) != 0)
        path = NULL;
    return path;
}

#define ARGUMENTS_LIMIT 16

struct arguments {
    const char *list[ARGUMENTS_LIMIT];
    size_t len;
};

static void add(struct arguments *args, const char *word)
{
    if (word && args->len < ARGUMENTS_LIMIT - 1)
        args->list[args->len++] = word;
}

static void add_access(struct pulling *w, struct arguments *args, const char *tls_option)
{
    const char *auth = authfile(w);

    if (auth) {
        add(args, "--authfile");
        add(args, auth);
    }
    if (!w->p->from && is_on_loopback(w->p->name))
        add(args, tls_option);
}

/* As the registry has it, and its digest. */
static const struct json *ask_manifest(struct pulling *w, const char *name, const char **ret_digest)
{
    struct arguments args = {.len = 0};
    unsigned char sum[SHA256_BYTES];
    const char *text = NULL;
    auto_err err = ERR_INIT;
    struct sha256 hash;
    struct buf digest = BUF_INIT(NAME_LIMIT);

    add(&args, "skopeo");
    add(&args, "inspect");
    add(&args, "--raw");
    add_access(w, &args, "--tls-verify=false");
    add(&args, arena_printf(w->a, "docker://%s", name));
    if (run(w, args.list, &text) != 0 || !text)
        return NULL;
    sha256_init(&hash);
    sha256_add(&hash, text, strlen(text));
    sha256_end(&hash, sum);
    buf_adds(&digest, DIGEST_PREFIX);
    for (size_t i = 0; i < SHA256_BYTES; i++)
        buf_addf(&digest, "%02x", sum[i]);
    *ret_digest = digest.failed ? NULL : arena_strndup(w->a, digest.data, digest.len);
    buf_release(&digest);
    return json_parse(w->a, text, strlen(text), &err);
}

/* Of an index, the digest of the image for this machine; NULL: none. */
static const char *for_this_machine(const struct json *manifest)
{
#if defined(__aarch64__)
    static const char architecture[] = "arm64";
#else
    static const char architecture[] = "amd64";
#endif
    json_each (m, json_get(manifest, "manifests"))
        if (json_string_is(json_at(m, "platform", "os"), "linux") &&
            json_string_is(json_at(m, "platform", "architecture"), architecture))
            return json_get_string(m, "digest", NULL);
    return NULL;
}

static const char *by_digest(struct pulling *w, const char *digest)
{
    return arena_printf(w->a, "%.*s@%s", (int)image_repository_len(w->p->name), w->p->name, digest);
}

/* The digest that a tag stands for, by which the image is then copied: the tag may change
 * meanwhile. And its layers, unless that fails: they only tell the progress. */
static int ask_registry(struct pulling *w)
{
    const char *digest = NULL, *part;
    const struct json *manifest;

    if (w->p->from)
        return 0;
    manifest = ask_manifest(w, w->digest ? by_digest(w, w->digest) : w->p->name, &digest);
    if (err_is_set(w->err))
        return err_errno(w->err->reason);
    if (!manifest || !digest)
        return err_set(w->err, ERR_UNAVAILABLE, "the registry's answer is not a manifest");
    if (!w->digest)
        w->digest = digest;
    part = for_this_machine(manifest);
    if (part && is_digest(part))
        manifest = ask_manifest(w, by_digest(w, part), &digest);
    err_release(w->err);
    if (json_len(json_get(manifest, "layers")) > 0)
        w->layers = json_get(manifest, "layers");
    return 0;
}

static int copy(struct pulling *w)
{
    struct arguments args = {.len = 0};

    add(&args, "skopeo");
    add(&args, "copy");
    add_access(w, &args, "--src-tls-verify=false");
    add(&args,
        w->p->from ? w->p->from : arena_printf(w->a, "docker://%s", by_digest(w, w->digest)));
    add(&args, arena_printf(w->a, "oci:%s:latest", w->tmp));
    return run(w, args.list, NULL);
}

static struct json *read_blob(struct pulling *w, const char *digest)
{
    if (!is_digest(digest))
        return NULL;
    return read_json(
        w->a, in_store(w->a, w->p->data,
                       arena_printf(w->a, "blobs/sha256/%s", digest + strlen(DIGEST_PREFIX))));
}

/* What is kept of manifest and configuration. */
static int describe(struct pulling *w)
{
    const struct json *index = read_json(w->a, arena_printf(w->a, "%s/index.json", w->tmp));
    const char *manifest_digest = json_get_string(json_index(json_get(index, "manifests"), 0),
                                                  "digest", "");
    const struct json *manifest = read_blob(w, manifest_digest);
    const char *config_digest = json_string(json_at(manifest, "config", "digest"), "");
    const struct json *config = read_blob(w, config_digest);
    struct json *blobs;

    if (!config)
        return err_set(w->err, ERR_UNAVAILABLE, "the image has no configuration");
    if (!w->digest)
        w->digest = manifest_digest;
    w->image = json_new_object(w->a);
    json_set_string(w->a, w->image, "digest", w->digest);
    (void)json_set(w->a, w->image, "config",
                   json_get(config, "config") ? json_clone(w->a, json_get(config, "config"))
                                              : json_new_object(w->a));
    blobs = json_make_array(w->a, w->image, "blobs");
    json_append_string(w->a, blobs, manifest_digest);
    json_append_string(w->a, blobs, config_digest);
    json_each (layer, json_get(manifest, "layers"))
        json_append_string(w->a, blobs, json_get_string(layer, "digest", ""));
    return 0;
}

static _Thread_local int64_t counted_bytes;

static int count_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)path;
    (void)type;
    (void)at;
    counted_bytes += (int64_t)st->st_blocks * 512;
    return 0;
}

static int unpack(struct pulling *w)
{
    const char *rootfs = arena_printf(w->a, "%s/" IMAGE_ROOT_FOLDER, w->out);
    struct arguments args = {.len = 0};
    int rc, fd;

    add(&args, "umoci");
    add(&args, "raw");
    add(&args, "unpack");
    if (geteuid() != 0)
        add(&args, "--rootless");
    add(&args, "--image");
    add(&args, arena_printf(w->a, "%s:latest", w->tmp));
    add(&args, rootfs);
    w->layers = NULL;
    atomic_store(&w->p->unpacks, true);
    rc = run(w, args.list, NULL);
    if (rc != 0)
        return rc;
    counted_bytes = 0;
    (void)nftw(rootfs, count_entry, 16, FTW_PHYS);
    json_set_int(w->a, w->image, "bytes", counted_bytes);
    rc = write_json(arena_printf(w->a, "%s/" IMAGE_FILE, w->out), w->image);
    fd = rc == 0 ? open(w->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (rc == 0 && (fd < 0 || syncfs(fd) != 0)) /* all of it before its name */
        rc = -errno;
    file_close(&fd);
    if (rc == 0 && rename(w->out, unpacked_path(w->a, w->p->data, w->digest)) != 0)
        rc = -errno;
    return rc == 0 ? 0 : failed(w, w->out, rc);
}

static int keep_name(struct pulling *w)
{
    struct json *v = json_new_object(w->a);
    int rc;

    json_set_string(w->a, v, "digest", w->digest);
    rc = write_json(name_path(w->a, w->p->data, w->p->name), v);
    return rc == 0 ? 0 : failed(w, w->p->name, rc);
}

static int pull_locked(struct pulling *w, struct image *ret)
{
    int rc = prepare_folders(w);
    bool there = false;

    w->digest = digest_of_name(w->p->name);
    if (rc == 0 && w->digest)
        there = read_image(w->a, w->p->data, w->p->name, w->digest, ret) == 0;
    if (rc == 0 && !there)
        rc = ask_registry(w);
    if (rc == 0 && !there && w->digest)
        there = read_image(w->a, w->p->data, w->p->name, w->digest, ret) == 0;
    if (rc == 0 && !there) {
        rc = copy(w);
        if (rc == 0)
            rc = describe(w);
        if (rc == 0 && read_image(w->a, w->p->data, w->p->name, w->digest, ret) != 0)
            rc = unpack(w);
    }
    if (rc == 0)
        rc = keep_name(w);
    if (rc == 0 && read_image(w->a, w->p->data, w->p->name, w->digest, ret) != 0)
        rc = failed(w, w->p->name, -ENOENT);
    if (rc == 0)
        image_touch(ret);
    if (w->tmp)
        (void)file_remove_tree(w->tmp);
    return rc;
}

static int lock_store(struct arena *a, const char *data, struct err *err)
{
    const char *folder = in_store(a, data, ""), *path = in_store(a, data, "lock");
    int rc = path ? file_make_dirs(folder, 0700) : -ENOMEM;
    int fd = rc == 0 ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;

    if (rc == 0 && fd < 0)
        rc = -errno;
    while (rc == 0 && flock(fd, LOCK_EX) != 0)
        rc = errno == EINTR ? 0 : -errno;
    if (rc == 0)
        return fd;
    file_close(&fd);
    return err_set(err, ERR_INTERNAL, "%s: %s", path ? path : "images", strerror(-rc));
}

int image_pull(struct arena *a, struct image_pull *p, struct image *ret, struct err *err)
{
    struct pulling w = {.a = a, .p = p, .err = err};
    int lock = lock_store(a, p->data, err), rc;

    if (lock < 0)
        return lock;
    rc = pull_locked(&w, ret);
    file_close(&lock);
    return rc == 0 && arena_failed(a) ? err_set(err, ERR_INTERNAL, "out of memory") : rc;
}

/* --- removal --- */

struct search {
    struct arena *a;
    const char *data, *pod;
    const char *folder; /* of the image looked for */
    struct json *used;  /* digests in use, as keys */
    bool found;
};

static int look_at_layer(void *arg, const char *name)
{
    struct search *s = arg;
    char target[PATH_MAX];
    const char *link;
    ssize_t n;

    if (strncmp(name, IMAGE_LAYER_PREFIX, strlen(IMAGE_LAYER_PREFIX)) != 0)
        return 0;
    link = arena_printf(s->a, "%s/scratch/%s/%s/" IMAGE_LAYER_LINK, s->data, s->pod, name);
    n = link ? readlink(link, target, sizeof(target) - 1) : -1;
    target[n > 0 ? n : 0] = '\0';
    s->found = s->found || strcmp(target, s->folder) == 0;
    return 0;
}

static int look_at_pod(void *arg, const char *name)
{
    struct search *s = arg;

    s->pod = name;
    return each_entry(arena_printf(s->a, "%s/scratch/%s", s->data, name), look_at_layer, s);
}

/* Scratch folders go with their pods. */
static bool is_in_use(struct arena *a, const char *data, const char *folder)
{
    struct search s = {.a = a, .data = data, .folder = folder};

    (void)each_entry(arena_printf(a, "%s/scratch", data), look_at_pod, &s);
    return s.found;
}

static int note_blobs(void *arg, const char *hex)
{
    struct search *s = arg;
    const struct json *v = read_json(
        s->a, in_store(s->a, s->data, arena_printf(s->a, "unpacked/%s/" IMAGE_FILE, hex)));

    json_each (digest, json_get(v, "blobs"))
        json_set_bool(s->a, s->used, json_string(digest, ""), true);
    return 0;
}

static int drop_blob(void *arg, const char *hex)
{
    struct search *s = arg;

    if (!json_get(s->used, arena_printf(s->a, DIGEST_PREFIX "%s", hex)))
        (void)unlink(in_store(s->a, s->data, arena_printf(s->a, "blobs/sha256/%s", hex)));
    return 0;
}

/* Those of no image that is left. */
static void drop_blobs(struct arena *a, const char *data)
{
    struct search s = {.a = a, .data = data, .used = json_new_object(a)};

    (void)each_entry(in_store(a, data, "unpacked"), note_blobs, &s);
    if (!arena_failed(a))
        (void)each_entry(in_store(a, data, "blobs/sha256"), drop_blob, &s);
}

static bool has_other_name(const struct image *list, size_t len, const struct image *i)
{
    for (size_t k = 0; k < len; k++)
        if (strcmp(list[k].digest, i->digest) == 0 && strcmp(list[k].name, i->name) != 0)
            return true;
    return false;
}

/* Moved aside first: a pod that starts meanwhile has left its link, or does not find it. */
static int remove_unpacked(struct arena *a, const char *data, const struct image *i,
                           struct err *err)
{
    const char *aside = in_store(a, data, "tmp/removed");
    int rc = aside ? file_make_dirs(in_store(a, data, "tmp"), 0700) : -ENOMEM;

    if (rc == 0)
        (void)file_remove_tree(aside);
    if (rc == 0 && rename(i->folder, aside) != 0)
        rc = -errno;
    if (rc == 0 && is_in_use(a, data, i->folder)) {
        if (rename(aside, i->folder) != 0)
            rc = -errno;
        else
            return err_set(err, ERR_CONFLICT, "%s is in use by a pod", i->name);
    }
    if (rc == 0)
        rc = file_remove_tree(aside);
    return rc == 0 ? 0 : err_set(err, ERR_INTERNAL, "%s: %s", i->folder, strerror(-rc));
}

static int remove_locked(struct arena *a, const char *data, const struct image *list, size_t len,
                         const struct image *i, struct err *err)
{
    int rc = has_other_name(list, len, i) ? 0 : remove_unpacked(a, data, i, err);

    if (rc == 0 && unlink(name_path(a, data, i->name)) != 0)
        rc = err_set(err, ERR_INTERNAL, "%s: %s", i->name, strerror(errno));
    return rc;
}

int image_remove(struct arena *a, const char *data, const char *name, struct err *err)
{
    int lock = lock_store(a, data, err), rc = lock < 0 ? lock : 0;
    struct image *list = NULL, image;
    size_t len = 0;

    if (rc == 0)
        rc = image_list(a, data, &list, &len, err);
    if (rc == 0 && image_find(a, data, name, &image) != 0)
        rc = err_set(err, ERR_NOT_FOUND, "there is no image %s here", name);
    if (rc == 0)
        rc = remove_locked(a, data, list, len, &image, err);
    if (rc == 0)
        drop_blobs(a, data);
    file_close(&lock);
    return rc;
}

static int by_use(const void *a, const void *b)
{
    const struct image *x = a, *y = b;

    return x->used_ms < y->used_ms ? -1 : x->used_ms > y->used_ms;
}

/* A layer that several names stand for counts once. */
static int64_t bytes_of_all(const struct image *list, size_t len)
{
    int64_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += has_other_name(list, i, &list[i]) ? 0 : list[i].bytes;
    return n;
}

int image_prune(struct arena *a, const char *data, int64_t now_ms, int64_t age_ms,
                int64_t limit_bytes, struct err *err)
{
    int lock = lock_store(a, data, err), rc = lock < 0 ? lock : 0, removed = 0;
    struct image *list = NULL;
    size_t len = 0;
    int64_t bytes;

    if (rc == 0)
        rc = image_list(a, data, &list, &len, err);
    if (len > 1)
        qsort(list, len, sizeof(*list), by_use);
    bytes = bytes_of_all(list, len);
    for (size_t i = 0; rc == 0 && i < len; i++) {
        int64_t unused_ms = now_ms - list[i].used_ms;
        bool old = age_ms > 0 && unused_ms > age_ms;
        bool large = limit_bytes > 0 && bytes > limit_bytes;
        auto_err why = ERR_INIT;

        if ((!old && !large) || unused_ms < IMAGE_KEPT_MS || is_in_use(a, data, list[i].folder))
            continue;
        if (remove_locked(a, data, list + i, len - i, &list[i], &why) != 0)
            continue; /* a pod has just started in it */
        if (!has_other_name(list + i, len - i, &list[i]))
            bytes -= list[i].bytes;
        removed++;
    }
    if (removed > 0)
        drop_blobs(a, data);
    file_close(&lock);
    return rc == 0 ? removed : rc;
}
