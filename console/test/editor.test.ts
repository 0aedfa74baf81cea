import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "../src/data/types.ts";
import { parseDocument } from "yaml";
import { check, nearest, schemaAt, type Schema } from "../src/editor/check.ts";
import { mappingAt, pathAt, placeOf } from "../src/editor/places.ts";
import {
  pickDocument,
  cloned,
  example,
  firstLook,
  nextName,
  read,
  write,
} from "../src/pages/create/draft.ts";
import { diffLines, hunks } from "../src/lib/diff.ts";

const schemas: Record<string, Schema> = {
  Job: {
    type: "object",
    required: ["spec"],
    properties: {
      metadata: { type: "object", additionalProperties: true },
      spec: { $ref: "#/components/schemas/Spec" },
    },
  },
  Spec: {
    type: "object",
    properties: {
      replicaSpecs: {
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          required: ["type"],
          properties: {
            type: { type: "string", minLength: 1 },
            replicas: { type: "integer", minimum: 1 },
            restartPolicy: { type: "string", enum: ["Never", "OnFailure"] },
          },
        },
      },
      labels: { type: "object", additionalProperties: { type: "string" } },
    },
  },
};
const resolve = (ref: string): Schema | undefined => schemas[ref.slice(ref.lastIndexOf("/") + 1)];

test("what is wrong is told with its path", () => {
  const found = check(
    {
      spec: {
        replicaSpecs: [
          { type: "w", replicas: "four", restartPolicy: "Sometimes" },
          { replicas: 0 },
        ],
        replicaSpec: 1,
        labels: { a: 1 },
      },
    },
    schemas["Job"]!,
    resolve,
  );
  assert.deepEqual(
    found.map((one) => one.path.join(".")),
    [
      "spec.replicaSpecs.0.replicas",
      "spec.replicaSpecs.0.restartPolicy",
      "spec.replicaSpecs.1",
      "spec.replicaSpecs.1.replicas",
      "spec.replicaSpec",
      "spec.labels.a",
    ],
  );
  assert.match(found[4]!.message, /replicaSpecs/, "a near name is offered");
  assert.deepEqual(check({ spec: {} }, schemas["Job"]!, resolve), []);
  assert.equal(check({}, schemas["Job"]!, resolve).length, 1);
  for (const [name, wrong] of [
    ["Bad_Name", 1],
    ["9th", 1],
    ["lr-0-1", 0],
  ] as const)
    assert.equal(
      check({ metadata: { name }, spec: {} }, { type: "object" }, resolve).length,
      wrong,
      name,
    );
});

test("names that are near", () => {
  assert.equal(nearest("replica", ["replicas", "type"]), "replicas");
  assert.equal(nearest("zzz", ["replicas"]), undefined);
  assert.equal(
    schemaAt(schemas["Job"]!, ["spec", "replicaSpecs", 0, "replicas"], resolve)?.type,
    "integer",
  );
});

const text = `# a comment
metadata:
  name: x # why
spec:
  replicaSpecs:
    - type: worker
      replicas: four
`;

test("places in the text", () => {
  const document = parseDocument(text);
  const place = placeOf(document, ["spec", "replicaSpecs", 0, "replicas"], false);
  assert.equal(text.slice(place.from, place.to), "four");
  const key = placeOf(document, ["spec", "replicaSpecs", 0, "replicas"], true);
  assert.equal(text.slice(key.from, key.to), "replicas");
  const above = placeOf(document, ["spec", "nothing"], false);
  assert.equal(
    text.slice(above.from, above.to),
    "spec",
    "what is not there is shown at what holds it",
  );
  assert.deepEqual(pathAt(document, text.indexOf("four")), ["spec", "replicaSpecs", 0, "replicas"]);
});

test("where a new key would belong", () => {
  const more = `${text}      \n`;
  assert.deepEqual(mappingAt(more, more.length - 1), ["spec", "replicaSpecs", 0]);
  const inner = "spec:\n  \n";
  assert.deepEqual(mappingAt(inner, 8), ["spec"]);
});

test("the form changes one value and leaves comments and unknown fields", () => {
  const once = write(text, ["spec", "replicaSpecs", 0, "replicas"], 4);
  assert.equal(once, text.replace("four", "4"));
  const named = write(text, ["metadata", "name"], "y");
  assert.match(named, /name: y # why/);
  const more = write(text, ["spec", "runPolicy", "backoffLimit"], 3);
  assert.match(more, /runPolicy:\n {4}backoffLimit: 3/);
  assert.match(more, /# a comment/);
  const less = write(more, ["spec", "runPolicy", "backoffLimit"], undefined);
  assert.equal(less, text, "what is emptied is gone");
  const list = write(
    text,
    ["spec", "replicaSpecs", 0, "template", "spec", "containers", 0, "image"],
    "i",
  );
  assert.deepEqual(
    read(parseDocument(list), ["spec", "replicaSpecs", 0, "template", "spec", "containers"]),
    [{ image: "i" }],
  );
});

test("examples and copies", () => {
  assert.equal((parseDocument(example("MPIJob")).toJS() as { kind: string }).kind, "MPIJob");
  const first = parseDocument(firstLook()).toJS() as {
    metadata: { name: string };
    spec: {
      replicaSpecs: {
        replicas: number;
        template: { spec: { containers: { command: string[] }[] } };
      }[];
    };
  };
  assert.equal(first.metadata.name, "first-look");
  assert.equal(first.spec.replicaSpecs[0]!.replicas, 2);
  assert.equal(first.spec.replicaSpecs[0]!.template.spec.containers[0]!.command[0], "sh");
  assert.equal(nextName("train"), "train-2");
  assert.equal(nextName("train-9"), "train-10");
  assert.equal(nextName("mnist-lr-005"), "mnist-lr-005-2");
  const copy = cloned(
    {
      kind: "MPIJob",
      metadata: { name: "a", namespace: "n", uid: "u" },
      spec: {},
      status: {},
    } as Job,
    "b",
  ) as { metadata: object; status?: unknown };
  assert.deepEqual(copy.metadata, {
    name: "b",
    namespace: "n",
    labels: { "muster.dev/rerun-of": "u" },
    annotations: { "muster.dev/rerun-of": "a" },
  });
  assert.equal(copy.status, undefined);
});

test("of several documents the job is taken, with its comments", () => {
  const text =
    "# claim\nkind: PersistentVolumeClaim\n---\n# my job\nkind: MPIJob # yes\n---\nkind: PyTorchTrainingJob\n";
  assert.deepEqual(pickDocument(text, "PyTorchTrainingJob", ["MPIJob", "PyTorchTrainingJob"]), {
    text: "kind: PyTorchTrainingJob\n",
    kind: "PyTorchTrainingJob",
  });
  assert.equal(
    pickDocument("# my job\nkind: MPIJob # yes\n", "PyTorchTrainingJob", ["MPIJob"]).text,
    "# my job\nkind: MPIJob # yes\n",
  );
  assert.deepEqual(pickDocument("not: a job", "MPIJob", ["MPIJob"]), {
    text: "not: a job",
    kind: null,
  });
});

test("differences line by line, with their surroundings", () => {
  const lines = diffLines("a\nb\nc\nd\ne\nf", "a\nB\nc\nd\ne\nf\ng");
  assert.equal(
    lines.map((one) => ({ same: " ", gone: "-", new: "+" })[one.kind] + one.text).join(""),
    " a-b+B c d e f+g",
  );
  assert.deepEqual(
    hunks(lines, 1).map((one) => one?.text ?? "…"),
    ["a", "b", "B", "c", "…", "f", "g"],
  );
  assert.deepEqual(hunks(diffLines("x", "x"), 1), [null]);
});
