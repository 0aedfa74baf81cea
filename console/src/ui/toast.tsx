// Short messages at the bottom: what was done, and for a while how to undo it.
import { signal } from "@preact/signals";
import { UNDO_MS } from "../data/removal.ts";
import { tc } from "../i18n/index.ts";
import { Icon } from "./icon.tsx";
import { CloseIcon } from "./icons.ts";

export interface Toast {
  id: number;
  text: string;
  kind: "info" | "error";
  action?: { label: string; run: () => void } | undefined;
}

const SHOWN_MS = 5_000;
const toasts = signal<Toast[]>([]);
let next = 1;

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** For as long as the server waits. */
export function undoToast(text: string, label: string, run: () => void): void {
  toast(text, { action: { label, run }, ms: UNDO_MS });
}

export function toast(
  text: string,
  how: { kind?: Toast["kind"]; action?: Toast["action"]; ms?: number } = {},
): number {
  const one: Toast = {
    id: next++,
    text,
    kind: how.kind ?? "info",
    ...(how.action ? { action: how.action } : {}),
  };
  toasts.value = [...toasts.value, one].slice(-4);
  setTimeout(() => dismiss(one.id), how.ms ?? (one.kind === "error" ? 3 * SHOWN_MS : SHOWN_MS));
  return one.id;
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((one) => (
        <div key={one.id} class={`toast ${one.kind}`}>
          <span>{one.text}</span>
          {one.action ? (
            <button
              type="button"
              onClick={() => {
                one.action?.run();
                dismiss(one.id);
              }}
            >
              {one.action.label}
            </button>
          ) : null}
          <button
            type="button"
            class="icon"
            aria-label={tc("close")}
            onClick={() => dismiss(one.id)}
          >
            <Icon of={CloseIcon} />
          </button>
        </div>
      ))}
    </div>
  );
}
