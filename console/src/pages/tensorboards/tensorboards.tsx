// The TensorBoards there are.
import type { TensorBoard } from "../../data/boards.ts";
import { TENSORBOARDS } from "../../data/kinds.ts";
import { tc, texts, translator } from "../../i18n/index.ts";
import { AppsPage, lines } from "../apps/apps.tsx";
import { BoardDialog } from "./dialog.tsx";

const t = translator(
  texts({
    zh: {
      filesets: "文件集",
      hint: "创建带有 TensorBoard 的 Job，或用 kubectl 创建 TensorBoard；训练曲线在每个 Job 的“训练曲线”标签页中随时可见。",
    },
    en: {
      filesets: "Filesets",
      hint: "Create a job with a TensorBoard, or one with kubectl; curves are always on the job's Training tab.",
    },
  }),
);

function filesetsOf(board: TensorBoard): string[] {
  const claims = board.spec?.logDir?.pvc ?? [];
  return [
    ...(board.spec?.trainingLogFilesets ?? []),
    ...claims.flatMap((one) =>
      (one.subPath?.length ? one.subPath : ["."]).map((path) => `t9k://pvc/${one.name}/${path}`),
    ),
  ];
}

export default function TensorBoardsPage() {
  return (
    <AppsPage<TensorBoard>
      kind={TENSORBOARDS}
      title={tc("tensorboards")}
      hint={t("hint")}
      columns={[{ name: t("filesets"), cell: (board) => lines(filesetsOf(board)) }]}
      dialog={(ns, close) => <BoardDialog ns={ns} onClose={close} />}
    />
  );
}
