/*
 * peer_user.h - whose process is at the other end of a connection over the loopback. The kernel
 * knows it of the socket there (sock_diag, where it has that, else /proc/net/tcp).
 */
#ifndef MUSTER_NET_PEER_USER_H
#define MUSTER_NET_PEER_USER_H

#include <sys/types.h>

#include "base/base.h"

/* False: it is not of this machine, or its process has closed it. */
bool peer_user(int fd, uid_t *ret) must_check;
/* For tests: as where the kernel has no sock_diag. */
extern bool peer_user_from_proc;

#endif
