// Everything at a glance: how many jobs in which state, what each node has left, who waits, what
// failed lately and why.
import { useMemo } from "preact/hooks";
import { scope } from "../../data/session.ts";
import { useJobs } from "../../data/jobs.ts";
import { corePath, shortKind } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { Job, Node, Pod } from "../../data/types.ts";
import { tc, texts, translator } from "../../i18n/index.ts";
import { gpusOf, jobHref, queueOf } from "../../lib/jobs.ts";
import { usageOf } from "../../lib/nodes.ts";
import { formatQuantity, parseQuantity } from "../../lib/quantity.ts";
import { stateOfJob, type State } from "../../lib/state.ts";
import { millis } from "../../lib/time.ts";
import { queuePosition } from "../../lib/waiting.ts";
import { project } from "../../project.tsx";
import { Empty, Loading, Problem } from "../../ui/notice.tsx";
import { Said } from "../../ui/said.tsx";
import { StateMark } from "../../ui/state.tsx";
import { Ago } from "../../ui/time.tsx";

const t = translator(
  texts({
    zh: {
      title: "总览",
      nodes: "节点",
      node: "节点",
      used: "已分配",
      of: "{used} / {all}",
      ready: "就绪",
      notReady: "未就绪",
      failures: "最近失败",
      noFailures: "没有失败的 Job",
      waiting: "正在等待",
      noWaiting: "没有等待中的 Job",
      why: "原因",
      when: "时间",
      queues: "队列",
      queue: "队列",
      running: "运行中",
      pending: "等待中",
      gpus: "GPU",
      position: "顺序",
      noNodes: "没有节点",
      noJobs: "还没有 Job",
      create: "创建 Job",
      free: "空闲",
    },
    en: {
      title: "Overview",
      nodes: "Nodes",
      node: "Node",
      used: "Allocated",
      of: "{used} / {all}",
      ready: "Ready",
      notReady: "Not ready",
      failures: "Recent failures",
      noFailures: "No failed jobs",
      waiting: "Waiting",
      noWaiting: "No jobs are waiting",
      why: "Reason",
      when: "When",
      queues: "Queues",
      queue: "Queue",
      running: "Running",
      pending: "Waiting",
      gpus: "GPUs",
      position: "Position",
      noNodes: "No nodes",
      noJobs: "No jobs yet",
      create: "Create job",
      free: "free",
    },
  }),
);

const COUNTED: readonly [State, string][] = [
  ["running", "Running"],
  ["queued", "Pending"],
  ["paused", "Paused"],
  ["succeeded", "Succeeded"],
  ["failed", "Failed"],
];
const SHOWN = 8;

function Counts(props: { jobs: Job[] }) {
  const counts = new Map<State, number>();
  for (const job of props.jobs) counts.set(stateOfJob(job), (counts.get(stateOfJob(job)) ?? 0) + 1);
  const where = project.value ? `&project=${encodeURIComponent(project.value)}` : "";
  return (
    <div class="counts">
      {COUNTED.map(([state, phase]) => (
        <a key={state} class="count" href={`/jobs?phase=${phase}${where}`}>
          <StateMark state={state} />
          <b class="num">{counts.get(state) ?? 0}</b>
        </a>
      ))}
    </div>
  );
}

function Nodes(props: { nodes: Node[]; pods: Pod[] }) {
  const names = [
    ...new Set(props.nodes.flatMap((node) => Object.keys(node.status?.allocatable ?? {}))),
  ].filter(
    (name) =>
      name === "cpu" ||
      name === "memory" ||
      (name.includes("/") &&
        props.nodes.some((node) => parseQuantity(node.status?.allocatable?.[name]))),
  );
  if (!props.nodes.length) return <Empty title={t("noNodes")} />;
  return (
    <div class="scroll-x">
      <table>
        <thead>
          <tr>
            <th scope="col">{t("node")}</th>
            <th scope="col">{tc("state")}</th>
            {names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.nodes.map((node) => {
            const ready =
              node.status?.conditions?.find((one) => one.type === "Ready")?.status === "True";
            const usage = usageOf(node, props.pods);
            return (
              <tr key={node.metadata.uid}>
                <td>
                  <a href={`/nodes/${encodeURIComponent(node.metadata.name)}`}>
                    {node.metadata.name}
                  </a>
                </td>
                <td>
                  <span class={`state state-${ready ? "succeeded" : "failed"}`}>
                    {ready ? `✓ ${t("ready")}` : `✕ ${t("notReady")}`}
                  </span>
                </td>
                {names.map((name) => {
                  const { used = 0, all = 0 } = usage[name] ?? {};
                  if (!used && !all)
                    return (
                      <td key={name} class="dim">
                        -
                      </td>
                    );
                  return (
                    <td key={name} class="num">
                      <meter
                        min={0}
                        max={all || 1}
                        value={used}
                        aria-label={`${node.metadata.name} ${name} ${t("used")}`}
                      />
                      <div>
                        {t("of", {
                          used: formatQuantity(name, used),
                          all: formatQuantity(name, all),
                        })}{" "}
                        <span class="dim">
                          {formatQuantity(name, Math.max(0, all - used))} {t("free")}
                        </span>
                      </div>
                    </td>
                  );
                })}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Waiting(props: { jobs: Job[] }) {
  const waiting = props.jobs
    .filter((job) => stateOfJob(job) === "queued")
    .sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
  if (!waiting.length) return <p class="dim">{t("noWaiting")}</p>;
  return (
    <div class="scroll-x">
      <table>
        <thead>
          <tr>
            <th scope="col">{tc("name")}</th>
            <th scope="col">{t("queue")}</th>
            <th scope="col">{t("position")}</th>
            <th scope="col">{t("why")}</th>
            <th scope="col">{t("when")}</th>
          </tr>
        </thead>
        <tbody>
          {waiting.slice(0, SHOWN).map((job) => (
            <tr key={job.metadata.uid}>
              <td>
                <a href={jobHref(job)}>{job.metadata.name}</a>
              </td>
              <td>{queueOf(job)}</td>
              <td class="num">{queuePosition(job) ?? "-"}</td>
              <td>
                <Said text={job.status?.message} />
              </td>
              <td>
                <Ago time={job.metadata.creationTimestamp} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Failures(props: { jobs: Job[] }) {
  const when = (job: Job): number => millis(job.status?.completionTime) ?? 0;
  const failed = props.jobs
    .filter((job) => stateOfJob(job) === "failed")
    .sort((a, b) => when(b) - when(a));
  if (!failed.length) return <p class="dim">{t("noFailures")}</p>;
  return (
    <div class="scroll-x">
      <table>
        <thead>
          <tr>
            <th scope="col">{tc("name")}</th>
            <th scope="col">{tc("kind")}</th>
            <th scope="col">{t("why")}</th>
            <th scope="col">{t("when")}</th>
          </tr>
        </thead>
        <tbody>
          {failed.slice(0, SHOWN).map((job) => (
            <tr key={job.metadata.uid}>
              <td>
                <a href={jobHref(job)}>
                  <StateMark state="failed" iconOnly /> {job.metadata.name}
                </a>
              </td>
              <td>{shortKind(job.kind)}</td>
              <td>
                <Said text={job.status?.message ?? job.status?.reason ?? "-"} />
              </td>
              <td>
                <Ago time={job.status?.completionTime} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Queues(props: { jobs: Job[] }) {
  const rows = new Map<string, { running: number; pending: number; gpus: number }>();
  for (const job of props.jobs) {
    const state = stateOfJob(job);
    if (state !== "running" && state !== "starting" && state !== "queued") continue;
    const row = rows.get(queueOf(job)) ?? { running: 0, pending: 0, gpus: 0 };
    if (state === "queued") row.pending++;
    else {
      row.running++;
      row.gpus += gpusOf(job);
    }
    rows.set(queueOf(job), row);
  }
  if (!rows.size) return null;
  return (
    <>
      <h2>{t("queues")}</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("queue")}</th>
            <th scope="col">{t("running")}</th>
            <th scope="col">{t("pending")}</th>
            <th scope="col">{t("gpus")}</th>
          </tr>
        </thead>
        <tbody>
          {[...rows].sort().map(([name, row]) => (
            <tr key={name}>
              <td>
                <a href={`/jobs?queue=${encodeURIComponent(name)}`}>{name}</a>
              </td>
              <td class="num">{row.running}</td>
              <td class="num">{row.pending}</td>
              <td class="num">{row.gpus}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

export default function OverviewPage() {
  const jobs = useJobs();
  const nodes = useLive<Node>(corePath("nodes"));
  const pods = useLive<Pod>(corePath("pods", scope.value));
  const shown = useMemo(
    () => jobs.items.filter((job) => !project.value || job.metadata.namespace === project.value),
    [jobs.items, project.value],
  );
  if (jobs.failure) return <Problem failure={jobs.failure} />;
  if (!jobs.loaded) return <Loading />;
  return (
    <section class="overview-page">
      <div class="page-head">
        <h1>{t("title")}</h1>
      </div>
      <Counts jobs={shown} />
      {shown.length ? null : (
        <Empty title={t("noJobs")}>
          <a class="button primary" href="/jobs/new?kind=PyTorchTrainingJob&example=1">
            {t("create")}
          </a>
        </Empty>
      )}
      <h2>{t("nodes")}</h2>
      {nodes.failure ? (
        <Problem failure={nodes.failure} />
      ) : !nodes.loaded ? (
        <Loading />
      ) : (
        <Nodes nodes={nodes.items} pods={pods.items} />
      )}
      <h2>{t("waiting")}</h2>
      <Waiting jobs={shown} />
      <h2>{t("failures")}</h2>
      <Failures jobs={shown} />
      <Queues jobs={shown} />
    </section>
  );
}
