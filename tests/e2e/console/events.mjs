// Writes event files for the browser's tests: records and messages by hand, as SummaryWriter does.
import fs from "node:fs";
import path from "node:path";

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0x82f63b78 : c >>> 1;
  return c;
});

function maskedCrc(data) {
  let crc = 0xffffffff;
  for (const byte of data) crc = TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  crc = (crc ^ 0xffffffff) >>> 0;
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

function varint(value) {
  const bytes = [];
  for (let n = BigInt(value); ; n >>= 7n) {
    if (n < 0x80n) return Buffer.from([...bytes, Number(n)]);
    bytes.push(Number(n & 0x7fn) | 0x80);
  }
}

const double = (value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
};
const bytes = (field, data) => {
  const content = Buffer.from(data);
  return Buffer.concat([varint((field << 3) | 2), varint(content.length), content]);
};
const number = (field, value) => Buffer.concat([varint((field << 3) | 1), double(value)]);

function record(data) {
  const head = Buffer.alloc(12);
  head.writeBigUInt64LE(BigInt(data.length));
  head.writeUInt32LE(maskedCrc(head.subarray(0, 8)), 8);
  const tail = Buffer.alloc(4);
  tail.writeUInt32LE(maskedCrc(data));
  return Buffer.concat([head, data, tail]);
}

/** One run: a folder with a file that grows by what is added. */
export class Events {
  constructor(folder) {
    fs.mkdirSync(folder, { recursive: true });
    this.file = path.join(folder, "events.out.tfevents.1700000000.host.1.0");
    this.parts = [];
  }

  value(tag, step, wall, fields) {
    const summary = bytes(5, bytes(1, Buffer.concat([bytes(1, tag), fields])));
    const event = [number(1, wall), varint(16), varint(step), summary];
    this.parts.push(record(Buffer.concat(event)));
    return this;
  }

  scalar(tag, step, value, wall = 1.7e9 + step) {
    const content = Buffer.alloc(5);
    content[0] = 0x15;
    content.writeFloatLE(value, 1);
    return this.value(tag, step, wall, content);
  }

  /** values: {name: number or text} */
  hparams(values) {
    const entries = Object.entries(values).map(([name, value]) =>
      bytes(
        1,
        Buffer.concat([
          bytes(1, name),
          bytes(2, typeof value === "number" ? number(2, value) : bytes(3, value)),
        ]),
      ),
    );
    const data = Buffer.concat([bytes(1, "hparams"), bytes(2, bytes(3, Buffer.concat(entries)))]);
    return this.value("_hparams_/session_start_info", 0, 1.7e9, bytes(9, bytes(1, data)));
  }

  text(tag, step, text) {
    const tensor = Buffer.concat([Buffer.from([8, 7]), bytes(8, text)]);
    const metadata = bytes(9, bytes(1, bytes(1, "text")));
    return this.value(tag, step, 1.7e9 + step, Buffer.concat([bytes(8, tensor), metadata]));
  }

  image(tag, step, png) {
    return this.value(tag, step, 1.7e9 + step, bytes(4, bytes(4, png)));
  }

  histogram(tag, step, limits, counts) {
    const list = (all) => Buffer.concat(all.map(double));
    const content = [
      number(1, limits[0]),
      number(2, limits.at(-1)),
      bytes(6, list(limits)),
      bytes(7, list(counts)),
    ];
    return this.value(tag, step, 1.7e9 + step, bytes(5, Buffer.concat(content)));
  }

  write() {
    fs.appendFileSync(this.file, Buffer.concat(this.parts));
    this.parts = [];
    return this;
  }
}
