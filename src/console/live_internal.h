/* live_internal.h - a tab and its subscriptions, for the files of live.h. */
#ifndef MUSTER_CONSOLE_LIVE_INTERNAL_H
#define MUSTER_CONSOLE_LIVE_INTERNAL_H

#include "base/json.h"
#include "console/live.h"
#include "net/mux.h"

/* One message to the tab; the largest object, and its frame. */
#define LIVE_MESSAGE_LIMIT_BYTES (8u * 1024u * 1024u)
#define LIVE_RETRY_MS 2000

struct live_sub;

struct live_ops {
    void (*begin)(struct live_sub *s);
    void (*room)(struct live_sub *s);                  /* the tab takes more */
    void (*credit)(struct live_sub *s, int64_t bytes); /* NULL: without meaning */
};

struct live_tab {
    struct live_hub *hub;
    struct loop *loop;
    struct live_tab *prev, *next;
    struct transport *transport; /* with the rights of who opened the tab */
    struct mux *mux;
    struct live_sub *subs;
    size_t subs_len;
};

struct live_sub {
    struct live_tab *tab;
    struct live_sub *next;
    const struct live_ops *ops;
    unsigned id;
    char *path;   /* of the API, with its query */
    char *cursor; /* watch: the resourceVersion it is at; NULL: it must list */
    struct api_stream *stream;
    struct buf line; /* what of a line, or of a character, is not whole yet */
    struct clock_timer *again;
    bool paused;

    /* watch */
    bool listing; /* a page is asked for */
    bool gone;    /* the tab has let go of it; only the answer is still to come */
    char *more;   /* the token of the next page */
    /* logs */
    int64_t credit;
    bool over;
};

extern const struct live_ops live_watch_ops, live_log_ops;

void live_sub_free(struct live_sub *s);
bool live_has_room(const struct live_tab *t);
void live_send(struct live_tab *t, struct buf *message); /* releases it */
void live_send_error(struct live_sub *s, int code, const char *reason, const char *text);
void live_send_end(struct live_sub *s);
void live_refused(struct live_sub *s, const struct api_reply *reply);

#endif
