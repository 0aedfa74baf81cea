// Texts of the server's notifications, and what it says of those it could not deliver.
import { texts, type Lang } from "./index.ts";

export const notificationTexts = texts({
  zh: {
    title: "通知（Webhook）",
    hint: "Job 到达指定阶段时，由服务器发送到 Slack 或任意 HTTP 接收方；浏览器通知在右上角的铃铛里打开。",
    none: "还没有通知。",
    make: "创建通知",
    created: "已创建通知 {name}",
    deleted: "已删除通知 {name}",
    phases: "阶段",
    kinds: "作业类型（不选则为全部）",
    selector: "标签（留空则为全部 Job）",
    format: "格式",
    url: "地址",
    secret: "地址保存在 Secret 中（地址往往就是密钥）",
    about: "内容",
    where: "发往",
    outcome: "结果",
    counts: "已送达 {delivered}，放弃 {failed}",
    pending: "等待 {count}",
    suspended: "已暂停",
    last: "上次送达",
    test: "发送测试",
    testing: "正在向 {name} 发送测试",
    suspend: "暂停",
    resume: "恢复",
  },
  en: {
    title: "Notifications (webhooks)",
    hint: "Send a message to Slack or a webhook when a job changes phase. Turn on browser notifications with the bell.",
    none: "There are none yet.",
    make: "Create notification",
    created: "Created notification {name}",
    deleted: "Deleted notification {name}",
    phases: "Phases",
    kinds: "Kinds (all if none selected)",
    selector: "Labels (empty = all jobs)",
    format: "Format",
    url: "URL",
    secret: "Store the URL in a Secret (recommended)",
    about: "What",
    where: "Where to",
    outcome: "Outcome",
    counts: "{delivered} delivered, {failed} given up",
    pending: "{count} waiting",
    suspended: "suspended",
    last: "Last delivered",
    test: "Send a test",
    testing: "Sending a test to {name}",
    suspend: "Suspend",
    resume: "Resume",
  },
});

const SAID: Record<string, string> = {
  "the address is not allowed: it leads to this machine itself or a network of its own":
    "不允许的地址：指向本机或其本地网络（见 muster up --notify-local）",
  "the Secret does not exist": "Secret 不存在",
  "the Secret has no such key": "Secret 中没有这个键",
  "the Secret's key is not an address with http or https": "Secret 中的值不是 http 或 https 地址",
  "muster may not read the Secret: see docs/notifications.md":
    "muster 无权读取该 Secret：见 docs/notifications.md",
  "muster could not send it: see its log": "muster 无法发送：见其日志",
  "too many pending events: the oldest was dropped": "等待的事件过多：最早的已放弃",
};

const ANSWERED = "the receiver answered ";

/** What the server says of a delivery, in the reader's language; what is not known stays as it is. */
export function sayDelivery(message: string, lang: Lang): string {
  if (lang === "en") return message;
  const [code, redirect] = message.startsWith(ANSWERED)
    ? message.slice(ANSWERED.length).split(": ")
    : [];
  if (code) return `接收方返回 ${code}${redirect ? "：不跟随重定向" : ""}`;
  if (/timeout was reached/i.test(message)) return `超时：${message}`;
  if (/resolve/i.test(message)) return `无法解析主机名：${message}`;
  if (/connect/i.test(message)) return `无法连接：${message}`;
  return SAID[message] ?? message;
}
