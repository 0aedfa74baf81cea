// Ctrl-K: go anywhere by typing. And the keys that work on every page (g j, g n, ?, ...).
import { signal } from "@preact/signals";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { useJobs } from "./data/jobs.ts";
import { JOB_KINDS } from "./data/kinds.ts";
import { lang, setLang, tc, texts, translator } from "./i18n/index.ts";
import { jobHref } from "./lib/jobs.ts";
import { stateOfJob } from "./lib/state.ts";
import { navigate } from "./router.ts";
import { theme } from "./theme.ts";
import { Dialog } from "./ui/dialog.tsx";
import { StateMark } from "./ui/state.tsx";

const t = translator(
  texts({
    zh: {
      title: "前往…",
      hint: "键入 Job、页面或操作的名称",
      nothing: "没有匹配项",
      keys: "键盘快捷键",
      create: "创建 {kind} Job",
      logs: "{name} 的日志",
      switchLang: "Switch to English",
      switchTheme: "切换浅色/深色",
      kPalette: "打开命令面板",
      kSearch: "搜索",
      kMove: "上下移动",
      kOpen: "打开",
      kLogs: "日志",
      kYaml: "YAML",
      kTerminal: "终端",
      kSelect: "选择",
      kJobs: "前往 Job",
      kOverview: "前往总览",
      kNodes: "前往节点",
      kBoards: "前往 TensorBoard",
      kHelp: "此帮助",
    },
    en: {
      title: "Go to…",
      hint: "Type the name of a job, a page or an action",
      nothing: "Nothing matches",
      keys: "Keyboard shortcuts",
      create: "Create a {kind} job",
      logs: "Logs of {name}",
      switchLang: "切换到中文",
      switchTheme: "Switch light and dark",
      kPalette: "Open this palette",
      kSearch: "Search",
      kMove: "Move",
      kOpen: "Open",
      kLogs: "Logs",
      kYaml: "YAML",
      kTerminal: "Terminal",
      kSelect: "Select",
      kJobs: "Go to jobs",
      kOverview: "Go to the overview",
      kNodes: "Go to nodes",
      kBoards: "Go to TensorBoards",
      kHelp: "This help",
    },
  }),
);

const open = signal<"palette" | "keys" | null>(null);

export function openKeys(): void {
  open.value = "keys";
}

interface Entry {
  label: string;
  run: () => void;
  mark?: preact.ComponentChildren;
}

const SHOWN = 12;

function usePageKeys(): void {
  useLayoutEffect(() => {
    let went = 0; // when "g" was pressed
    const goes: Record<string, string> = {
      j: "/jobs",
      o: "/overview",
      n: "/nodes",
      t: "/tensorboards",
      s: "/settings",
    };
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        open.value = open.value === "palette" ? null : "palette";
        return;
      }
      const target = event.target as HTMLElement;
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        target.isContentEditable ||
        /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
        target.closest("dialog,.xterm")
      )
        return;
      if (event.key === "?") open.value = "keys";
      else if (event.key === "g") went = event.timeStamp;
      else if (event.timeStamp - went < 1500 && goes[event.key]) {
        event.preventDefault();
        event.stopImmediatePropagation();
        went = 0;
        navigate(goes[event.key]!);
      }
    };
    document.addEventListener("keydown", onKey, true);
    return () => document.removeEventListener("keydown", onKey, true);
  }, []);
}

function Search() {
  const jobs = useJobs().items;
  const [q, setQ] = useState("");
  const [at, setAt] = useState(0);
  const newest = useMemo(
    () =>
      [...jobs].sort((a, b) =>
        a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : -1,
      ),
    [jobs],
  );
  const entries = useMemo<Entry[]>(
    () => [
      ...newest.map((job) => ({
        label: job.metadata.name,
        run: () => navigate(jobHref(job)),
        mark: <StateMark state={stateOfJob(job)} iconOnly />,
      })),
      ...[
        ["/overview", tc("overview")],
        ["/jobs", tc("jobs")],
        ["/notebooks", tc("notebooks")],
        ["/tensorboards", tc("tensorboards")],
        ["/nodes", tc("nodes")],
        ["/settings", tc("settings")],
      ].map(([href, label]) => ({ label: label!, run: () => navigate(href!) })),
      ...JOB_KINDS.map((kind) => ({
        label: t("create", { kind: kind.short }),
        run: () => navigate(`/jobs/new?kind=${kind.kind}`),
      })),
      ...newest.map((job) => ({
        label: t("logs", { name: job.metadata.name }),
        run: () => navigate(jobHref(job, "logs")),
      })),
      { label: t("switchLang"), run: () => setLang(lang.value === "zh" ? "en" : "zh") },
      {
        label: t("switchTheme"),
        run: () => {
          theme.value = document.documentElement.dataset["theme"] === "dark" ? "light" : "dark";
        },
      },
      {
        label: t("keys"),
        run: () => {
          open.value = "keys";
        },
      },
    ],
    [newest, lang.value],
  );
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = entries
    .filter((one) => words.every((word) => one.label.toLowerCase().includes(word)))
    .slice(0, SHOWN);
  const run = (entry: Entry | undefined): void => {
    if (!entry) return;
    open.value = null;
    entry.run();
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && found.length) setAt((at + step + found.length) % found.length);
    else if (event.key === "Enter") run(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        class="palette-input"
        autofocus
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        aria-label={t("hint")}
        placeholder={t("hint")}
        value={q}
        onInput={(event) => {
          setQ(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <ul id="palette-list" role="listbox" class="palette-list" aria-label={t("title")}>
        {found.map((one, i) => (
          <li
            key={one.label}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === at}
            onClick={() => run(one)}
          >
            {one.mark} {one.label}
          </li>
        ))}
      </ul>
      {found.length ? null : <p class="dim">{t("nothing")}</p>}
    </>
  );
}

function Keys() {
  const keys: [string, string][] = [
    ["Ctrl K", t("kPalette")],
    ["/", t("kSearch")],
    ["j k", t("kMove")],
    ["Enter", t("kOpen")],
    ["x", t("kSelect")],
    ["l", t("kLogs")],
    ["y", t("kYaml")],
    ["t", t("kTerminal")],
    ["g j", t("kJobs")],
    ["g o", t("kOverview")],
    ["g n", t("kNodes")],
    ["g t", t("kBoards")],
    ["?", t("kHelp")],
  ];
  return (
    <table>
      <tbody>
        {keys.map(([key, what]) => (
          <tr key={key}>
            <td>
              <kbd>{key}</kbd>
            </td>
            <td>{what}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Palette() {
  usePageKeys();
  if (!open.value) return null;
  return (
    <Dialog
      title={open.value === "keys" ? t("keys") : t("title")}
      onClose={() => {
        open.value = null;
      }}
    >
      {open.value === "keys" ? <Keys /> : <Search />}
    </Dialog>
  );
}
