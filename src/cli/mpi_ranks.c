/*
 * mpi_ranks.c - the launcher's side of mpi_ranks.h. A connection sends `KEY WHO RANK HOST` and,
 * when its program has ended, `CODE WHY`, which is acknowledged with one byte. WHO distinguishes
 * ranks with the same number, from different MPI_Comm_spawn calls. A rank restarted by mpirun
 * counts anew.
 */
#include "cli/mpi_ranks.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/map.h"
#include "base/secret.h"
#include "loop/random.h"
#include "net/listen.h"

#define LINE_SIZE 600 /* a key of 36, two names of 253 */
#define NAME_SIZE 254
#define EVENTS_AT_ONCE 64
#define STRANGERS_LIMIT 256 /* connections without the key yet; the oldest is dropped */
#define EXIT_KILLED 137

struct rank {
    int number, code;
    bool ended;
    uint64_t failed_as; /* order of failure; 0: it has not failed */
    char host[NAME_SIZE], why[NAME_SIZE];
};

struct link {
    struct link *next, **at;
    int fd;
    struct rank *rank; /* NULL: no key yet */
    size_t len;
    char line[LINE_SIZE];
};

struct mpi_ranks {
    int listener, epoll;
    char key[RANDOM_UID_SIZE];
    struct map ranks; /* WHO -> struct rank */
    struct link *links;
    unsigned strangers;
    uint64_t failures;
};

/* --- connections ----------------------------------------------------------------------- */

static void link_close(struct mpi_ranks *r, struct link *l)
{
    r->strangers -= !l->rank;
    *l->at = l->next;
    if (l->next)
        l->next->at = l->at;
    (void)close(l->fd);
    free(l);
}

static void drop_oldest_stranger(struct mpi_ranks *r)
{
    struct link *oldest = NULL;

    for (struct link *l = r->links; l; l = l->next)
        if (!l->rank)
            oldest = l;
    if (oldest)
        link_close(r, oldest);
}

static void take_connection(struct mpi_ranks *r, int fd)
{
    struct link *l = calloc(1, sizeof(*l));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = l};

    if (!l || epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        (void)close(fd);
        free(l);
        return;
    }
    l->fd = fd;
    l->next = r->links;
    l->at = &r->links;
    if (l->next)
        l->next->at = &l->next;
    r->links = l;
    if (++r->strangers > STRANGERS_LIMIT)
        drop_oldest_stranger(r);
}

/* --- messages -------------------------------------------------------------------------- */

static struct rank *rank_of(struct mpi_ranks *r, const char *who)
{
    struct rank *found = map_gets(&r->ranks, who);

    if (found)
        return found;
    found = calloc(1, sizeof(*found));
    if (found && map_puts(&r->ranks, who, found, NULL) < 0) {
        free(found);
        return NULL;
    }
    return found;
}

static bool begin(struct mpi_ranks *r, struct link *l)
{
    char key[RANDOM_UID_SIZE], who[NAME_SIZE], host[NAME_SIZE];
    int number;

    if (sscanf(l->line, "%36s %253s %d %253s", key, who, &number, host) != 4 ||
        !secret_equal(r->key, key))
        return false;
    l->rank = rank_of(r, who);
    if (!l->rank)
        return false;
    r->strangers--;
    *l->rank = (struct rank){.number = number};
    memcpy(l->rank->host, host, sizeof(host));
    return true;
}

static void end(struct mpi_ranks *r, struct rank *rank, int code)
{
    rank->ended = true;
    rank->code = code;
    rank->failed_as = code ? ++r->failures : 0;
}

/* False: the connection is no longer needed. */
static bool take_line(struct mpi_ranks *r, struct link *l)
{
    if (!l->rank)
        return begin(r, l);
    (void)sscanf(l->line, "%*d %253[^\n]", l->rank->why);
    end(r, l->rank, atoi(l->line));
    (void)send(l->fd, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    return false;
}

static void read_link(struct mpi_ranks *r, struct link *l)
{
    ssize_t n = recv(l->fd, l->line + l->len, sizeof(l->line) - 1 - l->len, MSG_DONTWAIT);
    char *newline;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        l->len += (size_t)n;
    l->line[l->len] = '\0';
    while (n > 0 && (newline = strchr(l->line, '\n'))) {
        *newline = '\0';
        if (!take_line(r, l)) {
            link_close(r, l);
            return;
        }
        l->len -= (size_t)(newline + 1 - l->line);
        memmove(l->line, newline + 1, l->len + 1);
    }
    if (n > 0 && l->len < sizeof(l->line) - 1)
        return;
    if (l->rank)
        end(r, l->rank, EXIT_KILLED);
    link_close(r, l);
}

void mpi_ranks_serve(struct mpi_ranks *r)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int n, fd;

    while ((n = epoll_wait(r->epoll, events, EVENTS_AT_ONCE, 0)) > 0) {
        bool knocked = false;

        for (int i = 0; i < n; i++)
            if (events[i].data.ptr)
                read_link(r, events[i].data.ptr);
            else
                knocked = true;
        /* after all of them: a new one may displace an older one */
        while (knocked && (fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
            take_connection(r, fd);
    }
}

bool mpi_ranks_are_lost(const struct mpi_ranks *r)
{
    bool failed = false;

    map_for_each (node, &r->ranks) {
        const struct rank *one = node->value;

        if (!one->ended)
            return false;
        failed = failed || one->failed_as;
    }
    return failed;
}

bool mpi_ranks_failure(struct mpi_ranks *r, struct mpi_end *ret)
{
    const struct rank *first = NULL;

    mpi_ranks_serve(r);
    map_for_each (node, &r->ranks) {
        struct rank *one = node->value;

        if (!one->ended)
            end(r, one, EXIT_KILLED);
        if (one->failed_as && (!first || one->failed_as < first->failed_as))
            first = one;
    }
    if (!first)
        return false;
    *ret = (struct mpi_end){
        .rank = first->number, .code = first->code, .host = first->host, .why = first->why};
    return true;
}

/* --- life ------------------------------------------------------------------------------ */

/* The address at which others reach this host. */
static int own_address(char out[NAME_SIZE], struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    char name[NAME_SIZE];
    int rc;

    if (gethostname(name, sizeof(name)) != 0)
        return err_set(err, ERR_INTERNAL, "this host has no name");
    rc = getaddrinfo(name, NULL, &hints, &found);
    if (rc == 0)
        rc = getnameinfo(found->ai_addr, found->ai_addrlen, out, NAME_SIZE, NULL, 0,
                         NI_NUMERICHOST);
    if (found)
        freeaddrinfo(found);
    return rc == 0 ? 0
                   : err_set(err, ERR_INTERNAL, "the address of %s is not known: %s", name,
                             gai_strerror(rc));
}

static int open_listener(struct mpi_ranks *r, bool one_machine, struct err *err)
{
    /* Edge-triggered: a connection that cannot be accepted for now must not cause a busy loop. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    char address[NAME_SIZE] = "127.0.0.1", where[2 * NAME_SIZE];
    unsigned port;

    if (!one_machine && own_address(address, err) < 0)
        return -EADDRNOTAVAIL;
    r->listener = listen_open(one_machine            ? "127.0.0.1:0"
                              : strchr(address, ':') ? "[::]:0"
                                                     : "0.0.0.0:0",
                              one_machine, &port, err);
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (r->listener < 0)
        return r->listener;
    random_uid(r->key);
    (void)snprintf(where, sizeof(where), "%s %u %s", address, port, r->key);
    if (r->epoll < 0 || epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->listener, &event) != 0 ||
        setenv(MPI_RANKS_VARIABLE, where, 1) != 0)
        return err_set(err, ERR_INTERNAL, "cannot listen for ranks: %s", strerror(errno));
    return 0;
}

struct mpi_ranks *mpi_ranks_new(bool one_machine, struct err *err)
{
    struct mpi_ranks *r = calloc(1, sizeof(*r));

    if (!r) {
        err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    r->listener = r->epoll = -1;
    if (open_listener(r, one_machine, err) == 0)
        return r;
    mpi_ranks_free(r);
    return NULL;
}

void mpi_ranks_free(struct mpi_ranks *r)
{
    if (!r)
        return;
    for (struct link *l = r->links, *next; l; l = next) {
        next = l->next;
        link_close(r, l);
    }
    map_release(&r->ranks, free);
    if (r->listener >= 0)
        (void)close(r->listener);
    if (r->epoll >= 0)
        (void)close(r->epoll);
    free(r);
}

int mpi_ranks_fd(const struct mpi_ranks *r)
{
    return r->epoll;
}
