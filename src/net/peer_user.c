/* peer_user.c - see peer_user.h. A socket no process holds any more has no inode, and is reported
 * as root's. */
#include "net/peer_user.h"

#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STATE_LISTEN 10

/* As seen from the peer's own socket: its address, and ours. */
struct ends {
    int family;
    size_t words; /* of an address, in 32-bit units */
    uint32_t own[4], far[4];
    in_port_t own_port, far_port; /* in network byte order */
};

bool peer_user_from_proc;

static void take_address(const struct sockaddr_storage *from, struct ends *e, uint32_t words[4],
                         in_port_t *port)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    memcpy(&v4, from, sizeof(v4));
    memcpy(&v6, from, sizeof(v6));
    e->family = from->ss_family;
    e->words = e->family == AF_INET ? 1 : 4;
    *port = e->family == AF_INET ? v4.sin_port : v6.sin6_port;
    if (e->family == AF_INET) {
        words[0] = v4.sin_addr.s_addr;
    } else if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) { /* the client's socket is IPv4 */
        memcpy(words, v6.sin6_addr.s6_addr + 12, sizeof(uint32_t));
        e->family = AF_INET;
        e->words = 1;
    } else {
        memcpy(words, &v6.sin6_addr, sizeof(v6.sin6_addr));
    }
}

static bool find_ends(int fd, struct ends *e)
{
    struct sockaddr_storage here, there;
    socklen_t here_len = sizeof(here), there_len = sizeof(there);

    *e = (struct ends){.family = AF_UNSPEC};
    if (getsockname(fd, (struct sockaddr *)&here, &here_len) != 0 ||
        getpeername(fd, (struct sockaddr *)&there, &there_len) != 0 ||
        (here.ss_family != AF_INET && here.ss_family != AF_INET6))
        return false;
    take_address(&here, e, e->far, &e->far_port);
    take_address(&there, e, e->own, &e->own_port);
    return true;
}

enum found { FOUND, NOT_FOUND, NOT_SAID };

static enum found ask_kernel(const struct ends *e, uid_t *ret)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 ask;
    } q = {.head = {.nlmsg_len = sizeof(q),
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST},
           .ask = {.sdiag_family = (uint8_t)e->family,
                   .sdiag_protocol = IPPROTO_TCP,
                   .idiag_states = ~0u,
                   .id = {.idiag_sport = e->own_port,
                          .idiag_dport = e->far_port,
                          .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    struct {
        struct nlmsghdr head;
        union {
            struct inet_diag_msg found;
            struct nlmsgerr error;
            char more[1024];
        } is;
    } answer = {.head = {.nlmsg_len = 0}};
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    ssize_t n = -1;

    memcpy(q.ask.id.idiag_src, e->own, e->words * sizeof(uint32_t));
    memcpy(q.ask.id.idiag_dst, e->far, e->words * sizeof(uint32_t));
    if (fd >= 0 && send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q))
        n = recv(fd, &answer, sizeof(answer), 0);
    if (fd >= 0)
        (void)close(fd);
    if (n < (ssize_t)(sizeof(answer.head) + sizeof(answer.is.found)) ||
        answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return NOT_SAID;
    /* Without such a connection the kernel reports the listener at that address. */
    if (answer.is.found.idiag_state == STATE_LISTEN ||
        answer.is.found.id.idiag_dport != e->far_port || !answer.is.found.idiag_inode)
        return NOT_FOUND;
    *ret = answer.is.found.idiag_uid;
    return FOUND;
}

static void write_end(char out[64], const uint32_t *words, size_t len, in_port_t port)
{
    size_t at = 0;

    for (size_t i = 0; i < len; i++)
        at += (size_t)snprintf(out + at, 64 - at, "%08" PRIX32, words[i]);
    (void)snprintf(out + at, 64 - at, ":%04X", ntohs(port));
}

static bool read_table(const struct ends *e, uid_t *ret)
{
    FILE *f = fopen(e->family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
    char line[512], own[64], far[64], local[64], remote[64];
    bool found = false;

    write_end(own, e->own, e->words, e->own_port);
    write_end(far, e->far, e->words, e->far_port);
    while (f && !found && fgets(line, sizeof(line), f)) {
        unsigned user;
        uint64_t inode;

        if (sscanf(line, "%*d: %63s %63s %*x %*x:%*x %*x:%*x %*x %u %*u %" SCNu64, local, remote,
                   &user, &inode) != 4 ||
            strcmp(local, own) != 0 || strcmp(remote, far) != 0 || !inode)
            continue;
        *ret = user;
        found = true;
    }
    if (f)
        (void)fclose(f);
    return found;
}

bool peer_user(int fd, uid_t *ret)
{
    struct ends e;
    enum found found;

    if (!find_ends(fd, &e))
        return false;
    found = peer_user_from_proc ? NOT_SAID : ask_kernel(&e, ret);
    return found == NOT_SAID ? read_table(&e, ret) : found == FOUND;
}
