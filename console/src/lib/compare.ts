// What a comparison of runs is worked out from: which jobs, in what they differ, which values count.
// Pure.
import type { Container, Job } from "../data/types.ts";

/** Jobs in the address: "default/PyTorchTrainingJob/a,b;other/MPIJob/c". */
export function writeJobs(jobs: Job[]): string {
  const groups = new Map<string, string[]>();
  for (const { kind = "", metadata } of jobs) {
    const head = `${metadata.namespace ?? "default"}/${kind}`;
    groups.set(head, [...(groups.get(head) ?? []), metadata.name]);
  }
  return [...groups].map(([head, names]) => `${head}/${names.join(",")}`).join(";");
}

export function compareHref(jobs: Job[]): string {
  return `/compare?jobs=${writeJobs(jobs)}`;
}

/** Those of the jobs that the address names, in its order; then all that have its label. */
export function readJobs(all: Job[], text: string | null, label: string | null): Job[] {
  const byName = new Map(all.map((job) => [keyOf(job), job]));
  const named = (text ?? "").split(";").flatMap((group) => {
    const [ns, kind, names = ""] = group.split("/");
    return names.split(",").map((name) => byName.get(`${ns}/${kind}/${name}`));
  });
  const at = label?.indexOf("=") ?? -1;
  const labelled = label
    ? all.filter(({ metadata }) => metadata.labels?.[label.slice(0, at)] === label.slice(at + 1))
    : [];
  return [...new Set([...named, ...labelled])].filter((job): job is Job => job !== undefined);
}

export function keyOf(job: Job): string {
  return `${job.metadata.namespace ?? "default"}/${job.kind}/${job.metadata.name}`;
}

// --- configuration --------------------------------------------------------------------------------

export type Facts = Record<string, string>;

/** "--lr=0.1", "--lr 0.1" and "lr=0.1" of a command line, by name; and what else it says. */
export function flagsOf(words: string[]): { flags: Facts; rest: string } {
  const flags: Facts = {};
  const rest: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const [, name, value] = /^--?([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(words[i]!) ?? [];
    const [, plain, set] = /^([A-Za-z][\w.]*)=(.*)$/s.exec(words[i]!) ?? [];
    const next = words[i + 1];
    if (name === undefined && plain === undefined) rest.push(words[i]!);
    else if (name === undefined) flags[plain!] = set!;
    else if (value !== undefined) flags[`--${name}`] = value;
    else if (next !== undefined && (!next.startsWith("-") || /^-[\d.]/.test(next))) {
      flags[`--${name}`] = next;
      i++;
    } else flags[`--${name}`] = "✓";
  }
  return { flags, rest: rest.join(" ") };
}

/** Every leaf by its path; lists of texts are one leaf, things with a name go by it. */
function leaves(value: unknown, path: string, into: Facts): void {
  if (value === null || value === undefined) return;
  if (Array.isArray(value)) {
    if (value.every((one) => typeof one !== "object")) into[path] = value.join(" ");
    else
      value.forEach((one: unknown, i) => {
        const name = (one as { name?: unknown; type?: unknown } | null)?.name;
        leaves(one, `${path}[${typeof name === "string" ? name : i}]`, into);
      });
  } else if (typeof value === "object") {
    for (const [name, one] of Object.entries(value))
      leaves(one, path ? `${path}.${name}` : name, into);
  } else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    into[path] = String(value);
}

function takeContainer(container: Container, path: string, into: Facts): void {
  const { command = [], args = [], env = [], ...others } = container;
  const { flags, rest } = flagsOf([...command, ...args]);
  Object.assign(into, flags);
  into[`${path}.command`] = rest;
  for (const { name, value } of env) if (value !== undefined) into[`$${name}`] = value;
  leaves(others, path, into);
}

/** What a job says it wants, flat. Options of its command and its environment by their own names. */
export function configOf(job: Job): Facts {
  const facts: Facts = {};
  const { replicaSpecs = [], ...others } = job.spec ?? {};
  leaves(others, "", facts);
  for (const { type, template, ...replica } of replicaSpecs) {
    leaves(replica, type, facts);
    const { containers = [], ...pod } = template?.spec ?? {};
    leaves(pod, type, facts);
    for (const one of containers)
      takeContainer(one, containers.length > 1 ? `${type}.${one.name}` : type, facts);
  }
  return facts;
}

/** Without those that say the same as one before them, run by run: "lr" and "--lr"; of one name also
 * where the later one says less. */
export function distinct<T extends { name: string }>(
  columns: T[],
  valuesOf: (column: T) => (string | number | null)[],
): T[] {
  const alike = (value: string | number | null): string | number | null =>
    value === null || value === "" || !Number.isFinite(Number(value)) ? value : Number(value);
  const kept: { name: string; values: (string | number | null)[] }[] = [];
  return columns.filter((one) => {
    const name = bare(one.name);
    const values = valuesOf(one).map(alike);
    const said = kept.some((before) =>
      values.every(
        (value, i) => value === before.values[i] || (value === null && name === before.name),
      ),
    );
    if (!said) kept.push({ name, values });
    return !said;
  });
}

/** Words of which every run has another, such as a folder: a name of the run, nothing to try. */
export function isName(values: (string | number | null)[]): boolean {
  return (
    values.length > 2 &&
    new Set(values).size === values.length &&
    values.some((one) => !Number.isFinite(Number(one ?? NaN)))
  );
}

/** The names whose values are not the same in all. */
export function differing(all: Facts[]): string[] {
  const names = new Set(all.flatMap((one) => Object.keys(one)));
  return [...names].filter((name) => new Set(all.map((one) => one[name])).size > 1).sort();
}

// --- metrics --------------------------------------------------------------------------------------

const SMALL = /loss|err|perplexity|ppl|mse|mae|rmse|wer|cer|latency|time|seconds/i;

export function lowerIsBetter(tag: string): boolean {
  return SMALL.test(tag);
}

export interface TagFigures {
  run: string;
  tag: string;
  kind: string;
  count: number;
  last?: { step: number; value: number | null };
  min?: { value: number | null };
  max?: { value: number | null };
  hparams?: Facts;
}

export interface Figures {
  last: number | null;
  best: number | null;
  count: number;
}

/** Of each scalar tag; of several runs of a job the one with the most points. */
export function figuresOf(tags: TagFigures[]): Map<string, Figures> {
  const found = new Map<string, Figures>();
  for (const one of tags) {
    if (one.kind !== "scalar" || !one.last) continue;
    if ((found.get(one.tag)?.count ?? -1) >= one.count) continue;
    const best = (lowerIsBetter(one.tag) ? one.min : one.max)?.value ?? null;
    found.set(one.tag, { last: one.last.value, best, count: one.count });
  }
  return found;
}

export function hparamsOf(tags: TagFigures[]): Facts {
  return Object.assign({}, ...tags.map((one) => one.hparams ?? {})) as Facts;
}

const bare = (name: string): string => name.replace(/[-_.]/g, "").toLowerCase();
const LONGEST = 200; // what is longer is a program, no parameter

/** What a run learns by: as its event files say it, then options of its command they do not have. An
 * option of one letter is the interpreter's. */
export function parametersOf(job: Job, hparams: Facts): [name: string, value: string][] {
  const commands = (job.spec?.replicaSpecs ?? [])
    .flatMap((one) => one.template?.spec?.containers ?? [])
    .map(({ command = [], args = [] }) => [...command, ...args]);
  const said = new Map(Object.entries(hparams));
  const known = new Set([...said.keys()].map(bare));
  for (const words of [job.spec?.mpiConfig?.script ?? [], ...commands])
    for (const [name, value] of Object.entries(flagsOf(words).flags)) {
      const word = name.replace(/^--/, "");
      if (word.length < 2 || value.length > LONGEST || known.has(bare(word))) continue;
      known.add(bare(word));
      said.set(word, value);
    }
  // Numbers are what one looks for, folders what one does not.
  const order = (value: string): number =>
    value.startsWith("/") ? 2 : value !== "" && Number.isFinite(Number(value)) ? 0 : 1;
  return [...said].sort((a, b) => order(a[1]) - order(b[1]));
}

// --- pictures -------------------------------------------------------------------------------------

export interface Scale {
  /** 0 to 1, or null where there is no value. */
  place: (value: string | number | null | undefined) => number | null;
  marks: { at: number; text: string }[];
}

const FEW = 6; // values that are marked one by one

const show = (n: number): string => String(Number(n.toPrecision(3)));

/** Round numbers from low to high: two to seven, or powers of ten. */
function roundMarks(low: number, high: number, log: boolean): number[] {
  if (low === high) return [low];
  if (log) {
    const marks: number[] = [];
    for (let n = Math.ceil(Math.log10(low)); n <= Math.log10(high); n++) marks.push(10 ** n);
    return marks;
  }
  const size = 10 ** Math.floor(Math.log10(high - low));
  const step = [0.2, 0.5, 1].map((n) => n * size).find((n) => (high - low) / n <= 6) ?? size * 2;
  const marks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    marks.push(i * step);
  return marks;
}

/** An axis for what may be numbers or words: numbers over their range (by powers of ten when they
 * span more than two), words one below the other. */
export function scaleOf(values: (string | number | null | undefined)[]): Scale {
  const known = values.filter((one) => one !== null && one !== undefined && one !== "");
  const numbers = known.map(Number).filter(Number.isFinite);
  if (known.length && numbers.length === known.length) {
    const each = [...new Set(numbers)].sort((a, b) => a - b);
    const [low, high] = [each[0]!, each.at(-1)!];
    const log = low > 0 && high / low > 100;
    const f = log ? Math.log10 : (n: number): number => n;
    const span = f(high) - f(low);
    return {
      place: (value) => {
        if (value === null || value === undefined || value === "") return null;
        const n = Number(value);
        return Number.isFinite(n) ? (span ? (f(n) - f(low)) / span : 0.5) : null;
      },
      marks:
        each.length <= FEW && each.every((n) => Number(show(n)) === n)
          ? each.map((n) => ({ at: span ? (f(n) - f(low)) / span : 0.5, text: show(n) }))
          : roundMarks(low, high, log).map((n) => ({
              at: span ? (f(n) - f(low)) / span : 0.5,
              text: show(n),
            })),
    };
  }
  const words = [...new Set(known.map(String))].sort();
  const at = (word: string): number =>
    words.length > 1 ? words.indexOf(word) / (words.length - 1) : 0.5;
  return {
    place: (value) =>
      value === null || value === undefined || value === "" ? null : at(String(value)),
    marks: words.map((text) => ({ at: at(text), text })),
  };
}

export interface Curve {
  x: ArrayLike<number>;
  values: ArrayLike<number | null>;
}

export interface Mean {
  x: number[];
  values: (number | null)[];
  band: { low: (number | null)[]; high: (number | null)[] };
}

/** Between the two points around; null before the first and after the last, but for little. */
function valueAt(
  { x, values }: Curve,
  at: number,
  little: number,
  from: { i: number },
): number | null {
  if (at < x[0]! - little || at > x[x.length - 1]! + little) return null;
  if (at < x[0]!) return values[0] ?? null;
  while (from.i + 1 < x.length && x[from.i + 1]! <= at) from.i++;
  const [a, b] = [values[from.i] ?? null, values[from.i + 1] ?? null];
  if (a === null || b === null || from.i + 1 >= x.length) return a;
  const [left, right] = [x[from.i]!, x[from.i + 1]!];
  return right > left ? a + ((b - a) * (at - left)) / (right - left) : a;
}

/** The mean of some runs, with the lowest and highest of them, at n places. */
export function meanOf(curves: Curve[], n: number): Mean {
  const ends = curves.filter(({ x }) => x.length);
  const low = Math.min(...ends.map(({ x }) => x[0]!));
  const high = Math.max(...ends.map(({ x }) => x[x.length - 1]!));
  const mean: Mean = { x: [], values: [], band: { low: [], high: [] } };
  if (!ends.length) return mean;
  const count = high > low ? n : 1;
  const places = ends.map(() => ({ i: 0 }));
  for (let k = 0; k < count; k++) {
    const at = count > 1 ? low + ((high - low) * k) / (count - 1) : low;
    const here = ends
      .map((one, i) => valueAt(one, at, (high - low) / n, places[i]!))
      .filter((one): one is number => one !== null && Number.isFinite(one));
    mean.x.push(at);
    mean.values.push(here.length ? here.reduce((a, b) => a + b, 0) / here.length : null);
    mean.band.low.push(here.length ? Math.min(...here) : null);
    mean.band.high.push(here.length ? Math.max(...here) : null);
  }
  return mean;
}
