/* session.h - upgraded connections, which outlive their request: the server tracks them to close
 * them when it stops, and to limit their number. */
#ifndef MUSTER_SERVER_SESSION_H
#define MUSTER_SERVER_SESSION_H

#include "server/internal.h"

#define SESSION_LIMIT 256u

struct session {
    struct session *prev, *next;
    struct server *server;
    void (*free)(struct session *s); /* must remove it */
    uint64_t login;                  /* the browser session that opened it; 0: none */
    char *user;                      /* caller_share of the caller */
    bool opened, over;
};

/* Refused with 429 when there are too many, in total or of this caller. */
int session_add(const struct server_request *r, struct session *session,
                void (*fn)(struct session *s), struct err *err) must_check;
/* The connection is established. False: it must be freed, because its caller has signed out
 * meanwhile. */
bool session_opened(struct session *session) must_check;
void session_remove(struct session *session);
void sessions_close(struct server *s);
/* Those of one browser session. */
void sessions_end_login(struct server *s, uint64_t login);

#endif
