// Markdown as people write it in notes and event files, read into a tree of our own: headings, lists,
// tables, quotes, code, emphasis, links. HTML in it is text like any other; an image is a link to it.
// Pure; ui/markdown.tsx shows it.
export type Inline =
  | string
  | { mark: "strong" | "em" | "del" | "code"; of: Inline[] }
  | { href: string; of: Inline[] };

export type Block =
  | { kind: "heading"; level: number; of: Inline[] }
  | { kind: "text"; of: Inline[] }
  | { kind: "code"; text: string }
  | { kind: "quote"; of: Block[] }
  | { kind: "list"; start: number | null; items: Block[][] }
  | { kind: "table"; rows: Inline[][][] }
  | { kind: "rule" };

const DEEPEST = 8;
const FARTHEST = 2_000; // characters from a sign to the one that closes it

/** Addresses one can be led to; no javascript:, no data:. */
export function safeHref(text: string): string | null {
  return /^(https?:\/\/|mailto:|\/(?!\/))/i.test(text) ? text : null;
}

const MARKS = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "del"],
  ["*", "em"],
  ["_", "em"],
] as const;

const isSpace = (c: string | undefined): boolean => c === undefined || /\s/.test(c);
const isWord = (c: string | undefined): boolean => c !== undefined && /[\p{L}\p{N}]/u.test(c);

/** Where the sign that was opened before `from` is closed, or -1. */
function closing(text: string, sign: string, from: number): number {
  if (isSpace(text[from])) return -1;
  const end = Math.min(text.length, from + FARTHEST);
  for (
    let at = text.indexOf(sign, from + 1);
    at >= 0 && at < end;
    at = text.indexOf(sign, at + 1)
  ) {
    if (isSpace(text[at - 1]) || text[at - 1] === "\\") continue;
    if (sign[0] === "_" && isWord(text[at + sign.length])) continue;
    if (sign.length === 1 && text[at + 1] === sign)
      at++; // the other sign
    else return sign.length === 2 && text[at + 2] === sign[0] ? at + 1 : at; // "*c***": the inner first
  }
  return -1;
}

type Found = { piece: Inline; end: number } | null;

function codeAt(text: string, at: number): Found {
  const [ticks] = /^`+/.exec(text.slice(at, at + 8))!;
  const end = text.indexOf(ticks, at + ticks.length);
  if (end < 0) return null;
  const inner = text.slice(at + ticks.length, end);
  return { piece: { mark: "code", of: [inner.trim() || inner] }, end: end + ticks.length };
}

function linkAt(text: string, at: number, deep: number): Found {
  const from = text[at] === "!" ? at + 2 : at + 1;
  const middle = text.indexOf("](", from);
  const end = middle < 0 ? -1 : text.indexOf(")", middle);
  if (end < 0 || end - at > FARTHEST || text.slice(from, middle).includes("[")) return null;
  const [address = ""] = text
    .slice(middle + 2, end)
    .trim()
    .split(/\s/);
  const href = safeHref(address);
  const of = inline(text.slice(from, middle) || address, deep + 1);
  return { piece: href ? { href, of } : text.slice(at, end + 1), end: end + 1 };
}

function addressAt(text: string, at: number): Found {
  const [found = ""] = /^https?:\/\/[^\s<>"'`|]+/.exec(text.slice(at, at + FARTHEST)) ?? [];
  const href = found.replace(/[.,;:!?)*_\]，。；：！？）]+$/u, "");
  return href.length > 8 ? { piece: { href, of: [href] }, end: at + href.length } : null;
}

function markAt(text: string, at: number, deep: number): Found {
  for (const [sign, mark] of MARKS) {
    if (!text.startsWith(sign, at) || (sign[0] === "_" && isWord(text[at - 1]))) continue;
    const end = closing(text, sign, at + sign.length);
    if (end < 0) continue;
    const of = inline(text.slice(at + sign.length, end), deep + 1);
    return { piece: { mark, of }, end: end + sign.length };
  }
  return null;
}

function pieceAt(text: string, at: number, deep: number): Found {
  const c = text[at]!;
  if (c === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? ""))
    return { piece: text[at + 1]!, end: at + 2 };
  if (c === "`") return codeAt(text, at);
  if (c === "[" || (c === "!" && text[at + 1] === "[")) return linkAt(text, at, deep);
  if (c === "h" && !isWord(text[at - 1])) return addressAt(text, at);
  return "*_~".includes(c) ? markAt(text, at, deep) : null;
}

export function inline(text: string, deep = 0): Inline[] {
  if (deep > DEEPEST) return [text];
  const found: Inline[] = [];
  let plain = "";
  for (let at = 0; at < text.length;) {
    const { piece, end } = pieceAt(text, at, deep) ?? { piece: text[at]!, end: at + 1 };
    if (typeof piece === "string") plain += piece;
    else {
      if (plain) found.push(plain);
      plain = "";
      found.push(piece);
    }
    at = end;
  }
  if (plain) found.push(plain);
  return found;
}

const FENCE = /^ {0,3}(```+|~~~+)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function cells(line: string): Inline[][] {
  return line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((one) => inline(one.trim()));
}

/** One item's lines, without its own indentation: until a line that belongs to none. */
function listAt(lines: string[], from: number, deep: number): { block: Block; end: number } {
  const [, indent = "", sign = ""] = ITEM.exec(lines[from]!)!;
  const numbered = /\d/.test(sign);
  const items: string[][] = [];
  let at = from;
  for (; at < lines.length; at++) {
    const line = lines[at]!;
    const found = ITEM.exec(line);
    if (found && found[1]!.length <= indent.length + 1) {
      if (/\d/.test(found[2]!) !== numbered || found[1]!.length < indent.length) break;
      items.push([found[3]!]);
    } else if (!line.trim()) {
      if (!/^ {2,}\S/.test(lines[at + 1] ?? "") && !ITEM.test(lines[at + 1] ?? "")) break;
      items.at(-1)!.push("");
    } else if (found || /^\s{2,}/.test(line)) items.at(-1)!.push(line.replace(/^ {2,4}/, ""));
    else break;
  }
  const start = numbered ? Number.parseInt(sign, 10) : null;
  const block: Block = { kind: "list", start, items: items.map((one) => blocks(one, deep + 1)) };
  return { block, end: at };
}

function begins(line: string, next: string | undefined): boolean {
  return (
    FENCE.test(line) ||
    HEADING.test(line) ||
    RULE.test(line) ||
    ITEM.test(line) ||
    /^ {0,3}>/.test(line) ||
    (line.includes("|") && next !== undefined && next.includes("-") && DIVIDER.test(next))
  );
}

function blockAt(lines: string[], from: number, deep: number): { block: Block; end: number } {
  const line = lines[from]!;
  const [, fence] = FENCE.exec(line) ?? [];
  if (fence) {
    let end = from + 1;
    while (end < lines.length && !lines[end]!.trimStart().startsWith(fence)) end++;
    return { block: { kind: "code", text: lines.slice(from + 1, end).join("\n") }, end: end + 1 };
  }
  const [, signs, title] = HEADING.exec(line) ?? [];
  if (signs)
    return { block: { kind: "heading", level: signs.length, of: inline(title!) }, end: from + 1 };
  if (RULE.test(line)) return { block: { kind: "rule" }, end: from + 1 };
  if (ITEM.test(line)) return listAt(lines, from, deep);
  let end = from + 1;
  if (/^ {0,3}>/.test(line)) {
    while (end < lines.length && /^ {0,3}>/.test(lines[end]!)) end++;
    const inner = lines.slice(from, end).map((one) => one.replace(/^ {0,3}> ?/, ""));
    return { block: { kind: "quote", of: blocks(inner, deep + 1) }, end };
  }
  if (begins(line, lines[from + 1])) {
    while (end < lines.length && lines[end]!.includes("|")) end++;
    const rows = [line, ...lines.slice(from + 2, end)].map(cells);
    return { block: { kind: "table", rows }, end };
  }
  while (end < lines.length && lines[end]!.trim() && !begins(lines[end]!, lines[end + 1])) end++;
  const text = lines
    .slice(from, end)
    .map((one) => one.trim())
    .join("\n");
  return { block: { kind: "text", of: inline(text) }, end };
}

function blocks(lines: string[], deep: number): Block[] {
  if (deep > DEEPEST) return [{ kind: "text", of: [lines.join("\n")] }];
  const found: Block[] = [];
  for (let at = 0; at < lines.length;) {
    if (!lines[at]!.trim()) {
      at++;
      continue;
    }
    const { block, end } = blockAt(lines, at, deep);
    found.push(block);
    at = end;
  }
  return found;
}

export function markdown(text: string): Block[] {
  const plain = text
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, "") // they would show other words than are there
    .replace(/\r\n?/g, "\n")
    .replace(/\t/g, "    ");
  return blocks(plain.split("\n"), 0);
}
