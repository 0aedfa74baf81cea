#!/usr/bin/env python3
"""train.py - data-parallel training of a small image classifier on Fashion-MNIST with Horovod.

Started by mpirun, one process per slot; alone (`python train.py`) it is a group of one. Horovod takes rank and size from
MPI; every process looks at its own share of the images, and gradients are averaged over all of them at each step.
"""

import argparse
import gzip
import os
import sys
import time

import horovod.torch as hvd
import numpy
import torch
import torch.nn.functional as F
from torch import nn

DATA = "/usr/share/datasets/fashion-mnist"
MEAN, DEVIATION = 0.2860, 0.3530  # of the training images' pixels


def options():
    parser = argparse.ArgumentParser(description="Train a small network on Fashion-MNIST with Horovod.")
    parser.add_argument("--data", default=DATA, metavar="DIR", help="folder of the idx files (default: %(default)s)")
    parser.add_argument("--log_dir", metavar="DIR", help="write TensorBoard event files there")
    parser.add_argument("--no_cuda", action="store_true", help="use the CPU also where there is a GPU")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64, help="images per step and process (default: %(default)s)")
    parser.add_argument("--lr", type=float, default=0.001, help="for one process (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=60000, metavar="N", help="train on the first N images only")
    parser.add_argument("--log-every", type=int, default=50, metavar="STEPS")
    return parser.parse_args()


def load(folder, which):
    """Images and labels of "train" or "t10k" as tensors. An idx file is a header of 4 bytes and 4 per dimension, then
    plain bytes."""
    def content(name, header):
        path = os.path.join(folder, f"{which}-{name}-ubyte")
        with gzip.open(path + ".gz") if os.path.exists(path + ".gz") else open(path, "rb") as file:
            return numpy.frombuffer(file.read(), numpy.uint8, offset=header).copy()

    images = torch.from_numpy(content("images-idx3", 16)).reshape(-1, 1, 28, 28)
    return images, torch.from_numpy(content("labels-idx1", 8)).long()


def network():
    return nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(32 * 49, 64), nn.ReLU(), nn.Linear(64, 10))


def scaled(images, device):
    return images.to(device).float().div(255).sub(MEAN).div(DEVIATION)


def accuracy(model, images, labels, device):
    """Over all images; each process looks at every size-th one."""
    mine = torch.arange(hvd.rank(), len(labels), hvd.size())
    right = 0
    with torch.no_grad():
        for index in mine.split(500):
            right += (model(scaled(images[index], device)).argmax(1).cpu() == labels[index]).sum().item()
    return hvd.allreduce(torch.tensor(float(right)), op=hvd.Sum, name="right").item() / len(labels)


def open_curves(folder):
    """Only the first process writes curves, and only where it is asked to and can."""
    if not folder or hvd.rank() != 0:
        return None
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        print("no curves: they need the package tensorboard", file=sys.stderr)
        return None
    return SummaryWriter(folder)


class Trainer:
    def __init__(self, opts):
        self.opts = opts
        self.device = torch.device("cuda", hvd.local_rank()) if torch.cuda.is_available() and not opts.no_cuda \
            else torch.device("cpu")
        self.model = network().to(self.device)
        # Each step sees size times as many images: it may be longer.
        inner = torch.optim.Adam(self.model.parameters(), lr=opts.lr * hvd.size() ** 0.5)
        hvd.broadcast_parameters(self.model.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(inner, root_rank=0)
        self.optimizer = hvd.DistributedOptimizer(inner, named_parameters=self.model.named_parameters())
        self.curves = open_curves(opts.log_dir)
        self.step = 0

    def say(self, text):
        if hvd.rank() == 0:
            print(text, flush=True)

    def draw(self, tag, value):
        if self.curves:
            self.curves.add_scalar(tag, value, self.step)
            self.curves.flush()

    def epoch(self, number, images, labels):
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(number))
        batches = order[hvd.rank()::hvd.size()].split(self.opts.batch_size)
        steps = len(labels) // hvd.size() // self.opts.batch_size  # the same in every process
        total, since = 0.0, time.monotonic()
        for done, index in enumerate(batches[:steps], 1):
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(scaled(images[index], self.device)), labels[index].to(self.device))
            loss.backward()
            self.optimizer.step()
            self.step += 1
            total += loss.item()
            if done % self.opts.log_every == 0:
                rate = self.opts.log_every * self.opts.batch_size * hvd.size() / (time.monotonic() - since)
                self.say(f"epoch {number + 1}/{self.opts.epochs} step {done}/{steps} "
                         f"loss {total / self.opts.log_every:.4f} ({rate:.0f} img/s)")
                self.draw("train/loss", total / self.opts.log_every)
                total, since = 0.0, time.monotonic()


def main():
    opts = options()
    hvd.init()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    trainer = Trainer(opts)
    images, labels = load(opts.data, "train")
    trainer.say(f"training on {min(opts.limit, len(labels))} images with {hvd.size()} processes on {trainer.device.type}")
    for number in range(opts.epochs):
        trainer.epoch(number, images[:opts.limit], labels[:opts.limit])
    result = accuracy(trainer.model, *load(opts.data, "t10k"), trainer.device)
    trainer.draw("test/accuracy", result)
    trainer.say(f"test accuracy: {result:.4f}")


if __name__ == "__main__":
    main()
