// Which failures somebody has looked at: all up to a moment, and those opened since. As in a mailbox, in
// this browser.
import { signal } from "@preact/signals";
import type { Job } from "../data/types.ts";
import { millis } from "./time.ts";

const KEY = "muster.seen";
const OPENED_LIMIT = 500;

interface Seen {
  at: number;
  opened: string[]; // uids
  first?: boolean; // nobody has said yet that all was seen: "since" would be the first visit
}

function kept(): Seen {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "") as Partial<Seen>;
    if (typeof found.at === "number" && Array.isArray(found.opened)) return found as Seen;
  } catch {
    /* nothing is kept yet */
  }
  return keep({ at: Date.now(), opened: [], first: true }); // what failed before the first visit is no news
}

function keep(next: Seen): Seen {
  localStorage.setItem(KEY, JSON.stringify(next));
  return next;
}

export const seen = signal<Seen>(kept());

/** How many failures nobody has looked at; the menu shows it on every page. */
export const unseenCount = signal(0);

export function unseen(jobs: Job[], by: Seen = seen.value): Job[] {
  return jobs.filter(
    (job) =>
      job.status?.phase === "Failed" &&
      (millis(job.status.completionTime) ?? 0) > by.at &&
      !by.opened.includes(job.metadata.uid),
  );
}

export function seeAll(): void {
  seen.value = keep({ at: Date.now(), opened: [] });
}

export function see(job: Job): void {
  if (!unseen([job]).length) return;
  const opened = [...seen.value.opened, job.metadata.uid].slice(-OPENED_LIMIT);
  seen.value = keep({ ...seen.value, opened });
}
