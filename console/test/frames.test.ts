import assert from "node:assert/strict";
import { test } from "node:test";
import { framesOf, linesOf } from "../src/curves/frames.ts";

const text = new TextEncoder();
const pad = (n: number): number => (n + 7) & ~7;

function frame(status: number, body: Uint8Array): Uint8Array {
  const out = new Uint8Array(8 + pad(body.length));
  new Uint32Array(out.buffer, 0, 2).set([status, body.length]);
  out.set(body, 8);
  return out;
}

function joined(...parts: Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, one) => sum + one.length, 0));
  let at = 0;
  for (const one of parts) {
    out.set(one, at);
    at += one.length;
  }
  return out;
}

test("answers for several jobs", () => {
  const all = joined(frame(200, text.encode("{}")), frame(404, text.encode('{"message":"no"}')));
  const frames = framesOf(all.buffer as ArrayBuffer, 2);
  assert.equal(new TextDecoder().decode(frames[0]!.body), "{}");
  assert.equal(frames[1]!.failure?.message, "no");
  assert.equal(frames[1]!.failure?.code, 404);
  assert.throws(() => framesOf(all.buffer as ArrayBuffer, 3));
  assert.equal(framesOf(all.buffer as ArrayBuffer, 1)[0]!.body.length, all.length);
});

test("curves in place", () => {
  const names = text.encode('{"run":".","tag":"loss"}');
  const head = new Uint8Array(new Uint32Array([names.length, 2]).buffer);
  const numbers = new Uint8Array(new Float64Array([1, 2, 10, 20, 0.5, NaN]).buffer);
  const padding = new Uint8Array(pad(names.length) - names.length);
  const one = joined(head, names, padding, numbers);
  const lines = linesOf(frame(200, joined(one, one)).subarray(8));
  assert.equal(lines.length, 2);
  assert.deepEqual([...(lines[1]!.step as Float64Array)], [1, 2]);
  assert.deepEqual([...(lines[1]!.wall as Float64Array)], [10, 20]);
  assert.deepEqual([...(lines[1]!.value as Float64Array)], [0.5, NaN]);
  assert.equal(lines[1]!.tag, "loss");
});
