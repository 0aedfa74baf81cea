/* session.c - see session.h. */
#include "server/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/share.h"
#include "server/caller.h"

#define STREAMS "connections are used for exec, attach and port-forward already"

static int check_share(const struct server *s, const char *user, struct err *err)
{
    struct share share = {.limit = SESSION_LIMIT, .all = s->session_count};

    for (const struct session *one = s->sessions; one; one = one->next) {
        share.accounts += *one->user != '\0';
        share.own += strcmp(one->user, user) == 0;
    }
    switch (share_ask(&share, !*user)) {
    case SHARE_OWN_USED:
        return err_set(err, ERR_TOO_MANY_REQUESTS, "%zu of User \"%s\"'s " STREAMS, share.own,
                       user);
    case SHARE_ALL_USED:
        return err_set(err, ERR_TOO_MANY_REQUESTS, "%zu " STREAMS, share.all);
    case SHARE_LEFT:
        break;
    }
    return 0;
}

int session_add(const struct server_request *r, struct session *session,
                void (*fn)(struct session *s), struct err *err)
{
    struct server *s = r->server;
    const char *user = caller_share(r->caller);
    int rc = check_share(s, user, err);

    if (rc < 0)
        return rc;
    *session = (struct session){.server = s, .free = fn, .login = r->login, .user = strdup(user)};
    if (!session->user)
        return out_of_memory(err);
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

    free(session->user);
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
