// The kinds the console knows by name, and where the API has them.
export interface JobKind {
  kind: string;
  plural: string;
  group: string;
  version: string;
  short: string; // in the menu of "create"
}

const group = "batch.tensorstack.dev";
const version = "v1beta1";

export const JOB_KINDS: readonly JobKind[] = [
  { kind: "PyTorchTrainingJob", plural: "pytorchtrainingjobs", group, version, short: "PyTorch" },
  { kind: "MPIJob", plural: "mpijobs", group, version, short: "MPI" },
];

export const TENSORBOARDS = {
  group: "tensorstack.dev",
  version: "v1beta1",
  plural: "tensorboards",
};

export const NOTEBOOKS = {
  group: "tensorstack.dev",
  version: "v1beta1",
  plural: "notebooks",
};

export const NOTIFICATIONS = { group: "muster.dev", version: "v1beta1", plural: "notifications" };

/** All of a namespace; without one, of all. */
export function notificationsPath(ns: string): string {
  const at = ns ? `namespaces/${encodeURIComponent(ns)}/` : "";
  return `/apis/${NOTIFICATIONS.group}/${NOTIFICATIONS.version}/${at}${NOTIFICATIONS.plural}`;
}

export const QUEUES = {
  group: "scheduler.tensorstack.dev",
  version: "v1beta1",
  plural: "queues",
  namespace: "t9k-system",
};
export const POD_GROUPS = `/apis/${QUEUES.group}/${QUEUES.version}/podgroups`;

/** The queues, or one of them. */
export function queuePath(name?: string): string {
  const all = `/apis/${QUEUES.group}/${QUEUES.version}/namespaces/${QUEUES.namespace}/${QUEUES.plural}`;
  return name ? `${all}/${encodeURIComponent(name)}` : all;
}

/** "PyTorch" for PyTorchTrainingJob. */
export function shortKind(kind: string | undefined): string {
  return jobKind(kind ?? "")?.short ?? kind ?? "";
}

export function jobKind(kind: string): JobKind | undefined {
  return JOB_KINDS.find((one) => one.kind === kind);
}

/** The collection of a job kind; without a namespace, of all. */
export function jobsPath(kind: JobKind, ns?: string): string {
  const base = `/apis/${kind.group}/${kind.version}`;
  return ns
    ? `${base}/namespaces/${encodeURIComponent(ns)}/${kind.plural}`
    : `${base}/${kind.plural}`;
}

export function jobPath(kind: JobKind, ns: string, name: string): string {
  return `${jobsPath(kind, ns)}/${encodeURIComponent(name)}`;
}

/** A collection of core/v1. */
export function corePath(plural: string, ns?: string, name?: string): string {
  const base = ns ? `/api/v1/namespaces/${encodeURIComponent(ns)}/${plural}` : `/api/v1/${plural}`;
  return name ? `${base}/${encodeURIComponent(name)}` : base;
}

/** The label that says whose pod it is. */
export const OWNER_LABEL = "tensorstack.dev/owner-name";
