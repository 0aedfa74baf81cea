// Kubernetes quantities: "250m", "2Gi", "1e3".
const SUFFIX: Record<string, number> = {
  "": 1,
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** The number, or undefined when it is no quantity. */
export function parseQuantity(text: string | number | undefined): number | undefined {
  if (typeof text === "number") return text;
  const found = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([numkMGTPE]|[KMGTPE]i)?$/.exec(
    text ?? "",
  );
  const size = SUFFIX[found?.[2] ?? ""];
  return found && size !== undefined ? Number(found[1]) * size : undefined;
}

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** In the largest binary unit it fills, and that unit. */
function scaled(n: number): [number, string] {
  let i = 0;
  while (Math.abs(n) >= 1024 && i < BINARY.length - 1) {
    n /= 1024;
    i++;
  }
  return [n, BINARY[i]!];
}

/** Two decimals and a binary unit: "12.00Gi". */
export function formatBytes(bytes: number): string {
  const [n, unit] = scaled(bytes);
  return `${n.toFixed(2)}${unit}`;
}

/** "16.00"; less than one core in thousandths: "250m". */
export function formatCores(n: number): string {
  return n > 0 && n < 1 ? `${Math.round(n * 1000)}m` : n.toFixed(2);
}

/** Beside times "3m" would be minutes. */
export function plainCores(n: number): string {
  return n.toFixed(n > 0 && n < 0.01 ? 3 : 2);
}

export function formatQuantity(resource: string, n: number): string {
  if (resource === "cpu") return formatCores(n);
  if (resource === "memory" || resource.endsWith("storage")) return formatBytes(n);
  return String(n);
}

/** Round binary places for an axis of bytes: 0, 256 MiB, 512 MiB; about n of them. */
export function byteTicks(max: number, n: number): number[] {
  if (!(max > 0)) return [0];
  let step = 2 ** Math.max(0, Math.ceil(Math.log2(max / n)));
  if (max / step < n / 2 && step > 1) step /= 2;
  const found: number[] = [];
  for (let at = 0; at <= max; at += step) found.push(at);
  return found;
}

/** "512 MiB", "1.5 GiB": for axes, without needless digits. */
export function shortBytes(bytes: number): string {
  const [n, unit] = scaled(bytes);
  return `${Number(n.toPrecision(n >= 100 ? 4 : 3))} ${unit}B`;
}
