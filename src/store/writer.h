/* writer.h - the thread that commits. Changes go in and come back settled, in order; nothing else
 * is shared. */
#ifndef MUSTER_STORE_WRITER_H
#define MUSTER_STORE_WRITER_H

#include "store/change.h"
#include "store/database.h"

struct writer;

/* The writer uses d until writer_finish. on_back is called on the loop when changes have come
 * back. */
struct writer *writer_new(struct loop *l, struct database *d, void (*on_back)(void *arg), void *arg,
                          struct err *err) must_check;
/* Empties list. Whatever is queued when the writer gets to it becomes one transaction. */
void writer_send(struct writer *w, struct change_list *list);
/* Changes that came back, each marked failed or not. If some failed, *ret_failure says why. */
void writer_receive(struct writer *w, struct change_list *ret,
                    struct database_failure *ret_failure);
/* Whether the disk has no room for new objects. */
bool writer_disk_is_full(struct writer *w);
/* Waits until everything sent has come back and ends the thread. */
void writer_finish(struct writer *w);
void writer_free(struct writer *w);

#endif
