// Why a job failed, in words: which replica, how it ended, and what usually helps. Pure.
import type { Job, Pod } from "../data/types.ts";

export interface Ending {
  pod: Pod;
  container: string;
  code: number;
  reason: string;
  message: string;
  finishedAt: string;
}

/** How the containers of a pod ended badly. */
function endings(pod: Pod): Ending[] {
  return (pod.status?.containerStatuses ?? []).flatMap((one) => {
    const end = one.state?.terminated ?? one.lastState?.terminated;
    if (!end || end.exitCode === 0) return [];
    return [{ pod, container: one.name, code: end.exitCode, reason: end.reason ?? "", message: end.message ?? "", finishedAt: end.finishedAt ?? "" }];
  });
}

/** The ending that came first is the cause; those after it are mostly its consequences. */
export function firstEnding(pods: Pod[]): Ending | null {
  const all = pods.flatMap(endings).sort((a, b) => (a.finishedAt < b.finishedAt ? -1 : a.finishedAt > b.finishedAt ? 1 : a.pod.metadata.name < b.pod.metadata.name ? -1 : 1));
  return all[0] ?? null;
}

export type ExitWord = "exit0" | "exit1" | "exit2" | "exit126" | "exit127" | "exit130" | "exit134" | "exit137" | "exit139" | "exit143" | "exitSignal" | "exitOther";

const KNOWN = new Set([0, 1, 2, 126, 127, 130, 134, 137, 139, 143]);

export function exitWord(code: number): ExitWord {
  if (KNOWN.has(code)) return `exit${code}` as ExitWord;
  return code > 128 && code < 193 ? "exitSignal" : "exitOther";
}

export type Tip = "tipOom" | "tipNotFound" | "tipModule" | "tipNccl" | "tipFile" | "tipCuda" | "tipPort" | "tipGeneral";

// The first that fits counts: the more telling ones stand first.
const TIPS: readonly [RegExp, Tip][] = [
  [/CUDA out of memory|torch\.cuda\.OutOfMemoryError/i, "tipCuda"],
  [/OOMKilled|out of memory|MemoryError|Cannot allocate memory/i, "tipOom"],
  [/ModuleNotFoundError|No module named|ImportError/i, "tipModule"],
  [/Address already in use|EADDRINUSE/i, "tipPort"],
  [/command .* not found|not found in PATH|cannot run command/i, "tipNotFound"],
  [/FileNotFoundError|No such file or directory|can't open file/i, "tipFile"],
  [/NCCL|gloo|c10d|Connection (reset|refused|closed)|Broken pipe|socket/i, "tipNccl"],
];

export function tipFor(code: number, text: string): Tip {
  for (const [pattern, tip] of TIPS) if (pattern.test(text)) return tip;
  return code === 137 ? "tipOom" : code === 127 ? "tipNotFound" : "tipGeneral";
}

/** The sentence the controller gave, or what the conditions say. */
export function sentenceOf(job: Job): string {
  const failed = job.status?.conditions?.find((one) => one.type === "Failed" && one.status === "True");
  return job.status?.message ?? failed?.message ?? "";
}
