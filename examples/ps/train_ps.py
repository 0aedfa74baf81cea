#!/usr/bin/env python3
"""train_ps.py - training with a parameter server, over torch.distributed.rpc.

Rank 0 is the parameter server: it alone has the model, the optimizer and the count of steps. The other ranks are
workers: each sends the gradients of one batch and gets back the newest parameters and the number of its next
batch, without waiting for the other workers. A slow worker so does less and holds up nobody, and gradients may
be a few steps old when they arrive: what a parameter server gives and what it costs.

Which images a batch holds follows from its number and the seed alone. So the server's checkpoint is the whole
state of the run, and workers have nothing to remember: after a restart of all, training goes on from it.

Needs RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, and PyTorch.
"""

import argparse
import gzip
import os
import struct
import sys
import threading
import time

os.environ.setdefault("GLOG_minloglevel", "1")  # Debian's PyTorch tells of every thread it ends

import torch  # noqa: E402
import torch.distributed.rpc as rpc  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

SERVER = "parameter_server"
ANSWER_WITHIN_S = 120


def parse_options():
    parser = argparse.ArgumentParser(description="Train a small network on Fashion-MNIST with a parameter server.")
    parser.add_argument("--data", default=os.environ.get("DATA", "/usr/share/datasets/fashion-mnist"), metavar="DIR",
                        help="folder of the four idx files, .gz or not (default: $DATA, else %(default)s)")
    parser.add_argument("--out", default=os.environ.get("OUTPUT", "out"), metavar="DIR",
                        help="where checkpoint.pt and model.pt are written (default: $OUTPUT, else out)")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=60000, metavar="N", help="train on the first N images only")
    parser.add_argument("--log-every", type=int, default=50, metavar="STEPS")
    parser.add_argument("--checkpoint-every", type=int, default=100, metavar="STEPS")
    parser.add_argument("--step-delay-ms", type=int, default=0, help="make every step slower, to have time to look")
    return parser.parse_args()


def say(text):
    sys.stdout.write(text + "\n")  # one write per line
    sys.stdout.flush()


# ---- data and model

def read_idx(folder, name):
    """An array from an idx file: type and number of dimensions, their sizes, then the bytes."""
    path = os.path.join(folder, name)
    opener = open
    if not os.path.exists(path):
        path, opener = path + ".gz", gzip.open
    with opener(path, "rb") as file:
        content = bytearray(file.read())
    dimensions = content[3]
    shape = struct.unpack_from(f">{dimensions}I", content, 4)
    return torch.frombuffer(content, dtype=torch.uint8, offset=4 + 4 * dimensions).reshape(shape)


def load(folder, which):
    return read_idx(folder, f"{which}-images-idx3-ubyte"), read_idx(folder, f"{which}-labels-idx1-ubyte").long()


def as_input(images):
    return images.unsqueeze(1).float().div_(255).sub_(0.2860).div_(0.3530)


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, kernel_size=3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, 10))


class Batches:
    """Step number to image numbers, the same for every worker."""

    def __init__(self, options):
        self.options = options
        self.per_epoch = options.limit // options.batch_size
        self.total = self.per_epoch * options.epochs
        self.epoch, self.order = None, None

    def of(self, step):
        epoch, place = divmod(step, self.per_epoch)
        if epoch != self.epoch:
            generator = torch.Generator().manual_seed(self.options.seed * 1_000_003 + epoch)
            self.epoch, self.order = epoch, torch.randperm(self.options.limit, generator=generator)
        return self.order[place * self.options.batch_size:(place + 1) * self.options.batch_size]


# ---- the parameter server

class Server:
    """Lives on rank 0. Workers call it by RPC, several at a time, hence the lock."""

    def __init__(self, options):
        torch.manual_seed(options.seed)
        self.options = options
        self.total = Batches(options).total
        self.lock = threading.Lock()
        self.model = make_model()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=options.lr)
        self.applied = 0      # gradients that have arrived
        self.checkpoint = os.path.join(options.out, "checkpoint.pt")
        os.makedirs(options.out, exist_ok=True)
        self.restore()
        self.next_step = self.applied

    def restore(self):
        try:
            state = torch.load(self.checkpoint, weights_only=True)
        except FileNotFoundError:
            return
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(
            {"state": state["moments"], "param_groups": self.optimizer.state_dict()["param_groups"]})
        self.applied = state["applied"]
        say(f"resumed from checkpoint at step {self.applied} of {self.total}")

    def keep(self):
        part = self.checkpoint + ".part"
        with open(part, "wb") as file:
            # Of the optimizer only what it has learned: its settings are the options of whoever goes on.
            torch.save({"model": self.model.state_dict(), "moments": self.optimizer.state_dict()["state"],
                        "applied": self.applied}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.checkpoint)

    def exchange(self, gradients):
        """Takes gradients in (None: a worker's first call), gives parameters and the next step out (None: done)."""
        with self.lock:
            if gradients is not None:
                self.apply(gradients)
            if self.next_step >= self.total:
                return None
            self.next_step += 1
            return self.next_step - 1, [p.detach().clone() for p in self.model.parameters()]

    def apply(self, gradients):
        for parameter, gradient in zip(self.model.parameters(), gradients):
            parameter.grad = gradient
        self.optimizer.step()
        self.applied += 1
        if self.applied % self.options.checkpoint_every == 0:
            self.keep()

    def accuracy(self):
        images, labels = load(self.options.data, "t10k")
        with torch.no_grad():
            right = sum((self.model(as_input(images[i])).argmax(1) == labels[i]).sum().item()
                        for i in torch.arange(len(labels)).split(500))
        return right / len(labels)


server = None


def exchange(gradients):
    """What workers call: it runs in the server's process, where `server` is set."""
    return server.exchange(gradients)


def serve(options, size):
    global server
    server = Server(options)  # before anyone can call
    join(SERVER, 0, size, threads=max(4, size))
    say(f"serving parameters to {size - 1} workers, {server.total - server.applied} steps to go")
    rpc.shutdown()  # returns when all workers have come here, too
    server.keep()
    torch.save(server.model.state_dict(), os.path.join(options.out, "model.pt"))
    say(f"test accuracy: {server.accuracy():.4f}")


# ---- a worker

def work(options, rank, size):
    images, labels = load(options.data, "train")
    batches = Batches(options)
    model = make_model()
    join(f"worker_{rank}", rank, size, threads=2)
    say(f"worker {rank} of {size - 1} has joined")
    gradients, mine, loss_sum = None, 0, 0.0
    while True:
        answer = rpc.rpc_sync(SERVER, exchange, args=(gradients,), timeout=ANSWER_WITHIN_S)
        if answer is None:
            break
        step, parameters = answer
        with torch.no_grad():
            for own, new in zip(model.parameters(), parameters):
                own.copy_(new)
        index = batches.of(step)
        model.zero_grad()
        loss = F.cross_entropy(model(as_input(images[index])), labels[index])
        loss.backward()
        gradients = [p.grad for p in model.parameters()]
        mine, loss_sum = mine + 1, loss_sum + loss.item()
        if mine % options.log_every == 0:
            say(f"worker {rank}: {mine} steps, now at step {step + 1} of {batches.total}, "
                f"loss {loss_sum / options.log_every:.4f}")
            loss_sum = 0.0
        if options.step_delay_ms:
            time.sleep(options.step_delay_ms / 1000)
    say(f"worker {rank} is done after {mine} steps")
    rpc.shutdown()


# ---- the group

def join(name, rank, size, threads):
    rpc.init_rpc(name, rank=rank, world_size=size, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(
        init_method="env://", num_worker_threads=threads, rpc_timeout=ANSWER_WITHIN_S))


def main():
    options = parse_options()
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if size < 2:
        sys.exit("a parameter server needs at least one worker: WORLD_SIZE is 1")
    torch.set_num_threads(1)
    if rank == 0:
        serve(options, size)
    else:
        work(options, rank, size)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # all is said and written; what RPC's threads still hold must not keep the process
