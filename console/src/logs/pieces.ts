// What stands inside a line: links, and whether the line is JSON. Pure.
export interface Piece {
  text: string;
  href?: string;
}

// Only http and https: what a program prints must not run anything.
const LINK = /https?:\/\/[^\s<>"'`\\^{}|]+/g;

/** The text in pieces, those that are links with their address. Punctuation after a link is not
 * part of it. */
export function linksIn(text: string): Piece[] {
  if (!text.includes("://")) return [{ text }];
  const pieces: Piece[] = [];
  let at = 0;
  for (const found of text.matchAll(LINK)) {
    const href = found[0].replace(/[.,;:!?)\]]+$/, "");
    if (found.index > at) pieces.push({ text: text.slice(at, found.index) });
    pieces.push({ text: href, href });
    at = found.index + href.length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at) });
  return pieces;
}

/** A line that is a JSON object, indented; null when it is not. */
export function prettyJson(text: string): string | null {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{") || !trimmed.endsWith("}")) return null;
  try {
    return JSON.stringify(JSON.parse(trimmed), null, 2);
  } catch {
    return null;
  }
}

/** Cheap enough for every row that is drawn. */
export function looksLikeJson(text: string): boolean {
  return text.startsWith("{") && text.endsWith("}") && text.includes('"');
}
