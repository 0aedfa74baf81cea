/*
 * image_gpus.c - see image_gpus.h.
 *
 * A library is mounted under the name that programs load it by, into the folder in which the
 * image's own dynamic linker looks without a cache.
 */
#include "agent/image_gpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/volumes.h"
#include "runtime/image_root.h"

#define GPUS_FOLDER "/proc/driver/nvidia/gpus"
#define LIBRARIES_COMMAND "/sbin/ldconfig -p 2>/dev/null"
#define LIBRARIES_LIMIT 64
#define GPUS_LIMIT 64

/* Beginnings of the names of what belongs to the driver. */
static const char *const library_names[] = {
    "libcuda.so",           "libcudadebugger.so",  "libnvidia-ml.so",
    "libnvidia-cfg.so",     "libnvidia-nvvm.so",   "libnvidia-ptxjitcompiler.so",
    "libnvidia-gpucomp.so", "libnvidia-opencl.so", "libnvidia-allocator.so",
    "libnvidia-pkcs11"};

static const char *const programs[] = {"nvidia-smi", "nvidia-debugdump", "nvidia-cuda-mps-control",
                                       "nvidia-cuda-mps-server"};

/* Where an image keeps its libraries: the first that it has. */
static const char *const library_folders[] = {
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"};

static bool is_wanted(const char *name)
{
    for (size_t i = 0; i < ELEMS(library_names); i++)
        if (strncmp(name, library_names[i], strlen(library_names[i])) == 0)
            return true;
    return false;
}

static const char *library_folder(struct arena *a, const struct container_start *c)
{
    for (size_t i = 0; i < ELEMS(library_folders); i++) {
        const char *path = arena_printf(a, "%s/" IMAGE_ROOT_FOLDER "%s", c->image,
                                        library_folders[i]);

        if (path && access(path, F_OK) == 0)
            return library_folders[i];
    }
    return library_folders[ELEMS(library_folders) - 1];
}

/* The first of several wins, as it does for the linker. */
static void add_file(struct arena *a, struct container_start *c, const char *source,
                     const char *target)
{
    for (size_t i = 0; target && i < c->mounts_len; i++)
        if (strcmp(c->mounts[i].target, target) == 0)
            return;
    if (source && target)
        container_mount_add(
            a, c,
            &(struct container_mount){
                .source = source, .target = target, .volume = "nvidia-driver", .read_only = true});
}

static void add_program(struct arena *a, struct container_start *c, const char *name)
{
    const char *dirs = getenv("PATH");
    size_t n;

    for (; dirs && *dirs; dirs += n + (dirs[n] == ':')) {
        const char *path;

        n = strcspn(dirs, ":");
        path = arena_printf(a, "%.*s/%s", (int)n, dirs, name);
        if (path && path[0] == '/' && access(path, X_OK) == 0)
            add_file(a, c, path, arena_printf(a, "/usr/bin/%s", name));
    }
}

/* From the dynamic linker's cache: "	libcuda.so.1 (libc6,x86-64) => /usr/lib/.../libcuda.so.1" */
static void add_libraries(struct arena *a, struct container_start *c)
{
    const char *folder = library_folder(a, c);
    FILE *f = popen(LIBRARIES_COMMAND, "re"); // NOLINT(cert-env33-c): a constant
    char line[1024], name[256], kind[256], path[512];
    size_t n = 0;

    while (f && n < LIBRARIES_LIMIT && fgets(line, sizeof(line), f))
        if (sscanf(line, " %255s (%255[^)]) => %511s", name, kind, path) == 3 && is_wanted(name) &&
            strstr(kind, "64")) {
            add_file(a, c, arena_strdup(a, path), arena_printf(a, "%s/%s", folder, name));
            n++;
        }
    if (f)
        (void)pclose(f);
}

static int by_address(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

/* The device's number of each GPU, in the order of their addresses, which is the order of indexes;
 * returns how many. */
static size_t read_devices(int numbers[GPUS_LIMIT])
{
    struct dirent **list = NULL;
    int n = scandir(GPUS_FOLDER, &list, NULL, by_address);
    size_t len = 0;

    for (int i = 0; i < n; i++) {
        char path[512], line[256];
        FILE *f;

        (void)snprintf(path, sizeof(path), GPUS_FOLDER "/%.255s/information", list[i]->d_name);
        f = list[i]->d_name[0] != '.' && len < GPUS_LIMIT ? fopen(path, "re") : NULL;
        if (f) {
            numbers[len] = (int)len;
            while (fgets(line, sizeof(line), f))
                if (strncmp(line, "Device Minor:", 13) == 0)
                    numbers[len] = (int)strtol(line + 13, NULL, 10);
            (void)fclose(f);
            len++;
        }
        free(list[i]);
    }
    free(list);
    return len;
}

static const char *device_numbers(struct arena *a, const char *indexes)
{
    int numbers[GPUS_LIMIT];
    size_t len = read_devices(numbers), n;
    const char *out = "";

    for (; *indexes && out; indexes += n + (indexes[n] == ',')) {
        size_t index = strtoul(indexes, NULL, 10);

        n = strcspn(indexes, ",");
        out = arena_printf(a, "%s%s%zu", out, *out ? "," : "",
                           index < len ? (size_t)numbers[index] : index);
    }
    return out;
}

void image_gpus_add(struct arena *a, struct container_start *c)
{
    if (!c->gpus || !*c->gpus)
        return;
    c->gpus = device_numbers(a, c->gpus);
    add_libraries(a, c);
    for (size_t i = 0; i < ELEMS(programs); i++)
        add_program(a, c, programs[i]);
}
