// The Notebooks there are.
import { NOTEBOOKS } from "../../data/kinds.ts";
import type { Notebook } from "../../data/notebooks.ts";
import { tc, texts, translator } from "../../i18n/index.ts";
import { AppsPage, lines } from "../apps/apps.tsx";
import { NotebookDialog } from "./dialog.tsx";

const t = translator(
  texts({
    zh: {
      home: "存储卷",
      hint: "Notebook 在 Pod 中运行 JupyterLab，其文件保存在 PVC 中；在其中的终端里可直接使用 kubectl 和 muster。",
    },
    en: {
      home: "Volume",
      hint: "A Notebook runs JupyterLab in a pod, with its files on a PVC; kubectl and muster work in its terminal.",
    },
  }),
);

function claimsOf(notebook: Notebook): string[] {
  return (notebook.spec?.template?.spec?.volumes ?? []).flatMap((one) =>
    one.persistentVolumeClaim ? [one.persistentVolumeClaim.claimName] : [],
  );
}

export default function NotebooksPage() {
  return (
    <AppsPage<Notebook>
      kind={NOTEBOOKS}
      title={tc("notebooks")}
      hint={t("hint")}
      columns={[{ name: t("home"), cell: (notebook) => lines(claimsOf(notebook)) }]}
      dialog={(ns, close) => <NotebookDialog ns={ns} onClose={close} />}
    />
  );
}
