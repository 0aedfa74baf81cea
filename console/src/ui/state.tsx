// A state as shape, word and colour.
import type { Job } from "../data/types.ts";
import { tc, texts, translator } from "../i18n/index.ts";
import { failedReplicas } from "../lib/jobs.ts";
import { stateOfJob, type State } from "../lib/state.ts";
import { Icon } from "./icon.tsx";
import { STATE_ICON, WARN_ICON } from "./state-icons.ts";

// In both languages the words the tutorials show: what the API calls Failed is their Error.
const words = {
  zh: {
    queued: "Pending",
    starting: "Starting",
    running: "Running",
    paused: "Paused",
    succeeded: "Succeeded",
    failed: "Error",
    stopped: "Stopped",
    unknown: "Unknown",
  },
  en: {
    queued: "Pending",
    starting: "Starting",
    running: "Running",
    paused: "Paused",
    succeeded: "Succeeded",
    failed: "Error",
    stopped: "Stopped",
    unknown: "Unknown",
  },
};
const t = translator<State>(words);

/** A phase of the API as the badge says it. */
export function phaseWord(phase: string): string {
  return phase === "Failed" ? t("failed") : phase;
}

/** A resource as people call it; extended ones have a name only. */
export function resourceWord(name: string): string {
  return name === "cpu" ? "CPU" : name === "memory" ? tc("memory") : name;
}

const said = translator(
  texts({
    zh: { done: "Done：已成功完成", partly: "已成功，但有 {count} 个副本失败" },
    en: {
      done: "Done: finished successfully",
      partly: "Succeeded, but {count} {count|replica|replicas} failed",
    },
  }),
);

/** A job's state; amber where it succeeded though replicas failed. */
export function JobMark(props: { job: Job; title?: string }) {
  const state = stateOfJob(props.job);
  const failed = failedReplicas(props.job);
  const more = failed
    ? said("partly", { count: failed })
    : state === "succeeded"
      ? said("done")
      : "";
  const title = [more, props.title].filter(Boolean).join("\n");
  return <StateMark state={state} {...(title ? { title } : {})} warn={failed > 0} />;
}

/** What stands behind a state, for the page of the job; "" where the word says all. */
export function stateExplained(job: Job): string {
  const failed = failedReplicas(job);
  if (failed) return said("partly", { count: failed });
  return stateOfJob(job) === "succeeded" ? said("done") : "";
}

export function StateMark(props: {
  state: State;
  title?: string;
  word?: string;
  iconOnly?: boolean;
  warn?: boolean;
}) {
  const word = props.word ?? t(props.state);
  return (
    <span
      class={`state state-${props.warn ? "warned" : props.state} ${props.iconOnly ? "" : "badge"}`}
      title={props.title ?? word}
    >
      <Icon
        of={props.warn ? WARN_ICON : STATE_ICON[props.state]}
        {...(props.iconOnly ? { label: word } : {})}
      />
      {props.iconOnly ? null : <span class="state-word">{word}</span>}
    </span>
  );
}
