// Events of a job, and with a switch those of its pods.
import { useState } from "preact/hooks";
import { corePath } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { Event, Job, Pod } from "../../data/types.ts";
import { translator } from "../../i18n/index.ts";
import { jobTexts } from "../../i18n/job.ts";
import { Ago } from "../../ui/time.tsx";

const t = translator(jobTexts);

export function lastSeen(event: Event): string {
  return event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp ?? event.metadata.creationTimestamp;
}

export function EventTable(props: { events: Event[]; withObject: boolean }) {
  // Many happen in one second: what was written later stands first.
  const sorted = [...props.events].sort((a, b) => Date.parse(lastSeen(b)) - Date.parse(lastSeen(a)) || Number(b.metadata.resourceVersion) - Number(a.metadata.resourceVersion));
  if (!sorted.length) return <p class="dim">{t("noEvents")}</p>;
  return (
    <div class="scroll-x">
      <table>
        <thead><tr>
          <th scope="col">{t("type")}</th><th scope="col">{t("first")}</th><th scope="col">{t("last")}</th><th scope="col">{t("reason")}</th><th scope="col">{t("message")}</th>
          {props.withObject ? <th scope="col">{t("about")}</th> : null}
        </tr></thead>
        <tbody>
          {sorted.map((event) => (
            <tr key={event.metadata.uid}>
              <td>{event.type === "Warning" ? <span class="state state-failed">▲ {t("warning")}</span> : <span class="state state-succeeded">● {t("normal")}</span>}</td>
              <td><Ago time={event.firstTimestamp ?? event.metadata.creationTimestamp} /></td>
              <td><Ago time={lastSeen(event)} /></td>
              <td>{event.reason}</td>
              <td>{event.message}{(event.count ?? 1) > 1 ? <span class="dim num"> ×{event.count}</span> : null}</td>
              {props.withObject ? <td class="mono">{event.involvedObject.kind}/{event.involvedObject.name}</td> : null}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Events(props: { job: Job; pods: Pod[] }) {
  const [detailed, setDetailed] = useState(false);
  const live = useLive<Event>(corePath("events", props.job.metadata.namespace));
  const uids = new Set([props.job.metadata.uid, ...(detailed ? props.pods.map((pod) => pod.metadata.uid) : [])]);
  // Pods that were replaced are gone, their events are not: their names begin as the job's do.
  const prefix = `${props.job.metadata.name}-`;
  const mine = live.items.filter((event) => uids.has(event.involvedObject.uid ?? "") ||
    (detailed && event.involvedObject.kind === "Pod" && (event.involvedObject.name ?? "").startsWith(prefix)));
  return (
    <section>
      <div class="section-head">
        <h2>{t("events")}</h2>
        <label><input type="checkbox" checked={detailed} onChange={() => setDetailed(!detailed)} /> {t("detailedEvents")}</label>
      </div>
      <EventTable events={mine} withObject={detailed} />
    </section>
  );
}
