// Colours as they are seen: contrast as WCAG has it, distances in OKLab after Machado's matrices for
// the three kinds of colour blindness. And the custom properties of both themes.
import { readFileSync } from "node:fs";

type Triple = [number, number, number];
const MATRICES = {
  none: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], // prettier-ignore
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]], // prettier-ignore
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]], // prettier-ignore
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]], // prettier-ignore
};
export type Kind = keyof typeof MATRICES;
export const KINDS = Object.keys(MATRICES) as Kind[];

function linear(hex: string): Triple {
  return [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as Triple;
}

function times(m: number[][], c: number[]): Triple {
  return m.map((row) => row.reduce((sum, k, i) => sum + k * c[i]!, 0)) as Triple;
}

function oklab(c: Triple): Triple {
  const lms = times(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]], // prettier-ignore
    c,
  ).map(Math.cbrt);
  return times(
    [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]], // prettier-ignore
    lms,
  );
}

/** How far apart two colours are for somebody who sees like that. */
export function distance(kind: Kind, a: string, b: string): number {
  const [x, y] = [a, b].map((hex) =>
    oklab(times(MATRICES[kind], linear(hex)).map((n) => Math.min(1, Math.max(0, n))) as Triple),
  ) as [Triple, Triple];
  return Math.hypot(...x.map((n, i) => n - y[i]!));
}

export function contrast(a: string, b: string): number {
  const [high, low] = [a, b]
    .map((hex) => linear(hex))
    .map((c) => 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2])
    .sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** Light, dark: the colours by their names; what the dark theme does not say is the light one's. */
export const THEMES: Map<string, string>[] = (() => {
  const [light, dark] = readFileSync("src/style/tokens.css", "utf8")
    .split('[data-theme="dark"]')
    .map((part) => [...part.matchAll(/(--[\w-]+): (#\w{6})/g)].map((m) => [m[1]!, m[2]!] as const));
  return [new Map(light!), new Map([...light!, ...dark!])];
})();
