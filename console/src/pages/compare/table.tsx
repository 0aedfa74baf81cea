// What differs between the runs: a row each, sorted by any column.
import { translator } from "../../i18n/index.ts";
import { compareTexts } from "../../i18n/compare.ts";
import { Swatch } from "../../charts/chart.tsx";
import { lookOf } from "../../charts/palette.ts";
import { formatValue } from "../../curves/points.ts";
import { jobHref } from "../../lib/jobs.ts";
import { stateOfJob } from "../../lib/state.ts";
import { setQuery } from "../../router.ts";
import { Cut } from "../../ui/cut.tsx";
import { StateMark } from "../../ui/state.tsx";
import { KINDS, valueOf, type Column, type Run } from "./rows.ts";

const t = translator(compareTexts);

function Head(props: { id: string; name: string; sort: string; class?: string }) {
  const up = props.sort === props.id;
  const down = props.sort === `-${props.id}`;
  return (
    <th scope="col" class={props.class} aria-sort={up ? "ascending" : down ? "descending" : "none"}>
      <button
        type="button"
        class="plain-head"
        title={t("sortBy", { name: props.name })}
        onClick={() => setQuery({ sort: up ? `-${props.id}` : props.id })}
      >
        {props.name} <span aria-hidden="true">{up ? "▲" : down ? "▼" : ""}</span>
      </button>
    </th>
  );
}

export function RunTable(props: {
  runs: Run[];
  columns: Column[];
  sort: string;
  hidden: ReadonlySet<string>;
  hide: (run: Run) => void;
}) {
  const groups = KINDS.filter((kind) => kind !== "best")
    .map((kind) => ({
      kind,
      count: props.columns.filter(
        (one) => one.kind === kind || (kind === "last" && one.kind === "best"),
      ).length,
    }))
    .filter((one) => one.count);
  return (
    <div class="scroll-x compare-table" tabIndex={0} role="region" aria-label={t("table")}>
      <table>
        <thead>
          <tr>
            <td colSpan={2} class="fixed" />
            {groups.map(({ kind, count }) => (
              <th key={kind} scope="colgroup" colSpan={count} class="group">
                {kind === "last" ? t("metric") : t(kind)}
              </th>
            ))}
          </tr>
          <tr>
            <Head id="name" name={t("name")} sort={props.sort} class="fixed" />
            <th scope="col">{t("state")}</th>
            {props.columns.map((one) => (
              <Head
                key={one.id}
                id={one.id}
                sort={props.sort}
                name={
                  one.kind === "last" || one.kind === "best"
                    ? `${one.name} ${t(one.kind)}`
                    : one.name
                }
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {props.runs.map((run) => {
            const { name, uid } = run.job.metadata;
            return (
              <tr key={uid}>
                <th scope="row" class="fixed">
                  <div class="run-name">
                    <input
                      type="checkbox"
                      checked={!props.hidden.has(name)}
                      aria-label={t("show", { name })}
                      onChange={() => props.hide(run)}
                    />
                    <Swatch {...lookOf(run.index)} />
                    <a href={jobHref(run.job, "training")} title={name}>
                      <Cut text={name} />
                    </a>
                  </div>
                </th>
                <td>
                  <StateMark state={stateOfJob(run.job)} />
                </td>
                {props.columns.map((one) => {
                  const value = valueOf(run, one);
                  return (
                    <td key={one.id} class={typeof value === "number" ? "num" : "fact"}>
                      {value === null ? (
                        <span class="dim">-</span>
                      ) : typeof value === "number" ? (
                        formatValue(value)
                      ) : (
                        <span title={value}>{value}</span>
                      )}
                    </td>
                  );
                })}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
