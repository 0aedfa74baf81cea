// Creating a job: form and YAML are two views of one text. Nothing is sent before it is checked, and what the server says is
// shown at its line.
import { useEffect, useMemo, useState } from "preact/hooks";
import { parseDocument, stringify } from "yaml";
import { createYaml, Failure, get } from "../../data/api.ts";
import { JOB_KINDS, jobKind, jobPath, jobsPath } from "../../data/kinds.ts";
import type { Job } from "../../data/types.ts";
import { check } from "../../editor/check.ts";
import { parsePath, pathText, type ServerProblem } from "../../editor/editor.tsx";
import { schemaOf, type KindSchema } from "../../editor/schema.ts";
import { tc, translator } from "../../i18n/index.ts";
import { createTexts } from "../../i18n/create.ts";
import { lazy } from "../../lazy.tsx";
import { navigate, query } from "../../router.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Loading, Problem } from "../../ui/notice.tsx";
import { toast } from "../../ui/toast.tsx";
import { cloned, example, firstLook, nextName, write } from "./draft.ts";
import { Form } from "./form.tsx";
import type { Draft } from "./fields.tsx";
import "../../style/create.css";
import "../../style/editor.css";

const t = translator(createTexts);
type EditorProps = Parameters<typeof import("../../editor/editor.tsx").Editor>[0];
const Editor = lazy<EditorProps>(() => import("../../editor/editor.tsx").then((module) => ({ default: module.Editor })));

/** The text to begin with: an example, or a copy of another job. */
async function firstText(kindName: string): Promise<string> {
  const from = query.value.get("from");
  if (query.value.get("example")) return firstLook();
  if (!from) return example(kindName);
  const [ns = "default", name = ""] = from.split("/");
  const job = await get<Job>(jobPath(jobKind(kindName) ?? JOB_KINDS[0]!, ns, name));
  return stringify(cloned({ ...job, kind: kindName }, nextName(name)), { lineWidth: 0 });
}

function serverProblems(failure: Failure): ServerProblem[] {
  const causes = failure.status?.details?.causes ?? [];
  return causes.map((one) => ({ path: parsePath(one.field ?? ""), message: `${one.field ? `${one.field}: ` : ""}${one.message ?? ""}` }));
}

function useSchema(kindName: string): KindSchema | null {
  const [schema, setSchema] = useState<KindSchema | null>(null);
  useEffect(() => {
    const kind = jobKind(kindName);
    if (kind) void schemaOf(kind).then(setSchema);
  }, [kindName]);
  return schema;
}

function ImportDialog(props: { kind: string; onText(text: string): void; onClose(): void }) {
  const [text, setText] = useState("");
  const choose = (file: File | undefined): void => { void file?.text().then(setText); };
  return (
    <Dialog wide title={t("import", { kind: props.kind })} onClose={props.onClose} actions={<>
      <button type="button" onClick={props.onClose}>{tc("cancel")}</button>
      <button type="button" class="primary" disabled={!text.trim()} onClick={() => { props.onText(text); props.onClose(); }}>{t("load")}</button>
    </>}>
      <label>{t("importHint")} <input type="file" accept=".yaml,.yml,.json" aria-label={t("chooseFile")} onChange={(event) => choose(event.currentTarget.files?.[0])} /></label>
      <textarea class="mono import" rows={16} aria-label={t("importHint")} value={text} onInput={(event) => setText(event.currentTarget.value)} />
    </Dialog>
  );
}

export default function CreatePage() {
  const kindName = query.value.get("kind") ?? "PyTorchTrainingJob";
  const [text, setText] = useState<string | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [refused, setRefused] = useState<Failure | null>(null);
  const [shown, setShown] = useState<"preview" | "import" | null>(null);
  const [busy, setBusy] = useState(false);
  const schema = useSchema(kindName);
  useEffect(() => { firstText(kindName).then(setText, setFailure); }, [kindName]);

  const document = useMemo(() => parseDocument(text ?? ""), [text]);
  const problems = useMemo(() => {
    const found = new Map<string, string>();
    if (schema && !document.errors.length) for (const one of check(document.toJS(), schema.schema, schema.resolve)) if (!found.has(one.path.join("."))) found.set(one.path.join("."), one.message);
    for (const one of refused ? serverProblems(refused) : []) found.set(one.path.join("."), one.message);
    return found;
  }, [document, schema, refused]);
  if (failure) return <Problem failure={failure} />;
  if (text === null) return <Loading />;

  const change = (next: string): void => { setRefused(null); setText(next); };
  const draft: Draft = { document, problems, set: (path, value) => { setRefused(null); setText((before) => write(before ?? "", path, value)); } };
  const send = async (): Promise<void> => {
    const kind = jobKind(kindName) ?? JOB_KINDS[0]!;
    const meta = (document.toJS() as { metadata?: { name?: string; namespace?: string } } | null)?.metadata;
    setBusy(true);
    try {
      await createYaml(`${jobsPath(kind, meta?.namespace || "default")}?fieldValidation=Strict`, text);
      toast(t("created", { name: meta?.name ?? "" }));
      navigate("/jobs");
    } catch (error) {
      setRefused(error as Failure);
    }
    setBusy(false);
  };
  const refusal = refused ? <div class="box bad" role="alert"><b>{t("failed")}</b> {refused.message}</div> : null;
  const createButton = <button type="button" class="primary" disabled={busy || document.errors.length > 0} onClick={() => void send()}>{t("create")}</button>;
  return (
    <section class="create">
      <div class="page-head">
        <h1>{t("title", { kind: kindName })}</h1>
        <span class="grow" />
        <a class="button" href="/jobs">{t("back")}</a>
        <button type="button" onClick={() => setShown("import")}>{t("import", { kind: kindName })}</button>
        <button type="button" onClick={() => setShown("preview")}>{t("preview")}</button>
        {createButton}
      </div>
      {shown ? null : refusal}
      {document.errors.length ? <div class="box warn">{t("badYaml")} {pathText([])}{document.errors[0]?.message}</div> : <Form draft={draft} kind={kindName} />}
      {shown === "import" ? <ImportDialog kind={kindName} onText={change} onClose={() => setShown(null)} /> : null}
      {shown === "preview" ? (
        <Dialog wide title={t("preview")} onClose={() => setShown(null)} actions={<>
          <span class="dim" role="status">{problems.size ? t("wrong", { count: problems.size }) : t("nothingWrong")}</span><span class="grow" />
          <button type="button" onClick={() => setShown(null)}>{tc("cancel")}</button>{createButton}
        </>}>
          {refusal}
          <div class="preview"><Editor text={text} onChange={change} schema={schema} problems={refused ? serverProblems(refused) : []} label="YAML" /></div>
        </Dialog>
      ) : null}
    </section>
  );
}
