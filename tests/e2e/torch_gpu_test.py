#!/usr/bin/python3
"""tests/gpu/check.sh, which is for machines with GPUs, on stand-ins for NVIDIA's two libraries: so that what it checks is
checked everywhere, and the script is known to work when such a machine is at hand."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import gpu_stand_in
import harness

CUDA = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int count(void)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int n = list && *list;
    for (; list && *list; list++) n += *list == ',';
    return n;
}
int cuInit(unsigned f) { return count() ? 0 : 100; }
int cuDeviceGetCount(int *n) { *n = count(); return 0; }
int cuDeviceGetName(char *s, int l, int d) { strncpy(s, "NVIDIA Stand-In", l); return 0; }
int cuCtxCreate_v2(void **c, unsigned f, int d) { return 0; }
int cuMemAlloc_v2(void *p, size_t s) { return 0; }
int cuMemsetD32_v2(unsigned long p, unsigned v, size_t s) { return 0; }
int cuCtxSynchronize(void) { usleep(10000); return 0; }
"""


class Gpu(unittest.TestCase):
    def test_check(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-gpu-test-"))
        self.addCleanup(shutil.rmtree, folder, True)
        gpu_stand_in.write(folder)
        gpu_stand_in.compile_library(folder / "libcuda.so.1", CUDA)
        os.symlink(harness.BIN, folder / "muster")
        environment = dict(os.environ, LD_LIBRARY_PATH=str(folder), PATIENCE=str(harness.PATIENCE),
                           PATH=f"{harness.ROOT}/build/venv/bin:{os.environ['PATH']}")
        done = subprocess.run([str(harness.ROOT / "tests/gpu/check.sh"), str(folder)], env=environment, text=True,
                              capture_output=True, timeout=harness.PATIENCE * 4)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the second job waits and says why: waiting for resources: needs 2 GPU, 0 of 2 GPU is free",
                      done.stdout)
        self.assertIn("1.94 GPUs busy, 2048 MiB", done.stdout)


if __name__ == "__main__":
    harness.main()
