// The page one leaves open: what runs and how it goes, what waits and why, what failed since somebody
// last looked, how busy the machines are.
import { useEffect, useMemo } from "preact/hooks";
import { scope } from "../../data/session.ts";
import { useJobs } from "../../data/jobs.ts";
import { corePath, shortKind } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { Job, Node, Pod } from "../../data/types.ts";
import { lang, tc, translator } from "../../i18n/index.ts";
import { overviewTexts } from "../../i18n/overview.ts";
import { shortCause, whyText } from "../../lib/failure.ts";
import { gpusOf, jobHref, lossText, queueOf, ranMs, totalsOf } from "../../lib/jobs.ts";
import { formatQuantity, plainCores } from "../../lib/quantity.ts";
import { seeAll, seen, unseen } from "../../lib/seen.ts";
import { stateOfJob, type State } from "../../lib/state.ts";
import { duration, exact, millis, now } from "../../lib/time.ts";
import { placeInLine } from "../../lib/waiting.ts";
import { project } from "../../project.tsx";
import { showState } from "../../tabicon.ts";
import { Gauge } from "../../ui/gauge.tsx";
import { Icon } from "../../ui/icon.tsx";
import { CheckIcon, CpuIcon, GpuIcon, MemoryIcon } from "../../ui/icons.ts";
import { Empty, Loading, Problem } from "../../ui/notice.tsx";
import { Said } from "../../ui/said.tsx";
import { Line, Spark } from "../../ui/spark.tsx";
import { StateMark } from "../../ui/state.tsx";
import { Ago } from "../../ui/time.tsx";
import { ownerKey, runningFirst, useJobLoad, useRooms, type Room, type Use } from "./load.ts";
import "../../style/overview.css";

const t = translator(overviewTexts);

const COUNTED: readonly [State, string][] = [
  ["running", "Running"],
  ["queued", "Pending"],
  ["paused", "Paused"],
  ["succeeded", "Succeeded"],
  ["failed", "Failed"],
];
const SHOWN = 8;
const RUNNING_SHOWN = 20;

/** The list with one phase, in the project shown. */
function listOf(phase: string): string {
  return `/jobs?phase=${phase}${project.value ? `&project=${encodeURIComponent(project.value)}` : ""}`;
}

function Counts(props: { by: Map<State, Job[]> }) {
  return (
    <div class="counts">
      {COUNTED.map(([state, phase]) => {
        const count = props.by.get(state)?.length ?? 0;
        return (
          <a key={state} class={`count ${count ? "" : "zero"}`} href={listOf(phase)}>
            <b class="num">{count}</b>
            <StateMark state={state} />
          </a>
        );
      })}
    </div>
  );
}

/** More of them than are shown. */
function Others(props: { count: number; phase: string }) {
  return props.count > 0 ? (
    <a class="small" href={listOf(props.phase)}>
      {t("others", { count: props.count })}
    </a>
  ) : null;
}

function Progress(props: { job: Job }) {
  const p = props.job.status?.progress;
  if (p?.fraction === undefined) return <span class="dim">{p?.message ?? "-"}</span>;
  const left = p.secondsLeft;
  return (
    <span class="progress-words num" title={p.message}>
      <progress max={1} value={p.fraction} aria-label={t("progress")} />{" "}
      {Math.round(p.fraction * 100)}%
      {left === undefined ? null : (
        <span class="dim"> {t("left", { time: duration(left * 1000) })}</span>
      )}
    </span>
  );
}

function CpuUse(props: { job: Job; load: Use | undefined }) {
  const { requests, limits } = totalsOf(props.job);
  const asked = requests["cpu"] ?? 0;
  const used = props.load?.cpu;
  if (used === undefined) return <span class="dim">-</span>;
  const label = t("cpuOf", { used: plainCores(used), asked: plainCores(asked) });
  return (
    <span class="use num">
      <Gauge all={Math.max(asked, limits["cpu"] ?? 0, used)} used={used} label={label} />
      {plainCores(used)}
    </span>
  );
}

function GpuUse(props: { job: Job; load: Use | undefined }) {
  const all = gpusOf(props.job);
  const used = props.load?.gpu;
  if (!all) return <span class="dim">-</span>;
  if (used === undefined) return <span class="num">{all}</span>;
  const percent = Math.round((100 * used) / all);
  return (
    <span class="use num">
      <Gauge all={all} used={used} label={t("gpuOf", { percent, count: all })} />
      {percent}%
    </span>
  );
}

function Running(props: { jobs: Job[]; loads: Map<string, Use> }) {
  const gpus = props.jobs.some((job) => gpusOf(job) > 0);
  if (!props.jobs.length) return <p class="dim">{t("noRunning")}</p>;
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={t("runningNow")}>
      <table class="running">
        <thead>
          <tr>
            <th scope="col">{tc("name")}</th>
            <th scope="col">{t("progress")}</th>
            <th scope="col">{t("loss")}</th>
            <th scope="col">{t("cores")}</th>
            {gpus ? <th scope="col">GPU</th> : null}
            <th scope="col">{t("ran")}</th>
          </tr>
        </thead>
        <tbody>
          {props.jobs.slice(0, RUNNING_SHOWN).map((job) => {
            const load = props.loads.get(ownerKey(job.metadata.namespace, job.metadata.name));
            const loss = job.status?.progress?.loss;
            const ran = ranMs(job, now.value);
            return (
              <tr key={job.metadata.uid}>
                <td class="who">
                  <StateMark state={stateOfJob(job)} iconOnly />{" "}
                  <a href={jobHref(job)} title={`${job.metadata.name} · ${shortKind(job.kind)}`}>
                    {job.metadata.name}
                  </a>
                </td>
                <td>
                  <Progress job={job} />
                </td>
                <td class="num loss" data-label={t("loss")}>
                  {loss === undefined ? (
                    <span class="dim">-</span>
                  ) : (
                    <>
                      <span class="value">{lossText(loss)}</span>
                      <Spark
                        job={job}
                        label={t("lossCurve", { loss: lossText(loss) })}
                        width={120}
                        height={26}
                      />
                    </>
                  )}
                </td>
                <td data-label="CPU">
                  <CpuUse job={job} load={load} />
                </td>
                {gpus ? (
                  <td data-label="GPU">
                    <GpuUse job={job} load={load} />
                  </td>
                ) : null}
                <td class="num" data-label={t("ran")}>
                  {ran === undefined ? "-" : duration(ran)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Waiting(props: { jobs: Job[] }) {
  const place = (job: Job): number => job.status?.place ?? Number.MAX_SAFE_INTEGER;
  const waiting = [...props.jobs].sort(
    (a, b) =>
      place(a) - place(b) || (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1),
  );
  if (!waiting.length) return <p class="dim">{t("noWaiting")}</p>;
  return (
    <ol class="items">
      {waiting.slice(0, SHOWN).map((job) => {
        const at = placeInLine(job.status);
        const queue = queueOf(job);
        return (
          <li key={job.metadata.uid}>
            <div class="item-head">
              <StateMark state="queued" iconOnly /> <a href={jobHref(job)}>{job.metadata.name}</a>
              <span class="chip">
                {at ? t("place", { n: at, queue }) : t("inQueue", { queue })}
              </span>
              <span class="grow" />
              <span class="dim small">
                <Ago time={job.metadata.creationTimestamp} />
              </span>
            </div>
            <p class="item-why">
              <Said text={job.status?.message ?? t("notYet")} />
            </p>
          </li>
        );
      })}
    </ol>
  );
}

function Failures(props: { jobs: Job[] }) {
  const when = (job: Job): number => millis(job.status?.completionTime) ?? 0;
  const failed = [...props.jobs].sort((a, b) => when(b) - when(a));
  const fresh = new Set(unseen(failed).map((job) => job.metadata.uid));
  if (!failed.length) return <p class="dim">{t("noFailures")}</p>;
  return (
    <>
      <p class="item-why since">
        {fresh.size
          ? t("newSince", { count: fresh.size, time: exact(seen.value.at) })
          : seen.value.first
            ? null
            : t("noneNew", { time: exact(seen.value.at) })}{" "}
        {fresh.size ? (
          <button type="button" onClick={seeAll}>
            <Icon of={CheckIcon} /> {t("seeAll")}
          </button>
        ) : null}
      </p>
      <ol class="items">
        {failed.slice(0, SHOWN).map((job) => (
          <li key={job.metadata.uid} class={fresh.has(job.metadata.uid) ? "fresh" : "old"}>
            <div class="item-head">
              <StateMark state="failed" iconOnly /> <a href={jobHref(job)}>{job.metadata.name}</a>
              {fresh.has(job.metadata.uid) ? <span class="chip new">{t("new")}</span> : null}
              <span class="grow" />
              <span class="dim small">
                <Ago time={job.status?.completionTime} />
              </span>
            </div>
            <p class="item-why">
              <span title={whyText(job, lang.value)}>
                {shortCause(job, lang.value) || (job.status?.reason ?? "-")}
              </span>
            </p>
          </li>
        ))}
      </ol>
    </>
  );
}

const ROOM = {
  cpu: { icon: CpuIcon, name: "cpu", word: "cpu" },
  memory: { icon: MemoryIcon, name: "memory", word: "memory" },
  gpu: { icon: GpuIcon, name: "nvidia.com/gpu", word: "gpu" },
} as const;

function RoomRow(props: { room: Room }) {
  const { all, allocated, used, past, resource } = props.room;
  const { icon, name, word } = ROOM[resource];
  const show = (n: number): string =>
    resource === "gpu" ? String(Math.round(n * 100) / 100) : formatQuantity(name, n);
  const values = { all: show(all), allocated: show(allocated), used: show(used ?? 0) };
  return (
    <div class="room">
      <div class="item-head">
        <Icon of={icon} /> <b>{t(word)}</b>
        <span class="grow" />
        <Line values={past} label={t("past", { what: t(word) })} width={96} height={20} />
        <b class="figure num">{used === undefined ? "-" : `${Math.round((100 * used) / all)}%`}</b>
      </div>
      <Gauge
        all={all}
        allocated={allocated}
        used={used}
        label={`${t(word)}: ${t(used === undefined ? "allocatedOnly" : "usedOf", values)}`}
      />
      <p class="item-why num">{t(used === undefined ? "allocatedOnly" : "usedOf", values)}</p>
    </div>
  );
}

function Machines(props: { nodes: Node[]; rooms: Room[] }) {
  if (!props.nodes.length) return <Empty title={t("noNodes")} />;
  const ready = props.nodes.filter(
    (node) => node.status?.conditions?.find((one) => one.type === "Ready")?.status === "True",
  );
  const missing = props.nodes.filter((node) => !ready.includes(node));
  return (
    <>
      {props.rooms.map((room) => (
        <RoomRow key={room.resource} room={room} />
      ))}
      <p class="item-why">
        <a href="/nodes">{t("nodesReady", { ready: ready.length, all: props.nodes.length })}</a>
        {missing.length ? (
          <span class="state state-failed">
            {" "}
            {t("notReady", { names: missing.map((node) => node.metadata.name).join(", ") })}
          </span>
        ) : null}
      </p>
    </>
  );
}

function Queues(props: { jobs: Job[] }) {
  const rows = new Map<string, { running: number; pending: number; gpus: number }>();
  for (const job of props.jobs) {
    const row = rows.get(queueOf(job)) ?? { running: 0, pending: 0, gpus: 0 };
    if (stateOfJob(job) === "queued") row.pending++;
    else {
      row.running++;
      row.gpus += gpusOf(job);
    }
    rows.set(queueOf(job), row);
  }
  if (rows.size < 2) return null;
  return (
    <section class="card">
      <h2>{t("queues")}</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("queue")}</th>
            <th scope="col">{t("running")}</th>
            <th scope="col">{t("pending")}</th>
            <th scope="col">GPU</th>
          </tr>
        </thead>
        <tbody>
          {[...rows].sort().map(([name, row]) => (
            <tr key={name}>
              <td>
                <a href={`/queues/${encodeURIComponent(name)}`}>{name}</a>
              </td>
              <td class="num">{row.running}</td>
              <td class="num">{row.pending}</td>
              <td class="num">{row.gpus}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The tab says the worst there is, or how much runs. */
function useTab(fresh: number, running: number): void {
  useEffect(() => {
    const state = fresh ? "failed" : running ? "running" : null;
    showState(state, state ? `${fresh || running} · ${tc("product")}` : tc("product"));
  }, [fresh, running, tc("product")]);
  useEffect(() => () => showState(null, tc("product")), []);
}

export default function OverviewPage() {
  const jobs = useJobs();
  const nodes = useLive<Node>(corePath("nodes"));
  const pods = useLive<Pod>(corePath("pods", scope.value));
  const by = useMemo(() => {
    const found = new Map<State, Job[]>();
    for (const job of jobs.items) {
      if (project.value && job.metadata.namespace !== project.value) continue;
      const state = stateOfJob(job);
      const list = found.get(state);
      if (list) list.push(job);
      else found.set(state, [job]);
    }
    return found;
  }, [jobs.items, project.value]);
  const of = (state: State): Job[] => by.get(state) ?? [];
  const running = runningFirst([...of("running"), ...of("starting")]);
  const loads = useJobLoad(scope.value, pods.items);
  const rooms = useRooms(nodes.items, pods.items);
  useTab(unseen(of("failed")).length, of("running").length);
  if (jobs.failure) return <Problem failure={jobs.failure} />;
  if (!jobs.loaded) return <Loading />;
  return (
    <section class="overview-page">
      <div class="page-head">
        <h1>{t("title")}</h1>
      </div>
      <Counts by={by} />
      {by.size ? null : (
        <Empty title={t("noJobs")}>
          <a class="button primary" href="/jobs/new?kind=PyTorchTrainingJob&example=1">
            {t("create")}
          </a>
        </Empty>
      )}
      <div class="panels">
        <div class="panel-main">
          <section class="card">
            <h2>{t("runningNow")}</h2>
            <Running jobs={running} loads={loads} />
            <Others count={running.length - RUNNING_SHOWN} phase="Running" />
          </section>
          <section class="card">
            <h2>{t("waiting")}</h2>
            <Waiting jobs={of("queued")} />
            <Others count={of("queued").length - SHOWN} phase="Pending" />
          </section>
        </div>
        <div class="panel-side">
          <section class="card">
            <h2>{t("machines")}</h2>
            {nodes.failure ? (
              <Problem failure={nodes.failure} />
            ) : nodes.loaded ? (
              <Machines nodes={nodes.items} rooms={rooms} />
            ) : (
              <Loading />
            )}
          </section>
          <section class="card">
            <h2>{t("failures")}</h2>
            <Failures jobs={of("failed")} />
            <Others count={of("failed").length - SHOWN} phase="Failed" />
          </section>
          <Queues jobs={[...running, ...of("queued")]} />
        </div>
      </div>
    </section>
  );
}
