"""Two GPUs for a machine that has none: a stand-in for the library by which the driver tells of them."""
import subprocess

MANAGEMENT = """
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(i + 1L); return 0; }
int nvmlDeviceGetName(void *d, char *s, unsigned n) { strncpy(s, "NVIDIA Stand-In", n); return 0; }
int nvmlDeviceGetUUID(void *d, char *s, unsigned n) { strncpy(s, "GPU-1", n); return 0; }
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m) { m[0] = 4ULL << 30; m[1] = 3ULL << 30; m[2] = 1ULL << 30; return 0; }
int nvmlDeviceGetUtilizationRates(void *d, unsigned *u) { u[0] = 97; u[1] = 10; return 0; }
"""


def compile_library(path, source):
    subprocess.run(["cc", "-w", "-x", "c", "-shared", "-fPIC", "-o", str(path), "-"], input=source, text=True, check=True)


def write(folder):
    """A process with the folder in its LD_LIBRARY_PATH finds two GPUs."""
    compile_library(folder / "libnvidia-ml.so.1", MANAGEMENT)
