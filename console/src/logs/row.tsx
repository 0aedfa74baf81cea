// One line: whose it is, when, the text with its colours and what was searched for.
import { memo } from "../ui/memo.ts";
import { translator } from "../i18n/index.ts";
import { logsTexts } from "../i18n/logs.ts";
import { spansOf } from "./ansi.ts";
import { linksIn, looksLikeJson } from "./pieces.ts";
import { ranges, type Line, type Row } from "./lines.ts";

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
  onLink?: ((line: Line) => void) | undefined;
  onJson?: ((text: string) => void) | undefined;
}

function Linked(props: { text: string; pattern: RegExp | null }) {
  return (
    <>
      {linksIn(props.text).map((piece, i) =>
        piece.href ? (
          <a key={i} href={piece.href} target="_blank" rel="noopener noreferrer">
            <Marked text={piece.text} pattern={props.pattern} />
          </a>
        ) : (
          <Marked key={i} text={piece.text} pattern={props.pattern} />
        ),
      )}
    </>
  );
}

export const LogRow = memo(function LogRow({
  row,
  names,
  times,
  pattern,
  found,
  linked,
  onLink,
  onJson,
}: LogRowProps) {
  const { line, sources } = row;
  const several = names.length > 1;
  const prefix =
    sources.length > 1
      ? t("times_", { count: sources.length, ranks: ranges(sources) })
      : names[line.source];
  return (
    <div
      class={`log-line level-${line.level} ${found ? "found" : ""} ${linked ? "linked" : ""}`}
      data-seq={line.seq}
    >
      {onLink ? (
        <button
          type="button"
          class="log-link"
          tabIndex={-1}
          title={t("copyLink")}
          aria-label={t("copyLink")}
          onClick={() => onLink(line)}
        />
      ) : null}
      {times ? (
        <button
          type="button"
          class="log-time num"
          title={t("copyLink")}
          onClick={() => onLink?.(line)}
        >
          {line.time.slice(0, 23)}
        </button>
      ) : null}
      {several ? <span class={`log-source source-${line.source % COLOURS}`}>{prefix}</span> : null}
      {onJson && looksLikeJson(line.text) ? (
        <button
          type="button"
          class="log-json"
          title={t("showJson")}
          aria-label={t("showJson")}
          onClick={() => onJson(line.text)}
        >
          {"{}"}
        </button>
      ) : null}
      <span class="log-text">
        {spansOf(line.text).map((span, i) => (
          <span key={i} class={span.classes}>
            <Linked text={span.text} pattern={pattern} />
          </span>
        ))}
        {line.cut ? (
          <span class="log-cut" title={t("cutTitle")}>
            {t("cut")}
          </span>
        ) : null}
      </span>
    </div>
  );
});
