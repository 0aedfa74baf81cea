// The list of jobs: live, searchable, every choice in the address.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Failure } from "../../data/api.ts";
import { mayJobs, setPaused, useJobs } from "../../data/jobs.ts";
import { isFavourite } from "../../data/kept.ts";
import { JOB_KINDS } from "../../data/kinds.ts";
import { refreshAll } from "../../data/live.ts";
import { may } from "../../data/rights.ts";
import type { Job } from "../../data/types.ts";
import { lang, tc, translator } from "../../i18n/index.ts";
import { refusalText } from "../../lib/refusal.ts";
import { jobsTexts } from "../../i18n/jobs.ts";
import { compareHref } from "../../lib/compare.ts";
import { choose, readChoice, sortedBy } from "../../lib/filter.ts";
import {
  extendedResources,
  gpusOf,
  isPaused,
  jobHref,
  replicasByRole,
  totalsOf,
} from "../../lib/jobs.ts";
import { isOver, stateOfJob } from "../../lib/state.ts";
import { ownProject } from "../../project.tsx";
import { rowPx } from "../../theme.ts";
import { location_, navigate, query, setQuery } from "../../router.ts";
import { CliDialog } from "../../ui/cli-dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { AddIcon, OpenIcon, RefreshIcon } from "../../ui/icons.ts";
import { Menu } from "../../ui/menu.tsx";
import { Empty, Loading, Problem } from "../../ui/notice.tsx";
import { Said } from "../../ui/said.tsx";
import { toast } from "../../ui/toast.tsx";
import { VirtualList } from "../../ui/virtual.tsx";
import { COLUMNS, fitting, nameWidth, tableWidth, type Column } from "./columns.ts";
import { Filters, isSortable } from "./filters.tsx";
import { RemoveDialog } from "./remove.tsx";
import { Row, type RowActions } from "./row.tsx";
import "../../style/jobs.css";

const t = translator(jobsTexts);
const DETAIL_PX = 108;
const COMPARED_LIMIT = 200; // they are in the address
const COLUMNS_KEY = "muster.columns";

/** null: none were chosen, as many are shown as fit. */
function keptColumns(): Column[] | null {
  const kept = localStorage.getItem(COLUMNS_KEY);
  return kept === null ? null : COLUMNS.filter((one) => kept.split(",").includes(one));
}

/** Those of a view, which is an address. */
function columnsIn(address: URLSearchParams): Column[] | null {
  const said = address.get("columns");
  return said === null ? null : COLUMNS.filter((one) => said.split(",").includes(one));
}

function useWidth(box: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(window.innerWidth - 200);
  useLayoutEffect(() => {
    if (!box.current) return;
    const look = (): void => setWidth(box.current?.clientWidth ?? 0);
    const observer = new ResizeObserver(look);
    observer.observe(box.current);
    look();
    return () => observer.disconnect();
  }, []);
  return width;
}

function Head(props: { column: Column | "state" | "name"; sort: string }) {
  const { column, sort } = props;
  const word = column === "labels" ? t("label") : t(column);
  const down = sort === `-${column}`;
  const up = sort === column;
  return (
    <span
      role="columnheader"
      class={`cell-${column}`}
      title={word}
      aria-sort={down ? "descending" : up ? "ascending" : undefined}
    >
      {isSortable(column) ? (
        <button
          type="button"
          class="sorts"
          onClick={() => {
            const next = sortedBy(sort, column);
            setQuery({ sort: next === "-created" ? null : next });
          }}
        >
          {word}
          {down ? " ↓" : up ? " ↑" : ""}
        </button>
      ) : (
        word
      )}
    </span>
  );
}

function Detail(props: { job: Job }) {
  const { job } = props;
  return (
    <div class="detail" role="row" style={{ height: `${DETAIL_PX}px` }}>
      <div role="cell">
        <div>
          {replicasByRole(job).map((one) => (
            <span key={one.type} class="chip">
              {one.type}: {one.count}
            </span>
          ))}
        </div>
        <div class="mono">
          {job.metadata.uid}{" "}
          {Object.entries(job.metadata.labels ?? {}).map(([name, value]) => (
            <span key={name} class="chip">
              {name}={value}
            </span>
          ))}
        </div>
        <div>
          {job.status?.reason}
          {job.status?.reason && job.status.message ? ": " : ""}
          <Said text={job.status?.message} />
          {job.status?.reason || job.status?.message ? null : "-"}
        </div>
        <div>
          <a href={jobHref(job, "logs")}>{t("logs")}</a> ·{" "}
          <a href={jobHref(job, "yaml")}>{t("yaml")}</a>
        </div>
      </div>
    </div>
  );
}

function NoJobs() {
  return (
    <Empty title={t("noJobs")}>
      <p>{t("noJobsHint")}</p>
      <p>
        <code>muster run examples/ddp/job.yaml</code>
      </p>
      <a class="button primary" href="/jobs/new?kind=PyTorchTrainingJob&example=1">
        {t("fromExample")}
      </a>
    </Empty>
  );
}

/** How many GPUs jobs have, and how many others wait for. */
function gpuTotals(jobs: Job[]): { used: number; waiting: number } {
  const sum = { used: 0, waiting: 0 };
  for (const job of jobs) {
    const state = stateOfJob(job);
    if (state === "running" || state === "starting") sum.used += gpusOf(job);
    else if (state === "queued") sum.waiting += gpusOf(job);
  }
  return sum;
}

/** One message for many: failures are reported once. */
function pauseAll(jobs: Job[], on: boolean): void {
  void Promise.allSettled(jobs.map((job) => setPaused(job, on))).then((results) => {
    const failed = results.filter((one): one is PromiseRejectedResult => one.status === "rejected");
    const name = jobs.length === 1 ? jobs[0]!.metadata.name : String(jobs.length - failed.length);
    if (failed.length)
      toast(
        t("someFailed", {
          count: failed.length,
          message: refusalText(failed[0]!.reason as Failure, lang.value),
        }),
        { kind: "error" },
      );
    if (failed.length < jobs.length) toast(t(on ? "paused" : "resumed", { name }));
  });
}

/** j and k move, Enter opens, l and y go to logs and YAML, / searches, x selects. */
function useKeys(
  shown: Job[],
  current: number,
  setCurrent: (n: number) => void,
  actions: RowActions,
  selected: Set<string>,
): void {
  // With the rows they act on, not some frames later.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
        target.closest("dialog,[role=menu]")
      )
        return;
      const job = shown[current];
      const keys: Record<string, () => void> = {
        j: () => setCurrent(Math.min(shown.length - 1, current + 1)),
        k: () => setCurrent(Math.max(0, current - 1)),
        "/": () => document.getElementById("search")?.focus(),
        l: () => job && navigate(jobHref(job, "logs")),
        y: () => job && navigate(jobHref(job, "yaml")),
        x: () => job && actions.select(job, !selected.has(job.metadata.uid)),
        ...(target.tagName === "BODY" ||
        target.id === "main" ||
        target.classList.contains("virtual")
          ? { Enter: () => job && navigate(jobHref(job)) }
          : {}),
      };
      const act = keys[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [shown, current, actions, selected]);
}

export function JobsPage() {
  const { items, loaded, failure } = useJobs();
  const choice = readChoice(query.value);
  const pool = choice.favourites ? items.filter((job) => isFavourite(job.metadata.uid)) : items;
  const shown = useMemo(
    () => choose(pool, choice),
    [items, query.value, choice.favourites && pool.length],
  );
  const [ownColumns, setColumns] = useState(keptColumns);
  const columns = columnsIn(query.value) ?? ownColumns;
  const [selected, setSelected] = useState<Set<string>>(new Set());
  const [expanded, setExpanded] = useState<string | null>(null);
  const [removing, setRemoving] = useState<Job[] | null>(null);
  const [cli, setCli] = useState<Job | null>(null);
  const [current, setCurrent] = useState(-1);
  const gpus = useMemo(() => gpuTotals(items), [items]);
  const ns = ownProject();
  const anyGpu = useMemo(
    () => items.some((job) => extendedResources(totalsOf(job)).length > 0),
    [items],
  );
  const longest = useMemo(
    () => shown.reduce((most, job) => Math.max(most, job.metadata.name.length), 0),
    [shown],
  );
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const high = rowPx.value;

  const actions = useMemo<RowActions>(
    () => ({
      remove: (job) => setRemoving([job]),
      pause: (job, on) => pauseAll([job], on),
      cli: (job) => setCli(job),
      select: (job, on) =>
        setSelected((before) => {
          const next = new Set(before);
          if (on) next.add(job.metadata.uid);
          else next.delete(job.metadata.uid);
          return next;
        }),
      expand: (job) =>
        setExpanded((before) => (before === job.metadata.uid ? null : job.metadata.uid)),
    }),
    [],
  );
  useKeys(shown, current, setCurrent, actions, selected);
  useEffect(() => {
    const list = box.current?.querySelector(".virtual");
    if (!list || current < 0) return;
    const top = current * high;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + high > list.scrollTop + list.clientHeight)
      list.scrollTop = top + high - list.clientHeight;
  }, [current]);

  const visible = useMemo(
    () =>
      columns ??
      fitting(
        COLUMNS.filter((one) => anyGpu || one !== "gpu"),
        longest,
        width,
      ),
    [anyGpu, columns, longest, width],
  );
  const names = nameWidth(longest, width);
  const across = tableWidth(visible, names);
  const chosen = useMemo(
    () => (selected.size ? shown.filter((job) => selected.has(job.metadata.uid)) : []),
    [shown, selected],
  );
  const pausable = useMemo(() => chosen.filter((job) => !isOver(job) && !isPaused(job)), [chosen]);
  const resumable = useMemo(() => chosen.filter((job) => !isOver(job) && isPaused(job)), [chosen]);
  const open = shown.findIndex((job) => job.metadata.uid === expanded);
  const changeColumns = (next: Column[]): void => {
    if (columnsIn(query.value)) return setQuery({ columns: next.join(",") });
    setColumns(next);
    localStorage.setItem(COLUMNS_KEY, next.join(","));
  };

  return (
    <section class="jobs" ref={box}>
      <div class="page-head">
        <h1>{t("title")}</h1>
        <span class="grow" />
        {chosen.length ? (
          <>
            <span>{t("selected", { count: chosen.length })}</span>
            {chosen.length > 1 && chosen.length <= COMPARED_LIMIT ? (
              <a class="button" href={compareHref(chosen)}>
                {t("compare")}
              </a>
            ) : null}
            {mayJobs("patch", pausable, "any") ? (
              <button type="button" onClick={() => pauseAll(pausable, true)}>
                {t("pause")}
              </button>
            ) : null}
            {mayJobs("patch", resumable, "any") ? (
              <button type="button" onClick={() => pauseAll(resumable, false)}>
                {t("resume")}
              </button>
            ) : null}
            {mayJobs("delete", chosen, "all") ? (
              <button type="button" class="danger" onClick={() => setRemoving(chosen)}>
                {t("remove")}
              </button>
            ) : null}
          </>
        ) : null}
        {anyGpu ? (
          <span class="dim num">{t("gpuTotals", { used: gpus.used, waiting: gpus.waiting })}</span>
        ) : null}
        <span class="dim num" role="status">
          {loaded ? t("count", { shown: shown.length, total: items.length }) : null}
        </span>
        <button
          type="button"
          class="icon"
          aria-label={tc("refresh")}
          title={tc("refresh")}
          onClick={refreshAll}
        >
          <Icon of={RefreshIcon} />
        </button>
        {JOB_KINDS.some((one) => may("create", one, ns)) ? (
          <Menu
            class="create"
            label={
              <>
                <Icon of={AddIcon} /> {t("createJob")} <Icon of={OpenIcon} size={14} />
              </>
            }
            name={t("createJob")}
            items={JOB_KINDS.filter((one) => may("create", one, ns)).map((one) => ({
              label: one.short,
              href: `/jobs/new?kind=${one.kind}`,
            }))}
          />
        ) : null}
      </div>
      <Filters
        jobs={pool}
        choice={choice}
        columns={visible}
        ownColumns={columns}
        onColumns={changeColumns}
      />
      {failure ? <Problem failure={failure} /> : null}
      {!loaded ? (
        <Loading />
      ) : !items.length ? (
        failure ? null : (
          <NoJobs />
        )
      ) : !shown.length ? (
        <Empty title={t("noMatch")}>
          <a href="/jobs">{t("clear")}</a>
        </Empty>
      ) : (
        <div
          role="table"
          aria-label={t("title")}
          aria-rowcount={shown.length}
          class={`job-table ${columns ? "wide" : ""}`}
          style={{
            "--names": `${Math.round(names)}px`,
            ...(columns ? { "--across": `${across}px` } : {}),
          }}
        >
          <div class="row head" role="row">
            <span role="columnheader" class="cell-check">
              <input
                type="checkbox"
                aria-label={t("selectAll")}
                checked={chosen.length === shown.length}
                onChange={(event) =>
                  setSelected(
                    new Set(
                      event.currentTarget.checked ? shown.map((job) => job.metadata.uid) : [],
                    ),
                  )
                }
              />
            </span>
            <Head column="state" sort={choice.sort} />
            <Head column="name" sort={choice.sort} />
            {visible.map((one) => (
              <Head key={one} column={one} sort={choice.sort} />
            ))}
            <span role="columnheader" class="cell-menu">
              <span class="sr-only">{t("actions")}</span>
            </span>
          </div>
          <VirtualList
            count={shown.length}
            rowHeight={high}
            label={t("title")}
            role="rowgroup"
            class="job-rows"
            remember={location_.value.path + location_.value.query}
            extra={open >= 0 ? { after: open, height: DETAIL_PX } : undefined}
            render={(i) => {
              const job = shown[i]!;
              return (
                <div key={job.metadata.uid} role="presentation">
                  <Row
                    job={job}
                    columns={visible}
                    selected={selected.has(job.metadata.uid)}
                    current={i === current}
                    expanded={i === open}
                    actions={actions}
                  />
                  {i === open ? <Detail job={job} /> : null}
                </div>
              );
            }}
          />
        </div>
      )}
      {cli ? <CliDialog job={cli} onClose={() => setCli(null)} /> : null}
      {removing ? (
        <RemoveDialog
          jobs={removing}
          onClose={() => setRemoving(null)}
          onDone={() => setSelected(new Set())}
        />
      ) : null}
    </section>
  );
}
