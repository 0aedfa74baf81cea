// Why a job waits, in the reader's language. The scheduler's sentences are few; one that is not known stays as it is. Pure.
import type { Job } from "../data/types.ts";

const ZH: readonly [RegExp, (found: RegExpExecArray) => string][] = [
  [/^waiting for a node: none is ready$/, () => "等待节点：没有就绪的节点"],
  [/^can never fit: asks (.+), the node has (.+)$/, ([, asks, has]) => `永远放不下：请求 ${asks}，节点只有 ${has}`],
  [/^can never fit: asks (.+), the (\d+) nodes together have (.+)$/, ([, asks, n, has]) => `永远放不下：请求 ${asks}，${n} 个节点共有 ${has}`],
  [/^can never fit: no node is made for a pod of (.+)$/, ([, pod]) => `永远放不下：没有节点能容纳 ${pod} 的 Pod`],
  [/^waiting for resources: needs (.+), (.+) of (.+) is free(.*)$/, ([, needs, free, all, rest]) => `等待资源：需要 ${needs}，共 ${all}，空闲 ${free}${holders(rest ?? "")}`],
  [/^waiting for resources: no node has room for a pod of (.+) at the moment$/, ([, pod]) => `等待资源：目前没有节点能容纳 ${pod} 的 Pod`],
  [/^waiting for its turn: number (\d+) in line behind (.+) "(.+)"$/, ([, n, , name]) => `排队等待：第 ${n} 位，前面是“${name}”`],
  [/^waiting for a MASTER_PORT: .*$/, () => "等待端口：可用作 MASTER_PORT 的端口都已分配给其它 Job"],
];

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
