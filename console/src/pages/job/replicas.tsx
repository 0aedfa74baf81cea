// The second tab: every replica with what it does now, and a menu to its log, YAML, conditions,
// events, metrics, terminal.
import { useState } from "preact/hooks";
import { stringify } from "yaml";
import { corePath } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { Event, Job, Pod } from "../../data/types.ts";
import { tc, translator } from "../../i18n/index.ts";
import { jobTexts } from "../../i18n/job.ts";
import { jobHref } from "../../lib/jobs.ts";
import { formatQuantity, parseQuantity } from "../../lib/quantity.ts";
import { useUsage, type Usage } from "../../metrics/usage.ts";
import { stateOfPod } from "../../lib/state.ts";
import { query, setQuery } from "../../router.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { MoreIcon } from "../../ui/icons.ts";
import { Menu } from "../../ui/menu.tsx";
import { Empty } from "../../ui/notice.tsx";
import { StateMark } from "../../ui/state.tsx";
import { ConditionTable } from "./conditions.tsx";
import { EventTable } from "./events.tsx";
import type { TabProps } from "./job.tsx";

const t = translator(jobTexts);

function roleOf(pod: Pod): string {
  return pod.metadata.labels?.["replica-type"] ?? "";
}

function askedFor(pod: Pod, resource: string): string {
  const sum = (which: "requests" | "limits"): string => {
    const found = (pod.spec?.containers ?? [])
      .map((one) => parseQuantity(one.resources?.[which]?.[resource]))
      .filter((one) => one !== undefined);
    return found.length
      ? formatQuantity(
          resource,
          found.reduce((a, b) => a + b, 0),
        )
      : "-";
  };
  return `${sum("requests")} / ${sum("limits")}`;
}

function Labels(props: { pod: Pod }) {
  const [all, setAll] = useState(false);
  const entries = Object.entries(props.pod.metadata.labels ?? {});
  // Those of the controller say what stands in the row already.
  const own = entries.filter(([name]) => !/^replica-|tensorstack\.dev\//.test(name)).slice(0, 2);
  return (
    <span class="chips">
      {(all ? entries : own).map(([name, value]) => (
        <span key={name} class="chip" title={`${name}=${value}`}>
          {name}={value}
        </span>
      ))}
      {entries.length > own.length ? (
        <button type="button" class="chip" aria-expanded={all} onClick={() => setAll(!all)}>
          {t(all ? "showLess" : "showAll")}
        </button>
      ) : null}
    </span>
  );
}

function PodEvents(props: { pod: Pod }) {
  const live = useLive<Event>(corePath("events", props.pod.metadata.namespace));
  return (
    <EventTable
      events={live.items.filter((one) => one.involvedObject.uid === props.pod.metadata.uid)}
      withObject={false}
    />
  );
}

type Shown = { what: "yaml" | "condition" | "event"; pod: Pod };

function More(props: Shown & { onClose: () => void }) {
  return (
    <Dialog wide title={`${props.pod.metadata.name} · ${t(props.what)}`} onClose={props.onClose}>
      {props.what === "yaml" ? (
        <pre class="tail">{stringify(props.pod)}</pre>
      ) : props.what === "event" ? (
        <PodEvents pod={props.pod} />
      ) : (
        <ConditionTable conditions={props.pod.status?.conditions ?? []} />
      )}
    </Dialog>
  );
}

function exitOf(pod: Pod): string {
  const codes = (pod.status?.containerStatuses ?? [])
    .map((one) => one.state?.terminated?.exitCode)
    .filter((one) => one !== undefined);
  return codes.length ? codes.join(", ") : "-";
}

type Column =
  | "index"
  | "labels"
  | "phase"
  | "node"
  | "restarts"
  | "exit"
  | "cpu"
  | "memory"
  | "cpuNow"
  | "memoryNow"
  | "gpuNow";
const COLUMNS: readonly Column[] = [
  "index",
  "labels",
  "phase",
  "node",
  "restarts",
  "exit",
  "cpu",
  "memory",
  "cpuNow",
  "memoryNow",
  "gpuNow",
];
const COLUMNS_KEY = "muster.replica-columns";
const PAGE = 100;

function keptColumns(): Column[] {
  const kept = localStorage.getItem(COLUMNS_KEY);
  return kept === null ? [...COLUMNS] : COLUMNS.filter((one) => kept.split(",").includes(one));
}

function restartsOf(pod: Pod): number {
  return (
    (pod.status?.containerStatuses ?? []).reduce((sum, one) => sum + one.restartCount, 0) +
    Number(pod.metadata.annotations?.["batch.tensorstack.dev/attempt"] ?? 0)
  );
}

function Use(props: { usage: Usage | undefined; resource: "cpu" | "memory" | "gpu"; pod: Pod }) {
  const used = props.usage?.[props.resource];
  if (used === undefined) return <span class="dim">-</span>;
  if (props.resource === "gpu") return <>{Math.round(used * 100)} %</>;
  const limit = (props.pod.spec?.containers ?? []).reduce(
    (sum, one) => sum + (parseQuantity(one.resources?.limits?.[props.resource]) ?? 0),
    0,
  );
  return (
    <>
      {formatQuantity(props.resource, used)}
      {limit ? (
        <meter
          class="use"
          min={0}
          max={limit}
          value={used}
          aria-label={`${t(props.resource === "cpu" ? "cpuNow" : "memoryNow")} ${Math.round((100 * used) / limit)}%`}
        />
      ) : null}
    </>
  );
}

const CELLS: Record<Column, (pod: Pod, usage: Usage | undefined) => preact.ComponentChildren> = {
  index: (pod) => pod.metadata.labels?.["replica-index"],
  labels: (pod) => <Labels pod={pod} />,
  phase: (pod) => pod.status?.phase ?? "Pending",
  node: (pod) => pod.spec?.nodeName ?? "-",
  restarts: restartsOf,
  exit: exitOf,
  cpu: (pod) => askedFor(pod, "cpu"),
  memory: (pod) => askedFor(pod, "memory"),
  cpuNow: (pod, usage) => <Use usage={usage} resource="cpu" pod={pod} />,
  memoryNow: (pod, usage) => <Use usage={usage} resource="memory" pod={pod} />,
  gpuNow: (pod, usage) => <Use usage={usage} resource="gpu" pod={pod} />,
};

function columnName(one: Column): string {
  return one === "cpu"
    ? "CPU"
    : one === "memory"
      ? t("memory").replace(/(请求量\/上限| request\/limit)/, "")
      : t(one);
}

function ReplicaRow(props: {
  job: Job;
  pod: Pod;
  usage: Usage | undefined;
  columns: Column[];
  show: (shown: Shown) => void;
}) {
  const { pod, job } = props;
  const name = pod.metadata.name;
  return (
    <tr>
      <td>
        <StateMark state={stateOfPod(pod)} iconOnly />
      </td>
      <td>
        <a href={`${jobHref(job, "logs")}?replica=${encodeURIComponent(name)}`}>{name}</a>
      </td>
      <td>{roleOf(pod)}</td>
      {props.columns.map((one) => (
        <td key={one} class="num">
          {CELLS[one](pod, props.usage)}
        </td>
      ))}
      <td>
        <Menu
          label={<Icon of={MoreIcon} />}
          name={`${t("moreInfo")} ${name}`}
          items={[
            {
              label: t("log"),
              href: `${jobHref(job, "logs")}?replica=${encodeURIComponent(name)}`,
            },
            { label: t("yaml"), onSelect: () => props.show({ what: "yaml", pod }) },
            { label: t("condition"), onSelect: () => props.show({ what: "condition", pod }) },
            { label: t("event"), onSelect: () => props.show({ what: "event", pod }) },
            {
              label: t("metric"),
              href: `${jobHref(job, "metrics")}?replica=${encodeURIComponent(name)}`,
            },
            {
              label: t("terminal"),
              href: jobHref(job, `terminal/${encodeURIComponent(name)}`),
              disabled: pod.status?.phase !== "Running",
            },
          ]}
        />
      </td>
    </tr>
  );
}

export function Replicas(props: TabProps) {
  const [shown, setShown] = useState<Shown | null>(null);
  const role = query.value.get("role") ?? "";
  const roles = [...new Set(props.pods.map(roleOf))];
  const [columns, setColumns] = useState(keptColumns);
  const [choosing, setChoosing] = useState(false);
  const gpu = props.pods.some((pod) =>
    pod.spec?.containers?.some((one) =>
      Object.keys(one.resources?.limits ?? {}).some((name) => /gpu/i.test(name)),
    ),
  );
  const live = props.pods.some((pod) => pod.status?.phase === "Running");
  const usage = useUsage(
    props.job.metadata.namespace ?? "default",
    props.job.metadata.name,
    props.pods,
    live,
    gpu,
  );
  const chosen = props.pods.filter((pod) => !role || roleOf(pod) === role);
  const pages = Math.max(1, Math.ceil(chosen.length / PAGE));
  const page = Math.min(pages, Math.max(1, Number(query.value.get("page")) || 1));
  const pods = chosen.slice((page - 1) * PAGE, page * PAGE);
  const shownColumns = columns.filter((one) => one !== "gpuNow" || gpu);
  const change = (one: Column): void => {
    const next = COLUMNS.filter((each) => (each === one) !== columns.includes(each));
    setColumns(next);
    localStorage.setItem(COLUMNS_KEY, next.join(","));
  };
  if (!props.pods.length) return <Empty title={t("noPods")} />;
  return (
    <div>
      <div class="section-head">
        <label>
          {t("role")}{" "}
          <select
            value={role}
            onChange={(event) => setQuery({ role: event.currentTarget.value || null })}
          >
            <option value="">{tc("all")}</option>
            {roles.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <button type="button" aria-haspopup="dialog" onClick={() => setChoosing(true)}>
          {t("columns")}
        </button>
      </div>
      {choosing ? (
        <Dialog title={t("columns")} onClose={() => setChoosing(false)}>
          {COLUMNS.map((one) => (
            <label key={one} class="choice">
              <input type="checkbox" checked={columns.includes(one)} onChange={() => change(one)} />{" "}
              {columnName(one)}
            </label>
          ))}
        </Dialog>
      ) : null}
      <div class="scroll-x">
        <table class="replicas">
          <thead>
            <tr>
              <th scope="col">
                <span class="sr-only">{t("state")}</span>
              </th>
              <th scope="col">{t("name")}</th>
              <th scope="col">{t("role")}</th>
              {shownColumns.map((one) => (
                <th key={one} scope="col">
                  {columnName(one)}
                </th>
              ))}
              <th scope="col">{t("moreInfo")}</th>
            </tr>
          </thead>
          <tbody>
            {pods.map((pod) => (
              <ReplicaRow
                key={pod.metadata.uid}
                job={props.job}
                pod={pod}
                usage={usage.get(pod.metadata.name)}
                columns={shownColumns}
                show={setShown}
              />
            ))}
          </tbody>
        </table>
      </div>
      {pages > 1 ? (
        <p class="pager">
          <button
            type="button"
            disabled={page <= 1}
            aria-label="‹"
            onClick={() => setQuery({ page: String(page - 1) })}
          >
            ‹
          </button>{" "}
          <span class="num">{t("page", { n: page, all: pages })}</span>{" "}
          <button
            type="button"
            disabled={page >= pages}
            aria-label="›"
            onClick={() => setQuery({ page: String(page + 1) })}
          >
            ›
          </button>
        </p>
      ) : null}
      {shown ? <More {...shown} onClose={() => setShown(null)} /> : null}
    </div>
  );
}
