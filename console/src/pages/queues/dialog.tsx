// Making a queue, or changing what one may hold.
import { useState } from "preact/hooks";
import { create, type Failure, merge } from "../../data/api.ts";
import { queuePath, QUEUES } from "../../data/kinds.ts";
import type { Queue } from "../../data/types.ts";
import { lang, tc, texts, translator } from "../../i18n/index.ts";
import { refusalText } from "../../lib/refusal.ts";
import { parseQuantity } from "../../lib/quantity.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toast.tsx";

const t = translator(
  texts({
    zh: {
      make: "新建队列",
      edit: "编辑队列 {name}",
      name: "名称",
      priority: "优先级（0 至 100）",
      cpu: "CPU 配额",
      memory: "内存配额",
      gpu: "GPU 配额",
      empty: "留空表示不限",
      longest: "最长运行时间，例如 12h",
      keeps: "不可被抢占",
      namespaces: "可使用的项目（逗号分隔，留空为所有项目）",
      save: "保存",
      saved: "已保存队列 {name}",
      bad: "{field} 不是有效的数量",
      badName: "名称只能包含小写字母、数字和连字符，且以字母或数字开头和结尾。",
      badPriority: "优先级为 0 至 100 的整数",
    },
    en: {
      make: "New queue",
      edit: "Edit queue {name}",
      name: "Name",
      priority: "Priority (0 to 100)",
      cpu: "CPU quota",
      memory: "Memory quota",
      gpu: "GPU quota",
      empty: "empty = no limit",
      longest: "Max run time (e.g. 12h)",
      keeps: "Cannot be preempted",
      namespaces: "Projects that may use it (comma-separated; empty = all)",
      save: "Save",
      saved: "Saved queue {name}",
      bad: "{field} is not a valid amount",
      badName:
        "Lower-case letters, digits and hyphens only, beginning and ending with a letter or digit.",
      badPriority: "The priority is a whole number from 0 to 100",
    },
  }),
);

const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const RESOURCES = [
  ["cpu", "cpu"],
  ["memory", "memory"],
  ["gpu", "nvidia.com/gpu"],
] as const;

/** A selector that is not there selects none. */
function selectorOf(projects: string): unknown {
  const values = projects
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
  const key = "kubernetes.io/metadata.name";
  return {
    matchExpressions: [
      values.length ? { key, operator: "In", values } : { key, operator: "Exists" },
    ],
  };
}

export function QueueDialog(props: { queue: Queue | undefined; onClose: () => void }) {
  const spec = props.queue?.spec ?? {};
  const [name, setName] = useState(props.queue?.metadata.name ?? "");
  const [priority, setPriority] = useState(String(spec.priority ?? 0));
  const [quota, setQuota] = useState<Record<string, string>>(spec.quota?.requests ?? {});
  const [longest, setLongest] = useState(spec.maxDuration ?? "");
  const [keeps, setKeeps] = useState(spec.preemptible === false);
  const [projects, setProjects] = useState("");
  const [problem, setProblem] = useState("");
  const wrong = RESOURCES.find(
    ([, resource]) => quota[resource] && parseQuantity(quota[resource]) === undefined,
  );
  const local = !NAME.test(name)
    ? name
      ? t("badName")
      : ""
    : !/^\d{1,3}$/.test(priority) || Number(priority) > 100
      ? t("badPriority")
      : wrong
        ? t("bad", { field: t(wrong[0]) })
        : "";
  const send = async (): Promise<void> => {
    // A merge patch: null takes away what the field left empty had said.
    const requests = Object.fromEntries(
      RESOURCES.map(([, resource]) => [resource, quota[resource] || null]),
    );
    const next = {
      priority: Number(priority),
      preemptible: keeps ? false : null,
      maxDuration: longest || null,
      quota: { requests },
    };
    try {
      if (props.queue) await merge(queuePath(name), { spec: next });
      else
        await create(queuePath(), {
          apiVersion: `${QUEUES.group}/${QUEUES.version}`,
          kind: "Queue",
          metadata: { name, namespace: QUEUES.namespace },
          spec: { ...next, namespaceSelector: selectorOf(projects) },
        });
      toast(t("saved", { name }));
      props.onClose();
    } catch (error) {
      setProblem(refusalText(error as Failure, lang.value));
    }
  };
  return (
    <Dialog
      title={props.queue ? t("edit", { name }) : t("make")}
      onClose={props.onClose}
      actions={
        <>
          <button type="button" onClick={props.onClose}>
            {tc("cancel")}
          </button>
          <button
            type="button"
            class="primary"
            disabled={!name || local !== ""}
            onClick={() => void send()}
          >
            {t("save")}
          </button>
        </>
      }
    >
      <div class="stack">
        {props.queue ? null : (
          <label>
            {t("name")}{" "}
            <input value={name} onInput={(event) => setName(event.currentTarget.value)} autofocus />
          </label>
        )}
        <label>
          {t("priority")}{" "}
          <input
            inputMode="numeric"
            value={priority}
            onInput={(event) => setPriority(event.currentTarget.value)}
          />
        </label>
        {RESOURCES.map(([word, resource]) => (
          <label key={resource}>
            {t(word)}{" "}
            <input
              value={quota[resource] ?? ""}
              placeholder={t("empty")}
              onInput={(event) =>
                setQuota({ ...quota, [resource]: event.currentTarget.value.trim() })
              }
            />
          </label>
        ))}
        <label>
          {t("longest")}{" "}
          <input
            value={longest}
            placeholder={t("empty")}
            onInput={(event) => setLongest(event.currentTarget.value.trim())}
          />
        </label>
        {props.queue ? null : (
          <label>
            {t("namespaces")}{" "}
            <input value={projects} onInput={(event) => setProjects(event.currentTarget.value)} />
          </label>
        )}
        <label class="switch">
          <input
            type="checkbox"
            checked={keeps}
            onChange={(event) => setKeeps(event.currentTarget.checked)}
          />{" "}
          {t("keeps")}
        </label>
        {local || problem ? (
          <p class="danger" role="alert">
            {local || problem}
          </p>
        ) : null}
      </div>
    </Dialog>
  );
}
