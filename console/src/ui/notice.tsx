// What a page shows when it has nothing else to show: loading, empty, an error, not allowed.
import type { ComponentChildren } from "preact";
import { Failure } from "../data/api.ts";
import { lang, tc } from "../i18n/index.ts";
import { refusalText } from "../lib/refusal.ts";

export function Loading() {
  return (
    <div class="notice" role="status" aria-busy="true">
      <span class="skeleton" />
      <span class="skeleton" />
      <span class="skeleton" />
      <span class="sr-only">{tc("loading")}</span>
    </div>
  );
}

export function Empty(props: { title?: string; children?: ComponentChildren }) {
  return (
    <div class="notice empty">
      <p class="notice-title">{props.title ?? tc("noData")}</p>
      {props.children}
    </div>
  );
}

export function Problem(props: { failure: Failure | Error; onRetry?: () => void }) {
  const code = props.failure instanceof Failure ? props.failure.code : undefined;
  const title =
    code === 403
      ? tc("forbidden")
      : code === 404
        ? tc("notFound")
        : tc("requestFailed", { message: "" }).replace(/[:：]\s*$/, "");
  return (
    <div class="notice problem" role="alert">
      <p class="notice-title">{title}</p>
      <p title={props.failure.message}>{refusalText(props.failure, lang.value)}</p>
      {props.onRetry ? (
        <button type="button" onClick={props.onRetry}>
          {tc("retry")}
        </button>
      ) : null}
    </div>
  );
}
