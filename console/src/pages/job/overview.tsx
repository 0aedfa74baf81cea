// The first tab, in the order people ask: what it does now and why, how far it is, whether it learns,
// what it said last. Below, closed until somebody opens it, what the tutorials call basic information,
// conditions and events.
import { appHref } from "../../data/apps.ts";
import { useBoard } from "../../data/boards.ts";
import { TENSORBOARDS } from "../../data/kinds.ts";
import type { Job, Pod, Progress } from "../../data/types.ts";
import { tc, translator } from "../../i18n/index.ts";
import { jobTexts } from "../../i18n/job.ts";
import { jobsTexts } from "../../i18n/jobs.ts";
import { lazy } from "../../lazy.tsx";
import {
  claimsOf,
  extendedResources,
  isDebug,
  jobHref,
  lossText,
  pair,
  priorityOf,
  queueOf,
  replicaCounts,
  replicasByRole,
  schedulerOf,
  totalsOf,
} from "../../lib/jobs.ts";
import { isOver, stateOfJob, stateOfPhase, stateOfPod, type State } from "../../lib/state.ts";
import { duration, exact, millis, now } from "../../lib/time.ts";
import { useReplicas } from "../../logs/sources.ts";
import { LiveTail } from "../../logs/tail.tsx";
import { copyText } from "../../ui/cli.tsx";
import { Said } from "../../ui/said.tsx";
import { JobMark, stateExplained, StateMark } from "../../ui/state.tsx";
import { Ago } from "../../ui/time.tsx";
import { ConditionTable } from "./conditions.tsx";
import { Events, useJobEvents } from "./events.tsx";
import { Parameters } from "./parameters.tsx";
import { Section } from "./section.tsx";
import { TimeLine } from "./timeline.tsx";
import type { TabProps } from "./job.tsx";

const t = translator(jobTexts);
const tj = translator(jobsTexts);
const LossCurve = lazy<{ job: Job }>(() => import("../../curves/loss.tsx"));

function BoardLink(props: { job: Job }) {
  const board = useBoard(props.job);
  if (!board)
    return (
      <span class="dim">
        {board === undefined ? tc("loading") : isOver(props.job) ? t("none") : t("boardComing")}
      </span>
    );
  return (
    <a href={appHref(TENSORBOARDS, board)} target="_blank" rel="noopener">
      {board.status?.phase ?? "Pending"} ({t("openBoard")})
    </a>
  );
}

function Basics(props: { job: Job }) {
  const { job } = props;
  const totals = totalsOf(job);
  const rows: [string, preact.ComponentChildren][] = [
    [t("name"), job.metadata.name],
    [t("uid"), <span class="mono">{job.metadata.uid}</span>],
    [
      t("replicas"),
      replicasByRole(job).map((one) => (
        <div key={one.type}>
          {one.type}: {one.count}
        </div>
      )),
    ],
    [
      t("volumes"),
      claimsOf(job).map((one) => (
        <span key={one} class="chip">
          {one}
        </span>
      )),
    ],
    [
      t("labels"),
      Object.entries(job.metadata.labels ?? {}).map(([name, value]) => (
        <span key={name} class="chip">
          {name}={value}
        </span>
      )),
    ],
    [t("project"), job.metadata.namespace],
    [t("cpu"), <span class="num">{pair("cpu", totals)}</span>],
    [t("memory"), <span class="num">{pair("memory", totals)}</span>],
    ...extendedResources(totals).map((name): [string, preact.ComponentChildren] => [
      name,
      <span class="num">{pair(name, totals)}</span>,
    ]),
    [
      t("created"),
      <>
        <Ago time={job.metadata.creationTimestamp} />{" "}
        <span class="dim">{exact(millis(job.metadata.creationTimestamp) ?? 0)}</span>
      </>,
    ],
  ];
  if (schedulerOf(job) === "t9k")
    rows.push([t("queue"), `${queueOf(job)} · ${t("priority")} ${priorityOf(job) ?? 0}`]);
  const brief = [
    ...replicasByRole(job).map((one) => `${one.type}: ${one.count}`),
    `CPU ${pair("cpu", totals)}`,
    `${tc("memory")} ${pair("memory", totals)}`,
  ];
  return (
    <Section id="basic" title={t("basic")} open={false} brief={brief.join(" · ")}>
      <Rows
        class="basics"
        rows={rows.filter(([, value]) => !Array.isArray(value) || value.length > 0)}
      />
    </Section>
  );
}

function Rows(props: { class: string; rows: [string, preact.ComponentChildren][] }) {
  return (
    <dl class={props.class}>
      {props.rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Conditions(props: { job: Job }) {
  const sorted = [...(props.job.status?.conditions ?? [])].sort((a, b) =>
    (a.lastTransitionTime ?? "") < (b.lastTransitionTime ?? "") ? 1 : -1,
  );
  const newest = sorted.find((one) => one.status === "True"); // "Failed = False" tells nothing
  return (
    <Section
      id="conditions"
      title={t("conditions")}
      open={false}
      brief={
        newest ? (
          <>
            {newest.type} · <Ago time={newest.lastTransitionTime} />
          </>
        ) : sorted.length ? null : (
          t("noConditions")
        )
      }
    >
      {sorted.length ? (
        <div class="scroll-x">
          <p class="dim">{t("sortedBy")}</p>
          <ConditionTable conditions={sorted} job={props.job} />
        </div>
      ) : (
        <p class="dim">{t("noConditions")}</p>
      )}
    </Section>
  );
}

/** One row per type: how many, in which state, which image. */
function Types(props: { job: Job; pods: Pod[] }) {
  const count = (type: string): [State, number][] => {
    const states = new Map<State, number>();
    // The status remembers replicas whose pods were cleaned up.
    for (const task of props.job.status?.tasks ?? [])
      for (const one of task.type === type ? (task.replicas ?? []) : []) {
        const pod = props.pods.find((each) => each.metadata.name === one.name);
        const state = pod ? stateOfPod(pod) : stateOfPhase(one.phase);
        states.set(state, (states.get(state) ?? 0) + 1);
      }
    return [...states];
  };
  return (
    <Section id="types" title={t("overview")} open>
      <div class="scroll-x">
        <table>
          <thead>
            <tr>
              <th scope="col">{t("role")}</th>
              <th scope="col">{t("number")}</th>
              <th scope="col">{t("state")}</th>
              <th scope="col">{t("image")}</th>
              <th scope="col">{t("restartPolicy")}</th>
            </tr>
          </thead>
          <tbody>
            {(props.job.spec?.replicaSpecs ?? []).map((spec) => {
              const image = spec.template?.spec?.containers?.[0]?.image ?? "";
              const runtime = spec.template?.spec?.runtimeClassName;
              const policy =
                typeof spec.restartPolicy === "string"
                  ? spec.restartPolicy
                  : (spec.restartPolicy?.policy ?? spec.template?.spec?.restartPolicy ?? "-");
              return (
                <tr key={spec.type}>
                  <td>
                    <a
                      href={`${jobHref(props.job, "replicas")}?role=${encodeURIComponent(spec.type)}`}
                    >
                      {spec.type}
                    </a>
                  </td>
                  <td class="num">{spec.replicas ?? 1}</td>
                  <td>
                    {count(spec.type).map(([state, n]) => (
                      <span key={state} class="type-state">
                        {n} <StateMark state={state} />
                      </span>
                    ))}
                  </td>
                  <td class="nobr">
                    {image ? (
                      <>
                        <code>{image}</code> {runtime ? <>({runtime}) </> : null}
                        <button
                          type="button"
                          class="chip"
                          aria-label={`${t("copyImage")} ${image}`}
                          title={t("copyImage")}
                          onClick={() => copyText(image)}
                        >
                          {tc("copy")}
                        </button>
                      </>
                    ) : (
                      "-"
                    )}
                  </td>
                  <td>{policy}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function ProgressBar(props: { job: Job; progress: Progress }) {
  const p = props.progress;
  const left = p.secondsLeft === undefined || isOver(props.job) ? undefined : p.secondsLeft * 1000;
  return (
    <div class="progress">
      {p.fraction === undefined ? null : (
        <>
          <progress max={1} value={p.fraction} aria-label={t("progress")} />
          <b class="num">{Math.round(p.fraction * 100)}%</b>
        </>
      )}
      {p.message ? <span class="num">{p.message}</span> : null}
      {p.loss === undefined ? null : <span class="num">loss {lossText(p.loss)}</span>}
      {left === undefined ? null : (
        <span class="num" title={t("endsAt", { time: exact(now.value + left) })}>
          {tj("timeLeft", { time: duration(left) })}
        </span>
      )}
      <a href={jobHref(props.job, "training")}>{t("curve")}</a>
    </div>
  );
}

/** The state, and what stands behind it: while it runs in the controller's words; why it waits or
 * failed is told in the box above. */
function Now(props: { job: Job }) {
  const { job } = props;
  const explained = stateExplained(job);
  const counts = replicaCounts(job);
  const words =
    explained ||
    (stateOfJob(job) !== "running" ? null : job.status?.message ? (
      <Said text={job.status.message} />
    ) : (
      t("runningOf", { n: counts.running, all: counts.total })
    ));
  const rows: [string, preact.ComponentChildren][] = [];
  if (words)
    rows.push([
      t("state"),
      <>
        <JobMark job={job} /> <span class="dim">{words}</span>
      </>,
    ]);
  if (isDebug(job)) rows.push([t("debug"), t("debugOn")]);
  if (job.status?.backoffCount)
    rows.push([t("restarts"), <span class="num">{job.status.backoffCount}</span>]);
  if (job.status?.progress)
    rows.push([t("progress"), <ProgressBar job={job} progress={job.status.progress} />]);
  if (job.spec?.tensorboardSpec) rows.push([t("tensorboard"), <BoardLink job={job} />]);
  return rows.length ? <Rows class="facts" rows={rows} /> : null;
}

/** The two usual questions, is it learning and is it alive, need no click. The last lines of one that
 * failed are in the box above. */
function Alive(props: TabProps) {
  const state = stateOfJob(props.job);
  const loss =
    props.job.status?.progress?.loss === undefined ? null : <LossCurve job={props.job} />;
  const replicas = useReplicas(props.job, props.pods);
  const lines = replicas.length > 0 && state !== "failed" && state !== "queued";
  if (!loss && !lines) return null;
  return (
    <div class="alive">
      {loss}
      {lines ? (
        <section class="last-lines">
          <div class="section-head">
            <h2>{t(state === "running" ? "liveTail" : "lastLines")}</h2>
            <span class="grow" />
            <a href={jobHref(props.job, "logs")}>{t("seeLog")}</a>
          </div>
          <LiveTail
            pods={replicas}
            label={t("liveTail")}
            empty={t(isOver(props.job) ? "noOutput" : "noTail")}
          />
        </section>
      ) : null}
    </div>
  );
}

export function Overview(props: TabProps) {
  const events = useJobEvents(props.job, props.pods);
  return (
    <div class="overview">
      <Now job={props.job} />
      <Alive {...props} />
      <Parameters job={props.job} />
      <Types job={props.job} pods={props.pods} />
      <TimeLine job={props.job} pods={props.pods} events={events} />
      <Basics job={props.job} />
      <Conditions job={props.job} />
      <Events job={props.job} events={events} />
    </div>
  );
}
