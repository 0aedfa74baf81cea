// A controller's sentence in the reader's language; as it was written, on hover.
import { lang } from "../i18n/index.ts";
import { say } from "../lib/say.ts";

export function Said(props: { text: string | undefined }) {
  const text = props.text ?? "";
  const said = say(text, lang.value);
  return said === text ? <>{text}</> : <span title={text}>{said}</span>;
}
