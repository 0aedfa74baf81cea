/*
 * volumes.c - see volumes.h.
 *
 * Requests are handled on the loop, files are only touched on pool threads: a folder may be on a
 * disk that does not answer. One block is under way between a client and a file.
 */
#include "console/volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/object.h"
#include "base/list.h"
#include "base/percent.h"
#include "base/share.h"
#include "client/client.h"
#include "console/claim_files.h"
#include "loop/file.h"
#include "loop/fs_user.h"
#include "net/origin.h"

#define OP_LIMIT_BYTES (16u * 1024u * 1024u)
#define ANSWER_LIMIT_BYTES (8u * 1024u * 1024u)
#define BLOCK_BYTES (256u * 1024u)

enum op_kind { OP_GET, OP_PUT, OP_MAKE_FOLDER, OP_MEASURE };

struct op {
    struct stream stream; /* for a file, once answered */
    struct volumes *volumes;
    struct op *prev, *next;
    struct httpd_request *http; /* NULL once answered */
    const char *caller;         /* whose share of VOLUMES_AT_ONCE it uses (base/share.h) */
    enum op_kind kind;
    bool replaces;
    struct arena arena;
    const char *ns, *claim, *path, *folder;
    struct mount_user user; /* whose permissions apply to the files */

    bool working, closed; /* on a pool thread; and no longer wanted */
    int rc;
    int folder_fd; /* once it is open */
    struct json *list;
    struct claim_size size;
    int fd;          /* being read */
    int64_t missing; /* bytes it had when it was opened */
    struct claim_upload upload;
    struct stream *body;
    bool body_ended, read_all;
    char *block;
    size_t block_len, block_at;
};

struct volumes {
    struct volumes_options o;
    struct op *ops;
    bool measuring; /* one claim at a time */
};

/* --- ending ----------------------------------------------------------------------------------- */

static void op_free(struct op *op)
{
    if (op->volumes)
        list_remove(&op->volumes->ops, op);
    file_close(&op->fd);
    file_close(&op->folder_fd);
    claim_upload_drop(&op->upload);
    free(op->block);
    arena_release(&op->arena);
    free(op);
}

static void fail(struct op *op, const struct err *err)
{
    origin_refuse(op->http, err);
    op_free(op);
}

static void fail_with(struct op *op, enum err_reason reason, const char *text)
{
    origin_refuse_with(op->http, reason, text);
    op_free(op);
}

static void fail_errno(struct op *op, int rc)
{
    static const struct {
        int rc;
        enum err_reason reason;
        const char *why;
    } known[] = {
        {-ENOENT, ERR_NOT_FOUND, "it does not exist"},
        {-ENOTDIR, ERR_NOT_FOUND, "a part of its path is not a folder"},
        {-EXDEV, ERR_FORBIDDEN, "it leads out of the volume"},
        {-ELOOP, ERR_FORBIDDEN, "it leads through links that cannot be followed"},
        {-EROFS, ERR_FORBIDDEN, "the volume is read-only"},
        {-EEXIST, ERR_ALREADY_EXISTS, "it already exists"},
        {-EISDIR, ERR_ALREADY_EXISTS, "a folder of that name already exists"},
        {-EINVAL, ERR_BAD_REQUEST, "it is not a regular file, or not a valid name"},
        {-ENAMETOOLONG, ERR_BAD_REQUEST, "its name is too long"},
        {-ENOSPC, ERR_UNAVAILABLE, "the disk is full"},
        {-EDQUOT, ERR_UNAVAILABLE, "the disk's quota is used up"},
        {-ENOSYS, ERR_UNAVAILABLE, "this needs Linux 5.6 or newer"},
    };
    auto_err err = ERR_INIT;
    const char *why = NULL;
    enum err_reason reason = ERR_INTERNAL;

    if (rc == -EACCES || rc == -EPERM) {
        reason = ERR_FORBIDDEN;
        why = op->user.wanted ? arena_printf(&op->arena,
                                             "user %" PRIu32 ", as which your pods run in "
                                             "namespace \"%s\", may not do that",
                                             op->user.uid, op->ns)
                              : "the user muster runs as, or the owner of the folder, may not do "
                                "that";
    }
    for (size_t i = 0; i < ELEMS(known); i++)
        if (known[i].rc == rc) {
            reason = known[i].reason;
            why = known[i].why;
        }
    err_set(&err, reason, "\"%s\" of volume \"%s\": %s", op->path, op->claim,
            why ? why : strerror(-rc));
    fail(op, &err);
}

static void reply_json(struct op *op, int code, const struct json *answer)
{
    static const struct httpd_header header = {"Cache-Control", "no-store"};
    struct buf text = BUF_INIT(ANSWER_LIMIT_BYTES);
    struct blob *body;

    json_write(&text, answer);
    body = arena_failed(&op->arena) || text.failed ? NULL : blob_from_buf(&text);
    httpd_reply(op->http, body ? code : 503, "application/json", &header, 1, body);
    blob_unref(body);
    buf_release(&text);
    op_free(op);
}

/* --- pool threads ----------------------------------------------------------------------------- */

static void on_done(void *arg);

static void work(void *arg);

/* False: op is gone. */
static bool begin_work(struct op *op)
{
    op->working = op->volumes && loop_work(op->volumes->o.loop, work, on_done, op) == 0;
    if (op->working)
        return true;
    if (op->http) {
        fail_with(op, ERR_UNAVAILABLE, "the server is stopping, or out of memory");
        return false;
    }
    op->rc = -EIO;
    op->read_all = true;
    return true;
}

static void work_get(struct op *op)
{
    struct stat st;
    int found;

    if (op->fd >= 0) {
        ssize_t n = read(op->fd, op->block, BLOCK_BYTES);

        op->missing -= n;
        op->rc = n < 0 ? -errno : n == 0 && op->missing > 0 ? -EIO : 0; /* it was cut short */
        op->block_len = n > 0 ? (size_t)n : 0;
        op->block_at = 0;
        op->read_all = n <= 0;
        return;
    }
    found = claim_find(op->folder_fd, op->path, &st);
    if (found < 0) {
        op->rc = found;
        return;
    }
    op->rc = S_ISDIR(st.st_mode) ? claim_list(&op->arena, found, &op->list) : claim_read(found);
    op->missing = st.st_size;
    if (op->rc >= 0 && !op->list)
        op->fd = op->rc;
    file_close(&found);
}

static void work_put(struct op *op)
{
    if (op->upload.folder_fd < 0)
        op->rc = claim_upload_begin(&op->upload, op->folder_fd, op->path, op->replaces);
    else if (op->block_len > 0)
        op->rc = file_write_all(op->upload.fd, op->block, op->block_len);
    else
        op->rc = claim_upload_end(&op->upload, op->replaces);
    op->block_len = 0;
}

/* The folder itself may be below one that only the daemon can enter. */
static int open_folder(struct op *op)
{
    if (op->folder_fd < 0)
        op->folder_fd = open(op->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return op->folder_fd < 0 ? -errno : 0;
}

static void work_with_rights(struct op *op)
{
    switch (op->kind) {
    case OP_GET:
        work_get(op);
        break;
    case OP_PUT:
        work_put(op);
        break;
    case OP_MAKE_FOLDER:
        op->rc = claim_make_folder(op->folder_fd, op->path);
        break;
    case OP_MEASURE:
        op->rc = claim_measure(op->folder_fd, &op->size);
        break;
    }
}

static void work(void *arg)
{
    struct op *op = arg;
    struct fs_user saved = {0};
    int rc = open_folder(op);

    if (rc == 0 && op->user.wanted && op->kind != OP_MEASURE)
        rc = fs_user_become(&saved, op->user.uid, op->user.gid, NULL, 0);
    if (rc == 0)
        work_with_rights(op);
    else
        op->rc = rc;
    fs_user_restore(&saved);
}

/* --- reading a file --------------------------------------------------------------------------- */

static ssize_t read_file(struct stream *s, char *out, size_t cap)
{
    struct op *op = container_of(s, struct op, stream);
    size_t n = min_size(cap, op->block_len - op->block_at);

    if (op->working)
        return 0;
    if (n > 0) {
        memcpy(out, op->block + op->block_at, n);
        op->block_at += n;
        return (ssize_t)n;
    }
    if (!op->read_all)
        (void)begin_work(op);
    if (op->read_all)
        return op->rc < 0 ? STREAM_BROKEN : STREAM_END;
    return 0;
}

static void close_file(struct stream *s)
{
    struct op *op = container_of(s, struct op, stream);

    op->closed = true;
    if (!op->working)
        op_free(op);
}

static const struct stream_ops file_ops = {.read = read_file, .close = close_file};

/* The browser must never render it: it is a user's file. */
static void begin_file(struct op *op)
{
    const char *slash = strrchr(op->path, '/');
    struct buf name = BUF_INIT(PATH_MAX);
    struct httpd_request *http = op->http;
    struct httpd_header headers[] = {{"Content-Disposition", NULL},
                                     {"Cache-Control", "no-store"},
                                     {"X-Content-Type-Options", "nosniff"},
                                     {"Content-Security-Policy", "sandbox; default-src 'none'"}};

    percent_encode(&name, slash ? slash + 1 : op->path);
    headers[0].value = name.failed ? NULL
                                   : arena_printf(&op->arena, "attachment; filename*=UTF-8''%s",
                                                  name.data ? name.data : "");
    buf_release(&name);
    op->block = malloc(BLOCK_BYTES);
    if (!op->block || !headers[0].value) {
        fail_with(op, ERR_UNAVAILABLE, "out of memory");
        return;
    }
    op->http = NULL;
    op->stream.ops = &file_ops;
    httpd_stream_with(http, 200, "application/octet-stream", headers, ELEMS(headers), &op->stream);
}

/* --- writing a file --------------------------------------------------------------------------- */

/* Takes the available part of the body, and has it written. */
static void take_body(struct op *op)
{
    while (!op->body_ended && op->block_len < BLOCK_BYTES) {
        ssize_t n = op->body->ops->read(op->body, op->block + op->block_len,
                                        BLOCK_BYTES - op->block_len);

        if (n == STREAM_BROKEN) {
            fail_with(op, ERR_BAD_REQUEST, "the body was not sent completely");
            return;
        }
        if (n == 0 && op->block_len == 0)
            return; /* on_body */
        if (n == 0)
            break;
        if (n == STREAM_END)
            op->body_ended = true;
        else
            op->block_len += (size_t)n;
    }
    (void)begin_work(op);
}

static void on_body(void *arg)
{
    struct op *op = arg;

    if (!op->working && op->upload.fd >= 0)
        take_body(op);
}

static void put_done(struct op *op)
{
    struct json *answer;

    if (!op->body_ended || *op->upload.temporary) { /* written, or begun */
        take_body(op);
        return;
    }
    answer = json_new_object(&op->arena);
    json_set_string(&op->arena, answer, "path", op->path);
    reply_json(op, 201, answer);
}

/* --- results of pool threads ------------------------------------------------------------------ */

static void measure_next(struct volumes *v);

static void reply_size(struct op *op)
{
    struct json *answer = json_new_object(&op->arena);

    json_set_int(&op->arena, answer, "bytes", op->size.bytes);
    json_set_int(&op->arena, answer, "entries", op->size.entries);
    json_set_bool(&op->arena, answer, "partial", op->size.partial);
    reply_json(op, 200, answer);
}

static void on_done(void *arg)
{
    struct op *op = arg;
    struct volumes *v = op->volumes;

    op->working = false;
    if (op->kind == OP_MEASURE && v)
        v->measuring = false;
    if (op->closed)
        op_free(op);
    else if (!op->http)
        stream_ready(&op->stream);
    else if (op->rc < 0)
        fail_errno(op, op->rc);
    else if (op->kind == OP_MEASURE)
        reply_size(op);
    else if (op->kind == OP_MAKE_FOLDER)
        reply_json(op, 201, json_new_object(&op->arena));
    else if (op->kind == OP_PUT)
        put_done(op);
    else if (op->list)
        reply_json(op, 200, op->list);
    else
        begin_file(op);
    if (v)
        measure_next(v);
}

/* Pool threads are few, and a large claim takes long. */
static void measure_next(struct volumes *v)
{
    for (struct op *op = v->ops; op && !v->measuring; op = op->next)
        if (op->kind == OP_MEASURE && op->folder && !op->working) {
            v->measuring = true;
            if (begin_work(op))
                return;
            v->measuring = false;
            return;
        }
}

/* --- the request ------------------------------------------------------------------------------ */

static void begin(struct op *op)
{
    if (op->kind == OP_MEASURE) {
        measure_next(op->volumes);
        return;
    }
    if (op->kind == OP_PUT) {
        op->block = malloc(BLOCK_BYTES);
        if (!op->block) {
            fail_with(op, ERR_UNAVAILABLE, "out of memory");
            return;
        }
    }
    (void)begin_work(op);
}

static void got_claim(void *arg, const struct json *claim, const struct err *err)
{
    struct op *op = arg;
    struct volumes *v = op->volumes;
    auto_err why = ERR_INIT;

    (void)claim;
    if (err)
        fail(op, err);
    else if (v->o.folder(v->o.arg, &op->arena, op->ns, op->claim, &op->folder, &why) < 0)
        fail(op, &why);
    else
        begin(op);
}

/* The next segment of a path, unescaped; advances at. */
static const char *next_part(struct arena *a, const char **at)
{
    size_t len;

    *at += **at == '/';
    len = strcspn(*at, "/");
    *at += len;
    return percent_decode(a, *at - len, len);
}

static int parse(struct op *op, const struct httpd_request *http, struct err *err)
{
    const char *at = http->path + strlen(VOLUMES_PREFIX), *what;
    bool reads = strcmp(http->method, "GET") == 0;

    op->ns = next_part(&op->arena, &at);
    op->claim = next_part(&op->arena, &at);
    what = next_part(&op->arena, &at);
    at += *at == '/';
    op->path = percent_decode(&op->arena, at, strlen(at));
    op->replaces = strcmp(http->query, "replace=1") == 0;
    op->kind = reads ? OP_GET : strcmp(http->method, "PUT") == 0 ? OP_PUT : OP_MAKE_FOLDER;
    if (!op->ns || !op->claim || !what || !op->path || dns_label_problem(op->ns) ||
        dns_name_problem(op->claim) || (strcmp(what, "files") != 0 && strcmp(what, "usage") != 0))
        return err_set(err, ERR_NOT_FOUND,
                       "there is no such path: it is " VOLUMES_PREFIX
                       "/NAMESPACE/CLAIM/files/PATH or .../usage");
    if (strcmp(what, "usage") == 0)
        op->kind = OP_MEASURE;
    if ((op->kind == OP_MEASURE && !reads) ||
        (op->kind == OP_MAKE_FOLDER && strcmp(http->method, "POST") != 0))
        return err_set(err, ERR_METHOD_NOT_ALLOWED, "only GET, PUT and POST are allowed here");
    if (http->too_large || http->pulled_len > VOLUMES_UPLOAD_LIMIT_BYTES)
        return err_set(err, ERR_TOO_LARGE, "a file may have 16 GiB here");
    if (op->kind == OP_PUT && http->body_len > 0 && !http->pulled_len)
        return err_set(err, ERR_BAD_REQUEST, "the length of a file is required (Content-Length)");
    return 0;
}

static int check_rights(const struct op *op, const struct mount_request *m, struct err *err)
{
    bool reads = op->kind == OP_GET;

    if (!m->may(m, "get", "", "persistentvolumeclaims", op->ns, op->claim))
        return err_set(err, ERR_FORBIDDEN,
                       "persistentvolumeclaims \"%s\" is forbidden: you may not get it", op->claim);
    if (op->kind == OP_MEASURE || m->may(m, "create", "", "pods", op->ns, "") ||
        m->may(m, reads ? "get" : "create", "", "persistentvolumeclaims/files", op->ns, op->claim))
        return 0;
    return err_set(err, ERR_FORBIDDEN,
                   "files of \"%s\" are forbidden: that needs the right to create pods, or to %s "
                   "persistentvolumeclaims/files",
                   op->claim, reads ? "get" : "create");
}

static bool has_room(const struct volumes *v, const char *caller)
{
    struct share share = {.limit = VOLUMES_AT_ONCE};

    for (const struct op *op = v->ops; op; op = op->next)
        share_count(&share, op->caller, "", caller, "");
    return share_ask(&share, !*caller) == SHARE_LEFT;
}

void volumes_handle(void *arg, const struct mount_request *m)
{
    struct volumes *v = arg;
    struct op *op = has_room(v, m->user) ? calloc(1, sizeof(*op)) : NULL;
    auto_err err = ERR_INIT;

    if (!op) {
        origin_refuse_with(m->http, ERR_TOO_MANY_REQUESTS, "too many concurrent files");
        return;
    }
    op->volumes = v;
    op->http = m->http;
    op->fd = op->folder_fd = op->upload.fd = op->upload.folder_fd = -1;
    arena_init(&op->arena, OP_LIMIT_BYTES);
    op->caller = arena_strdup(&op->arena, m->user);
    list_push(&v->ops, op);
    if (!op->caller) {
        op->caller = "";
        fail_with(op, ERR_UNAVAILABLE, "out of memory");
        return;
    }
    if (parse(op, m->http, &err) < 0 || check_rights(op, m, &err) < 0 ||
        m->pod_user(m, op->ns, &op->user, &err) < 0) {
        fail(op, &err);
        return;
    }
    op->body_ended = m->http->pulled_len == 0;
    if (op->kind == OP_PUT && !op->body_ended) {
        op->body = httpd_body(m->http);
        op->body->on_ready = on_body;
        op->body->on_ready_arg = op;
    }
    client_get(v->o.transport, &kind_persistent_volume_claim, op->ns, op->claim, got_claim, op);
}

/* --- life ------------------------------------------------------------------------------------- */

struct volumes *volumes_new(const struct volumes_options *options)
{
    struct volumes *v = calloc(1, sizeof(*v));

    if (v)
        v->o = *options;
    return v;
}

void volumes_free(struct volumes *v)
{
    if (!v)
        return;
    for (struct op *op = v->ops, *next; op; op = next) {
        next = op->next;
        client_forget(op);
        op->volumes = NULL;
        if (op->http && !op->working)
            fail_with(op, ERR_UNAVAILABLE, "the server is stopping");
    }
    free(v);
}
