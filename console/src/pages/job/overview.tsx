// The first tab: what the tutorials call basic information, conditions and events; and a time line.
import { boardHref, useBoard } from "../../data/boards.ts";
import type { Condition, Job, Pod } from "../../data/types.ts";
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
  replicasByRole,
  schedulerOf,
  totalsOf,
} from "../../lib/jobs.ts";
import { isOver, stateOfJob, stateOfPhase, stateOfPod, type State } from "../../lib/state.ts";
import { duration, exact, millis } from "../../lib/time.ts";
import { LiveTail } from "../../logs/tail.tsx";
import { copyText } from "../../ui/cli.tsx";
import { Said } from "../../ui/said.tsx";
import { JobMark, stateExplained, StateMark } from "../../ui/state.tsx";
import { Ago } from "../../ui/time.tsx";
import { Events, useJobEvents } from "./events.tsx";
import { TimeLine } from "./timeline.tsx";
import type { TabProps } from "./job.tsx";

const t = translator(jobTexts);
const tj = translator(jobsTexts);
const LossCurve = lazy<{ job: Job }>(() => import("../../curves/loss.tsx"));

function BoardLink(props: { job: Job }) {
  const board = useBoard(props.job);
  if (!board) return <span class="dim">{t("none")}</span>;
  return (
    <a
      href={boardHref(board.metadata.namespace ?? "default", board.metadata.name)}
      target="_blank"
      rel="noopener"
    >
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
      t("state"),
      <>
        <JobMark job={job} /> <span class="dim">{stateExplained(job)}</span>
      </>,
    ],
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
  if (isDebug(job)) rows.push([t("debug"), t("on")]);
  if (job.status?.backoffCount)
    rows.push([t("restarts"), <span class="num">{job.status.backoffCount}</span>]);
  if (job.spec?.tensorboardSpec) rows.push([t("tensorboard"), <BoardLink job={job} />]);
  return (
    <section>
      <h2>{t("basic")}</h2>
      <dl class="basics">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Conditions(props: { conditions: Condition[] }) {
  const sorted = [...props.conditions].sort((a, b) =>
    (a.lastTransitionTime ?? "") < (b.lastTransitionTime ?? "") ? 1 : -1,
  );
  return (
    <section>
      <div class="section-head">
        <h2>{t("conditions")}</h2>
        <span class="chip">{t("sortedBy")}</span>
      </div>
      {sorted.length ? (
        <div class="scroll-x">
          <table>
            <thead>
              <tr>
                <th scope="col">{t("type")}</th>
                <th scope="col">{t("status")}</th>
                <th scope="col">{t("changed")}</th>
                <th scope="col">{t("reason")}</th>
                <th scope="col">{t("message")}</th>
              </tr>
            </thead>
            <tbody>
              {sorted.map((one) => (
                <tr key={one.type}>
                  <td>{one.type}</td>
                  <td>{one.status}</td>
                  <td>
                    <Ago time={one.lastTransitionTime} />
                  </td>
                  <td>{one.reason}</td>
                  <td>
                    <Said text={one.message} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <p class="dim">{t("noConditions")}</p>
      )}
    </section>
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
    <section>
      <h2>{t("overview")}</h2>
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
                  <td>
                    {image ? (
                      <>
                        <code>{image}</code>{" "}
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
    </section>
  );
}

function Progress(props: { job: Job }) {
  const p = props.job.status?.progress;
  if (!p) return null;
  return (
    <p>
      <b>{t("progress")}</b>:{" "}
      {p.fraction !== undefined ? (
        <progress max={1} value={p.fraction} aria-label={t("progress")} />
      ) : null}{" "}
      {p.fraction === undefined ? "" : `${Math.round(p.fraction * 100)}% · `}
      {p.message}
      {p.loss === undefined ? "" : ` · loss ${lossText(p.loss)}`}
      {p.secondsLeft === undefined || isOver(props.job)
        ? ""
        : ` · ${tj("timeLeft", { time: duration(p.secondsLeft * 1000) })}`}{" "}
      <a href={jobHref(props.job, "training")}>{t("curve")}</a>
    </p>
  );
}

/** While it runs: the two usual questions, is it alive and is it learning, need no click. */
function Alive(props: TabProps) {
  if (stateOfJob(props.job) !== "running")
    return props.job.status?.progress?.loss === undefined ? null : <LossCurve job={props.job} />;
  return (
    <section>
      <div class="section-head">
        <h2>{t("liveTail")}</h2>
        <a href={jobHref(props.job, "logs")}>{t("seeLog")}</a>
      </div>
      <div class="alive">
        <LiveTail pods={props.pods} label={t("liveTail")} empty={t("noTail")} />
        {props.job.status?.progress?.loss === undefined ? null : <LossCurve job={props.job} />}
      </div>
    </section>
  );
}

export function Overview(props: TabProps) {
  const events = useJobEvents(props.job, props.pods);
  return (
    <div class="overview">
      <Basics job={props.job} />
      <Progress job={props.job} />
      <Alive {...props} />
      <Types job={props.job} pods={props.pods} />
      <TimeLine job={props.job} pods={props.pods} events={events} />
      <Conditions conditions={props.job.status?.conditions ?? []} />
      <Events job={props.job} events={events} />
    </div>
  );
}
