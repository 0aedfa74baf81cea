/*
 * usage_net.c - network bytes per pod. Pods share the machine's network, so the kernel has no
 * counters per pod; but it can run a program for every packet that a group's socket sends or
 * receives (cgroup_skb): nine instructions that add the packet's length to a counter. bpf(2)
 * suffices, without tools or libraries.
 *
 * The programs live as long as the group: a restarted daemon finds them, and their counters,
 * through the group, so nothing is counted twice and nothing is lost meanwhile.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/usage.h"

#define PROGRAM_NAME "muster_bytes"

static long bpf(enum bpf_cmd command, union bpf_attr *attr)
{
    return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static int make_counter(void)
{
    union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY,
                           .key_size = sizeof(uint32_t),
                           .value_size = sizeof(uint64_t),
                           .max_entries = 1};

    memcpy(attr.map_name, PROGRAM_NAME, sizeof(PROGRAM_NAME));
    return (int)bpf(BPF_MAP_CREATE, &attr);
}

/* counter[0] += packet length; let the packet pass. BPF_LD and BPF_K are 0 and left out. */
static int load_program(int counter_fd, enum bpf_attach_type direction)
{
    const struct bpf_insn code[] = {
        /* r6 = the packet */
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_6, .src_reg = BPF_REG_1},
        /* the key 0, on the stack */
        {.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4, .imm = 0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10},
        {.code = BPF_ALU64 | BPF_ADD, .dst_reg = BPF_REG_2, .imm = -4},
        /* r1 = the counter (two slots) */
        {.code = BPF_DW | BPF_IMM,
         .dst_reg = BPF_REG_1,
         .src_reg = BPF_PSEUDO_MAP_FD,
         .imm = counter_fd},
        {.code = 0},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
        {.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 2, .imm = 0},
        {.code = BPF_LDX | BPF_MEM | BPF_W,
         .dst_reg = BPF_REG_1,
         .src_reg = BPF_REG_6,
         .off = offsetof(struct __sk_buff, len)},
        {.code = BPF_STX | BPF_ATOMIC | BPF_DW,
         .dst_reg = BPF_REG_0,
         .src_reg = BPF_REG_1,
         .imm = BPF_ADD},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_CGROUP_SKB,
                           .insn_cnt = ELEMS(code),
                           .insns = address(code),
                           .license = address("Apache-2.0"),
                           .expected_attach_type = direction};

    memcpy(attr.prog_name, PROGRAM_NAME, sizeof(PROGRAM_NAME));
    return (int)bpf(BPF_PROG_LOAD, &attr);
}

static int attach_counter(int group_fd, enum bpf_attach_type direction)
{
    int counter_fd = make_counter();
    int program_fd = counter_fd < 0 ? -1 : load_program(counter_fd, direction);
    union bpf_attr attr = {.target_fd = (uint32_t)group_fd,
                           .attach_bpf_fd = (uint32_t)program_fd,
                           .attach_type = direction,
                           .attach_flags = BPF_F_ALLOW_MULTI};
    long rc = program_fd < 0 ? -1 : bpf(BPF_PROG_ATTACH, &attr);

    if (program_fd >= 0)
        (void)close(program_fd); /* the group holds it */
    if (rc == 0)
        return counter_fd;
    if (counter_fd >= 0)
        (void)close(counter_fd);
    return -1;
}

/* The counter of our program on the group; -1 when there is none. */
static int counter_of_program(uint32_t id)
{
    union bpf_attr by_id = {.prog_id = id};
    int program_fd = (int)bpf(BPF_PROG_GET_FD_BY_ID, &by_id), fd = -1;
    uint32_t map_id = 0;
    struct bpf_prog_info info = {.nr_map_ids = 1, .map_ids = address(&map_id)};
    union bpf_attr ask = {
        .info = {.bpf_fd = (uint32_t)program_fd, .info_len = sizeof(info), .info = address(&info)}};

    if (program_fd < 0)
        return -1;
    if (bpf(BPF_OBJ_GET_INFO_BY_FD, &ask) == 0 && info.nr_map_ids == 1 &&
        strcmp(info.name, PROGRAM_NAME) == 0) {
        union bpf_attr map = {.map_id = map_id};

        fd = (int)bpf(BPF_MAP_GET_FD_BY_ID, &map);
    }
    (void)close(program_fd);
    return fd;
}

static int find_counter(int group_fd, enum bpf_attach_type direction)
{
    uint32_t ids[16] = {0};
    union bpf_attr attr = {.query = {.target_fd = (uint32_t)group_fd,
                                     .attach_type = direction,
                                     .prog_ids = address(ids),
                                     .prog_cnt = ELEMS(ids)}};
    int fd = -1;

    if (bpf(BPF_PROG_QUERY, &attr) != 0)
        return -1;
    for (uint32_t i = 0; i < attr.query.prog_cnt && i < ELEMS(ids) && fd < 0; i++)
        fd = counter_of_program(ids[i]);
    return fd;
}

static int open_counter(int group_fd, enum bpf_attach_type direction)
{
    int fd = find_counter(group_fd, direction);

    return fd >= 0 ? fd : attach_counter(group_fd, direction);
}

bool usage_net_open(struct usage_net *n, const char *folder)
{
    int group_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    *n = (struct usage_net){.rx_fd = -1, .tx_fd = -1};
    if (group_fd < 0)
        return false;
    n->rx_fd = open_counter(group_fd, BPF_CGROUP_INET_INGRESS);
    if (n->rx_fd >= 0)
        n->tx_fd = open_counter(group_fd, BPF_CGROUP_INET_EGRESS);
    (void)close(group_fd);
    if (n->tx_fd < 0)
        usage_net_close(n);
    return n->tx_fd >= 0;
}

void usage_net_close(struct usage_net *n)
{
    if (n->rx_fd >= 0)
        (void)close(n->rx_fd);
    if (n->tx_fd >= 0)
        (void)close(n->tx_fd);
    n->rx_fd = n->tx_fd = -1;
}

static bool read_counter(int fd, uint64_t *ret)
{
    uint32_t key = 0;
    union bpf_attr attr = {.map_fd = (uint32_t)fd, .key = address(&key), .value = address(ret)};

    return fd >= 0 && bpf(BPF_MAP_LOOKUP_ELEM, &attr) == 0;
}

bool usage_net_read(const struct usage_net *n, uint64_t *ret_rx, uint64_t *ret_tx)
{
    return read_counter(n->rx_fd, ret_rx) && read_counter(n->tx_fd, ret_tx);
}
