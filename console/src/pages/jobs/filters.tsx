// The filter bar: what is chosen is in the address.
import { useState } from "preact/hooks";
import { shortKind } from "../../data/kinds.ts";
import type { Job } from "../../data/types.ts";
import { tc, translator } from "../../i18n/index.ts";
import { jobsTexts } from "../../i18n/jobs.ts";
import { offers, toggled, type Choice, type ListField, type ListName } from "../../lib/filter.ts";
import { setQuery } from "../../router.ts";
import { Dropdown } from "../../ui/dropdown.tsx";
import { phaseWord } from "../../ui/state.tsx";
import { COLUMNS, type Column } from "./columns.ts";
import { Views } from "./views.tsx";

const t = translator(jobsTexts);

const FIELD: Record<ListName, ListField> = {
  tag: "tags",
  label: "labels",
  phase: "phases",
  scheduler: "schedulers",
  queue: "queues",
  kind: "kinds",
  resource: "resources",
  project: "projects",
};
const ORDER: readonly ListName[] = [
  "tag",
  "label",
  "phase",
  "scheduler",
  "queue",
  "kind",
  "resource",
  "project",
];
const SORTS = [
  "created",
  "name",
  "kind",
  "state",
  "duration",
  "replicas",
  "cpu",
  "memory",
  "gpu",
  "progress",
  "project",
] as const;
export type Sortable = (typeof SORTS)[number];
export function isSortable(column: string): column is Sortable {
  return (SORTS as readonly string[]).includes(column);
}

const SEARCHED = 12; // values: with more of them one can type

function valueWord(name: ListName, value: string): string {
  if (name === "scheduler") return t(value === "t9k" ? "t9kScheduler" : "defaultScheduler");
  if (name === "kind") return shortKind(value);
  if (name === "tag") return `#${value}`;
  return name === "phase" ? phaseWord(value) : value;
}

function Values(props: { jobs: Job[]; choice: Choice; name: ListName }) {
  const { name } = props;
  const [typed, setTyped] = useState("");
  const chosen = props.choice[FIELD[name]];
  const all = offers(props.jobs, props.choice, name);
  const shown = all.filter(([value]) =>
    valueWord(name, value).toLowerCase().includes(typed.toLowerCase()),
  );
  return (
    <>
      {all.length > SEARCHED ? (
        <input
          type="search"
          aria-label={tc("search")}
          placeholder={tc("search")}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      ) : null}
      {shown.map(([value, count]) => (
        <label key={value} class="choice">
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={() => setQuery({ [name]: toggled(chosen, value) })}
          />
          <span class="grow">{valueWord(name, value)}</span>
          <span class="dim num">{count}</span>
        </label>
      ))}
      {shown.length ? null : <p class="dim">{tc("noData")}</p>}
    </>
  );
}

function ColumnChoice(props: { columns: Column[]; onColumns: (next: Column[]) => void }) {
  return (
    <>
      {COLUMNS.map((one) => (
        <label key={one} class="choice">
          <input
            type="checkbox"
            checked={props.columns.includes(one)}
            onChange={() =>
              props.onColumns(
                COLUMNS.filter((c) =>
                  c === one ? !props.columns.includes(c) : props.columns.includes(c),
                ),
              )
            }
          />
          {one === "labels" ? t("label") : t(one)}
        </label>
      ))}
    </>
  );
}

function SortChoice(props: { sort: string }) {
  return (
    <>
      {SORTS.flatMap((one) =>
        ["-", ""].map((sign) => (
          <label key={sign + one} class="choice">
            <input
              type="radio"
              name="sort"
              checked={props.sort === sign + one}
              onChange={() => setQuery({ sort: sign + one === "-created" ? null : sign + one })}
            />
            {t(one)} {sign ? "↓" : "↑"}
          </label>
        )),
      )}
    </>
  );
}

function sortWord(sort: string): string {
  const column = sort.replace(/^-/, "");
  return `${isSortable(column) ? t(column) : column} ${sort.startsWith("-") ? "↓" : "↑"}`;
}

export function Filters(props: {
  jobs: Job[];
  choice: Choice;
  columns: Column[];
  /** Those the user chose; null: as many as fit. */
  ownColumns: Column[] | null;
  onColumns: (next: Column[]) => void;
}) {
  const { choice } = props;
  const parts = ORDER.flatMap((name) => choice[FIELD[name]].map((value) => ({ name, value })));
  return (
    <div class="filters">
      <input
        id="search"
        type="search"
        class="search"
        placeholder={t("searchName")}
        aria-label={t("searchName")}
        value={choice.q}
        onInput={(event) => setQuery({ q: event.currentTarget.value || null })}
      />
      {ORDER.map((name) => (
        <Dropdown
          key={name}
          name={t(name)}
          label={
            choice[FIELD[name]].length ? `${t(name)} (${choice[FIELD[name]].length})` : t(name)
          }
          on={choice[FIELD[name]].length > 0}
        >
          {() => <Values jobs={props.jobs} choice={choice} name={name} />}
        </Dropdown>
      ))}
      <Dropdown name={t("columns")} label={t("columns")}>
        {() => <ColumnChoice columns={props.columns} onColumns={props.onColumns} />}
      </Dropdown>
      <Dropdown name={t("sorter")} label={t("sorter")}>
        {() => <SortChoice sort={choice.sort} />}
      </Dropdown>
      <Views columns={props.ownColumns} />
      {parts.length || choice.sort !== "-created" ? (
        <p class="dim chosen">
          {t("filters", { text: "" })}
          {parts.map(({ name, value }) => (
            <button
              key={`${name}${value}`}
              type="button"
              class="chip on"
              onClick={() => setQuery({ [name]: toggled(choice[FIELD[name]], value) })}
            >
              {t(name) + tc("colon") + valueWord(name, value)} ×
            </button>
          ))}
          {choice.sort !== "-created" ? (
            <button type="button" class="chip on" onClick={() => setQuery({ sort: null })}>
              {sortWord(choice.sort)} ×
            </button>
          ) : null}
        </p>
      ) : null}
    </div>
  );
}
