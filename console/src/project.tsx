// Which project (namespace) the lists show: in the address, and remembered for the next visit. ""
// is all of them.
import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { corePath } from "./data/kinds.ts";
import { type Collection, useLive } from "./data/live.ts";
import { scope, session } from "./data/session.ts";
import type { KubeObject } from "./data/types.ts";
import { tc } from "./i18n/index.ts";
import { path, query, setQuery } from "./router.ts";
import { Icon } from "./ui/icon.tsx";
import { OpenIcon, ProjectIcon } from "./ui/icons.ts";
import { Menu } from "./ui/menu.tsx";

const KEY = "muster.project";
const remembered = signal(localStorage.getItem(KEY) ?? "");

/** Pages that show one project or all. */
const LISTS = ["/jobs", "/overview", "/logs", "/tensorboards", "/notebooks"];

/** The project shown: the address counts, then what is remembered. Several in the address are the
 * list's own filter. */
export const project = computed(() => {
  const said = query.value.get("project");
  return said === null ? remembered.value : said.includes(",") ? "" : said;
});

/** Where something new goes that says no project. */
export function ownProject(): string {
  return project.value || session.value?.namespace || "default";
}

/** The address of a list with the project shown now. */
export function inProject(list: string): string {
  return LISTS.includes(list) && project.value
    ? `${list}?project=${encodeURIComponent(project.value)}`
    : list;
}

function choose(next: string): void {
  remembered.value = next;
  localStorage.setItem(KEY, next);
  if (LISTS.includes(path.value)) setQuery({ project: next || null });
}

/** An address without a project gets the remembered one, so that a copied link shows the same. */
function useRemembered(spaces: Collection<KubeObject>): void {
  // Who may not see all projects begins with his own.
  const own = (spaces.failure?.code === 403 && session.value?.namespace) || "";
  useEffect(() => {
    if (own && !project.value) choose(own);
  }, [own]);
  useEffect(() => {
    scope.value = own && (project.value || own);
  }, [own, project.value]);
  useEffect(() => {
    if (LISTS.includes(path.value) && query.value.get("project") === null && remembered.value)
      setQuery({ project: remembered.value });
  }, [path.value]);
  useEffect(() => {
    const said = query.value.get("project");
    if (path.value !== "/jobs" || said === remembered.value || said?.includes(",")) return;
    remembered.value = said ?? "";
    localStorage.setItem(KEY, remembered.value);
  }, [query.value]);
}

export function ProjectMenu() {
  const spaces = useLive<KubeObject>(corePath("namespaces"));
  useRemembered(spaces);
  // Who may not list them still has their own.
  const names = [
    ...new Set([
      ...spaces.items.map((one) => one.metadata.name),
      session.value?.namespace ?? "default",
      ...(project.value ? [project.value] : []),
    ]),
  ]
    .filter((name) => !name.startsWith("kube-"))
    .sort();
  return (
    <Menu
      class="project"
      name={tc("project") + tc("colon") + (project.value || tc("all"))}
      label={
        <>
          <Icon of={ProjectIcon} />
          <span class="project-name">
            <span class="project-word">{tc("project") + tc("colon")}</span>
            {project.value || tc("all")}
          </span>
          <Icon of={OpenIcon} size={14} />
        </>
      }
      items={[
        { label: tc("all"), checked: !project.value, onSelect: () => choose("") },
        ...names.map((name) => ({
          label: name,
          checked: project.value === name,
          onSelect: () => choose(name),
        })),
      ]}
    />
  );
}
