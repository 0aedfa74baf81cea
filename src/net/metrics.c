/* metrics.c - see metrics.h. */
#include "net/metrics.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static int64_t resident_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    long long pages = 0;

    if (f) {
        if (fscanf(f, "%*s %lld", &pages) != 1)
            pages = 0;
        (void)fclose(f);
    }
    return pages * sysconf(_SC_PAGESIZE);
}

static double cpu_seconds(void)
{
    struct rusage u = {0};

    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

void metrics_add(struct buf *out, const char *name, const char *type, const char *help,
                 double value)
{
    buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name, value);
}

void metrics_add_process(struct buf *out)
{
    metrics_add(out, "process_cpu_seconds_total", "counter", "CPU time used.", cpu_seconds());
    metrics_add(out, "process_resident_memory_bytes", "gauge", "Memory in use.",
                (double)resident_bytes());
}
