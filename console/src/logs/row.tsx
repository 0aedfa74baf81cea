// One line: whose it is, when, the text with its colours and what was searched for.
import { memo } from "../ui/memo.ts";
import { translator } from "../i18n/index.ts";
import { logsTexts } from "../i18n/logs.ts";
import { spansOf } from "./ansi.ts";
import { ranges, type Row } from "./lines.ts";

const t = translator(logsTexts);
export const ROW_PX = 18;
const COLOURS = 8;

function Marked(props: { text: string; pattern: RegExp | null }) {
  if (!props.pattern) return <>{props.text}</>;
  const parts = [];
  let at = 0;
  for (const found of props.text.matchAll(props.pattern)) {
    if (!found[0]) break; // a pattern that matches nothing matches everywhere
    parts.push(props.text.slice(at, found.index), <mark key={found.index}>{found[0]}</mark>);
    at = found.index + found[0].length;
  }
  parts.push(props.text.slice(at));
  return <>{parts}</>;
}

interface LogRowProps {
  row: Row;
  names: string[];
  times: boolean;
  pattern: RegExp | null;
  found: boolean;
  linked: boolean;
  onLink(id: string): void;
}

export const LogRow = memo(function LogRow({ row, names, times, pattern, found, linked, onLink }: LogRowProps) {
  const { line, sources } = row;
  const several = names.length > 1;
  const prefix = sources.length > 1 ? t("times_", { count: sources.length, ranks: ranges(sources) }) : names[line.source];
  return (
    <div class={`log-line level-${line.level} ${found ? "found" : ""} ${linked ? "linked" : ""}`}>
      {times ? <button type="button" class="log-time num" title={t("copyLink")} onClick={() => onLink(`${names[line.source]}@${line.time}`)}>{line.time.slice(0, 23)}</button> : null}
      {several ? <span class={`log-source source-${line.source % COLOURS}`}>{prefix}</span> : null}
      <span class="log-text">{spansOf(line.text).map((span, i) => <span key={i} class={span.classes}><Marked text={span.text} pattern={pattern} /></span>)}</span>
    </div>
  );
});
