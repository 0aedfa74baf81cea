/* descriptors.h - how many descriptors this process may have open, and how many it might at first:
 * that is what the programs it starts are to have. */
#ifndef MUSTER_LOOP_DESCRIPTORS_H
#define MUSTER_LOOP_DESCRIPTORS_H

#include <stdint.h>

/* Raises the soft limit to wanted, or as far as the hard one lets it. */
void descriptors_raise(uint64_t wanted);
/* The soft limit before the first of those calls. */
uint64_t descriptors_before(void);

#endif
