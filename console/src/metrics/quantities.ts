// What is measured of a pod: the columns of its samples.
import type { metricsTexts } from "../i18n/metrics.ts";
import { formatCores, shortBytes } from "../lib/quantity.ts";

export interface Quantity {
  column: string;
  label: keyof (typeof metricsTexts)["zh"];
  format: (value: number) => string;
  bytes: boolean;
  least: number; // a smaller difference is none
}

const MIB = 2 ** 20;
export const perSecond = (n: number): string => `${shortBytes(n)}/s`;
export const percent = (n: number): string => `${Math.round(n * 100)}%`;

const bytes = (column: string, label: Quantity["label"], least: number): Quantity => ({
  column,
  label,
  format: column.endsWith("emory") ? shortBytes : perSecond,
  bytes: true,
  least,
});

export const QUANTITIES: Quantity[] = [
  { column: "cpu", label: "cpu", format: formatCores, bytes: false, least: 0.1 },
  bytes("memory", "memory", 64 * MIB),
  { column: "gpu", label: "gpuUse", format: percent, bytes: false, least: 0.1 },
  bytes("gpuMemory", "gpuMemory", 256 * MIB),
  bytes("networkReceive", "receiveOf", MIB),
  bytes("networkTransmit", "transmitOf", MIB),
  bytes("diskRead", "readOf", MIB),
  bytes("diskWrite", "writeOf", MIB),
];
