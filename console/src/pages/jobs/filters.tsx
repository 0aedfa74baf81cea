// The filter bar: what is chosen is in the address.
import { useState } from "preact/hooks";
import { tc, translator } from "../../i18n/index.ts";
import { jobsTexts } from "../../i18n/jobs.ts";
import { toggled, type Choice } from "../../lib/filter.ts";
import { setQuery } from "../../router.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { COLUMNS, type Column } from "./row.tsx";

const t = translator(jobsTexts);

type ListName = "label" | "phase" | "scheduler" | "queue" | "kind" | "resource" | "project";
const FIELD: Record<ListName, keyof Choice> = {
  label: "labels",
  phase: "phases",
  scheduler: "schedulers",
  queue: "queues",
  kind: "kinds",
  resource: "resources",
  project: "projects",
};
const ORDER: readonly ListName[] = [
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
  "project",
] as const;

function valueWord(name: ListName, value: string): string {
  if (name === "scheduler") return t(value === "t9k" ? "t9kScheduler" : "defaultScheduler");
  return value;
}

function Choices(props: {
  name: ListName;
  offered: string[];
  chosen: string[];
  onClose: () => void;
}) {
  const all = [...new Set([...props.offered, ...props.chosen])];
  return (
    <Dialog
      title={t(props.name)}
      onClose={props.onClose}
      actions={
        <button type="button" class="primary" onClick={props.onClose}>
          {tc("close")}
        </button>
      }
    >
      {all.length ? (
        all.map((value) => (
          <label key={value} class="choice">
            <input
              type="checkbox"
              checked={props.chosen.includes(value)}
              onChange={() => setQuery({ [props.name]: toggled(props.chosen, value) })}
            />{" "}
            {valueWord(props.name, value)}
          </label>
        ))
      ) : (
        <p class="dim">{tc("noData")}</p>
      )}
    </Dialog>
  );
}

export function Filters(props: {
  choice: Choice;
  offers: Record<ListName, string[]>;
  columns: Column[];
  onColumns: (next: Column[]) => void;
}) {
  const [open, setOpen] = useState<ListName | "columns" | "sort" | null>(null);
  const { choice } = props;
  const parts = ORDER.flatMap((name) =>
    (choice[FIELD[name]] as string[]).map((value) => ({ name, value })),
  );
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
        <button
          key={name}
          type="button"
          aria-haspopup="dialog"
          class={(choice[FIELD[name]] as string[]).length ? "on" : ""}
          onClick={() => setOpen(name)}
        >
          {t(name)}
        </button>
      ))}
      <button type="button" aria-haspopup="dialog" onClick={() => setOpen("columns")}>
        {t("columns")}
      </button>
      <button type="button" aria-haspopup="dialog" onClick={() => setOpen("sort")}>
        {t("sorter")}
      </button>
      <p class="dim chosen">
        {t("filters", { text: parts.length || choice.sort !== "-created" ? "" : "-" })}
        {parts.map(({ name, value }) => (
          <button
            key={`${name}${value}`}
            type="button"
            class="chip on"
            onClick={() => setQuery({ [name]: toggled(choice[FIELD[name]] as string[], value) })}
          >
            {t(name)}: {valueWord(name, value)} ×
          </button>
        ))}
        {choice.sort !== "-created" ? (
          <button type="button" class="chip on" onClick={() => setQuery({ sort: null })}>
            {choice.sort} ×
          </button>
        ) : null}
      </p>
      {open && open !== "columns" && open !== "sort" ? (
        <Choices
          name={open}
          offered={props.offers[open]}
          chosen={choice[FIELD[open]] as string[]}
          onClose={() => setOpen(null)}
        />
      ) : null}
      {open === "columns" ? (
        <Dialog title={t("columns")} onClose={() => setOpen(null)}>
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
              />{" "}
              {one === "labels" ? t("label") : t(one)}
            </label>
          ))}
        </Dialog>
      ) : null}
      {open === "sort" ? (
        <Dialog title={t("sorter")} onClose={() => setOpen(null)}>
          {SORTS.flatMap((one) =>
            ["-", ""].map((sign) => (
              <label key={sign + one} class="choice">
                <input
                  type="radio"
                  name="sort"
                  checked={choice.sort === sign + one}
                  onChange={() => setQuery({ sort: sign + one === "-created" ? null : sign + one })}
                />{" "}
                {t(one)} {sign ? "↓" : "↑"}
              </label>
            )),
          )}
        </Dialog>
      ) : null}
    </div>
  );
}
