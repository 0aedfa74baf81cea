// The third tab of the tutorials: CPU and memory with request, limit and use; GPU; network;
// storage. Live while it runs.
import { useEffect, useMemo, useState } from "preact/hooks";
import { Chart, type Series } from "../charts/chart.tsx";
import { Failure } from "../data/api.ts";
import { corePath } from "../data/kinds.ts";
import type { Job, Pod } from "../data/types.ts";
import { translator } from "../i18n/index.ts";
import { metricsTexts } from "../i18n/metrics.ts";
import { formatCores, parseQuantity, shortBytes } from "../lib/quantity.ts";
import { isOver } from "../lib/state.ts";
import { millis } from "../lib/time.ts";
import type { TabProps } from "../pages/job/job.tsx";
import { query, setQuery } from "../router.ts";
import { Empty, Problem } from "../ui/notice.tsx";
import { podSamples } from "./anywhere.ts";
import { fromField, readSpan, spanQuery, toField, within, type Span } from "./span.ts";
import { aligned, idleFor, meanOf, merge, total, type Samples } from "./samples.ts";
import "../style/metrics.css";

const t = translator(metricsTexts);
const EVERY_MS = 2_000;
const RANGES: Record<string, number> = { "10m": 600, "1h": 3_600, "24h": 86_400 };
const POINTS = 600;

/** Samples of each pod by UID, asked for again while the job runs and the page is seen. */
function useSamples(
  job: Job,
  pods: Pod[],
  seconds: number | undefined,
  span: Span | null,
): { samples: Map<string, Samples>; failure: Failure | null; loaded: boolean; step: number } {
  const [samples, setSamples] = useState(new Map<string, Samples>());
  const [failure, setFailure] = useState<Failure | null>(null);
  const [loaded, setLoaded] = useState(false);
  const key = `${pods.map((pod) => pod.metadata.uid).join()}|${seconds}|${span?.from}|${span?.to}`;
  const start = Date.parse(job.status?.startTime ?? job.metadata.creationTimestamp);
  const wide = span
    ? ((span.to ?? Date.now()) - (span.from ?? start)) / 1000
    : (seconds ?? Math.max(60, (Date.now() - start) / 1000));
  const step = Math.max(2, Math.ceil(wide / POINTS));
  useEffect(() => {
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const have = new Map<string, Samples>();
    const look = async (): Promise<void> => {
      try {
        await Promise.all(
          pods.map(async (pod) => {
            const last = have.get(pod.metadata.uid)?.time.at(-1);
            const since = last ?? span?.from ?? (seconds ? Date.now() - seconds * 1000 : 0);
            const path = `${corePath("pods", pod.metadata.namespace, pod.metadata.name)}/samples?since=${Math.floor(since)}${span?.to === undefined ? "" : `&until=${span.to}`}&step=${step}&uid=${pod.metadata.uid}`;
            have.set(
              pod.metadata.uid,
              merge(have.get(pod.metadata.uid), within(await podSamples(path, pod), span)),
            );
          }),
        );
        if (!ended) {
          setSamples(new Map(have));
          setFailure(null);
          setLoaded(true);
        }
      } catch (error) {
        if (!ended) {
          setFailure(error as Failure);
          setLoaded(true);
        }
      }
      if (!ended && !isOver(job) && Date.now() <= (span?.to ?? Infinity))
        timer = setTimeout(() => void (document.hidden ? wait() : look()), EVERY_MS);
    };
    const wait = (): void => {
      timer = setTimeout(() => void (document.hidden ? wait() : look()), EVERY_MS);
    };
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [key, isOver(job)]);
  return { samples, failure, loaded, step };
}

function asked(pods: Pod[], which: "requests" | "limits", resource: string): number | null {
  let sum: number | null = null;
  for (const pod of pods)
    for (const container of pod.spec?.containers ?? []) {
      const n = parseQuantity(container.resources?.[which]?.[resource]);
      if (n !== undefined) sum = (sum ?? 0) + n;
    }
  return sum;
}

function flat(label: string, colour: string, value: number | null, n: number): Series[] {
  return value === null
    ? []
    : [{ label, colour, dash: true, values: new Array<number>(n).fill(value) }];
}

interface Line {
  column: string;
  label: string;
  colour: string;
}

function Panel(props: {
  label: string;
  all: Samples[];
  step: number;
  lines: Line[];
  format: (n: number) => string;
  bytes?: boolean;
  window: Span | null;
  extra?: (n: number) => Series[];
}) {
  const chart = useMemo(
    () => aligned(props.lines.map((line) => total(props.all, line.column, props.step * 1000))),
    [props.all, props.step],
  );
  const measured = chart.values.some((one) => one.some((value) => value !== null));
  if (!measured)
    return (
      <figure class="chart">
        <figcaption>{props.label}</figcaption>
        <p class="dim">{t("notMeasured")}</p>
      </figure>
    );
  const series: Series[] = [
    ...(props.extra?.(chart.x.length) ?? []),
    ...props.lines.map((line, i) => ({
      label: line.label,
      colour: line.colour,
      values: chart.values[i]!,
    })),
  ];
  const { from, to } = props.window ?? {};
  return (
    <Chart
      label={props.label}
      x={chart.x}
      series={series}
      time
      format={props.format}
      bytes={props.bytes ?? false}
      group="metrics"
      window={
        from === undefined || to === undefined ? undefined : { from: from / 1000, to: to / 1000 }
      }
      onWindow={(next) =>
        setQuery(spanQuery(next && { from: next.from * 1000, to: next.to * 1000 }))
      }
    />
  );
}

const perSecond = (n: number): string => `${shortBytes(n)}/s`;

const IDLE_MS = 600_000;

/** What it asked for and what it used of it, once it is over; and a GPU that does nothing while it
 * runs. */
function Hints(props: { job: Job; pods: Pod[]; all: Samples[] }) {
  const wanted = asked(props.pods, "requests", "cpu") ?? asked(props.pods, "limits", "cpu");
  const used = meanOf(props.all, "cpu");
  const idle =
    !isOver(props.job) &&
    asked(props.pods, "limits", "nvidia.com/gpu") !== null &&
    idleFor(props.all, "gpu", 0.01) >= IDLE_MS;
  return (
    <>
      {idle ? (
        <span class="chip idle">
          ◌ {t("idle", { minutes: Math.floor(idleFor(props.all, "gpu", 0.01) / 60_000) })}
        </span>
      ) : null}
      {isOver(props.job) && wanted !== null && used !== null ? (
        <span class={`chip ${used < wanted / 2 && wanted >= 1 ? "idle" : ""}`}>
          {t("asked", { asked: formatCores(wanted), used: formatCores(used) })}
        </span>
      ) : null}
    </>
  );
}

function Moment(props: {
  label: string;
  value: number | undefined;
  set: (ms: number | undefined) => void;
}) {
  const [typed, setTyped] = useState<string | null>(null); // what is no time stays to be mended
  const take = (text: string): void => {
    const ms = fromField(text);
    if (ms === undefined && text.trim()) return setTyped(text);
    setTyped(null);
    props.set(ms);
  };
  return (
    <label>
      {props.label}{" "}
      <input
        class="num moment"
        value={typed ?? toField(props.value)}
        placeholder="2026-01-31 15:04:05"
        title={t("momentHint")}
        aria-invalid={typed === null ? undefined : "true"}
        onChange={(event) => take(event.currentTarget.value)}
      />
      {typed === null ? null : (
        <span class="danger" role="status">
          {" "}
          {t("momentHint")}
        </span>
      )}
    </label>
  );
}

/** What is drawn: from the start on, the last hours, or from when to when; the last also by
 * dragging in a chart. */
function Range(props: {
  over: boolean;
  range: string;
  span: Span | "wrong" | null;
  samples: Samples[];
}) {
  const { span } = props;
  const { from, to } =
    span === "wrong"
      ? { from: millis(query.value.get("from") ?? ""), to: millis(query.value.get("to") ?? "") }
      : (span ?? { from: undefined, to: undefined });
  const choose = (value: string): void => {
    if (value !== "custom") return setQuery({ from: null, to: null, range: value || null });
    const times = props.samples
      .flatMap((one) => [one.time[0], one.time.at(-1)])
      .filter((one): one is number => one !== undefined);
    setQuery(
      spanQuery(
        times.length
          ? { from: Math.min(...times), to: Math.max(...times) }
          : { from: Date.now() - 600_000, to: Date.now() },
      ),
    );
  };
  return (
    <>
      <label>
        {t("range")}{" "}
        <select
          value={span ? "custom" : props.range}
          title={t("dragHint")}
          onChange={(event) => choose(event.currentTarget.value)}
        >
          <option value="">{t(props.over ? "allEnded" : "all")}</option>
          <option value="10m">{t("last10m")}</option>
          <option value="1h">{t("last1h")}</option>
          <option value="24h">{t("last24h")}</option>
          <option value="custom">{t("custom")}</option>
        </select>
      </label>
      {span ? (
        <>
          <Moment
            label={t("from")}
            value={from}
            set={(ms) => setQuery(spanQuery({ from: ms, to }))}
          />
          <Moment label={t("to")} value={to} set={(ms) => setQuery(spanQuery({ from, to: ms }))} />
          <button type="button" onClick={() => setQuery(spanQuery(null))}>
            {t("reset")}
          </button>
          {span === "wrong" ? (
            <span class="danger" role="status">
              {t("wrongSpan")}
            </span>
          ) : null}
        </>
      ) : null}
    </>
  );
}

export default function Metrics(props: TabProps) {
  const replica = query.value.get("replica") ?? "";
  const range = query.value.get("range") ?? "";
  const pods = props.pods.filter((pod) => !replica || pod.metadata.name === replica);
  const chosen = readSpan(query.value.get("from"), query.value.get("to"));
  const span = chosen === "wrong" ? null : chosen;
  const { samples, failure, loaded, step } = useSamples(props.job, pods, RANGES[range], span);
  const all = useMemo(() => [...samples.values()], [samples]);
  const hasGpu =
    asked(pods, "limits", "nvidia.com/gpu") !== null ||
    all.some((one) => one.columns["gpu"]?.values.some((value) => value !== null));
  return (
    <div class="metrics">
      <div class="section-head">
        <label>
          {t("replica")}{" "}
          <select
            value={replica}
            onChange={(event) => setQuery({ replica: event.currentTarget.value || null })}
          >
            <option value="">{t("sum")}</option>
            {props.pods.map((pod) => (
              <option key={pod.metadata.uid}>{pod.metadata.name}</option>
            ))}
          </select>
        </label>
        <Range over={isOver(props.job)} range={range} span={chosen} samples={all} />
        <Hints job={props.job} pods={pods} all={all} />
      </div>
      {failure && !all.length ? <Problem failure={failure} /> : null}
      {loaded && !failure && !all.some((one) => one.time.length) ? (
        span ? (
          <Empty title={t("noneThen")} />
        ) : (
          <Empty title={t("none")}>
            <p>{t("noneHint")}</p>
          </Empty>
        )
      ) : null}
      {all.some((one) => one.time.length) ? (
        <>
          <details open>
            <summary>
              <h2>{t("cluster")}</h2>
            </summary>
            <div class="chart-grid">
              <Panel
                label={t("cpu")}
                all={all}
                step={step}
                window={span}
                format={formatCores}
                lines={[{ column: "cpu", label: t("usage"), colour: "--info" }]}
                extra={(n) => [
                  ...flat(t("request"), "--ok", asked(pods, "requests", "cpu"), n),
                  ...flat(t("limit"), "--bad", asked(pods, "limits", "cpu"), n),
                ]}
              />
              <Panel
                label={t("memory")}
                all={all}
                step={step}
                window={span}
                format={shortBytes}
                bytes
                lines={[{ column: "memory", label: t("usage"), colour: "--info" }]}
                extra={(n) => [
                  ...flat(t("request"), "--ok", asked(pods, "requests", "memory"), n),
                  ...flat(t("limit"), "--bad", asked(pods, "limits", "memory"), n),
                ]}
              />
            </div>
          </details>
          {hasGpu ? (
            <details open>
              <summary>
                <h2>{t("gpu")}</h2>
              </summary>
              <div class="chart-grid">
                <Panel
                  label={t("gpuUse")}
                  all={all}
                  step={step}
                  window={span}
                  format={(n) => `${Math.round(n * 100)} %`}
                  lines={[{ column: "gpu", label: t("usage"), colour: "--info" }]}
                />
                <Panel
                  label={t("gpuMemory")}
                  all={all}
                  step={step}
                  window={span}
                  format={shortBytes}
                  bytes
                  lines={[{ column: "gpuMemory", label: t("usage"), colour: "--info" }]}
                />
              </div>
            </details>
          ) : null}
          <details open>
            <summary>
              <h2>{t("network")}</h2>
            </summary>
            <div class="chart-grid">
              <Panel
                label={t("network")}
                all={all}
                step={step}
                window={span}
                format={perSecond}
                bytes
                lines={[
                  { column: "networkReceive", label: t("receive"), colour: "--info" },
                  { column: "networkTransmit", label: t("transmit"), colour: "--warn" },
                ]}
              />
            </div>
          </details>
          <details open>
            <summary>
              <h2>{t("storage")}</h2>
            </summary>
            <div class="chart-grid">
              <Panel
                label={t("storage")}
                all={all}
                step={step}
                window={span}
                format={perSecond}
                bytes
                lines={[
                  { column: "diskRead", label: t("read"), colour: "--info" },
                  { column: "diskWrite", label: t("write"), colour: "--warn" },
                ]}
              />
            </div>
          </details>
        </>
      ) : null}
    </div>
  );
}
