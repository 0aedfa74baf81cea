// A button with a panel below it that stays open while one chooses: by mouse and by keys.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";
import { OpenIcon } from "./icons.ts";
import { place } from "./menu.tsx";

export function Dropdown(props: {
  label: ComponentChildren;
  name: string;
  on?: boolean;
  /** Made when it is opened. */
  children: () => ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!open || !panel.current || !button.current) return;
    panel.current.showPopover?.();
    place(panel.current, button.current, "left");
    panel.current.querySelector<HTMLElement>("input,select,button")?.focus({ preventScroll: true });
    const outside = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    const away = (): void => setOpen(false);
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    window.addEventListener("resize", away);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
      window.removeEventListener("resize", away);
    };
  }, [open]);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape") {
      event.stopPropagation();
      setOpen(false);
      button.current?.focus();
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const all = [...(panel.current?.querySelectorAll<HTMLElement>("input,select,button") ?? [])];
    const focus = document.activeElement as HTMLInputElement;
    const at = all.indexOf(focus);
    const next = all[(at + (event.key === "ArrowDown" ? 1 : all.length - 1)) % all.length];
    if (!next || focus.type === "radio" || focus.localName === "select") return; // theirs
    event.preventDefault();
    next.focus();
  };
  return (
    <div class="dropdown" ref={box} onKeyDown={onKey}>
      <button
        type="button"
        ref={button}
        class={props.on ? "on" : ""}
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {props.label}
        <Icon of={OpenIcon} size={14} />
      </button>
      {open ? (
        <div
          role="dialog"
          ref={panel}
          popover="manual"
          class="menu-list panel"
          tabIndex={-1}
          aria-label={props.name}
        >
          {props.children()}
        </div>
      ) : null}
    </div>
  );
}
