/* live_internal.h - a tab and its subscriptions, for the files of live.h. */
#ifndef MUSTER_CONSOLE_LIVE_INTERNAL_H
#define MUSTER_CONSOLE_LIVE_INTERNAL_H

#include "base/json.h"
#include "console/live.h"
#include "net/mux.h"

/* One message to the tab: the largest object, and its frame. */
#define LIVE_MESSAGE_LIMIT_BYTES (8u * 1024u * 1024u)
#define LIVE_RETRY_MS 2000 /* doubling each time, up to: */
#define LIVE_RETRY_LIMIT_MS 60000
/* Pages of lists under way to one tab, and the largest requested size: together less than the
 * connection buffers. A page that turns out larger is requested again in smaller ones. */
#define LIVE_PAGES_AT_ONCE 4u
#define LIVE_PAGE_BYTES (2u * 1024u * 1024u)

struct live_sub;

struct live_ops {
    void (*begin)(struct live_sub *s);
    void (*room)(struct live_sub *s);                  /* the tab reads again */
    void (*credit)(struct live_sub *s, int64_t bytes); /* NULL: not applicable */
};

struct live_tab {
    struct live_hub *hub;
    struct loop *loop;
    struct live_tab *prev, *next;
    struct transport *transport; /* with the rights of the tab's user */
    struct mux *mux;
    struct live_sub *subs;
    size_t subs_len, pages;
    int64_t opened_ms, heard_ms;
    uint64_t session; /* with which it was opened; 0: none */
    char *user;       /* mount_request.user */
    struct clock_timer *timer;
};

struct live_sub {
    struct live_tab *tab;
    struct live_sub *next;
    const struct live_ops *ops;
    unsigned id;
    char *path;   /* of the API, with its query */
    char *cursor; /* watch: its current resourceVersion; NULL: it must list */
    struct api_stream *stream;
    struct buf line; /* incomplete line or character */
    struct clock_timer *again;
    bool paused;

    /* watch: */
    bool listing;  /* a page is requested */
    bool gone;     /* unsubscribed; only the answer is still to come */
    bool first;    /* the next page starts a list: parts of a previous one do not count */
    bool silent;   /* the watch delivered nothing since it was opened */
    unsigned page; /* items per request */
    unsigned failures;
    char *more; /* the token of the next page */
    /* logs: */
    int64_t credit;
    bool over; /* everything arrived; the rest in line is sent as credit comes */
    bool told; /* its end, or why it is missing, was reported */
};

extern const struct live_ops live_watch_ops, live_log_ops;

void live_sub_free(struct live_sub *s);
void live_go_on(struct live_tab *t); /* lets the next waiting one continue */
bool live_has_room(const struct live_tab *t);
void live_send(struct live_tab *t, struct buf *message); /* releases it */
void live_send_error(struct live_sub *s, int code, const char *reason, const char *text);
void live_send_end(struct live_sub *s);
void live_refused(struct live_sub *s, const struct api_reply *reply);

#endif
