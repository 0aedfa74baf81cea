// Light or dark: as the system has it, unless the user chose. And how much room rows have.
import { computed, effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "muster.theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

const kept = localStorage.getItem(KEY);
export const theme = signal<Theme>(kept === "light" || kept === "dark" ? kept : "system");
const systemDark = signal(system.matches);
system.addEventListener("change", () => {
  systemDark.value = system.matches;
});

/** What is shown now; charts and the terminal follow it. */
export const dark = signal(false);

effect(() => {
  dark.value = theme.value === "dark" || (theme.value === "system" && systemDark.value);
  document.documentElement.dataset["theme"] = dark.value ? "dark" : "light";
  localStorage.setItem(KEY, theme.value);
});

export type Density = "comfortable" | "compact";
const DENSITY_KEY = "muster.density";
export const density = signal<Density>(
  localStorage.getItem(DENSITY_KEY) === "compact" ? "compact" : "comfortable",
);
effect(() => {
  document.documentElement.dataset["density"] = density.value;
  localStorage.setItem(DENSITY_KEY, density.value);
});

/** How high a row of a list is: --row of style/tokens.css. */
export const rowPx = computed(() => (density.value === "compact" ? 28 : 36));
