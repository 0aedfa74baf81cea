// A part of the job's page that can be closed: its heading stays, with a few words of what is in it.
// What one has opened or closed is so on every job's page, and stays so.
import { signal } from "@preact/signals";
import { session } from "../../data/session.ts";

const KEY = "muster.job-sections";
const changed = signal(0); // what is kept is not watched by itself

function place(): string {
  return `${KEY}.${session.value?.user ?? ""}`;
}

function kept(): Record<string, boolean> {
  try {
    return JSON.parse(localStorage.getItem(place()) ?? "{}") as Record<string, boolean>;
  } catch {
    return {}; // another program wrote something else there
  }
}

export function Section(props: {
  id: string;
  title: string;
  open: boolean; // when nobody has chosen
  /** The address asks for something in it. */
  wanted?: boolean;
  brief?: preact.ComponentChildren;
  children: preact.ComponentChildren;
}) {
  void changed.value;
  const chosen = kept()[props.id] ?? props.open;
  const open = chosen || (props.wanted ?? false);
  const toggled = (is: boolean): void => {
    if (is === open) return; // drawn so, not chosen
    localStorage.setItem(place(), JSON.stringify({ ...kept(), [props.id]: is }));
    changed.value++;
  };
  return (
    <details
      class="section"
      id={props.id}
      open={open}
      onToggle={(event) => toggled(event.currentTarget.open)}
    >
      <summary>
        <h2>{props.title}</h2>
        <span class="brief dim">{props.brief}</span>
      </summary>
      {props.children}
    </details>
  );
}
