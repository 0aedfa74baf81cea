// Making a queue, or changing what one may hold.
import { useState } from "preact/hooks";
import { create, merge } from "../../data/api.ts";
import { apiVersion, queuePath, QUEUES } from "../../data/kinds.ts";
import type { Queue } from "../../data/types.ts";
import { texts, translator } from "../../i18n/index.ts";
import { parseQuantity } from "../../lib/quantity.ts";
import { Field, FormDialog, NAME, NameField } from "../../ui/form.tsx";

const t = translator(
  texts({
    zh: {
      make: "新建队列",
      edit: "编辑队列 {name}",
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
      badPriority: "优先级为 0 至 100 的整数",
    },
    en: {
      make: "New queue",
      edit: "Edit queue {name}",
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
      badPriority: "The priority is a whole number from 0 to 100",
    },
  }),
);

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
  const bad = RESOURCES.find(
    ([, resource]) => quota[resource] && parseQuantity(quota[resource]) === undefined,
  );
  const wrong =
    !/^\d{1,3}$/.test(priority) || Number(priority) > 100
      ? t("badPriority")
      : bad
        ? t("bad", { field: t(bad[0]) })
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
    if (props.queue) await merge(queuePath(name), { spec: next });
    else
      await create(queuePath(), {
        apiVersion: apiVersion(QUEUES),
        kind: QUEUES.kind,
        metadata: { name, namespace: QUEUES.namespace },
        spec: { ...next, namespaceSelector: selectorOf(projects) },
      });
  };
  return (
    <FormDialog
      title={props.queue ? t("edit", { name }) : t("make")}
      word={t("save")}
      ready={NAME.test(name) && !wrong}
      wrong={wrong}
      send={send}
      done={t("saved", { name })}
      onClose={props.onClose}
    >
      {props.queue ? null : <NameField value={name} onInput={setName} />}
      <Field label={t("priority")} value={priority} inputMode="numeric" onInput={setPriority} />
      {RESOURCES.map(([word, resource]) => (
        <Field
          key={resource}
          label={t(word)}
          value={quota[resource] ?? ""}
          placeholder={t("empty")}
          onInput={(value) => setQuota({ ...quota, [resource]: value.trim() })}
        />
      ))}
      <Field
        label={t("longest")}
        value={longest}
        placeholder={t("empty")}
        onInput={(value) => setLongest(value.trim())}
      />
      {props.queue ? null : (
        <Field label={t("namespaces")} value={projects} onInput={setProjects} />
      )}
      <label class="switch">
        <input
          type="checkbox"
          checked={keeps}
          onChange={(event) => setKeeps(event.currentTarget.checked)}
        />{" "}
        {t("keeps")}
      </label>
    </FormDialog>
  );
}
