"""The event files of examples/ddp/eventfile.py, read back by a reader that shares no code with the writer:
its CRC is computed bit by bit, and it decodes any protobuf message by its wire format alone."""

import glob
import os
import struct
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/ddp"))
import eventfile  # noqa: E402


def crc32c_bitwise(data):
    crc = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            carry = (crc ^ byte >> bit) & 1
            crc >>= 1
            if carry:
                crc ^= int("{:032b}".format(0x1EDC6F41)[::-1], 2)
    return crc ^ 0xFFFFFFFF


def unmask(masked):
    rotated = (masked - 0xA282EAD8) % 2**32
    return (rotated << 15 | rotated >> 17) % 2**32


def read_records(path):
    with open(path, "rb") as file:
        while True:
            header = file.read(12)
            if not header:
                return
            length, length_crc = struct.unpack("<QI", header)
            if unmask(length_crc) != crc32c_bitwise(header[:8]):
                raise ValueError("checksum of a length is wrong")
            data = file.read(length)
            if len(data) != length:
                raise ValueError("record cut short")
            if unmask(struct.unpack("<I", file.read(4))[0]) != crc32c_bitwise(data):
                raise ValueError("checksum of a record is wrong")
            yield data


def decode(message):
    """Field number -> list of raw values."""
    fields, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def take(count):
        nonlocal at
        if at + count > len(message):
            raise ValueError("field longer than its message")
        at += count
        return message[at - count:at]

    while at < len(message):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            value = varint()
        elif kind == 1:
            value = struct.unpack("<d", take(8))[0]
        elif kind == 2:
            value = take(varint())
        elif kind == 5:
            value = struct.unpack("<f", take(4))[0]
        else:
            raise ValueError(f"wire type {kind}")
        fields.setdefault(number, []).append(value)
    return fields


def only_file(folder):
    paths = glob.glob(os.path.join(folder, "events.out.tfevents.*"))
    assert len(paths) == 1, paths
    return paths[0]


def read_scalars(path):
    """[(tag, step, value)] of all scalars in the file."""
    scalars = []
    for data in read_records(path):
        event = decode(data)
        for summary in event.get(5, []):
            for value in decode(summary)[1]:
                value = decode(value)
                scalars.append((value[1][0].decode(), event.get(2, [0])[0], value[2][0]))
    return scalars


class Crc(unittest.TestCase):
    # RFC 3720, B.4, and the usual check value
    VECTORS = [
        (b"", 0x00000000),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ]

    def test_known_vectors(self):
        for data, expected in self.VECTORS:
            self.assertEqual(eventfile.crc32c(data), expected)
            self.assertEqual(crc32c_bitwise(data), expected, "the test's own reader is wrong")

    def test_mask_is_undone_by_unmask(self):
        for data, expected in self.VECTORS:
            self.assertEqual(unmask(eventfile.masked_crc(data)), expected)


class EventFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "not", "there", "yet")

    def write(self, scalars, **options):
        writer = eventfile.EventWriter(self.folder, **options)
        for tag, step, value in scalars:
            writer.add_scalar(tag, value, step, walltime=1700000000.25)
        writer.close()
        return only_file(self.folder)

    def test_first_record_is_the_file_version(self):
        records = list(read_records(self.write([])))
        self.assertEqual(len(records), 1)
        self.assertEqual(decode(records[0])[3], [b"brain.Event:2"])

    def test_scalars_come_back(self):
        scalars = [("train/loss", 0, 2.5), ("train/loss", 1, -0.125), ("val/accuracy", 127, 1.0),
                   ("val/accuracy", 128, 0.0), ("Genauigkeit/größer", 2**40, 3.0), ("t" * 300, 300, 1e30)]
        read = read_scalars(self.write(scalars))
        self.assertEqual([(tag, step) for tag, step, _ in read], [(tag, step) for tag, step, _ in scalars])
        for (_, _, got), (_, _, wanted) in zip(read, scalars):
            self.assertEqual(got, struct.unpack("<f", struct.pack("<f", wanted))[0])

    def test_wall_time(self):
        event = decode(list(read_records(self.write([("a", 1, 1.0)])))[-1])
        self.assertEqual(event[1], [1700000000.25])

    def test_not_a_number_and_infinity(self):
        read = read_scalars(self.write([("a", 1, float("nan")), ("a", 2, float("inf"))]))
        self.assertNotEqual(read[0][2], read[0][2])
        self.assertEqual(read[1][2], float("inf"))

    def test_purge_step_starts_a_session(self):
        records = [decode(data) for data in read_records(self.write([], purge_step=70))]
        self.assertEqual(records[1][2], [70])
        self.assertEqual(decode(records[1][7][0])[1], [1])

    def test_what_is_flushed_can_be_read_while_the_file_is_open(self):
        writer = eventfile.EventWriter(self.folder)
        self.addCleanup(writer.close)
        writer.add_scalar("a", 1.0, 1)
        writer.flush()
        self.assertEqual(read_scalars(only_file(self.folder)), [("a", 1, 1.0)])

    def test_the_reader_notices_a_flipped_bit(self):
        path = self.write([("a", 1, 1.0)])
        with open(path, "rb") as file:
            content = bytearray(file.read())
        for at in range(len(content)):
            content[at] ^= 0x10
            with open(path, "wb") as file:
                file.write(content)
            with self.assertRaises((ValueError, struct.error, OverflowError, MemoryError)):
                list(read_records(path))
            content[at] ^= 0x10


if __name__ == "__main__":
    unittest.main()
