// One Notebook or TensorBoard: its state, conditions, events, and the log of its program.
import { appPage, type App } from "../../data/apps.ts";
import { corePath, kindPath, NOTEBOOKS, TENSORBOARDS } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { Event, Pod } from "../../data/types.ts";
import { tc, texts, translator } from "../../i18n/index.ts";
import { lazy } from "../../lazy.tsx";
import { CliLine } from "../../ui/cli.tsx";
import { Empty, Loading, Problem } from "../../ui/notice.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { ConditionTable } from "../job/conditions.tsx";
import { EventTable } from "../job/events.tsx";
import type { TabProps } from "../job/job.tsx";
import { AppActions, AppState } from "./apps.tsx";
import "../../style/job.css";

const Logs = lazy<TabProps>(() => import("../../logs/logs.tsx"));

const t = translator(
  texts({
    zh: {
      overview: "概览",
      logs: "日志",
      conditions: "状况",
      events: "事件",
      more: "更多",
      ssh: "SSH",
      sshHere: "在本机上",
      sshElsewhere: "在其他机器上，先转发端口",
      notThere: "没有 {name}：它可能已被删除。",
    },
    en: {
      overview: "Overview",
      logs: "Logs",
      conditions: "Conditions",
      events: "Events",
      more: "More",
      ssh: "SSH",
      sshHere: "on this machine",
      sshElsewhere: "from elsewhere, with this port forwarded",
      notThere: "There is no {name}: it may have been deleted.",
    },
  }),
);

/** The names are the API's own: nothing in them needs quoting. */
function Ssh(props: { app: App }) {
  const { app } = props;
  const ssh = app.status?.ssh;
  const ready = app.status?.conditions?.some(
    (one) => one.type === "SshReady" && one.status === "True",
  );
  if (!ssh?.port || !ready) return null;
  const forward = `kubectl -n ${app.metadata.namespace} port-forward service/${ssh.serviceName} ${ssh.port}`;
  return (
    <>
      <h2>{t("ssh")}</h2>
      <CliLine line={`ssh -p ${ssh.port} t9kuser@127.0.0.1`} label={t("sshHere")} />
      <CliLine line={forward} label={t("sshElsewhere")} />
    </>
  );
}

function Overview(props: { app: App; pods: Pod[] }) {
  const { app } = props;
  const live = useLive<Event>(corePath("events", app.metadata.namespace));
  const uids = new Set([app.metadata.uid, ...props.pods.map((pod) => pod.metadata.uid)]);
  return (
    <>
      <Ssh app={app} />
      <h2>{t("conditions")}</h2>
      <div class="scroll-x" tabIndex={0} role="region" aria-label={t("conditions")}>
        <ConditionTable conditions={app.status?.conditions ?? []} />
      </div>
      <h2>{t("events")}</h2>
      <EventTable
        events={live.items.filter((one) => uids.has(one.involvedObject.uid ?? ""))}
        withObject
      />
    </>
  );
}

export default function AppPage(props: { plural: string; ns: string; name: string; tab: string }) {
  const kind = props.plural === NOTEBOOKS.plural ? NOTEBOOKS : TENSORBOARDS;
  const { items, loaded, failure } = useLive<App>(kindPath(kind, props.ns));
  const app = items.find((one) => one.metadata.name === props.name);
  const pods = useLive<Pod>(corePath("pods", props.ns)).items.filter((pod) =>
    pod.metadata.ownerReferences?.some((one) => one.uid === app?.metadata.uid),
  );
  const title = tc(kind === NOTEBOOKS ? "notebooks" : "tensorboards");
  if (failure) return <Problem failure={failure} />;
  if (!loaded) return <Loading />;
  if (!app)
    return (
      <Empty title={tc("notFound")}>
        <p>{t("notThere", { name: props.name })}</p>
        <a href={`/${kind.plural}`}>{title}</a>
      </Empty>
    );
  const at = appPage(kind, app);
  return (
    <section class="job">
      <nav class="crumbs" aria-label="breadcrumb">
        <a href={`/${kind.plural}`}>{title}</a> › <span aria-current="page">{props.name}</span>
      </nav>
      <div class="page-head">
        <h1>{props.name}</h1>
        <AppState app={app} />
        <span class="grow" />
        <AppActions app={app} kind={kind} label={`${t("more")} ${props.name}`} />
      </div>
      <Tabs
        name={props.name}
        current={props.tab}
        tabs={[
          { id: "", label: t("overview"), href: at },
          { id: "logs", label: t("logs"), href: `${at}/logs` },
        ]}
      />
      <div class="tab-body">
        {props.tab === "logs" ? (
          <Logs job={app} pods={pods} rest="" />
        ) : (
          <Overview app={app} pods={pods} />
        )}
      </div>
    </section>
  );
}
