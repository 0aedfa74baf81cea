/*
 * watch_load.c - so many watchers of one collection, so many changes a second: how late they hear.
 *
 *   TOKEN=... watch_load PORT WATCHERS CHANGES_PER_SECOND SECONDS
 *
 * One thread and one epoll set for all watchers and for the writers. A change is a merge patch that
 * puts its own number into a ConfigMap; the time a watcher hears of it is compared with the time it
 * was sent and with the time its writer was told that it is on disk. Prints one line:
 *   RESULT changes events errors p50_us p99_us max_us (sent to heard) p50_us p99_us (written to
 * heard)
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "load.h"

#define WRITERS 64
#define CHANGES_LIMIT 1000000u
#define ROOM (256u * 1024u)
#define MAPS "/api/v1/namespaces/default/configmaps"
#define MARK "\"n\":\"" /* before a change's number, in what is sent and in what is heard */

struct peer {
    int fd, number;  /* number: of a writer, or -1 */
    unsigned change; /* of a writer: the one on its way */
    bool busy;
    char tail[64]; /* what a watcher has not understood yet: a mark cut in two */
    size_t tail_len;
};

static struct {
    int64_t sent_ns[CHANGES_LIMIT], written_ns[CHANGES_LIMIT];
    struct histogram from_sent, from_written;
    struct peer writers[WRITERS];
    unsigned changes, errors;
    uint64_t events;
    int epoll;
} b;

static void join_epoll(struct peer *p)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = p};

    (void)fcntl(p->fd, F_SETFL, O_NONBLOCK);
    if (epoll_ctl(b.epoll, EPOLL_CTL_ADD, p->fd, &e) < 0)
        die("epoll");
}

static void open_writers(void)
{
    char answer[4096], body[1200];

    for (int i = 0; i < WRITERS; i++) {
        struct peer *p = &b.writers[i];

        *p = (struct peer){.fd = open_connection(), .number = i};
        (void)snprintf(body, sizeof(body),
                       "{\"metadata\":{\"name\":\"watched-%d\"},\"data\":{\"filling\":\"%0500d\"}}",
                       i, 0);
        ask(p->fd, "POST", MAPS, "application/json", body);
        if (read(p->fd, answer, sizeof(answer)) <= 0)
            die("no answer");
        join_epoll(p);
    }
}

static void open_watchers(struct peer *watchers, size_t count)
{
    char answer[4096];

    for (size_t i = 0; i < count; i++) {
        watchers[i] = (struct peer){.fd = open_connection(), .number = -1};
        ask(watchers[i].fd, "GET",
            MAPS "?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", "", "");
        if (read(watchers[i].fd, answer, sizeof(answer)) <= 0)
            die("no watch");
        join_epoll(&watchers[i]);
    }
}

/* --- changes and what is heard --------------------------------------------------------- */

static void send_change(struct peer *p)
{
    char body[96], path[96];

    p->change = b.changes++;
    p->busy = true;
    (void)snprintf(body, sizeof(body), "{\"data\":{" MARK "%08u\"}}", p->change);
    (void)snprintf(path, sizeof(path), MAPS "/watched-%d", p->number);
    b.sent_ns[p->change] = now_ns();
    ask(p->fd, "PATCH", path, "application/merge-patch+json", body);
}

static void writer_reads(struct peer *p)
{
    char answer[8192];
    ssize_t n = read(p->fd, answer, sizeof(answer));

    if (n <= 0)
        die("a writer was closed");
    if (strncmp(answer, "HTTP/1.1 200", 12) != 0)
        b.errors++;
    b.written_ns[p->change] = now_ns();
    p->busy = false;
}

static void heard(const char *digits, int64_t now)
{
    unsigned long change = strtoul(digits, NULL, 10);

    if (change >= b.changes)
        return;
    b.events++;
    histogram_add(&b.from_sent, now - b.sent_ns[change]);
    histogram_add(&b.from_written,
                  b.written_ns[change] ? now - b.written_ns[change] : 0); /* before its writer */
}

static void watcher_reads(struct peer *p, char *room)
{
    const size_t need = strlen(MARK) + 9;
    ssize_t n;
    char *at, *end;

    memcpy(room, p->tail, p->tail_len);
    n = read(p->fd, room + p->tail_len, ROOM - 64);
    if (n <= 0)
        die("a watcher was closed");
    end = room + p->tail_len + n;
    for (at = room;
         (at = memmem(at, (size_t)(end - at), MARK, strlen(MARK))) && (size_t)(end - at) >= need;
         at += need)
        heard(at + strlen(MARK), now_ns());
    if (!at)
        at = end -
             (end - room < (ptrdiff_t)strlen(MARK) ? end - room : (ptrdiff_t)strlen(MARK) - 1);
    p->tail_len = (size_t)(end - at);
    memcpy(p->tail, at, p->tail_len);
}

static void wait_a_while(char *room)
{
    struct epoll_event events[256];
    int n = epoll_wait(b.epoll, events, 256, 1);

    for (int i = 0; i < n; i++) {
        struct peer *p = events[i].data.ptr;

        if (p->number >= 0)
            writer_reads(p);
        else
            watcher_reads(p, room);
    }
}

static void run(unsigned rate, unsigned seconds, size_t watchers)
{
    int64_t begin = now_ns(), quiet;
    char *room = malloc(ROOM);
    uint64_t seen = 0;
    size_t next = 0;

    if (!room)
        die("memory");
    while (now_ns() - begin < (int64_t)seconds * 1000000000) {
        uint64_t due = (uint64_t)(now_ns() - begin) * rate / 1000000000;

        for (int tries = 0; tries < WRITERS && b.changes < due && b.changes < CHANGES_LIMIT;
             tries++) {
            struct peer *p = &b.writers[next++ % WRITERS];

            if (!p->busy)
                send_change(p);
        }
        wait_a_while(room);
    }
    for (quiet = now_ns(); b.events < b.changes * watchers && now_ns() - quiet < 2000000000;) {
        wait_a_while(room);
        if (b.events != seen)
            quiet = now_ns();
        seen = b.events;
    }
    free(room);
}

int main(int argc, char **argv)
{
    size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    struct peer *watchers = calloc(count + 1, sizeof(*watchers));
    struct rlimit limit;

    server.token = getenv("TOKEN");
    if (argc != 5 || !server.token || !watchers) {
        (void)fprintf(stderr,
                      "usage: TOKEN=... watch_load PORT WATCHERS CHANGES_PER_SECOND SECONDS\n");
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    server.port = (unsigned)strtoul(argv[1], NULL, 10);
    b.epoll = epoll_create1(EPOLL_CLOEXEC);
    open_writers();
    open_watchers(watchers, count);
    run((unsigned)strtoul(argv[3], NULL, 10), (unsigned)strtoul(argv[4], NULL, 10), count);
    printf("RESULT %u %llu %u %llu %llu %llu %llu %llu\n", b.changes, (unsigned long long)b.events,
           b.errors, (unsigned long long)histogram_at(&b.from_sent, .5),
           (unsigned long long)histogram_at(&b.from_sent, .99),
           (unsigned long long)b.from_sent.max_us,
           (unsigned long long)histogram_at(&b.from_written, .5),
           (unsigned long long)histogram_at(&b.from_written, .99));
    free(watchers);
    return b.errors != 0;
}
