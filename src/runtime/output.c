/*
 * output.c - see output.h.
 *
 * If a process is killed in a read, bytes have left the pipe and it is unknown how many. So they
 * are first spliced into a second pipe that only the group writes: the difference to the recorded
 * number is in the block's memory. The block stays there until a log state that contains it (by its
 * number) is the valid one; a new worker repeats the same step, with the same stamp, at the same
 * position of the file.
 */
#include "runtime/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Once no writer is left, at most one pipe's capacity is still read. */
#define DRAIN_MOVES 32

static struct group_slot *slot_of(const struct output *o)
{
    return &o->group->memory->slots[o->container];
}

const struct group_log *output_log(const struct output *o)
{
    const struct group_slot *slot = slot_of(o);

    return &slot->logs[slot->log_at];
}

static struct group_log *other_log(const struct output *o)
{
    struct group_slot *slot = slot_of(o);

    return &slot->logs[!slot->log_at];
}

static void commit(const struct output *o)
{
    struct group_slot *slot = slot_of(o);

    slot->log_at = !slot->log_at;
}

void output_init(struct output *o, struct group *g, size_t container)
{
    struct cri_limits limits = {.segment_bytes = g->pod.log_file_bytes,
                                .segments = (uint32_t)g->pod.log_files};

    o->group = g;
    o->container = (uint32_t)container;
    cri_writer_init(&o->writer, g->dir_fd, g->pod.containers[container].name, output_log(o)->run,
                    limits);
}

void output_release(struct output *o)
{
    cri_writer_release(&o->writer);
}

void output_begin_run(struct output *o, uint32_t run)
{
    const struct group_log *now = output_log(o);
    struct group_log *next = other_log(o);

    if (now->run != run) {
        next->run = run;
        next->block = now->block;
        next->words = (struct last_words){.raw_len = 0};
        next->cri.segment = 0;
        next->cri.size = 0;
        next->cri.lost_bytes = next->cri.told_bytes = 0;
        for (int i = 0; i < CRI_STREAMS; i++)
            next->cri.pending[i].len = 0;
        commit(o);
    }
    if (o->writer.run != run) {
        struct cri_limits limits = o->writer.limits;

        cri_writer_release(&o->writer);
        cri_writer_init(&o->writer, o->group->dir_fd, o->writer.name, run, limits);
    }
    cri_writer_open(&o->writer, output_log(o)->cri.segment);
}

/* --- one block --- */

/* The block is completely in memory. */
static void write_block(struct output *o)
{
    struct group_memory *m = o->group->memory;
    const struct group_log *now = output_log(o);
    struct group_log *next = other_log(o);

    if (now->block != m->block) {
        next->run = now->run;
        next->block = m->block;
        next->words = now->words;
        cri_writer_feed(&o->writer, &now->cri, &next->cri, (enum cri_stream)m->stream, m->data,
                        m->len, m->sec, m->nsec);
        if (m->stream == CRI_STDERR)
            last_words_feed(&next->words, m->data, m->len);
        commit(o);
    }
    m->len = 0;
}

/* Reads the rest of the block from the staging pipe. */
static void read_staged(struct group *g, uint32_t have)
{
    struct group_memory *m = g->memory;

    while (have < m->len) {
        ssize_t n = read(g->staging[0], m->data + have, m->len - have);

        if (n > 0)
            have += (uint32_t)n;
        else if (n == 0 || errno != EINTR)
            break;
    }
    if (have < m->len)
        m->len = have;
}

static void note_block(struct group_memory *m, uint32_t len)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    m->sec = now.tv_sec;
    m->nsec = now.tv_nsec;
    m->block++;
    atomic_store(&m->len, len);
}

bool output_move(struct output *o, enum cri_stream s)
{
    struct group *g = o->group;
    struct group_memory *m = g->memory;
    ssize_t n;

    m->container = o->container;
    m->stream = s;
    atomic_thread_fence(memory_order_seq_cst);
    n = splice(g->pipes[o->container][s][0], NULL, g->staging[1], NULL, GROUP_BLOCK_BYTES,
               SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (n <= 0)
        return false;
    note_block(m, (uint32_t)n);
    read_staged(g, 0);
    write_block(o);
    return true;
}

static struct group_log *prepare_next(const struct output *o)
{
    const struct group_log *now = output_log(o);
    struct group_log *next = other_log(o);

    next->run = now->run;
    next->block = now->block;
    next->words = now->words;
    return next;
}

static void end_lines(struct output *o)
{
    struct group_log *next = prepare_next(o);
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    cri_writer_end(&o->writer, &output_log(o)->cri, &next->cri, t.tv_sec, t.tv_nsec);
    commit(o);
}

static bool has_gap(const struct output *o)
{
    return output_log(o)->cri.lost_bytes > output_log(o)->cri.told_bytes;
}

void output_end(struct output *o)
{
    const struct group_log *now;

    for (int s = 0; s < CRI_STREAMS; s++)
        for (int i = 0; i < DRAIN_MOVES; i++)
            if (!output_move(o, (enum cri_stream)s))
                break;
    now = output_log(o);
    if (now->cri.pending[CRI_STDOUT].len + now->cri.pending[CRI_STDERR].len > 0 || has_gap(o))
        end_lines(o);
    if (has_gap(o) &&
        cri_writer_make_room(&o->writer, &output_log(o)->cri, &prepare_next(o)->cri)) {
        commit(o);
        end_lines(o);
        cri_writer_cut(&o->writer, &output_log(o)->cri);
    }
}

void output_recover(struct group *g, struct output *all)
{
    struct group_memory *m = g->memory;
    int left = 0;

    (void)ioctl(g->staging[0], FIONREAD, &left);
    if (m->len == 0 && left == 0)
        return;
    if (m->len == 0)
        note_block(m, (uint32_t)min_i64(left, GROUP_BLOCK_BYTES));
    read_staged(g, m->len - (uint32_t)min_i64(left, m->len));
    write_block(&all[m->container]);
}
