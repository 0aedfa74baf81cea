// Texts of the charts of what jobs and the machine use.
import { texts } from "./index.ts";

export const metricsTexts = texts({
  zh: {
    cluster: "集群资源", cpu: "CPU（核）", memory: "内存", request: "请求量", limit: "上限", usage: "使用量", gpu: "NVIDIA GPU", gpuUse: "GPU 利用率", gpuMemory: "已用显存", network: "网络带宽", receive: "接收", transmit: "发送",
    storage: "存储 I/O", read: "读", write: "写", replica: "副本", sum: "全部副本之和", range: "时间范围", all: "从 start 到 now", allEnded: "从 start 到 finish", last10m: "最近 10 分钟", last1h: "最近 1 小时", last24h: "最近 24 小时", custom: "自定义", from: "从", to: "到", reset: "重置", momentHint: "请写成 2026-01-31 15:04:05", wrongSpan: "开始时间必须早于结束时间。", noneThen: "此时间范围内没有数据", dragHint: "在图表上拖动可选择时间范围，双击重置",
    notMeasured: "此机器上未测量（网络流量需要以 root 运行 muster）。", none: "还没有数据", noneHint: "副本运行后，每 2 秒采样一次。", idle: "GPU 已空闲 {minutes} 分钟", asked: "申请了 {asked} CPU，平均使用 {used}", collapse: "收起/展开",
  },
  en: {
    cluster: "Resources", cpu: "CPU (cores)", memory: "Memory", request: "Request", limit: "Limit", usage: "Use", gpu: "NVIDIA GPU", gpuUse: "GPU utilisation", gpuMemory: "GPU memory", network: "Network", receive: "In", transmit: "Out",
    storage: "Storage I/O", read: "Read", write: "Write", replica: "Replica", sum: "Sum of all replicas", range: "Range", all: "From start to now", allEnded: "From start to finish", last10m: "Last 10 minutes", last1h: "Last hour", last24h: "Last 24 hours", custom: "Custom", from: "From", to: "To", reset: "Reset", momentHint: "Write it as 2026-01-31 15:04:05", wrongSpan: "The beginning must be before the end.", noneThen: "Nothing was measured in this range", dragHint: "Drag in a chart to choose a range; a double click resets",
    notMeasured: "Not measured on this machine (network traffic needs muster to run as root).", none: "No figures yet", noneHint: "When replicas run they are sampled every 2 seconds.", idle: "GPU idle for {minutes} min", asked: "Asked for {asked} CPU, used {used} on average", collapse: "Collapse/expand",
  },
});
