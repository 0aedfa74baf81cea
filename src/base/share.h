/*
 * share.h - how much of a limited resource one account may hold: an eighth. A quarter is reserved
 * for the owner, so that the other accounts together cannot lock the owner out; pages of one
 * program acting for the owner get at most a quarter.
 */
#ifndef MUSTER_BASE_SHARE_H
#define MUSTER_BASE_SHARE_H

#include <string.h>

#include "base/base.h"

struct share {
    size_t limit;
    size_t all, accounts, own; /* held in total, by callers other than the owner, and by this
                                * caller */
    size_t program;            /* by pages of the same program, for any viewer */
};

enum share_left { SHARE_LEFT, SHARE_OWN_USED, SHARE_ALL_USED };

static inline size_t share_of_account(size_t limit)
{
    return limit / 8;
}

/* Counts one item held for held_user and held_program ("": none) towards the share of user and
 * program. User "" is the owner. */
static inline void share_count(struct share *s, const char *held_user, const char *held_program,
                               const char *user, const char *program)
{
    s->all++;
    s->accounts += *held_user != '\0';
    s->own += strcmp(held_user, user) == 0;
    s->program += *program && strcmp(held_program, program) == 0;
}

static inline enum share_left share_ask(const struct share *s, bool owner)
{
    if (!owner && s->own >= share_of_account(s->limit))
        return SHARE_OWN_USED;
    if (s->program >= s->limit / 4)
        return SHARE_OWN_USED;
    if (s->all >= s->limit || (!owner && s->accounts >= s->limit - s->limit / 4))
        return SHARE_ALL_USED;
    return SHARE_LEFT;
}

#endif
