// A line for the terminal that does the same, with a button that copies it.
import { tc } from "../i18n/index.ts";
import { toast } from "./toast.tsx";

export function copyText(text: string): void {
  void navigator.clipboard?.writeText(text).then(() => toast(tc("copied")));
}

export function CliLine(props: { line: string; label?: string }) {
  return (
    <div class="cli">
      {props.label ? <span class="dim">{props.label}</span> : null}
      <code>{props.line}</code>
      <button
        type="button"
        aria-label={`${tc("copy")} ${props.line}`}
        onClick={() => copyText(props.line)}
      >
        {tc("copy")}
      </button>
    </div>
  );
}
