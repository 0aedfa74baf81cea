/*
 * share.h - what one account may hold of something that has a ceiling: an eighth of it. A quarter
 * is kept for the owner, so that all others together do not shut him out.
 */
#ifndef MUSTER_BASE_SHARE_H
#define MUSTER_BASE_SHARE_H

#include "base/base.h"

struct share {
    size_t limit;
    size_t all, accounts, own; /* held in all, by callers other than the owner, by this caller */
};

enum share_left { SHARE_LEFT, SHARE_OWN_USED, SHARE_ALL_USED };

static inline size_t share_of_account(size_t limit)
{
    return limit / 8;
}

static inline enum share_left share_ask(const struct share *s, bool owner)
{
    if (!owner && s->own >= share_of_account(s->limit))
        return SHARE_OWN_USED;
    if (s->all >= s->limit || (!owner && s->accounts >= s->limit - s->limit / 4))
        return SHARE_ALL_USED;
    return SHARE_LEFT;
}

#endif
