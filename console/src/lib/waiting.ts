// Why a job waits, in the reader's language. The scheduler's sentences are few; one that is not
// known stays as it is. Pure.
import type { Job } from "../data/types.ts";

const ZH: readonly [RegExp, (found: RegExpExecArray) => string][] = [
  [/^waiting for a node: none is ready$/, () => "等待节点：没有就绪的节点"],
  [
    /^can never fit: asks (.+), the quota of queue "(.+)" is (.+)$/,
    ([, asks, queue, quota]) =>
      `无法调度：资源不足：请求 ${asks}，队列“${queue}”的配额只有 ${quota}`,
  ],
  [
    /^can never fit: no node has the labels of the nodeSelector: (.+)$/,
    ([, labels]) => `无法调度：没有节点带有 nodeSelector 要求的标签 ${labels}`,
  ],
  [
    /^can never fit: no node offers enough (.+)$/,
    ([, what]) => `无法调度：资源不足：没有节点提供足够的 ${what}`,
  ],
  [
    /^can never fit: no node has the label "(.+)", the topologyKey of its topologySpreadConstraints$/,
    ([, key]) => `无法调度：没有节点带有 topologySpreadConstraints 的 topologyKey 标签 ${key}`,
  ],
  [
    /^can never fit: there is enough in all, but .*: the largest pod asks (.+?) \(what helps: (.+)\)$/,
    ([, pod, helps]) =>
      `无法调度：资源总量足够，但没有节点能同时容纳它的 Pod，最大的请求 ${pod}（${remedy(helps ?? "")}）`,
  ],
  [
    /^can never fit: (.+?)(?: \(what helps: (.+)\))?$/,
    ([, short, helps]) =>
      `无法调度：资源不足：${(short ?? "").split("; ").map(shortage).join("；")}${helps ? `（${remedy(helps)}）` : ""}`,
  ],
  [
    /^waiting for resources: needs (.+), (.+) of (.+) is free(.*)$/,
    ([, needs, free, all, rest]) =>
      `等待资源：需要 ${needs}，共 ${all}，空闲 ${free}${holders(rest ?? "")}`,
  ],
  [
    /^waiting for resources: no node has room for a pod of (.+) at the moment(.*)$/,
    ([, pod, rest]) => `等待资源：目前没有节点能容纳 ${pod} 的 Pod${pieces(rest ?? "")}`,
  ],
  [
    /^waiting for resources: there is room for (\S+) of (\S+) pods, the largest of (.+?)(;.*)?$/,
    ([, fit, needs, pod, rest]) =>
      `等待资源：需要的 ${needs} 个 Pod 中只能容纳 ${fit} 个，最大的请求 ${pod}${pieces(rest ?? "")}`,
  ],
  [
    /^waiting for resources: what is free is kept for (?:\S+ "(.+)", which is|others) before it in line(?:; number (\d+) in line)?.*$/,
    ([, name, n]) =>
      `等待资源：空闲的资源留给了排在前面的${name ? `“${name}”` : "其它 Job"}${n ? `；排第 ${n} 位` : ""}`,
  ],
  [
    /^waiting for room on (?:node "(.+?)", (which its nodeName names)?|(.+?) )?.*where it needs (.+), and (.+) of (.+) is free(.*)$/,
    ([, node, named, other, needs, free, all, rest]) =>
      `等待节点 ${node ?? other} 上的资源（${named ? "由 nodeName 指定" : "唯一可以运行的节点"}）：需要 ${needs}，共 ${all}，空闲 ${free}${holders((rest ?? "").replace(" there", ""))}`,
  ],
  [
    /^waiting for node (\S+), which is cordoned \(kubectl uncordon \S+\)$/,
    ([, node]) => `等待节点 ${node}，它已停止调度（kubectl uncordon ${node}）`,
  ],
  [
    /^waiting for nodes that are cordoned(?:: (\S+) and (\d+) more \(kubectl uncordon \S+\))?$/,
    ([, node, more]) =>
      node
        ? `等待已停止调度的节点：${node}、另外 ${more} 个节点（kubectl uncordon ${node}）`
        : "等待已停止调度的节点",
  ],
  [/^waiting for (\d+) of its own pods to stop$/, ([, n]) => `等待自己的 ${n} 个 Pod 停止`],
  [
    /^waiting for (\d+) pod\w* of \S+ "(.+?)"(?: and (\d+) of others)?.* to stop(?:; number (\d+) in line)?.*$/,
    ([, n, name, others, place]) =>
      `等待“${name}”的 ${n} 个 Pod${others ? `、另外 ${others} 个 Pod ` : " "}停止${place ? `；排第 ${place} 位` : ""}`,
  ],
  [
    /^waiting for other pods: where there is room .* forbid it to run(?:; number (\d+) in line)?.*$/,
    ([, n]) =>
      `等待其它 Pod：在有空闲资源的节点上，Pod 亲和性、反亲和性或 topologySpreadConstraints 不允许它运行${n ? `；排第 ${n} 位` : ""}`,
  ],
  [
    /^waiting for its turn: more than (\d+) are in line before it$/,
    ([, n]) => `排队等待：前面超过 ${n} 个`,
  ],
  [
    /^waiting for its turn: number (\d+) in line, needs (.+), (.+) of (.+) is free(.*)$/,
    ([, n, needs, free, all, rest]) =>
      `排队等待：第 ${n} 位；需要 ${needs}，共 ${all}，空闲 ${free}${holders(rest ?? "")}`,
  ],
  [
    /^waiting for its turn: number (\d+) in line of queue "(.+)"$/,
    ([, n, queue]) => `排队等待：队列“${queue}”中第 ${n} 位`,
  ],
  [/^waiting for the quota of queue "([^"]+)"$/, ([, queue]) => `等待队列“${queue}”的配额`],
  [
    /^waiting for its PodGroup: there is none named "(.+)" in namespace (.+)$/,
    ([, name, ns]) => `等待 PodGroup：项目 ${ns} 中没有名为“${name}”的 PodGroup`,
  ],
  [
    /^no pod has joined it: pods join by the label (\S+: \S+)$/,
    ([, label]) => `还没有 Pod 加入：Pod 以标签 ${label} 加入`,
  ],
  [/^its pods have ended$/, () => "其 Pod 都已结束"],
  [/^its job is paused$/, () => "其 Job 已暂停"],
  [
    /^it ran longer than maxDuration \((.*)\) of queue "(.+)"$/,
    ([, limit, queue]) => `运行时间超过了队列“${queue}”的 maxDuration（${limit}）`,
  ],
  [
    /^waiting for pods: (\d+) of (\d+) are there$/,
    ([, there, all]) => `等待 Pod：共需 ${all} 个，已有 ${there} 个`,
  ],
  [
    /^waiting for the quota of queue "(.+)": needs (.+), (\S+)(?: of (.+) is in use| is in use, more than its (.+))$/,
    ([, queue, needs, used, of, its]) =>
      `等待队列“${queue}”的配额：需要 ${needs}，共 ${of ?? its}，已用 ${used}`,
  ],
  [
    /^there is no queue "(.+)" in namespace .+$/,
    ([, queue]) => `队列“${queue}”不存在：可用 muster queue create ${queue} 创建`,
  ],
  [
    /^queue "(.+)" is closed: nothing new is started until .*$/,
    ([, queue]) => `队列“${queue}”已关闭：可用 muster queue open ${queue} 打开`,
  ],
  [
    /^namespace (.+) may not use queue "(.+)": .*$/,
    ([, ns, queue]) => `项目 ${ns} 无权使用队列“${queue}”`,
  ],
  [
    /^waiting for its turn: number (\d+) in line behind (.+) "(.+)"$/,
    ([, n, , name]) => `排队等待：第 ${n} 位，前面是“${name}”`,
  ],
  [
    /^waiting for a MASTER_PORT: .*$/,
    () => "等待端口：可用作 MASTER_PORT 的端口都已分配给其它 Job",
  ],
];

function shortage(one: string): string {
  const found =
    /^(a pod )?asks (.+?), (?:the node has|the (\d+) nodes together have|the largest node has|node "(.+?)", .+, has) (.+)$/.exec(
      one,
    );
  if (!found) return one;
  const [, pod, asks, nodes, only, has] = found;
  return `${pod ? "单个 Pod " : ""}请求 ${asks}，${only ? `唯一可以运行的节点 ${only} 只有` : nodes ? `${nodes} 个节点共有` : pod ? "最大的节点只有" : "节点只有"} ${has}`;
}

function remedy(helps: string): string {
  const options = /muster up with (.+)$/.exec(helps)?.[1];
  const said = options
    ?.replace("--gpus if the machine has more", "--gpus（若本机还有 GPU）")
    .replace(/, | or /g, "、");
  return `可以减少请求量或副本数${said ? `，或以 ${said} 启动 muster up` : ""}`;
}

/** "; 8 of 20 CPU is free, at most 5 on one node", and who holds the rest. */
function pieces(rest: string): string {
  const found = /^; (\S+) of (.+) is free, at most (\S+) on one node(.*)$/.exec(rest);
  return found
    ? `；共 ${found[2]}，空闲 ${found[1]}，单个节点最多空闲 ${found[3]}${holders(found[4] ?? "")}`
    : holders(rest);
}

function holders(rest: string): string {
  const place = /^; number (\d+) in line$/.exec(rest);
  if (place) return `；排第 ${place[1]} 位`;
  const found =
    /^; (.+) "(.+)"(?: \(queue (.+?)\))? holds (.+?)(?: until (.+) at the latest)?(?:, (\d+) more holds? the rest)?(?:; number (\d+) in line)?$/.exec(
      rest,
    );
  if (!found) return rest;
  const until = found[5] ? `，最迟到 ${found[5]}` : "",
    others = found[6] ? `，其余由另外 ${found[6]} 个占用` : "";
  return `；“${found[2]}”${found[3] ? `（队列 ${found[3]}）` : ""}占用 ${found[4]}${until}${others}${found[7] ? `；排第 ${found[7]} 位` : ""}`;
}

export function waitingText(message: string, lang: "zh" | "en"): string {
  const cordoned =
    lang === "zh" &&
    /; node (\S+?)(?: and (\d+) more)? (?:is|are) cordoned \(kubectl uncordon \S+\)/.exec(message);
  if (cordoned)
    return `${waitingText(message.replace(cordoned[0], ""), lang)}；节点 ${cordoned[1]}${cordoned[2] ? `、另外 ${cordoned[2]} 个节点` : ""}已停止调度（kubectl uncordon ${cordoned[1]}）`;
  if (lang === "zh")
    for (const [pattern, say] of ZH) {
      const found = pattern.exec(message);
      if (found) return say(found);
    }
  return message;
}

/** The place in the queue; undefined when it is not the turn that it waits for. */
export function queuePosition(job: Job): number | undefined {
  const found = /number (\d+) in line/.exec(job.status?.message ?? "");
  return found ? Number(found[1]) : undefined;
}
