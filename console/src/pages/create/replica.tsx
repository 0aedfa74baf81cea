// The card of one replica type.
import { useId, useState } from "preact/hooks";
import { translator } from "../../i18n/index.ts";
import { createTexts } from "../../i18n/create.ts";
import type { Path } from "../../editor/check.ts";
import type { EnvVar, Volume } from "../../data/types.ts";
import { read, readText } from "./draft.ts";
import { Choice, LinesField, TextField, type Draft } from "./fields.tsx";
import { Icon } from "../../ui/icon.tsx";
import { CloseIcon } from "../../ui/icons.ts";

const t = translator(createTexts);
const POLICIES: [string, string][] = ["OnFailure", "Never", "Always", "ExitCode"].map((one) => [
  one,
  one,
]);

/** Rows that can be added and removed. */
function Rows<T>(props: {
  label: string;
  items: T[];
  add: () => void;
  remove: (i: number) => void;
  row: (item: T, i: number) => preact.ComponentChildren;
}) {
  return (
    <fieldset class="rows">
      <legend>{props.label}</legend>
      {props.items.map((item, i) => (
        <div key={i} class="rows-row">
          {props.row(item, i)}
          <button
            type="button"
            class="icon"
            aria-label={`${t("remove")} ${props.label} ${i + 1}`}
            onClick={() => props.remove(i)}
          >
            <Icon of={CloseIcon} />
          </button>
        </div>
      ))}
      <button type="button" onClick={props.add}>
        + {t("add")}
      </button>
    </fieldset>
  );
}

function without<T>(items: T[], i: number): T[] | undefined {
  const next = items.filter((_, k) => k !== i);
  return next.length ? next : undefined;
}

function Environment(props: { draft: Draft; container: Path }) {
  const path = [...props.container, "env"];
  const env = (read(props.draft.document, path) as EnvVar[] | undefined) ?? [];
  return (
    <Rows
      label={t("env")}
      items={env}
      add={() =>
        props.draft.set([...path, env.length], { name: `NAME_${env.length + 1}`, value: "" })
      }
      remove={(i) => props.draft.set(path, without(env, i))}
      row={(_, i) => (
        <>
          <TextField draft={props.draft} path={[...path, i, "name"]} label={t("name")} />
          <TextField draft={props.draft} path={[...path, i, "value"]} label={t("value")} />
        </>
      )}
    />
  );
}

/** A claim and where the first container has it: two places of the pod, one row of the form. */
function Volumes(props: { draft: Draft; pod: Path; container: Path }) {
  const volumesPath = [...props.pod, "volumes"];
  const mountsPath = [...props.container, "volumeMounts"];
  const volumes = (read(props.draft.document, volumesPath) as Volume[] | undefined) ?? [];
  const mounts =
    (read(props.draft.document, mountsPath) as { name: string; mountPath: string }[] | undefined) ??
    [];
  const add = (): void => {
    const name = `volume-${volumes.length + 1}`;
    props.draft.set([...volumesPath, volumes.length], {
      name,
      persistentVolumeClaim: { claimName: name },
    });
    props.draft.set([...mountsPath, mounts.length], { name, mountPath: "/t9k/mnt" });
  };
  const remove = (i: number): void => {
    const name = volumes[i]?.name;
    const kept = mounts.filter((one) => one.name !== name);
    props.draft.set(volumesPath, without(volumes, i));
    props.draft.set(mountsPath, kept.length ? kept : undefined);
  };
  return (
    <Rows
      label={t("volumes")}
      items={volumes}
      add={add}
      remove={remove}
      row={(volume, i) => {
        const mount = mounts.findIndex((one) => one.name === volume.name);
        return (
          <>
            <span class="chip">
              {volume.persistentVolumeClaim
                ? "PersistentVolumeClaim"
                : (Object.keys(volume).find((one) => one !== "name") ?? "")}
            </span>
            {volume.persistentVolumeClaim ? (
              <TextField
                draft={props.draft}
                path={[...volumesPath, i, "persistentVolumeClaim", "claimName"]}
                label={t("pvc")}
                offers={props.draft.offers?.claims ?? []}
              />
            ) : (
              <span>{volume.name}</span>
            )}
            {mount >= 0 ? (
              <TextField
                draft={props.draft}
                path={[...mountsPath, mount, "mountPath"]}
                label={t("bindPath")}
              />
            ) : null}
          </>
        );
      }}
    />
  );
}

function Resources(props: { draft: Draft; container: Path }) {
  const id = useId();
  const at = (which: "limits" | "requests", name: string): Path => [
    ...props.container,
    "resources",
    which,
    name,
  ];
  const limits =
    (read(props.draft.document, [...props.container, "resources", "limits"]) as
      Record<string, unknown> | undefined) ?? {};
  const kinds = props.draft.offers?.gpus ?? [];
  const [chosen, setChosen] = useState("");
  const gpu =
    Object.keys(limits).find((one) => one.includes("/")) ??
    (chosen || (kinds[0] ?? "nvidia.com/gpu"));
  const choose = (next: string): void => {
    const value = limits[gpu];
    setChosen(next);
    if (value === undefined) return;
    props.draft.set(at("limits", gpu), undefined);
    props.draft.set(at("limits", next), value);
  };
  return (
    <div class="grid">
      <TextField
        draft={props.draft}
        path={at("limits", "cpu")}
        label={t("cpuLimit")}
        placeholder="2"
      />
      <TextField
        draft={props.draft}
        path={at("limits", "memory")}
        label={t("memoryLimit")}
        placeholder="4Gi"
      />
      <TextField
        draft={props.draft}
        path={at("requests", "cpu")}
        label={t("cpuRequest")}
        placeholder="1"
      />
      <TextField
        draft={props.draft}
        path={at("requests", "memory")}
        label={t("memoryRequest")}
        placeholder="2Gi"
      />
      {kinds.length > 1 || (kinds.length === 1 && kinds[0] !== gpu) ? (
        <div class="field">
          <label for={id}>{t("gpuKind")}</label>
          <select id={id} value={gpu} onChange={(event) => choose(event.currentTarget.value)}>
            {[...new Set([...kinds, gpu])].map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </div>
      ) : null}
      <TextField
        draft={props.draft}
        path={at("limits", gpu)}
        label={`${t("gpuCount")} (${gpu})`}
        number
      />
    </div>
  );
}

export function ReplicaCard(props: {
  draft: Draft;
  index: number;
  mpi: boolean;
  remove: (() => void) | undefined;
}) {
  const spec: Path = ["spec", "replicaSpecs", props.index];
  const pod: Path = [...spec, "template", "spec"];
  const container: Path = [...pod, "containers", 0];
  const type = readText(props.draft.document, [...spec, "type"]);
  const launcher = props.mpi && type === "launcher";
  return (
    <section class="card" aria-label={`${t("replica")} ${type}`}>
      <div class="section-head">
        <h2>{type}</h2>
        <span class="grow" />
        {props.remove ? (
          <button type="button" onClick={props.remove}>
            {t("removeType")}
          </button>
        ) : null}
      </div>
      <div class="grid">
        <TextField draft={props.draft} path={[...spec, "type"]} label={t("type")} required />
        {launcher ? null : (
          <TextField draft={props.draft} path={[...spec, "replicas"]} label={t("count")} number />
        )}
        {props.mpi ? null : (
          <Choice
            draft={props.draft}
            path={[...spec, "restartPolicy"]}
            label={t("restart")}
            options={POLICIES}
            fallback="OnFailure"
          />
        )}
        {launcher ? null : (
          <TextField
            draft={props.draft}
            path={[...container, "image"]}
            label={t("image")}
            required
          />
        )}
        {launcher ? null : (
          <TextField
            draft={props.draft}
            path={[...container, "workingDir"]}
            label={t("workingDir")}
          />
        )}
      </div>
      {launcher ? null : (
        <>
          {props.mpi ? null : (
            <div class="grid">
              <LinesField
                draft={props.draft}
                path={[...container, "command"]}
                label={t("command")}
              />
              <LinesField draft={props.draft} path={[...container, "args"]} label={t("args")} />
            </div>
          )}
          <Resources draft={props.draft} container={container} />
          <Environment draft={props.draft} container={container} />
          <Volumes draft={props.draft} pod={pod} container={container} />
        </>
      )}
    </section>
  );
}
