/* notify.c - see notify.h. The kernel has one watch per folder and descriptor, however many
 * requests: the users of a folder share it and each gets the events of its own mask. */
#include "runtime/notify.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define EVENTS_BYTES 8192u

struct hub {
    struct hub *next;
    struct loop *loop;
    int fd;
    struct loop_fd *watch;
    struct notify *users;
    bool dispatching;
};

struct notify {
    struct notify *next;
    struct hub *hub;
    int wd;
    uint32_t mask;
    notify_fn *fn; /* NULL: stopped while events are delivered */
    void *arg;
};

/* One per loop, in practice one; loop thread only. */
static struct hub *hubs;

static void hub_free(struct hub *h)
{
    for (struct hub **p = &hubs; *p; p = &(*p)->next)
        if (*p == h) {
            *p = h->next;
            break;
        }
    loop_fd_stop(h->watch);
    if (h->fd >= 0)
        (void)close(h->fd);
    free(h);
}

static void sweep_stopped(struct hub *h)
{
    struct notify **p = &h->users;

    while (*p) {
        struct notify *n = *p;

        if (n->fn) {
            p = &n->next;
            continue;
        }
        *p = n->next;
        free(n);
    }
    if (!h->users)
        hub_free(h);
}

static void give_out(struct hub *h, const struct inotify_event *e)
{
    for (struct notify *n = h->users; n; n = n->next) {
        /* After an overflow every watcher rescans. */
        bool overflow = (e->mask & IN_Q_OVERFLOW) != 0;

        if (n->fn && (overflow || (n->wd == e->wd && (e->mask & (n->mask | IN_IGNORED)))))
            n->fn(n->arg, overflow ? n->mask : e->mask, e->len ? e->name : "");
    }
}

static void on_readable(void *arg, unsigned events)
{
    struct hub *h = arg;
    _Alignas(struct inotify_event) char buffer[EVENTS_BYTES];
    ssize_t n = read(h->fd, buffer, sizeof(buffer));
    size_t at = 0;

    (void)events;
    h->dispatching = true;
    while (n > 0 && at < (size_t)n) {
        const struct inotify_event *e = (const void *)(buffer + at);

        give_out(h, e);
        at += sizeof(*e) + e->len;
    }
    h->dispatching = false;
    sweep_stopped(h);
}

static struct hub *hub_of(struct loop *l)
{
    struct hub *h;

    for (h = hubs; h; h = h->next)
        if (h->loop == l)
            return h;
    h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    h->loop = l;
    h->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (h->fd >= 0)
        h->watch = loop_fd_watch(l, h->fd, LOOP_READABLE, on_readable, h);
    if (!h->watch) {
        int saved = errno;

        hub_free(h);
        errno = saved;
        return NULL;
    }
    h->next = hubs;
    hubs = h;
    return h;
}

int notify_watch(struct loop *l, const char *dir, uint32_t mask, notify_fn *fn, void *arg,
                 struct notify **ret)
{
    struct notify *n = calloc(1, sizeof(*n));
    struct hub *h;

    if (!n)
        return -ENOMEM;
    h = hub_of(l);
    if (!h) {
        int rc = errno > 0 ? -errno : -ENOMEM;

        free(n);
        return rc;
    }
    *n = (struct notify){.next = h->users, .hub = h, .mask = mask, .fn = fn, .arg = arg};
    n->wd = inotify_add_watch(h->fd, dir, mask | IN_MASK_ADD);
    if (n->wd < 0) {
        int rc = -errno;

        free(n);
        if (!h->users && !h->dispatching)
            hub_free(h);
        return rc;
    }
    h->users = n;
    *ret = n;
    return 0;
}

void notify_stop(struct notify *n)
{
    struct hub *h;
    bool shared = false;

    if (!n)
        return;
    h = n->hub;
    n->fn = NULL;
    for (const struct notify *o = h->users; o; o = o->next)
        shared = shared || (o->fn && o->wd == n->wd);
    if (!shared)
        (void)inotify_rm_watch(h->fd, n->wd);
    if (!h->dispatching)
        sweep_stopped(h);
}
