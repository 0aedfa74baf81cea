// A long list of rows of one height, of which only those in sight are in the document. Scrolls with
// its own box.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const SPARE = 8; // rows beyond each edge, so that scrolling shows no gaps

const left = new Map<string, number>();

/** Which rows are in sight. */
export function visibleRange(
  top: number,
  height: number,
  row: number,
  count: number,
): { from: number; to: number } {
  const from = Math.max(0, Math.floor(top / row) - SPARE);
  return { from, to: Math.min(count, Math.ceil((top + height) / row) + SPARE) };
}

/** extra: one row that is higher, by so much. role: rowgroup where the rows are a table's. */
export function VirtualList(props: {
  count: number;
  rowHeight: number;
  class?: string;
  label: string;
  role?: "region" | "rowgroup";
  extra?: { after: number; height: number } | undefined;
  /** Who comes back under this name finds the list where it was left. */
  remember?: string;
  render: (index: number) => ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const name = useRef(props.remember);
  name.current = props.remember;
  useLayoutEffect(() => {
    const top = left.get(props.remember ?? "");
    if (box.current && top) box.current.scrollTop = top;
  }, []);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = (): void => {
      if (!element.isConnected) return; // on its way out it has no size and no place
      if (name.current) left.set(name.current, element.scrollTop);
      setView({ top: element.scrollTop, height: element.clientHeight });
    };
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  const extra = props.extra?.height ?? 0;
  // Far enough up that a high row above the edge is still drawn.
  const { from, to } = visibleRange(
    Math.max(0, view.top - extra),
    view.height + extra,
    props.rowHeight,
    props.count,
  );
  const above = props.extra && props.extra.after < from ? extra : 0;
  const rows = [];
  for (let i = from; i < to; i++) rows.push(props.render(i));
  return (
    <div
      class={`virtual ${props.class ?? ""}`}
      ref={box}
      tabIndex={0}
      role={props.role ?? "region"}
      aria-label={props.label}
    >
      <div
        role="presentation"
        style={{ height: `${props.count * props.rowHeight + extra}px`, position: "relative" }}
      >
        <div
          role="presentation"
          style={{
            position: "absolute",
            left: 0,
            right: 0,
            top: `${from * props.rowHeight + above}px`,
          }}
        >
          {rows}
        </div>
      </div>
    </div>
  );
}
