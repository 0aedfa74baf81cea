import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "../src/data/types.ts";
import {
  compareHref,
  configOf,
  differing,
  distinct,
  figuresOf,
  flagsOf,
  hparamsOf,
  isName,
  meanOf,
  parametersOf,
  readJobs,
  scaleOf,
  writeJobs,
} from "../src/lib/compare.ts";

const job = (name: string, labels: Record<string, string> = {}, args: string[] = []): Job => ({
  kind: "PyTorchTrainingJob",
  metadata: {
    name,
    namespace: "a",
    uid: name,
    resourceVersion: "1",
    creationTimestamp: "",
    labels,
  },
  spec: {
    replicaSpecs: [
      {
        type: "worker",
        replicas: 2,
        template: {
          spec: {
            containers: [
              {
                name: "c",
                command: ["python", "train.py"],
                args,
                env: [{ name: "S", value: "1" }],
              },
            ],
          },
        },
      },
    ],
  },
});

test("jobs in the address", () => {
  const all = [
    job("x"),
    job("y", { sweep: "lr" }),
    { ...job("z", { sweep: "lr" }), kind: "MPIJob" },
  ];
  assert.equal(writeJobs(all), "a/PyTorchTrainingJob/x,y;a/MPIJob/z");
  assert.equal(compareHref([all[0]!]), "/compare?jobs=a/PyTorchTrainingJob/x");
  assert.deepEqual(readJobs(all, writeJobs([all[1]!, all[0]!]), null), [all[1], all[0]]);
  assert.deepEqual(readJobs(all, "a/PyTorchTrainingJob/gone,x", "sweep=lr"), all);
  assert.deepEqual(readJobs(all, null, null), []);
});

test("options of a command line", () => {
  const { flags, rest } = flagsOf(
    "python train.py --lr=0.1 --shift -3 --amp --out dir model.depth=4 data".split(" "),
  );
  assert.deepEqual(flags, { "--lr": "0.1", "--shift": "-3", "--amp": "✓", "--out": "dir", "model.depth": "4" }); // prettier-ignore
  assert.equal(rest, "python train.py data");
});

test("in what jobs differ", () => {
  const facts = [job("x", {}, ["--lr", "0.1"]), job("y", {}, ["--lr", "0.2", "--amp"])].map(
    configOf,
  );
  assert.deepEqual(differing(facts), ["--amp", "--lr"]);
  const columns: Record<string, (string | null)[]> = {
    lr: ["0.1", "1"],
    optimizer: ["sgd", "adam"],
    "--lr": ["0.1", "1.0"],
    "--optimizer": [null, "adam"],
    "--seed": [null, "1"],
  };
  assert.deepEqual(
    distinct(Object.keys(columns).map((name) => ({ name })), ({ name }) => columns[name]!).map(({ name }) => name), // prettier-ignore
    ["lr", "optimizer", "--seed"],
  );
  assert.ok(isName(["log/1", "log/2", "log/3"]));
  assert.ok(!isName(["1", "2", "3"]) && !isName(["sgd", "sgd", "adam"]));
  assert.equal(facts[0]!["$S"], "1");
  assert.equal(facts[0]!["worker.replicas"], "2");
  assert.equal(facts[0]!["worker.command"], "python train.py");
});

test("last and best of a tag, and hyperparameters of all runs", () => {
  const tag = (name: string, count: number, last: number, run = ".") => ({
    run,
    tag: name,
    kind: "scalar",
    count,
    last: { step: 1, value: last },
    min: { value: 1 },
    max: { value: 9 },
  });
  const found = figuresOf([
    tag("loss", 10, 5),
    tag("loss", 3, 7, "other"),
    tag("accuracy", 4, 2),
    { run: ".", tag: "note", kind: "text", count: 1 },
  ]);
  assert.deepEqual([...found], [["loss", { last: 5, best: 1, count: 10 }], ["accuracy", { last: 2, best: 9, count: 4 }]]); // prettier-ignore
  assert.deepEqual(
    hparamsOf([{ run: "1", tag: "_hparams_", kind: "hparams", count: 1, hparams: { lr: "0.1" } }]),
    { lr: "0.1" },
  );
});

test("axes of numbers, of powers of ten, of words", () => {
  const plain = scaleOf(["1", 2, null, "3"]);
  assert.deepEqual([plain.place("1"), plain.place(2), plain.place("3"), plain.place(null), plain.place("")], [0, 0.5, 1, null, null]); // prettier-ignore
  assert.equal(scaleOf(["0.001", "1"]).place("0.001"), 0);
  assert.ok(Math.abs(scaleOf(["0.0001", "1"]).place("0.01")! - 0.5) < 1e-9);
  const words = scaleOf(["sgd", "adam"]);
  assert.deepEqual([words.place("adam"), words.place("sgd")], [0, 1]);
  assert.equal(scaleOf(["7", "7"]).place("7"), 0.5);
  assert.deepEqual(scaleOf([]).marks, []);
  assert.deepEqual(
    scaleOf(["1", "0.001", "0.1"]).marks.map((one) => one.text),
    ["0.001", "0.1", "1"],
  );
});

test("marks of an axis are round numbers", () => {
  const marks = (values: number[]) => scaleOf(values).marks.map((one) => one.text);
  const many = (low: number, high: number) =>
    Array.from({ length: 30 }, (_, i) => low + ((high - low) * i) / 29);
  assert.deepEqual(marks(many(0.0521, 1.386)), ["0.5", "1"]);
  assert.deepEqual(marks(many(0.22, 0.97)), ["0.4", "0.6", "0.8"]);
  assert.deepEqual(marks([0.14831, 0.24663, 0.34651]), ["0.15", "0.2", "0.25", "0.3"]);
  assert.deepEqual(marks([0.14831, 0.14831]), ["0.148"]);
  assert.deepEqual(marks(many(0, 12)), ["0", "2", "4", "6", "8", "10", "12"]);
  assert.deepEqual(marks(many(0.0005, 3)), ["0.001", "0.01", "0.1", "1"]);
});

test("the mean of runs with different steps, and its band", () => {
  const mean = meanOf([{ x: [0, 10], values: [0, 10] }, { x: [0, 5, 10], values: [2, 7, 12] }], 3); // prettier-ignore
  assert.deepEqual(mean.x, [0, 5, 10]);
  assert.deepEqual(mean.values, [1, 6, 11]);
  assert.deepEqual(mean.band, { low: [0, 5, 10], high: [2, 7, 12] });
  const late = meanOf([{ x: [0, 4], values: [1, 1] }, { x: [4, 8], values: [3, null] }], 9); // prettier-ignore
  assert.deepEqual([late.values[0], late.values[4], late.values[8]], [1, 2, null]);
  assert.deepEqual(meanOf([], 5).x, []);
});

test("hyperparameters: the event files' first, then what the command says beside them", () => {
  const one = job("a", {}, ["-u", "train.py", "--lr", "0.1", "--batch-size=32", "--amp"]);
  assert.deepEqual(parametersOf(one, { batch_size: "64" }), [
    ["batch_size", "64"],
    ["lr", "0.1"],
    ["amp", "✓"],
  ]);
});
