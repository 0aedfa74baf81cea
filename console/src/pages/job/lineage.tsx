// Where a job comes from and what was made of it: what was changed each time, and what came out.
import { useJobs } from "../../data/jobs.ts";
import type { Job } from "../../data/types.ts";
import { translator } from "../../i18n/index.ts";
import { remarksTexts } from "../../i18n/remarks.ts";
import { compareHref } from "../../lib/compare.ts";
import { jobHref, lossText } from "../../lib/jobs.ts";
import { ancestorsOf, changesBetween, copiesOf } from "../../lib/remarks.ts";
import { JobMark } from "../../ui/state.tsx";
import "../../style/remarks.css";

const t = translator(remarksTexts);
const CHANGES_SHOWN = 3;

function Changes(props: { before: Job | undefined; after: Job }) {
  if (!props.before) return <span class="dim">-</span>;
  const all = changesBetween(props.before, props.after);
  if (!all.length) return <span class="dim">{t("same")}</span>;
  return (
    <span class="mono" title={all.join("\n")}>
      {all.slice(0, CHANGES_SHOWN).map((one) => (
        <div key={one} class="change">
          {one}
        </div>
      ))}
      {all.length > CHANGES_SHOWN ? (
        <div class="dim">{t("more", { count: all.length - CHANGES_SHOWN })}</div>
      ) : null}
    </span>
  );
}

export function Lineage(props: { job: Job }) {
  const { job } = props;
  const { items } = useJobs();
  const ancestors = ancestorsOf(job, items);
  const copies = copiesOf(job, items);
  if (!ancestors.length && !copies.length) return null;
  const rows: { uid: string; name: string; job?: Job | undefined; before?: Job | undefined }[] = [
    ...ancestors.map((one, i) => ({ ...one, before: ancestors[i - 1]?.job })),
    { uid: job.metadata.uid, name: job.metadata.name, job, before: ancestors.at(-1)?.job },
    ...copies.map((one) => ({
      uid: one.metadata.uid,
      name: one.metadata.name,
      job: one,
      before: job,
    })),
  ];
  const there = rows.flatMap((one) => (one.job ? [one.job] : []));
  return (
    <section class="lineage">
      <div class="lineage-head">
        <h2>{t("lineage")}</h2>
        <span class="dim">{t("lineageHint")}</span>
        {there.length > 1 ? (
          <a class="button" href={compareHref(there)}>
            {t("compareAll")}
          </a>
        ) : null}
      </div>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("name")}</th>
            <th scope="col">{t("state")}</th>
            <th scope="col">{t("changed")}</th>
            <th scope="col">{t("loss")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <tr key={one.uid} class={one.uid === job.metadata.uid ? "current" : ""}>
              <td>
                {one.job && one.job !== job ? <a href={jobHref(one.job)}>{one.name}</a> : one.name}{" "}
                {one.job === job ? <span class="dim">({t("thisJob")})</span> : null}
              </td>
              <td>{one.job ? <JobMark job={one.job} /> : <span class="dim">{t("gone")}</span>}</td>
              <td>{one.job ? <Changes before={one.before} after={one.job} /> : null}</td>
              <td class="num">
                {one.job?.status?.progress?.loss === undefined
                  ? "-"
                  : lossText(one.job.status.progress.loss)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
