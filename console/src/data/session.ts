// Who is signed in.
import { signal } from "@preact/signals";
import { request } from "./api.ts";
import { key, keyRefused, setKey, signedOut } from "./key.ts";

export interface Session {
  user: string;
  version: string;
  /** Whether this server runs on one machine (true) or the console stands before a cluster. */
  local: boolean;
  /** CPU and memory may be promised more than once: what does not fit starts all the same. */
  overcommit?: boolean;
  namespace: string;
  /** Where the owner's kubeconfig is; nobody else learns it. */
  kubeconfig?: string;
}

export const session = signal<Session | null>(null);

/** The one project that lists ask for, of who may not see all. "": all. */
export const scope = signal("");

export async function loadSession(): Promise<void> {
  if (!key()) {
    signedOut.value = true;
    return;
  }
  session.value = (await (await request("/console/v1/session")).json()) as Session;
}

/** With a token, or with the code of an address that is good once. */
export async function signIn(how: { token: string } | { code: string }): Promise<void> {
  const answer = await request("/console/v1/login", {
    method: "POST",
    body: JSON.stringify(how),
    headers: { "Content-Type": "application/json" },
  });
  setKey(((await answer.json()) as { key: string }).key);
  await loadSession();
}

export async function signOut(): Promise<void> {
  const mine = key();
  await request("/console/v1/logout", { method: "POST" });
  keyRefused(mine);
}

signedOut.subscribe((out) => {
  if (!out) return;
  session.value = null;
  sessionStorage.clear(); // drafts: who signs in next may be another
});
window.addEventListener("storage", () => {
  if (key() && !session.value) void loadSession().catch(() => undefined); // another tab has signed in
});
