// Short messages at the bottom: what was done, and for a while how to undo it.
import { signal } from "@preact/signals";

export interface Toast {
  id: number;
  text: string;
  kind: "info" | "error";
  action?: { label: string; run: () => void };
}

const SHOWN_MS = 5_000;
const toasts = signal<Toast[]>([]);
let next = 1;

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function toast(
  text: string,
  how: { kind?: Toast["kind"]; action?: { label: string; run: () => void } } = {},
): number {
  const one: Toast = {
    id: next++,
    text,
    kind: how.kind ?? "info",
    ...(how.action ? { action: how.action } : {}),
  };
  toasts.value = [...toasts.value, one].slice(-4);
  setTimeout(() => dismiss(one.id), one.kind === "error" ? 3 * SHOWN_MS : SHOWN_MS);
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
          <button type="button" class="icon" aria-label="×" onClick={() => dismiss(one.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
