// The table of a comparison: its rows, its columns, its order. Pure.
import type { Job } from "../../data/types.ts";
import type { Summary } from "../../curves/many.ts";
import {
  configOf,
  differing,
  distinct,
  figuresOf,
  hparamsOf,
  lowerIsBetter,
  type Facts,
  type Figures,
} from "../../lib/compare.ts";
import { lossRank } from "../../lib/loss.ts";

export interface Run {
  job: Job;
  index: number; // its colour
  config: Facts;
  labels: Facts;
  hparams: Facts;
  figures: Map<string, Figures>;
  summary: Summary | undefined;
}

export const KINDS = ["hparams", "config", "labels", "last", "best"] as const;
export type ColumnKind = (typeof KINDS)[number];

export interface Column {
  id: string; // "last:train/loss", as in the address
  kind: ColumnKind;
  name: string;
}

export function runsOf(jobs: Job[], summaries: ReadonlyMap<string, Summary>): Run[] {
  return jobs.map((job, index) => {
    const summary = summaries.get(job.metadata.uid);
    return {
      job,
      index,
      config: configOf(job),
      labels: job.metadata.labels ?? {},
      hparams: hparamsOf(summary?.tags ?? []),
      figures: figuresOf(summary?.tags ?? []),
      summary,
    };
  });
}

/** What says most whether it learns comes first. */
export function tagsOf(runs: Run[]): string[] {
  const tags = new Set(runs.flatMap((run) => [...run.figures.keys()]));
  return [...tags].sort((a, b) => lossRank(a) - lossRank(b) || (a < b ? -1 : 1));
}

export function columnsOf(runs: Run[], tags: string[], all: boolean): Column[] {
  const facts = (kind: "config" | "labels" | "hparams"): Column[] => {
    const each = runs.map((run) => run[kind]);
    const names = all
      ? [...new Set(each.flatMap((one) => Object.keys(one)))].sort()
      : differing(each);
    return names.map((name) => ({ id: `${kind}:${name}`, kind, name }));
  };
  const said = [...facts("hparams"), ...facts("config"), ...facts("labels")];
  return [
    ...(all ? said : distinct(said, (one) => runs.map((run) => valueOf(run, one)))),
    ...tags.flatMap((name) =>
      (["last", "best"] as const).map((kind) => ({ id: `${kind}:${name}`, kind, name })),
    ),
  ];
}

export function columnOf(id: string): Column {
  const at = id.indexOf(":");
  return { id, kind: id.slice(0, at) as ColumnKind, name: id.slice(at + 1) };
}

export function valueOf(run: Run, { kind, name }: Column): string | number | null {
  if (kind === "last" || kind === "best") return run.figures.get(name)?.[kind] ?? null;
  return run[kind]?.[name] ?? null;
}

/** What is best first, unless told otherwise. */
export function defaultSort(tags: string[]): string {
  return tags[0] ? `${lowerIsBetter(tags[0]) ? "" : "-"}best:${tags[0]}` : "name";
}

/** Numbers by their size, before words; what is not there is last either way. */
export function sorted(runs: Run[], sort: string): Run[] {
  const down = sort.startsWith("-");
  const id = down ? sort.slice(1) : sort;
  const column = columnOf(id);
  const key = (run: Run): string | number | null =>
    id === "name" ? run.job.metadata.name : valueOf(run, column);
  const keyed = runs.map((run) => {
    const value = key(run);
    const number = value === null || value === "" ? NaN : Number(value);
    return { run, value, number };
  });
  keyed.sort((a, b) => {
    if ((a.value === null) !== (b.value === null)) return a.value === null ? 1 : -1;
    const numbers = !Number.isNaN(a.number) && !Number.isNaN(b.number);
    const order = numbers
      ? a.number - b.number
      : String(a.value).localeCompare(String(b.value), "en", { numeric: true });
    return (down ? -order : order) || a.run.index - b.run.index;
  });
  return keyed.map((one) => one.run);
}
