/*
 * peer_user.h - the user of the process at the other end of a loopback connection, as the kernel
 * reports it for that socket (by sock_diag if available, else /proc/net/tcp).
 */
#ifndef MUSTER_NET_PEER_USER_H
#define MUSTER_NET_PEER_USER_H

#include <sys/types.h>

#include "base/base.h"

/* False: not on this machine, or its process has closed it. */
bool peer_user(int fd, uid_t *ret) must_check;
/* For tests: behaves as if the kernel had no sock_diag. */
extern bool peer_user_from_proc;

#endif
