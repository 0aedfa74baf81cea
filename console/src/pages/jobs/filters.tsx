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
/** What is asked for most has a button of its own, the rest is behind one. */
const OWN: readonly ListName[] = ["phase", "label"];
const REST: readonly ListName[] = ["tag", "kind", "queue", "scheduler", "resource", "project"];
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

/** Of these even one value divides the jobs; of the others each job has one. */
const SOME_HAVE: readonly ListName[] = ["tag", "resource"];
const SEARCHED = 12; // values: with more of them one can type

function valueWord(name: ListName, value: string): string {
  if (name === "scheduler") return t(value === "t9k" ? "t9kScheduler" : "defaultScheduler");
  if (name === "kind") return shortKind(value);
  if (name === "tag") return `#${value}`;
  return name === "phase" ? phaseWord(value) : value;
}

function Boxes(props: {
  name: ListName;
  chosen: string[];
  values: [value: string, count: number][];
}) {
  const { name, chosen } = props;
  return (
    <>
      {props.values.map(([value, count]) => (
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
    </>
  );
}

/** The values of one list or of several, with a field to find them by where they are many. */
function Values(props: { jobs: Job[]; choice: Choice; names: readonly ListName[] }) {
  const [typed, setTyped] = useState("");
  const several = props.names.length > 1;
  const lists = props.names
    .map((name) => ({
      name,
      chosen: props.choice[FIELD[name]],
      all: offers(props.jobs, props.choice, name),
    }))
    .filter((one) => !several || one.all.length > (SOME_HAVE.includes(one.name) ? 0 : 1));
  const shown = lists
    .map((one) => ({
      ...one,
      values: one.all.filter(([value]) =>
        valueWord(one.name, value).toLowerCase().includes(typed.toLowerCase()),
      ),
    }))
    .filter((one) => one.values.length > 0);
  return (
    <>
      {lists.reduce((sum, one) => sum + one.all.length, 0) > SEARCHED ? (
        <input
          type="search"
          aria-label={tc("search")}
          placeholder={tc("search")}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      ) : null}
      {shown.map(({ name, chosen, values }) =>
        several ? (
          <fieldset key={name} class="choices">
            <legend>{t(name)}</legend>
            <Boxes name={name} chosen={chosen} values={values} />
          </fieldset>
        ) : (
          <Boxes key={name} name={name} chosen={chosen} values={values} />
        ),
      )}
      {shown.length ? null : <p class="dim">{tc("noData")}</p>}
    </>
  );
}

function ColumnChoice(props: { columns: Column[]; onColumns: (next: Column[]) => void }) {
  return (
    <fieldset class="choices">
      <legend>{t("columns")}</legend>
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
    </fieldset>
  );
}

function SortChoice(props: { sort: string }) {
  const [, down, column] = /^(-?)(.*)$/.exec(props.sort)!;
  const sortBy = (sort: string): void => setQuery({ sort: sort === "-created" ? null : sort });
  return (
    <fieldset class="choices sorter">
      <legend>{t("sorter")}</legend>
      <select
        aria-label={t("sorter")}
        value={column}
        onChange={(event) => sortBy(down! + event.currentTarget.value)}
      >
        {SORTS.map((one) => (
          <option key={one} value={one}>
            {t(one)}
          </option>
        ))}
      </select>
      <button
        type="button"
        aria-label={t(down ? "descending" : "ascending")}
        title={t(down ? "descending" : "ascending")}
        onClick={() => sortBy(down ? column! : `-${column}`)}
      >
        {down ? "↓" : "↑"}
      </button>
    </fieldset>
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
  const parts = [...OWN, ...REST].flatMap((name) =>
    choice[FIELD[name]].map((value) => ({ name, value })),
  );
  const values = (names: readonly ListName[], word: string) => {
    const chosen = names.reduce((sum, name) => sum + choice[FIELD[name]].length, 0);
    return (
      <Dropdown
        key={word}
        name={word}
        label={chosen ? `${word} (${chosen})` : word}
        on={chosen > 0}
      >
        {() => <Values jobs={props.jobs} choice={choice} names={names} />}
      </Dropdown>
    );
  };
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
      {OWN.map((name) => values([name], t(name)))}
      {values(REST, t("moreFilters"))}
      <Dropdown name={t("display")} label={t("display")}>
        {() => (
          <>
            <SortChoice sort={choice.sort} />
            <ColumnChoice columns={props.columns} onColumns={props.onColumns} />
          </>
        )}
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
