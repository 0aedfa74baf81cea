// A dialog one fills in and sends: what the server refuses is said in it and it stays open; Enter in
// a field sends.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { Failure } from "../data/api.ts";
import { lang, tc } from "../i18n/index.ts";
import { refusalText } from "../lib/refusal.ts";
import { CliLine } from "./cli.tsx";
import { Dialog } from "./dialog.tsx";
import { toast } from "./toast.tsx";

export function FormDialog(props: {
  title: string;
  /** It can be sent as it is. */
  ready: boolean;
  /** What is wrong with what was typed; shown with, and instead of, what the server said. */
  wrong?: string;
  /** The word of the button; "Create" unless told. */
  word?: string;
  send: () => Promise<unknown>;
  /** What is said when it went. */
  done?: string;
  /** What kubectl would be given. */
  object?: unknown;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const id = useId();
  const [problem, setProblem] = useState("");
  const [sending, setSending] = useState(false);
  const send = async (): Promise<void> => {
    setSending(true);
    try {
      await props.send();
      if (props.done) toast(props.done);
      props.onClose();
    } catch (error) {
      setProblem(refusalText(error as Failure, lang.value));
      setSending(false);
    }
  };
  const said = props.wrong || problem;
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      actions={
        <>
          <button type="button" onClick={props.onClose}>
            {tc("cancel")}
          </button>
          <button type="submit" form={id} class="primary" disabled={!props.ready || sending}>
            {props.word ?? tc("create")}
          </button>
        </>
      }
    >
      <form
        id={id}
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (props.ready && !sending) void send();
        }}
      >
        {props.children}
        {said ? (
          <p class="danger" role="alert">
            {said}
          </p>
        ) : null}
        {props.object && props.ready ? (
          <CliLine
            label={tc("cli")}
            line={`echo '${JSON.stringify(props.object)}' | kubectl apply -f -`}
          />
        ) : null}
      </form>
    </Dialog>
  );
}

export function Field(props: {
  label: ComponentChildren;
  value: string;
  onInput: (value: string) => void;
  placeholder?: string | undefined;
  hint?: string;
  invalid?: boolean;
  type?: "text" | "url";
  inputMode?: "numeric";
  list?: string;
  autofocus?: boolean;
}) {
  const { label, value, onInput, hint, invalid, type = "text", ...rest } = props;
  const id = useId();
  return (
    <div class="field">
      <label>
        {label}{" "}
        <input
          {...rest}
          type={type}
          value={value}
          aria-invalid={invalid ? "true" : undefined}
          aria-describedby={hint ? id : undefined}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      </label>
      {hint ? (
        <p id={id} class="hint">
          {hint}
        </p>
      ) : null}
    </div>
  );
}

/** What most kinds may be called. */
export const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function NameField(props: {
  value: string;
  onInput: (value: string) => void;
  pattern?: RegExp;
  /** What the pattern asks for. */
  rule?: string;
}) {
  const wrong = props.value !== "" && !(props.pattern ?? NAME).test(props.value);
  return (
    <>
      <Field
        label={tc("name")}
        value={props.value}
        onInput={props.onInput}
        invalid={wrong}
        autofocus
      />
      {wrong ? <p class="danger">{props.rule ?? tc("badName")}</p> : null}
    </>
  );
}
