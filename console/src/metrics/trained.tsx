// What is trained, on the time axis of what the machine did: the loss and the pace, and, where the pace
// fell, one sentence of what else changed then.
import { useEffect, useMemo, useState } from "preact/hooks";
import { Chart } from "../charts/chart.tsx";
import { formatValue, usePoints } from "../curves/points.ts";
import { get } from "../data/api.ts";
import { corePath, OWNER_LABEL } from "../data/kinds.ts";
import type { Job, Pod } from "../data/types.ts";
import { translator } from "../i18n/index.ts";
import { metricsTexts } from "../i18n/metrics.ts";
import { lossTag } from "../lib/loss.ts";
import { millis, exact } from "../lib/time.ts";
import { query, setQuery } from "../router.ts";
import { begunAt, changesAt, fallOf, paceOf, type Fall, type Measured } from "./fall.ts";
import { QUANTITIES } from "./quantities.ts";
import type { Samples } from "./samples.ts";
import { spanQuery, type Span } from "./span.ts";

const t = translator(metricsTexts);
const WIDTH = 600;
const CHANGES = 3;

interface Trained {
  tags: string[];
  tag: string;
  x: number[]; // seconds
  values: (number | null)[];
  pace: ReturnType<typeof paceOf>;
  fall: Fall | null;
}

/** The chosen tag, else the loss: of the run with the most points. */
export function useTrained(job: Job): Trained | null {
  const { answer } = usePoints(job, WIDTH);
  const chosen = query.value.get("tag");
  return useMemo(() => {
    const series = answer?.series ?? [];
    const tag = series.some((one) => one.tag === chosen) ? chosen! : lossTag(series);
    const run = series
      .filter((one) => one.tag === tag)
      .sort((a, b) => b.value.length - a.value.length)[0];
    if (!tag || !run?.value.length) return null;
    const pace = paceOf(run);
    return {
      tags: [...new Set(series.map((one) => one.tag))].sort(),
      tag,
      x: Array.from(run.wall),
      values: Array.from(run.value),
      pace,
      fall: fallOf(pace),
    };
  }, [answer, chosen]);
}

/** Pods of other jobs on the same nodes, asked for only where the pace fell. */
function useBegun(job: Job, pods: Pod[], fall: Fall | null): string[] {
  const [others, setOthers] = useState<Pod[]>([]);
  const nodes = [...new Set(pods.map((pod) => pod.spec?.nodeName ?? ""))].filter(Boolean);
  const at = fall ? Math.round(fall.at) : null;
  useEffect(() => {
    if (at === null) return;
    let ended = false;
    const ask = (ns: string | undefined): Promise<{ items: Pod[] }> =>
      get(`${corePath("pods", ns)}?limit=1000`);
    ask(undefined)
      .catch(() => ask(job.metadata.namespace)) // who may not see all sees his own project
      .then(
        (list) => {
          if (!ended) setOthers(list.items);
        },
        () => undefined, // then nothing is said of others
      );
    return () => {
      ended = true;
    };
  }, [at, nodes.join()]);
  if (!fall) return [];
  const mine = new Set(pods.map((pod) => pod.metadata.uid));
  const begun = begunAt(
    fall,
    new Set(nodes),
    others
      .filter((pod) => !mine.has(pod.metadata.uid))
      .map((pod) => ({
        node: pod.spec?.nodeName ?? "",
        start: (millis(pod.status?.startTime) ?? 0) / 1000,
        name: pod.metadata.labels?.[OWNER_LABEL] ?? pod.metadata.name,
      })),
  );
  return [...new Set(begun.map((one) => t("began", { name: one.name, node: one.node })))];
}

function measuredOf(all: { name: string; samples: Samples }[]): Measured[] {
  return all.flatMap(({ name, samples }) =>
    QUANTITIES.flatMap(({ column, least }) => {
      const values = samples.columns[column]?.values;
      return values
        ? [{ who: name, column, least, values, x: samples.time.map((ms) => ms / 1000) }]
        : [];
    }),
  );
}

/** "At 12:03 the pace fell from 8 to 3 steps a second. At that time: ..." */
function FallSentence(props: {
  job: Job;
  pods: Pod[];
  fall: Fall;
  all: { name: string; samples: Samples }[];
}) {
  const { fall } = props;
  const begun = useBegun(props.job, props.pods, fall);
  const changes = useMemo(
    () => changesAt(fall, measuredOf(props.all)).slice(0, CHANGES),
    [fall, props.all],
  );
  const facts = [
    ...changes.map((one) => {
      const quantity = QUANTITIES.find(({ column }) => column === one.column)!;
      return t(one.after > one.before ? "rose" : "fell", {
        who: one.who,
        what: t(quantity.label),
        before: quantity.format(one.before),
        after: quantity.format(one.after),
      });
    }),
    ...begun,
  ];
  return (
    <p class="fall" role="note">
      ▼{" "}
      {t("paceFell", {
        time: exact(fall.at * 1000),
        before: formatValue(fall.before),
        after: formatValue(fall.after),
        share: Math.round(100 * (1 - fall.after / fall.before)),
      })}{" "}
      {facts.length
        ? t("atThatTime", { facts: facts.join(t("factSeparator")) })
        : props.all.some((one) => one.samples.time.length)
          ? t("nothingElse")
          : ""}
    </p>
  );
}

export function TrainedPanel(props: {
  job: Job;
  pods: Pod[];
  trained: Trained;
  all: { name: string; samples: Samples }[];
  window: Span | null;
}) {
  const { trained } = props;
  const marks = useMemo(() => (trained.fall ? [trained.fall.at] : []), [trained.fall]);
  const value = useMemo(
    () => [{ label: trained.tag, colour: "--curve-1", values: trained.values }],
    [trained],
  );
  // A part of time without a step, such as a validation, is in the pace of the next that has one.
  const pace = useMemo(() => {
    const { x, perSecond } = trained.pace;
    const known = x.map((_, i) => i).filter((i) => perSecond[i] !== null);
    const values = known.map((i) => perSecond[i]!);
    return {
      x: known.map((i) => x[i]!),
      series: [{ label: t("pace"), colour: "--curve-8", values }],
    };
  }, [trained]);
  const { from, to } = props.window ?? {};
  const shared = {
    time: true,
    group: "metrics",
    marks,
    legend: "still" as const,
    window:
      from === undefined || to === undefined ? undefined : { from: from / 1000, to: to / 1000 },
    onWindow: (next: { from: number; to: number } | null) =>
      setQuery(spanQuery(next && { from: next.from * 1000, to: next.to * 1000 })),
  };
  return (
    <details open>
      <summary>
        <h2>{t("trained")}</h2>
      </summary>
      {trained.fall ? (
        <FallSentence job={props.job} pods={props.pods} fall={trained.fall} all={props.all} />
      ) : null}
      <label>
        {t("tag")}{" "}
        <select
          value={trained.tag}
          onChange={(event) => setQuery({ tag: event.currentTarget.value })}
        >
          {trained.tags.map((tag) => (
            <option key={tag}>{tag}</option>
          ))}
        </select>
      </label>
      <div class="chart-grid">
        <Chart
          {...shared}
          label={trained.tag}
          x={trained.x}
          series={value}
          format={formatValue}
          fit
        />
        {pace.x.length ? (
          <Chart
            {...shared}
            label={t("pace")}
            x={pace.x}
            series={pace.series}
            format={formatValue}
          />
        ) : null}
      </div>
    </details>
  );
}
