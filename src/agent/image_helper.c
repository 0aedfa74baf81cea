/*
 * image_helper.c - see image_helper.h.
 *
 * The binary looks for its libraries in ../lib/muster (Makefile). Its copy names another dynamic
 * linker, in place of the machine's name for it. A folder is complete when it has its name, and is
 * never changed: containers of an older binary keep theirs.
 */
#include "agent/image_helper.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/file.h"

#define LINKER "/lib/ld.so" /* in the folder */
#define LIBRARIES "/lib/muster"
/* Loaded on first use (net/curl_library.h), and therefore not listed otherwise. */
#define LIST_COMMAND                                                                               \
    "LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=libcurl-gnutls.so.4 \"$MUSTER_LISTED\" 2>/dev/null"

static int copy_file(const char *from, const char *to, mode_t mode)
{
    int in = open(from, O_RDONLY | O_CLOEXEC), rc = in < 0 ? -errno : 0;
    int out = rc == 0 ? open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode) : -1;
    ssize_t n = 1;

    if (rc == 0 && out < 0)
        rc = -errno;
    while (rc == 0 && n > 0) {
        n = sendfile(out, in, NULL, 1u << 30);
        rc = n < 0 ? -errno : 0;
    }
    file_close(&in);
    file_close(&out);
    return rc;
}

/* Names the linker in the folder. */
static int set_linker(const char *path)
{
    static const char linker[] = IMAGE_HELPER_PLACE LINKER;
    int fd = open(path, O_RDWR | O_CLOEXEC), rc = fd < 0 ? -errno : -ENOEXEC;
    Elf64_Ehdr head;
    Elf64_Phdr part;

    if (fd >= 0 && pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64)
        for (size_t i = 0; i < head.e_phnum && rc == -ENOEXEC; i++) {
            off_t at = (off_t)(head.e_phoff + i * head.e_phentsize);

            if (pread(fd, &part, sizeof(part), at) == (ssize_t)sizeof(part) &&
                part.p_type == PT_INTERP && part.p_filesz >= sizeof(linker))
                rc = pwrite(fd, linker, sizeof(linker), (off_t)part.p_offset) ==
                             (ssize_t)sizeof(linker)
                         ? 0
                         : -EIO;
        }
    file_close(&fd);
    return rc;
}

/* Lines "libuv.so.1 => /lib/x86_64-linux-gnu/libuv.so.1 (0x...)" and "/lib64/ld-... (0x...)". */
static int copy_libraries(struct arena *a, const char *exe, const char *folder)
{
    char line[1024], name[256], path[512];
    bool has_linker = false;
    FILE *f;
    int rc = setenv("MUSTER_LISTED", exe, 1) == 0 ? 0 : -ENOMEM;

    f = rc == 0 ? popen(LIST_COMMAND, "re") : NULL; // NOLINT(cert-env33-c): a constant
    while (f && rc == 0 && fgets(line, sizeof(line), f)) {
        if (sscanf(line, " %255s => %511s", name, path) == 2 && path[0] == '/') {
            const char *slash = strrchr(name, '/');

            rc = copy_file(path,
                           arena_printf(a, "%s" LIBRARIES "/%s", folder, slash ? slash + 1 : name),
                           0755);
        } else if (sscanf(line, " %511s (", path) == 1 && path[0] == '/') {
            const char *base = strrchr(path, '/') + 1;
            bool linker = strncmp(base, "ld-", 3) == 0;

            rc = copy_file(path,
                           linker ? arena_printf(a, "%s" LINKER, folder)
                                  : arena_printf(a, "%s" LIBRARIES "/%s", folder, base),
                           0755);
            has_linker = has_linker || linker;
        }
    }
    if (f)
        (void)pclose(f);
    (void)unsetenv("MUSTER_LISTED");
    return rc == 0 && !has_linker ? -ENOENT : rc;
}

static int fill(struct arena *a, const char *exe, const char *folder)
{
    const char *copy = arena_printf(a, "%s/bin/muster", folder);
    mode_t mask = umask(0);
    int rc = copy ? file_make_dirs(arena_printf(a, "%s/bin", folder), 0755) : -ENOMEM;

    if (rc == 0)
        rc = file_make_dirs(arena_printf(a, "%s" LIBRARIES, folder), 0755);
    if (rc == 0)
        rc = copy_file(exe, copy, 0755);
    if (rc == 0)
        rc = set_linker(copy);
    if (rc == 0)
        rc = copy_libraries(a, exe, folder);
    (void)umask(mask);
    return rc;
}

int image_helper_make(struct arena *a, const char *data, const char *exe, const char **ret,
                      struct err *err)
{
    const char *tmp = arena_printf(a, "%s/helper/tmp", data);
    struct stat st;
    int rc = tmp && stat(exe, &st) == 0 ? 0 : tmp ? -errno : -ENOMEM;

    if (rc == 0) {
        *ret = arena_printf(a, "%s/helper/%" PRIx64 "-%" PRIx64, data, (uint64_t)st.st_mtim.tv_sec,
                            (uint64_t)st.st_size);
        if (*ret && access(*ret, F_OK) == 0)
            return 0;
        (void)file_remove_tree(tmp);
        rc = *ret ? fill(a, exe, tmp) : -ENOMEM;
    }
    if (rc == 0 && rename(tmp, *ret) != 0)
        rc = -errno;
    return rc == 0 ? 0
                   : err_set(err, ERR_INTERNAL, "muster cannot be copied for images: %s",
                             strerror(-rc));
}
