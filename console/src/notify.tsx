// Tells when a job ends: in the page, and through the browser where the user allowed it.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { signedOut } from "./data/key.ts";
import { useJobs } from "./data/jobs.ts";
import { isFavourite } from "./data/kept.ts";
import type { Job } from "./data/types.ts";
import { lang, texts, translator } from "./i18n/index.ts";
import { LONG_WAIT_MS, newlyLate, newlyOver } from "./lib/endings.ts";
import { jobHref } from "./lib/jobs.ts";
import { whyText } from "./lib/failure.ts";
import { see, seen, unseen, unseenCount } from "./lib/seen.ts";
import { STATE_SHAPE, stateOfJob } from "./lib/state.ts";
import { duration, now } from "./lib/time.ts";
import { match, navigate, path } from "./router.ts";
import { Icon } from "./ui/icon.tsx";
import { BellIcon, BellOffIcon } from "./ui/icons.ts";
import { Menu } from "./ui/menu.tsx";
import { toast } from "./ui/toast.tsx";

const t = translator(
  texts({
    zh: {
      bell: "通知",
      page: "页面内提示",
      mine: "只通知收藏的 Job",
      late: "{name} 已等待 {time}",
      webhooks: "Webhook…",
      browser: "浏览器通知",
      denied: "浏览器拒绝了通知，请在浏览器的网站设置中允许。",
      ended: "{name}：{state}",
      open: "打开",
      recent: "最近结束",
      none: "还没有 Job 结束",
    },
    en: {
      bell: "Notifications",
      page: "On this page",
      mine: "Only my favourites",
      late: "{name} has waited for {time}",
      webhooks: "Webhooks…",
      browser: "Browser notifications",
      denied: "The browser refuses notifications; allow them in its site settings.",
      ended: "{name}: {state}",
      open: "Open",
      recent: "Recently ended",
      none: "No job has ended yet",
    },
  }),
);

type How = "off" | "page" | "browser";
const KEY = "muster.notify";
const how = signal<How>((localStorage.getItem(KEY) as How | null) ?? "page");
const MINE_KEY = "muster.notify.mine";
const onlyMine = signal(localStorage.getItem(MINE_KEY) === "1");
const recent = signal<Job[]>([]);
const RECENT_LIMIT = 8;
signedOut.subscribe((out) => {
  if (out) recent.value = [];
});
const AFTER_MS = 3_000; // what the page itself needs comes first
const TOASTS_AT_ONCE = 3;

function isWanted(job: Job): boolean {
  return !onlyMine.value || isFavourite(job.metadata.uid);
}

function setHow(next: How): void {
  how.value = next;
  localStorage.setItem(KEY, next);
}

function tellEnd(job: Job): void {
  const state = stateOfJob(job);
  tell(
    job,
    t("ended", {
      name: job.metadata.name,
      state: `${STATE_SHAPE[state]} ${job.status?.phase ?? ""}`,
    }),
  );
}

function tellLate(job: Job): void {
  tell(job, t("late", { name: job.metadata.name, time: duration(LONG_WAIT_MS) }));
}

function tell(job: Job, text: string): void {
  const state = stateOfJob(job);
  toast(text, {
    kind: state === "failed" ? "error" : "info",
    action: { label: t("open"), run: () => navigate(jobHref(job)) },
  });
  if (
    how.value !== "browser" ||
    !document.hidden ||
    !("Notification" in window) ||
    Notification.permission !== "granted"
  )
    return;
  const note = new Notification(text, {
    body: whyText(job, lang.value),
    tag: job.metadata.uid,
  });
  note.onclick = () => {
    window.focus();
    navigate(jobHref(job));
  };
}

/** What has waited for long already when the page is opened is no news. */
function useLate(jobs: Job[] | null): void {
  const told = useRef<Set<string> | null>(null);
  const minute = Math.floor(now.value / 60_000);
  useEffect(() => {
    if (!jobs) return;
    const first = told.current === null;
    const late = newlyLate((told.current ??= new Set()), jobs, now.value);
    if (!first) late.filter(isWanted).slice(0, TOASTS_AT_ONCE).forEach(tellLate);
  }, [jobs, minute]);
}

function Watcher() {
  const jobs = useJobs();
  const before = useRef<Map<string, boolean> | null>(null);
  useEffect(() => {
    if (!jobs.loaded) return;
    unseenCount.value = unseen(jobs.items).length;
    const { over, now } = newlyOver(before.current, jobs.items);
    before.current = now;
    if (!over.length) return;
    recent.value = [...over, ...recent.value].slice(0, RECENT_LIMIT);
    over.filter(isWanted).slice(0, TOASTS_AT_ONCE).forEach(tellEnd);
  }, [jobs, seen.value]);
  useLate(jobs.loaded ? jobs.items : null);
  useEffect(() => {
    const at = match("/jobs/:ns/:kind/:name/*", path.value);
    const open =
      at &&
      jobs.items.find(
        ({ kind, metadata }) =>
          metadata.name === at["name"] && metadata.namespace === at["ns"] && kind === at["kind"],
      );
    if (open) see(open);
  }, [jobs, path.value]);
  return null;
}

/** Watches all jobs, after the page has what it shows. */
export function Notifier() {
  const [ready, setReady] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setReady(true), AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return ready && how.value !== "off" ? <Watcher /> : null;
}

export function Bell() {
  const browser = async (): Promise<void> => {
    if (how.value === "browser") return setHow("page");
    const answer = "Notification" in window ? await Notification.requestPermission() : "denied";
    if (answer === "granted") setHow("browser");
    else toast(t("denied"), { kind: "error" });
  };
  return (
    <Menu
      label={<Icon of={how.value === "off" ? BellOffIcon : BellIcon} />}
      name={t("bell")}
      items={[
        {
          label: t("page"),
          checked: how.value !== "off",
          onSelect: () => setHow(how.value === "off" ? "page" : "off"),
        },
        {
          label: t("browser"),
          checked: how.value === "browser",
          onSelect: () => void browser(),
        },
        {
          label: t("mine"),
          checked: onlyMine.value,
          onSelect: () => {
            onlyMine.value = !onlyMine.value;
            localStorage.setItem(MINE_KEY, onlyMine.value ? "1" : "0");
          },
        },
        { label: t("webhooks"), href: "/settings" },
        ...recent.value.map((job) => ({
          label: `${STATE_SHAPE[stateOfJob(job)]} ${job.metadata.name}`,
          href: jobHref(job),
        })),
      ]}
    />
  );
}
