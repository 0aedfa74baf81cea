// Making a Notebook: a name, the claim its files are on, what it may use.
import { useState } from "preact/hooks";
import { create, Failure } from "../../data/api.ts";
import { corePath, NOTEBOOKS } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { KubeObject } from "../../data/types.ts";
import { lang, tc, texts, translator } from "../../i18n/index.ts";
import { refusalText } from "../../lib/refusal.ts";
import { CliLine } from "../../ui/cli.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toast.tsx";

const t = translator(
  texts({
    zh: {
      title: "创建 Notebook",
      name: "名称",
      pvc: "存储卷（PVC）",
      pvcHint: "绑定到 /t9k/mnt；若不存在则自动创建",
      cpu: "CPU 上限",
      memory: "内存上限",
      gpu: "GPU",
      created: "已创建 Notebook {name}",
      badName: "名称只能包含小写字母、数字和连字符，以字母开头，以字母或数字结尾，最多 41 个字符。",
      cli: "命令行",
    },
    en: {
      title: "Create Notebook",
      name: "Name",
      pvc: "Volume (PVC)",
      pvcHint: "mounted at /t9k/mnt; made when there is none of that name",
      cpu: "CPU limit",
      memory: "Memory limit",
      gpu: "GPUs",
      created: "Created Notebook {name}",
      badName:
        "Lower-case letters, digits and hyphens only, beginning with a letter, ending with a letter or digit, 41 characters at most.",
      cli: "Command line",
    },
  }),
);

const NAME = /^[a-z]([-a-z0-9]{0,39}[a-z0-9])?$/;

function limitsOf(cpu: string, memory: string, gpu: string): Record<string, string> {
  return Object.fromEntries(
    [
      ["cpu", cpu],
      ["memory", memory],
      ["nvidia.com/gpu", gpu],
    ].filter(([, value]) => value !== ""),
  );
}

export function NotebookDialog(props: { ns: string; onClose: () => void }) {
  const claims = useLive<KubeObject>(corePath("persistentvolumeclaims", props.ns));
  const [name, setName] = useState("");
  const [pvc, setPvc] = useState("");
  const [cpu, setCpu] = useState("2");
  const [memory, setMemory] = useState("4Gi");
  const [gpu, setGpu] = useState("");
  const [problem, setProblem] = useState("");
  const claim = pvc || name;
  const object = {
    apiVersion: `${NOTEBOOKS.group}/${NOTEBOOKS.version}`,
    kind: "Notebook",
    metadata: { name, namespace: props.ns },
    spec: {
      type: "jupyter",
      template: {
        spec: {
          containers: [
            {
              name: "notebook",
              image: "jupyterlab",
              resources: { limits: limitsOf(cpu, memory, gpu) },
              volumeMounts: [{ name: "workspace", mountPath: "/t9k/mnt" }],
            },
          ],
          volumes: [{ name: "workspace", persistentVolumeClaim: { claimName: claim } }],
        },
      },
    },
  };
  const ready = NAME.test(name);
  const send = async (): Promise<void> => {
    try {
      await create(
        `/apis/${NOTEBOOKS.group}/${NOTEBOOKS.version}/namespaces/${encodeURIComponent(props.ns)}/${NOTEBOOKS.plural}`,
        object,
      );
      toast(t("created", { name }));
      props.onClose();
    } catch (error) {
      setProblem(refusalText(error as Failure, lang.value));
    }
  };
  const fields: [label: string, value: string, set: (value: string) => void][] = [
    [t("cpu"), cpu, setCpu],
    [t("memory"), memory, setMemory],
    [t("gpu"), gpu, setGpu],
  ];
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
            aria-invalid={name && !ready ? "true" : undefined}
            onInput={(event) => setName(event.currentTarget.value)}
            autofocus
          />
        </label>
        {name && !ready ? <p class="danger">{t("badName")}</p> : null}
        <label>
          {t("pvc")}{" "}
          <input
            list="notebook-claims"
            value={pvc}
            placeholder={name || t("pvcHint")}
            onInput={(event) => setPvc(event.currentTarget.value)}
          />
        </label>
        <datalist id="notebook-claims">
          {claims.items.map((one) => (
            <option key={one.metadata.uid} value={one.metadata.name} />
          ))}
        </datalist>
        <p class="quiet">{t("pvcHint")}</p>
        {fields.map(([label, value, set]) => (
          <label key={label}>
            {label} <input value={value} onInput={(event) => set(event.currentTarget.value)} />
          </label>
        ))}
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
