/* program_path.h - programs in PATH. */
#ifndef MUSTER_CLI_PROGRAM_PATH_H
#define MUSTER_CLI_PROGRAM_PATH_H

#include "base/arena.h"

bool program_is_executable(const char *path);
/* The path of the first one in PATH, in the arena; NULL: none. */
const char *program_find(struct arena *a, const char *name);

#endif
