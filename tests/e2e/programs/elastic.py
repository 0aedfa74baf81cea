"""Trains a very small model under elastic torchrun until the file `finish` appears beside it.

Every start says which nodes' processes are in the group and where training goes on, so that a test sees groups
grow and shrink; the checkpoint carries the step over.
"""
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

CHECKPOINT, FINISH = pathlib.Path("checkpoint.pt"), pathlib.Path("finish")


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    state = {"step": 0}
    torch.manual_seed(1)
    model = torch.nn.Linear(4, 1)
    if CHECKPOINT.exists():
        state = torch.load(CHECKPOINT)
        model.load_state_dict(state["model"])
    # All must start from the same step: rank 0's counts.
    box = [state["step"]]
    dist.broadcast_object_list(box, src=0)
    step = box[0]
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.01)
    print(f"group of {size}: rank {rank} goes on from step {step}", flush=True)
    done = False
    while not done:
        x = torch.randn(8, 4)
        loss = ((parallel(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if rank == 0 and step % 5 == 0:
            torch.save({"step": step, "model": model.state_dict()}, "checkpoint.part")
            os.replace("checkpoint.part", CHECKPOINT)
        votes = torch.tensor([float(FINISH.exists())])
        dist.all_reduce(votes)  # they stop at the same step
        done = votes.item() == size
        time.sleep(0.05)
    if rank == 0:
        error = (model.weight - 1).abs().max().item()
        print(f"finished with {size} after step {step}, error {error:.4f}", flush=True)


try:
    main()
except RuntimeError as error:
    sys.exit(f"lost the group: {str(error).splitlines()[0]}")
