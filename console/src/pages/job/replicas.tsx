// The second tab: every replica with what it does now, and a menu to its log, YAML, conditions, events, metrics, terminal.
import { useState } from "preact/hooks";
import { stringify } from "yaml";
import { corePath } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { Event, Job, Pod } from "../../data/types.ts";
import { tc, translator } from "../../i18n/index.ts";
import { jobTexts } from "../../i18n/job.ts";
import { jobHref } from "../../lib/jobs.ts";
import { formatQuantity, parseQuantity } from "../../lib/quantity.ts";
import { stateOfPod } from "../../lib/state.ts";
import { query, setQuery } from "../../router.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Empty } from "../../ui/notice.tsx";
import { StateMark } from "../../ui/state.tsx";
import { Ago } from "../../ui/time.tsx";
import { EventTable } from "./events.tsx";
import type { TabProps } from "./job.tsx";

const t = translator(jobTexts);

function roleOf(pod: Pod): string {
  return pod.metadata.labels?.["replica-type"] ?? "";
}

function askedFor(pod: Pod, resource: string): string {
  const sum = (which: "requests" | "limits"): string => {
    const found = (pod.spec?.containers ?? []).map((one) => parseQuantity(one.resources?.[which]?.[resource])).filter((one) => one !== undefined);
    return found.length ? formatQuantity(resource, found.reduce((a, b) => a + b, 0)) : "-";
  };
  return `${sum("requests")} / ${sum("limits")}`;
}

function Labels(props: { pod: Pod }) {
  const [all, setAll] = useState(false);
  const entries = Object.entries(props.pod.metadata.labels ?? {});
  return (
    <span class="chips">
      {(all ? entries : entries.slice(0, 2)).map(([name, value]) => <span key={name} class="chip" title={`${name}=${value}`}>{name}={value}</span>)}
      {entries.length > 2 ? <button type="button" class="chip" aria-expanded={all} onClick={() => setAll(!all)}>{t(all ? "showLess" : "showAll")}</button> : null}
    </span>
  );
}

function PodEvents(props: { pod: Pod }) {
  const live = useLive<Event>(corePath("events", props.pod.metadata.namespace));
  return <EventTable events={live.items.filter((one) => one.involvedObject.uid === props.pod.metadata.uid)} withObject={false} />;
}

function PodConditions(props: { pod: Pod }) {
  return (
    <table>
      <thead><tr><th scope="col">{t("type")}</th><th scope="col">{t("status")}</th><th scope="col">{t("changed")}</th><th scope="col">{t("reason")}</th><th scope="col">{t("message")}</th></tr></thead>
      <tbody>{(props.pod.status?.conditions ?? []).map((one) => (
        <tr key={one.type}><td>{one.type}</td><td>{one.status}</td><td><Ago time={one.lastTransitionTime} /></td><td>{one.reason}</td><td>{one.message}</td></tr>
      ))}</tbody>
    </table>
  );
}

type Shown = { what: "yaml" | "condition" | "event"; pod: Pod };

function More(props: Shown & { onClose(): void }) {
  return (
    <Dialog wide title={`${props.pod.metadata.name} · ${t(props.what)}`} onClose={props.onClose}>
      {props.what === "yaml" ? <pre class="tail">{stringify(props.pod)}</pre> : props.what === "event" ? <PodEvents pod={props.pod} /> : <PodConditions pod={props.pod} />}
    </Dialog>
  );
}

function exitOf(pod: Pod): string {
  const codes = (pod.status?.containerStatuses ?? []).map((one) => one.state?.terminated?.exitCode).filter((one) => one !== undefined);
  return codes.length ? codes.join(", ") : "-";
}

function ReplicaRow(props: { job: Job; pod: Pod; show(shown: Shown): void }) {
  const { pod, job } = props;
  const name = pod.metadata.name;
  const restarts = (pod.status?.containerStatuses ?? []).reduce((sum, one) => sum + one.restartCount, 0) + Number(pod.metadata.annotations?.["batch.tensorstack.dev/attempt"] ?? 0);
  return (
    <tr>
      <td><StateMark state={stateOfPod(pod)} iconOnly /></td>
      <td><a href={`${jobHref(job, "logs")}?replica=${encodeURIComponent(name)}`}>{name}</a></td>
      <td>{roleOf(pod)}</td>
      <td class="num">{pod.metadata.labels?.["replica-index"]}</td>
      <td><Labels pod={pod} /></td>
      <td>{pod.status?.phase ?? "Pending"}</td>
      <td>{pod.spec?.nodeName ?? "-"}</td>
      <td class="num">{restarts}</td>
      <td class="num">{exitOf(pod)}</td>
      <td class="num">{askedFor(pod, "cpu")}</td>
      <td class="num">{askedFor(pod, "memory")}</td>
      <td>
        <Menu label="⋮" name={`${t("moreInfo")} ${name}`} items={[
          { label: t("log"), href: `${jobHref(job, "logs")}?replica=${encodeURIComponent(name)}` },
          { label: t("yaml"), onSelect: () => props.show({ what: "yaml", pod }) },
          { label: t("condition"), onSelect: () => props.show({ what: "condition", pod }) },
          { label: t("event"), onSelect: () => props.show({ what: "event", pod }) },
          { label: t("metric"), href: `${jobHref(job, "metrics")}?replica=${encodeURIComponent(name)}` },
          { label: t("terminal"), href: jobHref(job, `terminal/${encodeURIComponent(name)}`), disabled: pod.status?.phase !== "Running" },
        ]} />
      </td>
    </tr>
  );
}

export function Replicas(props: TabProps) {
  const [shown, setShown] = useState<Shown | null>(null);
  const role = query.value.get("role") ?? "";
  const roles = [...new Set(props.pods.map(roleOf))];
  const pods = props.pods.filter((pod) => !role || roleOf(pod) === role);
  if (!props.pods.length) return <Empty title={t("noPods")} />;
  return (
    <div>
      <label class="section-head">{t("role")}
        <select value={role} onChange={(event) => setQuery({ role: event.currentTarget.value || null })}>
          <option value="">{tc("all")}</option>
          {roles.map((one) => <option key={one} value={one}>{one}</option>)}
        </select>
      </label>
      <div class="scroll-x">
        <table class="replicas">
          <thead><tr>
            <th scope="col"><span class="sr-only">{t("state")}</span></th>
            {(["name", "role", "index", "labels", "phase", "node", "restarts", "exit"] as const).map((one) => <th key={one} scope="col">{t(one)}</th>)}
            <th scope="col">CPU</th><th scope="col">{t("memory").replace(/(请求量\/上限| request\/limit)/, "")}</th><th scope="col">{t("moreInfo")}</th>
          </tr></thead>
          <tbody>{pods.map((pod) => <ReplicaRow key={pod.metadata.uid} job={props.job} pod={pod} show={setShown} />)}</tbody>
        </table>
      </div>
      {shown ? <More {...shown} onClose={() => setShown(null)} /> : null}
    </div>
  );
}
