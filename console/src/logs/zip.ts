// A zip archive without compression: several logs as one download.
const TABLE = (() => {
  const table = new Uint32Array(256);
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    table[n] = c >>> 0;
  }
  return table;
})();

export function crc32(data: Uint8Array): number {
  let c = 0xffffffff;
  for (const byte of data) c = TABLE[(c ^ byte) & 0xff]! ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

function header(
  signature: number,
  fields: [size: 2 | 4, value: number][],
  name: Uint8Array,
): Uint8Array {
  const size = 4 + fields.reduce((sum, [n]) => sum + n, 0);
  const bytes = new Uint8Array(size + name.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, signature, true);
  let at = 4;
  for (const [n, value] of fields) {
    if (n === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += n;
  }
  bytes.set(name, size);
  return bytes;
}

export function zip(files: { name: string; data: Uint8Array }[]): Blob {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const file of files) {
    const name = new TextEncoder().encode(file.name);
    const crc = crc32(file.data);
    const size = file.data.length;
    // version 2.0, names in UTF-8, stored, no time
    const common: [2 | 4, number][] = [
      [2, 20],
      [2, 0x800],
      [2, 0],
      [2, 0],
      [2, 0x21],
      [4, crc],
      [4, size],
      [4, size],
      [2, name.length],
      [2, 0],
    ];
    const local = header(0x04034b50, common, name);
    parts.push(local, file.data);
    directory.push(
      header(0x02014b50, [[2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]], name),
    );
    offset += local.length + size;
  }
  const length = directory.reduce((sum, one) => sum + one.length, 0);
  const end = header(
    0x06054b50,
    [
      [2, 0],
      [2, 0],
      [2, files.length],
      [2, files.length],
      [4, length],
      [4, offset],
      [2, 0],
    ],
    new Uint8Array(),
  );
  return new Blob([...parts, ...directory, end] as BlobPart[], { type: "application/zip" });
}
