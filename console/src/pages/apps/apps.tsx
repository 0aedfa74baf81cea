// The list of a kind whose objects are programs with a page of their own (TensorBoards, Notebooks):
// make, open, pause, resume, delete.
import type { ComponentChildren } from "preact";
import { Failure, merge } from "../../data/api.ts";
import { type App, appHref, appPage } from "../../data/apps.ts";
import { kindPath, type Kind } from "../../data/kinds.ts";
import { useLive } from "../../data/live.ts";
import { deleteLater, keep, leavesAt } from "../../data/removal.ts";
import { may } from "../../data/rights.ts";
import { scope } from "../../data/session.ts";
import { lang, tc, texts, translator } from "../../i18n/index.ts";
import { refusalText } from "../../lib/refusal.ts";
import { sayBoth } from "../../lib/say.ts";
import { stateOfPhase } from "../../lib/state.ts";
import { ownProject, project } from "../../project.tsx";
import { Icon } from "../../ui/icon.tsx";
import { MoreIcon } from "../../ui/icons.ts";
import { ListPage } from "../../ui/list-page.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Said } from "../../ui/said.tsx";
import { StateMark } from "../../ui/state.tsx";
import { Ago } from "../../ui/time.tsx";
import { toast, undoToast } from "../../ui/toast.tsx";

const t = translator(
  texts({
    zh: {
      open: "打开",
      suspend: "暂停",
      resume: "恢复",
      more: "更多",
      events: "状况与事件",
      logs: "日志",
      idle: "空闲",
      none: "还没有 {what}",
      create: "创建 {what}",
      failed: "操作失败：{message}",
      deleting: "即将删除 {what} {name}",
      undo: "撤销",
    },
    en: {
      open: "Open",
      suspend: "Pause",
      resume: "Resume",
      more: "More",
      events: "Conditions and events",
      logs: "Logs",
      idle: "Idle",
      none: "No {what}s yet",
      create: "Create {what}",
      failed: "Could not do that: {message}",
      deleting: "Deleting {what} {name}",
      undo: "Undo",
    },
  }),
);

function act(what: Promise<unknown>): void {
  what.catch((error: Failure) =>
    toast(t("failed", { message: refusalText(error, lang.value) }), { kind: "error" }),
  );
}

/** One more column. */
export interface AppColumn<T extends App> {
  name: string;
  cell: (app: T) => ComponentChildren;
}

/** Lines of a cell: claims, filesets. */
export function lines(all: string[]): ComponentChildren {
  return (
    <div class="mono">
      {all.map((one) => (
        <div key={one}>{one}</div>
      ))}
    </div>
  );
}

/** Open, pause or resume, delete: in the list and on the page of one. */
export function AppActions(props: { app: App; kind: Kind; label: string }) {
  const { app, kind } = props;
  const { namespace: ns = "default", name } = app.metadata;
  const path = kindPath(kind, ns, name);
  const remove = (): void =>
    act(
      deleteLater(path, app).then(() =>
        undoToast(t("deleting", { what: kind.kind, name }), t("undo"), () => act(keep(path, app))),
      ),
    );
  return (
    <>
      <a class="button" target="_blank" rel="noopener" href={appHref(kind, app)}>
        {t("open")}
      </a>
      {may("patch", kind, ns) ? (
        <button
          type="button"
          onClick={() => act(merge(path, { spec: { suspend: !app.spec?.suspend } }))}
        >
          {t(app.spec?.suspend ? "resume" : "suspend")}
        </button>
      ) : null}
      <Menu
        label={<Icon of={MoreIcon} />}
        name={props.label}
        items={[
          { label: t("events"), href: appPage(kind, app) },
          { label: t("logs"), href: `${appPage(kind, app)}/logs` },
          ...(may("delete", kind, ns)
            ? [{ label: tc("delete"), danger: true, onSelect: remove }]
            : []),
        ]}
      />
    </>
  );
}

/** Its state in a word, what it waits for, and that nobody has used it for long. */
export function AppState(props: { app: App }) {
  const { status } = props.app;
  const message = sayBoth(status?.message ?? "", lang.value);
  const idle = status?.conditions?.find((one) => one.type === "Idle");
  return (
    <>
      <StateMark state={stateOfPhase(status?.phase)} {...(message && { title: message })} />
      {status?.phase === "Running" && idle?.status === "True" ? (
        <div class="muted" title={sayBoth(idle.message ?? "", lang.value)}>
          {t("idle")}
        </div>
      ) : null}
      {message && (status?.phase === "Failed" || status?.phase === "Initializing") ? (
        <div class={status.phase === "Failed" ? "danger" : "muted"}>
          <Said text={status.message} />
        </div>
      ) : null}
    </>
  );
}

function Row<T extends App>(props: { app: T; kind: Kind; columns: AppColumn<T>[] }) {
  const { app, kind } = props;
  const { namespace: ns = "default", name } = app.metadata;
  const leaving = leavesAt(app) !== undefined;
  return (
    <tr class={leaving ? "leaving" : ""}>
      <td>
        <a href={appPage(kind, app)}>{name}</a>{" "}
        {leaving ? (
          <button
            type="button"
            class="chip"
            onClick={() => act(keep(kindPath(kind, ns, name), app))}
          >
            {t("undo")}
          </button>
        ) : null}
      </td>
      <td>{ns}</td>
      <td>
        <AppState app={app} />
      </td>
      {props.columns.map((one) => (
        <td key={one.name}>{one.cell(app)}</td>
      ))}
      <td>
        <Ago time={app.metadata.creationTimestamp} />
      </td>
      <td class="row-actions">
        <AppActions app={app} kind={kind} label={`${t("more")} ${name}`} />
      </td>
    </tr>
  );
}

export function AppsPage<T extends App>(props: {
  kind: Kind;
  title: string;
  /** What an empty list says of the kind. */
  hint: string;
  columns: AppColumn<T>[];
  dialog: (ns: string, close: () => void) => ComponentChildren;
}) {
  const { kind, columns } = props;
  const { items: all, loaded, failure } = useLive<T>(kindPath(kind, scope.value));
  const items = all.filter((one) => !project.value || one.metadata.namespace === project.value);
  return (
    <ListPage
      title={props.title}
      create={may("create", kind, ownProject()) ? t("create", { what: kind.kind }) : undefined}
      dialog={(close) => props.dialog(ownProject(), close)}
      failure={failure}
      loaded={loaded}
      none={t("none", { what: kind.kind })}
      hint={props.hint}
      heads={[
        tc("name"),
        tc("project"),
        tc("state"),
        ...columns.map((one) => one.name),
        tc("createdAt"),
        tc("actions"),
      ]}
    >
      {items.map((one) => (
        <Row key={one.metadata.uid} app={one} kind={kind} columns={columns} />
      ))}
    </ListPage>
  );
}
