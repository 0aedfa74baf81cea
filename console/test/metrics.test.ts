import assert from "node:assert/strict";
import { test } from "node:test";
import { applyMessage } from "../src/data/live.ts";
import type { KubeObject, Pod } from "../src/data/types.ts";
import { heldAt } from "../src/lib/nodes.ts";
import { fromMetrics } from "../src/metrics/anywhere.ts";
import { merge } from "../src/metrics/samples.ts";
import { fromField, readSpan, spanQuery, toField, within } from "../src/metrics/span.ts";

test("a cluster's metrics are a sample", () => {
  const one = fromMetrics({
    timestamp: "2026-01-02T03:04:05Z",
    containers: [{ usage: { cpu: "250m", memory: "1Mi" } }, { usage: { cpu: "1500000000n" } }],
  });
  assert.deepEqual(one.time, [Date.UTC(2026, 0, 2, 3, 4, 5)]);
  assert.equal(one.columns["cpu"]!.values[0], 1.75);
  assert.equal(one.columns["memory"]!.values[0], 2 ** 20);
  const two = fromMetrics({
    timestamp: "2026-01-02T03:04:20Z",
    containers: [{ usage: { cpu: "1" } }],
  });
  assert.deepEqual(merge(merge(one, one), two).columns["cpu"]!.values, [1.75, 1]);
  assert.deepEqual(fromMetrics({ containers: [] }), { time: [], columns: {} });
  assert.deepEqual(merge(one, fromMetrics({})), one);
});

test("what a node's pods held, when they held it", () => {
  const at = (second: number): string => new Date(second * 1000).toISOString();
  const pod = (cpu: string, from: number, to?: number) =>
    ({
      metadata: { name: cpu },
      spec: { containers: [{ name: "c", resources: { requests: { cpu } } }] },
      status: {
        phase: to === undefined ? "Running" : "Succeeded",
        startTime: at(from),
        containerStatuses: [
          { state: to === undefined ? {} : { terminated: { finishedAt: at(to) } } },
        ],
      },
    }) as unknown as Pod;
  const pods = [pod("2", 10), pod("500m", 5, 20), { ...pod("8", 0), status: {} } as Pod];
  assert.deepEqual(heldAt(pods, "cpu", [4, 5, 10, 19, 20, 30]), [0, 0.5, 2.5, 2.5, 2, 2]);
});

test("from when to when, in the address and in fields", () => {
  const at = Date.UTC(2026, 10, 15, 18, 4, 5);
  const span = { from: at, to: at + 60_000 };
  const asked = spanQuery({ from: at + 1, to: at + 59_001 });
  assert.deepEqual(asked, {
    from: "2026-11-15T18:04:05Z",
    to: "2026-11-15T18:05:05Z",
    range: null,
  });
  assert.deepEqual(readSpan(asked["from"]!, asked["to"]!), span);
  assert.deepEqual(readSpan("2026-11-15T18:04:05Z", null), { from: at, to: undefined });
  assert.equal(readSpan(null, "nonsense"), null);
  assert.equal(readSpan(asked["to"]!, asked["from"]!), "wrong");
  assert.equal(
    spanQuery({ from: at, to: at + 1 })["to"],
    "2026-11-15T18:04:15Z",
    "some samples are in it",
  );
  assert.deepEqual(spanQuery(null), { from: null, to: null, range: null });
  assert.equal(fromField(toField(at)), at);
  assert.equal(toField(undefined), "");
  assert.equal(fromField(toField(at).slice(0, -3)), at - 5_000, "seconds may be left out");
  for (const wrong of ["", "noon", "11/15/2026 18:04", "2026-13-40 18:04"])
    assert.equal(fromField(wrong), undefined, wrong);
  const samples = {
    time: [at - 1, at, at + 60_000, at + 60_001],
    columns: { cpu: { unit: "cores", values: [1, 2, null, 4] } },
  };
  assert.deepEqual(within(samples, span), {
    time: [at, at + 60_000],
    columns: { cpu: { unit: "cores", values: [2, null] } },
  });
  assert.equal(within(samples, null), samples);
});

test("a list that begins anew forgets the parts before it", () => {
  const object = (uid: string) => ({ metadata: { uid, name: uid } }) as unknown as KubeObject;
  const byUid = new Map<string, KubeObject>();
  const coming: KubeObject[] = [];
  assert.equal(
    applyMessage(byUid, { t: "list", first: true, part: true, items: [object("gone")] }, coming),
    false,
  );
  assert.equal(
    applyMessage(byUid, { t: "list", first: true, part: true, items: [object("a")] }, coming),
    false,
  );
  assert.equal(applyMessage(byUid, { t: "list", items: [object("b")], cursor: "5" }, coming), true);
  assert.deepEqual([...byUid.keys()], ["a", "b"]);
});
