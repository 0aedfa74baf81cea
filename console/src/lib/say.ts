// The controllers' sentences in the reader's language. They are few; one that is not known stays as
// it is. Pure.
import { waitingText } from "./waiting.ts";

type Say = (found: RegExpExecArray, say: (part: string) => string) => string;

/** How a program ended, as core/exit_words.c says it. */
const ENDINGS_ZH: Record<string, string> = {
  "the program ended with an error": "程序报错退出",
  "the program was called wrongly or ended with an error": "程序调用有误或报错退出",
  "command found but not executable": "命令存在但不可执行",
  "command not found": "找不到命令",
  "hung up, SIGHUP": "终端断开，SIGHUP",
  "interrupted, SIGINT": "被中断，SIGINT",
  "illegal instruction, SIGILL: built for another CPU?": "非法指令，SIGILL：是否为其它 CPU 编译？",
  "aborted, SIGABRT": "异常中止，SIGABRT",
  "bus error, SIGBUS: is /dev/shm too small?": "总线错误，SIGBUS：/dev/shm 是否太小？",
  "arithmetic error, SIGFPE": "算术错误，SIGFPE",
  "killed, SIGKILL": "被杀死，SIGKILL",
  "killed, SIGKILL: likely out of memory": "被杀死，SIGKILL：可能是内存不足",
  "the program asked to be run again": "程序请求重新运行",
  "segmentation fault, SIGSEGV": "段错误，SIGSEGV",
  "broken pipe, SIGPIPE": "管道断开，SIGPIPE",
  "terminated, SIGTERM": "被终止，SIGTERM",
  "killed, SIGKILL: out of memory, says the kernel": "被杀死，SIGKILL：内核报告内存不足",
  "out of memory, says the kernel": "内核报告内存不足",
  "the container could not be started": "容器无法启动",
  "killed with its supervisor, which somebody or the kernel killed": "随其监管进程一起被杀死",
  "evicted by the node": "被节点驱逐",
  "the pod's own activeDeadlineSeconds passed": "超过了 Pod 自身的 activeDeadlineSeconds",
  "no reason given": "未说明原因",
};

function ending(words: string | undefined): string {
  return words ? `（${ENDINGS_ZH[words] ?? words}）` : "";
}

const ZH: readonly [RegExp, Say][] = [
  [
    /^(\S+) (\S+) has failed: (.*); restartPolicy (\S+) does not restart it$/s,
    ([, , name, why, policy], say) => `${name} 失败：${say(why!)}；重启策略 ${policy} 不会重启它`,
  ],
  [
    /^(\S+) (\S+) has failed: (.*); no restart is allowed \(backoffLimit 0\)$/s,
    ([, , name, why], say) => `${name} 失败：${say(why!)}；不允许重启（backoffLimit 为 0）`,
  ],
  [
    /^(\S+) (\S+) has failed: (.*); the restart budget is spent \((\d+) of (\d+)\)$/s,
    ([, , name, why, n, all], say) => `${name} 失败：${say(why!)}；重启次数已用完（${n}/${all}）`,
  ],
  [
    /^(\S+) (\S+) has failed: it ran longer than activeDeadlineSeconds \((\d+) s\)$/,
    ([, , name, s]) => `${name} 失败：运行时间超过 activeDeadlineSeconds（${s} 秒）`,
  ],
  [/^(.*); (\d+) more failed$/s, ([, why, n], say) => `${say(why!)}；另有 ${n} 个副本失败`],
  [
    /^(.*); restart (\d+) of (\d+) follows at once$/s,
    ([, why, n, all], say) => `${say(why!)}；立即进行第 ${n}/${all} 次重启`,
  ],
  [
    /^(.*); restart (\d+) of (\d+) follows (?:after|in) (\d+) s$/s,
    ([, why, n, all, s], say) => `${say(why!)}；${s} 秒后进行第 ${n}/${all} 次重启`,
  ],
  [/^(.*), and with it (\S+)$/s, ([, why, pod], say) => `${say(why!)}，${pod} 随之失败`],
  [
    /^(\S+) failed with exit code (\d+)(?: in container "([^"]*)")?(?: \(([^()]*)\))?(?:(; it last said)?: (.*))?$/s,
    ([, pod, code, container, words, last, what], say) =>
      `${pod} ${container ? `的容器 ${container} ` : ""}以退出码 ${code} 失败${ending(words)}${what ? `${last ? "；最后的输出" : ""}：${say(what)}` : ""}`,
  ],
  [
    /^(\S+) failed without an exit code \(([^()]*)\)(?:: (.*))?$/s,
    ([, pod, words, what], say) =>
      `${pod} 失败，没有退出码${ending(words)}${what ? `：${say(what)}` : ""}`,
  ],
  [
    /^(\S+) ended with exit code 0 while (.*) still needed it$/,
    ([, pod, who]) => `${pod} 已正常退出，但 ${who} 仍需要它`,
  ],
  [
    /^(\S+) was lost with its node: it is replaced and costs no restart$/,
    ([, pod]) => `${pod} 随节点丢失：将重新创建，不计入重启次数`,
  ],
  [
    /^nothing is known of (.*): its node does not answer$/,
    ([, pod]) => `无法得知 ${pod} 的状态：其节点没有响应`,
  ],
  [/^(\S+) is waiting: (.*)$/s, ([, pod, why], say) => `${pod} 正在等待：${say(why!)}`],
  [
    /^(\d+) of (\d+) pods are refused: (.*)$/s,
    ([, n, all, why], say) => `${all} 个 Pod 中有 ${n} 个被拒绝创建：${say(why!)}`,
  ],
  [
    /^a (\S+) of the job is refused: (.*)$/s,
    ([, kind, why], say) => `Job 的 ${kind} 被拒绝创建：${say(why!)}`,
  ],
  [
    /^exceeded quota: (\S+), requested: (.*), used: (.*), limited: (.*)$/,
    ([, name, wants, used, limit]) =>
      `超出配额 ${name}：请求 ${wants}，已用 ${used}，上限 ${limit}`,
  ],
  [
    /^(maximum|minimum) (\S+) usage per Container is (\S+), but (limit|request) is (.*)$/,
    ([, bound, what, is, , has]) =>
      `每个容器的 ${what} ${bound === "maximum" ? "最多" : "最少"}为 ${is}，而此处${has === "not given" ? "未设置" : `为 ${has}`}`,
  ],
  [
    /^(\S+) is waiting for the scheduler "(.*)", which has said nothing of it: .*$/,
    ([, pod, name]) =>
      `${pod} 正在等待调度器“${name}”，但它没有任何回应：它是否存在？不设置 schedulerName 则由 muster 调度`,
  ],
  [
    /^(\d+) of (\d+) workers run and are not ready, (.*) is the first$/,
    ([, n, all, pod]) => `${all} 个 worker 中有 ${n} 个尚未就绪，第一个是 ${pod}`,
  ],
  [
    /^(?:(.*); )?its room was taken by \S+ "(.+)" of queue "(.+)" \(priority (\d+)\)$/s,
    ([, now, name, queue, priority], say) =>
      `${now ? `${say(now)}；` : ""}其资源被队列“${queue}”（优先级 ${priority}）的“${name}”抢占`,
  ],
  [
    /^Preempted by \S+ "(.+)" of queue "(.+)" \(priority (\d+)\)$/,
    ([, name, queue, priority]) => `被队列“${queue}”（优先级 ${priority}）的“${name}”抢占`,
  ],
  [
    /^the job is paused: (it ran longer .*); runMode\.pause\.enabled: false lets it go on$/,
    ([, why], say) => `Job 已暂停：${say(why!)}；将 runMode.pause.enabled 设为 false 可继续运行`,
  ],
  [
    /^Paused: (it ran longer .*); spec\.runMode\.pause\.enabled: false lets it go on$/,
    ([, why], say) => `已暂停：${say(why!)}；将 spec.runMode.pause.enabled 设为 false 可继续运行`,
  ],
  [/^Deleted: (it ran longer .*)$/, ([, why], say) => `已删除：${say(why!)}`],
  [/^the job is paused: .*$/, () => "Job 已暂停：runMode.pause.enabled 为 true"],
  [
    /^The job is paused(; its pods are stopped)?\.$/,
    ([, more]) => (more ? "Job 已暂停，其 Pod 已停止。" : "Job 已暂停。"),
  ],
  [/^The job has been resumed\.$/, () => "Job 已恢复。"],
  [/^(\d+) of (\d+) pods are running\.?$/, ([, n, all]) => `${all} 个 Pod 中有 ${n} 个在运行`],
  [
    /^All pods are running normally or have completed successfully\.$/,
    () => "所有 Pod 正在正常运行，或已成功结束。",
  ],
  [/^The job has been initialized successfully\.$/, () => "Job 已成功初始化。"],
  [/^No replica has failed\.$/, () => "没有副本失败。"],
  [/^The job is still running\.$/, () => "Job 仍在运行。"],
  [/^The job has finished successfully\.$/, () => "Job 已成功结束。"],
  [/^A (\S+) has been created: (\S+)$/, ([, kind, name]) => `已创建 ${kind}：${name}`],
  [/^Create the replica\[(.*)\] for the first time\.$/, ([, pod]) => `首次创建副本 ${pod}。`],
  [
    /^Create the replica\[(.*)\] again: its last pod is gone\.$/,
    ([, pod]) => `重新创建副本 ${pod}：其上一个 Pod 已不存在。`,
  ],
  [
    /^Replace the replica\[(.*)\]: (\d+) of (\d+) restarts are used\.$/,
    ([, pod, n, all]) => `重新创建副本 ${pod}：已重启 ${n}/${all} 次。`,
  ],
  [
    /^Replace all (\d+) replicas together: (\d+) of (\d+) restarts are used\.$/,
    ([, count, n, all]) => `重新创建全部 ${count} 个副本：已重启 ${n}/${all} 次。`,
  ],
  [/^The job began running at (.*)$/, ([, at]) => `Job 开始运行于 ${at}`],
  [/^Successfully assigned (\S+) to (\S+)$/, ([, pod, node]) => `已将 ${pod} 分配到节点 ${node}`],
  [
    /^Started container (\S+) as process (\d+)$/,
    ([, name, pid]) => `已启动容器 ${name}（进程 ${pid}）`,
  ],
  [
    /^OMP_NUM_THREADS is (\d+) in container (\S+), from (.*): set it in env to have another$/,
    ([, n, name, why], say) =>
      `容器 ${name} 的 OMP_NUM_THREADS 为 ${n}，依据${say(why!)}：可在 env 中另行设置`,
  ],
  [/^(.*), divided by (\d+) processes$/, ([, what, n], say) => `${say(what!)}除以 ${n} 个进程`],
  [/^its CPU limit$/, () => "其 CPU 上限"],
  [/^the CPU it asks for$/, () => "其 CPU 请求量"],
  [
    /^the machine's cores(?: for each of (\d+) replicas)?$/,
    ([, n]) => (n ? `本机 CPU 核数除以 ${n} 个副本` : "本机 CPU 核数"),
  ],
  [
    /^The pod sees muster's own folder and all of the machine's devices and kernel settings: (.*)$/s,
    ([, why], say) => `Pod 能看到 muster 自身的目录以及本机的全部设备和内核设置：${say(why!)}`,
  ],
  [/^Stopping the pod's programs$/, () => "正在停止 Pod 中的程序"],
  [/^The image is not pulled: .*$/, () => "不拉取镜像：程序使用本机已安装的软件运行"],
  [
    /^the job has no replicas: every entry of replicaSpecs says 0$/,
    () => "Job 没有副本：replicaSpecs 的每一项都为 0",
  ],
  [
    /^a (\S+) "(.+)" exists and does not belong to this job: .*$/,
    ([, kind, name]) => `已有不属于此 Job 的 ${kind} “${name}”：不会改动它，删除后 Job 才能继续`,
  ],
  [
    /^The template's restartPolicy (\S+) of (\S+) is not used: .*$/,
    ([, policy, type]) =>
      `${type} 模板中的 restartPolicy ${policy} 不起作用：Pod 一律为 Never，按 replicaSpecs[].restartPolicy 重新创建。`,
  ],
  [
    /^(\S+) sets (\S+) itself: the replicas may not find each other\.$/,
    ([, type, name]) => `${type} 自行设置了 ${name}：副本之间可能无法找到对方。`,
  ],
  [
    /^(\S+) names the type "(.*)", which the job does not have\.$/,
    ([, where, type]) => `${where} 中的类型“${type}”在此 Job 中不存在。`,
  ],
  [/^TensorBoard \[(.+)\] was deleted$/, ([, name]) => `TensorBoard ${name} 已被删除`],
  [/^TensorBoard \[(.+)\] is being made$/, ([, name]) => `正在创建 TensorBoard ${name}`],
  [/^TensorBoard \[(.+)\] is ready$/, ([, name]) => `TensorBoard ${name} 已就绪`],
  [
    /^TensorBoard \[([^\]]+)\] is not ready(?:: (.*))?$/s,
    ([, name, why], say) => `TensorBoard ${name} 尚未就绪${why ? `：${say(why)}` : ""}`,
  ],
  [
    /^There is a TensorBoard \[(.+)\] already, which is not this job's$/,
    ([, name]) => `已有 TensorBoard ${name}，但它不属于此 Job`,
  ],
  [
    /^spec\.tensorboardSpec names no log folder: .*$/,
    () => "spec.tensorboardSpec 没有指定日志目录：请设置 logDir.pvc 或 trainingLogFilesets",
  ],
  [/^The pod is being made\.$/, () => "正在创建 Pod。"],
  [/^tensorboard is starting and does not answer yet\.$/, () => "tensorboard 正在启动，尚未响应。"],
  [
    /^(?:Its folder does|None of its folders does) not exist: (.+)\. It starts when the folder is there, .*$/,
    ([, which]) =>
      `日志目录不存在：${which!.replace(/(\S+) of the claim ([^\s,]+)/g, "PVC $2 中的 $1")}。目录由写入事件文件的程序创建，出现后即启动。`,
  ],
  [/^tensorboard answers\.$/, () => "tensorboard 已响应。"],
  [
    /^tensorboard has ended by itself; it is started again\.$/,
    () => "tensorboard 自行结束，将重新启动。",
  ],
  [
    /^tensorboard is not installed on this machine: .*$/s,
    () =>
      "本机没有安装 tensorboard：请运行 pip install tensorboard，使其位于 muster up 的 PATH 或虚拟环境中；每隔几分钟会再次查找。查看曲线不需要它：请打开“训练曲线”页。",
  ],
  [/^(.*); it is tried again\.$/s, ([, why], say) => `${say(why!)}；将重试。`],
  [/^Every port for pods is taken\.$/, () => "可供 Pod 使用的端口已全部占用。"],
  [
    /^It is suspended; setting spec\.suspend to false starts it again\.$/,
    () => "已挂起；将 spec.suspend 设为 false 即可重新启动。",
  ],
  [
    /^Nobody has used it for 24 hours: its pod was removed\..*$/s,
    () => "24 小时无人使用：其 Pod 已移除，打开它即可重新启动。",
  ],
  [
    /^There is a (\S+) (\S+) already, which is not its own\.$/,
    ([, kind, name]) => `已有 ${kind} ${name}，但不属于它。`,
  ],
  [
    /^The pod's limits are measured but not enforced: (.*)$/s,
    ([, why]) => `只测量、不强制执行 Pod 的资源上限：${why}`,
  ],
  [
    /^No token for service account (\S+): (.*)$/s,
    ([, name, why]) => `无法取得服务账号 ${name} 的令牌：${why}`,
  ],
  [
    /^The Service named by MASTER_ADDR did not appear; started without it$/,
    () => "MASTER_ADDR 所指的 Service 没有出现，已在没有它的情况下启动",
  ],
  [
    /^PersistentVolumeClaim "(.+)" was not there and has been made; its files are in (.+)$/,
    ([, name, where]) => `PersistentVolumeClaim “${name}”原先不存在，已自动创建；其文件在 ${where}`,
  ],
  [
    /^persistentvolumeclaim "(.+)" not found$/,
    ([, name]) => `找不到 PersistentVolumeClaim “${name}”`,
  ],
  [
    /^back-off (\d+)s restarting failed container=(\S+)$/,
    ([, s, name]) => `容器 ${name} 失败，${s} 秒后重启`,
  ],
  [
    /^Container (\S+) failed (.+?)(, will be restarted)?$/,
    ([, name, what, again]) => `容器 ${name} 未通过 ${what}${again ? "，将重启" : ""}`,
  ],
  [
    /^(Liveness|Readiness|Startup) probe failed: (.*)$/s,
    ([, which, why]) =>
      `${{ Liveness: "存活", Readiness: "就绪", Startup: "启动" }[which!]}探测失败：${why}`,
  ],
  [
    /^(postStart|preStop) of container (\S+) failed: (.*)$/s,
    ([, which, name, why]) => `容器 ${name} 的 ${which} 失败：${why}`,
  ],
  [
    /^no command: images are not used on this machine; give command or args$/,
    () => "没有命令：本机不使用镜像，请填写 command 或 args",
  ],
  [
    /^the pod was started before, but nothing of it is left on this machine$/,
    () => "此 Pod 曾经启动，但本机上已没有它的任何痕迹",
  ],
  [
    /^Usage of EmptyDir volume "(.+)" exceeds the limit "(.+)"$/,
    ([, name, limit]) => `EmptyDir 卷“${name}”的用量超过上限 ${limit}`,
  ],
  [
    /^command "(.+)" not found in PATH(.*)$/s,
    ([, name, where]) => `在 PATH 中找不到命令“${name}”${where}`,
  ],
  [
    /^cannot enter working directory "(.+)": (.*)$/s,
    ([, name, why]) => `无法进入工作目录“${name}”：${why}`,
  ],
  [/^cannot (?:start|run command) "(.+)": (.*)$/s, ([, name, why]) => `无法运行“${name}”：${why}`],
  [
    /^[Tt]he node has not reported for (\d+) s(: its pods are replaced)?$/,
    ([, s, more]) => `节点已有 ${s} 秒没有报告${more ? "：将重新创建其上的 Pod" : ""}`,
  ],
  [
    /^node (\S+) has not reported for (\d+) s$/,
    ([, name, s]) => `节点 ${name} 已有 ${s} 秒没有报告`,
  ],
  [/^ran out of memory: limit (.+)$/, ([, limit]) => `内存不足：上限 ${limit}`],
  [
    /^its cgroup's oom_kill went from (\d+) to (\d+)$/,
    ([, a, b]) => `其 cgroup 的 oom_kill 从 ${a} 增至 ${b}`,
  ],
  [
    /^likely for lack of memory: the machine's oom_kill went from (\d+) to (\d+) meanwhile$/,
    ([, a, b]) => `可能是内存不足：本机的 oom_kill 在此期间从 ${a} 增至 ${b}`,
  ],
  [
    /^not for lack of memory: the kernel counts no such kill$/,
    () => "不是因为内存不足：内核没有记录此类终止",
  ],
];

export function say(message: string, lang: "zh" | "en"): string {
  if (lang !== "zh") return message;
  for (const [pattern, words] of ZH) {
    const found = pattern.exec(message);
    if (found) return words(found, (part) => say(part, lang));
  }
  return waitingText(message, lang);
}

/** For a hover over what may be cut: the sentence, and as the controller wrote it. */
export function sayBoth(message: string, lang: "zh" | "en"): string {
  const said = say(message, lang);
  return said === message ? message : `${said}\n${message}`;
}
