/*
 * list.h - doubly linked lists of structs that have members prev and next of their own type; the
 * head is a pointer to the first, and NULL is at both ends. Walking one is a plain loop over next.
 *
 * Macros, so that the members keep their type and no cast is needed to walk.
 */
#ifndef MUSTER_BASE_LIST_H
#define MUSTER_BASE_LIST_H

#include <stddef.h>

/* Puts item, which is in no list, before the first. */
#define list_push(head, item)                                                                      \
    do {                                                                                           \
        __typeof__(head) list_head_ = (head);                                                      \
        __typeof__(item) list_item_ = (item);                                                      \
                                                                                                   \
        list_item_->prev = NULL;                                                                   \
        list_item_->next = *list_head_;                                                            \
        if (list_item_->next)                                                                      \
            list_item_->next->prev = list_item_;                                                   \
        *list_head_ = list_item_;                                                                  \
    } while (0)

/* Takes item out of the list it is in. Its own members stay: a loop may go on from it. */
#define list_remove(head, item)                                                                    \
    do {                                                                                           \
        __typeof__(head) list_head_ = (head);                                                      \
        __typeof__(item) list_item_ = (item);                                                      \
                                                                                                   \
        if (list_item_->next)                                                                      \
            list_item_->next->prev = list_item_->prev;                                             \
        if (list_item_->prev)                                                                      \
            list_item_->prev->next = list_item_->next;                                             \
        else                                                                                       \
            *list_head_ = list_item_->next;                                                        \
    } while (0)

#endif
