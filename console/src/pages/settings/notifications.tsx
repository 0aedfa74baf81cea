// Notifications: whom the server tells when jobs reach a phase, over HTTP. Listed, made, tested.
import { useState } from "preact/hooks";
import { create, Failure, merge, remove } from "../../data/api.ts";
import { apiVersion, corePath, JOB_KINDS, kindPath, NOTIFICATIONS } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import { may } from "../../data/rights.ts";
import { scope } from "../../data/session.ts";
import type { KubeObject } from "../../data/types.ts";
import { lang, tc, translator } from "../../i18n/index.ts";
import { notificationTexts, sayDelivery } from "../../i18n/notifications.ts";
import { refusalText } from "../../lib/refusal.ts";
import { ownProject, project } from "../../project.tsx";
import { Field, FormDialog, NAME, NameField } from "../../ui/form.tsx";
import { Loading, Problem } from "../../ui/notice.tsx";
import { phaseWord } from "../../ui/state.tsx";
import { Ago } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import "../../style/remarks.css";

const t = translator(notificationTexts);

export interface Notification extends KubeObject {
  spec?: {
    phases?: string[];
    kinds?: string[];
    selector?: { matchLabels?: Record<string, string>; matchExpressions?: unknown[] };
    url?: string;
    urlFrom?: { secretKeyRef?: { name?: string; key?: string } };
    format?: string;
    suspend?: boolean;
  };
  status?: {
    delivered?: number;
    failed?: number;
    pending?: unknown[];
    lastDelivery?: { time?: string; job?: string; phase?: string; code?: number };
    lastError?: { time?: string; message?: string };
    retryTime?: string;
  };
}

const PHASES = ["Succeeded", "Failed", "Running", "Pending", "Paused"];

function act(what: Promise<unknown>, done?: string): void {
  what.then(
    () => done && toast(done),
    (error: Failure) =>
      toast(tc("requestFailed", { message: refusalText(error, lang.value) }), { kind: "error" }),
  );
}

/** "team=nlp, lr=0.1" as matchLabels; null: it cannot be read. */
function labelsFrom(text: string): Record<string, string> | null {
  const parts = text.split(/[\s,，]+/).filter(Boolean);
  const pairs = parts.map((one) => /^([^=\s]+)=([^=\s]*)$/.exec(one));
  return pairs.every((one) => one !== null)
    ? Object.fromEntries(pairs.map((one) => [one[1]!, one[2]!]))
    : null;
}

/** The Secret goes with its Notification; one without its Secret would be of no use. */
async function keepAddress(of: Notification, name: string, url: string): Promise<void> {
  const { namespace: ns = "default", name: owner, uid } = of.metadata;
  try {
    await create(corePath("secrets", ns), {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name,
        namespace: ns,
        ownerReferences: [
          { apiVersion: apiVersion(NOTIFICATIONS), kind: "Notification", name: owner, uid },
        ],
      },
      stringData: { url },
    });
  } catch (error) {
    await remove(kindPath(NOTIFICATIONS, ns, owner));
    throw error;
  }
}

function Choices(props: {
  label: string;
  all: [value: string, word: string][];
  chosen: string[];
  onChange: (next: string[]) => void;
}) {
  return (
    <fieldset class="choices">
      <legend>{props.label}</legend>
      {props.all.map(([value, word]) => (
        <label key={value} class="choice">
          <input
            type="checkbox"
            checked={props.chosen.includes(value)}
            onChange={(event) =>
              props.onChange(
                event.currentTarget.checked
                  ? [...props.chosen, value]
                  : props.chosen.filter((one) => one !== value),
              )
            }
          />{" "}
          {word}
        </label>
      ))}
    </fieldset>
  );
}

function MakeDialog(props: { onClose: () => void }) {
  const ns = ownProject();
  const [name, setName] = useState("");
  const [phases, setPhases] = useState(["Succeeded", "Failed"]);
  const [kinds, setKinds] = useState<string[]>([]);
  const [labels, setLabels] = useState("");
  const [url, setUrl] = useState("");
  const [format, setFormat] = useState("json");
  const [secret, setSecret] = useState(true);
  const selector = labelsFrom(labels);
  const kept = `notification-${name}`;
  const ready =
    NAME.test(name) && phases.length > 0 && selector !== null && /^https?:\/\/[^/\s]/.test(url);
  const object = {
    apiVersion: apiVersion(NOTIFICATIONS),
    kind: "Notification",
    metadata: { name, namespace: ns },
    spec: {
      phases,
      ...(kinds.length ? { kinds } : {}),
      ...(selector && Object.keys(selector).length ? { selector: { matchLabels: selector } } : {}),
      ...(secret ? { urlFrom: { secretKeyRef: { name: kept, key: "url" } } } : { url }),
      format,
    },
  };
  const send = async (): Promise<void> => {
    const made = await create<Notification>(kindPath(NOTIFICATIONS, ns), object);
    if (secret) await keepAddress(made, kept, url);
  };
  return (
    <FormDialog
      title={t("make")}
      ready={ready}
      send={send}
      done={t("created", { name })}
      onClose={props.onClose}
    >
      <p class="dim">{tc("project") + tc("colon") + ns}</p>
      <NameField value={name} onInput={setName} />
      <Choices
        label={t("phases")}
        all={PHASES.map((one) => [one, phaseWord(one)])}
        chosen={phases}
        onChange={setPhases}
      />
      <Choices
        label={t("kinds")}
        all={JOB_KINDS.map((one) => [one.kind, one.short])}
        chosen={kinds}
        onChange={setKinds}
      />
      <Field
        label={t("selector")}
        value={labels}
        placeholder="team=nlp"
        invalid={selector === null}
        onInput={setLabels}
      />
      <label>
        {t("format")}{" "}
        <select value={format} onChange={(event) => setFormat(event.currentTarget.value)}>
          <option value="json">JSON</option>
          <option value="slack">Slack</option>
        </select>
      </label>
      <Field
        label={t("url")}
        type="url"
        value={url}
        placeholder="https://hooks.slack.com/services/…"
        onInput={setUrl}
      />
      <label class="choice">
        <input
          type="checkbox"
          checked={secret}
          onChange={(event) => setSecret(event.currentTarget.checked)}
        />{" "}
        {t("secret")}
      </label>
    </FormDialog>
  );
}

/** What it is about, in one line. */
function About(props: { of: Notification }) {
  const { phases = [], kinds = [], selector } = props.of.spec ?? {};
  const labels = Object.entries(selector?.matchLabels ?? {}).map(([a, b]) => `${a}=${b}`);
  return (
    <>
      {[
        phases.map(phaseWord).join(" / "),
        ...kinds,
        ...labels,
        ...(selector?.matchExpressions?.length ? ["…"] : []),
      ].join(" · ")}
    </>
  );
}

function Outcome(props: { of: Notification }) {
  const { status, spec } = props.of;
  const { lastDelivery, lastError } = status ?? {};
  const failing = lastError && (lastError.time ?? "") >= (lastDelivery?.time ?? "");
  return (
    <>
      {t("counts", { delivered: status?.delivered ?? 0, failed: status?.failed ?? 0 })}
      {status?.pending?.length ? ` · ${t("pending", { count: status.pending.length })}` : ""}
      {spec?.suspend ? ` · ${t("suspended")}` : ""}
      {lastDelivery ? (
        <div class="dim">
          {t("last")} <Ago time={lastDelivery.time} /> ({lastDelivery.job}: {lastDelivery.phase})
        </div>
      ) : null}
      {failing ? (
        <div class="danger" role="status">
          <Ago time={lastError.time} /> {sayDelivery(lastError.message ?? "", lang.value)}
        </div>
      ) : null}
    </>
  );
}

function Actions(props: { of: Notification }) {
  const { metadata, spec } = props.of;
  const ns = metadata.namespace ?? "default";
  const at = kindPath(NOTIFICATIONS, ns, metadata.name);
  const test = { metadata: { annotations: { "muster.dev/send-test": new Date().toISOString() } } };
  return (
    <>
      {may("patch", NOTIFICATIONS, ns) ? (
        <>
          <button
            type="button"
            disabled={spec?.suspend ?? false}
            onClick={() => act(merge(at, test), t("testing", { name: metadata.name }))}
          >
            {t("test")}
          </button>{" "}
          <button
            type="button"
            onClick={() => act(merge(at, { spec: { suspend: !spec?.suspend } }))}
          >
            {t(spec?.suspend ? "resume" : "suspend")}
          </button>{" "}
        </>
      ) : null}
      {may("delete", NOTIFICATIONS, ns) ? (
        <button
          type="button"
          class="danger"
          onClick={() => act(remove(at), t("deleted", { name: metadata.name }))}
        >
          {tc("delete")}
        </button>
      ) : null}
    </>
  );
}

export function Notifications() {
  const [making, setMaking] = useState(false);
  const {
    items: all,
    loaded,
    failure,
  } = useLive<Notification>(kindPath(NOTIFICATIONS, scope.value));
  const items = all
    .filter((one) => !project.value || one.metadata.namespace === project.value)
    .sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
  if (failure?.code === 404) return null; // a cluster without the kind
  return (
    <section id="notifications">
      <h2>{t("title")}</h2>
      <p class="dim">{t("hint")}</p>
      {failure ? (
        <Problem failure={failure} />
      ) : !loaded ? (
        <Loading />
      ) : !items.length ? (
        <p>{t("none")}</p>
      ) : (
        <div class="scroll-x">
          <table>
            <thead>
              <tr>
                <th scope="col">{tc("name")}</th>
                <th scope="col">{tc("project")}</th>
                <th scope="col">{t("about")}</th>
                <th scope="col">{t("where")}</th>
                <th scope="col">{t("outcome")}</th>
                <th scope="col">{tc("actions")}</th>
              </tr>
            </thead>
            <tbody>
              {items.map((one) => (
                <tr key={one.metadata.uid}>
                  <td>{one.metadata.name}</td>
                  <td>{one.metadata.namespace}</td>
                  <td>
                    <About of={one} />
                  </td>
                  <td>
                    {one.spec?.format === "slack" ? "Slack" : "JSON"} ·{" "}
                    <span class="mono">
                      {one.spec?.url ?? `Secret ${one.spec?.urlFrom?.secretKeyRef?.name}`}
                    </span>
                  </td>
                  <td>
                    <Outcome of={one} />
                  </td>
                  <td>
                    <Actions of={one} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {may("create", NOTIFICATIONS, ownProject()) ? (
        <p>
          <button type="button" onClick={() => setMaking(true)}>
            {t("make")}
          </button>
        </p>
      ) : null}
      {making ? <MakeDialog onClose={() => setMaking(false)} /> : null}
    </section>
  );
}
