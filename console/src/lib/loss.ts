// Which of a job's tags says whether it learns. Pure. The daemon has the same rule for the progress of
// a job (src/console/loss_tag.h).
const OTHER_DATA = /(^|[^a-z])(val|valid|validation|eval|test|dev)([^a-z]|$)/i;
const EXACT = /^(loss|train_loss|train\/loss|training_loss|training\/loss|loss\/train)$/i;
const LAST_PART = /(^|[/.:])(loss|loss_[^/.:]*|[^/.:]*_loss)$/i;
const WORD = /(^|[^a-z])loss([^a-z]|$)/i;

export const NO_LOSS = 3;

/** The lower the better, below NO_LOSS a loss. What is measured on other data than is trained on comes after all that is. */
export function lossRank(tag: string): number {
  const names = [EXACT, LAST_PART, WORD].findIndex((one) => one.test(tag));
  const rank = names < 0 ? NO_LOSS : names;
  return OTHER_DATA.test(tag) ? rank + 4 : rank;
}

/** Of the best the one with the most points. A tag that comes later does not take the place of one
 * that is better by its name. */
export function lossTag(series: { tag: string; value: ArrayLike<unknown> }[]): string | undefined {
  const points = new Map<string, number>();
  for (const one of series) points.set(one.tag, (points.get(one.tag) ?? 0) + one.value.length);
  return [...points].sort(
    (a, b) => lossRank(a[0]) - lossRank(b[0]) || b[1] - a[1] || (a[0] < b[0] ? -1 : 1),
  )[0]?.[0];
}
