// One quantity of every rank: as lines, where those that are not like the others stand out, or as a map
// where there are many.
import { useMemo } from "preact/hooks";
import { Chart, type Series } from "../charts/chart.tsx";
import { lookOf } from "../charts/palette.ts";
import { translator } from "../i18n/index.ts";
import { metricsTexts } from "../i18n/metrics.ts";
import { setQuery } from "../router.ts";
import { Heat } from "./heat.tsx";
import { QUANTITIES, type Quantity } from "./quantities.ts";
import { ranksOf, stragglers, type Ranks, type Straggler } from "./ranks.ts";
import type { Named } from "./samples.ts";
import { spanQuery, type Span } from "./span.ts";

const t = translator(metricsTexts);
const NAMED = 3;
/** In the address: a line for each replica. */
export const EACH = "*";

/** Who is not like the others, in words. */
function Odd(props: { quantity: Quantity; ranks: Ranks; odd: Straggler[]; named?: boolean }) {
  const { quantity, odd } = props;
  if (!odd.length) return null;
  const words = odd.slice(0, NAMED).map((one) =>
    t("straggler", {
      name: props.ranks.ranks[one.rank]!.name,
      has: quantity.format(one.has),
      others: quantity.format(one.others),
    }),
  );
  return (
    <p class="straggler">
      ▲ {props.named ? <b>{t(quantity.label)} </b> : null}
      {words.join(" ")}
      {odd.length > NAMED ? ` ${t("moreStragglers", { count: odd.length - NAMED })}` : ""}
    </p>
  );
}

/** Beside the sum of all, which hides them: who is not like the others, and the way to the lines of each. */
export function OddRanks(props: { all: ReadonlyMap<string, Named[]>; step: number }) {
  const found = useMemo(
    () =>
      QUANTITIES.flatMap((quantity) => {
        const ranks = ranksOf(props.all.get(quantity.column) ?? [], quantity.column, props.step * 1000); // prettier-ignore
        const odd = stragglers(ranks.ranks, quantity.least);
        return odd.length ? [{ quantity, ranks, odd }] : [];
      }),
    [props.all, props.step],
  );
  if (!found.length) return null;
  return (
    <div class="odd-ranks">
      {found.slice(0, NAMED).map((one) => (
        <Odd key={one.quantity.column} {...one} named />
      ))}
      <button type="button" onClick={() => setQuery({ replica: EACH })}>
        {t("showEach")}
      </button>
    </div>
  );
}

export function Unmeasured(props: { label: string; column: string }) {
  const network = props.column.startsWith("network");
  return (
    <figure class="chart">
      <figcaption>{props.label}</figcaption>
      <p class="dim">{t(network ? "networkNotMeasured" : "notMeasured")}</p>
    </figure>
  );
}

export function RankPanel(props: {
  quantity: Quantity;
  all: Named[];
  step: number;
  map: boolean;
  window: Span | null;
  marks: number[];
}) {
  const { quantity } = props;
  const ranks = useMemo(
    () => ranksOf(props.all, quantity.column, props.step * 1000),
    [props.all, quantity.column, props.step],
  );
  const odd = useMemo(() => stragglers(ranks.ranks, quantity.least), [ranks]);
  const series = useMemo((): Series[] => {
    const places = new Map(odd.map((one, i) => [one.rank, i]));
    const lines = ranks.ranks.map((one, i) => ({
      label: one.name,
      ...(places.size && !places.has(i)
        ? { colour: "--faint", dash: [] }
        : lookOf(places.get(i) ?? i)),
      values: one.values,
    }));
    // Those that stand out are drawn last, over the others.
    return lines.map((one, i) => ({ one, i })).sort((a, b) => (places.get(b.i) ?? 99) - (places.get(a.i) ?? 99)).map(({ one }) => one); // prettier-ignore
  }, [ranks, odd]);
  const label = t(quantity.label);
  if (!ranks.x.length) return <Unmeasured label={label} column={quantity.column} />;
  const { from, to } = props.window ?? {};
  return (
    <div>
      {props.map ? (
        <Heat label={label} group="metrics" ranks={ranks} odd={odd} format={quantity.format} />
      ) : (
        <Chart
          label={label}
          x={ranks.x}
          series={series}
          time
          format={quantity.format}
          bytes={quantity.bytes}
          group="metrics"
          marks={props.marks}
          window={
            from === undefined || to === undefined
              ? undefined
              : { from: from / 1000, to: to / 1000 }
          }
          onWindow={(next) =>
            setQuery(spanQuery(next && { from: next.from * 1000, to: next.to * 1000 }))
          }
        />
      )}
      <Odd quantity={quantity} ranks={ranks} odd={odd} />
    </div>
  );
}
