// The third tab of the tutorials: CPU and memory with request, limit and use; GPU; network;
// storage. Live while it runs.
import { useMemo, useState } from "preact/hooks";
import { Chart, type Series } from "../charts/chart.tsx";
import type { Job, Pod } from "../data/types.ts";
import { translator } from "../i18n/index.ts";
import { metricsTexts } from "../i18n/metrics.ts";
import { formatCores, parseQuantity, shortBytes } from "../lib/quantity.ts";
import { isOver } from "../lib/state.ts";
import { millis } from "../lib/time.ts";
import type { TabProps } from "../pages/job/job.tsx";
import { query, setQuery } from "../router.ts";
import { Empty, Problem } from "../ui/notice.tsx";
import { fromField, readSpan, spanQuery, toField, type Span } from "./span.ts";
import { perSecond, QUANTITIES } from "./quantities.ts";
import { EACH, OddRanks, RankPanel, Unmeasured } from "./ranks.tsx";
import { aligned, byGpu, idleFor, meanOf, total, type Samples } from "./samples.ts";
import { TrainedPanel, useTrained } from "./trained.tsx";
import { PODS_LIMIT, useSamples } from "./use.ts";
import { shortName } from "../logs/sources.ts";
import "../style/metrics.css";

const t = translator(metricsTexts);
const RANGES: Record<string, number> = { "10m": 600, "1h": 3_600, "24h": 86_400 };
const LINES = 12; // more cannot be told apart

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
  marks: number[];
  extra?: (n: number) => Series[];
}) {
  const chart = useMemo(
    () => aligned(props.lines.map((line) => total(props.all, line.column, props.step * 1000))),
    [props.all, props.step],
  );
  const measured = chart.values.some((one) => one.some((value) => value !== null));
  if (!measured) return <Unmeasured label={props.label} column={props.lines[0]?.column ?? ""} />;
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
      marks={props.marks}
      window={
        from === undefined || to === undefined ? undefined : { from: from / 1000, to: to / 1000 }
      }
      onWindow={(next) =>
        setQuery(spanQuery(next && { from: next.from * 1000, to: next.to * 1000 }))
      }
    />
  );
}

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
  const each = replica === EACH;
  const pods = props.pods
    .filter((pod) => !replica || each || pod.metadata.name === replica)
    .slice(0, PODS_LIMIT);
  const map = (query.value.get("shape") ?? (pods.length > LINES ? "map" : "lines")) === "map";
  const chosen = readSpan(query.value.get("from"), query.value.get("to"));
  const span = chosen === "wrong" ? null : chosen;
  const { samples, failure, loaded, step } = useSamples(props.job, pods, RANGES[range], span);
  const all = useMemo(() => [...samples.values()], [samples]);
  const named = useMemo(
    () =>
      pods.flatMap((pod) => {
        const one = samples.get(pod.metadata.uid);
        return one ? [{ name: shortName(pod), samples: one }] : [];
      }),
    [samples],
  );
  const apart = useMemo(
    () => new Map(QUANTITIES.map(({ column }) => [column, byGpu(named, column)])),
    [named],
  );
  const trained = useTrained(props.job);
  const marks = useMemo(() => (trained?.fall ? [trained.fall.at] : []), [trained?.fall]);
  // Charts that share a cursor share their axis.
  const axis = useMemo((): Span | null => {
    if (span?.from !== undefined && span.to !== undefined) return span;
    const ends = [
      ...all.flatMap((one) => [one.time[0], one.time.at(-1)]),
      ...(span || RANGES[range]
        ? []
        : [trained?.x[0], trained?.x.at(-1)].map((at) => at && at * 1000)),
    ].filter((at): at is number => at !== undefined);
    const from = Math.min(...ends);
    const to = Math.max(...ends);
    return from < to ? { from: span?.from ?? from, to: span?.to ?? to } : span;
  }, [all, trained, span?.from, span?.to, range]);
  const measured = (column: string): boolean =>
    all.some((one) => one.columns[column]?.values.some((value) => value !== null));
  const hasGpu = asked(pods, "limits", "nvidia.com/gpu") !== null || measured("gpu");
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
            {props.pods.length > 1 ? <option value={EACH}>{t("each")}</option> : null}
            {props.pods.map((pod) => (
              <option key={pod.metadata.uid}>{pod.metadata.name}</option>
            ))}
          </select>
        </label>
        {each ? (
          <label>
            {t("shape")}{" "}
            <select
              value={map ? "map" : "lines"}
              onChange={(event) => setQuery({ shape: event.currentTarget.value })}
            >
              <option value="lines">{t("asLines")}</option>
              <option value="map">{t("asMap")}</option>
            </select>
          </label>
        ) : null}
        <Range over={isOver(props.job)} range={range} span={chosen} samples={all} />
        <Hints job={props.job} pods={pods} all={all} />
        {props.pods.length > PODS_LIMIT && !pods.every((one) => one.metadata.name === replica) ? (
          <span class="dim">{t("firstOf", { count: PODS_LIMIT, all: props.pods.length })}</span>
        ) : null}
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
      {trained ? (
        <TrainedPanel job={props.job} pods={pods} trained={trained} all={named} window={axis} />
      ) : null}
      {each && all.some((one) => one.time.length) ? (
        <details open>
          <summary>
            <h2>{t("cluster")}</h2>
          </summary>
          <div class="chart-grid">
            {QUANTITIES.filter(
              (one) => ["cpu", "memory"].includes(one.column) || measured(one.column),
            ).map((one) => (
              <RankPanel
                key={one.column}
                quantity={one}
                all={apart.get(one.column)!}
                step={step}
                map={map}
                window={axis}
                marks={marks}
              />
            ))}
          </div>
        </details>
      ) : null}
      {replica ? null : <OddRanks all={apart} step={step} />}
      {!each && all.some((one) => one.time.length) ? (
        <div class="chart-groups">
          <details class="several" open>
            <summary>
              <h2>{t("cluster")}</h2>
            </summary>
            <div class="chart-grid">
              <Panel
                label={t("cpu")}
                all={all}
                step={step}
                window={axis}
                marks={marks}
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
                window={axis}
                marks={marks}
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
            <details class="several" open>
              <summary>
                <h2>{t("gpu")}</h2>
              </summary>
              <div class="chart-grid">
                {QUANTITIES.filter((one) => one.column.startsWith("gpu")).map((one) => {
                  const gpus = apart.get(one.column)!;
                  return gpus.length > named.length ? (
                    <RankPanel
                      key={one.column}
                      quantity={one}
                      all={gpus}
                      step={step}
                      map={gpus.length > LINES}
                      window={axis}
                      marks={marks}
                    />
                  ) : (
                    <Panel
                      key={one.column}
                      label={t(one.label)}
                      all={all}
                      step={step}
                      window={axis}
                      marks={marks}
                      format={one.format}
                      bytes={one.bytes}
                      lines={[{ column: one.column, label: t("usage"), colour: "--info" }]}
                    />
                  );
                })}
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
                window={axis}
                marks={marks}
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
                window={axis}
                marks={marks}
                format={perSecond}
                bytes
                lines={[
                  { column: "diskRead", label: t("read"), colour: "--info" },
                  { column: "diskWrite", label: t("write"), colour: "--warn" },
                ]}
              />
            </div>
          </details>
        </div>
      ) : null}
    </div>
  );
}
