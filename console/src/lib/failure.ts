// Why a job failed, in words: which replica, how it ended, and what usually helps. Pure.
import type { Job, JobFailure, Pod } from "../data/types.ts";
import { failureTexts } from "../i18n/failure.ts";
import { inLang, type Lang } from "../i18n/index.ts";
import { say } from "./say.ts";
import { isOver } from "./state.ts";

const wordsIn = (lang: Lang) => inLang(failureTexts, lang);

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
    return [
      {
        pod,
        container: one.name,
        code: end.exitCode,
        reason: end.reason ?? "",
        message: end.message ?? "",
        finishedAt: end.finishedAt ?? "",
      },
    ];
  });
}

/** The ending that came first is the cause; those after it are mostly its consequences. */
export function firstEnding(pods: Pod[]): Ending | null {
  const all = pods
    .flatMap(endings)
    .sort((a, b) =>
      a.finishedAt < b.finishedAt
        ? -1
        : a.finishedAt > b.finishedAt
          ? 1
          : a.pod.metadata.name < b.pod.metadata.name
            ? -1
            : 1,
    );
  return all[0] ?? null;
}

export type ExitWord =
  | "exit0"
  | "exit1"
  | "exit2"
  | "exit126"
  | "exit127"
  | "exit130"
  | "exit134"
  | "exit137"
  | "exit139"
  | "exit143"
  | "exitSignal"
  | "exitOther";

const KNOWN = new Set([0, 1, 2, 126, 127, 130, 134, 137, 139, 143]);

export function exitWord(code: number): ExitWord {
  if (KNOWN.has(code)) return `exit${code}` as ExitWord;
  return code > 128 && code < 193 ? "exitSignal" : "exitOther";
}

export type Tip =
  | "tipCuda"
  | "tipCudaAssert"
  | "tipNoCuda"
  | "tipShm"
  | "tipOom"
  | "tipKilled"
  | "tipSyntax"
  | "tipShape"
  | "tipModule"
  | "tipPort"
  | "tipDisk"
  | "tipPvc"
  | "tipDeadline"
  | "tipBudget"
  | "tipPreempted"
  | "tipNotFound"
  | "tipFile"
  | "tipPermission"
  | "tipRendezvous"
  | "tipNcclTimeout"
  | "tipNccl"
  | "tipKeyboard"
  | "tipTerminated"
  | "tipSegfault"
  | "tipAbort"
  | "tipNan"
  | "tipArgs"
  | "tipKey"
  | "tipGeneral";

// The first that fits counts: causes stand before what follows from them, the more telling ones
// before the general.
const TIPS: readonly [RegExp, Tip][] = [
  [
    /CUDA out of memory|torch\.cuda\.OutOfMemoryError|CUDNN_STATUS_ALLOC_FAILED|HIP out of memory/i,
    "tipCuda",
  ],
  [/device-side assert|CUDA error: an illegal memory access/i, "tipCudaAssert"],
  [
    /No CUDA GPUs are available|no CUDA-capable device|Found no NVIDIA driver|not compiled with CUDA|CUDA driver version is insufficient|invalid device ordinal/i,
    "tipNoCuda",
  ],
  [
    /DataLoader worker .* (is killed|exited unexpectedly)|insufficient shared memory|out of shared memory|unable to (open|mmap|write to) .*shared memory|\/dev\/shm/i,
    "tipShm",
  ],
  [/not for lack of memory/, "tipKilled"],
  [/OOMKilled|out of memory|MemoryError|Cannot allocate memory|bad_alloc/i, "tipOom"],
  [/\b(Syntax|Indentation|Tab)Error:/, "tipSyntax"],
  [
    /mat1 and mat2 shapes|size mismatch|shape mismatch|shapes? .*(cannot be multiplied|not aligned|invalid for input)|Expected input batch_size|must match the size of tensor/i,
    "tipShape",
  ],
  [/ModuleNotFoundError|No module named|ImportError|cannot open shared object file/i, "tipModule"],
  [/Address already in use|EADDRINUSE|errno: ?98\b/i, "tipPort"],
  [/No space left on device|ENOSPC|Disk quota exceeded/i, "tipDisk"],
  [
    /persistentvolumeclaim "?[^"\n]*"? (was )?not found|claim .* (does not exist|not found)|FailedMount|volume .* not found/i,
    "tipPvc",
  ],
  [/DeadlineExceeded|active ?deadline|longer than .*activeDeadlineSeconds/i, "tipDeadline"],
  [/Preempt(ed|ion|ing)|Evicted|gave way to/i, "tipPreempted"],
  [
    /RendezvousTimeoutError|rendezvous .*time(d)? ?out|The client socket has timed out|wait timeout after|DistStoreError|Timed out initializing process group/i,
    "tipRendezvous",
  ],
  [
    /Watchdog caught collective operation timeout|NCCL.*time(d)? ?out|ncclSystemError|ncclRemoteError|ncclInternalError|collective .*timed out/i,
    "tipNcclTimeout",
  ],
  [
    /command .* not found|: not found$|not found in PATH|cannot run command|executable file .*not found|StartError|ContainerCannotRun/im,
    "tipNotFound",
  ],
  [/PermissionError|Permission denied|Operation not permitted/i, "tipPermission"],
  [/FileNotFoundError|No such file or directory|can't open file|NotADirectoryError/i, "tipFile"],
  [/KeyboardInterrupt/, "tipKeyboard"],
  [
    /the following arguments are required|unrecognized arguments|invalid choice:|error: argument /i,
    "tipArgs",
  ],
  [/(loss|gradient)[^\n]*\b(is|became|:|=)\s*(nan|inf)\b|contains? NaN/i, "tipNan"],
  [/\b(Key|Attribute|Index|Name)Error:/, "tipKey"],
  [/NCCL|gloo|c10d|Connection (reset|refused|closed|timed out)|Broken pipe/i, "tipNccl"],
  [/Segmentation fault|SIGSEGV/i, "tipSegfault"],
  [/BackoffLimitExceeded|restarts are used up|restart budget/i, "tipBudget"],
];

const BY_CODE: Record<number, Tip> = {
  126: "tipPermission",
  127: "tipNotFound",
  130: "tipKeyboard",
  134: "tipAbort",
  137: "tipOom",
  139: "tipSegfault",
  143: "tipTerminated",
};

/** What usually helps, from how it ended and what was said last. */
export function tipFor(code: number, text: string): Tip {
  for (const [pattern, tip] of TIPS) if (pattern.test(text)) return tip;
  return BY_CODE[code] ?? "tipGeneral";
}

/** The line that says it: the last one that one of the patterns fits, else the last that looks like
 * an error. */
export function tellingLine(text: string): number {
  const lines = text.split("\n");
  const last = (fits: (line: string) => boolean): number => {
    for (let i = lines.length - 1; i >= 0; i--) if (fits(lines[i]!)) return i;
    return -1;
  };
  const known = last((line) => TIPS.some(([pattern]) => pattern.test(line)));
  return known >= 0 ? known : last((line) => /\b\w*(Error|Exception)\b/.test(line));
}

/** The sentence the controller gave, or what the conditions say. */
export function sentenceOf(job: Job): string {
  const failed = job.status?.conditions?.find(
    (one) => one.type === "Failed" && one.status === "True",
  );
  return job.status?.message ?? failed?.message ?? "";
}

type Words = keyof (typeof failureTexts)["zh"];

const BY_REASON: Record<string, Words> = {
  OOMKilled: "oom",
  ContainerCannotRun: "notStarted",
  StartError: "notStarted",
  SupervisorLost: "supervisor",
  Evicted: "evicted",
  DeadlineExceeded: "podDeadline",
};
const SAY_LITTLE = new Set([1, 2]); // what the program said tells more

/** What an exit code means. A killed program's message says whether memory was short. */
export function codeText(code: number, message: string, lang: Lang): string {
  const word = code === 137 && message ? "killed" : exitWord(code);
  return wordsIn(lang)(word, { n: code - 128 });
}

/** How it ended: "exit code 137 (killed, SIGKILL): ...". */
function endText(f: JobFailure, lang: Lang): string {
  const t = wordsIn(lang);
  const { exitCode: code, reason = "", message = "" } = f;
  const known = code !== undefined && code !== 0 && exitWord(code) !== "exitOther";
  const byCode = !known || (message && SAY_LITTLE.has(code)) ? "" : codeText(code, message, lang);
  const byReason = BY_REASON[reason] ? t(BY_REASON[reason]) : "";
  const notFound = reason === "StartError" && byCode; // says more than that it did not start
  const words = notFound ? byCode : byReason || byCode;
  const end = [
    code === undefined ? t("noCode") : t("code", { code }),
    f.container ? t("container", { name: f.container }) : "",
    words || code === undefined ? t("inWords", { words: words || reason || t("noReason") }) : "",
    message ? t("said", { message: say(message, lang) }) : "",
  ];
  return code === 0 ? t("tooEarly") : end.join("");
}

/** Which replica failed, how, and which others did. */
export function failureText(f: JobFailure, lang: Lang): string {
  const t = wordsIn(lang);
  const head = t("replica", { name: f.replica, end: endText(f, lang) });
  if (f.follower) return head + t("follower", { name: f.follower });
  return f.others ? head + t("others", { count: f.others }) : head;
}

/** What became of the job after its cause, such as "the restart budget is spent (2 of 2)"; where no
 * replica is to blame, the sentence. */
export function outcomeOf(job: Job, lang: Lang): string {
  const t = wordsIn(lang);
  const { failure: f, reason, backoffCount: used = 0 } = job.status ?? {};
  if (reason === "DeadlineExceeded")
    return t("deadline", { seconds: Number(job.spec?.runPolicy?.activeDeadlineSeconds ?? 0) });
  if (!f) return say(sentenceOf(job), lang);
  const limit = f.restartLimit ?? 0;
  if (reason === "BackoffLimitExceeded")
    return limit ? t("budgetSpent", { used, limit }) : t("noRestarts");
  if (reason === "Restarting")
    return f.restartSeconds
      ? t("restartsLater", { used, limit, seconds: f.restartSeconds })
      : t("restarts", { used, limit });
  return isOver(job) ? t("notRestarted", { policy: f.restartPolicy ?? "" }) : "";
}

/** Why it does not run or why it failed, from what the server says for programs; what it only says as a
 * sentence, as that. */
export function whyText(job: Job, lang: Lang): string {
  const { failure, reason } = job.status ?? {};
  if (!failure && reason !== "DeadlineExceeded") return say(sentenceOf(job), lang);
  const parts = [failure ? failureText(failure, lang) : "", outcomeOf(job, lang)];
  return parts.filter(Boolean).join(wordsIn(lang)("then"));
}

/** A sentence of a condition or an event of the job: its own again, that of its failed replicas, or
 * another's. */
export function sayOfJob(job: Job, text: string, lang: Lang): string {
  const { failure, message, conditions = [] } = job.status ?? {};
  if (text && text === message) return whyText(job, lang);
  const failed = conditions.find((one) => one.type === "ReplicaFailure" && one.status === "True");
  return failure && text === failed?.message ? failureText(failure, lang) : say(text, lang);
}

/** What a row of the job says of its failure: without the job's and the replica's names and what
 * restarts there were. */
export function shortCause(job: Job, lang: Lang): string {
  const f = job.status?.failure;
  return f ? endText(f, lang) : whyText(job, lang);
}
