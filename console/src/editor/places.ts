// Where in a YAML text a field is, and which field is at a place. Pure.
import {
  isMap,
  isPair,
  isScalar,
  isSeq,
  parseDocument,
  type Document,
  type Node,
  type Pair,
} from "yaml";
import type { Path } from "./check.ts";

export interface Place {
  from: number;
  to: number;
}

function rangeOf(node: unknown): Place | null {
  const range = (node as Node | null)?.range;
  return range ? { from: range[0], to: Math.max(range[0], range[1]) } : null;
}

/** The place of the value at a path, or of its key; when it is not there, of the nearest field
 * above it. */
export function placeOf(document: Document, path: Path, onKey: boolean): Place {
  let node: unknown = document.contents;
  let best: Place = rangeOf(node) ?? { from: 0, to: 0 };
  if (best.to > best.from) best = { from: best.from, to: best.from + 1 };
  for (let i = 0; i < path.length; i++) {
    const part = path[i]!;
    if (isMap(node)) {
      const pair: Pair | undefined = node.items.find(
        (one) => isScalar(one.key) && String(one.key.value) === String(part),
      );
      if (!pair) return best;
      const key = rangeOf(pair.key);
      const value = rangeOf(pair.value);
      const last = i === path.length - 1;
      best = (last && !onKey && isScalar(pair.value) ? value : key) ?? value ?? best;
      node = pair.value;
    } else if (isSeq(node) && typeof part === "number") {
      node = node.items[part];
      const here = rangeOf(node);
      if (!here) return best;
      best = isScalar(node) ? here : { from: here.from, to: here.from + 1 };
    } else return best;
  }
  return best;
}

/** The path of the field a place is in. */
export function pathAt(document: Document, at: number): Path {
  const path: Path = [];
  let node: unknown = document.contents;
  const holds = (one: unknown): boolean => {
    const range = (one as Node | null)?.range;
    return !!range && range[0] <= at && at <= range[2];
  };
  for (;;) {
    if (isMap(node)) {
      const pair: Pair | undefined = node.items.find(
        (one) => isPair(one) && (holds(one.key) || holds(one.value)),
      );
      if (!pair || !isScalar(pair.key)) return path;
      path.push(String(pair.key.value));
      if (holds(pair.key)) return path;
      node = pair.value;
    } else if (isSeq(node)) {
      const index = node.items.findIndex(holds);
      if (index < 0) return path;
      path.push(index);
      node = node.items[index];
    } else return path;
  }
}

const HERE = "__here__";

function pathOfKey(node: unknown, key: string, path: Path): Path | null {
  if (isMap(node)) {
    for (const pair of node.items) {
      if (!isScalar(pair.key)) continue;
      if (pair.key.value === key) return path;
      const found = pathOfKey(pair.value, key, [...path, String(pair.key.value)]);
      if (found) return found;
    }
  } else if (isSeq(node)) {
    for (const [i, item] of node.items.entries()) {
      const found = pathOfKey(item, key, [...path, i]);
      if (found) return found;
    }
  }
  return null;
}

/** The path of the mapping that a key typed at this place would belong to: the parser itself is
 * asked. */
export function mappingAt(text: string, at: number): Path {
  const end = text.indexOf("\n", at);
  const probe = `${text.slice(0, at)}${HERE}: 0${end < 0 ? "" : text.slice(end)}`;
  return (
    pathOfKey(parseDocument(probe, { strict: false, uniqueKeys: false }).contents, HERE, []) ?? []
  );
}
