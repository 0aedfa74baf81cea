// Two texts line by line. Pure.
export interface DiffLine {
  kind: "same" | "gone" | "new";
  text: string;
}

const LINES_LIMIT = 2_000; // the table grows with the square

/** The longest lines in common stay; everything else is gone or new. Past the limit all of the
 * middle is. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = before.split("\n");
  const b = after.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (
    end < a.length - start &&
    end < b.length - start &&
    a[a.length - 1 - end] === b[b.length - 1 - end]
  )
    end++;
  const same = (text: string): DiffLine => ({ kind: "same", text });
  return [
    ...a.slice(0, start).map(same),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
}

function middle(a: string[], b: string[]): DiffLine[] {
  if (a.length > LINES_LIMIT || b.length > LINES_LIMIT)
    return [
      ...a.map((text): DiffLine => ({ kind: "gone", text })),
      ...b.map((text): DiffLine => ({ kind: "new", text })),
    ];
  // longest[i][j]: lines in common of a from i on and b from j on
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i]![j] =
        a[i] === b[j]
          ? longest[i + 1]![j + 1]! + 1
          : Math.max(longest[i + 1]![j]!, longest[i]![j + 1]!);
  const lines: DiffLine[] = [];
  let i = 0,
    j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i]! });
      i++;
      j++;
    } else if (i < a.length && (j === b.length || longest[i + 1]![j]! >= longest[i]![j + 1]!))
      lines.push({ kind: "gone", text: a[i++]! });
    else lines.push({ kind: "new", text: b[j++]! });
  }
  return lines;
}

/** Only what changed, with so many lines around it; null stands for lines left out. */
export function hunks(lines: DiffLine[], around: number): (DiffLine | null)[] {
  const near = lines.map((_, i) =>
    lines.slice(Math.max(0, i - around), i + around + 1).some((one) => one.kind !== "same"),
  );
  return lines.flatMap((line, i) => (near[i] ? [line] : i === 0 || near[i - 1] ? [null] : []));
}
