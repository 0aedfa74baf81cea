// Deleting jobs. What runs must be named to be deleted; all of it can be taken back for a while,
// which the server keeps: this page may be closed meanwhile.
import { useState } from "preact/hooks";
import { Failure } from "../../data/api.ts";
import { cli, jobApiPath } from "../../data/jobs.ts";
import { deleteLater, keep } from "../../data/removal.ts";
import type { Job } from "../../data/types.ts";
import { lang, tc, translator } from "../../i18n/index.ts";
import { refusalText } from "../../lib/refusal.ts";
import { jobsTexts } from "../../i18n/jobs.ts";
import { replicaCounts } from "../../lib/jobs.ts";
import { CliLine } from "../../ui/cli.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { toast, undoToast } from "../../ui/toast.tsx";

const t = translator(jobsTexts);
const CLI_LINES = 4;

/** Applies it to all and reports failures once. Returns those it succeeded for. */
async function toAll(jobs: Job[], what: (job: Job) => Promise<unknown>): Promise<Job[]> {
  const results = await Promise.allSettled(jobs.map(what));
  const failed = results.filter((one): one is PromiseRejectedResult => one.status === "rejected");
  const first = failed.map((one) => one.reason as Failure).find((one) => one.code !== 404);
  if (first)
    toast(t("someFailed", { count: failed.length, message: refusalText(first, lang.value) }), {
      kind: "error",
    });
  return jobs.filter((_, i) => results[i]!.status === "fulfilled");
}

export function undoRemoval(jobs: Job[]): void {
  void toAll(jobs, (job) => keep(jobApiPath(job), job)).then((kept) => {
    if (kept.length) toast(t("kept", { name: nameOf(kept) }));
  });
}

function nameOf(jobs: Job[]): string {
  return jobs.length === 1 ? jobs[0]!.metadata.name : t("several", { count: jobs.length });
}

async function remove(jobs: Job[]): Promise<void> {
  const going = await toAll(jobs, (job) => deleteLater(jobApiPath(job), job));
  if (going.length)
    undoToast(t("deleting", { name: nameOf(going) }), t("undo"), () => undoRemoval(going));
}

export function RemoveDialog(props: { jobs: Job[]; onClose: () => void; onDone?: () => void }) {
  const [typed, setTyped] = useState("");
  const replicas = props.jobs.reduce((sum, job) => sum + replicaCounts(job).running, 0);
  const running = replicas > 0 || props.jobs.some((job) => job.status?.phase === "Running");
  const only = props.jobs.length === 1 ? props.jobs[0] : undefined;
  const word = only ? only.metadata.name : String(props.jobs.length);
  const confirmed = !running || typed === word;
  const go = (): void => {
    void remove(props.jobs);
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
          <button type="button" class="primary danger" disabled={!confirmed} onClick={go}>
            {tc("delete")}
          </button>
        </>
      }
    >
      <p>
        {replicas ? t("deleteStops", { running: replicas }) : ""} {t("deleteKeeps")}
      </p>
      {running ? (
        <label>
          {t(only ? "typeName" : "typeCount", { name: word })}{" "}
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
