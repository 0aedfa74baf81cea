"""train.py - the smallest training that shows everything: a line fitted by gradient descent, without any library.

Each replica prints its loss, writes a curve and stops early when told how many steps. RANK and WORLD_SIZE come from muster.
"""
import argparse
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ddp"))
from eventfile import EventWriter  # noqa: E402

options = argparse.ArgumentParser()
options.add_argument("--lr", type=float, default=0.1)
options.add_argument("--steps", type=int, default=50)
options.add_argument("--pause", type=float, default=0.0, help="seconds between steps")
options.add_argument("--fail-at", type=int, default=-1, help="exit with 1 at this step")
options = options.parse_args()
rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))

random.seed(rank)
points = [(x, 3 * x + 1 + random.gauss(0, 0.1)) for x in (random.random() for _ in range(200))]
a = b = 0.0
curve = EventWriter(f"log/{os.environ.get('MUSTER_JOB_NAME', 'run')}/rank{rank}")
for step in range(options.steps):
    if step == options.fail_at:
        sys.exit(1)
    errors = [(a * x + b - y, x) for x, y in points]
    loss = sum(e * e for e, _ in errors) / len(errors)
    a -= options.lr * 2 * sum(e * x for e, x in errors) / len(errors)
    b -= options.lr * 2 * sum(e for e, _ in errors) / len(errors)
    curve.add_scalar("loss", loss, step)
    if step % 10 == 0:
        print(f"rank {rank} of {size}: step {step} loss {loss:.4f}", flush=True)
    time.sleep(options.pause)
curve.close()
print(f"y = {a:.2f} x + {b:.2f}")
