#!/usr/bin/python3
"""small_dataset.py FOLDER IMAGES: the first images of Debian's Fashion-MNIST, so many for training and a quarter of that for
testing, in MNIST's files."""
import gzip
import pathlib
import struct
import sys

DATASET = pathlib.Path("/usr/share/datasets/fashion-mnist")


def write(folder, images):
    folder.mkdir()
    for name, count in (("train", images), ("t10k", images // 4)):
        for kind, header_bytes, item_bytes in (("images-idx3", 16, 784), ("labels-idx1", 8, 1)):
            file = f"{name}-{kind}-ubyte.gz"
            with gzip.open(DATASET / file) as whole:
                data = whole.read(header_bytes + item_bytes * count)
            with gzip.open(folder / file, "wb", 1) as part:
                part.write(data[:4] + struct.pack(">I", count) + data[8:])


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
