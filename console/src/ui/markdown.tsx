// Markdown on the page: elements of our choice around text nodes, nothing of the text is HTML.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { markdown, type Block, type Inline } from "../lib/markdown.ts";
import "../style/markdown.css";

function words(all: Inline[]): ComponentChildren {
  return all.map((one, i) => {
    if (typeof one === "string") return one;
    if ("href" in one)
      return (
        <a key={i} href={one.href} target="_blank" rel="noopener noreferrer nofollow">
          {words(one.of)}
        </a>
      );
    const Mark = one.mark;
    return <Mark key={i}>{words(one.of)}</Mark>;
  });
}

function Shown({ block }: { block: Block }) {
  switch (block.kind) {
    case "heading":
      // Below the page's own headings, whatever their number.
      return (
        <p class="md-heading" role="heading" aria-level={Math.min(6, block.level + 2)}>
          {words(block.of)}
        </p>
      );
    case "text":
      return <p>{words(block.of)}</p>;
    case "code":
      return (
        <pre>
          <code>{block.text}</code>
        </pre>
      );
    case "quote":
      return <blockquote>{shown(block.of)}</blockquote>;
    case "rule":
      return <hr />;
    case "list": {
      const items = block.items.map((one, i) => <li key={i}>{shown(one)}</li>);
      return block.start === null ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>;
    }
    case "table": {
      const [head = [], ...rows] = block.rows;
      return (
        <div class="scroll-x">
          <table>
            <thead>
              <tr>
                {head.map((one, i) => (
                  <th key={i} scope="col">
                    {words(one)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, i) => (
                <tr key={i}>
                  {row.map((one, j) => (
                    <td key={j}>{words(one)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    }
  }
}

function shown(all: Block[]): ComponentChildren {
  return all.map((one, i) => <Shown key={i} block={one} />);
}

export function Markdown(props: { text: string }) {
  const tree = useMemo(() => markdown(props.text), [props.text]);
  return <div class="md">{shown(tree)}</div>;
}
