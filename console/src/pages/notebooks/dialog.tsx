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
      more: "更多存储卷",
      moreHint: "PVC:路径，以空格分隔，例如 datasets:/data",
      badMore: "更多存储卷的写法是 PVC:路径，例如 datasets:/data；每个路径只能用一次",
      image: "镜像",
      imageHint: "在单机上不拉取镜像：运行本机的 JupyterLab",
      cpu: "CPU 上限",
      memory: "内存上限",
      gpu: "GPU",
      queue: "队列",
      queueHint: "留空则不排队：资源足够时立即启动",
      priority: "优先级（0 至 100）",
      ssh: "SSH 公钥",
      sshHint: "含有公钥的 Secret，以空格分隔；留空则不启用 SSH",
      badPriority: "优先级为 0 至 100 的整数",
      created: "已创建 Notebook {name}",
      badName: "名称只能包含小写字母、数字和连字符，以字母开头，以字母或数字结尾，最多 41 个字符。",
    },
    en: {
      title: "Create Notebook",
      pvc: "Volume (PVC)",
      pvcHint: "Mounted at /t9k/mnt; created if it does not exist",
      more: "More volumes",
      moreHint: "PVC:path, separated by spaces, such as datasets:/data",
      badMore: "More volumes are written PVC:path, such as datasets:/data; each path once",
      image: "Image",
      imageHint: "On a single machine no image is pulled: the machine's own JupyterLab runs",
      cpu: "CPU limit",
      memory: "Memory limit",
      gpu: "GPUs",
      queue: "Queue",
      queueHint: "If empty, it is in no queue and starts as soon as it fits",
      priority: "Priority (0 to 100)",
      ssh: "SSH keys",
      sshHint: "Secrets with public keys, separated by spaces; none means no SSH",
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

const HOME = "/t9k/mnt";

interface Mount {
  claim: string;
  path: string;
}

/** "datasets:/data results:/out"; undefined: not written so, or two at one path. */
function mountsOf(text: string): Mount[] | undefined {
  const all = text.split(/\s+/).filter((one) => one !== "");
  const mounts = all.flatMap((one) => {
    const found = /^([a-z0-9][-a-z0-9.]*):(\/[^:]+)$/.exec(one);
    return found ? [{ claim: found[1]!, path: found[2]! }] : [];
  });
  const paths = new Set([HOME, ...mounts.map((one) => one.path)]);
  return mounts.length === all.length && paths.size === all.length + 1 ? mounts : undefined;
}

function schedulerOf(queue: string, priority: string): object {
  if (!queue) return {};
  return {
    scheduler: {
      t9kScheduler: { queue, ...(priority !== "" && { priority: Number(priority) }) },
    },
  };
}

function sshOf(text: string): object {
  const secrets = text.split(/\s+/).filter((one) => one !== "");
  return secrets.length ? { ssh: { enabled: true, authorized_keys: secrets } } : {};
}

export function NotebookDialog(props: { ns: string; onClose: () => void }) {
  const claims = useLive<KubeObject>(corePath("persistentvolumeclaims", props.ns));
  const [name, setName] = useState("");
  const [pvc, setPvc] = useState("");
  const [more, setMore] = useState("");
  const [image, setImage] = useState("jupyterlab");
  const [cpu, setCpu] = useState("2");
  const [memory, setMemory] = useState("4Gi");
  const [gpu, setGpu] = useState("");
  const [queue, setQueue] = useState("");
  const [ssh, setSsh] = useState("");
  const [priority, setPriority] = useState("");
  const queues = useLive<Queue>(kindPath(QUEUES, QUEUES.namespace));
  const right = /^(100|[1-9]?[0-9])?$/.test(priority);
  const mounts = mountsOf(more);
  const volumes = [{ claim: pvc || name, path: HOME }, ...(mounts ?? [])].map((one, i) => ({
    ...one,
    name: i ? `data-${i}` : "workspace",
  }));
  const object = {
    apiVersion: apiVersion(NOTEBOOKS),
    kind: NOTEBOOKS.kind,
    metadata: { name, namespace: props.ns },
    spec: {
      type: "jupyter",
      ...schedulerOf(queue, priority),
      ...sshOf(ssh),
      template: {
        spec: {
          containers: [
            {
              name: "notebook",
              image,
              resources: { limits: limitsOf(cpu, memory, gpu) },
              volumeMounts: volumes.map((one) => ({ name: one.name, mountPath: one.path })),
            },
          ],
          volumes: volumes.map((one) => ({
            name: one.name,
            persistentVolumeClaim: { claimName: one.claim },
          })),
        },
      },
    },
  };
  return (
    <FormDialog
      title={t("title")}
      ready={NAME.test(name) && right && mounts !== undefined && image !== ""}
      wrong={!right ? t("badPriority") : mounts ? "" : t("badMore")}
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
      <Field
        label={t("more")}
        value={more}
        onInput={setMore}
        hint={t("moreHint")}
        invalid={!mounts}
      />
      <Field label={t("image")} value={image} onInput={setImage} hint={t("imageHint")} />
      <Field label={t("cpu")} value={cpu} onInput={setCpu} />
      <Field label={t("memory")} value={memory} onInput={setMemory} />
      <Field label={t("gpu")} value={gpu} onInput={setGpu} />
      <Field label={t("ssh")} value={ssh} onInput={setSsh} hint={t("sshHint")} />
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
