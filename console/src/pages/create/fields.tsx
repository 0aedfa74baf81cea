// The form's fields: each is one value of the draft, by its path.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { Document } from "yaml";
import type { Path } from "../../editor/check.ts";
import { translator } from "../../i18n/index.ts";
import { createTexts } from "../../i18n/create.ts";
import { read, readText } from "./draft.ts";

const t = translator(createTexts);

export interface Draft {
  document: Document;
  set: (path: Path, value: unknown) => void;
  /** What is wrong, by path as text: "spec.replicaSpecs.0.replicas". */
  problems: Map<string, string>;
  /** What there is to choose from, from the server. */
  offers?: { claims: string[]; gpus: string[]; projects: string[]; queues: string[] };
}

function problemOf(draft: Draft, path: Path): string | undefined {
  return draft.problems.get(path.join("."));
}

function Labelled(props: {
  label: string;
  required?: boolean;
  problem: string | undefined;
  children: (id: string, described: string | undefined) => ComponentChildren;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        {props.label}
        {props.required ? (
          <span class="danger" title={t("required")}>
            {" "}
            *
          </span>
        ) : null}
      </label>
      {props.children(id, props.problem ? `${id}-problem` : undefined)}
      {props.problem ? (
        <span class="danger" id={`${id}-problem`}>
          {props.problem}
        </span>
      ) : null}
    </div>
  );
}

export function TextField(props: {
  draft: Draft;
  path: Path;
  label: string;
  required?: boolean;
  placeholder?: string;
  number?: boolean;
  offers?: string[];
}) {
  const problem = problemOf(props.draft, props.path);
  const list = useId();
  return (
    <Labelled label={props.label} required={props.required ?? false} problem={problem}>
      {(id, described) => (
        <>
          {props.offers?.length ? (
            <datalist id={list}>
              {props.offers.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          ) : null}
          <input
            id={id}
            type="text"
            {...(props.offers?.length ? { list } : {})}
            inputMode={props.number ? "numeric" : "text"}
            value={readText(props.draft.document, props.path)}
            placeholder={props.placeholder ?? ""}
            required={props.required ?? false}
            aria-invalid={problem ? "true" : undefined}
            aria-describedby={described}
            onInput={(event) => {
              const text = event.currentTarget.value;
              props.draft.set(
                props.path,
                text === ""
                  ? undefined
                  : props.number && /^-?\d+$/.test(text)
                    ? Number(text)
                    : text,
              ); // else the schema says what is wrong
            }}
          />
        </>
      )}
    </Labelled>
  );
}

/** A list of words, one per line. What is being typed is kept as typed: the draft has no empty
 * lines. */
export function LinesField(props: { draft: Draft; path: Path; label: string }) {
  const [typed, setTyped] = useState<string | null>(null);
  const value = read(props.draft.document, props.path);
  const lines = typed ?? (Array.isArray(value) ? value.map(String).join("\n") : "");
  const problem = problemOf(props.draft, props.path);
  return (
    <Labelled label={props.label + t("argsHint")} problem={problem}>
      {(id, described) => (
        <textarea
          id={id}
          rows={Math.min(8, Math.max(2, lines.split("\n").length))}
          class="mono"
          value={lines}
          aria-describedby={described}
          onBlur={() => setTyped(null)}
          onInput={(event) => {
            const words = event.currentTarget.value.split("\n").filter((one) => one !== "");
            setTyped(event.currentTarget.value);
            props.draft.set(props.path, words.length ? words : undefined);
          }}
        />
      )}
    </Labelled>
  );
}

export function Choice(props: {
  draft: Draft;
  path: Path;
  label: string;
  options: [value: string, label: string][];
  fallback: string;
}) {
  const value = readText(props.draft.document, props.path) || props.fallback;
  const options = props.options.some(([one]) => one === value)
    ? props.options
    : [...props.options, [value, value] as [string, string]];
  return (
    <Labelled label={props.label} problem={problemOf(props.draft, props.path)}>
      {(id) => (
        <select
          id={id}
          value={value}
          onChange={(event) => props.draft.set(props.path, event.currentTarget.value)}
        >
          {options.map(([one, label]) => (
            <option key={one} value={one}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

export function Switch(props: { label: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <label class="switch">
      <input
        type="checkbox"
        role="switch"
        aria-checked={props.on}
        checked={props.on}
        onChange={(event) => props.set(event.currentTarget.checked)}
      />{" "}
      {props.label}
    </label>
  );
}
