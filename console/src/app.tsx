// The frame around every page: header, navigation, where we are, and whether what is shown is live.
import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Failure } from "./data/api.ts";
import { signedOut } from "./data/key.ts";
import { QUEUES } from "./data/kinds.ts";
import { may } from "./data/rights.ts";
import { loadSession, session, signIn, signOut } from "./data/session.ts";
import { link } from "./data/stream.ts";
import { lang, setLang, tc } from "./i18n/index.ts";
import { Bell, Notifier } from "./notify.tsx";
import { inProject, ownProject, ProjectMenu } from "./project.tsx";
import { JobsPage } from "./pages/jobs/jobs.tsx";
import { LoginPage } from "./pages/login.tsx";
import { openKeys, Palette } from "./palette.tsx";
import { unseenCount } from "./lib/seen.ts";
import { followLinks, match, navigate, path, query } from "./router.ts";
import { lazy } from "./lazy.tsx";
import { density, theme, type Density, type Theme } from "./theme.ts";
import { savePath } from "./ui/save.ts";
import { Icon, type IconNode } from "./ui/icon.tsx";
import {
  HelpIcon,
  JobsIcon,
  NotebookIcon,
  LanguageIcon,
  LiveIcon,
  LogsIcon,
  NodeIcon,
  OverviewIcon,
  QueueIcon,
  CurveIcon,
  SettingsIcon,
  ThemeIcon,
  UserIcon,
  VolumeIcon,
} from "./ui/icons.ts";
import { Mark } from "./ui/mark.tsx";
import { Menu } from "./ui/menu.tsx";
import { Empty, Loading, Problem } from "./ui/notice.tsx";
import { showCurrent } from "./ui/tabs.tsx";
import { Toasts } from "./ui/toast.tsx";

const JobPage = lazy(() => import("./pages/job/job.tsx"));
const CreatePage = lazy(() => import("./pages/create/create.tsx"));
const ComparePage = lazy(() => import("./pages/compare/compare.tsx"));
const OverviewPage = lazy(() => import("./pages/overview/overview.tsx"));
const QueuesPage = lazy(() => import("./pages/queues/queues.tsx"));
const NodesPage = lazy(() => import("./pages/nodes/nodes.tsx"));
const NotebooksPage = lazy(() => import("./pages/notebooks/notebooks.tsx"));
const VolumesPage = lazy(() => import("./pages/volumes/volumes.tsx"));
const FilesPage = lazy(() => import("./pages/volumes/files.tsx"));
const TensorBoardsPage = lazy(() => import("./pages/tensorboards/tensorboards.tsx"));
const OpenPage = lazy(() => import("./pages/open.tsx"));
const AppPage = lazy(() => import("./pages/apps/app.tsx"));
const LogsPage = lazy(() => import("./pages/logs/logs.tsx"));
const DesignPage = lazy(() => import("./pages/design/design.tsx"));
const SettingsPage = lazy(() => import("./pages/settings/settings.tsx"));

interface Route {
  pattern: string;
  page: (found: Record<string, string>) => ComponentChildren;
}

function appPage(plural: string, at: Record<string, string>): ComponentChildren {
  return <AppPage plural={plural} ns={at["ns"]!} name={at["name"]!} tab={at["*"] ?? ""} />;
}

const ROUTES: Route[] = [
  { pattern: "/overview", page: () => <OverviewPage /> },
  { pattern: "/jobs", page: () => <JobsPage /> },
  { pattern: "/compare", page: () => <ComparePage /> },
  { pattern: "/jobs/new", page: () => <CreatePage /> },
  {
    pattern: "/jobs/:ns/:kind/:name/*",
    page: (at) => (
      <JobPage ns={at["ns"]!} kind={at["kind"]!} name={at["name"]!} rest={at["*"] ?? ""} />
    ),
  },
  { pattern: "/logs/*", page: (at) => <LogsPage rest={at["*"] ?? ""} /> },
  { pattern: "/queues/*", page: (at) => <QueuesPage name={at["*"] ?? ""} /> },
  { pattern: "/nodes/*", page: (at) => <NodesPage name={at["*"] ?? ""} /> },
  { pattern: "/notebooks", page: () => <NotebooksPage /> },
  { pattern: "/notebooks/:ns/:name/*", page: (at) => appPage("notebooks", at) },
  { pattern: "/notebook/:ns/:name/*", page: () => <OpenPage /> },
  { pattern: "/tensorboards", page: () => <TensorBoardsPage /> },
  { pattern: "/tensorboards/:ns/:name/*", page: (at) => appPage("tensorboards", at) },
  { pattern: "/tensorboard/:ns/:name/*", page: () => <OpenPage /> },
  { pattern: "/app/:ns/pods/:name/:port/*", page: () => <OpenPage /> },
  { pattern: "/volumes", page: () => <VolumesPage /> },
  {
    pattern: "/volumes/:ns/:name/*",
    page: (at) => <FilesPage ns={at["ns"]!} claim={at["name"]!} path={at["*"] ?? ""} />,
  },
  { pattern: "/settings", page: () => <SettingsPage /> },
  { pattern: "/design", page: () => <DesignPage /> },
];

function Page() {
  for (const route of ROUTES) {
    const found = match(route.pattern, path.value);
    if (found) return <>{route.page(found)}</>;
  }
  return (
    <Empty title={tc("noPage")}>
      <a href="/jobs">{tc("toJobs")}</a>
    </Empty>
  );
}

function LinkLight() {
  const state = link.value;
  // Before the first connection there is nothing that could be stale.
  if (state === "connecting") return <span class="light" role="status" />;
  return (
    <span class={`light light-${state}`} role="status">
      <Icon of={LiveIcon} size={14} />
      <span class="light-word">{state === "live" ? tc("live") : tc("reconnecting")}</span>
    </span>
  );
}

function ThemeMenu() {
  const themes: Theme[] = ["system", "light", "dark"];
  const densities: Density[] = ["comfortable", "compact"];
  return (
    <Menu
      label={<Icon of={ThemeIcon} />}
      name={tc("appearance")}
      items={[
        ...themes.map((one) => ({
          label: tc(one),
          checked: theme.value === one,
          onSelect: () => {
            theme.value = one;
          },
        })),
        ...densities.map((one, i) => ({
          label: tc(one),
          checked: density.value === one,
          apart: i === 0,
          onSelect: () => {
            density.value = one;
          },
        })),
      ]}
    />
  );
}

function Header() {
  const user = session.value?.user ?? "";
  return (
    <header class="top">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        {tc("skip")}
      </a>
      <a class="brand" href={inProject("/jobs")}>
        <Mark />
        <span class="brand-word">{tc("product")}</span>
      </a>
      <ProjectMenu />
      <span class="grow" />
      <LinkLight />
      <button
        type="button"
        class="icon"
        onClick={() => setLang(lang.value === "zh" ? "en" : "zh")}
        lang={lang.value === "zh" ? "en" : "zh-CN"}
      >
        <Icon of={LanguageIcon} />
        {lang.value === "zh" ? "English" : "中文"}
      </button>
      <ThemeMenu />
      <Menu
        label={<Icon of={HelpIcon} />}
        name={tc("help")}
        items={[
          { label: tc("keys"), hint: "?", onSelect: openKeys },
          { label: tc("apiDocs"), onSelect: () => savePath("openapi.json", "/openapi/v2") },
          { label: tc("about"), href: "/settings" },
        ]}
      />
      <Bell />
      <Menu
        label={
          <>
            <Icon of={UserIcon} /> <span class="user">{user}</span>
          </>
        }
        name={user || tc("settings")}
        items={[
          { label: tc("settings"), href: "/settings" },
          { label: tc("signOut"), onSelect: () => void signOut() },
        ]}
      />
    </header>
  );
}

/** Not offered to a reader who may not list them. */
const CLUSTER = [
  { href: "/queues", word: "queues", icon: QueueIcon, of: QUEUES, ns: QUEUES.namespace },
  { href: "/nodes", word: "nodes", icon: NodeIcon, of: { group: "", plural: "nodes" }, ns: null },
] as const;

function Navigation() {
  // In groups, as the tutorials name them: 构建 > Job.
  const groups: [title: string, entries: [href: string, label: string, icon: IconNode][]][] = [
    ["", [["/overview", tc("overview"), OverviewIcon]]],
    [
      tc("build"),
      [
        ["/notebooks", tc("notebooks"), NotebookIcon],
        ["/jobs", tc("jobs"), JobsIcon],
        ["/logs", tc("logSearch"), LogsIcon],
        ["/tensorboards", tc("tensorboards"), CurveIcon],
      ],
    ],
    [tc("storage"), [["/volumes", tc("volumes"), VolumeIcon]]],
    [
      tc("cluster"),
      CLUSTER.filter(({ of, ns }) => may("list", of, ns ?? ownProject())).map(
        ({ href, word, icon }) => [href, tc(word), icon],
      ),
    ],
    ["", [["/settings", tc("settings"), SettingsIcon]]],
  ];
  const box = useRef<HTMLElement>(null);
  const at = path.value;
  useEffect(() => showCurrent(box.current), [at]);
  return (
    <nav class="side" aria-label={tc("product")} ref={box}>
      {groups.map(([title, entries], i) =>
        entries.length === 0 ? null : (
          <div key={i} role={title ? "group" : undefined} aria-label={title || undefined}>
            {title ? (
              <span class="side-title" aria-hidden="true">
                {title}
              </span>
            ) : null}
            {entries.map(([href, label, icon]) => (
              <a
                key={href}
                href={inProject(href)}
                aria-current={at === href || at.startsWith(`${href}/`) ? "page" : undefined}
              >
                <Icon of={icon} />
                {label}
                {href === "/overview" && unseenCount.value ? (
                  <span class="new num" title={tc("unseen")} aria-hidden="true">
                    {unseenCount.value}
                  </span>
                ) : null}
              </a>
            ))}
          </div>
        ),
      )}
    </nav>
  );
}

function OfflineBanner() {
  const lost = useComputed(() => link.value === "lost");
  return lost.value ? (
    <p class="banner" role="alert">
      {tc("offline")}
    </p>
  ) : null;
}

/** Where an address that signs in leads: a page of this console, whatever it says. */
function wayIn(to: string | null): string {
  return to && /^\/(?![/\\])/.test(to) ? to : "/jobs";
}

/** An address with a code signs in, once; later it is just the way in. */
async function enter(): Promise<void> {
  const code =
    path.value === "/login" ? new URLSearchParams(window.location.search).get("code") : null;
  if (code)
    await signIn({ code }).catch((error: Failure) => {
      if (error.code !== 401) throw error;
    });
  if (!session.value) await loadSession();
}

export function App() {
  const [failure, setFailure] = useState<Failure | null>(null);
  const start = (): void => {
    setFailure(null);
    enter().catch((error: Failure) => {
      if (error.code !== 401) setFailure(error);
    });
  };
  useEffect(start, []);
  useEffect(() => {
    if (path.value === "/" || path.value === "/login")
      navigate(wayIn(query.value.get("to")), { replace: true });
  }, [path.value]);
  if (signedOut.value) return <LoginPage />;
  if (failure) return <Problem failure={failure} onRetry={start} />;
  if (!session.value) return <Loading />;
  return (
    <div class="frame" onClick={followLinks}>
      <Header />
      <OfflineBanner />
      <div class="below">
        <Navigation />
        <main id="main" tabIndex={-1}>
          <Page />
        </main>
      </div>
      <Palette />
      <Notifier />
      <Toasts />
    </div>
  );
}
