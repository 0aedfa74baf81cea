// Why a job waits, in the reader's language. The scheduler's sentences are few; one that is not known stays as it is. Pure.
import type { Job } from "../data/types.ts";

const ZH: readonly [RegExp, (found: RegExpExecArray) => string][] = [
  [/^waiting for a node: none is ready$/, () => "等待节点：没有就绪的节点"],
  [/^can never fit: no node has the labels of the nodeSelector: (.+)$/, ([, labels]) => `永远放不下：没有节点带有 nodeSelector 要求的标签 ${labels}`],
  [/^can never fit: its pods together fit on no nodes, the largest asks (.+)$/, ([, pod]) => `永远放不下：没有节点能同时容纳它的 Pod，最大的请求 ${pod}`],
  [/^can never fit: (.+?)(?: \(what helps: (.+)\))?$/, ([, short, helps]) => `永远放不下：${(short ?? "").split("; ").map(shortage).join("；")}${helps ? `（${remedy(helps)}）` : ""}`],
  [/^waiting for resources: needs (.+), (.+) of (.+) is free(.*)$/, ([, needs, free, all, rest]) => `等待资源：需要 ${needs}，共 ${all}，空闲 ${free}${holders(rest ?? "")}`],
  [/^waiting for resources: no node has room for a pod of (.+) at the moment$/, ([, pod]) => `等待资源：目前没有节点能容纳 ${pod} 的 Pod`],
  [/^waiting for its turn: number (\d+) in line behind (.+) "(.+)"$/, ([, n, , name]) => `排队等待：第 ${n} 位，前面是“${name}”`],
  [/^waiting for a MASTER_PORT: .*$/, () => "等待端口：可用作 MASTER_PORT 的端口都已分配给其它 Job"],
];

function shortage(one: string): string {
  const found = /^(a pod )?asks (.+), (?:the node has|the (\d+) nodes together have|the largest node has) (.+)$/.exec(one);
  if (!found) return one;
  const [, pod, asks, nodes, has] = found;
  return `${pod ? "单个 Pod " : ""}请求 ${asks}，${nodes ? `${nodes} 个节点共有` : pod ? "最大的节点只有" : "节点只有"} ${has}`;
}

function remedy(helps: string): string {
  return `可以减少请求量或副本数${helps.includes("--overcommit") ? "，或以 --overcommit、--cpus、--memory 启动 muster up" : ""}`;
}

function holders(rest: string): string {
  const found = /^; (.+) "(.+)" holds (.+?)(?:, (\d+) more hold the rest)?$/.exec(rest);
  return found ? `；“${found[2]}”占用 ${found[3]}${found[4] ? `，其余由另外 ${found[4]} 个占用` : ""}` : rest;
}

export function waitingText(message: string, lang: "zh" | "en"): string {
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
