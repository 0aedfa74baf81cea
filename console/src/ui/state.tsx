// A state as shape, word and colour.
import { translator } from "../i18n/index.ts";
import { STATE_SHAPE, type State } from "../lib/state.ts";

// In both languages the words of the API, as the tutorials show them.
const words = {
  zh: {
    queued: "Pending",
    starting: "Starting",
    running: "Running",
    paused: "Paused",
    succeeded: "Succeeded",
    failed: "Failed",
    stopped: "Stopped",
    unknown: "Unknown",
  },
  en: {
    queued: "Pending",
    starting: "Starting",
    running: "Running",
    paused: "Paused",
    succeeded: "Succeeded",
    failed: "Failed",
    stopped: "Stopped",
    unknown: "Unknown",
  },
};
const t = translator<State>(words);

export function StateMark(props: {
  state: State;
  title?: string;
  word?: string;
  iconOnly?: boolean;
}) {
  const word = props.word ?? t(props.state);
  return (
    <span class={`state state-${props.state}`} title={props.title ?? word}>
      <span
        class="state-shape"
        aria-hidden={props.iconOnly ? undefined : "true"}
        role={props.iconOnly ? "img" : undefined}
        aria-label={props.iconOnly ? word : undefined}
      >
        {STATE_SHAPE[props.state]}
      </span>
      {props.iconOnly ? null : <span class="state-word">{word}</span>}
    </span>
  );
}
