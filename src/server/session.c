/* session.c - see session.h. */
#include "server/session.h"

int session_add(struct server *s, struct session *session, void (*fn)(struct session *s),
                struct err *err)
{
    if (s->session_count >= SESSION_LIMIT)
        return err_set(err, ERR_TOO_MANY_REQUESTS,
                       "%u connections are used for exec, attach and port-forward already",
                       SESSION_LIMIT);
    *session = (struct session){.server = s, .next = s->sessions, .free = fn};
    if (session->next)
        session->next->prev = session;
    s->sessions = session;
    s->session_count++;
    return 0;
}

void session_remove(struct session *session)
{
    struct server *s = session->server;

    if (session->next)
        session->next->prev = session->prev;
    if (session->prev)
        session->prev->next = session->next;
    else
        s->sessions = session->next;
    s->session_count--;
}

void sessions_close(struct server *s)
{
    while (s->sessions)
        s->sessions->free(s->sessions);
}
