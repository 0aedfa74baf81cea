// An icon beside a word, or in its place: then it has a label.
import type { IconNode } from "lucide";
import { createElement } from "preact";

export type { IconNode };

export function Icon(props: {
  of: IconNode;
  /** Said to who does not see it; without one the icon only adorns a word. */
  label?: string;
  size?: number;
  class?: string;
}) {
  const size = props.size ?? 16;
  return (
    <svg
      class={`glyph ${props.class ?? ""}`}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      role={props.label ? "img" : undefined}
      aria-label={props.label}
      aria-hidden={props.label ? undefined : "true"}
    >
      {props.of.map(([name, attributes], i) => createElement(name, { key: i, ...attributes }))}
    </svg>
  );
}
