/* session.h - connections that were upgraded and go on after their request was answered: the server
 * knows them to end them with itself, and to bound their number. */
#ifndef MUSTER_SERVER_SESSION_H
#define MUSTER_SERVER_SESSION_H

#include "server/internal.h"

#define SESSION_LIMIT 256u

struct session {
    struct session *prev, *next;
    struct server *server;
    void (*free)(struct session *s); /* must remove it */
};

/* Refused with 429 when there are too many. */
int session_add(struct server *s, struct session *session, void (*fn)(struct session *s),
                struct err *err) must_check;
void session_remove(struct session *session);
void sessions_close(struct server *s);

#endif
