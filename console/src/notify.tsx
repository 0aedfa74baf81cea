// Tells when a job ends: in the page, and through the browser where the user allowed it.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { signedOut } from "./data/key.ts";
import { useJobs } from "./data/jobs.ts";
import type { Job } from "./data/types.ts";
import { lang, texts, translator } from "./i18n/index.ts";
import { newlyOver } from "./lib/endings.ts";
import { jobHref } from "./lib/jobs.ts";
import { say } from "./lib/say.ts";
import { STATE_SHAPE, stateOfJob } from "./lib/state.ts";
import { navigate } from "./router.ts";
import { Menu } from "./ui/menu.tsx";
import { toast } from "./ui/toast.tsx";

const t = translator(
  texts({
    zh: {
      bell: "通知",
      page: "页面内提示",
      browser: "浏览器通知",
      denied: "浏览器拒绝了通知，请在浏览器的网站设置中允许。",
      ended: "{name}：{state}",
      open: "打开",
      recent: "最近结束",
      none: "还没有 Job 结束",
    },
    en: {
      bell: "Notifications",
      page: "In the page",
      browser: "By the browser",
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
const recent = signal<Job[]>([]);
const RECENT_LIMIT = 8;
signedOut.subscribe((out) => {
  if (out) recent.value = [];
});
const AFTER_MS = 3_000; // what the page itself needs comes first
const TOASTS_AT_ONCE = 3;

function setHow(next: How): void {
  how.value = next;
  localStorage.setItem(KEY, next);
}

function tell(job: Job): void {
  const state = stateOfJob(job);
  const text = t("ended", {
    name: job.metadata.name,
    state: `${STATE_SHAPE[state]} ${job.status?.phase ?? ""}`,
  });
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
    body: say(job.status?.message ?? "", lang.value),
    tag: job.metadata.uid,
  });
  note.onclick = () => {
    window.focus();
    navigate(jobHref(job));
  };
}

function Watcher() {
  const jobs = useJobs();
  const before = useRef<Map<string, boolean> | null>(null);
  useEffect(() => {
    if (!jobs.loaded) return;
    const { over, now } = newlyOver(before.current, jobs.items);
    before.current = now;
    if (!over.length) return;
    recent.value = [...over, ...recent.value].slice(0, RECENT_LIMIT);
    over.slice(0, TOASTS_AT_ONCE).forEach(tell);
  }, [jobs]);
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

function BellMark(props: { off: boolean }) {
  return (
    <svg class="bell" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d="M3 12h10l-1.5-2V7a3.5 3.5 0 0 0-7 0v3zM6.5 13.5a1.5 1.5 0 0 0 3 0"
        fill="none"
        stroke="currentColor"
        stroke-width="1.3"
      />
      {props.off ? <path d="M2 2l12 12" stroke="currentColor" stroke-width="1.5" /> : null}
    </svg>
  );
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
      label={<BellMark off={how.value === "off"} />}
      name={t("bell")}
      items={[
        {
          label: t("page"),
          hint: how.value === "off" ? "" : "✓",
          onSelect: () => setHow(how.value === "off" ? "page" : "off"),
        },
        {
          label: t("browser"),
          hint: how.value === "browser" ? "✓" : "",
          onSelect: () => void browser(),
        },
        ...recent.value.map((job) => ({
          label: `${STATE_SHAPE[stateOfJob(job)]} ${job.metadata.name}`,
          href: jobHref(job),
        })),
      ]}
    />
  );
}
