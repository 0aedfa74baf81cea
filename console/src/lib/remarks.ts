// What people say of a job: a note, tags, and of which job it is a changed copy. Pure.
import type { Job } from "../data/types.ts";
import { configOf, differing } from "./compare.ts";

export const NOTE = "muster.dev/note";
export const NOTE_LIMIT = 4096; // bytes
/** A tag is a label of this name without a value: so every selector finds it. */
export const TAG_PREFIX = "tag.muster.dev/";
/** As a label the UID of the job it was copied from, as an annotation its name. */
export const RERUN_OF = "muster.dev/rerun-of";

export function noteOf(job: Job): string {
  return job.metadata.annotations?.[NOTE] ?? "";
}

export function tagsOf(job: Job): string[] {
  return Object.keys(job.metadata.labels ?? {})
    .filter((one) => one.startsWith(TAG_PREFIX))
    .map((one) => one.slice(TAG_PREFIX.length))
    .sort();
}

/** Labels that are neither tags nor where it comes from. */
export function plainLabels(job: Job): [string, string][] {
  return Object.entries(job.metadata.labels ?? {}).filter(
    ([name]) => !name.startsWith(TAG_PREFIX) && name !== RERUN_OF,
  );
}

/** Whether it can be a tag: what follows the slash of a label's name. */
export function isTag(text: string): boolean {
  return text.length <= 63 && /^[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?$/.test(text);
}

export function noteBytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** A merge patch with nothing in it but what changed: who changes something else meanwhile is not
 * overwritten. */
export function remarksPatch(job: Job, note: string, tags: string[]): unknown {
  const labels: Record<string, string | null> = {};
  const before = tagsOf(job);
  for (const one of before) if (!tags.includes(one)) labels[TAG_PREFIX + one] = null;
  for (const one of tags) if (!before.includes(one)) labels[TAG_PREFIX + one] = "";
  return {
    metadata: {
      ...(Object.keys(labels).length ? { labels } : {}),
      ...(note === noteOf(job) ? {} : { annotations: { [NOTE]: note || null } }),
    },
  };
}

// --- lineage --------------------------------------------------------------------------------------

export interface Ancestor {
  uid: string;
  name: string;
  job: Job | undefined; // undefined: it is gone
}

const GENERATIONS = 20;

/** The job it was copied from, that one's, and so on; the oldest first. */
export function ancestorsOf(job: Job, all: Job[]): Ancestor[] {
  const byUid = new Map(all.map((one) => [one.metadata.uid, one]));
  const found: Ancestor[] = [];
  let at: Job | undefined = job;
  while (at && found.length < GENERATIONS) {
    const uid: string | undefined = at.metadata.labels?.[RERUN_OF];
    if (!uid || uid === job.metadata.uid || found.some((one) => one.uid === uid)) break;
    const name: string = at.metadata.annotations?.[RERUN_OF] ?? uid;
    at = byUid.get(uid);
    found.unshift({ uid, name: at?.metadata.name ?? name, job: at });
  }
  return found;
}

/** Its copies, the oldest first. */
export function copiesOf(job: Job, all: Job[]): Job[] {
  return all
    .filter((one) => one.metadata.labels?.[RERUN_OF] === job.metadata.uid)
    .sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
}

/** "--lr: 0.1 → 0.2" for each thing that is not the same. */
export function changesBetween(before: Job, after: Job): string[] {
  const [a, b] = [configOf(before), configOf(after)];
  return differing([a, b]).map((name) => `${name}: ${a[name] ?? "-"} → ${b[name] ?? "-"}`);
}
