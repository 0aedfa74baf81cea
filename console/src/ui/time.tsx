// A moment: relative, with the exact time on hover.
import { ago, exact, millis, now } from "../lib/time.ts";

export function Ago(props: { time: string | undefined }) {
  const ms = millis(props.time);
  if (ms === undefined) return <span class="dim">-</span>;
  return (
    <time dateTime={props.time} title={`${exact(ms)}  ${props.time}`}>
      {ago(ms, now.value)}
    </time>
  );
}
