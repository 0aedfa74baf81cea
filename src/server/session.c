/* session.c - see session.h. */
#include "server/session.h"

#include "base/list.h"

int session_add(struct server *s, struct session *session, void (*fn)(struct session *s),
                struct err *err)
{
    if (s->session_count >= SESSION_LIMIT)
        return err_set(err, ERR_TOO_MANY_REQUESTS,
                       "%u connections are used for exec, attach and port-forward already",
                       SESSION_LIMIT);
    *session = (struct session){.server = s, .free = fn};
    list_push(&s->sessions, session);
    s->session_count++;
    return 0;
}

void session_remove(struct session *session)
{
    struct server *s = session->server;

    list_remove(&s->sessions, session);
    s->session_count--;
}

void sessions_close(struct server *s)
{
    while (s->sessions)
        s->sessions->free(s->sessions);
}
