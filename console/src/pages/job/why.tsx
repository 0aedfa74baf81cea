// The box on top: why it failed or why it waits, with the failed replica's last lines.
import { useEffect, useState } from "preact/hooks";
import { request } from "../../data/api.ts";
import { corePath } from "../../data/kinds.ts";
import type { Job, Pod } from "../../data/types.ts";
import { translator } from "../../i18n/index.ts";
import { jobTexts } from "../../i18n/job.ts";
import {
  exitWord,
  firstEnding,
  sentenceOf,
  tellingLine,
  tipFor,
  type Ending,
} from "../../lib/failure.ts";
import { jobHref } from "../../lib/jobs.ts";
import { stateOfJob } from "../../lib/state.ts";
import { duration, millis, now } from "../../lib/time.ts";
import { spansOf } from "../../logs/ansi.ts";
import { Said } from "../../ui/said.tsx";

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

function LastLines(props: { text: string }) {
  const at = tellingLine(props.text);
  return (
    <pre class="tail">
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
  const words = ending ? t(exitWord(ending.code), { n: ending.code - 128 }) : "";
  return (
    <div class="box bad" role="region" aria-label={t("failedTitle")}>
      <h2>{t("failedTitle")}</h2>
      <p>
        <Said text={sentenceOf(props.job)} />
      </p>
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
                · <code>{ending.message}</code>
              </>
            ) : null}
          </p>
          <p>
            <b>{t("suggestion")}:</b>{" "}
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

export function Why(props: { job: Job; pods: Pod[] }) {
  const { job } = props;
  const state = stateOfJob(job);
  if (state === "failed") return <Failed {...props} />;
  if (state === "paused")
    return (
      <div class="box warn">
        <b>{t("pausedTitle")}</b>:{" "}
        {job.status?.reason === "MaxDurationExceeded" ? (
          <Said text={job.status.message} />
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
      <b>{t("pendingTitle")}</b>: <Said text={message} />
      {since === undefined ? null : (
        <span class="dim num"> ({t("since", { time: duration(now.value - since) })})</span>
      )}
    </div>
  );
}
