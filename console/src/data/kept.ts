// What this browser keeps of the list: favourite jobs and saved views. Other tabs follow.
import { signal } from "@preact/signals";

function kept<T>(key: string, empty: T) {
  const read = (): T => {
    try {
      return (JSON.parse(localStorage.getItem(key) ?? "null") as T | null) ?? empty;
    } catch {
      return empty; // another program wrote there
    }
  };
  const value = signal<T>(read());
  window.addEventListener("storage", (event) => {
    if (event.key === key) value.value = read();
  });
  return {
    value,
    set(next: T): void {
      value.value = next;
      localStorage.setItem(key, JSON.stringify(next));
    },
  };
}

// --- favourites -----------------------------------------------------------------------------------

const FAVOURITES_LIMIT = 1_000; // the oldest go
/** By UID: a job made anew under an old name is another one. */
const favourites = kept<string[]>("muster.favourites", []);

export function isFavourite(uid: string): boolean {
  return favourites.value.value.includes(uid);
}

export function setFavourite(uid: string, on: boolean): void {
  const others = favourites.value.value.filter((one) => one !== uid);
  favourites.set(on ? [...others, uid].slice(-FAVOURITES_LIMIT) : others);
}

// --- views ----------------------------------------------------------------------------------------

export interface View {
  name: string;
  query: string; // filters, order and columns, as in the address
}

const VIEWS_LIMIT = 50;
const saved = kept<View[]>("muster.views", []);

export function views(): View[] {
  return saved.value.value;
}

/** One of the same name is replaced. */
export function saveView(view: View): void {
  saved.set(
    [...views().filter((one) => one.name !== view.name), view]
      .sort((a, b) => a.name.localeCompare(b.name))
      .slice(0, VIEWS_LIMIT),
  );
}

export function forgetView(name: string): void {
  saved.set(views().filter((one) => one.name !== name));
}
