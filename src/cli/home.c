/* home.c - see home.h. Every file here is private to its owner: a reader of token or kubeconfig
 * could run programs as this user. */
#include "cli/home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "cli/words.h"
#include "client/kubeconfig.h"
#include "loop/file.h"
#include "loop/random.h"
#include "runtime/proc.h"

#define TOKEN_BYTES 32
#define TOKEN_LIMIT_BYTES 4096
#define KUBECONFIG_LIMIT_BYTES (64u * 1024u)
#define CERTIFICATE_BEGINS "-----BEGIN CERTIFICATE-----"
#define LOCK_TEXT_SIZE 256
/* A killed daemon's lock may be held for a moment by a process it had just forked. */
#define LOCK_TRIES 100
#define LOCK_PAUSE_NS 10000000

static int system_error(struct err *err, int errnum, const char *what, const char *path)
{
    return err_set(err, ERR_INTERNAL, "cannot %s %s: %s", what, path, strerror(errnum));
}

static const char *absolute(struct arena *a, const char *path)
{
    char *cwd, *joined;

    if (path[0] == '/')
        return arena_strdup(a, path);
    cwd = getcwd(NULL, 0);
    if (!cwd)
        return NULL;
    joined = arena_printf(a, "%s/%s", cwd, path);
    free(cwd);
    return joined;
}

int home_locate(struct arena *a, const char *dir_option, struct home *ret, struct err *err)
{
    const char *dir = dir_option ? dir_option : getenv("MUSTER_HOME");
    const char *user_home = getenv("HOME");

    if (dir && *dir)
        dir = absolute(a, dir);
    else if (user_home && *user_home)
        dir = arena_printf(a, "%s/.muster", user_home);
    else {
        err_set(err, ERR_BAD_REQUEST, "no data folder: HOME is not set");
        err_hint(err, "use --dir or set MUSTER_HOME");
        return -EINVAL;
    }
    if (!dir) {
        err_set(err, ERR_INTERNAL, "out of memory");
        return -ENOMEM;
    }
    *ret = (struct home){
        .dir = dir,
        .lock_path = arena_printf(a, "%s/muster.pid", dir),
        .db_path = arena_printf(a, "%s/muster.db", dir),
        .token_path = arena_printf(a, "%s/token", dir),
        .sessions_path = arena_printf(a, "%s/sessions.json", dir),
        .kubeconfig_path = arena_printf(a, "%s/kubeconfig", dir),
        .pods_path = arena_printf(a, "%s/pods", dir),
        .log_path = arena_printf(a, "%s/muster.log", dir),
        .authority_path = arena_printf(a, "%s/ca.pem", dir),
    };
    return arena_failed(a) ? err_set(err, ERR_INTERNAL, "out of memory") : 0;
}

int home_create(const struct home *h, struct err *err)
{
    struct stat st;
    int r = file_make_dirs(h->dir, 0700);

    if (r)
        return system_error(err, -r, "make the data folder", h->dir);
    if (stat(h->dir, &st) != 0)
        return system_error(err, errno, "look at", h->dir);
    if (st.st_uid != geteuid()) {
        err_set(err, ERR_FORBIDDEN, "the data folder %s belongs to another user", h->dir);
        err_hint(err, "use --dir or MUSTER_HOME to choose your own");
        return -EPERM;
    }
    if ((st.st_mode & 077) && chmod(h->dir, 0700) != 0)
        return system_error(err, errno, "protect", h->dir);
    return 0;
}

/* "PID ADDRESS\n"; a holder that is just starting has written nothing yet. */
static void read_holder(int fd, struct home_holder *ret)
{
    char text[LOCK_TEXT_SIZE];
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    char *end;
    long pid;

    *ret = (struct home_holder){0};
    if (n <= 0)
        return;
    text[n] = '\0';
    pid = strtol(text, &end, 10);
    if (end == text || pid <= 0)
        return;
    ret->pid = (pid_t)pid;
    while (*end == ' ')
        end++;
    end[strcspn(end, "\n")] = '\0';
    (void)snprintf(ret->address, sizeof(ret->address), "%s", end);
}

/* OFD locks: unlike flock(2) they can be tested without being taken, so that testing never disturbs
 * a starting daemon. */
static struct flock whole_file(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

/* Also if it is a zombie, or exiting. */
static bool is_dead(const struct home_holder *holder)
{
    struct proc_stat stat;

    if (holder->pid <= 0)
        return false;
    if (kill(holder->pid, 0) != 0)
        return errno == ESRCH;
    return (proc_stat_read(holder->pid, &stat) == 0 && stat.state == 'Z') ||
           proc_is_exiting(holder->pid);
}

static bool holder_is_dead(int fd)
{
    struct home_holder holder;

    read_holder(fd, &holder);
    return is_dead(&holder);
}

static int held_by_other(const struct home *h, int fd, struct err *err)
{
    struct home_holder holder;

    read_holder(fd, &holder);
    if (holder.pid && *holder.address && !is_dead(&holder))
        err_set(err, ERR_CONFLICT, words("muster is already up on %s: process %d at %s"), h->dir,
                (int)holder.pid, holder.address);
    else
        err_set(err, ERR_CONFLICT, words("another muster is starting or stopping on %s"), h->dir);
    err_hint(
        err,
        words("use it as it is, stop it with 'muster down', or choose another folder with --dir"));
    return -EBUSY;
}

static int take_lock(int fd)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = LOCK_PAUSE_NS};
    struct flock lock = whole_file();

    for (int i = 0; fcntl(fd, F_OFD_SETLK, &lock) != 0; i++) {
        int errnum = errno;

        if ((errnum != EAGAIN && errnum != EACCES) || i == LOCK_TRIES || !holder_is_dead(fd))
            return -errnum;
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}

bool home_is_service_up(struct arena *a)
{
    struct home_holder holder;
    struct home home;
    auto_err err = ERR_INIT;

    return home_locate(a, SERVICE_FOLDER, &home, &err) == 0 &&
           home_find_holder(&home, &holder, &err) > 0;
}

/* In place and always of the same length: on a full disk an emptied file could not be written
 * again. */
static int write_lock(int fd, const char *text)
{
    char whole[LOCK_TEXT_SIZE];
    size_t len = strlen(text);

    for (size_t i = 0; i < sizeof(whole); i++)
        whole[i] = i < len ? text[i] : '\n';
    return pwrite(fd, whole, sizeof(whole), 0) == sizeof(whole) ? 0 : -errno;
}

int home_lock(const struct home *h, int *ret_fd, struct err *err)
{
    int fd = open(h->lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r;

    if (fd < 0)
        return system_error(err, errno, "open", h->lock_path);
    r = take_lock(fd);
    if (r < 0) {
        r = r == -EAGAIN || r == -EACCES ? held_by_other(h, fd, err)
                                         : system_error(err, -r, "lock", h->lock_path);
        close(fd);
        return r;
    }
    r = write_lock(fd, ""); /* the last holder's entry is no longer true */
    if (r < 0) {
        r = system_error(err, -r, "write", h->lock_path);
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

int home_announce(int lock_fd, const char *address, struct err *err)
{
    char text[LOCK_TEXT_SIZE];
    int r;

    (void)snprintf(text, sizeof(text), "%d %s", (int)getpid(), address);
    r = write_lock(lock_fd, text);
    return r < 0 ? system_error(err, -r, "write", "the lock file") : 0;
}

/* --- the database */

static bool has_entries(const char *path)
{
    DIR *d = opendir(path);
    const struct dirent *e;
    bool any = false;

    while (d && !any && (e = readdir(d)) != NULL)
        any = e->d_name[0] != '.';
    if (d)
        (void)closedir(d);
    return any;
}

/* 1: it is there; 0: it is not. Links are not followed: what they lead to may be another's. */
static int find_own_file(const char *path, const char *hint, struct stat *ret, struct err *err)
{
    if (lstat(path, ret) != 0)
        return errno == ENOENT ? 0 : system_error(err, errno, "look at", path);
    if (S_ISREG(ret->st_mode) && ret->st_uid == geteuid())
        return 1;
    err_set(err, ERR_FORBIDDEN, "%s is not a file of this user's own", path);
    err_hint(err, "%s", hint);
    return -EPERM;
}

static int make_private(const char *path, const struct stat *st, struct err *err)
{
    if ((st->st_mode & 077) == 0)
        return 0;
    if (chmod(path, 0600) != 0)
        return system_error(err, errno, "protect", path);
    log_warn("%s could be read by others (mode %03o); it is private again", path,
             st->st_mode & 0777);
    return 0;
}

static int refuse_to_begin(const struct home *h, bool empty, const char *left, struct err *err)
{
    int r = err_set(err, ERR_CONFLICT, "the database %s is %s, but %s is there", h->db_path,
                    empty ? "empty" : "missing", left);

    err_hint(err, "restore it from a backup; to start over without its objects, use another --dir "
                  "or move pods, kubeconfig and muster.db-wal out of this one");
    return r;
}

int home_check_database(const struct home *h, struct err *err)
{
    char log[PATH_MAX];
    struct stat db, wal;
    static const char hint[] = "a link, a folder or another user's file is not used: put the file "
                               "itself there";
    int r, there, has_log;

    (void)snprintf(log, sizeof(log), "%s-wal", h->db_path);
    there = find_own_file(h->db_path, hint, &db, err);
    has_log = there < 0 ? there : find_own_file(log, hint, &wal, err);
    if (has_log < 0)
        return has_log;
    if (there && db.st_size > 0) {
        r = make_private(h->db_path, &db, err);
        return r == 0 && has_log ? make_private(log, &wal, err) : r;
    }
    if (has_entries(h->pods_path))
        return refuse_to_begin(h, there, h->pods_path, err);
    if (access(h->kubeconfig_path, F_OK) == 0) /* written only when there was a database */
        return refuse_to_begin(h, there, h->kubeconfig_path, err);
    return has_log && wal.st_size > 0 ? refuse_to_begin(h, there, log, err) : 0;
}

int home_find_holder(const struct home *h, struct home_holder *ret, struct err *err)
{
    int fd = open(h->lock_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct flock lock = whole_file();
    int r = 0;

    *ret = (struct home_holder){0};
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0
                                                   : system_error(err, errno, "open", h->lock_path);
    if (fcntl(fd, F_OFD_GETLK, &lock) != 0) {
        r = system_error(err, errno, "look at", h->lock_path);
    } else if (lock.l_type != F_UNLCK) {
        read_holder(fd, ret);
        r = 1;
    }
    close(fd);
    return r;
}

/* For a secret's file; one that was readable by others may be compromised. */
static int protect(const char *path, struct err *err)
{
    struct stat st;
    int r;

    r = find_own_file(path, "remove it: muster creates a new one", &st, err);
    if (r <= 0)
        return r;
    r = make_private(path, &st, err);
    if (r == 0 && (st.st_mode & 077))
        log_warn("if another user may have read it, stop muster, remove the files token and ca.pem "
                 "from that folder and start it again");
    return r;
}

static int make_token(const struct home *h, char text[TOKEN_BYTES * 2 + 1], struct err *err)
{
    unsigned char bytes[TOKEN_BYTES];
    int r;

    random_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(text + i * 2, 3, "%02x", bytes[i]);
    r = file_write_atomic(h->token_path, text, TOKEN_BYTES * 2, 0600);
    return r ? system_error(err, -r, "write", h->token_path) : 0;
}

int home_token(struct arena *a, const struct home *h, const char **ret, struct err *err)
{
    struct buf text = BUF_INIT(TOKEN_LIMIT_BYTES + 1);
    char made[TOKEN_BYTES * 2 + 1];
    int r = protect(h->token_path, err);

    if (r)
        return r;
    r = file_read(h->token_path, TOKEN_LIMIT_BYTES, &text);
    if (r && r != -ENOENT)
        r = system_error(err, -r, "read", h->token_path);
    else if (r || text.len == 0) {
        r = make_token(h, made, err);
        *ret = r ? NULL : arena_strdup(a, made);
    } else {
        *ret = arena_strndup(a, text.data, strcspn(text.data, " \t\r\n"));
    }
    buf_release(&text);
    return r;
}

/* --- the certificate authority --- */

/* Key and certificate are one file: they change together or not at all. */
static int make_authority(const struct home *h, const char *old_key, int64_t now_s,
                          struct buf *text, struct err *err)
{
    struct buf certificate = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES);
    int r = authority_make(old_key, now_s, text, &certificate, err);

    if (r == 0 && certificate.len)
        buf_add(text, certificate.data, certificate.len);
    if (r == 0 && (text->failed || certificate.failed || !certificate.len))
        r = err_set(err, ERR_INTERNAL, "out of memory");
    buf_release(&certificate);
    if (r == 0) {
        r = file_write_atomic(h->authority_path, text->data, text->len, 0600);
        r = r ? system_error(err, -r, "write", h->authority_path) : 0;
    }
    return r;
}

static struct key_pair pair_in(const char *text)
{
    const char *certificate = strstr(text, CERTIFICATE_BEGINS);

    return (struct key_pair){.key = text, .certificate = certificate ? certificate : ""};
}

/* The text before the certificate is the key, which a new certificate keeps. */
static int renew_authority(const struct home *h, struct buf *text, const struct key_pair *old,
                           int64_t now_s, struct err *err)
{
    size_t key_len = *old->certificate ? (size_t)(old->certificate - old->key) : text->len;
    int r;

    text->data[key_len] = '\0';
    text->len = key_len;
    r = make_authority(h, text->data, now_s, text, err);
    if (r)
        err_hint(err, "without the file a new authority is created: rm %s", h->authority_path);
    return r;
}

int home_authority(struct arena *a, const struct home *h, int64_t now_s, struct key_pair *ret,
                   struct err *err)
{
    struct buf text = BUF_INIT(2 * CERTIFICATE_PEM_LIMIT_BYTES);
    int r = protect(h->authority_path, err);
    struct key_pair found;
    const char *kept;

    if (r)
        return r;
    r = file_read(h->authority_path, CERTIFICATE_PEM_LIMIT_BYTES, &text);
    found = pair_in(text.data ? text.data : "");
    if (r && r != -ENOENT)
        r = system_error(err, -r, "read", h->authority_path);
    else if (!text.data || text.len == 0)
        r = make_authority(h, NULL, now_s, &text, err);
    else if (!authority_is_good(&found, now_s))
        r = renew_authority(h, &text, &found, now_s, err);
    kept = r ? NULL : arena_strndup(a, text.data, text.len);
    if (text.data)
        explicit_bzero(text.data, text.len);
    buf_release(&text);
    if (r)
        return r;
    if (!kept)
        return err_set(err, ERR_INTERNAL, "out of memory");
    *ret = pair_in(kept);
    return 0;
}

/* --- kubeconfig --- */

int home_write_kubeconfig(const struct home *h, const char *address, const char *token,
                          const char *ca_pem, struct err *err)
{
    char server[HOME_ADDRESS_SIZE + sizeof("https://")];
    struct client_config config = {
        .server = server, .reach.ca_pem = ca_pem, .token = token, .ns = "default"};
    struct buf wanted = BUF_INIT(KUBECONFIG_LIMIT_BYTES), found = BUF_INIT(KUBECONFIG_LIMIT_BYTES);
    int r = protect(h->kubeconfig_path, err);

    if (r)
        return r;
    (void)snprintf(server, sizeof(server), "https://%s", address);
    kubeconfig_write(&wanted, &config);
    if (wanted.failed)
        r = err_set(err, ERR_INTERNAL, "out of memory");
    else if (file_read(h->kubeconfig_path, KUBECONFIG_LIMIT_BYTES, &found) != 0 ||
             found.len != wanted.len || memcmp(found.data, wanted.data, wanted.len) != 0) {
        r = file_write_atomic(h->kubeconfig_path, wanted.data, wanted.len, 0600);
        if (r)
            r = system_error(err, -r, "write", h->kubeconfig_path);
    }
    buf_release(&wanted);
    buf_release(&found);
    return r;
}

const char *home_jupyter(struct arena *a)
{
    const char *home = getenv("HOME");

    return home && *home ? arena_printf(a, "%s/.local/share/muster/jupyter", home) : NULL;
}
