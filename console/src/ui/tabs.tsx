// Tabs that are links: each has an address of its own.
import { useEffect, useRef } from "preact/hooks";

export interface Tab {
  id: string;
  label: string;
  href: string;
}

/** Where links scroll sideways, the one of this page is in sight. */
export function showCurrent(box: HTMLElement | null): void {
  const current = box?.querySelector<HTMLElement>("[aria-current=page]");
  if (!box || !current || box.scrollWidth <= box.clientWidth) return;
  const [outer, inner] = [box.getBoundingClientRect(), current.getBoundingClientRect()];
  box.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
}

export function Tabs(props: { tabs: Tab[]; current: string; name: string }) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => showCurrent(box.current), [props.current]);
  return (
    <nav class="tabs" aria-label={props.name} ref={box}>
      {props.tabs.map((tab) => (
        <a
          key={tab.id}
          href={tab.href}
          aria-current={tab.id === props.current ? "page" : undefined}
        >
          {tab.label}
        </a>
      ))}
    </nav>
  );
}
