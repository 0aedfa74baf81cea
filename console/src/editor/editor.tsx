// A YAML editor: line numbers, errors at their lines, completion and documentation from the API's
// schema.
import {
  autocompletion,
  closeBrackets,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching,
  foldGutter,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { linter, lintGutter, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, StateEffect } from "@codemirror/state";
import {
  EditorView,
  highlightActiveLine,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import { parseDocument } from "yaml";
import { lang } from "../i18n/index.ts";
import { dark } from "../theme.ts";
import { check, schemaAt, type Path } from "./check.ts";
import { mappingAt, pathAt, placeOf } from "./places.ts";
import type { KindSchema } from "./schema.ts";

export interface ServerProblem {
  path: Path;
  message: string;
}

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";

// The page's own colours, which are readable in both themes.
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--info)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--ok)" },
  {
    tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.labelName, tags.typeName],
    color: "var(--warn)",
  },
  { tag: [tags.comment, tags.meta], color: "var(--dim)" },
]);

/** What a text is checked by is another now: the schema came, or the server said something. */
const otherRules = StateEffect.define<null>();

/** What is wrong with a text: its YAML, then the schema, then what the server said. */
export function diagnose(
  text: string,
  schema: KindSchema | null,
  server: ServerProblem[],
): Diagnostic[] {
  const document = parseDocument(text, { prettyErrors: false });
  const clip = (n: number): number => Math.min(Math.max(0, n), text.length);
  const found: Diagnostic[] = document.errors.map((error) => ({
    from: clip(error.pos[0]),
    to: clip(error.pos[1]),
    severity: "error",
    message: error.message,
  }));
  if (found.length) return found;
  const value: unknown = document.toJS();
  if (schema && value && typeof value === "object") {
    for (const problem of check(value, schema.schema, schema.resolve)) {
      const place = placeOf(document, problem.path, problem.onKey);
      found.push({
        from: clip(place.from),
        to: clip(place.to),
        severity: "error",
        message: `${pathText(problem.path)}${problem.message}`,
      });
    }
  }
  for (const problem of server) {
    const place = placeOf(document, problem.path, false);
    found.push({
      from: clip(place.from),
      to: clip(place.to),
      severity: "error",
      message: problem.message,
    });
  }
  return found;
}

export function pathText(path: Path): string {
  const text = path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`))
    .join("")
    .replace(/^\./, "");
  return text ? `${text}: ` : "";
}

/** "spec.replicaSpecs[0].template" as the server writes it. */
export function parsePath(text: string): Path {
  return [...text.matchAll(/[^.[\]]+/g)].map(([part]) =>
    /^\d+$/.test(part) ? Number(part) : part,
  );
}

function completions(schema: () => KindSchema | null) {
  return (context: CompletionContext): CompletionResult | null => {
    const kind = schema();
    if (!kind) return null;
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const text = context.state.doc.toString();
    const value = /^(\s*(?:- +)*)([\w./-]+):\s+([\w-]*)$/.exec(before);
    if (value) {
      const at = schemaAt(
        kind.schema,
        [...mappingAt(text, line.from + value[1]!.length), value[2]!],
        kind.resolve,
      );
      const choices = at?.enum ?? (at?.type === "boolean" ? ["true", "false"] : []);
      return choices.length
        ? {
            from: context.pos - value[3]!.length,
            options: choices.map((one) => ({ label: String(one) })),
          }
        : null;
    }
    const key = /^(\s*(?:- +)*)([\w./-]*)$/.exec(before);
    if (!key || (!key[2] && !context.explicit)) return null;
    const parent = schemaAt(kind.schema, mappingAt(text, line.from + key[1]!.length), kind.resolve);
    const options = Object.entries(parent?.properties ?? {}).map(([label, one]) => ({
      label,
      type: "property",
      apply: `${label}: `,
      ...(one.description ? { info: one.description } : {}),
      detail: parent?.required?.includes(label) ? "*" : "",
    }));
    return options.length ? { from: context.pos - key[2]!.length, options } : null;
  };
}

function hover(schema: () => KindSchema | null) {
  return hoverTooltip((view, at) => {
    const kind = schema();
    if (!kind) return null;
    const path = pathAt(parseDocument(view.state.doc.toString()), at);
    const found = path.length ? schemaAt(kind.schema, path, kind.resolve) : undefined;
    if (!found?.description) return null;
    return {
      pos: at,
      create() {
        const dom = document.createElement("div");
        dom.className = "field-doc";
        dom.textContent = `${path.join(".")}: ${found.type ?? ""}\n${found.description}`;
        return { dom };
      },
    };
  });
}

export function Editor(props: {
  text: string;
  onChange?: (text: string) => void;
  schema?: KindSchema | null;
  problems?: ServerProblem[];
  readOnly?: boolean;
  label: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const now = useRef(props);
  now.current = props;
  // Texts that were handed out and have not come back as a property. Who types fast is ahead of
  // them: such an echo must not replace what stands there by now, or the two would replace each
  // other for ever.
  const told = useRef<string[]>([]);
  const given = useRef(false);
  useEffect(() => {
    if (!box.current) return;
    const schema = (): KindSchema | null => now.current.schema ?? null;
    view.current = new EditorView({
      parent: box.current,
      state: EditorState.create({
        doc: now.current.text,
        extensions: [
          EditorView.cspNonce.of(nonce),
          lineNumbers(),
          foldGutter(),
          history(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          syntaxHighlighting(colours),
          yaml(),
          lintGutter(),
          linter((v) => diagnose(v.state.doc.toString(), schema(), now.current.problems ?? []), {
            delay: 300,
            needsRefresh: (update) =>
              update.transactions.some((one) =>
                one.effects.some((effect) => effect.is(otherRules)),
              ),
          }),
          autocompletion({ override: [completions(schema)] }),
          hover(schema),
          keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ "aria-label": now.current.label, tabindex: "0" }),
          EditorState.readOnly.of(now.current.readOnly ?? false),
          EditorView.theme(
            {
              "&": { backgroundColor: "var(--bg)", color: "var(--text)", height: "100%" },
              ".cm-gutters": {
                backgroundColor: "var(--bg-soft)",
                color: "var(--dim)",
                border: "none",
              },
              ".cm-cursor": { borderLeftColor: "var(--text)" },
              ".cm-activeLine": {
                backgroundColor: "color-mix(in srgb, var(--accent-soft) 40%, transparent)",
              },
            },
            { dark: dark.value },
          ),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged || given.current || !now.current.onChange) return;
            const text = update.state.doc.toString();
            told.current.push(text);
            now.current.onChange(text);
          }),
        ],
      }),
    });
    return () => view.current?.destroy();
  }, [props.readOnly, lang.value, dark.value]);
  useEffect(() => {
    const v = view.current;
    const echo = told.current.lastIndexOf(props.text);
    told.current.splice(0, echo < 0 ? told.current.length : echo + 1);
    if (!v || echo >= 0 || v.state.doc.toString() === props.text) return;
    given.current = true;
    v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: props.text } });
    given.current = false;
  }, [props.text]);
  // The schema may come after the text was checked, and the server speaks without a change of the
  // text.
  useEffect(() => {
    view.current?.dispatch({ effects: otherRules.of(null) });
  }, [props.schema, JSON.stringify(props.problems ?? [])]);
  return <div class="editor" ref={box} />;
}
