// Plain requests to the Kubernetes API, with this page's session. What fails is a Failure: a
// sentence, a code, a reason.
import { key, keyRefused } from "./key.ts";
import type { KubeObject, Status } from "./types.ts";

export class Failure extends Error {
  constructor(
    message: string,
    readonly code: number, // 0: the server was not reached
    readonly reason: string,
    readonly status?: Status,
    readonly method = "GET",
  ) {
    super(message);
  }
}

function headers(mine: string): Record<string, string> {
  return { Accept: "application/json", ...(mine ? { Authorization: `Bearer ${mine}` } : {}) };
}

async function failure(answer: Response, method?: string): Promise<Failure> {
  const text = await answer.text();
  try {
    const status = JSON.parse(text) as Status;
    if (status.kind === "Status")
      return new Failure(
        status.message ?? answer.statusText,
        answer.status,
        status.reason ?? "",
        status,
        method,
      );
  } catch {
    /* not JSON: the text itself is what there is */
  }
  return new Failure(text.slice(0, 500) || answer.statusText, answer.status, "");
}

let ahead = 0;

/** The server's clock, as its last answer had it: ours may be wrong by any amount. */
export function serverNow(): number {
  return Date.now() + ahead;
}

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const mine = key();
  let answer: Response;
  try {
    answer = await fetch(path, {
      ...init,
      headers: { ...headers(mine), ...(init.headers as Record<string, string> | undefined) },
      credentials: "omit",
    });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new Failure(String((error as Error).message), 0, "Unreachable");
  }
  const said = Date.parse(answer.headers.get("Date") ?? "");
  if (!Number.isNaN(said)) ahead = said - Date.now();
  if (answer.status === 401) keyRefused(mine);
  if (!answer.ok) throw await failure(answer, init.method);
  return answer;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await request(path, signal ? { signal } : {})).json()) as T;
}

export async function list<T extends KubeObject>(path: string, signal?: AbortSignal): Promise<T[]> {
  return (await get<{ items: T[] }>(path, signal)).items;
}

async function send<T>(method: string, path: string, body: unknown, type: string): Promise<T> {
  const init: RequestInit = { method };
  if (body !== undefined) {
    init.body = typeof body === "string" ? body : JSON.stringify(body);
    init.headers = { "Content-Type": type };
  }
  return (await (await request(path, init)).json()) as T;
}

export const create = <T>(path: string, object: unknown): Promise<T> =>
  send("POST", path, object, "application/json");
/** The body is YAML text as the user wrote it: the server then names the line that is wrong. */
export const createYaml = <T>(path: string, text: string): Promise<T> =>
  send("POST", path, text, "application/yaml");
export const replace = <T>(path: string, object: unknown): Promise<T> =>
  send("PUT", path, object, "application/json");
export const merge = <T>(path: string, patch: unknown): Promise<T> =>
  send("PATCH", path, patch, "application/merge-patch+json");
export const remove = <T>(path: string, options?: unknown): Promise<T> =>
  send("DELETE", path, options, "application/json");
