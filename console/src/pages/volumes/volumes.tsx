// The persistent volumes there are: how much they hold, who uses them; make and delete.
import { useEffect, useState } from "preact/hooks";
import { create, type Failure, remove } from "../../data/api.ts";
import { corePath, JOB_KINDS, kindPath, NOTEBOOKS, TENSORBOARDS } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import { may } from "../../data/rights.ts";
import { scope } from "../../data/session.ts";
import type { KubeObject } from "../../data/types.ts";
import {
  CLAIMS,
  type Claim,
  folderHref,
  type Usage,
  usageOf,
  usesClaim,
} from "../../data/volumes.ts";
import { tc, texts, translator } from "../../i18n/index.ts";
import { formatBytes, parseQuantity } from "../../lib/quantity.ts";
import { ownProject, project } from "../../project.tsx";
import { Field, FormDialog, NAME, NameField } from "../../ui/form.tsx";
import { ListPage } from "../../ui/list-page.tsx";
import { Ago } from "../../ui/time.tsx";

const t = translator(
  texts({
    zh: {
      create: "创建 PVC",
      none: "还没有持久卷",
      hint: "持久卷（PVC）保存 Notebook 和 Job 的文件，Pod 结束后仍然保留。在本机上，每个 PVC 是一个目录。",
      size: "存储",
      sizeHint: "例如 10Gi；在单机上只作记录，实际以磁盘为限",
      badSize: "不是有效的大小，例如 10Gi",
      used: "已用",
      atLeast: "至少 {n}",
      measuring: "正在统计…",
      users: "使用者",
      nobody: "无",
      browse: "浏览文件",
      created: "已创建 PVC {name}",
      deleteTitle: "删除 PVC {name}",
      inUse: "以下对象正在使用它，删除后将无法再次启动：",
      notUsed: "没有正在使用它的对象。",
      filesStay: "文件不会被删除：目录仍保留在本机上，再次创建同名 PVC 即可继续使用。",
      deleted: "已删除 PVC {name}",
    },
    en: {
      create: "Create PVC",
      none: "No volumes yet",
      hint: "A volume (PVC) keeps the files of Notebooks and jobs when their pods are gone. On one machine it is a folder.",
      size: "Size",
      sizeHint: "Such as 10Gi; on a single machine only a note, the disk is the limit",
      badSize: "is not a valid size, e.g. 10Gi",
      used: "Used",
      atLeast: "at least {n}",
      measuring: "measuring…",
      users: "Used by",
      nobody: "nothing",
      browse: "Browse files",
      created: "Created PVC {name}",
      deleteTitle: "Delete PVC {name}",
      inUse: "These use it, and will not start again without it:",
      notUsed: "Nothing uses it.",
      filesStay:
        "Its files are not deleted: the folder stays on this machine, and a PVC made under the same name has them again.",
      deleted: "Deleted PVC {name}",
    },
  }),
);

function Used(props: { ns: string; name: string }) {
  const [usage, setUsage] = useState<Usage | Failure | undefined>();
  useEffect(() => {
    let wanted = true;
    usageOf(props.ns, props.name).then(
      (one) => wanted && setUsage(one),
      (error: Failure) => wanted && setUsage(error),
    );
    return () => {
      wanted = false;
    };
  }, [props.ns, props.name]);
  if (!usage) return <span class="muted">{t("measuring")}</span>;
  if (usage instanceof Error) return <span title={usage.message}>–</span>;
  const size = formatBytes(usage.bytes);
  return <span class="num">{usage.partial ? t("atLeast", { n: size }) : size}</span>;
}

interface User {
  kind: string;
  object: KubeObject;
}

/** What may name claims, of all that is shown. */
function useUsers(): User[] {
  const ns = scope.value;
  const pods = useLive<KubeObject>(corePath("pods", ns)).items;
  const notebooks = useLive<KubeObject>(kindPath(NOTEBOOKS, ns)).items;
  const boards = useLive<KubeObject>(kindPath(TENSORBOARDS, ns)).items;
  const pytorch = useLive<KubeObject>(kindPath(JOB_KINDS[0]!, ns)).items;
  const mpi = useLive<KubeObject>(kindPath(JOB_KINDS[1]!, ns)).items;
  const of = (kind: string, all: KubeObject[]): User[] => all.map((object) => ({ kind, object }));
  return [
    ...of(NOTEBOOKS.kind, notebooks),
    ...of(TENSORBOARDS.kind, boards),
    ...of(JOB_KINDS[0]!.kind, pytorch),
    ...of(JOB_KINDS[1]!.kind, mpi),
    // What a controller made is shown as that.
    ...of(
      "Pod",
      pods.filter((one) => !one.metadata.ownerReferences?.some((owner) => owner.controller)),
    ),
  ];
}

const ENDED = ["Succeeded", "Failed"];

function usersOf(claim: Claim, all: User[]): string[] {
  const { namespace, name } = claim.metadata;
  return all
    .filter(
      ({ object }) =>
        object.metadata.namespace === namespace &&
        !ENDED.includes((object as { status?: { phase?: string } }).status?.phase ?? "") &&
        usesClaim((object as { spec?: unknown }).spec, name),
    )
    .map(({ kind, object }) => `${kind} ${object.metadata.name}`);
}

function CreateDialog(props: { ns: string; onClose: () => void }) {
  const [name, setName] = useState("");
  const [size, setSize] = useState("10Gi");
  const bytes = parseQuantity(size);
  const object = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: props.ns },
    spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: size } } },
  };
  const right = bytes !== undefined && bytes > 0;
  return (
    <FormDialog
      title={t("create")}
      ready={NAME.test(name) && right}
      wrong={size && !right ? `${size} ${t("badSize")}` : ""}
      send={() => create(corePath(CLAIMS.plural, props.ns), object)}
      done={t("created", { name })}
      object={object}
      onClose={props.onClose}
    >
      <NameField value={name} onInput={setName} />
      <Field
        label={t("size")}
        value={size}
        onInput={setSize}
        hint={t("sizeHint")}
        invalid={!right}
      />
    </FormDialog>
  );
}

function DeleteDialog(props: { claim: Claim; users: string[]; onClose: () => void }) {
  const { namespace: ns = "default", name } = props.claim.metadata;
  return (
    <FormDialog
      title={t("deleteTitle", { name })}
      ready
      word={tc("delete")}
      send={() => remove(`${corePath(CLAIMS.plural, ns)}/${encodeURIComponent(name)}`)}
      done={t("deleted", { name })}
      onClose={props.onClose}
    >
      {props.users.length ? (
        <div class="danger" role="alert">
          <p>{t("inUse")}</p>
          <ul>
            {props.users.map((one) => (
              <li key={one} class="mono">
                {one}
              </li>
            ))}
          </ul>
        </div>
      ) : (
        <p>{t("notUsed")}</p>
      )}
      <p>{t("filesStay")}</p>
    </FormDialog>
  );
}

function Row(props: { claim: Claim; users: string[] }) {
  const { claim, users } = props;
  const { namespace: ns = "default", name } = claim.metadata;
  const [deleting, setDeleting] = useState(false);
  return (
    <tr>
      <td>
        <a href={folderHref(ns, name, "")}>{name}</a>
      </td>
      <td>{ns}</td>
      <td>{claim.status?.phase ?? ""}</td>
      <td class="num">{claim.spec?.resources?.requests?.storage ?? ""}</td>
      <td>
        <Used ns={ns} name={name} />
      </td>
      <td>
        {users.length ? (
          users.map((one) => (
            <div key={one} class="mono">
              {one}
            </div>
          ))
        ) : (
          <span class="muted">{t("nobody")}</span>
        )}
      </td>
      <td>
        <Ago time={claim.metadata.creationTimestamp} />
      </td>
      <td class="row-actions">
        <a class="button" href={folderHref(ns, name, "")}>
          {t("browse")}
        </a>
        {may("delete", CLAIMS, ns) ? (
          <button type="button" onClick={() => setDeleting(true)}>
            {tc("delete")}
          </button>
        ) : null}
        {deleting ? (
          <DeleteDialog claim={claim} users={users} onClose={() => setDeleting(false)} />
        ) : null}
      </td>
    </tr>
  );
}

export default function VolumesPage() {
  const { items: all, loaded, failure } = useLive<Claim>(corePath(CLAIMS.plural, scope.value));
  const users = useUsers();
  const items = all
    .filter((one) => !project.value || one.metadata.namespace === project.value)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  return (
    <ListPage
      title={tc("volumes")}
      create={may("create", CLAIMS, ownProject()) ? t("create") : undefined}
      dialog={(close) => <CreateDialog ns={ownProject()} onClose={close} />}
      failure={failure}
      loaded={loaded}
      none={t("none")}
      hint={t("hint")}
      heads={[
        tc("name"),
        tc("project"),
        tc("state"),
        t("size"),
        t("used"),
        t("users"),
        tc("createdAt"),
        tc("actions"),
      ]}
    >
      {items.map((one) => (
        <Row key={one.metadata.uid} claim={one} users={usersOf(one, users)} />
      ))}
    </ListPage>
  );
}
