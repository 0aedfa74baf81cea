// One job: what it is doing, why, and its tabs. Each tab has an address of its own.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Failure } from "../../data/api.ts";
import { mayJob, setPaused, useJob } from "../../data/jobs.ts";
import { corePath, OWNER_LABEL, shortKind } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { Job, Pod } from "../../data/types.ts";
import { lang, tc, translator } from "../../i18n/index.ts";
import { refusalText } from "../../lib/refusal.ts";
import { jobTexts } from "../../i18n/job.ts";
import { lazy } from "../../lazy.tsx";
import { isPaused, jobHref, ranMs } from "../../lib/jobs.ts";
import { isOver, stateOfJob } from "../../lib/state.ts";
import { duration, now } from "../../lib/time.ts";
import { backToList, navigate } from "../../router.ts";
import { showState } from "../../tabicon.ts";
import { CliDialog } from "../../ui/cli-dialog.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Empty, Loading, Problem } from "../../ui/notice.tsx";
import { Star } from "../../ui/star.tsx";
import { JobMark } from "../../ui/state.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { toast } from "../../ui/toast.tsx";
import { RemoveDialog } from "../jobs/remove.tsx";
import { Lineage } from "./lineage.tsx";
import { Overview } from "./overview.tsx";
import { Remarks, RemarksButton } from "./remarks.tsx";
import { Replicas } from "./replicas.tsx";
import { Why } from "./why.tsx";
import "../../style/job.css";

const t = translator(jobTexts);

/** What every tab gets. Pods are those of the job, in the order of their ranks. */
export interface TabProps {
  job: Job;
  pods: Pod[];
  rest: string; // what follows the tab in the path
}

const Logs = lazy<TabProps>(() => import("../../logs/logs.tsx"));
const Metrics = lazy<TabProps>(() => import("../../metrics/metrics.tsx"));
const Training = lazy<TabProps>(() => import("../../curves/training.tsx"));
const Yaml = lazy<TabProps>(() => import("./yaml.tsx"));
const Terminal = lazy<TabProps>(() => import("../../terminal/terminal.tsx"));

function byRank(a: Pod, b: Pod): number {
  const role = (pod: Pod): string => pod.metadata.labels?.["replica-type"] ?? "";
  const index = (pod: Pod): number => Number(pod.metadata.labels?.["replica-index"] ?? 0);
  return role(a).localeCompare(role(b)) || index(a) - index(b);
}

function usePods(job: Job | null, ns: string, name: string): Pod[] {
  const live = useLive<Pod>(
    corePath("pods", ns),
    `labelSelector=${encodeURIComponent(`${OWNER_LABEL}=${name}`)}`,
  );
  const uid = job?.metadata.uid;
  return live.items
    .filter((pod) => pod.metadata.ownerReferences?.some((one) => one.uid === uid))
    .sort(byRank);
}

/** The tab of the browser shows the state. */
function useTitle(job: Job | null, name: string): void {
  useEffect(() => {
    showState(job ? stateOfJob(job) : null, name);
    return () => showState(null, tc("product"));
  }, [job?.status?.phase, name]);
}

function Actions(props: { job: Job }) {
  const { job } = props;
  const [removing, setRemoving] = useState(false);
  const [showCli, setShowCli] = useState(false);
  const paused = isPaused(job);
  const pause = (): void => {
    setPaused(job, !paused).then(
      () => undefined,
      (error: Failure) =>
        toast(tc("requestFailed", { message: refusalText(error, lang.value) }), { kind: "error" }),
    );
  };
  const from = encodeURIComponent(`${job.metadata.namespace}/${job.metadata.name}`);
  return (
    <div class="actions">
      {!isOver(job) ? (
        mayJob("patch", job) ? (
          <button type="button" title={t("stopTitle")} onClick={pause}>
            {t(paused ? "resume" : "pause")}
          </button>
        ) : null
      ) : mayJob("create", job) ? (
        <a class="button" href={`/jobs/new?kind=${job.kind}&from=${from}&rerun=1`}>
          {t("rerun")}
        </a>
      ) : null}
      <Menu
        label="⋯"
        name={t("more")}
        items={[
          ...(mayJob("create", job)
            ? [{ label: t("clone"), href: `/jobs/new?kind=${job.kind}&from=${from}` }]
            : []),
          { label: t("yamlTab"), href: jobHref(job, "yaml") },
          { label: t("cliTitle"), onSelect: () => setShowCli(true) },
          ...(mayJob("delete", job)
            ? [{ label: t("remove"), danger: true, onSelect: () => setRemoving(true) }]
            : []),
        ]}
      />
      {showCli ? <CliDialog job={job} onClose={() => setShowCli(false)} /> : null}
      {removing ? (
        <RemoveDialog
          jobs={[job]}
          onClose={() => setRemoving(false)}
          onDone={() => navigate(backToList())}
        />
      ) : null}
    </div>
  );
}

function Body(props: TabProps & { tab: string }) {
  switch (props.tab) {
    case "":
      return <Overview {...props} />;
    case "replicas":
      return <Replicas {...props} />;
    case "logs":
      return <Logs {...props} />;
    case "metrics":
      return <Metrics {...props} />;
    case "training":
      return <Training {...props} />;
    case "yaml":
      return <Yaml {...props} />;
    case "terminal":
      return <Terminal {...props} />;
    default:
      return <Empty title={tc("notFound")} />;
  }
}

function useTabKeys(job: Job | null): void {
  useLayoutEffect(() => {
    if (!job) return;
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        target.isContentEditable ||
        /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
        target.closest("dialog,.xterm,[role=menu]")
      )
        return;
      const tab = (
        { l: "logs", y: "yaml", t: "terminal", r: "replicas", m: "metrics", o: "" } as Record<
          string,
          string
        >
      )[event.key];
      if (tab !== undefined) navigate(jobHref(job, tab));
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [job?.metadata.uid]);
}

export default function JobPage(props: { ns: string; kind: string; name: string; rest: string }) {
  const { job, loaded, failure } = useJob(props.kind, props.ns, props.name);
  const pods = usePods(job, props.ns, props.name);
  useTitle(job, props.name);
  useTabKeys(job);
  const [tab = "", ...more] = props.rest.split("/");
  if (failure && !job) return <Problem failure={failure} />;
  if (!loaded) return <Loading />;
  if (!job)
    return (
      <Empty title={tc("notFound")}>
        <p>{t("notThere", { name: props.name })}</p>
        <a href={backToList()}>{t("back")}</a>
      </Empty>
    );
  const ran = ranMs(job, isOver(job) ? 0 : now.value);
  return (
    <section class="job">
      <nav class="crumbs" aria-label="breadcrumb">
        <a href={backToList()}>{tc("jobs")}</a> ›{" "}
        <span aria-current="page">{job.metadata.name}</span>
      </nav>
      <div class="page-head">
        <h1>{job.metadata.name}</h1>
        <Star job={job} />
        <RemarksButton job={job} />
        <span class="dim" title={job.kind}>
          {shortKind(job.kind)}
        </span>
        <span aria-live="polite">
          <JobMark job={job} />
        </span>
        {ran === undefined ? null : <span class="num dim">{duration(ran)}</span>}
        <span class="grow" />
        <Actions job={job} />
      </div>
      <Remarks job={job} />
      <Why job={job} pods={pods} />
      <Tabs
        name={job.metadata.name}
        current={tab}
        tabs={[
          { id: "", label: t("overviewTab"), href: jobHref(job) },
          { id: "replicas", label: t("replicasTab"), href: jobHref(job, "replicas") },
          { id: "logs", label: t("logsTab"), href: jobHref(job, "logs") },
          {
            id: "metrics",
            label: t(job.kind === "MPIJob" ? "metricsTabMpi" : "metricsTab"),
            href: jobHref(job, "metrics"),
          },
          { id: "training", label: t("trainingTab"), href: jobHref(job, "training") },
          { id: "yaml", label: t("yamlTab"), href: jobHref(job, "yaml") },
          { id: "terminal", label: t("terminalTab"), href: jobHref(job, "terminal") },
        ]}
      />
      <div class="tab-body">
        <Body job={job} pods={pods} tab={tab} rest={more.join("/")} />
        {tab === "" ? <Lineage job={job} /> : null}
      </div>
    </section>
  );
}
