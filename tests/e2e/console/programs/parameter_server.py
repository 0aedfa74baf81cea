"""A parameter server and its workers over torch's RPC; each worker adds to the server's weights until the file named by
--until appears."""
import argparse
import os
import pathlib
import time

import torch
from torch.distributed import rpc

parser = argparse.ArgumentParser()
parser.add_argument("--until", required=True, type=pathlib.Path)
options = parser.parse_args()

torch.set_num_threads(1)
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
weights = torch.zeros(4)


def add(gradient):
    weights.add_(gradient)
    return weights.clone()


rpc.init_rpc("parameter_server" if rank == 0 else f"worker_{rank}", rank=rank, world_size=world)
print("parameter server is up" if rank == 0 else f"worker {rank} is up", flush=True)
while rank and not options.until.exists():
    latest = rpc.rpc_sync("parameter_server", add, args=(torch.ones(4),))
    print(f"worker {rank}: weight {latest[0].item():.0f}", flush=True)
    time.sleep(0.2)
rpc.shutdown()
print(f"rank {rank} leaves", flush=True)
