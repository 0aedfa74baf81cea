/* hosts.c - see hosts.h. */
#include "agent/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/object.h"
#include "base/map.h"
#include "loop/file.h"

#define HOSTS_LIMIT_BYTES (4u * 1024u * 1024u)
#define ADDRESS "127.0.0.1"
#define STALE_NAMES_ALLOWED 256

struct hosts_file {
    char *path;
    struct map names; /* names in the file; values are unused */
    size_t asked_at;  /* how many there were when renewal was last considered */
};

struct hosts {
    char *dir;
    struct map files; /* namespace -> hosts_file */
};

static void file_free(void *value)
{
    struct hosts_file *f = value;

    map_release(&f->names, NULL);
    free(f->path);
    free(f);
}

struct hosts *hosts_new(const char *dir, struct err *err)
{
    struct hosts *h = calloc(1, sizeof(*h));
    int rc = -ENOMEM;

    if (h) {
        h->dir = strdup(dir);
        rc = h->dir ? file_make_dirs(dir, 0755) : -ENOMEM;
    }
    if (rc != 0) {
        (void)err_set(err, ERR_INTERNAL, "%s: %s", dir, strerror(-rc));
        hosts_free(h);
        return NULL;
    }
    return h;
}

void hosts_free(struct hosts *h)
{
    if (!h)
        return;
    map_release(&h->files, file_free);
    free(h->dir);
    free(h);
}

/* Our lines are an address, a tab and the name; a line of the machine that looks like one does no
 * harm. */
static int load_names(struct hosts_file *f, const char *text)
{
    int rc = 0;

    for (const char *line = text; *line && rc == 0; line += *line == '\n') {
        const char *end = line + strcspn(line, "\n");
        const char *name = line + strlen(ADDRESS) + 1;
        char *key;

        if (strncmp(line, ADDRESS "\t", strlen(ADDRESS) + 1) == 0 && name < end) {
            size_t n = strcspn(name, " \n");

            key = strndup(name, n);
            rc = key ? map_puts(&f->names, key, f, NULL) : -ENOMEM;
            free(key);
        }
        line = end;
    }
    return rc;
}

/* A new file, instead of changing the old one: a pod that still uses that keeps it intact. Not
 * synced: after a machine crash it is created again. */
static int replace_file(const char *path, const char *data, size_t len)
{
    char *tmp;
    int fd, rc = 0;

    if (asprintf(&tmp, "%s.tmp", path) < 0)
        return -ENOMEM;
    fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, data, len) != (ssize_t)len)
        rc = fd < 0 ? -errno : -EIO;
    if (fd >= 0)
        (void)close(fd);
    if (rc == 0 && rename(tmp, path) != 0)
        rc = -errno;
    free(tmp);
    return rc;
}

static int write_new(struct hosts_file *f)
{
    struct buf text = BUF_INIT(HOSTS_LIMIT_BYTES);
    int rc = file_read("/etc/hosts", HOSTS_LIMIT_BYTES, &text);

    if (rc != 0)
        buf_adds(&text, ADDRESS " localhost\n");
    if (text.len > 0 && text.data[text.len - 1] != '\n')
        buf_addc(&text, '\n');
    rc = text.failed ? -ENOMEM : replace_file(f->path, text.data, text.len);
    buf_release(&text);
    return rc;
}

static int load_old(struct hosts_file *f)
{
    struct buf text = BUF_INIT(HOSTS_LIMIT_BYTES);
    int rc = file_read(f->path, HOSTS_LIMIT_BYTES, &text);

    if (rc == 0 && text.len > 0)
        rc = load_names(f, text.data);
    buf_release(&text);
    return rc;
}

static struct hosts_file *file_new(struct hosts *h, const char *ns)
{
    struct hosts_file *f = calloc(1, sizeof(*f));

    if (f &&
        (asprintf(&f->path, "%s/%s", h->dir, ns) < 0 || map_puts(&h->files, ns, f, NULL) != 0)) {
        file_free(f);
        f = NULL;
    }
    return f;
}

int hosts_open(struct hosts *h, const char *ns, enum hosts_use use, const char **ret_path,
               struct err *err)
{
    struct hosts_file *f = map_gets(&h->files, ns);
    bool is_new = !f;
    int rc = 0;

    if (dns_label_problem(ns))
        return err_set(err, ERR_INVALID, "bad namespace \"%s\"", ns);
    if (!f)
        f = file_new(h, ns);
    if (!f)
        return err_set(err, ERR_INTERNAL, "out of memory");
    if (use == HOSTS_UNUSED) {
        map_release(&f->names, NULL);
        f->names = (struct map)MAP_INIT;
        f->asked_at = 0;
        rc = write_new(f);
    } else if (is_new) {
        rc = load_old(f);
        if (rc == -ENOENT)
            rc = write_new(f);
    }
    if (rc != 0) {
        (void)map_removes(&h->files, ns);
        rc = err_set(err, ERR_INTERNAL, "%s: %s", f->path, strerror(-rc));
        file_free(f);
        return rc;
    }
    *ret_path = f->path;
    return 0;
}

bool hosts_wants_renewal(struct hosts *h, const char *ns, size_t live)
{
    struct hosts_file *f = map_gets(&h->files, ns);

    if (!f)
        return true;
    if (f->names.count < 2 * live + STALE_NAMES_ALLOWED || f->names.count < 2 * f->asked_at)
        return false;
    f->asked_at = f->names.count;
    return true;
}

bool hosts_is_open(const struct hosts *h, const char *ns)
{
    return map_gets(&h->files, ns) != NULL;
}

int hosts_add(struct hosts *h, const char *ns, const char *name)
{
    struct hosts_file *f = map_gets(&h->files, ns);
    struct buf line = BUF_INIT(4096);
    int fd, rc = 0;

    if (!f || dns_name_problem(name) || map_gets(&f->names, name))
        return 0;
    buf_addf(&line, ADDRESS "\t%s %s.%s %s.%s.svc %s.%s.svc.cluster.local\n", name, name, ns, name,
             ns, name, ns);
    fd = open(f->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        rc = -errno;
    else if (line.failed || write(fd, line.data, line.len) != (ssize_t)line.len)
        rc = -EIO;
    if (fd >= 0)
        (void)close(fd);
    if (rc == 0)
        rc = map_puts(&f->names, name, f, NULL);
    buf_release(&line);
    return rc;
}
