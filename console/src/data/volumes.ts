// Claims, their files and who uses them.
import { request } from "./api.ts";
import type { KubeObject } from "./types.ts";

export interface Claim extends KubeObject {
  spec?: { resources?: { requests?: { storage?: string } } };
  status?: { phase?: string; capacity?: { storage?: string } };
}

export const CLAIMS = { group: "", plural: "persistentvolumeclaims" };

export interface Entry {
  name: string;
  type: "file" | "folder" | "link" | "other";
  bytes: number;
  modifiedMs: number;
}
export interface Listing {
  entries: Entry[];
  more: boolean;
}
export interface Usage {
  bytes: number;
  entries: number;
  partial: boolean;
}

function segments(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** Where the server has a file or folder of a claim. */
export function filePath(ns: string, claim: string, path: string): string {
  return `/console/v1/volumes/${ns}/${claim}/files/${segments(path)}`;
}

/** The page that shows a folder of a claim. */
export function folderHref(ns: string, claim: string, path: string): string {
  return `/volumes/${ns}/${claim}${path ? `/${segments(path)}` : ""}`;
}

export function join(folder: string, name: string): string {
  return folder ? `${folder}/${name}` : name;
}

export async function listFolder(ns: string, claim: string, path: string): Promise<Listing> {
  return (await (await request(filePath(ns, claim, path))).json()) as Listing;
}

export async function upload(
  ns: string,
  claim: string,
  path: string,
  file: File,
  replace: boolean,
  signal: AbortSignal,
): Promise<void> {
  const at = filePath(ns, claim, path) + (replace ? "?replace=1" : "");
  await request(at, { method: "PUT", body: file, signal });
}

export async function makeFolder(ns: string, claim: string, path: string): Promise<void> {
  await request(filePath(ns, claim, path), { method: "POST" });
}

let before: Promise<unknown> = Promise.resolve();

/** One after the other: the server measures one claim at a time. */
export function usageOf(ns: string, claim: string): Promise<Usage> {
  const answer = before.then(
    async () => (await (await request(`/console/v1/volumes/${ns}/${claim}/usage`)).json()) as Usage,
  );
  before = answer.catch(() => undefined);
  return answer;
}

/** Whether something of a pod's, job's, Notebook's or TensorBoard's spec names the claim. */
export function usesClaim(spec: unknown, claim: string): boolean {
  if (typeof spec === "string")
    return spec === `t9k://pvc/${claim}` || spec.startsWith(`t9k://pvc/${claim}/`);
  if (typeof spec !== "object" || spec === null) return false;
  if ((spec as { claimName?: unknown }).claimName === claim) return true;
  const folders = (spec as { pvc?: unknown }).pvc; // logDir of a TensorBoard
  if (Array.isArray(folders) && folders.some((one: { name?: string }) => one.name === claim))
    return true;
  return Object.values(spec).some((one) => usesClaim(one, claim));
}
