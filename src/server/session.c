/* session.c - see session.h. */
#include "server/session.h"

#include "base/list.h"

int session_add(const struct server_request *r, struct session *session,
                void (*fn)(struct session *s), struct err *err)
{
    struct server *s = r->server;

    if (s->session_count >= SESSION_LIMIT)
        return err_set(err, ERR_TOO_MANY_REQUESTS,
                       "%u connections are used for exec, attach and port-forward already",
                       SESSION_LIMIT);
    *session = (struct session){.server = s, .free = fn, .login = r->login};
    list_push(&s->sessions, session);
    s->session_count++;
    return 0;
}

bool session_opened(struct session *session)
{
    session->opened = true;
    return !session->over;
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

void sessions_end_login(struct server *s, uint64_t login)
{
    for (struct session *one = s->sessions, *next; one; one = next) {
        next = one->next;
        if (one->login != login)
            continue;
        one->over = true;
        if (one->opened)
            one->free(one);
    }
}
