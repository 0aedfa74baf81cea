// The controllers' sentences in the reader's language. They are few; one that is not known stays as it is. Pure.
import { waitingText } from "./waiting.ts";

type Say = (found: RegExpExecArray, say: (part: string) => string) => string;

const ZH: readonly [RegExp, Say][] = [
  [/^(\S+) (\S+) has failed: (.*); restartPolicy (\S+) does not restart it$/s, ([, , name, why, policy], say) => `${name} 失败：${say(why!)}；重启策略 ${policy} 不会重启它`],
  [/^(\S+) (\S+) has failed: (.*); no restart is allowed \(backoffLimit 0\)$/s, ([, , name, why], say) => `${name} 失败：${say(why!)}；不允许重启（backoffLimit 为 0）`],
  [/^(\S+) (\S+) has failed: (.*); the restart budget is spent \((\d+) of (\d+)\)$/s, ([, , name, why, n, all], say) => `${name} 失败：${say(why!)}；重启次数已用完（${n}/${all}）`],
  [/^(\S+) (\S+) has failed: it ran longer than activeDeadlineSeconds \((\d+) s\)$/, ([, , name, s]) => `${name} 失败：运行时间超过 activeDeadlineSeconds（${s} 秒）`],
  [/^(.*); (\d+) more failed$/s, ([, why, n], say) => `${say(why!)}；另有 ${n} 个副本失败`],
  [/^(.*); restart (\d+) of (\d+) follows at once$/s, ([, why, n, all], say) => `${say(why!)}；立即进行第 ${n}/${all} 次重启`],
  [/^(.*); restart (\d+) of (\d+) follows (?:after|in) (\d+) s$/s, ([, why, n, all, s], say) => `${say(why!)}；${s} 秒后进行第 ${n}/${all} 次重启`],
  [/^(\S+) failed with exit code (\d+)(?:: (.*))?$/s, ([, pod, code, what]) => `${pod} 以退出码 ${code} 失败${what ? `：${what}` : ""}`],
  [/^(\S+) ended with exit code 0 while (.*) still needed it$/, ([, pod, who]) => `${pod} 已正常退出，但 ${who} 仍需要它`],
  [/^(\S+) was lost with its node: it is replaced and costs no restart$/, ([, pod]) => `${pod} 随节点丢失：将重新创建，不计入重启次数`],
  [/^nothing is known of (.*): its node does not answer$/, ([, pod]) => `无法得知 ${pod} 的状态：其节点没有响应`],
  [/^(\S+) is waiting: (.*)$/s, ([, pod, why], say) => `${pod} 正在等待：${say(why!)}`],
  [/^(\d+) of (\d+) workers run and are not ready, (.*) is the first$/, ([, n, all, pod]) => `${all} 个 worker 中有 ${n} 个尚未就绪，第一个是 ${pod}`],
  [/^the job is paused: .*$/, () => "Job 已暂停：runMode.pause.enabled 为 true"],
  [/^The job is paused(; its pods are stopped)?\.$/, ([, more]) => (more ? "Job 已暂停，其 Pod 已停止。" : "Job 已暂停。")],
  [/^The job has been resumed\.$/, () => "Job 已恢复。"],
  [/^(\d+) of (\d+) pods are running\.?$/, ([, n, all]) => `${all} 个 Pod 中有 ${n} 个在运行`],
  [/^All pods are running normally or have completed successfully\.$/, () => "所有 Pod 正在正常运行，或已成功结束。"],
  [/^The job has been initialized successfully\.$/, () => "Job 已成功初始化。"],
  [/^No replica has failed\.$/, () => "没有副本失败。"],
  [/^The job is still running\.$/, () => "Job 仍在运行。"],
  [/^The job has finished successfully\.$/, () => "Job 已成功结束。"],
  [/^A (\S+) has been created: (\S+)$/, ([, kind, name]) => `已创建 ${kind}：${name}`],
  [/^Create the replica\[(.*)\] for the first time\.$/, ([, pod]) => `首次创建副本 ${pod}。`],
  [/^Replace the replica\[(.*)\]: (\d+) of (\d+) restarts are used\.$/, ([, pod, n, all]) => `重新创建副本 ${pod}：已重启 ${n}/${all} 次。`],
  [/^Replace all (\d+) replicas together: (\d+) of (\d+) restarts are used\.$/, ([, count, n, all]) => `重新创建全部 ${count} 个副本：已重启 ${n}/${all} 次。`],
  [/^The job began running at (.*)$/, ([, at]) => `Job 开始运行于 ${at}`],
  [/^Successfully assigned (\S+) to (\S+)$/, ([, pod, node]) => `已将 ${pod} 分配到节点 ${node}`],
  [/^Started container (\S+) as process (\d+)$/, ([, name, pid]) => `已启动容器 ${name}（进程 ${pid}）`],
  [/^Stopping the pod's programs$/, () => "正在停止 Pod 中的程序"],
  [/^The image is not pulled: .*$/, () => "不拉取镜像：程序使用本机已安装的软件运行"],
];

export function say(message: string, lang: "zh" | "en"): string {
  if (lang !== "zh") return message;
  for (const [pattern, words] of ZH) {
    const found = pattern.exec(message);
    if (found) return words(found, (part) => say(part, lang));
  }
  return waitingText(message, lang);
}
