// One job in the list. All rows have one height; what does not fit is in the row's title or on the
// job's page.
import { memo } from "../../ui/memo.ts";
import { mayJob } from "../../data/jobs.ts";
import { shortKind } from "../../data/kinds.ts";
import { leavesAt } from "../../data/removal.ts";
import type { Job } from "../../data/types.ts";
import { lang, translator } from "../../i18n/index.ts";
import { jobsTexts } from "../../i18n/jobs.ts";
import { shortCause, whyText } from "../../lib/failure.ts";
import {
  extendedResources,
  gpuSharesOf,
  gpusOf,
  isPaused,
  jobHref,
  lossText,
  pair,
  ranMs,
  replicaCounts,
  totalsOf,
} from "../../lib/jobs.ts";
import { isOver, stateOfJob } from "../../lib/state.ts";
import { duration, now } from "../../lib/time.ts";
import { noteOf, plainLabels, tagsOf } from "../../lib/remarks.ts";
import { say, sayBoth } from "../../lib/say.ts";
import { placeInLine } from "../../lib/waiting.ts";
import { Icon } from "../../ui/icon.tsx";
import {
  CliIcon,
  ClosedIcon,
  CopyIcon,
  DeleteIcon,
  LogsIcon,
  MoreIcon,
  NoteIcon,
  OpenIcon,
  PauseIcon,
  RerunIcon,
  ResumeIcon,
  YamlIcon,
} from "../../ui/icons.ts";
import { Menu, type MenuItem } from "../../ui/menu.tsx";
import { Spark } from "../../ui/spark.tsx";
import { Star } from "../../ui/star.tsx";
import { JobMark } from "../../ui/state.tsx";
import { Ago } from "../../ui/time.tsx";
import type { Column } from "./columns.ts";
import { undoRemoval } from "./remove.tsx";

const t = translator(jobsTexts);

function Duration(props: { job: Job }) {
  const ms = ranMs(props.job, isOver(props.job) ? 0 : now.value);
  return <>{ms === undefined ? "-" : duration(ms)}</>;
}

function ProgressCell(props: { job: Job }) {
  const p = props.job.status?.progress;
  const state = stateOfJob(props.job);
  if (state === "queued") {
    const at = placeInLine(props.job.status);
    const why = say(props.job.status?.message ?? "", lang.value);
    return (
      <span class="dim" title={sayBoth(props.job.status?.message ?? "", lang.value)}>
        {at && `${t("position", { n: at })} · `}
        {why || "-"}
      </span>
    );
  }
  if (state === "failed")
    return (
      <span class="dim" title={whyText(props.job, lang.value)}>
        {shortCause(props.job, lang.value) || "-"}
      </span>
    );
  const bar = p?.fraction !== undefined && !(isOver(props.job) && p.fraction >= 1);
  if (!p || (p.loss === undefined && !bar && !p.message)) return <span class="dim">-</span>;
  const words = [];
  if (p.step !== undefined && p.loss !== undefined)
    words.push(t("stepLoss", { step: p.step, loss: lossText(p.loss) }));
  if (p.secondsLeft !== undefined && !isOver(props.job))
    words.push(t("timeLeft", { time: duration(p.secondsLeft * 1000) }));
  return (
    <span title={[p.message, ...words].filter(Boolean).join(" · ")}>
      {p.loss === undefined ? null : (
        <Spark job={props.job} label={t("lossCurve", { loss: lossText(p.loss) })} />
      )}{" "}
      {bar ? (
        <>
          <progress max={1} value={p.fraction} aria-label={t("progress")} />{" "}
          {Math.round(p.fraction! * 100)}%
        </>
      ) : null}{" "}
      <span class="dim">
        {p.loss === undefined ? (p.message ?? "") : `loss ${lossText(p.loss)}`}
      </span>
    </span>
  );
}

const CELLS: Record<Column, (job: Job) => preact.ComponentChildren> = {
  labels: (job) =>
    [
      ...tagsOf(job).map((tag) => `#${tag}`),
      ...plainLabels(job).map(([name, value]) => `${name}=${value}`),
    ]
      .slice(0, 2)
      .map((text) => (
        <span key={text} class="chip" title={text}>
          {text}
        </span>
      )),
  project: (job) => job.metadata.namespace,
  kind: (job) => <span title={job.kind}>{shortKind(job.kind)}</span>,
  replicas: (job) => {
    const { running, done, total } = replicaCounts(job);
    return job.status?.phase === "Succeeded"
      ? t("done", { done, total })
      : isOver(job)
        ? total
        : `${running}/${total}`;
  },
  cpu: (job) => pair("cpu", totalsOf(job)),
  memory: (job) => {
    const totals = totalsOf(job);
    const others = extendedResources(totals)
      .map((name) => `${name}: ${totals.limits[name] ?? totals.requests[name]}`)
      .join(", ");
    return (
      <span title={others}>
        {pair("memory", totals)}
        {others ? " ⁺" : ""}
      </span>
    );
  },
  gpu: (job) => {
    const whole = gpusOf(job),
      shares = gpuSharesOf(job);
    if (!shares) return whole || <span class="dim">-</span>;
    return (
      <span title={t("gpuShares", { count: shares })}>
        {whole ? `${whole}+` : ""}
        {shares} ◔
      </span>
    );
  },
  progress: (job) => <ProgressCell job={job} />,
  duration: (job) => <Duration job={job} />,
  created: (job) => <Ago time={job.metadata.creationTimestamp} />,
};

export interface RowActions {
  remove: (job: Job) => void;
  pause: (job: Job, on: boolean) => void;
  select: (job: Job, on: boolean) => void;
  expand: (job: Job) => void;
  cli: (job: Job) => void;
}

function menuOf(job: Job, actions: RowActions): MenuItem[] {
  const from = encodeURIComponent(`${job.metadata.namespace}/${job.metadata.name}`);
  const items: MenuItem[] = [
    { label: t("logs"), href: jobHref(job, "logs"), hint: "l", icon: LogsIcon },
    { label: t("yaml"), href: jobHref(job, "yaml"), hint: "y", icon: YamlIcon },
  ];
  if (mayJob("create", job)) {
    items.push({
      label: t("clone"),
      icon: CopyIcon,
      href: `/jobs/new?kind=${job.kind}&from=${from}`,
    });
    if (isOver(job))
      items.push({
        label: t("rerun"),
        icon: RerunIcon,
        href: `/jobs/new?kind=${job.kind}&from=${from}&rerun=1`,
      });
  }
  if (!isOver(job) && mayJob("patch", job))
    items.push({
      label: t(isPaused(job) ? "resume" : "pause"),
      icon: isPaused(job) ? ResumeIcon : PauseIcon,
      onSelect: () => actions.pause(job, !isPaused(job)),
    });
  items.push({ label: `${t("asCli")}…`, icon: CliIcon, onSelect: () => actions.cli(job) });
  if (mayJob("delete", job))
    items.push({
      label: t("remove"),
      icon: DeleteIcon,
      danger: true,
      apart: true,
      onSelect: () => actions.remove(job),
    });
  return items;
}

interface RowProps {
  job: Job;
  columns: Column[];
  selected: boolean;
  current: boolean;
  expanded: boolean;
  actions: RowActions;
}

export const Row = memo(function Row({
  job,
  columns,
  selected,
  current,
  expanded,
  actions,
}: RowProps) {
  const name = job.metadata.name;
  const note = noteOf(job);
  const tags = tagsOf(job)
    .map((tag) => `#${tag}`)
    .join(" ");
  const leaves = leavesAt(job);
  const why = [job.status?.reason, whyText(job, lang.value)].filter(Boolean).join(": ");
  return (
    <div
      class={`row ${current ? "current" : ""} ${leaves === undefined ? "" : "leaving"}`}
      role="row"
      data-uid={job.metadata.uid}
    >
      <span role="cell" class="cell-check">
        <input
          type="checkbox"
          checked={selected}
          aria-label={t("select", { name })}
          onChange={(event) => actions.select(job, event.currentTarget.checked)}
        />
        <button
          type="button"
          class="icon"
          aria-expanded={expanded}
          aria-label={t(expanded ? "collapse" : "expand", { name })}
          onClick={() => actions.expand(job)}
        >
          <Icon of={expanded ? OpenIcon : ClosedIcon} />
        </button>
      </span>
      <span role="cell" class="cell-state">
        <JobMark job={job} title={why} />
      </span>
      <span role="cell" class="cell-name">
        {leaves === undefined ? null : (
          <button type="button" class="chip" onClick={() => undoRemoval([job])}>
            {t("undo")}
          </button>
        )}
        <a href={jobHref(job)} title={[name, why, tags, note].filter(Boolean).join("\n")}>
          {name}
        </a>
        {note ? (
          <span class="note-mark dim" title={note}>
            <Icon of={NoteIcon} size={14} label={note} />
          </span>
        ) : null}
        <Star job={job} />
      </span>
      {columns.map((one) => (
        <span role="cell" key={one} class={`cell-${one} num`}>
          {CELLS[one](job)}
        </span>
      ))}
      <span role="cell" class="cell-menu">
        <Menu
          label={<Icon of={MoreIcon} />}
          name={`${t("actions")} ${name}`}
          items={menuOf(job, actions)}
        />
      </span>
    </div>
  );
});
