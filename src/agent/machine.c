/* machine.c - see machine.h. What cannot be found out stays empty: none of it is worth failing for.
 */
#include "agent/machine.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const struct {
    const char *kernel_name, *go_name;
} architectures[] = {
    {"x86_64", "amd64"}, {"aarch64", "arm64"},   {"riscv64", "riscv64"},
    {"i686", "386"},     {"ppc64le", "ppc64le"}, {"s390x", "s390x"},
};

static void read_line(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "re");

    out[0] = '\0';
    if (!f)
        return;
    if (!fgets(out, (int)size, f))
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    (void)fclose(f);
}

static int64_t memory_total(void)
{
    char line[256];
    int64_t total = 0, limit;
    FILE *f = fopen("/proc/meminfo", "re");

    while (f && total == 0 && fgets(line, sizeof(line), f))
        if (strncmp(line, "MemTotal:", 9) == 0)
            total = strtoll(line + 9, NULL, 10) * 1024;
    if (f)
        (void)fclose(f);
    read_line("/sys/fs/cgroup/memory.max", line, sizeof(line)); /* absent at the root: no limit */
    limit = strtoll(line, NULL, 10);
    return limit > 0 && limit < total ? limit : total;
}

static int64_t cpu_count(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return CPU_COUNT(&set);
    return max_i64(1, sysconf(_SC_NPROCESSORS_ONLN));
}

/* /dev/nvidia0, /dev/nvidia1 ...: there is one per GPU, and others beside them. */
static int64_t gpu_count(void)
{
    DIR *d = opendir("/dev");
    const struct dirent *e;
    int64_t n = 0;

    while (d && (e = readdir(d)) != NULL) {
        const char *digits = e->d_name + 6;

        if (strncmp(e->d_name, "nvidia", 6) == 0 && *digits &&
            digits[strspn(digits, "0123456789")] == '\0')
            n++;
    }
    if (d)
        (void)closedir(d);
    return n;
}

static void read_os_image(char *out, size_t size)
{
    static const char key[] = "PRETTY_NAME=";
    char line[512];
    FILE *f = fopen("/etc/os-release", "re");

    (void)snprintf(out, size, "Linux");
    while (f && fgets(line, sizeof(line), f)) {
        char *value = line + strlen(key);

        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        value += *value == '"';
        value[strcspn(value, "\"\n")] = '\0';
        (void)snprintf(out, size, "%.*s", (int)size - 1, value);
        break;
    }
    if (f)
        (void)fclose(f);
}

/* Node names are lower case; a host's name may not be. */
static void read_host_name(char *out, size_t size)
{
    if (gethostname(out, size - 1) != 0 || !out[0])
        (void)snprintf(out, size, "localhost");
    out[size - 1] = '\0';
    for (char *p = out; *p; p++)
        *p = (char)tolower((unsigned char)*p);
}

void machine_read(struct machine *m)
{
    struct utsname u;

    *m = (struct machine){.cpus = cpu_count(),
                          .memory_bytes = memory_total(),
                          .gpus = gpu_count(),
                          .arch = "unknown"};
    read_host_name(m->host_name, sizeof(m->host_name));
    read_line("/etc/machine-id", m->machine_id, sizeof(m->machine_id));
    read_line("/proc/sys/kernel/random/boot_id", m->boot_id, sizeof(m->boot_id));
    read_os_image(m->os_image, sizeof(m->os_image));
    if (uname(&u) != 0)
        return;
    (void)snprintf(m->kernel, sizeof(m->kernel), "%s", u.release);
    for (size_t i = 0; i < ELEMS(architectures); i++)
        if (strcmp(u.machine, architectures[i].kernel_name) == 0)
            m->arch = architectures[i].go_name;
}
