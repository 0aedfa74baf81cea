// Who is signed in. The session is a cookie that scripts cannot read.
import { signal } from "@preact/signals";
import { request, signedOut } from "./api.ts";

export interface Session {
  user: string;
  version: string;
  /** Whether this server runs on one machine (true) or the console stands before a cluster. */
  local: boolean;
  namespace: string;
}

export const session = signal<Session | null>(null);

export async function loadSession(): Promise<void> {
  session.value = (await (await request("/console/v1/session")).json()) as Session;
}

export async function signIn(token: string): Promise<void> {
  await request("/console/v1/login", { method: "POST", body: JSON.stringify({ token }), headers: { "Content-Type": "application/json" } });
  signedOut.value = false;
  await loadSession();
}

export async function signOut(): Promise<void> {
  await request("/console/v1/logout", { method: "POST" });
  session.value = null;
  signedOut.value = true;
}
