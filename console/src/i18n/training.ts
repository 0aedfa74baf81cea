// Texts of the training curves.
import { texts } from "./index.ts";

export const trainingTexts = texts({
  zh: {
    search: "搜索标签", smoothing: "平滑", xAxis: "横轴", step: "步数", relative: "相对时间", wall: "绝对时间", log: "对数纵轴", csv: "下载 CSV", runs: "运行", none: "还没有曲线",
    noneHint: "训练脚本用 SummaryWriter 写出的标量会显示在这里。在 spec.tensorboardSpec 中写明日志目录，或在容器的工作目录下写事件文件。", reading: "正在读取…", board: "打开 TensorBoard", last: "最新", min: "最小", max: "最大", others: "其它", table: "数值", compare: "与另一 Job 比较", noCompare: "不比较", makeBoard: "创建 TensorBoard", tag: "标签", run: "运行", points: "点数", noFolder: "此 Job 没有写明日志目录", texts: "文本与超参数",
  },
  en: {
    search: "Search tags", smoothing: "Smoothing", xAxis: "Axis", step: "Step", relative: "Relative", wall: "Wall time", log: "Logarithmic", csv: "Download CSV", runs: "Runs", none: "No curves yet",
    noneHint: "Scalars that the script writes with a SummaryWriter show here. Name the log folder in spec.tensorboardSpec, or write event files below the container's working directory.", reading: "Reading…", board: "Open TensorBoard", last: "last", min: "min", max: "max", others: "others", table: "Values", compare: "Compare with", noCompare: "no other job", makeBoard: "Create TensorBoard", tag: "Tag", run: "Run", points: "Points", noFolder: "The job does not say where its logs are", texts: "Texts and hyperparameters",
  },
});
