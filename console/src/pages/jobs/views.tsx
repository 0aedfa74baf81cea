// Favourites and saved views: a view is an address with a name.
import { useState } from "preact/hooks";
import { forgetView, saveView, views } from "../../data/kept.ts";
import { tc, translator } from "../../i18n/index.ts";
import { remarksTexts } from "../../i18n/remarks.ts";
import { query, setQuery } from "../../router.ts";
import { Dropdown } from "../../ui/dropdown.tsx";
import { Icon } from "../../ui/icon.tsx";
import { StarIcon } from "../../ui/icons.ts";
import type { Column } from "./columns.ts";
import "../../style/remarks.css";

const t = translator(remarksTexts);

/** With the columns that were chosen, so that a link to it shows them too. */
function addressOf(columns: Column[] | null): string {
  const all = new URLSearchParams(query.value);
  if (columns) all.set("columns", columns.join(","));
  return all.toString();
}

function Saved(props: { columns: Column[] | null }) {
  const [name, setName] = useState("");
  const now = addressOf(props.columns);
  return (
    <div class="views">
      {views().map((one) => (
        <div key={one.name} class="view">
          <a href={`/jobs?${one.query}`} aria-current={one.query === now ? "true" : undefined}>
            {one.name}
          </a>
          <button
            type="button"
            class="icon"
            aria-label={t("forgetView", { name: one.name })}
            onClick={() => forgetView(one.name)}
          >
            ×
          </button>
        </div>
      ))}
      {views().length ? null : <p class="dim">{t("noViews")}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim()) saveView({ name: name.trim(), query: now });
          setName("");
        }}
      >
        <input
          value={name}
          maxLength={60}
          aria-label={t("viewName")}
          placeholder={t("viewName")}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit" disabled={!name.trim()}>
          {t("saveView")}
        </button>
      </form>
    </div>
  );
}

export function Views(props: { columns: Column[] | null }) {
  const only = query.value.get("favourites") === "1";
  const shown = views().find((one) => one.query === addressOf(props.columns));
  return (
    <>
      <button
        type="button"
        class={only ? "icon on" : "icon"}
        aria-pressed={only}
        aria-label={t("onlyFavourites")}
        title={t("onlyFavourites")}
        onClick={() => setQuery({ favourites: only ? null : "1" })}
      >
        <Icon of={StarIcon} />
      </button>
      <Dropdown
        name={t("views")}
        label={shown ? t("views") + tc("colon") + shown.name : t("views")}
        on={shown !== undefined}
      >
        {() => <Saved columns={props.columns} />}
      </Dropdown>
    </>
  );
}
