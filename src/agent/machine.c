/* machine.c - see machine.h. What cannot be determined stays empty: none of it is worth failing
 * for. */
#include "agent/machine.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/nvml.h"
#include "runtime/cgroup.h"

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
    int64_t total = 0;
    FILE *f = fopen("/proc/meminfo", "re");

    while (f && total == 0 && fgets(line, sizeof(line), f))
        if (strncmp(line, "MemTotal:", 9) == 0)
            total = strtoll(line + 9, NULL, 10) * 1024;
    if (f)
        (void)fclose(f);
    return total;
}

/* Applies the limits of a container around us. */
static void apply_limits(struct machine *m)
{
    int64_t cpu, memory;

    cgroup_own_limits("", &cpu, &memory);
    if (cpu > 0)
        m->cpu_milli = min_i64(m->cpu_milli, cpu);
    if (memory > 0)
        m->memory_bytes = min_i64(m->memory_bytes, memory);
}

static int64_t cpu_count(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return CPU_COUNT(&set);
    return max_i64(1, sysconf(_SC_NPROCESSORS_ONLN));
}

/* /dev/nvidia0, /dev/nvidia1 ...: one per GPU, besides other files. */
static int64_t count_gpu_files(void)
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

/* Label values consist of letters, digits, dashes, dots and underscores. */
static void set_product(struct machine *m, const char *name)
{
    size_t n = 0;

    for (; *name && n < sizeof(m->gpu_product) - 1 && n < 63; name++)
        m->gpu_product[n++] = isalnum((unsigned char)*name) || *name == '.' ? *name : '-';
    while (n > 0 && !isalnum((unsigned char)m->gpu_product[n - 1]))
        n--;
    m->gpu_product[n] = '\0';
}

/* From the driver's library, or else from the device files. */
static void read_gpus(struct machine *m)
{
    struct nvml *nvml = nvml_open(NULL);
    struct nvml_device first = {.name = ""}, other;

    if (!nvml) {
        m->gpus = count_gpu_files();
        return;
    }
    m->gpus = (int64_t)nvml_count(nvml);
    if (m->gpus > 0 && nvml_device_read(nvml, 0, &first)) {
        set_product(m, first.name);
        m->gpu_memory_mib = first.memory_total_bytes >> 20;
    }
    for (size_t i = 1; i < (size_t)m->gpus; i++)
        if (nvml_device_read(nvml, i, &other) && strcmp(first.name, other.name) != 0)
            m->gpu_product[0] = '\0';
    if (m->gpus > 1)
        m->links.len = (size_t)m->gpus;
    for (size_t i = 0; i < m->links.len; i++)
        for (size_t j = 0; j < m->links.len; j++)
            m->links.distance[i][j] = (uint8_t)nvml_distance(nvml, i, j);
    nvml_close(nvml);
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

/* Node names are lower case; host names need not be. */
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

    *m = (struct machine){
        .cpu_milli = cpu_count() * 1000, .memory_bytes = memory_total(), .arch = "unknown"};
    apply_limits(m);
    read_gpus(m);
    m->gpus = min_i64(m->gpus, GPUS_PER_NODE_LIMIT);
    m->gpu_set = m->gpus == GPUS_PER_NODE_LIMIT ? UINT64_MAX : (UINT64_C(1) << m->gpus) - 1;
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
