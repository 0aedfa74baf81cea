// A page with a list: its title, the button that makes one more, and the table, or why there is none.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Failure } from "../data/api.ts";
import { Empty, Loading, Problem } from "./notice.tsx";

export function ListPage(props: {
  title: string;
  /** The button's word; undefined: the user may not make any. */
  create: string | undefined;
  dialog: (close: () => void) => ComponentChildren;
  failure: Failure | null;
  loaded: boolean;
  /** What an empty list says. */
  none: string;
  hint: string;
  heads: string[];
  /** Rows of the table. */
  children: ComponentChildren[];
}) {
  const [making, setMaking] = useState(false);
  return (
    <section>
      <div class="page-head">
        <h1>{props.title}</h1>
        <span class="grow" />
        {props.create ? (
          <button type="button" class="primary" onClick={() => setMaking(true)}>
            {props.create}
          </button>
        ) : null}
      </div>
      {making ? props.dialog(() => setMaking(false)) : null}
      {props.failure ? (
        <Problem failure={props.failure} />
      ) : !props.loaded ? (
        <Loading />
      ) : !props.children.length ? (
        <Empty title={props.none}>
          <p>{props.hint}</p>
        </Empty>
      ) : (
        <div class="scroll-x">
          <table class="listed">
            <thead>
              <tr>
                {props.heads.map((one) => (
                  <th key={one} scope="col">
                    {one}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>{props.children}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}
