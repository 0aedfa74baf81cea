// The files of a volume: go through folders, take files out, put files in.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Failure } from "../../data/api.ts";
import {
  type Entry,
  filePath,
  folderHref,
  join,
  listFolder,
  type Listing,
  makeFolder,
  upload,
} from "../../data/volumes.ts";
import { lang, tc, texts, translator } from "../../i18n/index.ts";
import { formatBytes } from "../../lib/quantity.ts";
import { refusalText } from "../../lib/refusal.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, FormDialog } from "../../ui/form.tsx";
import { Empty, Loading, Problem } from "../../ui/notice.tsx";
import { savePath } from "../../ui/save.ts";
import { Ago } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";

const t = translator(
  texts({
    zh: {
      upload: "上传文件",
      folder: "新建文件夹",
      folderName: "文件夹名称",
      path: "路径",
      size: "大小",
      modified: "修改时间",
      download: "下载",
      empty: "此文件夹是空的",
      more: "此文件夹的内容太多，只列出前 {n} 项。",
      link: "指向卷外的链接",
      other: "不是普通文件",
      uploading: "正在上传 {name}（{size}）",
      uploaded: "已上传 {name}",
      stop: "停止",
      failed: "上传 {name} 失败：{message}",
      replaceTitle: "文件已存在",
      replace: "覆盖",
      replaceText: "{name} 已存在。是否覆盖？",
      tooLarge: "超过 16 GiB，无法在此上传",
    },
    en: {
      upload: "Upload files",
      folder: "New folder",
      folderName: "Name of the folder",
      path: "Path",
      size: "Size",
      modified: "Modified",
      download: "Download",
      empty: "This folder is empty",
      more: "This folder is large: only its first {n} entries are listed.",
      link: "leads out of the volume",
      other: "not a regular file",
      uploading: "Uploading {name} ({size})",
      uploaded: "Uploaded {name}",
      stop: "Stop",
      failed: "Uploading {name} failed: {message}",
      replaceTitle: "The file already exists",
      replace: "Replace",
      replaceText: "{name} already exists. Replace it?",
      tooLarge: "more than 16 GiB cannot be uploaded here",
    },
  }),
);

const UPLOAD_LIMIT = 16 * 2 ** 30;

interface Place {
  ns: string;
  claim: string;
  path: string;
}

function Crumbs(props: Place) {
  const parts = props.path ? props.path.split("/") : [];
  return (
    <nav class="crumbs" aria-label={t("path")}>
      <a href="/volumes">{tc("volumes")}</a> /{" "}
      <a href={folderHref(props.ns, props.claim, "")}>{props.claim}</a>
      {parts.map((part, i) => (
        <span key={i}>
          {" / "}
          <a
            href={folderHref(props.ns, props.claim, parts.slice(0, i + 1).join("/"))}
            aria-current={i === parts.length - 1 ? "page" : undefined}
          >
            {part}
          </a>
        </span>
      ))}
    </nav>
  );
}

function sizeOf(bytes: number): string {
  return bytes < 1024 ? `${bytes} B` : formatBytes(bytes);
}

function Row(props: Place & { entry: Entry }) {
  const { ns, claim, entry } = props;
  const path = join(props.path, entry.name);
  const isFile = entry.type === "file";
  return (
    <tr>
      <td>
        {entry.type === "folder" ? (
          <a href={folderHref(ns, claim, path)}>{entry.name}/</a>
        ) : (
          entry.name
        )}
      </td>
      <td class="num">{isFile ? sizeOf(entry.bytes) : ""}</td>
      <td>
        <Ago time={new Date(entry.modifiedMs).toISOString()} />
      </td>
      <td class="row-actions">
        {isFile ? (
          <button type="button" onClick={() => savePath(entry.name, filePath(ns, claim, path))}>
            {t("download")}
          </button>
        ) : entry.type === "link" ? (
          <span class="muted">{t("link")}</span>
        ) : entry.type === "other" ? (
          <span class="muted">{t("other")}</span>
        ) : null}
      </td>
    </tr>
  );
}

function FolderDialog(props: Place & { onClose: () => void; onMade: () => void }) {
  const [name, setName] = useState("");
  return (
    <FormDialog
      title={t("folder")}
      ready={name !== "" && !name.includes("/") && name !== "." && name !== ".."}
      send={async () => {
        await makeFolder(props.ns, props.claim, join(props.path, name));
        props.onMade();
      }}
      onClose={props.onClose}
    >
      <Field label={t("folderName")} value={name} onInput={setName} autofocus />
    </FormDialog>
  );
}

/** Files that are sent one after the other, and what is asked meanwhile. */
function useUploads(place: Place, changed: () => void) {
  const [sending, setSending] = useState<File | undefined>();
  const [asked, setAsked] = useState<{ file: File; answer: (yes: boolean) => void } | undefined>();
  const stop = useRef<AbortController | undefined>(undefined);
  const send = async (file: File, replace: boolean): Promise<void> => {
    const { ns, claim, path } = place;
    stop.current = new AbortController();
    setSending(file);
    try {
      if (file.size > UPLOAD_LIMIT) throw new Error(t("tooLarge"));
      await upload(ns, claim, join(path, file.name), file, replace, stop.current.signal);
      toast(t("uploaded", { name: file.name }));
      changed();
    } catch (error) {
      const failure = error as Failure;
      if (failure.name === "AbortError") return;
      if (failure.code === 409 && !replace) {
        setSending(undefined);
        const yes = await new Promise<boolean>((answer) => setAsked({ file, answer }));
        setAsked(undefined);
        if (yes) await send(file, true);
        return;
      }
      const message = failure.code ? refusalText(failure, lang.value) : failure.message;
      toast(t("failed", { name: file.name, message }), { kind: "error" });
    } finally {
      setSending(undefined);
    }
  };
  const sendAll = async (files: File[]): Promise<void> => {
    for (const file of files) await send(file, false);
  };
  useEffect(() => () => stop.current?.abort(), []);
  return { sending, asked, sendAll, stop: () => stop.current?.abort() };
}

export default function FilesPage(props: Place) {
  const { ns, claim, path } = props;
  const [listing, setListing] = useState<Listing | undefined>();
  const [failure, setFailure] = useState<Failure | undefined>();
  const [version, setVersion] = useState(0);
  const [making, setMaking] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const again = (): void => setVersion((n) => n + 1);
  const { sending, asked, sendAll, stop } = useUploads(props, again);
  useEffect(() => {
    let wanted = true;
    listFolder(ns, claim, path).then(
      (one) => {
        if (!wanted) return;
        setListing(one);
        setFailure(undefined);
      },
      (error: Failure) => wanted && setFailure(error),
    );
    return () => {
      wanted = false;
    };
  }, [ns, claim, path, version]);
  return (
    <section>
      <Crumbs {...props} />
      <div class="page-head">
        <h1>{claim}</h1>
        <span class="grow" />
        <button type="button" onClick={again}>
          {tc("refresh")}
        </button>
        <button type="button" onClick={() => setMaking(true)}>
          {t("folder")}
        </button>
        <button type="button" class="primary" onClick={() => picker.current?.click()}>
          {t("upload")}
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label={t("upload")}
          onChange={(event) => {
            const files = [...(event.currentTarget.files ?? [])];
            event.currentTarget.value = "";
            void sendAll(files);
          }}
        />
      </div>
      {sending ? (
        <p role="status">
          {t("uploading", { name: sending.name, size: formatBytes(sending.size) })}{" "}
          <button type="button" onClick={stop}>
            {t("stop")}
          </button>
        </p>
      ) : null}
      {asked ? (
        <Dialog
          title={t("replaceTitle")}
          onClose={() => asked.answer(false)}
          actions={
            <>
              <button type="button" onClick={() => asked.answer(false)}>
                {tc("cancel")}
              </button>
              <button type="button" class="primary" onClick={() => asked.answer(true)}>
                {t("replace")}
              </button>
            </>
          }
        >
          <p>{t("replaceText", { name: asked.file.name })}</p>
        </Dialog>
      ) : null}
      {making ? <FolderDialog {...props} onClose={() => setMaking(false)} onMade={again} /> : null}
      {failure ? (
        <Problem failure={failure} />
      ) : !listing ? (
        <Loading />
      ) : !listing.entries.length ? (
        <Empty title={t("empty")} />
      ) : (
        <div class="scroll-x">
          <table>
            <thead>
              <tr>
                {[tc("name"), t("size"), t("modified"), tc("actions")].map((one) => (
                  <th key={one} scope="col">
                    {one}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {listing.entries.map((entry) => (
                <Row key={entry.name} {...props} entry={entry} />
              ))}
            </tbody>
          </table>
          {listing.more ? <p class="hint">{t("more", { n: listing.entries.length })}</p> : null}
        </div>
      )}
    </section>
  );
}
