// The place in line of what waits. Pure.

/** Behind it places are not told apart. */
const PLACES_TOLD = 20;

/** In the line of all queues: "2", ">20"; empty when it is in none. */
export function placeInLine(status: { place?: number } | undefined): string {
  const place = status?.place ?? 0;
  if (place > PLACES_TOLD) return `>${PLACES_TOLD}`;
  return place ? String(place) : "";
}

const SAID = /\bnumber \d+ in line|\bmore than \d+ are in line before it/;

/** The same, for beside its sentence: empty also when that says the place itself. */
export function placeUnsaid(status: { place?: number; message?: string } | undefined): string {
  return SAID.test(status?.message ?? "") ? "" : placeInLine(status);
}
