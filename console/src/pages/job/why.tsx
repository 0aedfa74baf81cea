// The box on top: why it failed or why it waits, with the failed replica's last lines.
import { useEffect, useRef, useState } from "preact/hooks";
import { request } from "../../data/api.ts";
import { corePath } from "../../data/kinds.ts";
import { leavesAt } from "../../data/removal.ts";
import type { Job, Pod } from "../../data/types.ts";
import { lang, tc, translator } from "../../i18n/index.ts";
import { jobTexts } from "../../i18n/job.ts";
import {
  codeText,
  firstEnding,
  outcomeOf,
  sentenceOf,
  whyText,
  tellingLine,
  tipFor,
  type Ending,
} from "../../lib/failure.ts";
import { failedReplicas, jobHref } from "../../lib/jobs.ts";
import { say } from "../../lib/say.ts";
import { stateOfJob } from "../../lib/state.ts";
import { duration, exact, millis, now } from "../../lib/time.ts";
import { spansOf } from "../../logs/ansi.ts";
import { Said } from "../../ui/said.tsx";
import { undoRemoval } from "../jobs/remove.tsx";

const t = translator(jobTexts);
const LINES = 20;

function useLastLines(ending: Ending | null): string {
  const [text, setText] = useState("");
  const uid = ending?.pod.metadata.uid;
  useEffect(() => {
    setText("");
    if (!ending) return;
    const { namespace, name } = ending.pod.metadata;
    const abort = new AbortController();
    request(
      `${corePath("pods", namespace, name)}/log?container=${encodeURIComponent(ending.container)}&tailLines=${LINES}`,
      { signal: abort.signal },
    )
      .then((answer) => answer.text())
      .then(setText, () => undefined); // without a log the box says less
    return () => abort.abort();
  }, [uid, ending?.container]);
  return text;
}

/** Opens at the line that says why, else at the end. */
function LastLines(props: { text: string }) {
  const at = tellingLine(props.text);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const pre = box.current!;
    const telling = pre.children[at] as HTMLElement | undefined;
    pre.scrollTop = telling ? telling.offsetTop - pre.clientHeight / 2 : pre.scrollHeight;
  }, [props.text]);
  return (
    <pre ref={box} class="tail" tabIndex={0} role="region" aria-label={t("lastLines")}>
      {props.text.split("\n").map((line, i) => (
        <span key={i} class={i === at ? "telling" : ""}>
          {spansOf(line)
            .map((one) => one.text)
            .join("")}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

function Failed(props: { job: Job; pods: Pod[] }) {
  const ending = firstEnding(props.pods);
  const lines = useLastLines(ending);
  const words = ending ? codeText(ending.code, ending.message, lang.value) : "";
  return (
    <div class="box bad" role="region" aria-label={t("failedTitle")}>
      <h2>{t("failedTitle")}</h2>
      {ending ? null : (
        <p>
          <span title={sentenceOf(props.job)}>{whyText(props.job, lang.value)}</span>
        </p>
      )}
      {ending ? (
        <>
          <p>
            <a
              href={`${jobHref(props.job, "logs")}?replica=${encodeURIComponent(ending.pod.metadata.name)}`}
            >
              {ending.pod.metadata.name}
            </a>{" "}
            · {t("exitCode", { code: ending.code, words })}
            {ending.message ? (
              <>
                {" "}
                · <code>{say(ending.message, lang.value)}</code>
              </>
            ) : null}
          </p>
          <p class="sentence" title={sentenceOf(props.job)}>
            {outcomeOf(props.job, lang.value)}
          </p>
          <p>
            <b>{t("suggestion") + tc("colon")}</b>
            {t(
              tipFor(
                ending.code,
                `${ending.reason}\n${ending.message}\n${props.job.status?.reason ?? ""}\n${lines}`,
              ),
            )}
          </p>
          {lines ? (
            <details open>
              <summary>{t("lastLines")}</summary>
              <LastLines text={lines} />
            </details>
          ) : null}
          <a
            href={`${jobHref(props.job, "logs")}?replica=${encodeURIComponent(ending.pod.metadata.name)}`}
          >
            {t("seeLog")}
          </a>
        </>
      ) : (
        <p>{t(tipFor(0, `${props.job.status?.reason ?? ""}\n${sentenceOf(props.job)}`))}</p>
      )}
    </div>
  );
}

/** It is to be deleted, and can still be kept. */
function Leaving(props: { job: Job; at: number }) {
  return (
    <div class="box warn" role="status">
      {t("leaving", { time: exact(props.at) })}{" "}
      <button type="button" onClick={() => undoRemoval([props.job])}>
        {t("keepIt")}
      </button>
    </div>
  );
}

/** It succeeded, but not all of it. */
function Partly(props: { job: Job; pods: Pod[] }) {
  const failed = (props.job.status?.tasks ?? [])
    .flatMap((task) => task.replicas ?? [])
    .filter((one) => one.phase === "Failed");
  const ending = firstEnding(props.pods);
  const words = ending
    ? t("exitCode", {
        code: ending.code,
        words: codeText(ending.code, ending.message, lang.value),
      })
    : "";
  return (
    <div class="box warn" role="region" aria-label={t("partlyTitle")}>
      <b>{t("partlyTitle")}</b>:{" "}
      {failed.map((one) => (
        <span key={one.name}>
          <a href={`${jobHref(props.job, "logs")}?replica=${encodeURIComponent(one.name ?? "")}`}>
            {one.name}
          </a>{" "}
          {ending?.pod.metadata.name === one.name ? `(${words}) ` : ""}
        </span>
      ))}
    </div>
  );
}

export function Why(props: { job: Job; pods: Pod[] }) {
  const leaves = leavesAt(props.job);
  return (
    <>
      {leaves === undefined ? null : <Leaving job={props.job} at={leaves} />}
      <WhySo {...props} />
    </>
  );
}

function WhySo(props: { job: Job; pods: Pod[] }) {
  const { job } = props;
  if (failedReplicas(job)) return <Partly {...props} />;
  const state = stateOfJob(job);
  if (state === "failed") return <Failed {...props} />;
  if (state === "paused")
    return (
      <div class="box warn">
        <b>{t("pausedTitle")}</b>:{" "}
        {job.status?.reason === "MaxDurationExceeded" ? (
          <Said text={job.status.message} job={job} />
        ) : (
          t("pausedText")
        )}
      </div>
    );
  const message = job.status?.message;
  if (state !== "queued" || !message) return null;
  const since = millis(job.metadata.creationTimestamp);
  return (
    <div class="box warn" role="region" aria-label={t("pendingTitle")}>
      <b>{t("pendingTitle") + tc("colon")}</b>
      <Said text={message} job={job} />
      {since === undefined ? null : (
        <span class="dim num nobr"> ({t("since", { time: duration(now.value - since) })})</span>
      )}
    </div>
  );
}
