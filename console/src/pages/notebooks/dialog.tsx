// Making a Notebook: a name, the claim its files are on, what it may use.
import { useState } from "preact/hooks";
import { create } from "../../data/api.ts";
import { apiVersion, corePath, kindPath, NOTEBOOKS, QUEUES } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { KubeObject, Queue } from "../../data/types.ts";
import { texts, translator } from "../../i18n/index.ts";
import { Field, FormDialog, NameField } from "../../ui/form.tsx";

const t = translator(
  texts({
    zh: {
      title: "创建 Notebook",
      pvc: "存储卷（PVC）",
      pvcHint: "绑定到 /t9k/mnt；若不存在则自动创建",
      cpu: "CPU 上限",
      memory: "内存上限",
      gpu: "GPU",
      queue: "队列",
      queueHint: "留空则不排队：资源足够时立即启动",
      priority: "优先级（0 至 100）",
      badPriority: "优先级为 0 至 100 的整数",
      created: "已创建 Notebook {name}",
      badName: "名称只能包含小写字母、数字和连字符，以字母开头，以字母或数字结尾，最多 41 个字符。",
    },
    en: {
      title: "Create Notebook",
      pvc: "Volume (PVC)",
      pvcHint: "mounted at /t9k/mnt; made when there is none of that name",
      cpu: "CPU limit",
      memory: "Memory limit",
      gpu: "GPUs",
      queue: "Queue",
      queueHint: "empty: outside of queues, it starts as soon as it fits",
      priority: "Priority (0 to 100)",
      badPriority: "The priority is a whole number from 0 to 100",
      created: "Created Notebook {name}",
      badName:
        "Lower-case letters, digits and hyphens only, beginning with a letter, ending with a letter or digit, 41 characters at most.",
    },
  }),
);

const NAME = /^[a-z]([-a-z0-9]{0,39}[a-z0-9])?$/;

function limitsOf(cpu: string, memory: string, gpu: string): Record<string, string> {
  const all: [name: string, value: string][] = [
    ["cpu", cpu],
    ["memory", memory],
    ["nvidia.com/gpu", gpu],
  ];
  return Object.fromEntries(all.filter(([, value]) => value !== ""));
}

function schedulerOf(queue: string, priority: string): object {
  if (!queue) return {};
  return {
    scheduler: {
      t9kScheduler: { queue, ...(priority !== "" && { priority: Number(priority) }) },
    },
  };
}

export function NotebookDialog(props: { ns: string; onClose: () => void }) {
  const claims = useLive<KubeObject>(corePath("persistentvolumeclaims", props.ns));
  const [name, setName] = useState("");
  const [pvc, setPvc] = useState("");
  const [cpu, setCpu] = useState("2");
  const [memory, setMemory] = useState("4Gi");
  const [gpu, setGpu] = useState("");
  const [queue, setQueue] = useState("");
  const [priority, setPriority] = useState("");
  const queues = useLive<Queue>(kindPath(QUEUES, QUEUES.namespace));
  const right = /^(100|[1-9]?[0-9])?$/.test(priority);
  const object = {
    apiVersion: apiVersion(NOTEBOOKS),
    kind: NOTEBOOKS.kind,
    metadata: { name, namespace: props.ns },
    spec: {
      type: "jupyter",
      ...schedulerOf(queue, priority),
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
          volumes: [{ name: "workspace", persistentVolumeClaim: { claimName: pvc || name } }],
        },
      },
    },
  };
  return (
    <FormDialog
      title={t("title")}
      ready={NAME.test(name) && right}
      wrong={right ? "" : t("badPriority")}
      send={() => create(kindPath(NOTEBOOKS, props.ns), object)}
      done={t("created", { name })}
      object={object}
      onClose={props.onClose}
    >
      <NameField value={name} onInput={setName} pattern={NAME} rule={t("badName")} />
      <Field
        label={t("pvc")}
        value={pvc}
        onInput={setPvc}
        list="notebook-claims"
        placeholder={name}
        hint={t("pvcHint")}
      />
      <datalist id="notebook-claims">
        {claims.items.map((one) => (
          <option key={one.metadata.uid} value={one.metadata.name} />
        ))}
      </datalist>
      <Field label={t("cpu")} value={cpu} onInput={setCpu} />
      <Field label={t("memory")} value={memory} onInput={setMemory} />
      <Field label={t("gpu")} value={gpu} onInput={setGpu} />
      <Field
        label={t("queue")}
        value={queue}
        onInput={setQueue}
        list="notebook-queues"
        hint={t("queueHint")}
      />
      <datalist id="notebook-queues">
        {queues.items.map((one) => (
          <option key={one.metadata.uid} value={one.metadata.name} />
        ))}
      </datalist>
      {queue ? (
        <Field
          label={t("priority")}
          value={priority}
          onInput={setPriority}
          inputMode="numeric"
          invalid={!right}
        />
      ) : null}
    </FormDialog>
  );
}
