// Every action on a job as its line in a terminal.
import { cli } from "../data/jobs.ts";
import type { Job } from "../data/types.ts";
import { translator } from "../i18n/index.ts";
import { jobsTexts } from "../i18n/jobs.ts";
import { isPaused } from "../lib/jobs.ts";
import { isOver } from "../lib/state.ts";
import { CliLine } from "./cli.tsx";
import { Dialog } from "./dialog.tsx";

const t = translator(jobsTexts);

export function CliDialog(props: { job: Job; onClose: () => void }) {
  const { job } = props;
  return (
    <Dialog wide title={t("cliOf", { name: job.metadata.name })} onClose={props.onClose}>
      <p class="dim">{t("cliHint")}</p>
      <CliLine label={t("cliWatch")} line={cli.get(job)} />
      <CliLine label={t("cliLogs")} line={cli.logs(job)} />
      {isOver(job) ? null : (
        <CliLine
          label={t(isPaused(job) ? "cliResume" : "cliPause")}
          line={cli.pause(job, !isPaused(job))}
        />
      )}
      <CliLine label={t("cliRerun")} line={cli.rerun(job)} />
      <CliLine label={t("cliRemove")} line={cli.remove(job)} />
    </Dialog>
  );
}
