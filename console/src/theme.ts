// Light or dark: as the system has it, unless the user chose.
import { effect, signal } from "@preact/signals";

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
