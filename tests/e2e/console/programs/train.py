"""Trains a very small model with DistributedDataParallel, writes its loss to TensorBoard event files, and goes on until the
file named by --until appears: the browser test looks around meanwhile."""
import argparse
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "examples/ddp"))
from eventfile import EventWriter  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--log_dir", required=True)
parser.add_argument("--until", required=True, type=pathlib.Path)
options = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
writer = EventWriter(options.log_dir) if rank == 0 else None
print(f"rank {rank} of {world} begins", flush=True)
step, done = 0, False
while not done:
    x = torch.randn(16, 8)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}" if rank == 0 else f"step {step} done", flush=True)
        if writer:
            writer.add_scalar("train/loss", loss.item(), step)
            writer.flush()
    step += 1
    votes = torch.tensor([float(options.until.exists())])
    dist.all_reduce(votes)  # they stop at the same step
    done = votes.item() == world
    time.sleep(0.05)
print(f"rank {rank}: trained {step} steps", flush=True)
if writer:
    writer.close()
