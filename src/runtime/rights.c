/* rights.c - see rights.h. */
#include "runtime/rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool rights_can_be_others(void)
{
    unsigned inside, outside, count = 0;
    FILE *f = geteuid() == 0 ? fopen("/proc/self/uid_map", "re") : NULL;
    bool several = f && fscanf(f, "%u %u %u", &inside, &outside, &count) == 3 && count > 1;

    if (f)
        (void)fclose(f);
    return several;
}

static int become(const struct container_identity *id, struct err *err)
{
    if (id->uid == geteuid() && id->gid == getegid() && id->groups_len == 0)
        return 0;
    if (setgroups(id->groups_len, id->groups) != 0 || setresgid(id->gid, id->gid, id->gid) != 0 ||
        setresuid(id->uid, id->uid, id->uid) != 0)
        return err_set(err, ERR_INVALID, "securityContext: cannot become user %u, group %u: %s",
                       id->uid, id->gid, strerror(errno));
    return 0;
}

/* Removes capabilities from the bounding set. False: not permitted. */
static bool bound_capabilities(uint64_t capabilities)
{
    for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        if (!(capabilities >> i & 1) && prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1 &&
            prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0)
            return false;
    return true;
}

static int drop_capabilities(uint64_t capabilities)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    if (syscall(SYS_capget, &header, data) != 0)
        return -errno;
    for (size_t i = 0; i < ELEMS(data); i++) {
        data[i].permitted &= (uint32_t)(capabilities >> (32 * i));
        data[i].effective &= data[i].permitted;
        data[i].inheritable = 0;
    }
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

static int failed(struct err *err, const char *what, int rc)
{
    return err_set(err, ERR_INTERNAL, "securityContext: %s: %s", what, strerror(-rc));
}

/* An ordinary user may install a filter only after giving up gaining privileges. */
static int filter_calls(const struct container_rights *r, struct err *err)
{
    int rc = seccomp_filter_install(r->capabilities);

    if (rc == -EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        rc = seccomp_filter_install(r->capabilities);
    return rc == 0 ? 0 : failed(err, "no filter of system calls", rc);
}

int rights_take(const struct container_start *c, struct err *err)
{
    const struct container_rights *r = &c->rights;
    bool no_new = r->no_new_privs;
    int rc = 0;

    if (r->filtered)
        rc = filter_calls(r, err);
    /* Until exec, other processes of its user must not be able to inspect us. */
    if (geteuid() == 0)
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (rc == 0 && r->bounded && !bound_capabilities(r->capabilities))
        no_new = true; /* equivalent, as we have none ourselves */
    if (rc == 0 && c->identity.wanted && rights_can_be_others())
        rc = become(&c->identity, err);
    if (rc == 0 && r->bounded) {
        rc = drop_capabilities(r->capabilities);
        rc = rc == 0 ? 0 : failed(err, "capabilities cannot be dropped", rc);
    }
    if (rc == 0 && no_new && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        rc = failed(err, "no_new_privs", -errno);
    return rc;
}
