// A shell in a running replica, over the API's exec. xterm.js puts style sheets of its own into the
// page, which the page's policy allows only with its nonce.
import { useEffect, useRef, useState } from "preact/hooks";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Xterm } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { withKey } from "../data/key.ts";
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
      connecting: "正在连接…",
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
      none: "No replica runs",
      noneHint: "A terminal needs a running replica. In debug mode replicas wait for you.",
      connecting: "Connecting…",
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

/** Connects a terminal to a shell; answers how to end it. */
function connect(terminal: Xterm, url: string, onEnd: (message: string) => void): () => void {
  const socket = new WebSocket(url, withKey(["v5.channel.k8s.io", "v4.channel.k8s.io"]));
  const encoder = new TextEncoder();
  let said = "";
  socket.binaryType = "arraybuffer";
  const send = (channel: number, text: string): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const bytes = encoder.encode(text);
    const frame = new Uint8Array(bytes.length + 1);
    frame[0] = channel;
    frame.set(bytes, 1);
    socket.send(frame);
  };
  const resize = (): void =>
    send(CHANNEL.resize, JSON.stringify({ Width: terminal.cols, Height: terminal.rows }));
  const typed = terminal.onData((text) => send(CHANNEL.stdin, text));
  const resized = terminal.onResize(resize);
  socket.onopen = () => {
    resize();
    terminal.focus();
  };
  socket.onmessage = (event) => {
    const frame = new Uint8Array(event.data as ArrayBuffer);
    const body = frame.subarray(1);
    if (frame[0] === CHANNEL.stdout || frame[0] === CHANNEL.stderr) terminal.write(body);
    else if (frame[0] === CHANNEL.error) {
      try {
        const status = JSON.parse(new TextDecoder().decode(body)) as {
          status?: string;
          message?: string;
        };
        said = status.status === "Success" ? "exit 0" : (status.message ?? "");
      } catch {
        /* the end itself says enough */
      }
    }
  };
  socket.onclose = (event) => onEnd(said || event.reason || `${event.code}`);
  return () => {
    typed.dispose();
    resized.dispose();
    socket.onclose = null;
    socket.close();
  };
}

function Shell(props: { ns: string; pod: string; container: string; shell: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [ended, setEnded] = useState<string | null>(null);
  const [round, setRound] = useState(0);
  const shown = useRef<Xterm | null>(null);
  const paste = (): void => {
    const read = navigator.clipboard?.readText?.() ?? Promise.reject(new Error());
    read.then(
      (text) => {
        shown.current?.paste(text);
        shown.current?.focus();
      },
      () => toast(t("pasteFailed"), { kind: "error" }),
    );
  };
  useEffect(() => {
    if (!box.current) return;
    if (!allowed) allowStyles();
    allowed = true;
    setEnded(null);
    const terminal = new Xterm({
      fontSize: 13,
      cursorBlink: false,
      theme: themeOf(dark.value),
      scrollback: 10_000,
      screenReaderMode: true,
    });
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    terminal.open(box.current);
    fit.fit();
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(box.current);
    const unfollow = dark.subscribe((isDark) => {
      terminal.options.theme = themeOf(isDark);
    });
    shown.current = terminal;
    // Ctrl+Shift+C copies (Ctrl+C is the program's); pasting by keys is the browser's own.
    terminal.attachCustomKeyEventHandler((event) => {
      if (event.type !== "keydown" || !event.ctrlKey || !event.shiftKey || event.code !== "KeyC")
        return true;
      event.preventDefault();
      copyText(terminal.getSelection());
      return false;
    });
    const end = connect(
      terminal,
      execUrl(props.ns, props.pod, props.container, props.shell),
      setEnded,
    );
    return () => {
      end();
      unfollow();
      observer.disconnect();
      terminal.dispose();
    };
  }, [props.ns, props.pod, props.container, props.shell, round]);
  return (
    <>
      <div class="term-box" ref={box} role="region" aria-label={t("terminal")} />
      <div class="section-head terminal-foot">
        <button type="button" onClick={() => copyText(shown.current?.getSelection() ?? "")}>
          {t("copy")}
        </button>
        <button type="button" onClick={paste}>
          {t("paste")}
        </button>
        {ended === null ? (
          <button type="button" onClick={() => setRound(round + 1)}>
            {t("reconnect")}
          </button>
        ) : null}
      </div>
      {ended === null ? null : (
        <p role="alert">
          {t("ended", { message: ended })}{" "}
          <button type="button" onClick={() => setRound(round + 1)}>
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
        ns={pod.metadata.namespace ?? "default"}
        pod={pod.metadata.name}
        container={container}
        shell={shell}
      />
    </div>
  );
}
