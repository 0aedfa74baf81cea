// A name that is cut in its middle where room is short: names of a sweep differ at their end.
const TAIL = 14;

export function Cut(props: { text: string; class?: string }) {
  const at = Math.max(0, props.text.length - TAIL);
  return (
    <span class={`cut ${props.class ?? ""}`}>
      <span class="cut-head">{props.text.slice(0, at)}</span>
      <span class="cut-tail">{props.text.slice(at)}</span>
    </span>
  );
}
