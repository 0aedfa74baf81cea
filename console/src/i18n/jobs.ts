// Texts of the list of jobs: its columns, filters and empty states.
import { texts } from "./index.ts";

export const jobsTexts = texts({
  zh: {
    title: "Job", createJob: "创建 Job", searchName: "键入名称以搜索", label: "标签", phase: "阶段", scheduler: "调度器", queue: "队列", kind: "作业类型",
    resource: "扩展资源", project: "项目", columns: "显示列", sorter: "排序器", cpu: "CPU（请求 / 上限）", memory: "内存（请求 / 上限）", replicas: "副本",
    duration: "运行时长", created: "创建时间", progress: "进度", state: "状态", name: "名称", actions: "操作", clone: "复制为新 Job", pause: "暂停", resume: "恢复",
    yaml: "YAML", logs: "日志", remove: "删除", expand: "展开 {name}", collapse: "收起 {name}", filters: "过滤 & 排序：{text}", count: "显示 {shown}，总共 {total}",
    noJobs: "还没有 Job", noJobsHint: "从示例创建一个，或者在终端运行：", noMatch: "没有符合条件的 Job", clear: "清除过滤条件",
    deleteTitle: "删除 {count} 个 Job", deleteWhat: "将停止 {running} 个正在运行的副本。日志保留，PVC 中的文件不受影响。",
    typeName: "Job 正在运行。键入 {name} 以确认：", deleted: "已删除 {name}", deleting: "即将删除 {name}", undo: "撤销", paused: "已暂停 {name}", resumed: "已恢复 {name}",
    failed: "操作失败：{message}", selected: "已选 {count} 项", select: "选择 {name}", selectAll: "全选", asCli: "命令行", defaultScheduler: "默认调度器", t9kScheduler: "T9k 调度器",
    priority: "优先级", stepLoss: "第 {step} 步，loss {loss}", timeLeft: "剩余 {time}", done: "{done}/{total} 完成", fromExample: "PyTorch 示例", rerun: "重新运行", gpu: "GPU", gpuShares: "共享 GPU：{count} 份", gpuTotals: "GPU：使用中 {used}，等待 {waiting}", position: "第 {n} 位", cliOf: "{name} 的命令行", cliHint: "以下命令与控制台中的操作相同：", cliWatch: "查看", cliLogs: "日志", cliPause: "暂停", cliResume: "恢复", cliRemove: "删除", cliRerun: "重新运行", lossCurve: "loss 曲线，最新 {loss}", someFailed: "{count} 个操作失败：{message}", ended: "{name} 已结束：{state}",
  },
  en: {
    title: "Jobs", createJob: "Create job", searchName: "Type a name to search", label: "Labels", phase: "Phase", scheduler: "Scheduler", queue: "Queue", kind: "Kind",
    resource: "Extended resource", project: "Project", columns: "Columns", sorter: "Sort", cpu: "CPU (request / limit)", memory: "Memory (request / limit)", replicas: "Replicas",
    duration: "Duration", created: "Created", progress: "Progress", state: "State", name: "Name", actions: "Actions", clone: "Clone into a new job", pause: "Pause", resume: "Resume",
    yaml: "YAML", logs: "Logs", remove: "Delete", expand: "Expand {name}", collapse: "Collapse {name}", filters: "Filter & sort: {text}", count: "{shown} shown, {total} in all",
    noJobs: "No jobs yet", noJobsHint: "Create one from an example, or type in a terminal:", noMatch: "No job matches", clear: "Clear the filters",
    deleteTitle: "Delete {count} jobs", deleteWhat: "Stops {running} running replicas. Logs are kept; files on PVCs are not touched.",
    typeName: "It is running. Type {name} to confirm:", deleted: "Deleted {name}", deleting: "Deleting {name}", undo: "Undo", paused: "Paused {name}", resumed: "Resumed {name}",
    failed: "That failed: {message}", selected: "{count} selected", select: "Select {name}", selectAll: "Select all", asCli: "Command line", defaultScheduler: "Default scheduler", t9kScheduler: "T9k scheduler",
    priority: "Priority", stepLoss: "step {step}, loss {loss}", timeLeft: "{time} left", done: "{done}/{total} done", fromExample: "PyTorch example", rerun: "Run again", gpu: "GPU", gpuShares: "Shares of GPUs: {count}", gpuTotals: "GPUs: {used} in use, {waiting} waited for", position: "number {n}", cliOf: "Command lines for {name}", cliHint: "These do what the console's actions do:", cliWatch: "Look", cliLogs: "Logs", cliPause: "Pause", cliResume: "Resume", cliRemove: "Delete", cliRerun: "Run again", lossCurve: "loss curve, latest {loss}", someFailed: "{count} failed: {message}", ended: "{name} has ended: {state}",
  },
});
