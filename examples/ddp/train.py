#!/usr/bin/env python3
"""train.py - DistributedDataParallel training of a small image classifier on Fashion-MNIST.

Runs as one process (`python train.py`), as several that find each other through RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT, and under torchrun. Needs PyTorch, nothing else.

A run can be killed at any time and started again: it goes on from its last checkpoint, and ends as if it had
not been interrupted (to the last bit with one worker; with several, the order in which gradients are added up
may differ). Nothing random is kept in a generator between steps; the order of the images follows from the
seed and the epoch alone. So the position in the data, counted in images seen by all workers together, is all
there is to remember besides the model and its momentum, and a run may even go on with another number of workers.
"""

import argparse
import datetime
import gzip
import os
import re
import signal
import struct
import sys
import threading
import time
import traceback
import zipfile


def leave_on_sigterm():
    """SIGTERM is best left alone: the kernel then ends this process at once, whatever it waits for, and a
    checkpoint half written is no harm, as it has not got its name yet. But the first process of a container
    (number 1) gets no signal it has not asked for. There a thread asks; a handler would have to wait for the
    main thread, which may be waiting for a worker that is gone."""
    def wait():
        signal.sigwait({signal.SIGTERM})
        os._exit(128 + signal.SIGTERM)

    if os.getpid() == 1:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=wait, daemon=True).start()


leave_on_sigterm()  # before torch starts threads, so that all of them have the signal blocked

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

CLASSES = 10
VALIDATION = 12  # one in so many images of the training set is kept for validation
PEER_TIMEOUT = datetime.timedelta(minutes=2)


def parse_options():
    parser = argparse.ArgumentParser(description="Train a small network on Fashion-MNIST with"
                                                 " DistributedDataParallel.")
    parser.add_argument("--data", default=os.environ.get("DATA", "/usr/share/datasets/fashion-mnist"), metavar="DIR",
                        help="folder of the four idx files, .gz or not (default: $DATA, else %(default)s)")
    parser.add_argument("--out", default=os.environ.get("OUTPUT", "out"), metavar="DIR",
                        help="where everything is written (default: $OUTPUT, else out)")
    parser.add_argument("--checkpoint", metavar="FILE", help="default: OUT/checkpoint.pt")
    parser.add_argument("--log-dir", metavar="DIR", help="TensorBoard event files; default: OUT/log")
    parser.add_argument("--save", metavar="FILE", help="the trained model's state; default: OUT/model.pt")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=64, help="images per step and worker (default: %(default)s)")
    parser.add_argument("--lr", type=float, default=0.05, help="learning rate for 64 images a step (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, metavar="N", help="train on the first N images only")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads per worker (default: %(default)s)")
    parser.add_argument("--log-every", type=int, default=50, metavar="STEPS")
    parser.add_argument("--checkpoint-every", type=int, default=100, metavar="STEPS",
                        help="besides after every epoch (default: %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="do not go on from an existing checkpoint")
    parser.add_argument("--step-delay-ms", type=int, default=0, help="make every step slower, to have time to look")
    options = parser.parse_args()
    for name in ("epochs", "batch_size", "log_every", "checkpoint_every", "threads"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    options.checkpoint = options.checkpoint or os.path.join(options.out, "checkpoint.pt")
    options.log_dir = options.log_dir or os.path.join(options.out, "log")
    options.save = options.save or os.path.join(options.out, "model.pt")
    return options


# ---- the group of workers

class Group:
    """This process among the workers."""

    def __init__(self):
        # Without these this is a plain `python train.py`: a group of one.
        for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "0")):
            os.environ.setdefault(name, value)
        self.rank = int(os.environ["RANK"])
        self.size = int(os.environ["WORLD_SIZE"])
        # With several workers in one log a line has to say whose it is.
        self.prefix = f"[rank {self.rank}] " if int(os.environ.get("LOCAL_WORLD_SIZE", "1")) > 1 else ""

    def join(self):
        dist.init_process_group("gloo", timeout=PEER_TIMEOUT)

    def say(self, text, file=None):
        # One write per line, so that lines of several processes do not mix.
        file = file or sys.stdout
        file.write(f"{self.prefix}{text}\n")
        file.flush()

    def warn(self, text):
        self.say(f"warning: {text}", file=sys.stderr)

    def from_first(self, value):
        """The value that rank 0 has."""
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def sum(self, *values):
        total = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(total)
        return total.tolist()


# ---- the data

def read_idx(folder, name):
    """An array from an idx file: two zero bytes, the type (8: bytes), the number of dimensions, their sizes
    as big-endian 32-bit numbers, then the bytes."""
    path = os.path.join(folder, name)
    opener = open
    if not os.path.exists(path):
        path, opener = path + ".gz", gzip.open
    with opener(path, "rb") as file:
        content = bytearray(file.read())
    zeros, kind, dimensions = struct.unpack_from(">HBB", content)
    if zeros != 0 or kind != 8:
        raise ValueError(f"{path}: not an idx file of bytes")
    shape = struct.unpack_from(f">{dimensions}I", content, 4)
    return torch.frombuffer(content, dtype=torch.uint8, offset=4 + 4 * dimensions).reshape(shape)


class Images:
    """Images and labels in memory, as bytes until a batch is asked for."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def batch(self, index):
        # 0.2860 and 0.3530: mean and deviation of the training images' pixels
        pixels = self.images[index].unsqueeze(1).float().div_(255).sub_(0.2860).div_(0.3530)
        return pixels, self.labels[index].long()

    def part(self, start, end):
        return Images(self.images[start:end], self.labels[start:end])

    @staticmethod
    def load(folder, which):
        return Images(read_idx(folder, f"{which}-images-idx3-ubyte"), read_idx(folder, f"{which}-labels-idx1-ubyte"))


def order_of(epoch, count, seed):
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    return torch.randperm(count, generator=generator)


# ---- the model

def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, kernel_size=3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, CLASSES))


def evaluate(group, model, data):
    """Loss and accuracy over the whole of data; every worker looks at its share."""
    loss = right = 0.0
    with torch.no_grad():
        for index in torch.arange(group.rank, len(data), group.size).split(500):
            pixels, labels = data.batch(index)
            scores = model(pixels)
            loss += F.cross_entropy(scores, labels, reduction="sum").item()
            right += (scores.argmax(1) == labels).sum().item()
    loss, right = group.sum(loss, right)
    return loss / len(data), right / len(data)


def make_optimizer(model, rate):
    return torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)


# ---- files

def write_whole(path, content):
    """The file at path is either the old or the new one, at every moment and after a crash."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    part = f"{path}.part"
    with open(part, "wb") as file:
        torch.save(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class Progress:
    """Model, optimizer and position, as kept in the checkpoint."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.epoch = 0   # epochs that are done
        self.seen = 0    # images of the current epoch that are done, by all workers together
        self.step = 0    # steps done since the start, the horizontal axis of the curves
        self.epoch_step = 0

    def state(self):
        # Of the optimizer only what it has learned: its settings are the options of whoever goes on.
        return {"model": self.model.state_dict(), "momentum": self.optimizer.state_dict()["state"],
                "epoch": self.epoch, "seen": self.seen, "step": self.step, "epoch_step": self.epoch_step}

    def restore(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(
            {"state": state["momentum"], "param_groups": self.optimizer.state_dict()["param_groups"]})
        self.epoch, self.seen = state["epoch"], state["seen"]
        self.step, self.epoch_step = state["step"], state["epoch_step"]


def read_checkpoint(group, path):
    """The state in the checkpoint, or None where there is none that can be used."""
    try:
        with zipfile.ZipFile(path) as archive:  # which is what torch.save writes; it checks no sums on its own
            damaged = archive.testzip()
        if damaged:
            raise ValueError(f"wrong checksum in {damaged}")
        state = torch.load(path, map_location="cpu", weights_only=True)
        fresh = make_model()
        Progress(fresh, make_optimizer(fresh, 0.0)).restore(state)  # does it fit?
        return state
    except FileNotFoundError:
        return None
    except Exception as error:  # whatever a damaged file leads to
        reason = str(error).strip().splitlines()
        group.warn(f"starting anew: cannot use checkpoint {path}: {reason[0] if reason else type(error).__name__}")
        return None


def open_curves(log_dir, done):
    """done: steps of an earlier run that count. Points behind them will be written again."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        from eventfile import EventWriter as SummaryWriter
    return SummaryWriter(log_dir, purge_step=done + 1 if done else None)


class NoCurves:
    """What the workers other than rank 0 write."""

    def add_scalar(self, *_):
        pass

    def flush(self):
        pass

    def close(self):
        pass


# ---- training

def train_epoch(options, group, parallel, progress, data, curves):
    order = order_of(progress.epoch, len(data), options.seed)
    stride = options.batch_size * group.size
    loss_sum = steps = 0
    since = time.monotonic()
    # The rest that does not fill a step of all workers is left out; every epoch leaves out other images.
    while progress.seen + stride <= len(data):
        start = progress.seen + group.rank * options.batch_size
        pixels, labels = data.batch(order[start:start + options.batch_size])
        progress.optimizer.zero_grad()
        loss = F.cross_entropy(parallel(pixels), labels)
        loss.backward()
        progress.optimizer.step()
        progress.seen += stride
        progress.step += 1
        progress.epoch_step += 1
        loss_sum, steps = loss_sum + loss.item(), steps + 1
        if progress.epoch_step % options.log_every == 0:
            rate = steps * options.batch_size / (time.monotonic() - since)
            group.say(f"epoch {progress.epoch + 1}/{options.epochs} step {progress.epoch_step} "
                      f"loss {loss_sum / steps:.4f} ({rate:.0f} img/s)")
            curves.add_scalar("train/loss", loss_sum / steps, progress.step)
            curves.flush()
            loss_sum, steps, since = 0, 0, time.monotonic()
        if group.rank == 0 and progress.step % options.checkpoint_every == 0:
            write_whole(options.checkpoint, progress.state())
        if options.step_delay_ms:
            time.sleep(options.step_delay_ms / 1000)
    progress.epoch += 1
    progress.seen = progress.epoch_step = 0


def train(options, group):
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    whole = Images.load(options.data, "train")
    border = len(whole) - len(whole) // VALIDATION
    validation = whole.part(border, len(whole))
    data = whole.part(0, min(options.limit or border, border))
    if options.batch_size * group.size > len(data):
        raise ValueError(f"{len(data)} training images do not fill one step of "
                         f"{group.size} workers with {options.batch_size} each")
    group.join()

    model = make_model()
    # A step averages over the images of all workers, so it may be larger the more of them there are.
    rate = options.lr * (options.batch_size * group.size / 64) ** 0.5
    progress = Progress(model, make_optimizer(model, rate))
    state = None
    if group.rank == 0 and not options.fresh:
        state = read_checkpoint(group, options.checkpoint)
    # Rank 0's word counts: workers that read the file each for themselves could find different ones.
    state = group.from_first(state)
    if state:
        progress.restore(state)
        group.say(f"resumed from checkpoint at epoch {progress.epoch + 1} step {progress.epoch_step}"
                  if progress.epoch < options.epochs else
                  f"nothing left to train: the checkpoint has {progress.epoch} epochs (--fresh trains anew)")
    else:
        group.say(f"training on {len(data)} images with {group.size} worker{'s' * (group.size > 1)}")
    curves = open_curves(options.log_dir, progress.step) if group.rank == 0 else NoCurves()

    parallel = DistributedDataParallel(model)
    while progress.epoch < options.epochs:
        train_epoch(options, group, parallel, progress, data, curves)
        loss, accuracy = evaluate(group, model, validation)
        group.say(f"epoch {progress.epoch}/{options.epochs} done: validation loss {loss:.4f} accuracy {accuracy:.4f}")
        curves.add_scalar("val/loss", loss, progress.step)
        curves.add_scalar("val/accuracy", accuracy, progress.step)
        curves.flush()
        if group.rank == 0:
            write_whole(options.checkpoint, progress.state())

    loss, accuracy = evaluate(group, model, Images.load(options.data, "t10k"))
    curves.add_scalar("test/loss", loss, progress.step)
    curves.add_scalar("test/accuracy", accuracy, progress.step)
    curves.close()
    if group.rank == 0:
        write_whole(options.save, model.state_dict())
        sys.stdout.write(f"test accuracy: {accuracy:.4f}\n")
        sys.stdout.flush()


def main():
    options = parse_options()
    group = Group()
    try:
        train(options, group)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Exception as error:
        text = str(error).strip()
        # A wrong option, a missing file, a worker that is gone: one line says it. All else is a fault in here.
        if not isinstance(error, (OSError, ValueError)) and not re.search("gloo|[Cc]onnection|[Ss]ocket", text):
            traceback.print_exc()
        else:
            group.say(f"error: {text.splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Not sys.exit: taking the process group down can wait for ever. Its destructor joins a thread while it
    # holds the interpreter's lock, and that thread may need the lock to drop the last tensor it was given.
    os._exit(code)
