// Making a TensorBoard: a name, a claim, a path in it.
import { useState } from "preact/hooks";
import { create } from "../../data/api.ts";
import { apiVersion, corePath, kindPath, TENSORBOARDS } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { KubeObject } from "../../data/types.ts";
import { texts, translator } from "../../i18n/index.ts";
import { fileset } from "../../lib/fileset.ts";
import { Field, FormDialog, NAME, NameField } from "../../ui/form.tsx";

const t = translator(
  texts({
    zh: {
      title: "创建 TensorBoard",
      pvc: "PVC",
      path: "路径",
      noPvc: "此项目中没有 PVC：先创建一个，训练脚本把日志写入其中。",
      pathHint: "PVC 中的日志目录，例如 logs/run1",
      created: "已创建 TensorBoard {name}",
    },
    en: {
      title: "Create TensorBoard",
      pvc: "PVC",
      path: "Path",
      noPvc:
        "This project has no PVC: create one first, and let the training write its logs there.",
      pathHint: "The log folder in the PVC, such as logs/run1",
      created: "Created TensorBoard {name}",
    },
  }),
);

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
  const fixed = props.filesets?.length ? props.filesets : null;
  const claim = pvc || (claims.items[0]?.metadata.name ?? "");
  const object = {
    apiVersion: apiVersion(TENSORBOARDS),
    kind: TENSORBOARDS.kind,
    metadata: { name, namespace: props.ns },
    spec: { trainingLogFilesets: fixed ?? [fileset(claim, path)] },
  };
  return (
    <FormDialog
      title={t("title")}
      ready={NAME.test(name) && (fixed !== null || claim !== "")}
      send={() => create(kindPath(TENSORBOARDS, props.ns), object)}
      done={t("created", { name })}
      object={object}
      onClose={props.onClose}
    >
      <NameField value={name} onInput={setName} />
      {fixed ? (
        <div class="mono">
          {fixed.map((one) => (
            <div key={one}>{one}</div>
          ))}
        </div>
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
          <Field label={t("path")} value={path} onInput={setPath} placeholder={t("pathHint")} />
        </>
      )}
    </FormDialog>
  );
}
