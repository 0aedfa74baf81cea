// The queues: what each may hold and holds, who runs and who waits in which order and why; open,
// close, edit.
import { useEffect, useMemo, useState } from "preact/hooks";
import { mayI } from "../../data/access.ts";
import { type Failure, merge } from "../../data/api.ts";
import { corePath, jobKind, podGroupPath, queuePath, QUEUES } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import { scope } from "../../data/session.ts";
import type { Pod, PodGroup, Queue } from "../../data/types.ts";
import { lang, tc, texts, translator } from "../../i18n/index.ts";
import { refusalText } from "../../lib/refusal.ts";
import { jobHref } from "../../lib/jobs.ts";
import { formatQuantity, parseQuantity } from "../../lib/quantity.ts";
import { entriesOf, groupsOfOne, LONE_PODS, type Entry } from "../../lib/queues.ts";
import { Empty, Loading, Problem } from "../../ui/notice.tsx";
import { Said } from "../../ui/said.tsx";
import { toast } from "../../ui/toast.tsx";
import { Icon } from "../../ui/icon.tsx";
import { resourceWord } from "../../ui/state.tsx";
import { STATE_ICON } from "../../ui/state-icons.ts";
import { Ago } from "../../ui/time.tsx";
import { QueueDialog } from "./dialog.tsx";

const t = translator(
  texts({
    zh: {
      title: "队列",
      make: "新建队列",
      edit: "编辑",
      open: "开放",
      close: "关闭",
      isOpen: "开放",
      isClosed: "已关闭",
      priority: "优先级 {n}",
      keeps: "不可被抢占",
      limit: "最长 {time}",
      resource: "资源",
      used: "已分配",
      quota: "配额",
      noQuota: "不限",
      running: "运行中",
      waiting: "等待中",
      resting: "未排队",
      none: "没有队列",
      noSuch: "没有名为 {name} 的队列",
      nothingRuns: "没有运行中的 Job",
      nothingWaits: "没有等待中的 Job",
      place: "顺序",
      job: "Job",
      pods: "Pod",
      since: "创建时间",
      why: "原因",
      failed: "操作失败：{message}",
      closing: "已关闭队列 {name}：不再启动新的 Job，运行中的 Job 不受影响",
      opening: "已开放队列 {name}",
      ownOnly: "仅显示项目 {name} 的 Job",
    },
    en: {
      title: "Queues",
      make: "New queue",
      edit: "Edit",
      open: "Open",
      close: "Close",
      isOpen: "Open",
      isClosed: "Closed",
      priority: "Priority {n}",
      keeps: "cannot be preempted",
      limit: "at most {time}",
      resource: "Resource",
      used: "Allocated",
      quota: "Quota",
      noQuota: "No limit",
      running: "Running",
      waiting: "Waiting",
      resting: "Not in line",
      none: "No queues",
      noSuch: "There is no queue {name}",
      nothingRuns: "No running jobs",
      nothingWaits: "No waiting jobs",
      place: "Place",
      job: "Job",
      pods: "Pods",
      since: "Created",
      why: "Why",
      failed: "Could not do that: {message}",
      closing: "Closed queue {name}: no new jobs start; running jobs continue",
      opening: "Opened queue {name}",
      ownOnly: "showing jobs of project {name} only",
    },
  }),
);

/** Whether this user may change queues: those who may not are shown no buttons. */
function useMayEdit(): boolean {
  const [may, setMay] = useState(false);
  useEffect(() => {
    mayI({
      verb: "update",
      group: QUEUES.group,
      resource: QUEUES.plural,
      namespace: QUEUES.namespace,
    }).then(setMay, () => setMay(false));
  }, []);
  return may;
}

function Shares(props: { queue: Queue }) {
  const quota = props.queue.spec?.quota?.requests ?? {};
  const held = props.queue.status?.allocated ?? {};
  const names = [...new Set([...Object.keys(quota), ...Object.keys(held)])];
  if (!names.length) return <p class="dim">{t("quota") + tc("colon") + t("noQuota")}</p>;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t("resource")}</th>
          <th scope="col">{t("used")}</th>
          <th scope="col">{t("quota")}</th>
          <th scope="col">
            <span class="sr-only">%</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => {
          const most = parseQuantity(quota[name]);
          const used = parseQuantity(held[name]) ?? 0;
          return (
            <tr key={name}>
              <th scope="row">{resourceWord(name)}</th>
              <td class="num">{formatQuantity(name, used)}</td>
              <td class="num">{most === undefined ? t("noQuota") : formatQuantity(name, most)}</td>
              <td>
                {most === undefined ? null : (
                  <meter
                    min={0}
                    max={most || 1}
                    high={(most || 1) * 0.9}
                    value={used}
                    aria-label={`${resourceWord(name)} ${t("used")}`}
                  />
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Subject(props: { entry: Entry }) {
  const { namespace, name, ownerReferences } = props.entry.group.metadata;
  const owner = ownerReferences?.find((one) => one.controller);
  if (!owner || !jobKind(owner.kind))
    return (
      <>
        {namespace}/{name}
      </>
    );
  return (
    <a
      href={jobHref({
        kind: owner.kind,
        metadata: { namespace: namespace ?? "default", name: owner.name },
      })}
    >
      {namespace}/{owner.name}
    </a>
  );
}

function Line(props: { entries: Entry[]; says: "nothing" | "why" | "place and why" }) {
  const waits = props.says === "place and why",
    why = props.says !== "nothing",
    minor = why ? "minor" : ""; // where there is little room the sentence goes first
  if (!props.entries.length) return <p class="dim">{t(waits ? "nothingWaits" : "nothingRuns")}</p>;
  return (
    <table>
      <thead>
        <tr>
          {waits ? <th scope="col">{t("place")}</th> : null}
          <th scope="col">{t("job")}</th>
          <th scope="col" class={minor}>
            {t("priority", { n: "" })}
          </th>
          <th scope="col" class={minor}>
            {t("pods")}
          </th>
          <th scope="col" class={minor}>
            {t("since")}
          </th>
          {why ? <th scope="col">{t("why")}</th> : null}
        </tr>
      </thead>
      <tbody>
        {props.entries.map((entry) => (
          <tr key={entry.group.metadata.uid}>
            {waits ? <td class="num">{entry.place || "-"}</td> : null}
            <td class="who">
              <Subject entry={entry} />
            </td>
            <td class={`num ${minor}`}>{entry.group.spec?.priority ?? 0}</td>
            <td class={`num ${minor}`}>{entry.group.spec?.minMember ?? 1}</td>
            <td class={minor}>
              <Ago time={entry.group.metadata.creationTimestamp} />
            </td>
            {why ? (
              <td>
                <Said text={entry.group.status?.message} />
              </td>
            ) : null}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function QueueCard(props: { queue: Queue; groups: PodGroup[]; may: boolean; onEdit: () => void }) {
  const { queue, may } = props;
  const { name } = queue.metadata;
  const closed = queue.spec?.closed ?? false;
  const { running, waiting, resting } = entriesOf(props.groups, name);
  const turn = (): void => {
    merge(queuePath(name), { spec: { closed: !closed } }).then(
      () => toast(t(closed ? "opening" : "closing", { name })),
      (error: Failure) =>
        toast(t("failed", { message: refusalText(error, lang.value) }), { kind: "error" }),
    );
  };
  return (
    <article class="card wide" aria-label={name}>
      <div class="page-head">
        <h2>
          <a href={`/queues/${encodeURIComponent(name)}`}>{name}</a>{" "}
          <span class={closed ? "state state-failed" : "state state-succeeded"}>
            <Icon of={STATE_ICON[closed ? "stopped" : "succeeded"]} />{" "}
            {t(closed ? "isClosed" : "isOpen")}
          </span>
        </h2>
        <span class="grow" />
        {may ? (
          <span>
            <button type="button" onClick={turn}>
              {t(closed ? "open" : "close")}
            </button>{" "}
            <button type="button" onClick={props.onEdit}>
              {t("edit")}
            </button>
          </span>
        ) : null}
      </div>
      <p>
        <span class="chip">{t("priority", { n: queue.spec?.priority ?? 0 })}</span>{" "}
        {queue.spec?.preemptible === false ? (
          <>
            <span class="chip">{t("keeps")}</span>{" "}
          </>
        ) : null}
        {queue.spec?.maxDuration && queue.spec.maxDuration !== "0" ? (
          <span class="chip">{t("limit", { time: queue.spec.maxDuration })}</span>
        ) : null}
      </p>
      <Shares queue={queue} />
      <h3>
        {t("running")} ({running.length})
      </h3>
      <Line entries={running} says="nothing" />
      <h3>
        {t("waiting")} ({waiting.length})
      </h3>
      <Line entries={waiting} says="place and why" />
      {resting.length ? (
        <>
          <h3>
            {t("resting")} ({resting.length})
          </h3>
          <Line entries={resting} says="why" />
        </>
      ) : null}
    </article>
  );
}

export default function QueuesPage(props: { name: string }) {
  const queues = useLive<Queue>(queuePath());
  const groups = useLive<PodGroup>(podGroupPath(scope.value)).items;
  const pods = useLive<Pod>(corePath("pods", scope.value), LONE_PODS).items;
  const all = useMemo(() => [...groups, ...groupsOfOne(pods)], [groups, pods]);
  const may = useMayEdit();
  const [edited, setEdited] = useState<Queue | "new" | null>(null);
  const shown = queues.items
    .filter((one) => !props.name || one.metadata.name === props.name)
    .sort(
      (a, b) =>
        (b.spec?.priority ?? 0) - (a.spec?.priority ?? 0) ||
        (a.metadata.name < b.metadata.name ? -1 : 1),
    );
  return (
    <section>
      <div class="page-head">
        <h1>{t("title")}</h1>
        {props.name ? <a href="/queues">{tc("all")}</a> : null}
        {scope.value ? <span class="dim">{t("ownOnly", { name: scope.value })}</span> : null}
        <span class="grow" />
        {may ? (
          <button type="button" class="primary" onClick={() => setEdited("new")}>
            {t("make")}
          </button>
        ) : null}
      </div>
      {edited ? (
        <QueueDialog
          queue={edited === "new" ? undefined : edited}
          onClose={() => setEdited(null)}
        />
      ) : null}
      {queues.failure ? (
        <Problem failure={queues.failure} />
      ) : !queues.loaded ? (
        <Loading />
      ) : !shown.length ? (
        <Empty title={props.name ? t("noSuch", { name: props.name }) : t("none")} />
      ) : (
        <div class="stack">
          {shown.map((one) => (
            <QueueCard
              key={one.metadata.uid}
              queue={one}
              groups={all}
              may={may}
              onEdit={() => setEdited(one)}
            />
          ))}
        </div>
      )}
    </section>
  );
}
