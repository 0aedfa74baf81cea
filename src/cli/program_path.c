/* program_path.c - see program_path.h. */
#include "cli/program_path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

bool program_is_executable(const char *path)
{
    struct stat st;

    return path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *program_find(struct arena *a, const char *name)
{
    const char *dirs = getenv("PATH");

    for (dirs = dirs ? dirs : DEFAULT_PATH; *dirs; dirs += *dirs == ':') {
        size_t n = strcspn(dirs, ":");
        const char *path = arena_printf(a, "%.*s/%s", (int)n, dirs, name);

        if (n > 0 && program_is_executable(path))
            return path;
        dirs += n;
    }
    return NULL;
}
