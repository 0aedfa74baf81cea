// Whether a job is one of the user's favourites, in this browser.
import { isFavourite, setFavourite } from "../data/kept.ts";
import type { Job } from "../data/types.ts";
import { translator } from "../i18n/index.ts";
import { remarksTexts } from "../i18n/remarks.ts";
import { Icon } from "./icon.tsx";
import { StarIcon } from "./icons.ts";
import "../style/remarks.css";

const t = translator(remarksTexts);

export function Star(props: { job: Job }) {
  const { name, uid } = props.job.metadata;
  const on = isFavourite(uid);
  return (
    <button
      type="button"
      class={`icon star ${on ? "on" : ""}`}
      aria-pressed={on}
      aria-label={t("favourite", { name })}
      title={t("favourite", { name })}
      onClick={() => setFavourite(uid, !on)}
    >
      <Icon of={StarIcon} size={14} />
    </button>
  );
}
