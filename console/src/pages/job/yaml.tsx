// The job's YAML as the API has it; edited in place. What others changed meanwhile is not
// overwritten.
import { useEffect, useState } from "preact/hooks";
import { stringify, parse } from "yaml";
import { Failure, get, replace } from "../../data/api.ts";
import { cli, jobApiPath } from "../../data/jobs.ts";
import { jobKind } from "../../data/kinds.ts";
import { Editor, parsePath } from "../../editor/editor.tsx";
import { schemaOf, type KindSchema } from "../../editor/schema.ts";
import { lang, tc, texts, translator } from "../../i18n/index.ts";
import { refusalText } from "../../lib/refusal.ts";
import { Loading, Problem } from "../../ui/notice.tsx";
import { toast } from "../../ui/toast.tsx";
import type { TabProps } from "./job.tsx";
import "../../style/editor.css";

const t = translator(
  texts({
    zh: {
      save: "保存",
      reload: "重新加载",
      saved: "已保存",
      changed: "此 Job 已被他人修改。重新加载后再编辑，您的修改仍在剪贴板中。",
    },
    en: {
      save: "Save",
      reload: "Load again",
      saved: "Saved",
      changed:
        "The job was changed by someone else meanwhile. Load it again before you edit; your text is in the clipboard.",
    },
  }),
);

export default function YamlTab(props: TabProps) {
  const { job } = props;
  const [text, setText] = useState<string | null>(null);
  const [base, setBase] = useState("");
  const [failure, setFailure] = useState<Failure | null>(null);
  const [schema, setSchema] = useState<KindSchema | null>(null);
  const load = (): void => {
    setFailure(null);
    get<{ metadata: Record<string, unknown> }>(jobApiPath(job)).then((object) => {
      delete object.metadata["managedFields"]; // long, and kept by the server without it
      const shown = stringify(object, { lineWidth: 0 });
      setBase(shown);
      setText(shown);
    }, setFailure);
  };
  useEffect(load, [job.metadata.uid]);
  useEffect(() => {
    const kind = jobKind(job.kind ?? "");
    if (kind) void schemaOf(kind).then(setSchema);
  }, [job.kind]);
  const save = async (): Promise<void> => {
    try {
      await replace(jobApiPath(job), parse(text ?? ""));
      toast(t("saved"));
      load();
    } catch (error) {
      const problem = error as Failure;
      if (problem.code === 409) void navigator.clipboard?.writeText(text ?? "");
      setFailure(problem.code === 409 ? new Failure(t("changed"), 409, "Conflict") : problem);
    }
  };
  if (text === null) return failure ? <Problem failure={failure} onRetry={load} /> : <Loading />;
  return (
    <div>
      <div class="section-head">
        <button type="button" class="primary" disabled={text === base} onClick={() => void save()}>
          {t("save")}
        </button>
        <button type="button" onClick={load}>
          {t("reload")}
        </button>
        <button
          type="button"
          onClick={() => void navigator.clipboard?.writeText(text).then(() => toast(tc("copied")))}
        >
          {tc("copy")}
        </button>
        <span class="dim">
          {tc("cli")}: <code>{cli.get(job)}</code>
        </span>
      </div>
      {failure ? (
        <div class="box bad" role="alert">
          {refusalText(failure, lang.value)}
        </div>
      ) : null}
      <div class="yaml-editor">
        <Editor
          text={text}
          onChange={setText}
          schema={schema}
          label="YAML"
          problems={(failure?.status?.details?.causes ?? []).map((one) => ({
            path: parsePath(one.field ?? ""),
            message: one.message ?? "",
          }))}
        />
      </div>
    </div>
  );
}
