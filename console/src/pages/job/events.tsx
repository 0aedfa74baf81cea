// Events of a job, with a switch those of its pods, and with another its conditions among them; by
// severity.
import { useEffect, useRef } from "preact/hooks";
import { corePath } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { Event, Job, Pod } from "../../data/types.ts";
import { translator } from "../../i18n/index.ts";
import { jobTexts } from "../../i18n/job.ts";
import { standingWarnings } from "../../lib/jobs.ts";
import { query, setQuery } from "../../router.ts";
import { Said } from "../../ui/said.tsx";
import { Ago } from "../../ui/time.tsx";
import { Section } from "./section.tsx";

const t = translator(jobTexts);

export function lastSeen(event: Event): string {
  return (
    event.lastTimestamp ??
    event.eventTime ??
    event.firstTimestamp ??
    event.metadata.creationTimestamp
  );
}

/** Many happen in one second: what was written later stands first. */
function newestFirst(events: Event[]): Event[] {
  return [...events].sort(
    (a, b) =>
      Date.parse(lastSeen(b)) - Date.parse(lastSeen(a)) ||
      Number(b.metadata.resourceVersion) - Number(a.metadata.resourceVersion),
  );
}

/** The event the address names is brought into sight. */
function useChosen(name: string | null, there: boolean) {
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (name && there) row.current?.scrollIntoView({ block: "center" });
  }, [name, there]);
  return row;
}

export function EventTable(props: { events: Event[]; withObject: boolean; job?: Job }) {
  const sorted = newestFirst(props.events);
  const chosen = query.value.get("event");
  const row = useChosen(
    chosen,
    sorted.some((one) => one.metadata.name === chosen),
  );
  if (!sorted.length) return <p class="dim">{t("noEvents")}</p>;
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={t("events")}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("type")}</th>
            <th scope="col">{t("first")}</th>
            <th scope="col">{t("last")}</th>
            <th scope="col">{t("reason")}</th>
            <th scope="col">{t("message")}</th>
            {props.withObject ? <th scope="col">{t("about")}</th> : null}
          </tr>
        </thead>
        <tbody>
          {sorted.map((event) => (
            <tr
              key={event.metadata.uid}
              ref={event.metadata.name === chosen ? row : null}
              class={event.metadata.name === chosen ? "chosen" : ""}
            >
              <td>
                {event.type === "Warning" ? (
                  <span class="state state-failed">▲ {t("warning")}</span>
                ) : event.type === "Condition" ? (
                  <span class="state state-unknown">◆ {t("condition")}</span>
                ) : (
                  <span class="state state-succeeded">● {t("normal")}</span>
                )}
              </td>
              <td>
                <Ago time={event.firstTimestamp ?? event.metadata.creationTimestamp} />
              </td>
              <td>
                <Ago time={lastSeen(event)} />
              </td>
              <td>{event.reason}</td>
              <td class="message">
                <Said text={event.message} job={props.job} />
                {(event.count ?? 1) > 1 ? <span class="dim num"> ×{event.count}</span> : null}
              </td>
              {props.withObject ? (
                <td class="mono">
                  {event.involvedObject.kind}/{event.involvedObject.name}
                </td>
              ) : null}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Conditions as if they were events, for one list in the order of time. */
function conditionEvents(job: Job): Event[] {
  return (job.status?.conditions ?? []).map((one) => ({
    metadata: {
      name: `condition-${one.type}`,
      uid: `condition-${one.type}`,
      resourceVersion: "",
      creationTimestamp: one.lastTransitionTime ?? job.metadata.creationTimestamp,
    },
    type: "Condition",
    reason: `${one.type} = ${one.status}${one.reason && one.reason !== "-" ? ` (${one.reason})` : ""}`,
    message: one.message ?? "",
    involvedObject: { kind: job.kind ?? "", name: job.metadata.name, uid: job.metadata.uid },
  }));
}

/** All events of the job and of its pods, also of those that were replaced: their names begin as
 * the job's do. */
export function useJobEvents(job: Job, pods: Pod[]): Event[] {
  const live = useLive<Event>(corePath("events", job.metadata.namespace));
  const uids = new Set([job.metadata.uid, ...pods.map((pod) => pod.metadata.uid)]);
  const prefix = `${job.metadata.name}-`;
  const since = job.metadata.creationTimestamp;
  return live.items.filter(
    (event) =>
      uids.has(event.involvedObject.uid ?? "") ||
      (event.involvedObject.kind === "Pod" &&
        (event.involvedObject.name ?? "").startsWith(prefix) &&
        lastSeen(event) >= since),
  );
}

/** How many warnings there are, and the newest event. */
function Brief(props: { job: Job; events: Event[] }) {
  const newest = newestFirst(props.events)[0];
  const warnings = standingWarnings(props.job, props.events);
  if (!newest) return <>{t("noEvents")}</>;
  return (
    <>
      {warnings ? (
        <span class="state state-failed">▲ {t("warnings", { count: warnings })}</span>
      ) : null}{" "}
      {newest.reason} · <Ago time={lastSeen(newest)} />
    </>
  );
}

export function Events(props: { job: Job; events: Event[] }) {
  const q = query.value;
  const detailed = q.get("detailed") === "1";
  const merged = q.get("merged") === "1";
  const warnings = q.get("severity") === "Warning";
  const mine = [...props.events, ...(merged ? conditionEvents(props.job) : [])].filter(
    (event) =>
      (detailed || event.involvedObject.uid === props.job.metadata.uid) &&
      (!warnings || event.type === "Warning"),
  );
  return (
    <Section
      id="events"
      title={t("events")}
      open={false}
      wanted={["event", "detailed", "merged", "severity"].some((name) => q.has(name))}
      brief={<Brief job={props.job} events={props.events} />}
    >
      <div class="section-head">
        <label>
          <input
            type="checkbox"
            checked={detailed}
            onChange={() => setQuery({ detailed: detailed ? null : "1" })}
          />{" "}
          {t("detailedEvents")}
        </label>
        <label>
          <input
            type="checkbox"
            checked={merged}
            onChange={() => setQuery({ merged: merged ? null : "1" })}
          />{" "}
          {t("withConditions")}
        </label>
        <label>
          {t("type")}{" "}
          <select
            value={warnings ? "Warning" : ""}
            onChange={(event) => setQuery({ severity: event.currentTarget.value || null })}
          >
            <option value="">{t("allTypes")}</option>
            <option value="Warning">{t("onlyWarnings")}</option>
          </select>
        </label>
      </div>
      <EventTable events={mine} withObject={detailed} job={props.job} />
    </Section>
  );
}
