"""What the parameter server tutorial's script asks of its surroundings, in a few steps: its options, RANK and
WORLD_SIZE, torch's RPC from four workers to the first replica, logs by worker and a model per worker."""
import argparse
import os
import pathlib

import torch
from torch.distributed import rpc

parser = argparse.ArgumentParser()
parser.add_argument("--log_dir")
parser.add_argument("--save_path")
parser.add_argument("--no_cuda", action="store_true")
options = parser.parse_args()

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
weights = torch.zeros(4)
torch.set_num_threads(1)


def add(gradient):
    weights.add_(gradient)
    return weights.clone()


if rank == 0:
    rpc.init_rpc("parameter_server", rank=rank, world_size=world)
    print("parameter server is up", flush=True)
else:
    print(f"Worker with rank {rank} initializing RPC", flush=True)
    rpc.init_rpc(f"worker_{rank}", rank=rank, world_size=world)
    print(f"Worker with rank {rank} done initializing RPC", flush=True)
    for _ in range(10):
        latest = rpc.rpc_sync("parameter_server", add, args=(torch.ones(4),))
    folder = pathlib.Path(options.log_dir, f"worker_{rank}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "done").write_text(f"{latest[0].item()}\n")
    torch.save(latest, f"{options.save_path}.{rank}")
rpc.shutdown()
print(f"rank {rank} leaves, the sum is {weights[0].item():.0f}", flush=True)
