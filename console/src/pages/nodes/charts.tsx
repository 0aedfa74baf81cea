// What a node used: CPU, memory, GPU over the last hour or the time chosen.
import { useEffect, useMemo, useState } from "preact/hooks";
import { Chart } from "../../charts/chart.tsx";
import { get } from "../../data/api.ts";
import { corePath } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { Pod } from "../../data/types.ts";
import { translator } from "../../i18n/index.ts";
import { metricsTexts } from "../../i18n/metrics.ts";
import { heldAt } from "../../lib/nodes.ts";
import { formatCores, shortBytes } from "../../lib/quantity.ts";
import { percent } from "../../metrics/quantities.ts";
import { aligned, merge, total, type Samples } from "../../metrics/samples.ts";
import { query, setQuery } from "../../router.ts";
import "../../style/metrics.css";

const t = translator(metricsTexts);
const EVERY_MS = 5_000;
const POINTS = 300;
const RANGES: Record<string, number> = { "10m": 600, "1h": 3_600, "24h": 86_400 };

function useNodeSamples(name: string, seconds: number): Samples | null {
  const [samples, setSamples] = useState<Samples | null>(null);
  useEffect(() => {
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let have: Samples | undefined;
    const step = Math.max(2, Math.ceil(seconds / POINTS));
    const look = async (): Promise<void> => {
      try {
        const since = have?.time.at(-1) ?? Date.now() - seconds * 1000;
        have = merge(
          have,
          await get<Samples>(
            `${corePath("nodes", undefined, name)}/samples?since=${Math.floor(since)}&step=${step}`,
          ),
        );
        if (!ended) setSamples(have);
      } catch {
        /* a cluster without our agent has no samples: the card says what is allocated */
      }
      if (!ended) later();
    };
    const later = (): void => {
      timer = setTimeout(() => void (document.hidden ? later() : look()), EVERY_MS);
    };
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [name, seconds]);
  return samples;
}

const LINES: readonly [
  column: string,
  label: "cpu" | "memory" | "gpuUse" | "gpuMemory",
  format: (n: number) => string,
  bytes: boolean,
][] = [
  ["cpu", "cpu", formatCores, false],
  ["memory", "memory", shortBytes, true],
  ["gpu", "gpuUse", percent, false],
  ["gpuMemory", "gpuMemory", shortBytes, true],
];

/** Which resource of the API a chart's line for what is allocated stands for. */
const RESOURCE: Partial<Record<string, string>> = { cpu: "cpu", memory: "memory" };

function allocatedLine(pods: Pod[], column: string, x: number[]) {
  const resource = RESOURCE[column];
  if (!resource) return [];
  return [
    { label: t("allocated"), colour: "--warn", values: heldAt(pods, resource, x), dash: true },
  ];
}

export default function NodeCharts(props: { name: string }) {
  const all = useLive<Pod>(corePath("pods")).items;
  const pods = useMemo(
    () => all.filter((pod) => pod.spec?.nodeName === props.name),
    [all, props.name],
  );
  const range = query.value.get("range") ?? "1h";
  const seconds = RANGES[range] ?? 3_600;
  const samples = useNodeSamples(props.name, seconds);
  const step = Math.max(2, Math.ceil(seconds / POINTS)) * 1000;
  const drawn = useMemo(
    () => LINES.map(([column]) => aligned(samples ? [total([samples], column, step)] : [])),
    [samples, step],
  );
  if (!samples) return null;
  return (
    <>
      <label>
        {t("range")}{" "}
        <select
          value={range}
          onChange={(event) =>
            setQuery({
              range: event.currentTarget.value === "1h" ? null : event.currentTarget.value,
            })
          }
        >
          <option value="10m">{t("last10m")}</option>
          <option value="1h">{t("last1h")}</option>
          <option value="24h">{t("last24h")}</option>
        </select>
      </label>
      <div class="node-charts">
        {LINES.map(([column, label, format, bytes], i) =>
          drawn[i]!.x.length ? (
            <Chart
              key={column}
              label={t(label)}
              x={drawn[i]!.x}
              time
              format={format}
              bytes={bytes}
              group="nodes"
              height={140}
              series={[
                { label: t("usage"), colour: "--info", values: drawn[i]!.values[0] ?? [] },
                ...allocatedLine(pods, column, drawn[i]!.x),
              ]}
            />
          ) : null,
        )}
      </div>
    </>
  );
}
