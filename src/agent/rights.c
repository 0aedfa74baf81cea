/*
 * rights.c - see rights.h.
 *
 * An ordinary user's pods have only that user's rights, whatever they ask for: capabilities count
 * only in their own user namespace, and only for programs that are root there.
 */
#include "agent/rights.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPABILITY(name) ((uint64_t)1 << CAP_##name)

/* Docker's and containerd's defaults without NET_RAW: all pods are on one network here, and with it
 * a pod could forge others' packets. */
#define DEFAULT_CAPABILITIES                                                                       \
    (CAPABILITY(CHOWN) | CAPABILITY(DAC_OVERRIDE) | CAPABILITY(FSETID) | CAPABILITY(FOWNER) |      \
     CAPABILITY(MKNOD) | CAPABILITY(SETGID) | CAPABILITY(SETUID) | CAPABILITY(SETFCAP) |           \
     CAPABILITY(SETPCAP) | CAPABILITY(NET_BIND_SERVICE) | CAPABILITY(SYS_CHROOT) |                 \
     CAPABILITY(KILL) | CAPABILITY(AUDIT_WRITE))
#define ALL_CAPABILITIES UINT64_MAX

/* By number. */
static const char *const names[] = {"CHOWN",
                                    "DAC_OVERRIDE",
                                    "DAC_READ_SEARCH",
                                    "FOWNER",
                                    "FSETID",
                                    "KILL",
                                    "SETGID",
                                    "SETUID",
                                    "SETPCAP",
                                    "LINUX_IMMUTABLE",
                                    "NET_BIND_SERVICE",
                                    "NET_BROADCAST",
                                    "NET_ADMIN",
                                    "NET_RAW",
                                    "IPC_LOCK",
                                    "IPC_OWNER",
                                    "SYS_MODULE",
                                    "SYS_RAWIO",
                                    "SYS_CHROOT",
                                    "SYS_PTRACE",
                                    "SYS_PACCT",
                                    "SYS_ADMIN",
                                    "SYS_BOOT",
                                    "SYS_NICE",
                                    "SYS_RESOURCE",
                                    "SYS_TIME",
                                    "SYS_TTY_CONFIG",
                                    "MKNOD",
                                    "LEASE",
                                    "AUDIT_WRITE",
                                    "AUDIT_CONTROL",
                                    "SETFCAP",
                                    "MAC_OVERRIDE",
                                    "MAC_ADMIN",
                                    "SYSLOG",
                                    "WAKE_ALARM",
                                    "BLOCK_SUSPEND",
                                    "AUDIT_READ",
                                    "PERFMON",
                                    "BPF",
                                    "CHECKPOINT_RESTORE"};

uint64_t rights_own_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};

    if (syscall(SYS_capget, &header, data) != 0)
        return 0;
    return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

static int capability_of(const struct json *name, const char *list, uint64_t *ret, struct err *err)
{
    const char *text = json_string(name, "");
    const char *plain = strncasecmp(text, "CAP_", 4) == 0 ? text + 4 : text;

    *ret = strcasecmp(plain, "ALL") == 0 ? ALL_CAPABILITIES : 0;
    for (size_t i = 0; i < ELEMS(names); i++)
        if (strcasecmp(plain, names[i]) == 0)
            *ret = (uint64_t)1 << i;
    return *ret
               ? 0
               : err_set(err, ERR_INVALID,
                         "securityContext.capabilities.%s: no capability is called %s", list, text);
}

static int check_given(const struct json *name, uint64_t bits, const struct identity_machine *m,
                       struct err *err)
{
    if (m->uid != 0 || bits == ALL_CAPABILITIES || (bits & m->capabilities))
        return 0;
    return err_set(err, ERR_INVALID,
                   "securityContext.capabilities.add %s cannot be given: muster does not have it "
                   "itself",
                   json_string(name, ""));
}

/* drop ALL and add some keeps those; add ALL and drop some keeps the others. */
static int set_capabilities(const struct json *security, const struct identity_machine *m,
                            struct container_rights *r, struct err *err)
{
    const struct json *lists = json_get(security, "capabilities");
    uint64_t bits, added = 0, dropped = 0;
    int rc = 0;

    json_each (name, json_get(lists, "add")) {
        rc = rc == 0 ? capability_of(name, "add", &bits, err) : rc;
        rc = rc == 0 ? check_given(name, bits, m, err) : rc;
        added |= rc == 0 ? bits : 0;
    }
    json_each (name, json_get(lists, "drop")) {
        rc = rc == 0 ? capability_of(name, "drop", &bits, err) : rc;
        dropped |= rc == 0 ? bits : 0;
    }
    r->bounded = true;
    if (r->privileged || added == ALL_CAPABILITIES)
        r->capabilities = ALL_CAPABILITIES & ~(dropped == ALL_CAPABILITIES ? 0 : dropped);
    else if (dropped == ALL_CAPABILITIES)
        r->capabilities = added;
    else
        r->capabilities = (DEFAULT_CAPABILITIES & ~dropped) | added;
    r->capabilities &= m->uid == 0 ? m->capabilities : ALL_CAPABILITIES >> 1;
    return rc;
}

static int set_filter(const struct json *pod, const struct json *security,
                      struct container_rights *r, struct err *err)
{
    const struct json *profile = json_get(security, "seccompProfile");
    const char *type;

    if (json_is_null(profile))
        profile = json_at(pod, "spec", "securityContext", "seccompProfile");
    type = json_get_string(profile, "type", "Unconfined");
    if (strcmp(type, "Localhost") == 0)
        return err_set(err, ERR_INVALID,
                       "securityContext.seccompProfile.type Localhost: profiles of the machine "
                       "cannot be loaded here; use RuntimeDefault or Unconfined");
    r->filtered = strcmp(type, "RuntimeDefault") == 0 && !r->privileged;
    return 0;
}

static const char *note_of(struct arena *a, const struct json *container,
                           const struct json *security, const struct identity_machine *m,
                           const struct container_rights *r)
{
    const char *name = json_get_string(container, "name", "");

    if (m->uid == 0)
        return NULL;
    if (r->privileged)
        return arena_printf(
            a,
            "Container %s is privileged, but gets no more rights than user %u has, as "
            "whom muster runs",
            name, m->uid);
    if (json_len(json_at(security, "capabilities", "add")) > 0)
        return arena_printf(a,
                            "Capabilities added to container %s count only inside the pod's own "
                            "user namespace, if at all: muster runs as user %u",
                            name, m->uid);
    return NULL;
}

int rights_of(struct arena *a, const struct json *pod, const struct json *container,
              const struct identity_machine *m, struct container_rights *ret, const char **ret_note,
              struct err *err)
{
    const struct json *security = json_get(container, "securityContext");
    int rc;

    *ret = (struct container_rights){
        .privileged = json_get_bool(security, "privileged", false),
        .read_only_root = json_get_bool(security, "readOnlyRootFilesystem", false),
        .no_new_privs = !json_get_bool(security, "allowPrivilegeEscalation", true),
    };
    rc = set_capabilities(security, m, ret, err);
    if (rc == 0)
        rc = set_filter(pod, security, ret, err);
    if (rc == 0 && ret->read_only_root && m->obstacle)
        rc = err_set(err, ERR_INVALID, "securityContext.readOnlyRootFilesystem: %s", m->obstacle);
    *ret_note = rc == 0 ? note_of(a, container, security, m, ret) : NULL;
    return rc;
}
