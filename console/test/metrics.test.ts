import assert from "node:assert/strict";
import { test } from "node:test";
import { applyMessage } from "../src/data/live.ts";
import type { KubeObject } from "../src/data/types.ts";
import { fromMetrics } from "../src/metrics/anywhere.ts";
import { merge } from "../src/metrics/samples.ts";

test("a cluster's metrics are a sample", () => {
  const one = fromMetrics({ timestamp: "2026-01-02T03:04:05Z", containers: [{ usage: { cpu: "250m", memory: "1Mi" } }, { usage: { cpu: "1500000000n" } }] });
  assert.deepEqual(one.time, [Date.UTC(2026, 0, 2, 3, 4, 5)]);
  assert.equal(one.columns["cpu"]!.values[0], 1.75);
  assert.equal(one.columns["memory"]!.values[0], 2 ** 20);
  const two = fromMetrics({ timestamp: "2026-01-02T03:04:20Z", containers: [{ usage: { cpu: "1" } }] });
  assert.deepEqual(merge(merge(one, one), two).columns["cpu"]!.values, [1.75, 1]);
  assert.deepEqual(fromMetrics({ containers: [] }), { time: [], columns: {} });
  assert.deepEqual(merge(one, fromMetrics({})), one);
});

test("a list that begins anew forgets the parts before it", () => {
  const object = (uid: string) => ({ metadata: { uid, name: uid } }) as unknown as KubeObject;
  const byUid = new Map<string, KubeObject>();
  const coming: KubeObject[] = [];
  assert.equal(applyMessage(byUid, { t: "list", first: true, part: true, items: [object("gone")] }, coming), false);
  assert.equal(applyMessage(byUid, { t: "list", first: true, part: true, items: [object("a")] }, coming), false);
  assert.equal(applyMessage(byUid, { t: "list", items: [object("b")], cursor: "5" }, coming), true);
  assert.deepEqual([...byUid.keys()], ["a", "b"]);
});
