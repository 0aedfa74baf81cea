// A modal dialog: the browser's own, with its focus trap and Escape.
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { tc } from "../i18n/index.ts";
import { Icon } from "./icon.tsx";
import { CloseIcon } from "./icons.ts";

export function Dialog(props: {
  title: string;
  onClose: () => void;
  wide?: boolean;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // At once: the next key is the dialog's.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={props.wide ? "dialog wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
    >
      <header>
        <h2 id={id}>{props.title}</h2>
        <button type="button" class="icon" aria-label={tc("close")} onClick={props.onClose}>
          <Icon of={CloseIcon} />
        </button>
      </header>
      <div class="dialog-body">{props.children}</div>
      {props.actions ? <footer>{props.actions}</footer> : null}
    </dialog>
  );
}
