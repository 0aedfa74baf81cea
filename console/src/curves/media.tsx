// What else event files hold: images, histograms, texts. Each is asked for when it comes into sight.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, request } from "../data/api.ts";
import { boardApi } from "../data/board.ts";
import type { Job } from "../data/types.ts";
import { lang, translator } from "../i18n/index.ts";
import { trainingTexts } from "../i18n/training.ts";
import { isOver } from "../lib/state.ts";
import { exact } from "../lib/time.ts";
import { Markdown } from "../ui/markdown.tsx";
import { formatValue, runLabel } from "./points.ts";
import { ridges, type Histogram } from "./ridges.ts";
import "../style/media.css";

const t = translator(trainingTexts);
const EVERY_MS = 10_000;
const KINDS = ["image", "histogram", "text"] as const;
type Kind = (typeof KINDS)[number];

interface Tag {
  run: string;
  tag: string;
  kind: string;
  count: number;
}

function useTags(job: Job): Tag[] {
  const [tags, setTags] = useState<Tag[]>([]);
  const over = isOver(job);
  useEffect(() => {
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      try {
        const answer = await get<{ reading: boolean; tags: Tag[] }>(boardApi(job, "tags"));
        if (!ended) setTags(answer.tags.filter((one) => KINDS.includes(one.kind as Kind)));
        if (!ended && (!over || answer.reading)) later();
      } catch {
        /* the curves above say what is wrong */
      }
    };
    const later = (): void => {
      timer = setTimeout(() => void (document.hidden ? later() : look()), EVERY_MS);
    };
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [job.metadata.uid, over]);
  return tags;
}

function pathOf(job: Job, what: string, tag: Tag, more = ""): string {
  return `${boardApi(job, what)}?run=${encodeURIComponent(tag.run)}&tag=${encodeURIComponent(tag.tag)}${more}`;
}

/** The samples of a tag, oldest first, once its card was seen; again when there are more. */
function useSamples<T>(job: Job, tag: Tag, what: string, seen: boolean): T[] | null {
  const [samples, setSamples] = useState<T[] | null>(null);
  useEffect(() => {
    if (!seen) return;
    let ended = false;
    get<{ samples: T[] }>(pathOf(job, what, tag)).then(
      (answer) => void (ended || setSamples(answer.samples.reverse())),
      () => void (ended || setSamples([])),
    );
    return () => {
      ended = true;
    };
  }, [seen, tag.count, tag.run, tag.tag]);
  return samples;
}

interface CardProps {
  job: Job;
  tag: Tag;
  seen: boolean;
}

interface Picture {
  step: number;
  wall: number;
  index: number;
  width: number;
  height: number;
}

/** As a data URL: a request for an image's address would carry no credentials. */
async function load(path: string): Promise<string> {
  const blob = await (await request(path)).blob();
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error ?? new Error("unreadable"));
    reader.readAsDataURL(blob);
  });
}

function Images({ job, tag, seen }: CardProps) {
  const all = useSamples<Picture>(job, tag, "images", seen);
  const [chosen, setChosen] = useState<number | null>(null);
  const [source, setSource] = useState("");
  const at = Math.min(chosen ?? Infinity, (all?.length ?? 0) - 1);
  const one = all?.[at];
  useEffect(() => {
    if (!one) return;
    let ended = false;
    load(pathOf(job, "image", tag, `&step=${one.step}&index=${one.index}`)).then(
      (url) => void (ended || setSource(url)),
      () => void (ended || setSource("")),
    );
    return () => {
      ended = true;
    };
  }, [one?.step, one?.index, one?.wall]);
  if (all && !one) return <p class="dim">{t("noPicture")}</p>;
  if (!one) return null;
  return (
    <>
      <div class="picture-box">
        {source ? <img src={source} alt={`${tag.tag}, ${t("step")} ${one.step}`} /> : null}
      </div>
      <label class="steps">
        {t("step")}{" "}
        <input
          type="range"
          min={0}
          max={all.length - 1}
          value={at}
          disabled={all.length < 2}
          onInput={(event) => setChosen(Number(event.currentTarget.value))}
        />{" "}
        <span class="num" title={exact(one.wall * 1000)}>
          {one.step}
        </span>{" "}
        <span class="dim num">
          {one.width}×{one.height}
        </span>
      </label>
    </>
  );
}

function Histograms({ job, tag, seen }: CardProps) {
  const all = useSamples<Histogram>(job, tag, "histograms", seen);
  const drawn = useMemo(() => ridges(all ?? [], 420, 200), [all]);
  if (!all) return null;
  if (!drawn.lines.length) return <p class="dim">{t("noPicture")}</p>;
  const last = all.at(-1)!;
  return (
    <svg
      class="ridges"
      viewBox="0 0 480 230"
      role="img"
      aria-label={`${tag.tag}: ${t("step")} ${last.step}, ${formatValue(last.min)} … ${formatValue(last.max)}`}
    >
      {drawn.lines.map((one) => (
        <g key={one.step}>
          <path d={one.path} style={{ fillOpacity: one.strength }}>
            <title>{`${t("step")} ${one.step}`}</title>
          </path>
          {one.named ? (
            <text x="426" y={one.base}>
              {one.step}
            </text>
          ) : null}
        </g>
      ))}
      {drawn.marks.map((one) => (
        <text key={one.x} x={one.x} y="222" text-anchor="middle">
          {formatValue(one.value)}
        </text>
      ))}
    </svg>
  );
}

interface Text {
  step: number;
  wall: number;
  text: string;
  cut: boolean;
}

function Texts({ job, tag, seen }: CardProps) {
  const all = useSamples<Text>(job, tag, "texts", seen);
  return (
    <dl class="texts">
      {[...(all ?? [])].reverse().map((one, i) => (
        <div key={`${one.step}/${i}`}>
          <dt class="dim num" title={exact(one.wall * 1000)}>
            {t("step")} {one.step}
          </dt>
          <dd>
            <Markdown text={one.cut ? `${one.text} …` : one.text} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

const PARTS = { image: Images, histogram: Histograms, text: Texts };

function Card(props: { job: Job; tag: Tag }) {
  const box = useRef<HTMLElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (all) => all.some((one) => one.isIntersecting) && setSeen(true),
      { rootMargin: "200px" },
    );
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const Part = PARTS[props.tag.kind as Kind];
  return (
    <figure class="chart media" ref={box}>
      <figcaption>
        <span class="chart-title">{props.tag.tag}</span>
        <span class="chart-at dim">{runLabel(props.job.metadata.name, props.tag.run)}</span>
      </figcaption>
      <Part job={props.job} tag={props.tag} seen={seen} />
    </figure>
  );
}

export default function Media(props: { job: Job; search: string }) {
  const all = useTags(props.job);
  const words = { image: t("images"), histogram: t("histograms"), text: t("textTags") };
  const tags = all.filter((one) => one.tag.toLowerCase().includes(props.search));
  return (
    <div lang={lang.value === "zh" ? "zh-CN" : "en"}>
      {KINDS.filter((kind) => tags.some((one) => one.kind === kind)).map((kind) => {
        const some = tags.filter((one) => one.kind === kind);
        return (
          <details key={kind} open>
            <summary>
              <h2>{words[kind]}</h2> <span class="dim num">{some.length}</span>
            </summary>
            <div class="chart-grid">
              {some.map((one) => (
                <Card key={`${one.run}\n${one.tag}`} job={props.job} tag={one} />
              ))}
            </div>
          </details>
        );
      })}
    </div>
  );
}
