// A shell in a running replica, over the API's exec. xterm.js puts style sheets of its own into the
// page, which the page's policy allows only with its nonce.
import { useEffect, useRef, useState } from "preact/hooks";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Xterm } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { signal } from "@preact/signals";
import { mayI } from "../data/access.ts";
import { signedOut, withKey } from "../data/key.ts";
import { corePath } from "../data/kinds.ts";
import { texts, translator } from "../i18n/index.ts";
import { jobHref } from "../lib/jobs.ts";
import type { TabProps } from "../pages/job/job.tsx";
import { navigate, query, setQuery } from "../router.ts";
import { dark } from "../theme.ts";
import { copyText } from "../ui/cli.tsx";
import { Empty } from "../ui/notice.tsx";
import { toast } from "../ui/toast.tsx";
import "../style/terminal.css";

const t = translator(
  texts({
    zh: {
      replica: "副本",
      container: "容器",
      shell: "Shell",
      reconnect: "重新连接",
      copy: "复制所选",
      paste: "粘贴",
      pasteFailed: "浏览器不允许读取剪贴板：请用 Ctrl+Shift+V。",
      ended: "会话已结束：{message}",
      none: "没有正在运行的副本",
      noneHint: "终端只能进入正在运行的副本。调试模式下副本会一直等待。",
      forbidden: "你没有在项目 {ns} 中打开终端的权限（pods/exec）。",
      terminal: "终端",
    },
    en: {
      replica: "Replica",
      container: "Container",
      shell: "Shell",
      reconnect: "Reconnect",
      copy: "Copy selection",
      paste: "Paste",
      pasteFailed: "The browser does not let the page read the clipboard: use Ctrl+Shift+V.",
      ended: "The session has ended: {message}",
      none: "No running replicas",
      noneHint: "A terminal needs a running replica. In debug mode replicas wait for you.",
      forbidden: "you may not open terminals in project {ns} (pods/exec).",
      terminal: "Terminal",
    },
  }),
);

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";

/** Style elements made from here on carry the page's nonce. */
function allowStyles(): void {
  const make = document.createElement.bind(document);
  document.createElement = (name: string, options?: ElementCreationOptions) => {
    const element = make(name, options);
    if (name.toLowerCase() === "style") element.setAttribute("nonce", nonce);
    return element;
  };
}
let allowed = false;

const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

function themeOf(isDark: boolean) {
  return isDark
    ? { background: "#14171c", foreground: "#e8eaee", cursor: "#8ab4ff" }
    : {
        background: "#ffffff",
        foreground: "#1b1f27",
        cursor: "#1d4ed8",
        selectionBackground: "#b9d0ff",
      };
}

function execUrl(ns: string, pod: string, container: string, shell: string): string {
  const q = new URLSearchParams({ stdin: "true", stdout: "true", tty: "true", container });
  q.append("command", shell);
  const scheme = window.location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${window.location.host}${corePath("pods", ns, pod)}/exec?${q}`;
}

interface Where {
  ns: string;
  pod: string;
  container: string;
  shell: string;
}

/** A shell and what it has shown. It lives while its tab is not looked at, and ends with the page, the
 * session or the program. */
class LiveShell {
  readonly holder = document.createElement("div");
  readonly terminal: Xterm;
  readonly ended = signal<string | null>(null);
  private fit = new FitAddon();
  private socket: WebSocket | null = null;
  private said = "";
  private gone = false;

  constructor(where: Where) {
    if (!allowed) allowStyles();
    allowed = true;
    this.holder.className = "term-holder";
    this.terminal = new Xterm({
      fontSize: 13,
      cursorBlink: false,
      theme: themeOf(dark.value),
      scrollback: 10_000,
      screenReaderMode: true,
    });
    this.terminal.loadAddon(this.fit);
    // Ctrl+Shift+C copies (Ctrl+C is the program's); pasting by keys is the browser's own.
    this.terminal.attachCustomKeyEventHandler((event) => {
      if (event.type !== "keydown" || !event.ctrlKey || !event.shiftKey || event.code !== "KeyC")
        return true;
      event.preventDefault();
      copyText(this.terminal.getSelection());
      return false;
    });
    this.terminal.onData((text) => this.send(CHANNEL.stdin, text));
    this.terminal.onResize(() => this.resize());
    // A browser does not say why a connection was refused.
    const { ns, pod } = where;
    mayI({ namespace: ns, verb: "create", resource: "pods", subresource: "exec", name: pod }).then(
      (may) => (may ? this.connect(where) : this.finish(t("forbidden", { ns }))),
      () => this.connect(where), // one that cannot be asked about it may still allow it
    );
  }

  /** In the page, from now until it is taken out again. */
  show(box: HTMLElement): () => void {
    box.append(this.holder);
    if (!this.terminal.element) this.terminal.open(this.holder);
    this.fit.fit();
    if (this.socket?.readyState === WebSocket.OPEN) this.terminal.focus();
    const observer = new ResizeObserver(() => this.fit.fit());
    observer.observe(box);
    const unfollow = dark.subscribe((isDark) => {
      this.terminal.options.theme = themeOf(isDark);
    });
    return () => {
      unfollow();
      observer.disconnect();
      this.holder.remove();
    };
  }

  end(): void {
    this.gone = true;
    this.socket?.close();
    this.holder.remove();
    this.terminal.dispose();
  }

  private finish(message: string): void {
    if (!this.gone) this.ended.value = message;
  }

  private send(channel: number, text: string): void {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    const bytes = new TextEncoder().encode(text);
    const frame = new Uint8Array(bytes.length + 1);
    frame[0] = channel;
    frame.set(bytes, 1);
    this.socket.send(frame);
  }

  private resize(): void {
    const { cols, rows } = this.terminal;
    this.send(CHANNEL.resize, `${JSON.stringify({ Width: cols, Height: rows })}\n`);
  }

  private connect(where: Where): void {
    if (this.gone) return;
    const socket = new WebSocket(
      execUrl(where.ns, where.pod, where.container, where.shell),
      withKey(["v5.channel.k8s.io", "v4.channel.k8s.io"]),
    );
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.resize();
      this.terminal.focus();
    };
    socket.onmessage = (event) => {
      const frame = new Uint8Array(event.data as ArrayBuffer);
      const body = frame.subarray(1);
      if (frame[0] === CHANNEL.stdout || frame[0] === CHANNEL.stderr) this.terminal.write(body);
      else if (frame[0] === CHANNEL.error) this.hear(new TextDecoder().decode(body));
    };
    socket.onclose = (event) => this.finish(this.said || event.reason || `${event.code}`);
  }

  private hear(text: string): void {
    try {
      const status = JSON.parse(text) as { status?: string; message?: string };
      this.said = status.status === "Success" ? "exit 0" : (status.message ?? "");
    } catch {
      /* the end itself says enough */
    }
  }
}

const SHELLS_LIMIT = 4;
const shells = new Map<string, LiveShell>();

function endShell(key: string): void {
  shells.get(key)?.end();
  shells.delete(key);
}

/** The one of that key, or a new one; of more than a few the one that was not looked at for longest
 * ends. */
function shellOf(key: string, where: Where): LiveShell {
  const found = shells.get(key) ?? new LiveShell(where);
  shells.delete(key);
  shells.set(key, found);
  for (const old of [...shells.keys()].slice(0, -SHELLS_LIMIT)) endShell(old);
  return found;
}

signedOut.subscribe((out) => {
  if (out) for (const key of [...shells.keys()]) endShell(key);
});

function Shell(props: Where & { id: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [shell, setShell] = useState<LiveShell | null>(null);
  const [round, setRound] = useState(0);
  const ended = shell?.ended.value ?? null;
  const paste = (): void => {
    const read = navigator.clipboard?.readText?.() ?? Promise.reject(new Error());
    read.then(
      (text) => {
        shell?.terminal.paste(text);
        shell?.terminal.focus();
      },
      () => toast(t("pasteFailed"), { kind: "error" }),
    );
  };
  const again = (): void => {
    endShell(props.id);
    setRound(round + 1);
  };
  useEffect(() => {
    if (!box.current) return;
    const mine = shellOf(props.id, props);
    setShell(mine);
    return mine.show(box.current);
  }, [props.id, round]);
  return (
    <>
      <div class="term-box" ref={box} role="region" aria-label={t("terminal")} />
      <div class="section-head terminal-foot">
        <button type="button" onClick={() => copyText(shell?.terminal.getSelection() ?? "")}>
          {t("copy")}
        </button>
        <button type="button" onClick={paste}>
          {t("paste")}
        </button>
        {ended === null ? (
          <button type="button" onClick={again}>
            {t("reconnect")}
          </button>
        ) : null}
      </div>
      {ended === null ? null : (
        <p role="alert">
          {t("ended", { message: ended })}{" "}
          <button type="button" onClick={again}>
            {t("reconnect")}
          </button>
        </p>
      )}
    </>
  );
}

export default function Terminal(props: TabProps) {
  const running = props.pods.filter((pod) => pod.status?.phase === "Running");
  const [wanted = "", wantedContainer = ""] = props.rest.split("/");
  const pod = running.find((one) => one.metadata.name === wanted) ?? running[0];
  const shell = query.value.get("shell") ?? "bash";
  if (!pod)
    return (
      <Empty title={t("none")}>
        <p>{t("noneHint")}</p>
      </Empty>
    );
  const containers = pod.spec?.containers?.map((one) => one.name) ?? [];
  const container = containers.includes(wantedContainer) ? wantedContainer : (containers[0] ?? "");
  const go = (name: string, which: string): void =>
    navigate(
      jobHref(
        props.job,
        `terminal/${encodeURIComponent(name)}${which ? `/${encodeURIComponent(which)}` : ""}`,
      ),
      { replace: true },
    );
  return (
    <div>
      <div class="section-head">
        <label>
          {t("replica")}{" "}
          <select value={pod.metadata.name} onChange={(event) => go(event.currentTarget.value, "")}>
            {running.map((one) => (
              <option key={one.metadata.uid}>{one.metadata.name}</option>
            ))}
          </select>
        </label>
        {containers.length > 1 ? (
          <label>
            {t("container")}{" "}
            <select
              value={container}
              onChange={(event) => go(pod.metadata.name, event.currentTarget.value)}
            >
              {containers.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
        ) : null}
        <label>
          {t("shell")}{" "}
          <select
            value={shell}
            onChange={(event) =>
              setQuery({
                shell: event.currentTarget.value === "bash" ? null : event.currentTarget.value,
              })
            }
          >
            <option>bash</option>
            <option>sh</option>
            <option>python</option>
          </select>
        </label>
      </div>
      <Shell
        key={`${pod.metadata.uid}/${container}/${shell}`}
        id={`${pod.metadata.uid}/${container}/${shell}`}
        ns={pod.metadata.namespace ?? "default"}
        pod={pod.metadata.name}
        container={container}
        shell={shell}
      />
    </div>
  );
}
