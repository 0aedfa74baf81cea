/* replica_names.h - names of a job's children. Part of the public interface. */
#ifndef MUSTER_CORE_REPLICA_NAMES_H
#define MUSTER_CORE_REPLICA_NAMES_H

#include "base/arena.h"

#define HASH5_SIZE 6

/* The first five hex digits of FNV-1a-64 over name and uid: tells a job from earlier ones of the
 * same name. */
void replica_hash5(const char *job_name, const char *job_uid, char out[HASH5_SIZE]);
/* <job>-<hash5>-<type>-<index> */
const char *replica_name(struct arena *a, const char *job_name, const char *hash5, const char *type,
                         int64_t index);

#endif
