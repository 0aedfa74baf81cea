// Where we are: the address is the state. Pages read path and query as signals; filters, tabs and
// selections live in the query, so that a reload or a shared link shows the same view.
import { computed, signal } from "@preact/signals";

export const location_ = signal({ path: window.location.pathname, query: window.location.search });

/** The list of jobs as it was left: its filters are in its address. */
let listLeft = "/jobs";

export function backToList(): string {
  return listLeft;
}

function sync(): void {
  location_.value = { path: window.location.pathname, query: window.location.search };
  if (window.location.pathname === "/jobs") listLeft = `/jobs${window.location.search}`;
}
window.addEventListener("popstate", sync);

export const path = computed(() => location_.value.path);
export const query = computed(() => new URLSearchParams(location_.value.query));

/** Goes to an address of this console; replace: without a new entry in the history. */
export function navigate(to: string, how: { replace?: boolean } = {}): void {
  if (how.replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  sync();
  if (!how.replace) window.scrollTo(0, 0);
}

/** The present address with some query values changed; null removes one. */
export function withQuery(changes: Record<string, string | null>): string {
  const next = new URLSearchParams(location_.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  return location_.value.path + (text ? `?${text}` : "");
}

export function setQuery(changes: Record<string, string | null>): void {
  navigate(withQuery(changes), { replace: true });
}

/** Plain clicks on links of this console stay in the page; all others are the browser's. */
export function followLinks(event: MouseEvent): void {
  if (
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  )
    return;
  const anchor = (event.target as Element | null)?.closest?.("a");
  if (
    !anchor ||
    anchor.target ||
    anchor.hasAttribute("download") ||
    anchor.origin !== window.location.origin
  )
    return;
  const to = anchor.pathname + anchor.search;
  if (/^\/(api|apis|openapi|version|board|tensorboard|notebook|app|console|assets)\b/.test(to))
    return;
  event.preventDefault();
  navigate(to);
}

/** The parts of a path that match a pattern such as "/jobs/:ns/:kind/:name/*", or null. */
export function match(pattern: string, at: string): Record<string, string> | null {
  const want = pattern.split("/").filter(Boolean);
  const have = at.split("/").filter(Boolean);
  const found: Record<string, string> = {};
  for (let i = 0; i < want.length; i++) {
    const part = want[i]!;
    if (part === "*") {
      found["*"] = have.slice(i).map(decodeURIComponent).join("/");
      return found;
    }
    const value = have[i];
    if (value === undefined) return null;
    if (part.startsWith(":")) found[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return null;
  }
  return want.length === have.length ? found : null;
}
