/*
 * list.h - doubly linked lists of structs that have typed members prev and next; the head points to
 * the first item, and both ends are NULL. Iterate with a plain loop over next.
 *
 * Macros, so that the members keep their type and no cast is needed.
 */
#ifndef MUSTER_BASE_LIST_H
#define MUSTER_BASE_LIST_H

#include <stddef.h>

/* Inserts item, which must not be in a list, at the front. */
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

/* Removes item from its list. Its own members stay valid, so a loop may continue from it. */
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
