// The time line: job and replicas as bars on one axis, events as marks. A mark leads to its event,
// and its address too.
import { useMemo } from "preact/hooks";
import type { Event, Job, Pod } from "../../data/types.ts";
import { lang, translator } from "../../i18n/index.ts";
import { jobTexts } from "../../i18n/job.ts";
import { jobHref } from "../../lib/jobs.ts";
import { sayOfJob } from "../../lib/failure.ts";
import { isOver } from "../../lib/state.ts";
import {
  gathered,
  ticks,
  timeLineOf,
  type Lane,
  type Span,
  type SpanEnd,
  type SpanKind,
} from "../../lib/timeline.ts";
import { duration, exact, now } from "../../lib/time.ts";
import { query, setQuery } from "../../router.ts";
import { Section } from "./section.tsx";

const t = translator(jobTexts);
const TICKS = 6;
const NEAR = 0.012; // of the whole: about the width of a mark
const LANES = 33; // the job and 32 replicas; the rest is on the page of replicas
const WORDS = {
  queued: "queued",
  starting: "starting",
  running: "running",
  paused: "paused",
  succeeded: "spanSucceeded",
  failed: "spanFailed",
} as const satisfies Record<SpanKind | SpanEnd, string>;

function spanText(one: Span): string {
  const end = one.end ? `, ${t(WORDS[one.end])}` : "";
  return `${t(WORDS[one.kind])} ${duration(one.to - one.from)}${end}`;
}

function laneText(lane: Lane): string {
  const spans = lane.spans.map((one) =>
    one.attempt === undefined
      ? spanText(one)
      : `${spanText(one)} (${t("attempt", { n: one.attempt })})`,
  );
  return `${lane.label}: ${spans.join(", ")}`;
}

/** A label at this part of the axis, which ends where the axis ends. */
function inside(part: number): { left: string; transform: string } {
  return { left: `${100 * part}%`, transform: `translateX(${-100 * part}%)` };
}

export function TimeLine(props: { job: Job; pods: Pod[]; events: Event[] }) {
  const { job } = props;
  const at = isOver(job) ? 0 : now.value;
  const line = useMemo(
    () => timeLineOf(job, props.pods.slice(0, LANES - 1), props.events, at),
    [job, props.pods, props.events, at],
  );
  const length = line.to - line.from;
  const share = (ms: number): string => `${(100 * (ms - line.from)) / length}%`;
  const chosen = query.value.get("event");
  return (
    <Section id="timeline" title={t("timeline")} open>
      <div class="gantt">
        {line.lanes.map((lane) => (
          <div key={lane.name} class="lane">
            <span class="lane-name">
              {lane.name ? (
                <a href={`${jobHref(job, "logs")}?replica=${encodeURIComponent(lane.name)}`}>
                  {lane.label}
                </a>
              ) : (
                <b>{lane.label}</b>
              )}
            </span>
            <span class="lane-bars" role="img" aria-label={laneText(lane)}>
              {lane.spans.map((one, i) => (
                <span
                  key={i}
                  class={`span span-${one.kind} ${one.end ? `ends-${one.end}` : ""} ${one.attempt === undefined ? "" : "earlier"}`}
                  style={{
                    left: one.end ? `min(${share(one.from)}, 100% - 8px)` : share(one.from), // room for its cap
                    width: `${Math.max(0.3, (100 * (one.to - one.from)) / length)}%`,
                  }}
                  title={`${spanText(one)}\n${exact(one.from)}`}
                />
              ))}
            </span>
            <span class="lane-marks">
              {gathered(lane.marks, length * NEAR).map((group) => {
                const first = group.events[0]!;
                const words = group.events
                  .map(
                    (event) => `${event.reason}: ${sayOfJob(job, event.message ?? "", lang.value)}`,
                  )
                  .join("\n");
                const warning = first.type === "Warning";
                return (
                  <button
                    key={first.metadata.uid}
                    type="button"
                    class={`mark-event ${warning ? "warn" : ""} ${group.events.some((event) => event.metadata.name === chosen) ? "on" : ""}`}
                    style={{ left: share(group.at) }}
                    tabIndex={warning || !lane.name ? 0 : -1}
                    aria-label={words}
                    title={`${words}\n${exact(group.at)}`}
                    onClick={() =>
                      setQuery({
                        event: first.metadata.name,
                        ...(lane.name ? { detailed: "1" } : {}),
                      })
                    }
                  />
                );
              })}
            </span>
          </div>
        ))}
        <div class="lane axis" aria-hidden="true">
          <span class="lane-name" />
          <span class="lane-bars">
            {ticks(length, TICKS).map((ms) => (
              <span key={ms} class="tick num" style={inside(ms / length)}>
                +{duration(ms)}
              </span>
            ))}
          </span>
        </div>
      </div>
      <p class="legend dim">
        {(Object.keys(WORDS) as (keyof typeof WORDS)[]).map((kind) => (
          <span key={kind}>
            <span class={`swatch span-${kind}`} aria-hidden="true" /> {t(WORDS[kind])}
          </span>
        ))}
        <span>▲ {t("warning")}</span>
        {props.pods.length >= LANES ? (
          <a href={jobHref(job, "replicas")}>
            {t("moreReplicas", { count: props.pods.length - LANES + 1 })}
          </a>
        ) : null}
      </p>
    </Section>
  );
}
