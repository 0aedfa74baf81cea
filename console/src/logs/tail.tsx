// The last lines as they come, for the job's first page: is it alive? Once all have ended, what they
// said last.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Pod } from "../data/types.ts";
import { Book } from "./book.ts";
import { latestOf, rowsOf, type Row } from "./lines.ts";
import { LogRow } from "./row.tsx";
import { isGone, shortName } from "./sources.ts";
import "../style/logs.css";

const LINES = 10;
const FEW = 4; // of more replicas one line each, so that one that hangs is seen
const MOST_ROWS = 16;
const PODS = 64; // all of them are on the page of logs

export function LiveTail(props: { pods: Pod[]; label: string; empty: string }) {
  const running = props.pods.filter((pod) => pod.status?.phase === "Running");
  const pods = (running.length ? running : props.pods).slice(0, PODS);
  const key = pods.map((pod) => pod.metadata.uid).join();
  const [version, setVersion] = useState(0);
  const [book, setBook] = useState<Book | null>(null);
  useEffect(() => {
    const mine = new Book(
      pods.map((pod) => ({
        ns: pod.metadata.namespace ?? "default",
        pod: pod.metadata.name,
        container: pod.spec?.containers?.[0]?.name ?? "",
        previous: false,
        uid: isGone(pod) ? pod.metadata.uid : undefined,
      })),
      { tail: LINES, limit: LINES * PODS * 4, levels: null, place: null },
      () => setVersion((n) => n + 1),
    );
    setBook(mine);
    return () => mine.stop();
  }, [key]);
  const before = useRef<{ book: Book | null; rows: Row[] }>({ book: null, rows: [] });
  const rows = useMemo(() => {
    if (!book) return [];
    const { all } = book.lines;
    if (pods.length > FEW) {
      const kept = before.current.book === book ? before.current.rows : [];
      const lines = kept.flatMap((row) => [row.line, ...row.others]);
      before.current = { book, rows: latestOf([...lines, ...all], PODS) };
      return latestOf([...lines, ...all], MOST_ROWS);
    }
    return rowsOf(all.slice(-LINES * FEW * 2), {
      sources: null,
      levels: null,
      collapse: pods.length > 1,
    }).slice(-LINES);
  }, [book, version]);
  const names = pods.map(shortName);
  if (!rows.length) return <p class="dim">{props.empty}</p>;
  return (
    <div class="log-rows tail-rows" tabIndex={0} role="region" aria-label={props.label}>
      {rows.map((row) => (
        <LogRow
          key={row.line.seq}
          row={row}
          names={names}
          times={false}
          pattern={null}
          found={false}
          linked={false}
        />
      ))}
    </div>
  );
}
