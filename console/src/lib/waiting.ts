// The place in line of what waits. Pure.

/** Behind it places are not told apart. */
const PLACES_TOLD = 20;

/** In the line of all queues: "2", ">20"; empty when it is in none. */
export function placeInLine(status: { place?: number } | undefined): string {
  const place = status?.place ?? 0;
  if (place > PLACES_TOLD) return `>${PLACES_TOLD}`;
  return place ? String(place) : "";
}
