import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "../src/data/types.ts";
import { newlyLate } from "../src/lib/endings.ts";
import { choose, offers, readChoice } from "../src/lib/filter.ts";
import {
  ancestorsOf,
  changesBetween,
  copiesOf,
  isTag,
  noteBytes,
  remarksPatch,
  RERUN_OF,
} from "../src/lib/remarks.ts";
import { cloned } from "../src/pages/create/draft.ts";

function job(name: string, meta: Partial<Job["metadata"]> = {}, command: string[] = []): Job {
  return {
    kind: "PyTorchTrainingJob",
    metadata: {
      name,
      namespace: "demo",
      uid: `u-${name}`,
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...meta,
    },
    spec: {
      replicaSpecs: [
        { type: "worker", template: { spec: { containers: [{ name: "c", command }] } } },
      ],
    },
  };
}

const copy = (name: string, of: string, command: string[] = []): Job =>
  job(name, { labels: { [RERUN_OF]: `u-${of}` }, annotations: { [RERUN_OF]: of } }, command);

test("tags are names of labels", () => {
  for (const one of ["a", "baseline", "lr-0.1", "V1_2", "x".repeat(63)]) assert.ok(isTag(one), one);
  for (const one of ["", "基线", "-a", "a.", "a b", "a/b", "x".repeat(64)])
    assert.ok(!isTag(one), one);
  assert.equal(noteBytes("学习"), 6);
});

test("a patch holds what changed and nothing else", () => {
  const one = job("a", {
    labels: { team: "nlp", "tag.muster.dev/old": "", "tag.muster.dev/stays": "" },
    annotations: { "muster.dev/note": "before" },
  });
  assert.deepEqual(remarksPatch(one, "before", ["stays", "new"]), {
    metadata: { labels: { "tag.muster.dev/old": null, "tag.muster.dev/new": "" } },
  });
  assert.deepEqual(remarksPatch(one, "", ["old", "stays"]), {
    metadata: { annotations: { "muster.dev/note": null } },
  });
});

test("lists are filtered by tags, which are no labels there", () => {
  const jobs = [
    job("a", { labels: { team: "nlp", "tag.muster.dev/best": "" } }),
    job("b", { labels: { team: "nlp" } }),
    copy("c", "a"),
  ];
  const choice = readChoice(new URLSearchParams("tag=best"));
  assert.deepEqual(
    choose(jobs, choice).map((one) => one.metadata.name),
    ["a"],
  );
  const none = readChoice(new URLSearchParams());
  assert.deepEqual(offers(jobs, none, "tag"), [["best", 1]]);
  assert.deepEqual(offers(jobs, none, "label"), [["team=nlp", 2]]);
});

test("a copy says of what it is one, and what people said of that stays there", () => {
  const one = job("a", {
    labels: { team: "nlp", "tag.muster.dev/best": "", [RERUN_OF]: "u-older" },
    annotations: {
      [RERUN_OF]: "older",
      "muster.dev/note": "good",
      "muster.dev/folder": "/work",
      "muster.dev/run-as": "7",
    },
  });
  const { metadata } = cloned(one, "a-2") as Job;
  assert.deepEqual(metadata.labels, { team: "nlp", [RERUN_OF]: "u-a" });
  assert.deepEqual(metadata.annotations, {
    [RERUN_OF]: "a",
    "muster.dev/folder": "/work",
    "muster.dev/run-as": "namespace",
  });
});

test("lineage", () => {
  const a = job("a", {}, ["train", "--lr", "0.1"]);
  const b = copy("b", "a", ["train", "--lr", "0.2"]);
  const c = copy("c", "b", ["train", "--lr", "0.2"]);
  const names = (of: Job, all: Job[]): string[] => ancestorsOf(of, all).map((one) => one.name);
  assert.deepEqual(names(c, [a, b, c]), ["a", "b"]);
  assert.deepEqual(names(c, [a, c]), ["b"]); // gone, its name is known
  assert.equal(ancestorsOf(c, [a, c])[0]?.job, undefined);
  assert.deepEqual(copiesOf(b, [a, b, c]), [c]);
  assert.deepEqual(changesBetween(a, b), ["--lr: 0.1 → 0.2"]);
  assert.deepEqual(changesBetween(b, c), []);
  // who writes labels by hand does not hang the page
  const x = copy("x", "y");
  const y = copy("y", "x");
  assert.deepEqual(names(x, [x, y]), ["y"]);
  assert.deepEqual(names(copy("z", "z"), []), []);
});

test("who waits for long is told of once, and again when it waits anew", () => {
  const waits = job("w");
  const runs = { ...job("r"), status: { phase: "Running" } };
  const told = new Set<string>();
  const at = Date.parse("2026-01-01T00:00:00Z");
  const names = (jobs: Job[], minutes: number): string[] =>
    newlyLate(told, jobs, at + minutes * 60_000).map((one) => one.metadata.name);
  assert.deepEqual(names([waits, runs], 9), []);
  assert.deepEqual(names([waits, runs], 10), ["w"]);
  assert.deepEqual(names([waits, runs], 30), []);
  assert.deepEqual(names([{ ...waits, status: { phase: "Running" } }], 40), []);
  const preempted = {
    ...waits,
    status: { phase: "Pending", interruptions: [{ stopTime: "2026-01-01T00:45:00Z" }] },
  };
  assert.deepEqual(names([preempted], 50), []);
  assert.deepEqual(names([preempted], 55), ["w"]);
});
