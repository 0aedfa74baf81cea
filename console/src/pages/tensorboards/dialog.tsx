// Making a TensorBoard: a name, a claim, a path in it.
import { useState } from "preact/hooks";
import { create, Failure } from "../../data/api.ts";
import { corePath, TENSORBOARDS } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { KubeObject } from "../../data/types.ts";
import { lang, tc, texts, translator } from "../../i18n/index.ts";
import { refusalText } from "../../lib/refusal.ts";
import { fileset } from "../../lib/fileset.ts";
import { CliLine } from "../../ui/cli.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toast.tsx";

const t = translator(
  texts({
    zh: {
      title: "创建 TensorBoard",
      name: "名称",
      pvc: "PVC",
      path: "路径",
      noPvc: "此项目中没有 PVC：先创建一个，训练脚本把日志写入其中。",
      pathHint: "PVC 中的日志目录，例如 logs/run1",
      created: "已创建 TensorBoard {name}",
      badName: "名称只能包含小写字母、数字和连字符，且以字母或数字开头和结尾。",
      cli: "命令行",
    },
    en: {
      title: "Create TensorBoard",
      name: "Name",
      pvc: "PVC",
      path: "Path",
      noPvc:
        "This project has no PVC: create one first, and let the training write its logs there.",
      pathHint: "the log folder in the PVC, such as logs/run1",
      created: "Created TensorBoard {name}",
      badName:
        "Lower-case letters, digits and hyphens only, beginning and ending with a letter or digit.",
      cli: "Command line",
    },
  }),
);

const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function BoardDialog(props: {
  ns: string;
  name?: string;
  filesets?: string[];
  onClose: () => void;
}) {
  const claims = useLive<KubeObject>(corePath("persistentvolumeclaims", props.ns));
  const [name, setName] = useState(props.name ?? "");
  const [pvc, setPvc] = useState("");
  const [path, setPath] = useState("");
  const [problem, setProblem] = useState("");
  const fixed = props.filesets?.length ? props.filesets : null;
  const claim = pvc || (claims.items[0]?.metadata.name ?? "");
  const sets = fixed ?? [fileset(claim, path)];
  const object = {
    apiVersion: `${TENSORBOARDS.group}/${TENSORBOARDS.version}`,
    kind: "TensorBoard",
    metadata: { name, namespace: props.ns },
    spec: { trainingLogFilesets: sets },
  };
  const ready = NAME.test(name) && (fixed !== null || claim !== "");
  const send = async (): Promise<void> => {
    try {
      await create(
        `/apis/${TENSORBOARDS.group}/${TENSORBOARDS.version}/namespaces/${encodeURIComponent(props.ns)}/${TENSORBOARDS.plural}`,
        object,
      );
      toast(t("created", { name }));
      props.onClose();
    } catch (error) {
      setProblem(refusalText(error as Failure, lang.value));
    }
  };
  return (
    <Dialog
      title={t("title")}
      onClose={props.onClose}
      actions={
        <>
          <button type="button" onClick={props.onClose}>
            {tc("cancel")}
          </button>
          <button type="button" class="primary" disabled={!ready} onClick={() => void send()}>
            {tc("create")}
          </button>
        </>
      }
    >
      <div class="stack">
        <label>
          {t("name")}{" "}
          <input
            value={name}
            aria-invalid={name && !NAME.test(name) ? "true" : undefined}
            onInput={(event) => setName(event.currentTarget.value)}
            autofocus
          />
        </label>
        {name && !NAME.test(name) ? <p class="danger">{t("badName")}</p> : null}
        {fixed ? (
          <p class="mono">
            {fixed.map((one) => (
              <div key={one}>{one}</div>
            ))}
          </p>
        ) : (
          <>
            {claims.loaded && !claims.items.length ? <p class="danger">{t("noPvc")}</p> : null}
            <label>
              {t("pvc")}{" "}
              <select value={claim} onChange={(event) => setPvc(event.currentTarget.value)}>
                {claims.items.map((one) => (
                  <option key={one.metadata.uid}>{one.metadata.name}</option>
                ))}
              </select>
            </label>
            <label>
              {t("path")}{" "}
              <input
                value={path}
                placeholder={t("pathHint")}
                onInput={(event) => setPath(event.currentTarget.value)}
              />
            </label>
          </>
        )}
        {problem ? (
          <p class="danger" role="alert">
            {problem}
          </p>
        ) : null}
        {ready ? (
          <CliLine
            label={t("cli")}
            line={`echo '${JSON.stringify(object)}' | kubectl apply -f -`}
          />
        ) : null}
      </div>
    </Dialog>
  );
}
