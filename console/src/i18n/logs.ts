// Texts of the log view.
import { texts } from "./index.ts";

export const logsTexts = texts({
  zh: {
    replica: "副本", all: "全部副本", container: "容器", attempt: "运行", currentAttempt: "当前", previousAttempt: "上一次", search: "搜索日志（/正则/）", previous: "上一个", next: "下一个", found: "{at}/{count}",
    badPattern: "正则表达式不正确", times: "时间", wrap: "自动换行", collapse: "合并各副本的相同行", level: "级别", levelError: "错误", levelWarn: "警告", levelInfo: "信息", levelDebug: "调试", levelAll: "全部级别",
    ranks: "只看副本", someRanks: "副本：{ranks}", allRanks: "全部副本", nthAttempt: "第 {n} 次", json: "JSON", showJson: "显示为 JSON", olderWait: "正在读取更早的日志…", cli: "命令行", follow: "跟随", newest: "跳到最新", download: "下载", downloadAll: "全部下载（zip）", empty: "还没有日志", emptyHint: "程序输出的内容会立即显示在这里。", waiting: "副本尚未启动：{message}",
    failed: "{name} 的日志：{message}", dropped: "更早的 {count} 行不在此处显示，可下载完整日志。", older: "显示更早的日志", times_: "×{count}，副本 {ranks}", ended: "日志结束", copyLink: "复制此行的链接", lines: "{count} 行", log: "日志",
  },
  en: {
    replica: "Replica", all: "All replicas", container: "Container", attempt: "Run", currentAttempt: "current", previousAttempt: "previous", search: "Search the log (/pattern/)", previous: "Previous", next: "Next", found: "{at}/{count}",
    badPattern: "Not a regular expression", times: "Times", wrap: "Wrap", collapse: "Collapse equal lines of replicas", level: "Level", levelError: "Errors", levelWarn: "Warnings", levelInfo: "Info", levelDebug: "Debug", levelAll: "All levels",
    ranks: "Only replicas", someRanks: "Replicas: {ranks}", allRanks: "all replicas", nthAttempt: "attempt {n}", json: "JSON", showJson: "Show as JSON", olderWait: "Reading older lines…", cli: "Command line", follow: "Follow", newest: "Jump to newest", download: "Download", downloadAll: "Download all (zip)", empty: "No output yet", emptyHint: "What the programs print shows here at once.", waiting: "The replica has not started: {message}",
    failed: "Log of {name}: {message}", dropped: "{count} earlier lines are not shown here; the download has all.", older: "Show older lines", times_: "×{count}, replicas {ranks}", ended: "end of the log", copyLink: "Copy a link to this line", lines: "{count} lines", log: "Log",
  },
});
