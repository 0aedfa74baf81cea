// The kinds the console knows by name, and where the API has them.
export interface Kind {
  kind: string;
  plural: string;
  group: string;
  version: string;
}

export interface JobKind extends Kind {
  short: string; // in the menu of "create"
}

const group = "batch.tensorstack.dev";
const version = "v1beta1";

export const JOB_KINDS: readonly JobKind[] = [
  { kind: "PyTorchTrainingJob", plural: "pytorchtrainingjobs", group, version, short: "PyTorch" },
  { kind: "MPIJob", plural: "mpijobs", group, version, short: "MPI" },
];

export const TENSORBOARDS: Kind = {
  kind: "TensorBoard",
  plural: "tensorboards",
  group: "tensorstack.dev",
  version,
};

export const NOTEBOOKS: Kind = {
  kind: "Notebook",
  plural: "notebooks",
  group: "tensorstack.dev",
  version,
};

export const NOTIFICATIONS: Kind = {
  kind: "Notification",
  plural: "notifications",
  group: "muster.dev",
  version,
};

export const QUEUES = {
  kind: "Queue",
  plural: "queues",
  group: "scheduler.tensorstack.dev",
  version,
  namespace: "t9k-system",
};
/** PodGroups of a namespace, or of all. */
export function podGroupPath(ns?: string): string {
  return kindPath({ ...QUEUES, plural: "podgroups" }, ns);
}

export function apiVersion(of: Kind): string {
  return `${of.group}/${of.version}`;
}

/** The collection of a kind, of all namespaces where none is named, or one of its objects. */
export function kindPath(of: Kind, ns?: string, name?: string): string {
  const at = ns ? `namespaces/${encodeURIComponent(ns)}/` : "";
  const all = `/apis/${apiVersion(of)}/${at}${of.plural}`;
  return name ? `${all}/${encodeURIComponent(name)}` : all;
}

/** The queues, or one of them. */
export function queuePath(name?: string): string {
  return kindPath(QUEUES, QUEUES.namespace, name);
}

/** "PyTorch" for PyTorchTrainingJob. */
export function shortKind(kind: string | undefined): string {
  return jobKind(kind ?? "")?.short ?? kind ?? "";
}

export function jobKind(kind: string): JobKind | undefined {
  return JOB_KINDS.find((one) => one.kind === kind);
}

/** A collection of core/v1. */
export function corePath(plural: string, ns?: string, name?: string): string {
  const base = ns ? `/api/v1/namespaces/${encodeURIComponent(ns)}/${plural}` : `/api/v1/${plural}`;
  return name ? `${base}/${encodeURIComponent(name)}` : base;
}

/** The label that says whose pod it is. */
export const OWNER_LABEL = "tensorstack.dev/owner-name";
