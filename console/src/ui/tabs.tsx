// Tabs that are links: each has an address of its own.
export interface Tab {
  id: string;
  label: string;
  href: string;
}

export function Tabs(props: { tabs: Tab[]; current: string; name: string }) {
  return (
    <nav class="tabs" aria-label={props.name}>
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
