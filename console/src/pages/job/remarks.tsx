// A job's note and tags, and the dialog that changes them.
import { useState } from "preact/hooks";
import { merge } from "../../data/api.ts";
import { jobApiPath, mayJob } from "../../data/jobs.ts";
import { jobKind } from "../../data/kinds.ts";
import type { Job } from "../../data/types.ts";
import { translator } from "../../i18n/index.ts";
import { remarksTexts } from "../../i18n/remarks.ts";
import {
  isTag,
  NOTE,
  NOTE_LIMIT,
  noteBytes,
  noteOf,
  remarksPatch,
  TAG_PREFIX,
  tagsOf,
} from "../../lib/remarks.ts";
import { CliLine } from "../../ui/cli.tsx";
import { Field, FormDialog } from "../../ui/form.tsx";
import "../../style/remarks.css";

const t = translator(remarksTexts);

function RemarksDialog(props: { job: Job; onClose: () => void }) {
  const { job } = props;
  const [note, setNote] = useState(noteOf(job));
  const [typed, setTyped] = useState(tagsOf(job).join(" "));
  const [seen, setSeen] = useState(noteOf(job)); // what the user knows the note to have been
  const tags = [...new Set(typed.split(/[\s,，、]+/).filter(Boolean))];
  const bad = tags.find((one) => !isTag(one));
  const bytes = noteBytes(note);
  const wrong =
    bad !== undefined
      ? t("badTag", { tag: bad })
      : bytes > NOTE_LIMIT
        ? t("noteLong", { bytes, limit: NOTE_LIMIT })
        : "";
  const save = async (): Promise<void> => {
    if (noteOf(job) !== seen && note !== seen) {
      setSeen(noteOf(job));
      throw new Error(t("meanwhile", { note: noteOf(job) }));
    }
    await merge(jobApiPath(job), remarksPatch(job, note === seen ? noteOf(job) : note, tags));
  };
  const at = `kubectl -n ${job.metadata.namespace}`;
  const what = `${jobKind(job.kind ?? "")?.plural} ${job.metadata.name}`;
  return (
    <FormDialog
      title={t("title", { name: job.metadata.name })}
      word={t("save")}
      ready={!wrong}
      wrong={wrong}
      send={save}
      onClose={props.onClose}
    >
      <label>
        {t("note")} <span class="dim">{t("noteHint")}</span>
        <textarea
          class="note-edit"
          rows={6}
          value={note}
          onInput={(event) => setNote(event.currentTarget.value)}
          autofocus
        />
      </label>
      <Field
        label={
          <>
            {t("tags")} <span class="dim">{t("tagsHint")}</span>
          </>
        }
        value={typed}
        invalid={bad !== undefined}
        onInput={setTyped}
      />
      <CliLine label={t("note")} line={`${at} annotate ${what} --overwrite ${NOTE}='…'`} />
      <CliLine label={t("tags")} line={`${at} label ${what} ${TAG_PREFIX}NAME=`} />
    </FormDialog>
  );
}

export function Remarks(props: { job: Job }) {
  const { job } = props;
  const [editing, setEditing] = useState(false);
  const tags = tagsOf(job);
  const note = noteOf(job);
  const has = tags.length > 0 || note !== "";
  if (!has && !mayJob("patch", job)) return null;
  return (
    <div class="remarks">
      {tags.map((one) => (
        <a key={one} class="chip tag" href={`/jobs?tag=${encodeURIComponent(one)}`}>
          #{one}
        </a>
      ))}
      {note ? (
        <p class="note" title={t("note")}>
          {note}
        </p>
      ) : null}
      {mayJob("patch", job) ? (
        <button type="button" class="quiet" onClick={() => setEditing(true)}>
          {t(has ? "edit" : "add")}
        </button>
      ) : null}
      {editing ? <RemarksDialog job={job} onClose={() => setEditing(false)} /> : null}
    </div>
  );
}
