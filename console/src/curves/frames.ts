// The board's answers as they come over the wire: docs/board.md. Pure.
import { Failure } from "../data/api.ts";
import type { Points } from "./smooth.ts";

export interface Frame {
  body: Uint8Array;
  failure: Failure | null;
}

const upTo8 = (n: number): number => (n + 7) & ~7;

function failureOf(status: number, body: Uint8Array): Failure {
  const text = new TextDecoder().decode(body);
  try {
    return new Failure((JSON.parse(text) as { message: string }).message, status, "");
  } catch {
    return new Failure(text, status, "");
  }
}

/** What was answered for each of so many jobs. For one alone there is no frame. */
export function framesOf(answer: ArrayBuffer, jobs: number): Frame[] {
  if (jobs === 1) return [{ body: new Uint8Array(answer), failure: null }];
  const view = new DataView(answer);
  const frames: Frame[] = [];
  for (let at = 0; at + 8 <= answer.byteLength;) {
    const status = view.getUint32(at, true);
    const length = view.getUint32(at + 4, true);
    const body = new Uint8Array(answer, at + 8, length);
    frames.push({ body, failure: status === 200 ? null : failureOf(status, body) });
    at += 8 + upTo8(length);
  }
  if (frames.length !== jobs) throw new Failure("the answer is cut", 0, "");
  return frames;
}

/** The curves of lines.bin. The arrays are copies: the answer can go. */
export function linesOf(body: Uint8Array): Points[] {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const found: Points[] = [];
  for (let at = 0; at + 8 <= body.byteLength;) {
    const names = view.getUint32(at, true);
    const n = view.getUint32(at + 4, true);
    const text = new TextDecoder().decode(body.subarray(at + 8, at + 8 + names));
    const start = at + 8 + upTo8(names);
    const column = (i: number): Float64Array =>
      new Float64Array(body.slice(start + 8 * n * i, start + 8 * n * (i + 1)).buffer);
    found.push({
      ...(JSON.parse(text) as { run: string; tag: string }),
      step: column(0),
      wall: column(1),
      value: column(2),
    });
    at = start + 24 * n;
  }
  return found;
}
