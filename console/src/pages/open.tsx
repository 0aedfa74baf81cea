// The way to a program that has an origin of its own (a TensorBoard): the address of the program
// here at the console leads to its own, with a ticket that is good once. Who is not signed in sees
// the login first, as everywhere.
import { useEffect, useState } from "preact/hooks";
import { create, Failure } from "../data/api.ts";
import { texts, translator } from "../i18n/index.ts";
import { path } from "../router.ts";
import { Empty, Loading, Problem } from "../ui/notice.tsx";

const t = translator(
  texts({
    zh: {
      back: "该页面又回到了这里",
      why: "浏览器没有保留该页面的 Cookie。请允许 Cookie，然后重试。",
      again: "再次打开",
    },
    en: {
      back: "The page did not open",
      why: "The browser has not kept the cookie of that page. Allow cookies for it and try again.",
      again: "Open again",
    },
  }),
);

const SOON_MS = 10_000;

const mark = (at: string): string => `opened ${at}`;

/** Whether it was opened a moment ago already: then it would be opened for ever. */
function cameBack(at: string): boolean {
  return Date.now() - Number(sessionStorage.getItem(mark(at)) ?? 0) < SOON_MS;
}

/** A reload before this page has left does not count. */
function leave(at: string, url: string): void {
  sessionStorage.setItem(mark(at), String(Date.now()));
  window.location.replace(url);
}

export default function OpenPage() {
  const [failure, setFailure] = useState<Failure | null>(null);
  const [back, setBack] = useState(false);
  const open = (): void => {
    setFailure(null);
    setBack(false);
    create<{ url: string }>("/console/v1/open", { path: path.value + window.location.search }).then(
      ({ url }) => leave(path.value, url),
      (error: Failure) => setFailure(error),
    );
  };
  useEffect(() => {
    if (cameBack(path.value)) setBack(true);
    else open();
  }, []);
  if (failure) return <Problem failure={failure} onRetry={open} />;
  if (back)
    return (
      <Empty title={t("back")}>
        <p>{t("why")}</p>
        <button type="button" onClick={open}>
          {t("again")}
        </button>
      </Empty>
    );
  return <Loading />;
}
