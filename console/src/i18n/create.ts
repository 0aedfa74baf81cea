// Texts of the page that makes jobs: its form, preview and import.
import { texts } from "./index.ts";

export const createTexts = texts({
  zh: {
    title: "创建 {kind}", import: "导入 {kind}", preview: "预览 YAML", create: "创建", back: "回到列表", form: "表单", yaml: "YAML", basics: "基础信息", name: "名称", project: "项目",
    torchrun: "使用 TorchRun", maxRestarts: "最大重启次数", procPerNode: "单节点最大进程数", extraArgs: "其它参数", rdzv: "Rendezvous 后端",
    scheduler: "调度器", defaultScheduler: "默认调度器", t9kScheduler: "T9k 调度器", queue: "队列", priority: "优先级",
    runPolicy: "添加运行策略", deadline: "最长运行时间（秒）", backoff: "重启次数上限", cleanUp: "清理策略", ttl: "结束后保留时间（秒）",
    board: "添加 TensorBoard", boardLogs: "日志目录（t9k://pvc/…）", boardImage: "TensorBoard 镜像", debug: "调试模式",
    replica: "副本类型", type: "类型", count: "副本数量", restart: "重启策略", image: "镜像", command: "运行命令", args: "参数", argsHint: "（每行一个）",
    cpuLimit: "CPU 上限", memoryLimit: "内存上限", cpuRequest: "CPU 请求值", memoryRequest: "内存请求值", gpuKind: "GPU 类型", gpuCount: "GPU 数量", workingDir: "工作目录",
    env: "环境变量", value: "值", volumes: "存储卷", volumeType: "类型", pvc: "PVC", bindName: "绑定名称", bindPath: "绑定路径", add: "添加", remove: "移除", addType: "添加 Type", removeType: "移除此类型",
    script: "MPI 程序", mpiHome: "MPI 安装目录", mca: "MCA 参数（名称 值）", mpiArgs: "mpirun 其它参数", cleanWorkers: "结束后删除 worker",
    required: "必填", created: "已创建 {name}", failed: "服务器拒绝了此 Job：", wrong: "有 {count} 处错误需要修改", badYaml: "YAML 有语法错误，修正后才能使用表单。", importHint: "粘贴 YAML，或选择文件", chooseFile: "选择文件", load: "导入",
    rerunDiff: "与原 Job 的不同", wontFit: "注意：请求 {asked}，单个节点最多 {has}，此 Job 将一直等待。", nothingWrong: "格式正确", wontFitAll: "注意：全部副本共请求 {asked}，所有节点共有 {has}，此 Job 将一直等待。", dropHint: "也可以把文件拖到此页面。", changedFrom: "与 {name} 的不同", noDiff: "除名称外没有不同", cli: "命令行", otherKind: "导入的是 {kind}，已切换表单。", notJob: "文件中没有可创建的 Job。", fits: "资源足够：最大的节点可容纳每个副本", gpuNone: "不使用",
  },
  en: {
    title: "Create {kind}", import: "Import {kind}", preview: "Preview YAML", create: "Create", back: "Back to the list", form: "Form", yaml: "YAML", basics: "Basics", name: "Name", project: "Project",
    torchrun: "Use TorchRun", maxRestarts: "Restarts at most", procPerNode: "Processes per node", extraArgs: "Other arguments", rdzv: "Rendezvous backend",
    scheduler: "Scheduler", defaultScheduler: "Default scheduler", t9kScheduler: "T9k scheduler", queue: "Queue", priority: "Priority",
    runPolicy: "Add a run policy", deadline: "Longest run (seconds)", backoff: "Restart limit", cleanUp: "Clean-up policy", ttl: "Keep after the end (seconds)",
    board: "Add TensorBoard", boardLogs: "Log folder (t9k://pvc/…)", boardImage: "TensorBoard image", debug: "Debug mode",
    replica: "Replica type", type: "Type", count: "Replicas", restart: "Restart policy", image: "Image", command: "Command", args: "Arguments", argsHint: " (one per line)",
    cpuLimit: "CPU limit", memoryLimit: "Memory limit", cpuRequest: "CPU request", memoryRequest: "Memory request", gpuKind: "GPU kind", gpuCount: "GPUs", workingDir: "Working directory",
    env: "Environment variables", value: "Value", volumes: "Volumes", volumeType: "Type", pvc: "PVC", bindName: "Name", bindPath: "Mount path", add: "Add", remove: "Remove", addType: "Add a type", removeType: "Remove this type",
    script: "MPI program", mpiHome: "Where MPI is installed", mca: "MCA parameters (name value)", mpiArgs: "Other mpirun arguments", cleanWorkers: "Delete workers at the end",
    required: "required", created: "Created {name}", failed: "The server refused the job:", wrong: "{count} mistakes to mend", badYaml: "The YAML has an error; the form works when it is mended.", importHint: "Paste YAML, or choose a file", chooseFile: "Choose a file", load: "Import",
    rerunDiff: "What differs from the original", wontFit: "Note: it asks for {asked}, and one node has at most {has}: this job will wait for ever.", nothingWrong: "No mistakes found", wontFitAll: "Note: all replicas ask for {asked}, and all nodes together have {has}: this job will wait for ever.", dropHint: "A file can be dropped on this page too.", changedFrom: "What differs from {name}", noDiff: "Nothing but the name", cli: "Command line", otherKind: "That is a {kind}; the form has followed.", notJob: "The file has no job that can be created.", fits: "It fits: the largest node has room for each replica", gpuNone: "none",
  },
});
