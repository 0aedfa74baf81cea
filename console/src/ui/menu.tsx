// A button with a menu, by mouse and by keys (arrows, Home, End, Escape, first letters).
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconNode } from "./icon.tsx";
import { CheckIcon } from "./icons.ts";

export interface MenuItem {
  label: string;
  onSelect?: () => void;
  href?: string;
  danger?: boolean;
  disabled?: boolean;
  /** Shown at the right, such as a key. */
  hint?: string;
  icon?: IconNode;
  /** One of several of which one is chosen. */
  checked?: boolean;
  /** The first of another group. */
  apart?: boolean;
}

/** Below its button, or above where there is no room; never outside the window. */
export function place(list: HTMLElement, button: HTMLElement, align: "left" | "right"): void {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = list;
  const below = at.bottom + height <= window.innerHeight || at.top < height;
  const left = align === "left" ? at.left : at.right - width;
  list.style.top = `${below ? at.bottom : at.top - height}px`;
  list.style.left = `${Math.max(4, Math.min(left, window.innerWidth - width - 4))}px`;
}

function look(item: MenuItem): string {
  return `${item.danger ? "danger" : ""} ${item.apart ? "apart" : ""}`;
}

function Entry(props: { item: MenuItem }) {
  const { icon, label, hint, checked } = props.item;
  return (
    <>
      {icon ? <Icon of={icon} /> : null}
      {label}
      {hint ? <kbd>{hint}</kbd> : null}
      {checked ? <Icon of={CheckIcon} class="checked" /> : null}
    </>
  );
}

export function Menu(props: {
  label: ComponentChildren;
  name: string;
  items: MenuItem[];
  class?: string;
  align?: "left" | "right";
}) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const entries = (): HTMLElement[] => [
    ...(box.current?.querySelectorAll<HTMLElement>(
      '[role^="menuitem"]:not([aria-disabled="true"])',
    ) ?? []),
  ];

  useLayoutEffect(() => {
    if (!open || !list.current || !button.current) return;
    list.current.showPopover?.(); // the top layer: no box that scrolls cuts it off
    place(list.current, button.current, props.align ?? "right");
  }, [open]);
  // Before the next key can come: who types fast must not lose one.
  useLayoutEffect(() => {
    if (!open) return;
    entries()[0]?.focus({ preventScroll: true });
    const outside = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    const away = (): void => setOpen(false); // what it hangs on moves
    document.addEventListener("pointerdown", outside);
    window.addEventListener("resize", away);
    document.addEventListener("wheel", away, { passive: true });
    return () => {
      document.removeEventListener("pointerdown", outside);
      window.removeEventListener("resize", away);
      document.removeEventListener("wheel", away);
    };
  }, [open]);

  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const move = (event: KeyboardEvent): void => {
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1 + all.length,
      Home: 0,
      End: all.length - 1,
    };
    const next = to[event.key];
    if (next !== undefined && all.length) all[next % all.length]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key.length === 1)
      all
        .find((one) => one.textContent?.toLowerCase().startsWith(event.key.toLowerCase()))
        ?.focus();
    else return;
    if (event.key !== "Tab") event.preventDefault();
    event.stopPropagation();
  };
  const choose = (item: MenuItem): void => {
    if (item.disabled) return;
    close();
    item.onSelect?.();
  };

  return (
    <div class={`menu ${props.class ?? ""}`} ref={box}>
      <button
        type="button"
        ref={button}
        class="menu-button"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-label={props.name}
        title={props.name}
        onClick={() => setOpen(!open)}
      >
        {props.label}
      </button>
      {open ? (
        <div
          role="menu"
          ref={list}
          popover="manual"
          class="menu-list"
          aria-label={props.name}
          onKeyDown={move}
        >
          {props.items.map((item) =>
            item.href ? (
              <a
                key={item.label}
                role="menuitem"
                tabIndex={-1}
                href={item.href}
                class={look(item)}
                onClick={() => setOpen(false)}
              >
                <Entry item={item} />
              </a>
            ) : (
              <button
                key={item.label}
                type="button"
                role={item.checked === undefined ? "menuitem" : "menuitemradio"}
                aria-checked={item.checked}
                tabIndex={-1}
                aria-disabled={item.disabled ? "true" : undefined}
                class={look(item)}
                onClick={() => choose(item)}
              >
                <Entry item={item} />
              </button>
            ),
          )}
        </div>
      ) : null}
    </div>
  );
}
