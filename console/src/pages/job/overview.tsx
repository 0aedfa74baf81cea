// The first tab: what the tutorials call basic information, conditions and events; and a time line.
import { TENSORBOARDS } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { Condition, Job, KubeObject } from "../../data/types.ts";
import { translator } from "../../i18n/index.ts";
import { jobTexts } from "../../i18n/job.ts";
import { claimsOf, extendedResources, isDebug, jobHref, pair, priorityOf, queueOf, replicasByRole, schedulerOf, totalsOf } from "../../lib/jobs.ts";
import { stateOfJob } from "../../lib/state.ts";
import { duration, exact, millis, now } from "../../lib/time.ts";
import { StateMark } from "../../ui/state.tsx";
import { Ago } from "../../ui/time.tsx";
import { Events } from "./events.tsx";
import type { TabProps } from "./job.tsx";

const t = translator(jobTexts);

interface TensorBoard extends KubeObject {
  status?: { phase?: string; url?: string };
}

function BoardLink(props: { job: Job }) {
  const ns = props.job.metadata.namespace ?? "default";
  const name = String(props.job.status?.tensorboard?.name ?? props.job.metadata.name);
  const live = useLive<TensorBoard>(`/apis/${TENSORBOARDS.group}/${TENSORBOARDS.version}/namespaces/${encodeURIComponent(ns)}/${TENSORBOARDS.plural}`);
  const board = live.items.find((one) => one.metadata.name === name);
  if (!board) return <span class="dim">{t("none")}</span>;
  return <a href={`/tensorboard/${encodeURIComponent(ns)}/${encodeURIComponent(name)}/`} target="_blank" rel="noopener">{board.status?.phase ?? "Pending"} ({t("openBoard")})</a>;
}

function Basics(props: { job: Job }) {
  const { job } = props;
  const totals = totalsOf(job);
  const rows: [string, preact.ComponentChildren][] = [
    [t("name"), job.metadata.name],
    [t("uid"), <span class="mono">{job.metadata.uid}</span>],
    [t("state"), <StateMark state={stateOfJob(job)} />],
    [t("replicas"), replicasByRole(job).map((one) => <div key={one.type}>{one.type}: {one.count}</div>)],
    [t("volumes"), claimsOf(job).map((one) => <span key={one} class="chip">{one}</span>)],
    [t("labels"), Object.entries(job.metadata.labels ?? {}).map(([name, value]) => <span key={name} class="chip">{name}={value}</span>)],
    [t("project"), job.metadata.namespace],
    [t("cpu"), <span class="num">{pair("cpu", totals)}</span>],
    [t("memory"), <span class="num">{pair("memory", totals)}</span>],
    ...extendedResources(totals).map((name): [string, preact.ComponentChildren] => [name, <span class="num">{pair(name, totals)}</span>]),
    [t("created"), <><Ago time={job.metadata.creationTimestamp} /> <span class="dim">{exact(millis(job.metadata.creationTimestamp) ?? 0)}</span></>],
  ];
  if (schedulerOf(job) === "t9k") rows.push([t("queue"), `${queueOf(job)} · ${t("priority")} ${priorityOf(job) ?? 0}`]);
  if (isDebug(job)) rows.push([t("debug"), t("on")]);
  if (job.status?.backoffCount) rows.push([t("restarts"), <span class="num">{job.status.backoffCount}</span>]);
  if (job.spec?.tensorboardSpec) rows.push([t("tensorboard"), <BoardLink job={job} />]);
  return (
    <section>
      <h2>{t("basic")}</h2>
      <dl class="basics">{rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
    </section>
  );
}

function Conditions(props: { conditions: Condition[] }) {
  const sorted = [...props.conditions].sort((a, b) => ((a.lastTransitionTime ?? "") < (b.lastTransitionTime ?? "") ? 1 : -1));
  return (
    <section>
      <div class="section-head"><h2>{t("conditions")}</h2><span class="chip">{t("sortedBy")}</span></div>
      {sorted.length ? (
        <div class="scroll-x"><table>
          <thead><tr><th scope="col">{t("type")}</th><th scope="col">{t("status")}</th><th scope="col">{t("changed")}</th><th scope="col">{t("reason")}</th><th scope="col">{t("message")}</th></tr></thead>
          <tbody>{sorted.map((one) => (
            <tr key={one.type}><td>{one.type}</td><td>{one.status}</td><td><Ago time={one.lastTransitionTime} /></td><td>{one.reason}</td><td>{one.message}</td></tr>
          ))}</tbody>
        </table></div>
      ) : <p class="dim">{t("noConditions")}</p>}
    </section>
  );
}

/** Queued, running, ended: how long each took. */
function TimeLine(props: { job: Job }) {
  const created = millis(props.job.metadata.creationTimestamp) ?? 0;
  const started = millis(props.job.status?.startTime);
  const ended = millis(props.job.status?.completionTime);
  const until = ended ?? now.value;
  const whole = Math.max(1, until - created);
  const parts = [
    { name: t("queued"), ms: Math.max(0, (started ?? until) - created), class: "queued" },
    ...(started === undefined ? [] : [{ name: t("running"), ms: Math.max(0, until - started), class: "running" }]),
  ];
  return (
    <section>
      <h2>{t("timeline")}</h2>
      <div class="timeline" role="img" aria-label={parts.map((one) => `${one.name} ${duration(one.ms)}`).join(", ")}>
        {parts.map((one) => <span key={one.class} class={`span-${one.class}`} style={{ width: `${(100 * one.ms) / whole}%` }} />)}
      </div>
      <p class="num dim">{parts.map((one) => `${one.name} ${duration(one.ms)}`).join(" ▸ ")} ▸ {t("finished")} {ended === undefined ? t("notYet") : exact(ended)}</p>
    </section>
  );
}

function Progress(props: { job: Job }) {
  const p = props.job.status?.progress;
  if (!p) return null;
  return (
    <p>
      <b>{t("progress")}</b>: {p.fraction !== undefined ? <progress max={1} value={p.fraction} aria-label={t("progress")} /> : null} {p.message}{" "}
      <a href={jobHref(props.job, "training")}>{t("curve")}</a>
    </p>
  );
}

export function Overview(props: TabProps) {
  return (
    <div class="overview">
      <Basics job={props.job} />
      <Progress job={props.job} />
      <TimeLine job={props.job} />
      <Conditions conditions={props.job.status?.conditions ?? []} />
      <Events job={props.job} pods={props.pods} />
    </div>
  );
}
