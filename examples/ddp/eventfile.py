"""eventfile.py - writes TensorBoard event files with Python's standard library only.

An event file is a sequence of records, each framed as

    length (8 bytes) | masked CRC-32C of those 8 bytes | data | masked CRC-32C of the data

with all numbers little-endian. The data is one protobuf message, `Event`; of it and of `Summary` only the
few fields named below are ever written, so they are encoded by hand.

The methods are named as those of torch.utils.tensorboard.SummaryWriter, which train.py uses in its place
where the tensorboard package is installed.
"""

import os
import socket
import struct
import time

# protobuf wire types
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# Event
EVENT_WALL_TIME = 1      # double, seconds since 1970
EVENT_STEP = 2           # int64
EVENT_FILE_VERSION = 3   # string, in the first record only
EVENT_SUMMARY = 5        # Summary
EVENT_SESSION_LOG = 7    # SessionLog
# Summary, Summary.Value, SessionLog
SUMMARY_VALUE = 1        # repeated Value
VALUE_TAG = 1            # string
VALUE_SIMPLE = 2         # float
SESSION_STATUS = 1       # enum
SESSION_START = 1        # "drop what older files say about this step and later ones"

MASK_DELTA = 0xA282EAD8


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)  # Castagnoli's polynomial, bits reversed
        table.append(byte)
    return table


_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc(data):
    """A CRC stored beside its data is disguised, because a CRC over data with its CRC in it says little."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + MASK_DELTA) & 0xFFFFFFFF


def record(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def _varint(value):
    value &= 0xFFFFFFFFFFFFFFFF  # a negative int64 is its 64-bit complement
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number, wire_type, payload):
    key = _varint(number << 3 | wire_type)
    return key + (_varint(len(payload)) if wire_type == BYTES else b"") + payload


def _event(wall_time, step, content):
    out = _field(EVENT_WALL_TIME, FIXED64, struct.pack("<d", wall_time))
    if step:
        out += _field(EVENT_STEP, VARINT, _varint(step))
    return out + content


def scalar_event(wall_time, step, tag, value):
    summary_value = (_field(VALUE_TAG, BYTES, tag.encode()) +
                     _field(VALUE_SIMPLE, FIXED32, struct.pack("<f", value)))
    return _event(wall_time, step, _field(EVENT_SUMMARY, BYTES, _field(SUMMARY_VALUE, BYTES, summary_value)))


class EventWriter:
    """One new event file in log_dir. With purge_step, points of that step and later ones in files written
    before this one are superseded: a resumed run repeats the steps since its checkpoint."""

    def __init__(self, log_dir, purge_step=None):
        os.makedirs(log_dir, exist_ok=True)
        now = time.time()
        # TensorBoard reads the files of a folder in the order of their names; the time makes that the order
        # of writing, the process number makes the name unique.
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}.0"
        self.path = os.path.join(log_dir, name)
        self._file = open(self.path, "ab")
        self._write(_event(now, 0, _field(EVENT_FILE_VERSION, BYTES, b"brain.Event:2")))
        if purge_step is not None:
            status = _field(SESSION_STATUS, VARINT, _varint(SESSION_START))
            self._write(_event(now, purge_step, _field(EVENT_SESSION_LOG, BYTES, status)))
        self.flush()

    def _write(self, event):
        self._file.write(record(event))

    def add_scalar(self, tag, scalar_value, global_step=0, walltime=None):
        self._write(scalar_event(time.time() if walltime is None else walltime, global_step, tag, scalar_value))

    def flush(self):
        self._file.flush()

    def close(self):
        self._file.close()
