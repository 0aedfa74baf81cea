// What state a job, a replica or a pod is in: one of few words. Where only text can be, as in a tab's
// title, each has a character of its own; everywhere else an icon (ui/state-icons.ts).
import type { Job, Pod } from "../data/types.ts";

export type State =
  "queued" | "starting" | "running" | "paused" | "succeeded" | "failed" | "stopped" | "unknown";

export const STATE_SHAPE: Record<State, string> = {
  queued: "◷",
  starting: "◔",
  running: "▶",
  paused: "‖",
  succeeded: "✓",
  failed: "✕",
  stopped: "■",
  unknown: "?",
};

const BY_PHASE: Record<string, State> = {
  Pending: "queued",
  Creating: "starting",
  Initializing: "starting",
  Running: "running",
  Paused: "paused",
  Resuming: "starting",
  Succeeded: "succeeded",
  Failed: "failed",
  Unknown: "unknown",
  Deleted: "stopped",
  Completed: "succeeded",
  Error: "failed",
};

export function stateOfPhase(phase: string | undefined): State {
  return phase ? (BY_PHASE[phase] ?? "unknown") : "queued";
}

export function stateOfJob(job: Job): State {
  return stateOfPhase(job.status?.phase);
}

export function stateOfPod(pod: Pod): State {
  if (pod.metadata.deletionTimestamp) return "stopped";
  const phase = pod.status?.phase;
  return phase === "Pending" && pod.spec?.nodeName ? "starting" : stateOfPhase(phase);
}

export function isOver(job: Job): boolean {
  return job.status?.phase === "Succeeded" || job.status?.phase === "Failed";
}
