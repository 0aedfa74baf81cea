// The form of a job kind. Every field is a value of the one YAML document.
import { translator } from "../../i18n/index.ts";
import { createTexts } from "../../i18n/create.ts";
import type { Path } from "../../editor/check.ts";
import { read } from "./draft.ts";
import { Choice, LinesField, Switch, TextField, type Draft } from "./fields.tsx";
import { ReplicaCard } from "./replica.tsx";

const t = translator(createTexts);
const CLEAN_UP: [string, string][] = ["Unfinished", "All", "None"].map((one) => [one, one]);

function has(draft: Draft, path: Path): boolean {
  return read(draft.document, path) !== undefined;
}

function isOn(draft: Draft, path: Path): boolean {
  const value = read(draft.document, path) as { enable?: boolean; enabled?: boolean } | undefined;
  return value?.enable === true || value?.enabled === true;
}

function Torchrun(props: { draft: Draft }) {
  const at: Path = ["spec", "torchrunConfig"];
  const on = isOn(props.draft, at);
  return (
    <>
      <Switch
        label={t("torchrun")}
        on={on}
        set={(next) =>
          props.draft.set(
            at,
            next
              ? { enabled: true, maxRestarts: 3, procPerNode: "1", rdzvBackend: "c10d" }
              : undefined,
          )
        }
      />
      {on ? (
        <div class="grid">
          <TextField
            draft={props.draft}
            path={[...at, "maxRestarts"]}
            label={t("maxRestarts")}
            number
          />
          <TextField draft={props.draft} path={[...at, "procPerNode"]} label={t("procPerNode")} />
          <TextField draft={props.draft} path={[...at, "rdzvBackend"]} label={t("rdzv")} />
          <LinesField draft={props.draft} path={[...at, "extraOptions"]} label={t("extraArgs")} />
        </div>
      ) : null}
    </>
  );
}

function Scheduler(props: { draft: Draft }) {
  const at: Path = ["spec", "scheduler", "t9kScheduler"];
  const on = has(props.draft, at);
  return (
    <div class="grid">
      <div class="field">
        <label for="scheduler">{t("scheduler")}</label>
        <select
          id="scheduler"
          value={on ? "t9k" : "default"}
          onChange={(event) =>
            props.draft.set(
              event.currentTarget.value === "t9k" ? at : ["spec", "scheduler"],
              event.currentTarget.value === "t9k" ? { queue: "default", priority: 50 } : undefined,
            )
          }
        >
          <option value="default">{t("defaultScheduler")}</option>
          <option value="t9k">{t("t9kScheduler")}</option>
        </select>
      </div>
      {on ? (
        <>
          {props.draft.offers?.queues.length ? (
            <Choice
              draft={props.draft}
              path={[...at, "queue"]}
              label={t("queue")}
              options={props.draft.offers.queues.map((one) => [one, one])}
              fallback="default"
            />
          ) : (
            <TextField draft={props.draft} path={[...at, "queue"]} label={t("queue")} />
          )}
          <TextField
            draft={props.draft}
            path={[...at, "priority"]}
            label={t("priority")}
            number
            required
          />
        </>
      ) : null}
    </div>
  );
}

function RunPolicy(props: { draft: Draft; mpi: boolean }) {
  const at: Path = ["spec", "runPolicy"];
  const on = has(props.draft, at);
  return (
    <>
      <Switch
        label={t("runPolicy")}
        on={on}
        set={(next) => props.draft.set(at, next ? { cleanUpPolicy: "Unfinished" } : undefined)}
      />
      {on ? (
        <div class="grid">
          <TextField
            draft={props.draft}
            path={[...at, "activeDeadlineSeconds"]}
            label={t("deadline")}
            number
          />
          <TextField
            draft={props.draft}
            path={[...at, "backoffLimit"]}
            label={t("backoff")}
            number
          />
          <Choice
            draft={props.draft}
            path={[...at, "cleanUpPolicy"]}
            label={t("cleanUp")}
            options={CLEAN_UP}
            fallback="Unfinished"
          />
          {props.mpi ? (
            <Switch
              label={t("cleanWorkers")}
              on={read(props.draft.document, [...at, "cleanUpWorkers"]) === true}
              set={(next) => props.draft.set([...at, "cleanUpWorkers"], next || undefined)}
            />
          ) : null}
        </div>
      ) : null}
    </>
  );
}

function Board(props: { draft: Draft }) {
  const at: Path = ["spec", "tensorboardSpec"];
  const on = has(props.draft, at);
  return (
    <>
      <Switch
        label={t("board")}
        on={on}
        set={(next) =>
          props.draft.set(at, next ? { trainingLogFilesets: ["t9k://pvc/logs/"] } : undefined)
        }
      />
      {on ? (
        <div class="grid">
          <LinesField
            draft={props.draft}
            path={[...at, "trainingLogFilesets"]}
            label={t("boardLogs")}
          />
          <TextField draft={props.draft} path={[...at, "image"]} label={t("boardImage")} />
        </div>
      ) : null}
    </>
  );
}

function Mpi(props: { draft: Draft }) {
  const at: Path = ["spec", "mpiConfig"];
  return (
    <div class="grid">
      <LinesField draft={props.draft} path={[...at, "script"]} label={t("script")} />
      <LinesField draft={props.draft} path={[...at, "extraArgs"]} label={t("mpiArgs")} />
      <TextField
        draft={props.draft}
        path={[...at, "home"]}
        label={t("mpiHome")}
        placeholder="/usr/local"
      />
    </div>
  );
}

export function Form(props: { draft: Draft; kind: string }) {
  const { draft } = props;
  const mpi = props.kind === "MPIJob";
  const debug: Path = ["spec", "runMode", "debug"];
  const specs = (read(draft.document, ["spec", "replicaSpecs"]) as unknown[] | undefined) ?? [];
  const addType = (): void =>
    draft.set(["spec", "replicaSpecs", specs.length], {
      type: `type-${specs.length + 1}`,
      replicas: 1,
      ...(mpi ? {} : { restartPolicy: "OnFailure" }),
      template: {
        spec: {
          containers: [
            {
              name: mpi ? "worker" : "pytorch",
              image: "",
              resources: { limits: { cpu: "1", memory: "1Gi" } },
            },
          ],
        },
      },
    });
  return (
    <form class="create-form" onSubmit={(event) => event.preventDefault()}>
      <section class="card" aria-label={t("basics")}>
        <h2>{t("basics")}</h2>
        <div class="grid">
          <TextField draft={draft} path={["metadata", "name"]} label={t("name")} required />
          <TextField
            draft={draft}
            path={["metadata", "namespace"]}
            label={t("project")}
            offers={draft.offers?.projects ?? []}
          />
        </div>
        {mpi ? <Mpi draft={draft} /> : <Torchrun draft={draft} />}
        <Scheduler draft={draft} />
        <RunPolicy draft={draft} mpi={mpi} />
        <Board draft={draft} />
        <Switch
          label={t("debug")}
          on={isOn(draft, debug)}
          set={(next) => draft.set(debug, next ? { enabled: true } : undefined)}
        />
      </section>
      {specs.map((_, i) => (
        <ReplicaCard
          key={i}
          draft={draft}
          index={i}
          mpi={mpi}
          remove={
            specs.length > 1
              ? () =>
                  draft.set(
                    ["spec", "replicaSpecs"],
                    specs.filter((__, k) => k !== i),
                  )
              : undefined
          }
        />
      ))}
      <p>
        <button type="button" onClick={addType}>
          + {t("addType")}
        </button>
      </p>
    </form>
  );
}
