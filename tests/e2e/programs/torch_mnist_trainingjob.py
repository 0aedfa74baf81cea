"""The program of the tutorials on data-parallel training: their options, network, schedule, log lines and TensorBoard tags,
with real training. Its images are what lies in `data` beside it, in MNIST's files; where there are none, the
first process takes Debian's Fashion-MNIST. Every process walks through the whole set."""
import argparse
import gzip
import os
import pathlib
import shutil

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy, relu
from torch.nn.parallel import DistributedDataParallel

DATASET = pathlib.Path("/usr/share/datasets/fashion-mnist")
EPOCHS = 10
VALIDATION_SHARE = 5  # one of so many training images


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3), nn.Conv2d(64, 64, 3)
        self.pool = nn.MaxPool2d(2)
        self.dense1, self.dense2 = nn.Linear(576, 64), nn.Linear(64, 10)

    def forward(self, images):
        found = self.pool(relu(self.conv1(images)))
        found = self.pool(relu(self.conv2(found)))
        found = relu(self.conv3(found)).flatten(1)
        return self.dense2(relu(self.dense1(found)))


def read_idx(path, header_bytes):
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header_bytes)


def read_images(folder, name):
    images = torch.tensor(read_idx(folder / f"{name}-images-idx3-ubyte.gz", 16)).view(-1, 1, 28, 28).float() / 255
    labels = torch.tensor(read_idx(folder / f"{name}-labels-idx1-ubyte.gz", 8)).long()
    return images, labels


def batches(data, size, order=None):
    images, labels = data
    order = torch.arange(len(labels)) if order is None else order
    for some in order.split(size):
        yield images[some].to(device), labels[some].to(device)


def judge(data, size):
    """Mean loss and accuracy."""
    loss = right = 0.0
    model.eval()
    with torch.no_grad():
        for images, labels in batches(data, size):
            scores = model(images)
            loss += cross_entropy(scores, labels, reduction="sum").item()
            right += (scores.argmax(1) == labels).sum().item()
    model.train()
    return loss / len(data[1]), right / len(data[1])


def train():
    global_step = 0
    for epoch in range(1, EPOCHS + 1):
        order = torch.randperm(len(training[1]))
        steps = -(-len(order) // batch_size)
        for step, (images, labels) in enumerate(batches(training, batch_size, order), 1):
            optimizer.zero_grad()
            loss = cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            global_step += 1
            if step % (500 // world) == 0 or step == steps:
                print(f"epoch {epoch}/{EPOCHS}, batch {step:5d}/{steps} with loss: {loss.item():.4f}", flush=True)
                note("train/loss", loss.item(), global_step)
        scheduler.step()
        loss, accuracy = judge(validation, 400)
        print(f"epoch {epoch}/{EPOCHS} with val loss: {loss:.4f}, val accuracy: {accuracy:.4f}", flush=True)
        note("val/loss", loss, global_step)
        note("val/accuracy", accuracy, global_step)
    loss, accuracy = judge(test, 1000)
    print(f"test loss: {loss:.4f}, test accuracy: {accuracy:.4f}", flush=True)
    note("test/loss", loss, global_step)
    note("test/accuracy", accuracy, global_step)


def note(tag, value, step):
    if writer:
        writer.add_scalar(tag, value, step)


def have_data(folder):
    if rank == 0 and not folder.exists():
        shutil.copytree(DATASET, folder)
    dist.barrier()
    images, labels = read_images(folder, "train")
    kept = len(labels) - len(labels) // VALIDATION_SHARE
    return (images[:kept], labels[:kept]), (images[kept:], labels[kept:]), read_images(folder, "t10k")


parser = argparse.ArgumentParser()
parser.add_argument("--backend", choices=["gloo", "nccl", "mpi"], default="gloo")
parser.add_argument("--log_dir")
parser.add_argument("--save_path")
parser.add_argument("--no_cuda", action="store_true")
options = parser.parse_args()

torch.manual_seed(1)
torch.set_num_threads(1)
dist.init_process_group(options.backend, init_method="env://")
rank, world, local = dist.get_rank(), dist.get_world_size(), int(os.environ["LOCAL_RANK"])
device = torch.device("cpu" if options.no_cuda or not torch.cuda.is_available() else f"cuda:{local}")
print(f"rank {rank} of {world} as user {os.getuid()} in {os.getcwd()}", flush=True)
writer = None
if rank == 0 and options.log_dir:
    shutil.rmtree(options.log_dir, ignore_errors=True)
    try:
        from torch.utils.tensorboard import SummaryWriter
        writer = SummaryWriter(options.log_dir)
    except ImportError:
        print("no curves: the tensorboard package is not installed", flush=True)
training, validation, test = have_data(pathlib.Path(__file__).resolve().parent / "data")
batch_size = 32 * world
model = DistributedDataParallel(Net().to(device))
optimizer = torch.optim.Adam(model.parameters(), lr=0.001 * world)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
train()
if rank == 0:
    if writer:
        writer.close()
    if options.save_path:
        torch.save(model.module.state_dict(), options.save_path)
dist.destroy_process_group()
