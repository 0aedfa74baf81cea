// What the run was given to learn by: the hyperparameters of its event files, and the options of its
// command that say more.
import { useEffect, useState } from "preact/hooks";
import { get } from "../../data/api.ts";
import { boardApi } from "../../data/board.ts";
import type { Job } from "../../data/types.ts";
import { translator } from "../../i18n/index.ts";
import { jobTexts } from "../../i18n/job.ts";
import { hparamsOf, parametersOf, type Facts, type TagFigures } from "../../lib/compare.ts";
import { Section } from "./section.tsx";

const t = translator(jobTexts);
const BRIEF = 4;

/** They are written when a run begins or ends, so asked for with the page and at its end. */
function useWritten(job: Job): Facts {
  const [found, setFound] = useState<Facts>({});
  useEffect(() => {
    let ended = false;
    get<{ tags: TagFigures[] }>(boardApi(job, "tags")).then(
      (answer) => void (ended || setFound(hparamsOf(answer.tags))),
      () => undefined, // the training tab says what is wrong
    );
    return () => {
      ended = true;
    };
  }, [job.metadata.uid, job.status?.phase]);
  return found;
}

export function Parameters(props: { job: Job }) {
  const all = parametersOf(props.job, useWritten(props.job));
  if (!all.length) return null;
  const brief = all.slice(0, BRIEF).map(([name, value]) => `${name} = ${value}`);
  if (all.length > BRIEF) brief.push("…");
  return (
    <Section id="parameters" title={t("parameters")} open={false} brief={brief.join(" · ")}>
      <dl class="basics">
        {all.map(([name, value]) => (
          <div key={name}>
            <dt class="mono">{name}</dt>
            <dd class="mono">{value}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}
