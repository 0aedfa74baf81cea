/*
 * pod_port.c - see pod_port.h.
 *
 * The kernel reports listening sockets with their inodes (by sock_diag, else /proc/net/tcp);
 * /proc/PID/fd shows which process holds an inode. Only a process of the same user can share a
 * listened-on port, so sockets that are the pod's before and after were the pod's when the
 * connection was made.
 */
#include "runtime/pod_port.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/podfolder.h"
#include "runtime/proc.h"

#define LISTENERS_LIMIT 64u /* per port */
#define ANCESTORS_LIMIT 256u
#define STATE_ESTABLISHED 0x01
#define STATE_LISTEN 0x0a

/* Sockets that accept connections to one address and port. */
struct listeners {
    uint64_t inodes[LISTENERS_LIMIT];
    bool held[LISTENERS_LIMIT]; /* by the pod */
    size_t len;
    bool too_many;
    unsigned state; /* STATE_LISTEN, or that of their accepted connections */
    pid_t holder;   /* the last process seen to hold one */
};

bool pod_port_from_proc;

struct search {
    const struct pod_members *members;
    struct listeners *listeners;
    const char *mark; /* the pod's, in its processes' environment */
};

/* --- finding listeners ------------------------------------------------------------------- */

static void add_listener(struct listeners *l, uint64_t inode)
{
    for (size_t i = 0; i < l->len; i++)
        if (l->inodes[i] == inode)
            return;
    if (l->len == LISTENERS_LIMIT)
        l->too_many = true;
    else
        l->inodes[l->len++] = inode;
}

/* Whether a socket bound to the address accepts connections to the loopback of family. */
static bool takes(const struct in6_addr *address, size_t words, int family)
{
    struct in_addr v4;

    if (words == 4 && family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(address) || IN6_IS_ADDR_LOOPBACK(address);
    if (words == 4 && IN6_IS_ADDR_UNSPECIFIED(address)) /* usually for IPv4 too, but that is not
                                                         * visible */
        return true;
    if (words == 4 && !IN6_IS_ADDR_V4MAPPED(address))
        return false;
    memcpy(&v4, address->s6_addr + (words == 4 ? 12 : 0), sizeof(v4));
    return family == AF_INET &&
           (v4.s_addr == htonl(INADDR_ANY) || v4.s_addr == htonl(INADDR_LOOPBACK));
}

/* Requests only listening sockets: the table below has all of them, at times thousands. False: this
 * kernel does not report them, or not completely. */
static bool ask_kernel(int table, int family, unsigned port, struct listeners *l)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 ask;
    } q = {.head = {.nlmsg_len = sizeof(q),
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
           .ask = {.sdiag_family = (uint8_t)table,
                   .sdiag_protocol = IPPROTO_TCP,
                   .idiag_states = 1u << l->state}};
    _Alignas(struct nlmsghdr) char bytes[16384];
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool done = false, whole = fd >= 0 && send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q);

    while (whole && !done) {
        ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
        unsigned left = (unsigned)max_i64(n, 0);

        whole = n > 0;
        for (const struct nlmsghdr *h = (const void *)bytes; NLMSG_OK(h, left);
             h = NLMSG_NEXT(h, left)) {
            const struct inet_diag_msg *m = NLMSG_DATA(h);
            struct in6_addr address;

            done = done || h->nlmsg_type == NLMSG_DONE;
            if (h->nlmsg_type == NLMSG_ERROR || (h->nlmsg_flags & NLM_F_DUMP_INTR))
                whole = false;
            if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY)
                continue;
            memcpy(&address, m->id.idiag_src, sizeof(address));
            if (ntohs(m->id.idiag_sport) == port &&
                takes(&address, table == AF_INET ? 1 : 4, family))
                add_listener(l, m->idiag_inode);
        }
    }
    if (fd >= 0)
        (void)close(fd);
    return whole;
}

/* An address as the kernel prints it: words of eight digits, in memory order. */
static bool read_words(const char *text, size_t words, struct in6_addr *ret)
{
    for (size_t i = 0; i < words; i++) {
        uint32_t word;

        if (sscanf(text + 8 * i, "%8" SCNx32, &word) != 1)
            return false;
        memcpy(ret->s6_addr + 4 * i, &word, sizeof(word));
    }
    return true;
}

static void read_table(const char *path, size_t words, int family, unsigned port,
                       struct listeners *l)
{
    FILE *f = fopen(path, "re");
    char line[512], wanted[8];

    (void)snprintf(wanted, sizeof(wanted), ":%04X ", port);
    while (f && fgets(line, sizeof(line), f)) {
        const char *local = strchr(line, ':');
        struct in6_addr address = IN6ADDR_ANY_INIT;
        unsigned at, state;
        uint64_t inode;

        if (!strstr(line, wanted)) /* most lines; parsing them all takes longer */
            continue;
        local = local ? local + 1 + strspn(local + 1, " ") : "";
        if (strcspn(local, ":") == 8 * words && read_words(local, words, &address) &&
            sscanf(local + 8 * words,
                   ":%4x %*[0-9A-Fa-f]:%*4x %2x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64, &at, &state,
                   &inode) == 3 &&
            at == port && state == l->state && takes(&address, words, family))
            add_listener(l, inode);
    }
    if (f)
        (void)fclose(f);
}

static void find_sockets(int family, unsigned port, unsigned state, struct listeners *l)
{
    *l = (struct listeners){.state = state};
    if (!pod_port_from_proc && (family != AF_INET || ask_kernel(AF_INET, family, port, l)) &&
        ask_kernel(AF_INET6, family, port, l))
        return;
    *l = (struct listeners){.state = state};
    if (family == AF_INET)
        read_table("/proc/net/tcp", 1, family, port, l);
    read_table("/proc/net/tcp6", 4, family, port, l);
}

static void find_listeners(int family, unsigned port, struct listeners *l)
{
    find_sockets(family, port, STATE_LISTEN, l);
}

/* --- finding their owners ---------------------------------------------------------------- */

static bool all_held(const struct listeners *l)
{
    for (size_t i = 0; i < l->len; i++)
        if (!l->held[i])
            return false;
    return l->len > 0 && !l->too_many;
}

/* Notes which of the sockets the process holds. */
static void look_into(struct listeners *l, pid_t pid)
{
    char path[64], target[64];
    const struct dirent *e;
    DIR *d;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    d = opendir(path);
    while (d && (e = readdir(d)) != NULL) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
        uint64_t inode;

        target[n > 0 ? n : 0] = '\0';
        if (sscanf(target, "socket:[%" SCNu64 "]", &inode) != 1)
            continue;
        for (size_t i = 0; i < l->len; i++)
            if (l->inodes[i] == inode) {
                l->held[i] = true;
                l->holder = pid;
            }
    }
    if (d)
        (void)closedir(d);
}

static void look_into_group(struct listeners *l, const char *folder)
{
    char path[4096];
    FILE *f;
    int pid;

    if ((size_t)snprintf(path, sizeof(path), "%s/cgroup.procs", folder) >= sizeof(path))
        return;
    f = fopen(path, "re");
    while (f && !all_held(l) && fscanf(f, "%d", &pid) == 1)
        look_into(l, (pid_t)pid);
    if (f)
        (void)fclose(f);
}

static bool is_root(const struct pod_members *m, pid_t pid)
{
    for (size_t i = 0; i < m->roots_len; i++)
        if (m->roots[i] == pid)
            return true;
    return false;
}

static bool descends(const struct pod_members *m, pid_t pid)
{
    struct proc_stat stat;

    for (size_t i = 0; i < ANCESTORS_LIMIT && pid > 1; i++, pid = stat.parent) {
        if (is_root(m, pid))
            return true;
        if (proc_stat_read(pid, &stat) != 0)
            return false;
    }
    return false;
}

static bool is_ours_and_marked(pid_t pid, const char *mark)
{
    char path[64];
    struct stat st;

    (void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return stat(path, &st) == 0 && st.st_uid == geteuid() && proc_has_env(pid, mark);
}

static void look_into_member(void *arg, pid_t pid)
{
    struct search *s = arg;

    if (!all_held(s->listeners) && (descends(s->members, pid) ||
                                    (s->members->has_commands && is_ours_and_marked(pid, s->mark))))
        look_into(s->listeners, pid);
}

static bool are_the_pods(const struct pod_members *m, struct listeners *l)
{
    char mark[256];
    struct search s = {.members = m, .listeners = l, .mark = mark};

    for (size_t i = 0; i < m->pod->containers_len; i++) {
        const char *const *groups = m->pod->containers[i].cgroups;

        if (groups && *groups)
            look_into_group(l, *groups);
    }
    for (size_t i = 0; i < m->roots_len && !all_held(l); i++) /* usually it is one of them */
        look_into(l, m->roots[i]);
    (void)snprintf(mark, sizeof(mark), POD_ENV_UID "=%s", m->pod->uid);
    if (!all_held(l))
        proc_each(look_into_member, &s);
    return all_held(l);
}

/* --- connecting -------------------------------------------------------------------------- */

static int dial(int family, unsigned port, int timeout_ms)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port),
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const struct sockaddr *to = family == AF_INET ? (const struct sockaddr *)&v4
                                                  : (const struct sockaddr *)&v6;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), problem = 0, on = 1;
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    socklen_t len = sizeof(problem);
    bool begun;

    if (fd < 0)
        return -errno;
    begun = connect(fd, to, family == AF_INET ? sizeof(v4) : sizeof(v6)) == 0 ||
            errno == EINPROGRESS;
    if (begun && poll(&ready, 1, timeout_ms) != 1)
        problem = ETIMEDOUT;
    else if (!begun || getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &len) != 0)
        problem = errno;
    if (problem == 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        return fd;
    }
    (void)close(fd);
    return -problem;
}

static bool same_sockets(const struct listeners *a, const struct listeners *b)
{
    size_t found = 0;

    for (size_t i = 0; i < a->len; i++)
        for (size_t k = 0; k < b->len; k++)
            found += a->inodes[i] == b->inodes[k];
    return found == a->len && a->len == b->len;
}

int pod_port_connect(const struct pod_members *m, unsigned port, int timeout_ms,
                     char ret_token[NODE_TOKEN_SIZE])
{
    struct listeners before, after;
    int family = AF_INET, fd;

    find_listeners(AF_INET, port, &before);
    if (before.len == 0) {
        family = AF_INET6;
        find_listeners(AF_INET6, port, &before);
    }
    if (before.len == 0)
        return -ECONNREFUSED;
    if (!are_the_pods(m, &before))
        return -EPERM;
    fd = dial(family, port, timeout_ms);
    if (fd < 0)
        return fd;
    if (ret_token) /* before the second check: the holder then is the process that was read */
        proc_env(before.holder, NODE_TOKEN_VARIABLE, ret_token, NODE_TOKEN_SIZE);
    find_listeners(family, port, &after);
    if (same_sockets(&before, &after) && are_the_pods(m, &after)) {
        if (ret_token && before.holder != after.holder)
            *ret_token = '\0';
        return fd;
    }
    (void)close(fd);
    return -EPERM;
}

int pod_port_peers(const struct pod_members *m, unsigned port)
{
    struct listeners found;

    find_listeners(AF_INET, port, &found);
    if (found.len == 0)
        return -ECONNREFUSED;
    if (!are_the_pods(m, &found))
        return -EPERM;
    find_sockets(AF_INET, port, STATE_ESTABLISHED, &found);
    return (int)found.len;
}

const char *pod_port_problem(int error)
{
    return error == -ECONNREFUSED ? "Connection refused: no process of the pod listens on it"
           : error == -EPERM      ? "a program outside the pod listens on it"
           : error == -ETIMEDOUT  ? "no connection in time"
                                  : strerror(-error);
}
