// The machines: what they have, what of it is taken and by whom.
import { useMemo } from "preact/hooks";
import { corePath, jobKind } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import type { Node, Pod } from "../../data/types.ts";
import { tc, texts, translator } from "../../i18n/index.ts";
import { lazy } from "../../lazy.tsx";
import { jobHref } from "../../lib/jobs.ts";
import { asked, byName, isHolding } from "../../lib/nodes.ts";
import { formatQuantity, parseQuantity } from "../../lib/quantity.ts";
import { Empty, Loading, Problem } from "../../ui/notice.tsx";
import { Icon } from "../../ui/icon.tsx";
import { resourceWord } from "../../ui/state.tsx";
import { STATE_ICON } from "../../ui/state-icons.ts";
import { Ago } from "../../ui/time.tsx";

const t = translator(
  texts({
    zh: {
      title: "节点",
      ready: "就绪",
      notReady: "未就绪",
      resource: "资源",
      used: "已分配",
      allocatable: "可分配",
      free: "空闲",
      pods: "正在使用资源的 Pod",
      gpu: "GPU",
      none: "没有节点",
      joined: "加入于",
    },
    en: {
      title: "Nodes",
      ready: "Ready",
      notReady: "Not ready",
      resource: "Resource",
      used: "Allocated",
      allocatable: "Allocatable",
      free: "Free",
      pods: "Pods that hold resources",
      gpu: "GPU",
      none: "No nodes",
      joined: "joined",
    },
  }),
);

const NodeCharts = lazy<{ name: string }>(() => import("./charts.tsx"));

function NodeCard(props: { node: Node; pods: Pod[] }) {
  const { node } = props;
  const used = asked(props.pods);
  const shown = Object.keys(used);
  const ready = node.status?.conditions?.find((one) => one.type === "Ready");
  return (
    <article class="card">
      <h2>
        <a href={`/nodes/${encodeURIComponent(node.metadata.name)}`}>{node.metadata.name}</a>{" "}
        <span class={ready?.status === "True" ? "state state-succeeded" : "state state-failed"}>
          <Icon of={STATE_ICON[ready?.status === "True" ? "succeeded" : "failed"]} />{" "}
          {t(ready?.status === "True" ? "ready" : "notReady")}
        </span>
      </h2>
      <p class="dim">
        {node.status?.nodeInfo?.["kernelVersion"]} · {node.status?.nodeInfo?.["osImage"]} ·{" "}
        {t("joined")} <Ago time={node.metadata.creationTimestamp} />
      </p>
      <div class="scroll-x">
        <table>
          <thead>
            <tr>
              <th scope="col">{t("resource")}</th>
              <th scope="col">{t("used")}</th>
              <th scope="col">{t("allocatable")}</th>
              <th scope="col">
                <span class="sr-only">%</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(node.status?.allocatable ?? {})
              .filter(([name, text]) => name !== "pods" && (parseQuantity(text) || used[name]))
              .map(([name, text]) => {
                const all = parseQuantity(text) ?? 0;
                const taken = used[name] ?? 0;
                return (
                  <tr key={name}>
                    <th scope="row">{resourceWord(name)}</th>
                    <td class="num">{formatQuantity(name, taken)}</td>
                    <td class="num">{formatQuantity(name, all)}</td>
                    <td>
                      <meter
                        min={0}
                        max={all || 1}
                        value={taken}
                        aria-label={`${resourceWord(name)} ${t("used")}`}
                      />
                    </td>
                  </tr>
                );
              })}
          </tbody>
        </table>
      </div>
      <NodeCharts name={node.metadata.name} />
      <h3>{t("pods")}</h3>
      {props.pods.length ? (
        <div class="scroll-x">
          <table>
            <thead>
              <tr>
                <th scope="col">Pod</th>
                {shown.map((name) => (
                  <th key={name} scope="col">
                    {resourceWord(name)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {[...props.pods].sort(byName).map((pod) => {
                const holds = asked([pod]);
                return (
                  <tr key={pod.metadata.uid}>
                    <td class="mono">
                      {pod.metadata.namespace}/{podLink(pod)}
                    </td>
                    {shown.map((name) => (
                      <td key={name} class="num">
                        {holds[name] ? formatQuantity(name, holds[name]) : "-"}
                      </td>
                    ))}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      ) : (
        <p class="dim">{tc("none")}</p>
      )}
    </article>
  );
}

/** A pod of a job leads to its log. */
function podLink(pod: Pod) {
  const owner = pod.metadata.ownerReferences?.find((one) => one.controller);
  if (!owner || !jobKind(owner.kind)) return pod.metadata.name;
  const job = {
    kind: owner.kind,
    metadata: { namespace: pod.metadata.namespace ?? "default", name: owner.name },
  };
  return (
    <a href={`${jobHref(job, "logs")}?replica=${encodeURIComponent(pod.metadata.name)}`}>
      {pod.metadata.name}
    </a>
  );
}

export default function NodesPage(props: { name: string }) {
  const nodes = useLive<Node>(corePath("nodes"));
  const pods = useLive<Pod>(corePath("pods"));
  const byNode = useMemo(() => {
    const map = new Map<string, Pod[]>();
    for (const pod of pods.items) {
      const name = pod.spec?.nodeName;
      if (name && isHolding(pod)) map.set(name, [...(map.get(name) ?? []), pod]);
    }
    return map;
  }, [pods.items]);
  const shown = nodes.items.filter((node) => !props.name || node.metadata.name === props.name);
  return (
    <section>
      <div class="page-head">
        <h1>{t("title")}</h1>
        {props.name ? <a href="/nodes">{tc("all")}</a> : null}
      </div>
      {nodes.failure ? (
        <Problem failure={nodes.failure} />
      ) : !nodes.loaded ? (
        <Loading />
      ) : !shown.length ? (
        <Empty title={t("none")} />
      ) : (
        <div class={shown.length > 1 ? "cards" : ""}>
          {shown.map((node) => (
            <NodeCard
              key={node.metadata.uid}
              node={node}
              pods={byNode.get(node.metadata.name) ?? []}
            />
          ))}
        </div>
      )}
    </section>
  );
}
