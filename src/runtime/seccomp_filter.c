/*
 * seccomp_filter.c - see rights.h. Container runtimes allow a list of some 350 calls; the calls
 * they leave out hardly ever change, and this file lists those. A call unknown to it is allowed, as
 * without a filter.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/rights.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH_... is this?"
#endif

#define X32_CALLS 0x40000000u /* a second set of numbers for the same calls */
#define NEVER (-1)
#define NEW_NAMESPACES                                                                             \
    (CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |     \
     CLONE_NEWCGROUP)

static const struct {
    unsigned call;
    int capability; /* that permits it; or NEVER */
} forbidden[] = {
    {SYS_acct, CAP_SYS_PACCT},
    {SYS_add_key, NEVER},
    {SYS_bpf, CAP_SYS_ADMIN},
    {SYS_clock_adjtime, CAP_SYS_TIME},
    {SYS_clock_settime, CAP_SYS_TIME},
    {SYS_delete_module, CAP_SYS_MODULE},
    {SYS_fanotify_init, CAP_SYS_ADMIN},
    {SYS_finit_module, CAP_SYS_MODULE},
    {SYS_fsconfig, CAP_SYS_ADMIN},
    {SYS_fsmount, CAP_SYS_ADMIN},
    {SYS_fsopen, CAP_SYS_ADMIN},
    {SYS_fspick, CAP_SYS_ADMIN},
    {SYS_get_mempolicy, CAP_SYS_NICE},
    {SYS_init_module, CAP_SYS_MODULE},
    {SYS_io_uring_enter, NEVER},
    {SYS_io_uring_register, NEVER},
    {SYS_io_uring_setup, NEVER},
    {SYS_kcmp, CAP_SYS_PTRACE},
    {SYS_kexec_file_load, CAP_SYS_BOOT},
    {SYS_kexec_load, CAP_SYS_BOOT},
    {SYS_keyctl, NEVER},
    {SYS_lookup_dcookie, CAP_SYS_ADMIN},
    {SYS_mbind, CAP_SYS_NICE},
    {SYS_mount, CAP_SYS_ADMIN},
    {SYS_mount_setattr, CAP_SYS_ADMIN},
    {SYS_move_mount, CAP_SYS_ADMIN},
    {SYS_move_pages, CAP_SYS_NICE},
    {SYS_nfsservctl, NEVER},
    {SYS_open_by_handle_at, CAP_DAC_READ_SEARCH},
    {SYS_open_tree, CAP_SYS_ADMIN},
    {SYS_perf_event_open, CAP_SYS_ADMIN},
    {SYS_pivot_root, NEVER},
    {SYS_quotactl, CAP_SYS_ADMIN},
    {SYS_reboot, CAP_SYS_BOOT},
    {SYS_request_key, NEVER},
    {SYS_set_mempolicy, CAP_SYS_NICE},
    {SYS_setns, CAP_SYS_ADMIN},
    {SYS_settimeofday, CAP_SYS_TIME},
    {SYS_swapoff, NEVER},
    {SYS_swapon, NEVER},
    {SYS_syslog, CAP_SYSLOG},
    {SYS_umount2, CAP_SYS_ADMIN},
    {SYS_unshare, CAP_SYS_ADMIN},
    {SYS_userfaultfd, NEVER},
    {SYS_vhangup, CAP_SYS_TTY_CONFIG},
#if defined(__x86_64__)
    {SYS__sysctl, NEVER},
    {SYS_create_module, NEVER},
    {SYS_get_kernel_syms, NEVER},
    {SYS_ioperm, CAP_SYS_RAWIO},
    {SYS_iopl, CAP_SYS_RAWIO},
    {SYS_query_module, NEVER},
    {SYS_sysfs, NEVER},
    {SYS_uselib, NEVER},
    {SYS_ustat, NEVER},
#endif
};

#define FILTER_LIMIT (2 * ELEMS(forbidden) + 32)
#define WORD(member) (unsigned)offsetof(struct seccomp_data, member)
#define LOAD(offset) (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define ANSWER(value) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, value)
#define REFUSE(number) ANSWER(SECCOMP_RET_ERRNO | (number))
/* Skips n statements unless, or if, the accumulator equals value. */
#define SKIP_UNLESS(value, n) (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n)
#define SKIP_UNLESS_ANY(bits, n)                                                                   \
    (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, n)
#define SKIP_UNLESS_FROM(value, n)                                                                 \
    (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, 0, n)

static bool has(uint64_t capabilities, int capability)
{
    return capability != NEVER && (capabilities >> capability & 1);
}

/* Arguments have 64 bits; the relevant ones are in the lower half. */
static size_t add_by_argument(struct sock_filter *f, uint64_t capabilities)
{
    size_t n = 0;

    if (!has(capabilities, CAP_SYS_ADMIN)) {
        f[n++] = SKIP_UNLESS(SYS_clone, 4);
        f[n++] = LOAD(WORD(args[0]));
        f[n++] = SKIP_UNLESS_ANY(NEW_NAMESPACES, 1);
        f[n++] = REFUSE(EPERM);
        f[n++] = ANSWER(SECCOMP_RET_ALLOW);
        /* Its flags are in memory, which filters cannot see; libraries then use clone. */
        f[n++] = SKIP_UNLESS(SYS_clone3, 1);
        f[n++] = REFUSE(ENOSYS);
    }
    f[n++] = SKIP_UNLESS(SYS_socket, 4);
    f[n++] = LOAD(WORD(args[0]));
    f[n++] = SKIP_UNLESS(AF_VSOCK, 1);
    f[n++] = REFUSE(EPERM);
    f[n++] = ANSWER(SECCOMP_RET_ALLOW);
    return n;
}

int seccomp_filter_install(uint64_t capabilities)
{
    struct sock_filter f[FILTER_LIMIT];
    struct sock_fprog program = {.filter = f};
    size_t n = 0;

    f[n++] = LOAD(WORD(arch));
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0);
    f[n++] = REFUSE(ENOSYS);
    f[n++] = LOAD(WORD(nr));
    f[n++] = SKIP_UNLESS_FROM(X32_CALLS, 1);
    f[n++] = REFUSE(ENOSYS);
    for (size_t i = 0; i < ELEMS(forbidden); i++)
        if (!has(capabilities, forbidden[i].capability)) {
            f[n++] = SKIP_UNLESS(forbidden[i].call, 1);
            f[n++] = REFUSE(EPERM);
        }
    n += add_by_argument(f + n, capabilities);
    f[n++] = ANSWER(SECCOMP_RET_ALLOW);
    program.len = (unsigned short)n;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : -errno;
}
