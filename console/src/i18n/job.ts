import { texts } from "./index.ts";

export const jobTexts = texts({
  zh: {
    replicasTab: "副本", metricsTab: "资源监测", logsTab: "日志", trainingTab: "训练曲线", yamlTab: "YAML", terminalTab: "终端",
    notThere: "Job {name} 不存在，或已被删除。", back: "回到列表", stop: "停止", pause: "暂停", resume: "恢复", clone: "复制为新 Job", rerun: "重新运行", remove: "删除", more: "更多操作",
    basic: "基本信息", name: "名称", uid: "UID", state: "状态", replicas: "副本", volumes: "存储卷", labels: "标签", project: "项目", cpu: "CPU 请求量/上限", memory: "内存请求量/上限",
    created: "创建时间", tensorboard: "TensorBoard", openBoard: "打开", none: "无", queue: "队列", priority: "优先级", duration: "运行时长", restarts: "重启次数", debug: "调试模式", on: "开启",
    conditions: "状况", type: "类型", status: "状态", changed: "最近修改时间", reason: "原因", message: "信息", sortedBy: "排序：最近修改时间：降序",
    events: "事件", first: "首次产生时间", last: "最近产生时间", detailedEvents: "详细事件", about: "资源", normal: "正常", warning: "警告", count: "次数",
    noEvents: "没有事件", noConditions: "没有状况", timeline: "时间线", queued: "排队", running: "运行", finished: "结束", notYet: "尚未",
    failedTitle: "为什么失败", pendingTitle: "为什么在等待", pausedTitle: "已暂停", pausedText: "所有副本已停止，恢复后重新创建。", exitCode: "退出码 {code}：{words}", lastLines: "最后的日志", seeLog: "查看完整日志", since: "已等待 {time}",
    role: "任务类型", index: "序号", phase: "阶段", node: "节点", exit: "退出码", usage: "当前用量", moreInfo: "更多信息", log: "日志", yaml: "YAML", condition: "状况", event: "事件", metric: "指标", terminal: "终端", showAll: "展开", showLess: "收起", columns: "显示列",
    liveTail: "最新日志", curve: "训练曲线", progress: "进度", noPods: "还没有副本", overview: "概览", image: "镜像", restartPolicy: "重启策略", number: "副本数量",
    suggestion: "建议", attempt: "第 {n} 次尝试",
    exit0: "正常结束", exit1: "程序报错", exit2: "命令行参数错误", exit126: "命令不可执行", exit127: "找不到命令", exit130: "被中断（SIGINT）", exit134: "异常终止（SIGABRT）", exit137: "被强制终止（SIGKILL），可能是内存不足", exit139: "段错误（SIGSEGV）", exit143: "被终止（SIGTERM）", exitSignal: "被信号 {n} 终止", exitOther: "程序以错误码结束",
    tipOom: "提高内存上限，或减小 batch size。", tipNotFound: "检查命令是否拼写正确，以及运行环境中是否安装了该程序。", tipModule: "在运行环境中安装缺少的 Python 模块。", tipNccl: "检查各副本是否都在运行、网络与 GPU 是否可用；另一副本先退出也会导致此错误。", tipFile: "检查路径和存储卷绑定路径。", tipCuda: "减小 batch size，或使用显存更大的 GPU。", tipPort: "端口已被占用：使用 MASTER_PORT 环境变量给出的端口。", tipGeneral: "查看失败副本的日志。",
  },
  en: {
    replicasTab: "Replicas", metricsTab: "Resources", logsTab: "Logs", trainingTab: "Training", yamlTab: "YAML", terminalTab: "Terminal",
    notThere: "The job {name} does not exist, or is gone.", back: "Back to the list", stop: "Stop", pause: "Pause", resume: "Resume", clone: "Clone into a new job", rerun: "Run again", remove: "Delete", more: "More actions",
    basic: "Basics", name: "Name", uid: "UID", state: "State", replicas: "Replicas", volumes: "Volumes", labels: "Labels", project: "Project", cpu: "CPU request/limit", memory: "Memory request/limit",
    created: "Created", tensorboard: "TensorBoard", openBoard: "Open", none: "None", queue: "Queue", priority: "Priority", duration: "Duration", restarts: "Restarts", debug: "Debug mode", on: "on",
    conditions: "Conditions", type: "Type", status: "Status", changed: "Last change", reason: "Reason", message: "Message", sortedBy: "Sorted by last change, newest first",
    events: "Events", first: "First seen", last: "Last seen", detailedEvents: "With the pods' events", about: "About", normal: "Normal", warning: "Warning", count: "Count",
    noEvents: "No events", noConditions: "No conditions", timeline: "Time line", queued: "Queued", running: "Running", finished: "Ended", notYet: "not yet",
    failedTitle: "Why it failed", pendingTitle: "Why it waits", pausedTitle: "Paused", pausedText: "All replicas are stopped; resuming makes them anew.", exitCode: "exit code {code}: {words}", lastLines: "Last lines", seeLog: "See the whole log", since: "waiting for {time}",
    role: "Role", index: "Index", phase: "Phase", node: "Node", exit: "Exit code", usage: "Use now", moreInfo: "More", log: "Logs", yaml: "YAML", condition: "Conditions", event: "Events", metric: "Metrics", terminal: "Terminal", showAll: "Show all", showLess: "Show less", columns: "Columns",
    liveTail: "Latest lines", curve: "Training curve", progress: "Progress", noPods: "No replicas yet", overview: "Overview", image: "Image", restartPolicy: "Restart policy", number: "Replicas",
    suggestion: "What to do", attempt: "attempt {n}",
    exit0: "ended well", exit1: "the program reported an error", exit2: "wrong command line arguments", exit126: "the command cannot be executed", exit127: "command not found", exit130: "interrupted (SIGINT)", exit134: "aborted (SIGABRT)", exit137: "killed (SIGKILL), likely out of memory", exit139: "segmentation fault (SIGSEGV)", exit143: "terminated (SIGTERM)", exitSignal: "ended by signal {n}", exitOther: "the program ended with an error",
    tipOom: "Raise the memory limit, or use a smaller batch size.", tipNotFound: "Check the spelling of the command, and that the program is installed where the job runs.", tipModule: "Install the missing Python module where the job runs.", tipNccl: "Check that all replicas run and that network and GPUs work; another replica that ended first also leads to this.", tipFile: "Check the path and where volumes are mounted.", tipCuda: "Use a smaller batch size, or a GPU with more memory.", tipPort: "The port is taken: use the one in MASTER_PORT.", tipGeneral: "Look at the failed replica's log.",
  },
});
