// The browser's tab shows the state: shape and name in the title, colour and shape in the icon.
import { STATE_SHAPE, type State } from "./lib/state.ts";

const COLOUR: Record<State, string> = {
  queued: "#b26a00",
  starting: "#b26a00",
  running: "#2563eb",
  paused: "#b26a00",
  succeeded: "#15803d",
  failed: "#c62828",
  stopped: "#6b7280",
  unknown: "#6b7280",
};
// Drawn, not text: the icon must look the same with every font.
const MARK: Record<State, string> = {
  queued: "M8 4v4l3 2",
  starting: "M8 4v4l3 2",
  running: "M6 5l5 3-5 3z",
  paused: "M6 5v6M10 5v6",
  succeeded: "M4.5 8.5l2.5 2.5 4.5-5.5",
  failed: "M5 5l6 6M11 5l-6 6",
  stopped: "M5.5 5.5h5v5h-5z",
  unknown: "M8 4v5M8 11v.5",
};

function setIcon(svg: string): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link) link.href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

export function showState(state: State | null, name: string): void {
  document.title = state ? `${STATE_SHAPE[state]} ${name}` : name;
  const inside = state
    ? `<path d="${MARK[state]}" fill="none" stroke="#fff" stroke-width="1.8"/>`
    : "";
  setIcon(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="${state ? COLOUR[state] : "#2563eb"}"/>${inside}</svg>`,
  );
}
