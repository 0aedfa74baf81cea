// Colours in logs: escape sequences become spans with class names. Never HTML. Everything that is
// not a colour is dropped.
export interface Span {
  text: string;
  classes: string;
}

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

interface Style {
  fg: string;
  bg: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}

const PLAIN: Style = { fg: "", bg: "", bold: false, dim: false, italic: false, underline: false };

/** 256 colours become the nearest of the sixteen that have names here. */
function nearest(n: number): string {
  if (n < 16) return (n > 7 ? "bright-" : "") + NAMES[n % 8];
  if (n >= 232) return n < 240 ? "bright-black" : n < 250 ? "white" : "bright-white";
  const r = Math.floor((n - 16) / 36),
    g = Math.floor((n - 16) / 6) % 6,
    b = (n - 16) % 6;
  const top = Math.max(r, g, b);
  const bits = (r > top / 2 ? 1 : 0) | (g > top / 2 ? 2 : 0) | (b > top / 2 ? 4 : 0);
  return (top > 3 ? "bright-" : "") + NAMES[top === 0 ? 0 : bits];
}

function nearestRgb(r: number, g: number, b: number): string {
  const level = (v: number): number => Math.min(5, Math.round(v / 51));
  return nearest(16 + 36 * level(r) + 6 * level(g) + level(b));
}

function apply(style: Style, codes: number[]): Style {
  let next = { ...style };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    if (code === 0) next = { ...PLAIN };
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 4) next.underline = true;
    else if (code === 22) next.bold = next.dim = false;
    else if (code === 23) next.italic = false;
    else if (code === 24) next.underline = false;
    else if (code === 39) next.fg = "";
    else if (code === 49) next.bg = "";
    else if (code >= 30 && code <= 37) next.fg = NAMES[code - 30]!;
    else if (code >= 90 && code <= 97) next.fg = `bright-${NAMES[code - 90]}`;
    else if (code >= 40 && code <= 47) next.bg = NAMES[code - 40]!;
    else if (code >= 100 && code <= 107) next.bg = `bright-${NAMES[code - 100]}`;
    else if (code === 38 || code === 48) {
      const field = code === 38 ? "fg" : "bg";
      if (codes[i + 1] === 5) {
        next[field] = nearest(codes[i + 2] ?? 0);
        i += 2;
      } else if (codes[i + 1] === 2) {
        next[field] = nearestRgb(codes[i + 2] ?? 0, codes[i + 3] ?? 0, codes[i + 4] ?? 0);
        i += 4;
      }
    }
  }
  return next;
}

function classesOf(s: Style): string {
  return [
    s.fg && `fg-${s.fg}`,
    s.bg && `bg-${s.bg}`,
    s.bold && "bold",
    s.dim && "faint",
    s.italic && "italic",
    s.underline && "underline",
  ]
    .filter(Boolean)
    .join(" ");
}

// Control sequences, operating system commands (titles, links), other escapes, lone control
// characters, and those that change the direction of text.
const SEQUENCE =
  /\x1b\[([0-9;:?<=>]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

export function spansOf(text: string): Span[] {
  if (!/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/.test(text))
    return [{ text, classes: "" }];
  const spans: Span[] = [];
  let style = PLAIN;
  let at = 0;
  const push = (piece: string): void => {
    if (piece) spans.push({ text: piece, classes: classesOf(style) });
  };
  for (const found of text.matchAll(SEQUENCE)) {
    push(text.slice(at, found.index));
    at = found.index + found[0].length;
    if (found[2] === "m")
      style = apply(
        style,
        (found[1] || "0").split(/[;:]/).map((one) => Number(one) || 0),
      );
  }
  push(text.slice(at));
  return spans;
}
