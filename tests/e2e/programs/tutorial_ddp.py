"""What the DDP tutorial's script asks of its surroundings, in a few steps: its options and environment, gloo over
MASTER_ADDR, tensors through /dev/shm, a model and a log in the working folder."""
import argparse
import os
import pathlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--backend", choices=["gloo", "nccl", "mpi"], default="gloo")
parser.add_argument("--log_dir")
parser.add_argument("--save_path")
parser.add_argument("--no_cuda", action="store_true")
options = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(1)
dist.init_process_group(options.backend, init_method="env://")
rank, world = dist.get_rank(), dist.get_world_size()
assert int(os.environ["LOCAL_RANK"]) == rank

model = DistributedDataParallel(torch.nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01 * world)
inputs = torch.randn(256, 16)
labels = (inputs.sum(1) > 0).long()
inputs.share_memory_()  # a file in /dev/shm
for step in range(30):
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
accuracy = (model(inputs).argmax(1) == labels).float().mean().item()
print(f"rank {rank} of {world} as user {os.getuid()} in {os.getcwd()}: accuracy {accuracy:.2f}", flush=True)
assert accuracy > 0.8
if rank == 0:
    pathlib.Path(options.log_dir).mkdir(exist_ok=True)
    (pathlib.Path(options.log_dir) / "done").write_text(f"{accuracy}\n")
    torch.save(model.module.state_dict(), options.save_path)
dist.destroy_process_group()
