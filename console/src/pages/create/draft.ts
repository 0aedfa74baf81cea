// The job being written: one YAML document, seen as a form and as text. The form changes single
// values in the document, so comments and fields it does not know stay as they are. Pure but for
// the yaml package.
import { isMap, isSeq, parseAllDocuments, parseDocument, type Document } from "yaml";
import type { Job } from "../../data/types.ts";
import type { Path } from "../../editor/check.ts";
import { plainLabels, RERUN_OF } from "../../lib/remarks.ts";

export function read(document: Document, path: Path): unknown {
  const node = document.getIn(path, false);
  return isMap(node) || isSeq(node) ? node.toJS(document) : node;
}

/** What a field shows: a scalar as text; what is no scalar, or not there, as nothing. */
export function readText(document: Document, path: Path): string {
  const value = read(document, path);
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}

/** Whether nothing is left in it: then a form that is emptied leaves no empty mappings behind. */
function isEmpty(document: Document, path: Path): boolean {
  const node = document.getIn(path, true);
  return (isMap(node) || isSeq(node)) && node.items.length === 0;
}

/** A new text with one value set; undefined removes it, and what is empty above it. */
export function write(text: string, path: Path, value: unknown): string {
  const document = parseDocument(text);
  if (value === undefined || value === "") {
    document.deleteIn(path);
    for (
      let n = path.length - 1;
      n > 1 && typeof path[n] === "string" && isEmpty(document, path.slice(0, n));
      n--
    )
      document.deleteIn(path.slice(0, n));
  } else {
    makeParents(document, path);
    const old = document.getIn(path, true);
    const node = document.createNode(value);
    // A comment beside a value stays with the field.
    if (old && typeof old === "object" && "comment" in old && old.comment && node)
      (node as { comment?: unknown }).comment = old.comment;
    document.setIn(path, node);
  }
  return document.toString({ lineWidth: 0 });
}

/** setIn makes mappings, also where the next part is an index. */
function makeParents(document: Document, path: Path): void {
  for (let n = 1; n < path.length; n++) {
    const at = path.slice(0, n);
    const have = document.getIn(at, true);
    if (isMap(have) || isSeq(have)) continue;
    document.setIn(at, document.createNode(typeof path[n] === "number" ? [] : {}));
  }
}

/** Of a file with several documents the first of the kind wanted, else the first job; its text as
 * it was written, comments too. */
export function pickDocument(
  text: string,
  kind: string,
  kinds: readonly string[],
): { text: string; kind: string | null } {
  const parts = text.split(/^---[ \t]*(?:#.*)?$/m);
  const found = parts.map((part) => {
    const documents = parseAllDocuments(part);
    const first = Array.isArray(documents) ? documents[0] : undefined;
    const said =
      first && !first.errors.length ? (first.toJS() as { kind?: unknown } | null)?.kind : undefined;
    return { text: part.replace(/^\n+/, ""), kind: typeof said === "string" ? said : null };
  });
  return (
    found.find((one) => one.kind === kind) ??
    found.find((one) => one.kind !== null && kinds.includes(one.kind)) ?? { text, kind: null }
  );
}

export function example(kind: string): string {
  return kind === "MPIJob" ? MPI : PYTORCH;
}

const PYTORCH = `apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata:
  name: ""
  namespace: default
spec:
  replicaSpecs:
    - type: worker
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: pytorch/pytorch
              command:
                - python
                - train.py
              resources:
                limits:
                  cpu: "1"
                  memory: 1Gi
                requests:
                  cpu: 500m
                  memory: 512Mi
`;

const MPI = `apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata:
  name: ""
  namespace: default
spec:
  mpiConfig:
    script:
      - python
      - train.py
  replicaSpecs:
    - type: launcher
      template: {}
    - type: worker
      replicas: 1
      template:
        spec:
          containers:
            - name: worker
              image: horovod/horovod
              resources:
                limits:
                  cpu: "1"
                  memory: 1Gi
                requests:
                  cpu: 500m
                  memory: 512Mi
`;

const FAST = `              command:
                - sh
                - -c
                - 'for i in 1 2 3 4 5 6 7 8 9 10; do echo "epoch $i/10 loss 0.$((10 - i))"; sleep 2; done'
`;

/** A job that runs half a minute anywhere: for a first look. */
export function firstLook(): string {
  return PYTORCH.replace('name: ""', "name: first-look")
    .replace(/ {14}command:\n(?: {16}- .*\n)+/, FAST)
    .replace("replicas: 1", "replicas: 2")
    .replace('cpu: "1"', "cpu: 500m")
    .replace(
      "cpu: 500m\n                  memory: 512Mi",
      "cpu: 50m\n                  memory: 32Mi",
    );
}

/** Annotations that are part of what runs: where it starts, where it writes. */
const CARRIED = ["muster.dev/folder", "muster.dev/log-dir"];

/** On a job whose author may not act as any user of the machine. */
export const RUN_AS = "muster.dev/run-as";
/** Asks for the same of a new one. */
export const AS_NAMESPACE = "namespace";

/** What of an existing job makes a new one: the spec and what the user gave it, not what the server
 * put in, nor what people said of the old one. It says of which it is a copy. Another's program is not run as
 * oneself by the way. */
export function cloned(job: Job, name: string): unknown {
  return {
    apiVersion: job.apiVersion ?? "batch.tensorstack.dev/v1beta1",
    kind: job.kind,
    metadata: {
      name,
      namespace: job.metadata.namespace,
      labels: { ...Object.fromEntries(plainLabels(job)), [RERUN_OF]: job.metadata.uid },
      annotations: {
        ...Object.fromEntries(
          CARRIED.flatMap((key) => {
            const value = job.metadata.annotations?.[key];
            return value === undefined ? [] : [[key, value]];
          }),
        ),
        ...(job.metadata.annotations?.[RUN_AS] ? { [RUN_AS]: AS_NAMESPACE } : {}),
        [RERUN_OF]: job.metadata.name,
      },
    },
    spec: job.spec,
  };
}

/** "train" becomes "train-2", "train-2" becomes "train-3"; the 005 of "lr-005" counts nothing. */
export function nextName(name: string): string {
  const found = /^(.*)-([1-9]\d*)$/.exec(name);
  return found ? `${found[1]}-${Number(found[2]) + 1}` : `${name}-2`;
}
