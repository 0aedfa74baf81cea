// Deleting with an undo: the object says when it is to go, its controller deletes it then, whether
// this page is still open or not. Taking that away again is the undo.
import { merge, serverNow } from "./api.ts";
import type { KubeObject } from "./types.ts";

export const DELETE_AT = "muster.dev/delete-at";
export const UNDO_MS = 10_000;

/** When it goes, or undefined. */
export function leavesAt(object: KubeObject): number | undefined {
  const ms = Date.parse(object.metadata.annotations?.[DELETE_AT] ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}

function annotate(path: string, object: KubeObject, at: string | null): Promise<unknown> {
  return merge(path, {
    metadata: { uid: object.metadata.uid, annotations: { [DELETE_AT]: at } },
  });
}

export function deleteLater(path: string, object: KubeObject): Promise<unknown> {
  const at = new Date(Math.ceil((serverNow() + UNDO_MS) / 1000) * 1000);
  return annotate(path, object, at.toISOString().replace(".000", ""));
}

export function keep(path: string, object: KubeObject): Promise<unknown> {
  return annotate(path, object, null);
}
