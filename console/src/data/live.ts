// Collections that stay current: objects by UID, changed in one batch per frame. A page asks for a
// collection and lets go of it; two pages that want the same one share it.
import { signal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Failure } from "./api.ts";
import { signedOut } from "./key.ts";
import { subscribe, type ServerMessage } from "./stream.ts";
import type { KubeObject } from "./types.ts";

export interface Collection<T extends KubeObject> {
  items: T[];
  loaded: boolean;
  failure: Failure | null;
}

interface Shared {
  state: ReturnType<typeof signal<Collection<KubeObject>>>;
  byUid: Map<string, KubeObject>;
  users: number;
  stop: () => void;
  again: () => void;
  linger: ReturnType<typeof setTimeout> | undefined;
}

const LINGER_MS = 15_000; // going back to a page shows it at once
const shared = new Map<string, Shared>();

/** Applies one message; answers whether anything changed. Parts of a list wait in `coming` until it
 * is whole. */
export function applyMessage(
  byUid: Map<string, KubeObject>,
  message: ServerMessage,
  coming: KubeObject[] = [],
): boolean {
  if (message.t === "list") {
    if (message.first) coming.length = 0;
    for (const item of (message.items ?? []) as KubeObject[]) coming.push(item);
    if (message.part) return false;
    byUid.clear();
    for (const item of coming) byUid.set(item.metadata.uid, item);
    coming.length = 0;
    return true;
  }
  if (message.t !== "event" || !message.object) return false;
  const object = message.object as KubeObject;
  if (message.type === "DELETED") return byUid.delete(object.metadata.uid);
  byUid.set(object.metadata.uid, object);
  return true;
}

function open(path: string, query: string): Shared {
  const byUid = new Map<string, KubeObject>();
  const coming: KubeObject[] = [];
  const state = signal<Collection<KubeObject>>({ items: [], loaded: false, failure: null });
  let frame = 0;
  const publish = (failure: Failure | null): void => {
    frame = 0;
    state.value = { items: [...byUid.values()], loaded: true, failure };
  };
  const begin = (): { stop: () => void } =>
    subscribe({
      op: "watch",
      path,
      query,
      onMessage(message) {
        if (message.t === "error") {
          const details = { kind: path.slice(path.lastIndexOf("/") + 1) };
          publish(
            new Failure(message.message ?? "", message.code ?? 0, message.reason ?? "", {
              kind: "Status",
              details,
            }),
          );
        } else if (applyMessage(byUid, message, coming) && !frame) {
          // A hidden tab draws no frames, but must not pile up work either.
          frame = document.hidden ? 1 : requestAnimationFrame(() => publish(null));
          if (document.hidden) publish(null);
        }
      },
    });
  let running = begin();
  const again = (): void => {
    running.stop();
    coming.length = 0;
    running = begin();
  };
  return { state, byUid, users: 0, stop: () => running.stop(), again, linger: undefined };
}

/** Lists everything that is shown anew; what is shown stays until then. */
export function refreshAll(): void {
  for (const one of shared.values()) one.again();
}

/** For use outside components; call the returned release when done. */
export function acquire<T extends KubeObject>(
  path: string,
  query = "",
): { state: ReadonlySignal<Collection<T>>; release: () => void } {
  const key = `${path}?${query}`;
  let one = shared.get(key);
  if (!one) shared.set(key, (one = open(path, query)));
  clearTimeout(one.linger);
  one.users++;
  const mine = one;
  let released = false;
  return {
    state: mine.state as unknown as ReadonlySignal<Collection<T>>,
    release() {
      if (released) return;
      released = true;
      if (--mine.users > 0) return;
      mine.linger = setTimeout(() => {
        mine.stop();
        if (shared.get(key) === mine) shared.delete(key);
      }, LINGER_MS);
    },
  };
}

// Who signs in next may be another, with other rights: nothing is shown to him of what was here.
signedOut.subscribe((out) => {
  if (!out) return;
  for (const one of shared.values()) one.stop();
  shared.clear();
});

/** A live collection for as long as the component is on the page. */
export function useLive<T extends KubeObject>(path: string, query = ""): Collection<T> {
  const held = useMemo(() => acquire<T>(path, query), [path, query]);
  useEffect(() => () => held.release(), [held]);
  return held.state.value;
}
