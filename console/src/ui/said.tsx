// A controller's sentence in the reader's language; as it was written, on hover.
import type { Job } from "../data/types.ts";
import { lang } from "../i18n/index.ts";
import { sayOfJob } from "../lib/failure.ts";
import { say } from "../lib/say.ts";

/** job: whose sentence it is, if it is a job's. */
export function Said(props: { text: string | undefined; job?: Job | undefined }) {
  const text = props.text ?? "";
  const said = props.job ? sayOfJob(props.job, text, lang.value) : say(text, lang.value);
  // An option such as --cpus is not broken after its hyphens.
  const whole = said
    .split(/(--[a-z][a-z-]*)/)
    .map((one, i) => (i % 2 ? <span class="whole">{one}</span> : one));
  return said === text ? <>{whole}</> : <span title={text}>{whole}</span>;
}
