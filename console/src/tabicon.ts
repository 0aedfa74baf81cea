// The browser's tab shows the state: its character and a name in the title, its shape and colour as the
// icon; the mark where there is none to show.
import { STATE_SHAPE, type State } from "./lib/state.ts";
import { MARK_PATH } from "./ui/mark.tsx";
import { STATE_ICON } from "./ui/state-icons.ts";

// Of the light theme, with white on them: a tab's ground is the browser's.
const COLOUR: Record<State, string> = {
  queued: "#90580c",
  starting: "#90580c",
  running: "#0a4b8c",
  paused: "#90580c",
  succeeded: "#14735a",
  failed: "#b3261e",
  stopped: "#5b5873",
  unknown: "#5b5873",
};
const INK = "#1e1a38";
const INK_TEXT = "#cfc6ff";

function svg(inside: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke-linecap="round" stroke-linejoin="round">${inside}</svg>`;
}

export function iconOf(state: State | null): string {
  if (!state)
    return svg(
      `<rect width="32" height="32" rx="8" fill="${INK}"/><path transform="translate(4 3.5)" d="${MARK_PATH}" stroke="${INK_TEXT}" stroke-width="4.4"/>`,
    );
  const shape = STATE_ICON[state]
    .map(
      ([name, attributes]) =>
        `<${name} ${Object.entries(attributes)
          .map(([key, value]) => `${key}="${value}"`)
          .join(" ")}/>`,
    )
    .join("");
  return svg(
    `<rect width="32" height="32" rx="8" fill="${COLOUR[state]}"/><g transform="translate(4 4)" stroke="#ffffff" stroke-width="3">${shape}</g>`,
  );
}

export function showState(state: State | null, name: string): void {
  document.title = state ? `${STATE_SHAPE[state]} ${name}` : name;
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link) link.href = `data:image/svg+xml,${encodeURIComponent(iconOf(state))}`;
}
