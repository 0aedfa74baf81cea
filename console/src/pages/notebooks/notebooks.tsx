// The Notebooks there are: make, open, pause, resume, delete.
import { useState } from "preact/hooks";
import { Failure, merge } from "../../data/api.ts";
import { deleteLater, keep, leavesAt } from "../../data/removal.ts";
import { may } from "../../data/rights.ts";
import { scope, session } from "../../data/session.ts";
import { NOTEBOOKS } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { Notebook } from "../../data/notebooks.ts";
import { project } from "../../project.tsx";
import { NotebookDialog } from "./dialog.tsx";
import { lang, tc, texts, translator } from "../../i18n/index.ts";
import { refusalText } from "../../lib/refusal.ts";
import { sayBoth } from "../../lib/say.ts";
import { Icon } from "../../ui/icon.tsx";
import { MoreIcon } from "../../ui/icons.ts";
import { Menu } from "../../ui/menu.tsx";
import { Empty, Loading, Problem } from "../../ui/notice.tsx";
import { toast, undoToast } from "../../ui/toast.tsx";
import { Ago } from "../../ui/time.tsx";

const t = translator(
  texts({
    zh: {
      title: "Notebook",
      home: "存储卷",
      open: "打开",
      suspend: "暂停",
      resume: "恢复",
      more: "更多",
      none: "还没有 Notebook",
      create: "创建 Notebook",
      hint: "Notebook 在 Pod 中运行 JupyterLab，其文件保存在 PVC 中；在其中的终端里可直接使用 kubectl 和 muster。",
      failed: "操作失败：{message}",
      deleting: "即将删除 Notebook {name}",
      undo: "撤销",
    },
    en: {
      title: "Notebooks",
      home: "Volume",
      open: "Open",
      suspend: "Pause",
      resume: "Resume",
      more: "More",
      none: "No Notebooks yet",
      create: "Create Notebook",
      hint: "A Notebook runs JupyterLab in a pod, with its files on a PVC; kubectl and muster work in its terminal.",
      failed: "Could not do that: {message}",
      deleting: "Deleting Notebook {name}",
      undo: "Undo",
    },
  }),
);

const base = `/apis/${NOTEBOOKS.group}/${NOTEBOOKS.version}`;

function pathOf(notebook: Notebook): string {
  return `${base}/namespaces/${encodeURIComponent(notebook.metadata.namespace ?? "default")}/${NOTEBOOKS.plural}/${encodeURIComponent(notebook.metadata.name)}`;
}

function hrefOf(notebook: Notebook): string {
  return `/notebook/${encodeURIComponent(notebook.metadata.namespace ?? "default")}/${encodeURIComponent(notebook.metadata.name)}/`;
}

function claimsOf(notebook: Notebook): string[] {
  return (notebook.spec?.template?.spec?.volumes ?? []).flatMap((one) =>
    one.persistentVolumeClaim ? [one.persistentVolumeClaim.claimName] : [],
  );
}

function act(what: Promise<unknown>): void {
  what.catch((error: Failure) =>
    toast(t("failed", { message: refusalText(error, lang.value) }), { kind: "error" }),
  );
}

function undo(notebook: Notebook): void {
  act(keep(pathOf(notebook), notebook));
}

function removeNotebook(notebook: Notebook): void {
  deleteLater(pathOf(notebook), notebook).then(
    () =>
      undoToast(t("deleting", { name: notebook.metadata.name }), t("undo"), () => undo(notebook)),
    (error: Failure) =>
      toast(t("failed", { message: refusalText(error, lang.value) }), { kind: "error" }),
  );
}

export default function NotebooksPage() {
  const [making, setMaking] = useState(false);
  const {
    items: all,
    loaded,
    failure,
  } = useLive<Notebook>(
    `${base}/${scope.value && `namespaces/${encodeURIComponent(scope.value)}/`}${NOTEBOOKS.plural}`,
  );
  const items = all.filter(
    (notebook) => !project.value || notebook.metadata.namespace === project.value,
  );
  return (
    <section>
      <div class="page-head">
        <h1>{t("title")}</h1>
        <button type="button" class="primary" onClick={() => setMaking(true)}>
          {t("create")}
        </button>
      </div>
      {making ? (
        <NotebookDialog
          ns={project.value || session.value?.namespace || "default"}
          onClose={() => setMaking(false)}
        />
      ) : null}
      {failure ? (
        <Problem failure={failure} />
      ) : !loaded ? (
        <Loading />
      ) : !items.length ? (
        <Empty title={t("none")}>
          <p>{t("hint")}</p>
        </Empty>
      ) : (
        <div class="scroll-x">
          <table>
            <thead>
              <tr>
                <th scope="col">{tc("name")}</th>
                <th scope="col">{tc("project")}</th>
                <th scope="col">{tc("state")}</th>
                <th scope="col">{t("home")}</th>
                <th scope="col">{tc("createdAt")}</th>
                <th scope="col">{tc("actions")}</th>
                <th scope="col">{t("more")}</th>
              </tr>
            </thead>
            <tbody>
              {items.map((notebook) => (
                <tr
                  key={notebook.metadata.uid}
                  class={leavesAt(notebook) === undefined ? "" : "leaving"}
                >
                  <td>
                    {notebook.metadata.name}{" "}
                    {leavesAt(notebook) === undefined ? null : (
                      <button type="button" class="chip" onClick={() => undo(notebook)}>
                        {t("undo")}
                      </button>
                    )}
                  </td>
                  <td>{notebook.metadata.namespace}</td>
                  <td>
                    {notebook.status?.phase ?? "Pending"}
                    {notebook.status?.phase === "Failed" ? (
                      <div class="danger">{sayBoth(notebook.status.message ?? "", lang.value)}</div>
                    ) : null}
                  </td>
                  <td class="mono">
                    {claimsOf(notebook).map((one) => (
                      <div key={one}>{one}</div>
                    ))}
                  </td>
                  <td>
                    <Ago time={notebook.metadata.creationTimestamp} />
                  </td>
                  <td>
                    <a class="button" target="_blank" rel="noopener" href={hrefOf(notebook)}>
                      {t("open")}
                    </a>{" "}
                    <button
                      type="button"
                      onClick={() =>
                        act(merge(pathOf(notebook), { spec: { suspend: !notebook.spec?.suspend } }))
                      }
                    >
                      {t(notebook.spec?.suspend ? "resume" : "suspend")}
                    </button>
                  </td>
                  <td>
                    <Menu
                      label={<Icon of={MoreIcon} />}
                      name={`${t("more")} ${notebook.metadata.name}`}
                      items={
                        may("delete", NOTEBOOKS, notebook.metadata.namespace ?? "default")
                          ? [
                              {
                                label: tc("delete"),
                                danger: true,
                                onSelect: () => removeNotebook(notebook),
                              },
                            ]
                          : []
                      }
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
