// A column of all ranks on one time axis, and which rank is not like the others. Pure.
import { median, total, type Named } from "./samples.ts";

export interface Rank {
  name: string;
  values: (number | null)[];
}

export interface Ranks {
  x: number[]; // seconds
  ranks: Rank[];
}

/** On steps of so many ms, without holes: what nobody measured is null. */
export function ranksOf(all: Named[], column: string, stepMs: number): Ranks {
  const columns = all.map(({ samples }) => total([samples], column, stepMs));
  let from = Infinity;
  let to = -Infinity;
  for (const one of columns)
    for (const at of one.keys()) {
      from = Math.min(from, at);
      to = Math.max(to, at);
    }
  const n = from > to ? 0 : Math.round((to - from) / stepMs) + 1;
  const x = Array.from({ length: n }, (_, i) => (from + i * stepMs) / 1000);
  return {
    x,
    ranks: all.map(({ name }, k) => ({
      name,
      values: x.map((_, i) => columns[k]!.get(from + i * stepMs) ?? null),
    })),
  };
}

export interface Straggler {
  rank: number; // its place among the ranks
  has: number;
  others: number;
}

const APART = 0.25; // of what the others have
const SPREADS = 5; // times as far as the others are from each other
const LEAST_RANKS = 3; // of two nobody can say which is the odd one

/** The ranks whose median over the whole time is far from that of the others, the farthest first. None
 * where the ranks differ among themselves as much. */
export function stragglers(ranks: Rank[], least: number): Straggler[] {
  const means = ranks.map(({ values }) => {
    const known = values.filter((one): one is number => one !== null);
    return known.length ? median(known) : null;
  });
  const known = means.filter((one): one is number => one !== null);
  if (known.length < LEAST_RANKS) return [];
  const others = median(known);
  const spread = median(known.map((one) => Math.abs(one - others)));
  const far = Math.max(APART * Math.abs(others), SPREADS * spread, least);
  return means
    .flatMap((has, rank) =>
      has !== null && Math.abs(has - others) > far ? [{ rank, has, others }] : [],
    )
    .sort((a, b) => Math.abs(b.has - others) - Math.abs(a.has - others));
}
