// Deleting jobs. What runs must be named to be deleted; what is over can be taken back for a few
// seconds.
import { useState } from "preact/hooks";
import { Failure } from "../../data/api.ts";
import { cli, deleteJob } from "../../data/jobs.ts";
import type { Job } from "../../data/types.ts";
import { tc, translator } from "../../i18n/index.ts";
import { jobsTexts } from "../../i18n/jobs.ts";
import { replicaCounts } from "../../lib/jobs.ts";
import { isOver } from "../../lib/state.ts";
import { CliLine } from "../../ui/cli.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { dismiss, toast } from "../../ui/toast.tsx";

const t = translator(jobsTexts);
const UNDO_MS = 5_000;
const CLI_LINES = 4;

async function removeNow(job: Job): Promise<void> {
  try {
    await deleteJob(job);
  } catch (error) {
    if ((error as Failure).code !== 404)
      toast(t("failed", { message: (error as Failure).message }), { kind: "error" });
  }
}

function removeWithUndo(job: Job): void {
  let shown = 0;
  const timer = setTimeout(() => {
    dismiss(shown);
    void removeNow(job);
  }, UNDO_MS);
  shown = toast(t("deleting", { name: job.metadata.name }), {
    action: { label: t("undo"), run: () => clearTimeout(timer) },
  });
}

export function RemoveDialog(props: { jobs: Job[]; onClose: () => void; onDone?: () => void }) {
  const [typed, setTyped] = useState("");
  const running = props.jobs.filter((job) => !isOver(job));
  const replicas = props.jobs.reduce((sum, job) => sum + replicaCounts(job).running, 0);
  const only = props.jobs.length === 1 ? props.jobs[0] : undefined;
  const word = only ? only.metadata.name : String(props.jobs.length);
  const confirmed = !running.length || typed === word;
  const go = (): void => {
    for (const job of props.jobs) {
      if (isOver(job)) removeWithUndo(job);
      else void removeNow(job).then(() => toast(t("deleted", { name: job.metadata.name })));
    }
    props.onClose();
    props.onDone?.();
  };
  return (
    <Dialog
      title={
        only
          ? `${t("remove")} ${only.metadata.name}`
          : t("deleteTitle", { count: props.jobs.length })
      }
      onClose={props.onClose}
      actions={
        <>
          <button type="button" onClick={props.onClose}>
            {tc("cancel")}
          </button>
          <button type="button" class="primary" disabled={!confirmed} onClick={go}>
            {tc("delete")}
          </button>
        </>
      }
    >
      <p>{t("deleteWhat", { running: replicas })}</p>
      {running.length ? (
        <label>
          {t("typeName", { name: word })}{" "}
          <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} autofocus />
        </label>
      ) : null}
      {cli
        .removeAll(props.jobs)
        .slice(0, CLI_LINES)
        .map((line) => (
          <CliLine key={line} label={t("asCli")} line={line} />
        ))}
    </Dialog>
  );
}
