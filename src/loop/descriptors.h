/* descriptors.h - this process's limit of open descriptors, and the original one, which the
 * programs it starts get. */
#ifndef MUSTER_LOOP_DESCRIPTORS_H
#define MUSTER_LOOP_DESCRIPTORS_H

#include <stdint.h>

/* Raises the soft limit to wanted, or as close as the hard limit allows. */
void descriptors_raise(uint64_t wanted);
/* The soft limit before the first such call. */
uint64_t descriptors_before(void);

#endif
