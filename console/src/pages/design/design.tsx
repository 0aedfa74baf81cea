// Every part of the design system on one page: to choose from, and to look at after a change.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { lookOf, COLOURS } from "../../charts/palette.ts";
import { tc, texts, translator } from "../../i18n/index.ts";
import { iconOf } from "../../tabicon.ts";
import { dark, density, type Density } from "../../theme.ts";
import { Gauge } from "../../ui/gauge.tsx";
import { Icon } from "../../ui/icon.tsx";
import * as icons from "../../ui/icons.ts";
import { Mark } from "../../ui/mark.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Line } from "../../ui/spark.tsx";
import { StateMark } from "../../ui/state.tsx";
import { STATE_ICON } from "../../ui/state-icons.ts";
import type { State } from "../../lib/state.ts";
import "../../style/charts.css";
import "../../style/overview.css";
import "../../style/design.css";

const t = translator(
  texts({
    zh: {
      title: "设计系统",
      about: "控制台的每个部件。取值在 console/src/style/tokens.css，说明在 console/README.md。",
      mark: "标志和标签页图标",
      type: "字号",
      sample: "训练 4 个副本，loss 0.3721",
      space: "间距",
      colours: "颜色",
      states: "状态",
      icons: "图标",
      controls: "控件",
      primary: "主要",
      plain: "普通",
      danger: "危险",
      disabled: "不可用",
      figures: "图表与用量",
      palette: "曲线的 12 种颜色",
      density: "密度",
      boxes: "提示",
      good: "普通说明",
      wrong: "出错：说明发生了什么以及该怎么做",
      wait: "等待：说明在等什么",
    },
    en: {
      title: "Design system",
      about:
        "Every part of the console. Values are in console/src/style/tokens.css, the why is in console/README.md.",
      mark: "Mark and tab icons",
      type: "Type",
      sample: "Training on 4 replicas, loss 0.3721",
      space: "Space",
      colours: "Colours",
      states: "States",
      icons: "Icons",
      controls: "Controls",
      primary: "Primary",
      plain: "Plain",
      danger: "Danger",
      disabled: "Disabled",
      figures: "Charts and use",
      palette: "The twelve colours of curves",
      density: "Density",
      boxes: "Boxes",
      good: "A plain remark",
      wrong: "An error: what happened and what to do",
      wait: "A wait: what it waits for",
    },
  }),
);

const TYPES = ["--t-small", "--t-body", "--t-head", "--t-title", "--t-figure"];
const SPACES = ["--s1", "--s2", "--s3", "--s4", "--s6", "--s8"];
/** Text and ground of each role. */
const ROLES: [text: string, ground: string][] = [
  ["--text", "--bg"],
  ["--dim", "--bg-soft"],
  ["--accent", "--bg"],
  ["--accent-text", "--accent"],
  ["--text", "--accent-soft"],
  ["--info", "--info-soft"],
  ["--ok", "--ok-soft"],
  ["--warn", "--warn-soft"],
  ["--bad", "--bad-soft"],
  ["--chrome-text", "--chrome"],
  ["--chrome-dim", "--chrome-on"],
  ["--chrome-accent", "--chrome"],
];
const FALLING = Array.from({ length: 60 }, (_, i) => 1 / (1 + i / 8) + Math.sin(i) / 40);

/** The contrast of what the browser draws, as WCAG counts it. */
function Contrast(props: { text: string; ground: string }) {
  const box = useRef<HTMLSpanElement>(null);
  const [ratio, setRatio] = useState(0);
  useLayoutEffect(() => {
    const style = box.current && getComputedStyle(box.current);
    if (!style) return;
    const light = (colour: string): number => {
      const [r, g, b] = (colour.match(/\d+/g) ?? []).map((n) => {
        const c = Number(n) / 255;
        return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
      }) as [number, number, number];
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const [high, low] = [light(style.color), light(style.backgroundColor)].sort(
      (a, b) => b - a,
    ) as [number, number];
    setRatio((high + 0.05) / (low + 0.05));
  }, [dark.value]);
  return (
    <span
      ref={box}
      class="role"
      style={{ color: `var(${props.text})`, background: `var(${props.ground})` }}
    >
      <code>{props.text}</code>
      <code>{props.ground}</code>
      <b class="num">{ratio.toFixed(1)} : 1</b>
    </span>
  );
}

export default function DesignPage() {
  const densities: Density[] = ["comfortable", "compact"];
  const states = Object.keys(STATE_ICON) as State[];
  return (
    <section class="design">
      <div class="page-head">
        <h1>{t("title")}</h1>
      </div>
      <p class="dim">{t("about")}</p>
      <h2>{t("mark")}</h2>
      <p class="parts">
        <Mark size={48} />
        <Mark />
        {[null, ...states].map((state) => (
          <img
            key={String(state)}
            width={24}
            height={24}
            alt={state ?? "muster"}
            src={`data:image/svg+xml,${encodeURIComponent(iconOf(state))}`}
          />
        ))}
      </p>
      <h2>{t("type")}</h2>
      {TYPES.map((one) => (
        <p key={one} style={{ font: `var(${one})` }}>
          {t("sample")} <code class="dim">{one}</code>
        </p>
      ))}
      <p class="mono">
        {t("sample")} <span class="dim">--mono</span>
      </p>
      <h2>{t("space")}</h2>
      <p class="parts">
        {SPACES.map((one) => (
          <span key={one} class="space">
            <span style={{ width: `var(${one})` }} />
            <code>{one}</code>
          </span>
        ))}
      </p>
      <h2>{t("colours")}</h2>
      <p class="parts">
        {ROLES.map(([text, ground]) => (
          <Contrast key={text + ground} text={text} ground={ground} />
        ))}
      </p>
      <h2>{t("states")}</h2>
      <p class="parts">
        {states.map((one) => (
          <StateMark key={one} state={one} />
        ))}
        <StateMark state="succeeded" warn />
      </p>
      <h2>{t("icons")}</h2>
      <p class="parts">
        {Object.entries(icons).map(([name, icon]) => (
          <span key={name} class="icon-name">
            <Icon of={icon} size={20} />
            <span class="dim small">{name.replace(/Icon$/, "")}</span>
          </span>
        ))}
      </p>
      <h2>{t("controls")}</h2>
      <p class="parts">
        <button type="button" class="primary">
          {t("primary")}
        </button>
        <button type="button">{t("plain")}</button>
        <button type="button" class="danger">
          {t("danger")}
        </button>
        <button type="button" class="primary danger">
          {t("danger")}
        </button>
        <button type="button" disabled>
          {t("disabled")}
        </button>
        <input aria-label={tc("search")} placeholder={tc("search")} />
        <label>
          <input type="checkbox" checked /> {tc("all")}
        </label>
        <span class="chip">team=vision</span>
        <span class="chip on">{tc("all")}</span>
        <Menu
          label={<Icon of={icons.MoreIcon} />}
          name={tc("actions")}
          align="left"
          items={[
            { label: tc("copy"), icon: icons.CopyIcon, hint: "c" },
            { label: tc("delete"), icon: icons.DeleteIcon, danger: true, apart: true },
          ]}
        />
      </p>
      <h2>{t("boxes")}</h2>
      <div class="box">{t("good")}</div>
      <div class="box warn">{t("wait")}</div>
      <div class="box bad">{t("wrong")}</div>
      <h2>{t("figures")}</h2>
      <div class="parts wide">
        <Line values={FALLING} label="loss" width={120} height={26} />
        <progress max={1} value={0.4} aria-label="40%" />
        <Gauge all={8} allocated={6} used={3.4} label="3.4 / 6 / 8" />
      </div>
      <h3>{t("palette")}</h3>
      <p class="parts">
        {Array.from({ length: COLOURS }, (_, i) => (
          <span key={i} class="space">
            <span style={{ width: "32px", background: `var(${lookOf(i).colour})` }} />
            <code>{i + 1}</code>
          </span>
        ))}
      </p>
      <h2>{t("density")}</h2>
      {densities.map((one) => (
        <label key={one} class="choice">
          <input
            type="radio"
            name="density"
            checked={density.value === one}
            onChange={() => {
              density.value = one;
            }}
          />
          {tc(one)}
        </label>
      ))}
    </section>
  );
}
