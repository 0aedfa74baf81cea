// Creating a job: form and YAML are two views of one text. Nothing is sent before it is checked,
// and what the server says is shown at its line.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { parseDocument, stringify } from "yaml";
import { createYaml, Failure, get } from "../../data/api.ts";
import { corePath, JOB_KINDS, jobKind, kindPath, queuePath } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import { may } from "../../data/rights.ts";
import { session } from "../../data/session.ts";
import type { Job, KubeObject, Node, Queue } from "../../data/types.ts";
import { check } from "../../editor/check.ts";
import { parsePath, pathText, type ServerProblem } from "../../editor/editor.tsx";
import { schemaOf, type KindSchema } from "../../editor/schema.ts";
import { lang, tc, translator } from "../../i18n/index.ts";
import { causeText, refusalText } from "../../lib/refusal.ts";
import { createTexts } from "../../i18n/create.ts";
import { lazy } from "../../lazy.tsx";
import { diffLines, hunks } from "../../lib/diff.ts";
import { amount, gpuKinds, isElastic, misfit } from "../../lib/fit.ts";
import { ownProject } from "../../project.tsx";
import { backToList, location_, navigate, query, setQuery } from "../../router.ts";
import { CliLine } from "../../ui/cli.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Loading, Problem } from "../../ui/notice.tsx";
import { toast } from "../../ui/toast.tsx";
import {
  AS_NAMESPACE,
  cloned,
  example,
  firstLook,
  nextName,
  pickDocument,
  readText,
  RUN_AS,
  write,
} from "./draft.ts";

const RUN_AS_PATH = ["metadata", "annotations", RUN_AS];
import { Form } from "./form.tsx";
import type { Draft } from "./fields.tsx";
import "../../style/create.css";
import "../../style/editor.css";

const t = translator(createTexts);
type EditorProps = Parameters<typeof import("../../editor/editor.tsx").Editor>[0];
const Editor = lazy<EditorProps>(() =>
  import("../../editor/editor.tsx").then((module) => ({ default: module.Editor })),
);

interface First {
  text: string;
  /** The job it is a copy of, under its own name. */
  original?: { name: string; text: string };
}

/** The text to begin with: an example, or a copy of another job. */
async function firstText(kindName: string): Promise<First> {
  const from = query.value.get("from");
  const ns = ownProject();
  const here = (text: string): First => ({
    text: text.replace("namespace: default", `namespace: ${ns}`),
  });
  if (query.value.get("example")) return here(firstLook());
  if (!from) return here(example(kindName));
  return copyOf(kindName, from);
}

/** What was typed and not sent, by the address it was begun at: it survives leaving the page, in
 * this tab. */
function draftKey(): string {
  return `muster.draft:${location_.value.query}`;
}
function keptDraft(): First | null {
  const kept = sessionStorage.getItem(draftKey());
  return kept === null ? null : (JSON.parse(kept) as First);
}
function keepDraft(draft: First): void {
  sessionStorage.setItem(draftKey(), JSON.stringify(draft));
}
function forgetDraft(): void {
  sessionStorage.removeItem(draftKey());
}

async function copyOf(kindName: string, from: string): Promise<First> {
  const [ns = "default", name = ""] = from.split("/");
  const job = await get<Job>(kindPath(jobKind(kindName) ?? JOB_KINDS[0]!, ns, name));
  const as = (newName: string): string =>
    stringify(cloned({ ...job, kind: kindName }, newName), { lineWidth: 0 });
  return { text: as(nextName(name)), original: { name, text: as(name) } };
}

function serverProblems(failure: Failure): ServerProblem[] {
  const causes = failure.status?.details?.causes ?? [];
  return causes.map((one) => ({
    path: parsePath(one.field ?? ""),
    message: causeText(one, lang.value),
  }));
}

function useSchema(kindName: string): KindSchema | null {
  const [schema, setSchema] = useState<KindSchema | null>(null);
  useEffect(() => {
    const kind = jobKind(kindName);
    if (kind) void schemaOf(kind).then(setSchema);
  }, [kindName]);
  return schema;
}

function ImportDialog(props: {
  kind: string;
  onText: (text: string) => void;
  onClose: () => void;
}) {
  const [text, setText] = useState("");
  const choose = (file: File | undefined): void => {
    void file?.text().then(setText);
  };
  return (
    <Dialog
      wide
      title={t("import", { kind: props.kind })}
      onClose={props.onClose}
      actions={
        <>
          <button type="button" onClick={props.onClose}>
            {tc("cancel")}
          </button>
          <button
            type="button"
            class="primary"
            disabled={!text.trim()}
            onClick={() => {
              props.onText(text);
              props.onClose();
            }}
          >
            {t("load")}
          </button>
        </>
      }
    >
      <div
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          event.stopPropagation();
          choose(event.dataTransfer?.files[0]);
        }}
      >
        <label>
          {t("importHint")}{" "}
          <input
            type="file"
            accept=".yaml,.yml,.json"
            aria-label={t("chooseFile")}
            onChange={(event) => choose(event.currentTarget.files?.[0])}
          />
        </label>
        <textarea
          class="mono import"
          rows={16}
          aria-label={t("importHint")}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <p class="dim">{t("dropHint")}</p>
      </div>
    </Dialog>
  );
}

/** What the server has that the form can offer. Who may not list a kind of thing types it. */
function useOffers(ns: string): { offers: NonNullable<Draft["offers"]>; nodes: Node[] } {
  const claims = useLive<KubeObject>(corePath("persistentvolumeclaims", ns));
  const nodes = useLive<Node>(corePath("nodes"));
  const spaces = useLive<KubeObject>(corePath("namespaces"));
  const queues = useLive<Queue>(queuePath());
  return useMemo(
    () => ({
      nodes: nodes.items,
      offers: {
        claims: claims.items.map((one) => one.metadata.name),
        gpus: gpuKinds(nodes.items),
        projects: spaces.items
          .map((one) => one.metadata.name)
          .filter((one) => !one.startsWith("kube-")),
        queues: queues.items.filter((one) => !one.spec?.closed).map((one) => one.metadata.name),
      },
    }),
    [claims.items, nodes.items, spaces.items, queues.items],
  );
}

function Fit(props: { job: Job; nodes: Node[] }) {
  const found = misfit(props.job, props.nodes);
  if (!found) return null;
  const anyway = session.value?.overcommit && isElastic(found.resource);
  return (
    <div class={anyway ? "box" : "box warn"} role="status">
      {t(anyway ? "overcommitted" : found.pod ? "wontFit" : "wontFitAll", {
        asked: amount(found.resource, found.asked),
        has: amount(found.resource, found.has),
      })}
    </div>
  );
}

/** What is different from the job this one is a copy of. */
function Differences(props: {
  original: NonNullable<First["original"]>;
  text: string;
  open: boolean;
}) {
  const lines = useMemo(
    () => hunks(diffLines(props.original.text, props.text), 2),
    [props.original, props.text],
  );
  return (
    <details class="box" open={props.open}>
      <summary>{t("changedFrom", { name: props.original.name })}</summary>
      <pre class="diff">
        {lines.map((line, i) =>
          line ? (
            <div key={i} class={`diff-${line.kind}`}>
              {line.kind === "new" ? "+ " : line.kind === "gone" ? "- " : "  "}
              {line.text}
            </div>
          ) : (
            <div key={i} class="dim">
              …
            </div>
          ),
        )}
      </pre>
    </details>
  );
}

/** What is wrong with the text by the schema, by path. */
function useChecked(
  document: ReturnType<typeof parseDocument>,
  schema: KindSchema | null,
): Map<string, string> {
  return useMemo(() => {
    const found = new Map<string, string>();
    if (schema && !document.errors.length)
      for (const one of check(document.toJS(), schema.schema, schema.resolve))
        if (!found.has(one.path.join("."))) found.set(one.path.join("."), one.message);
    return found;
  }, [document, schema, lang.value]);
}

/** The whole text, to be changed and sent; or taken into the form, or given up again. */
function Preview(props: {
  text: string;
  schema: KindSchema | null;
  wrong: number;
  refused: Failure | null;
  refusal: ComponentChildren;
  createButton: ComponentChildren;
  onChange: (text: string) => void;
  onApply: () => void;
  onClose: () => void;
}) {
  return (
    <Dialog
      wide
      title={t("preview")}
      onClose={props.onClose}
      actions={
        <>
          <span class="dim" role="status">
            {props.wrong ? t("wrong", { count: props.wrong }) : t("nothingWrong")}
          </span>
          <span class="grow" />
          <button type="button" onClick={props.onClose}>
            {tc("cancel")}
          </button>
          <button type="button" onClick={props.onApply}>
            {t("apply")}
          </button>
          {props.createButton}
        </>
      }
    >
      {props.refusal}
      <div class="preview">
        <Editor
          text={props.text}
          onChange={props.onChange}
          schema={props.schema}
          problems={props.refused ? serverProblems(props.refused) : []}
          label="YAML"
        />
      </div>
      <CliLine label={tc("cli")} line="kubectl create -f job.yaml" />
    </Dialog>
  );
}

/** Makes the job and goes to the list. */
async function submit(
  kindName: string,
  document: ReturnType<typeof parseDocument>,
  text: string,
): Promise<void> {
  const kind = jobKind(kindName) ?? JOB_KINDS[0]!;
  const meta = (document.toJS() as { metadata?: { name?: string; namespace?: string } } | null)
    ?.metadata;
  await createYaml(
    `${kindPath(kind, meta?.namespace || ownProject())}?fieldValidation=Strict`,
    text,
  );
  forgetDraft();
  toast(t("created", { name: meta?.name ?? "" }));
  navigate("/jobs");
}

export default function CreatePage() {
  const kindName = query.value.get("kind") ?? "PyTorchTrainingJob";
  const [text, setText] = useState<string | null>(null);
  const [original, setOriginal] = useState<First["original"]>(undefined);
  const imported = useRef(""); // the kind of what was imported: its form must not begin anew
  const [failure, setFailure] = useState<Failure | null>(null);
  const [refused, setRefused] = useState<Failure | null>(null);
  const [shown, setShown] = useState<"preview" | "import" | null>(null);
  const [busy, setBusy] = useState(false);
  const schema = useSchema(kindName);
  const before = useRef(""); // the text when the preview was opened
  const [restored, setRestored] = useState(false);
  const begin = (): void => {
    firstText(kindName).then((first) => {
      setText(first.text);
      setOriginal(first.original);
    }, setFailure);
  };
  useEffect(() => {
    if (imported.current === kindName) return;
    const draft = keptDraft();
    setRestored(draft !== null);
    if (draft === null) return begin();
    setText(draft.text);
    setOriginal(draft.original);
  }, [kindName]);

  const document = useMemo(() => parseDocument(text ?? ""), [text]);
  const checked = useChecked(document, schema);
  const problems = useMemo(
    () =>
      new Map([
        ...checked,
        ...(refused ? serverProblems(refused) : []).map(
          (one) => [one.path.join("."), one.message] as const,
        ),
      ]),
    [checked, refused, lang.value],
  );
  const [held, setHeld] = useState(false); // it was to be sent while something was wrong
  // A name nobody has typed yet is no mistake until the job is to be sent.
  const shownProblems = useMemo(() => {
    const unnamed = !held && !readText(document, ["metadata", "name"]);
    return new Map([...problems].filter(([at]) => !(unnamed && at === "metadata.name")));
  }, [problems, held, document]);
  const ns = readText(document, ["metadata", "namespace"]) || ownProject();
  const { offers, nodes } = useOffers(ns);
  const latest = useRef("");
  latest.current = text ?? "";
  if (failure) return <Problem failure={failure} />;
  if (!may("create", jobKind(kindName) ?? JOB_KINDS[0]!, ownProject()))
    return <Problem failure={new Failure(t("mayNot", { project: ownProject() }), 403, "")} />;
  if (text === null) return <Loading />;

  const change = (next: string): void => {
    setRefused(null);
    setHeld(false);
    setText(next);
    keepDraft({ text: next, ...(original ? { original } : {}) });
  };
  const take = (all: string): void => {
    const picked = pickDocument(
      all,
      kindName,
      JOB_KINDS.map((one) => one.kind),
    );
    setOriginal(undefined);
    if (picked.kind && picked.kind !== kindName) {
      imported.current = picked.kind;
      toast(t("otherKind", { kind: picked.kind }));
      setQuery({ kind: picked.kind, from: null, rerun: null, example: null });
    }
    change(picked.text); // kept as the draft of that kind
  };
  const drop = (event: DragEvent): void => {
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    void file.text().then(take);
  };
  const draft: Draft = {
    document,
    problems: shownProblems,
    offers,
    set: (path, value) => change(write(latest.current, path, value)),
  };
  const send = async (): Promise<void> => {
    setHeld(checked.size > 0);
    if (checked.size) return window.document.querySelector<HTMLElement>("[aria-invalid]")?.focus();
    setBusy(true);
    try {
      await submit(kindName, document, text);
    } catch (error) {
      setRefused(error as Failure);
    }
    setBusy(false);
  };
  const refusal = held ? (
    <div class="box bad" role="alert">
      <b>{t("wrong", { count: checked.size })}</b>
      {[...checked].map(([path, message]) => (
        <div key={path}>
          <code>{path}</code> {message}
        </div>
      ))}
    </div>
  ) : refused ? (
    <div class="box bad" role="alert">
      <b>{t("failed")}</b> <span title={refused.message}>{refusalText(refused, lang.value)}</span>
    </div>
  ) : null;
  const createButton = (
    <button
      type="button"
      class="primary"
      disabled={busy || document.errors.length > 0}
      onClick={() => void send()}
    >
      {t("create")}
    </button>
  );
  return (
    <section class="create" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <div class="page-head">
        <h1>{t("title", { kind: kindName })}</h1>
        <span class="grow" />
        <a class="button" href={backToList()}>
          {t("back")}
        </a>
        <button type="button" onClick={() => setShown("import")}>
          {t("import", { kind: kindName })}
        </button>
        <button
          type="button"
          onClick={() => {
            before.current = text;
            setShown("preview");
          }}
        >
          {t("preview")}
        </button>
        {createButton}
      </div>
      {shown ? null : refusal}
      {restored ? (
        <p class="dim" role="status">
          {t("draftKept")}{" "}
          <button
            type="button"
            onClick={() => {
              forgetDraft();
              setRestored(false);
              begin();
            }}
          >
            {t("discardDraft")}
          </button>
        </p>
      ) : null}
      {document.errors.length ? null : (
        <Fit job={{ kind: kindName, ...(document.toJS() as Job) }} nodes={nodes} />
      )}
      {original ? (
        <Differences original={original} text={text} open={query.value.get("rerun") === "1"} />
      ) : null}
      {original && readText(parseDocument(original.text), RUN_AS_PATH) ? (
        <label class="box warn">
          <input
            type="checkbox"
            checked={!readText(document, RUN_AS_PATH)}
            onChange={(event) =>
              draft.set(RUN_AS_PATH, event.currentTarget.checked ? undefined : AS_NAMESPACE)
            }
          />{" "}
          {t("runAsMe")}
        </label>
      ) : null}
      {document.errors.length ? (
        <div class="box warn">
          {t("badYaml")} {pathText([])}
          {document.errors[0]?.message}
        </div>
      ) : (
        <Form draft={draft} kind={kindName} />
      )}
      {shown === "import" ? (
        <ImportDialog kind={kindName} onText={take} onClose={() => setShown(null)} />
      ) : null}
      {shown === "preview" ? (
        <Preview
          {...{ text, schema, refused, refusal, createButton }}
          wrong={problems.size}
          onChange={change}
          onApply={() => setShown(null)}
          onClose={() => {
            change(before.current);
            setShown(null);
          }}
        />
      ) : null}
    </section>
  );
}
