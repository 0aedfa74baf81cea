// How curves are drawn: which tags, smoothed, over what. All of it is in the address.
import { translator } from "../i18n/index.ts";
import { trainingTexts } from "../i18n/training.ts";
import { query, setQuery } from "../router.ts";
import type { Window } from "../charts/range.ts";
import { readZoom } from "./points.ts";
import type { Axis } from "./smooth.ts";

const t = translator(trainingTexts);

export interface Drawing {
  search: string;
  axis: Axis;
  weight: number;
  log: boolean;
  zoom: Window | null;
}

export function readDrawing(): Drawing {
  const q = query.value;
  return {
    search: (q.get("tag") ?? "").toLowerCase(),
    axis: (q.get("axis") as Axis | null) ?? "step",
    weight: Math.min(0.99, Number(q.get("smooth") ?? "0")),
    log: q.get("log") === "1",
    zoom: readZoom(q.get("zoom")),
  };
}

export function DrawingTools(props: { drawing: Drawing }) {
  const { axis, weight, log, zoom } = props.drawing;
  return (
    <>
      <input
        id="search"
        type="search"
        value={query.value.get("tag") ?? ""}
        placeholder={t("search")}
        aria-label={t("search")}
        onInput={(event) => setQuery({ tag: event.currentTarget.value || null })}
      />
      <label>
        {t("smoothing")}{" "}
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={weight}
          onInput={({ currentTarget: { value } }) =>
            setQuery({ smooth: value === "0" ? null : value })
          }
        />{" "}
        <span class="num">{weight.toFixed(2)}</span>
      </label>
      <label>
        {t("xAxis")}{" "}
        <select
          value={axis}
          onChange={({ currentTarget: { value } }) =>
            setQuery({ axis: value === "step" ? null : value, zoom: null })
          }
        >
          <option value="step">{t("step")}</option>
          <option value="relative">{t("relative")}</option>
          <option value="wall">{t("wall")}</option>
        </select>
      </label>
      <label>
        <input type="checkbox" checked={log} onChange={() => setQuery({ log: log ? null : "1" })} />{" "}
        {t("log")}
      </label>
      {zoom ? (
        <button type="button" onClick={() => setQuery({ zoom: null })}>
          {t("unzoom")}
        </button>
      ) : null}
    </>
  );
}
