// The TensorBoards there are: open, suspend, resume, delete.
import { useState } from "preact/hooks";
import { Failure, merge } from "../../data/api.ts";
import { deleteLater, keep, leavesAt } from "../../data/removal.ts";
import { may } from "../../data/rights.ts";
import { scope } from "../../data/session.ts";
import { TENSORBOARDS } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import { boardHref, type TensorBoard } from "../../data/boards.ts";
import { ownProject, project } from "../../project.tsx";
import { BoardDialog } from "./dialog.tsx";
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
      title: "TensorBoard",
      filesets: "文件集",
      open: "打开",
      suspend: "暂停",
      resume: "恢复",
      more: "更多",
      none: "还没有 TensorBoard",
      create: "创建 TensorBoard",
      hint: "创建带有 TensorBoard 的 Job，或用 kubectl 创建 TensorBoard；训练曲线在每个 Job 的“训练曲线”标签页中随时可见。",
      failed: "操作失败：{message}",
      deleting: "即将删除 TensorBoard {name}",
      undo: "撤销",
    },
    en: {
      title: "TensorBoards",
      filesets: "Filesets",
      open: "Open",
      suspend: "Suspend",
      resume: "Resume",
      more: "More",
      none: "No TensorBoards yet",
      create: "Create TensorBoard",
      hint: "Create a job with a TensorBoard, or one with kubectl; curves are always on the job's Training tab.",
      failed: "Could not do that: {message}",
      deleting: "Deleting TensorBoard {name}",
      undo: "Undo",
    },
  }),
);

const base = `/apis/${TENSORBOARDS.group}/${TENSORBOARDS.version}`;

function pathOf(board: TensorBoard): string {
  return `${base}/namespaces/${encodeURIComponent(board.metadata.namespace ?? "default")}/${TENSORBOARDS.plural}/${encodeURIComponent(board.metadata.name)}`;
}

function filesetsOf(board: TensorBoard): string[] {
  const claims = board.spec?.logDir?.pvc ?? [];
  return [
    ...(board.spec?.trainingLogFilesets ?? []),
    ...claims.flatMap((one) =>
      (one.subPath?.length ? one.subPath : ["."]).map((path) => `t9k://pvc/${one.name}/${path}`),
    ),
  ];
}

function act(what: Promise<unknown>): void {
  what.catch((error: Failure) =>
    toast(t("failed", { message: refusalText(error, lang.value) }), { kind: "error" }),
  );
}

function undo(board: TensorBoard): void {
  act(keep(pathOf(board), board));
}

function removeBoard(board: TensorBoard): void {
  deleteLater(pathOf(board), board).then(
    () => undoToast(t("deleting", { name: board.metadata.name }), t("undo"), () => undo(board)),
    (error: Failure) =>
      toast(t("failed", { message: refusalText(error, lang.value) }), { kind: "error" }),
  );
}

export default function TensorBoardsPage() {
  const [making, setMaking] = useState(false);
  const {
    items: all,
    loaded,
    failure,
  } = useLive<TensorBoard>(
    `${base}/${scope.value && `namespaces/${encodeURIComponent(scope.value)}/`}${TENSORBOARDS.plural}`,
  );
  const items = all.filter((board) => !project.value || board.metadata.namespace === project.value);
  return (
    <section>
      <div class="page-head">
        <h1>{t("title")}</h1>
        <span class="grow" />
        {may("create", TENSORBOARDS, ownProject()) ? (
          <button type="button" class="primary" onClick={() => setMaking(true)}>
            {t("create")}
          </button>
        ) : null}
      </div>
      {making ? <BoardDialog ns={ownProject()} onClose={() => setMaking(false)} /> : null}
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
                <th scope="col">{t("filesets")}</th>
                <th scope="col">{tc("createdAt")}</th>
                <th scope="col">{tc("actions")}</th>
                <th scope="col">{t("more")}</th>
              </tr>
            </thead>
            <tbody>
              {items.map((board) => (
                <tr key={board.metadata.uid} class={leavesAt(board) === undefined ? "" : "leaving"}>
                  <td>
                    {board.metadata.name}{" "}
                    {leavesAt(board) === undefined ? null : (
                      <button type="button" class="chip" onClick={() => undo(board)}>
                        {t("undo")}
                      </button>
                    )}
                  </td>
                  <td>{board.metadata.namespace}</td>
                  <td title={sayBoth(board.status?.message ?? "", lang.value)}>
                    {board.status?.phase ?? "Pending"}
                  </td>
                  <td class="mono">
                    {filesetsOf(board).map((one) => (
                      <div key={one}>{one}</div>
                    ))}
                  </td>
                  <td>
                    <Ago time={board.metadata.creationTimestamp} />
                  </td>
                  <td>
                    <a
                      class="button"
                      target="_blank"
                      rel="noopener"
                      href={boardHref(board.metadata.namespace ?? "default", board.metadata.name)}
                    >
                      {t("open")}
                    </a>{" "}
                    <button
                      type="button"
                      onClick={() =>
                        act(merge(pathOf(board), { spec: { suspend: !board.spec?.suspend } }))
                      }
                    >
                      {t(board.spec?.suspend ? "resume" : "suspend")}
                    </button>
                  </td>
                  <td>
                    <Menu
                      label={<Icon of={MoreIcon} />}
                      name={`${t("more")} ${board.metadata.name}`}
                      items={
                        may("delete", TENSORBOARDS, board.metadata.namespace ?? "default")
                          ? [
                              {
                                label: tc("delete"),
                                danger: true,
                                onSelect: () => removeBoard(board),
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
