// One WebSocket per tab (a browser has six connections for all tabs of a server): watches, logs,
// metrics and curves as numbered subscriptions. After a break it comes back by itself and each
// subscription goes on at its cursor.
//
// Wire, both ways JSON texts. To the server:
//   {id, op: "watch", path, query?, from?}      list, then changes; from: a resourceVersion to go on at
//   {id, op: "logs", path, credit}              a followed log, its path with the query a log has
//   {id, op: "credit", bytes}                   that much more of a log may be sent
//   {id, op: "stop"}                            and {op: "ping"}, answered by {t: "pong"}
// From the server, each with the id of its subscription:
//   {id, t: "list", items, cursor}   a list comes in several, each but the last with part: true and without a cursor, the
//                                    first with first: true (what came before of a list that was broken off does not count)
//   {id, t: "event", type, object, cursor}   {id, t: "lines", text, bytes}
//   {id, t: "end"}                           {id, t: "error", code, reason, message}
// and, without an id, {t: "signedOut"}: this session has ended, in this tab or another; then it
// closes.
import { signal } from "@preact/signals";
import { request } from "./api.ts";
import { key, keyRefused, signedOut, withKey } from "./key.ts";

export type Link = "connecting" | "live" | "lost";
export const link = signal<Link>("connecting");

export interface ServerMessage {
  id?: number;
  t: "list" | "event" | "lines" | "end" | "error" | "pong" | "signedOut";
  items?: unknown[];
  part?: boolean;
  first?: boolean;
  type?: "ADDED" | "MODIFIED" | "DELETED";
  object?: unknown;
  text?: string;
  /** What the text took of the credit. */
  bytes?: number;
  cursor?: string;
  code?: number;
  reason?: string;
  message?: string;
}

export interface Subscription {
  op: "watch" | "logs";
  /** A function is asked again after every break: a log then goes on where it was. */
  path: string | (() => string);
  query?: string;
  from?: string;
  /** Bytes of a log the server may send before it must wait for credit. */
  credit?: number;
  onMessage: (message: ServerMessage) => void;
}

interface Entry {
  id: number;
  how: Subscription;
  cursor: string | undefined;
}

const PING_MS = 20_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

const entries = new Map<number, Entry>();
let nextId = 1;
let socket: WebSocket | null = null;
let waits = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let lastHeard = 0;
let openedWith = "";

function sendText(message: unknown): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function begin(entry: Entry): void {
  const { op, path, query, credit } = entry.how;
  sendText({
    id: entry.id,
    op,
    path: typeof path === "string" ? path : path(),
    query,
    credit,
    from: entry.cursor,
  });
}

function take(message: ServerMessage): void {
  if (message.t === "signedOut") keyRefused(openedWith);
  const entry = message.id === undefined ? undefined : entries.get(message.id);
  if (!entry) return;
  if (message.cursor !== undefined) entry.cursor = message.cursor;
  entry.how.onMessage(message);
}

/** Jittered, doubling: many tabs do not come back at the same moment. */
export function waitBefore(attempt: number, random: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt) * (0.5 + random / 2);
}

function reconnectLater(): void {
  clearTimeout(timer);
  timer = setTimeout(connect, waitBefore(waits++, Math.random()));
}

function connect(): void {
  clearTimeout(timer);
  if (signedOut.value || socket || !entries.size) return;
  const scheme = window.location.protocol === "https:" ? "wss:" : "ws:";
  const mine = new WebSocket(
    `${scheme}//${window.location.host}/console/v1/stream`,
    withKey(["stream.muster.dev"]),
  );
  openedWith = key();
  socket = mine;
  let opened = false;
  mine.onopen = () => {
    opened = true;
    waits = 0;
    lastHeard = Date.now();
    link.value = "live";
    for (const entry of entries.values()) begin(entry);
  };
  mine.onmessage = (event) => {
    lastHeard = Date.now();
    take(JSON.parse(event.data as string) as ServerMessage);
  };
  mine.onclose = () => {
    if (socket !== mine) return;
    socket = null;
    if (signedOut.value) return;
    link.value = "lost";
    // A browser does not say why it was refused: a session that is over is told by any other
    // request.
    if (!opened) void request("/console/v1/session").catch(() => undefined);
    reconnectLater();
  };
}

setInterval(() => {
  if (!socket || socket.readyState !== WebSocket.OPEN) return;
  if (Date.now() - lastHeard > 2.5 * PING_MS)
    socket.close(); // the other side is gone without a word
  else sendText({ op: "ping" });
}, PING_MS);

// Waiting half a minute is for servers that are down, not for a user who is back.
function hurry(): void {
  waits = 0;
  if (!socket) connect();
}
window.addEventListener("online", hurry);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) hurry();
});
signedOut.subscribe((out) => {
  if (!out) hurry();
});

/** Begins; answers how to end and how to give a log more credit. */
export function subscribe(how: Subscription): {
  stop: () => void;
  credit: (bytes: number) => void;
} {
  const entry: Entry = { id: nextId++, how, cursor: how.from };
  entries.set(entry.id, entry);
  if (socket?.readyState === WebSocket.OPEN) begin(entry);
  else connect();
  return {
    stop() {
      if (entries.delete(entry.id)) sendText({ id: entry.id, op: "stop" });
    },
    credit(bytes: number) {
      sendText({ id: entry.id, op: "credit", bytes });
    },
  };
}
