// The sentences controllers, scheduler and nodes write into statuses, conditions and events, and what
// they are in Chinese. On the left stands the format as the C source has it, {} for each value (values
// that follow each other are one); test/sentences.test.ts reads the source and fails when one of its
// sentences is not here, or one here is not in the source.
//
// On the right {1} is the first value, itself translated where it is a sentence; {1+} one that further
// parts may follow (those that begin with a space or a sign of punctuation).
export const SENTENCES: Readonly<Record<string, string>> = {
  // core/admit.c
  'node "{}" has no room for pod "{}": it asks {}, {} of {} is free':
    "节点 {1} 容纳不下 Pod {2}：请求 {3}，共 {5}，空闲 {4}",
  'GPU {} of node "{}" is in use: pod "{}" cannot have it':
    "节点 {2} 的 GPU {1} 已被占用：Pod {3} 不能使用",
  'the quota of queue "{}" is too small: needs {}, {} of {} is in use':
    "队列“{1}”的配额太小：需要 {2}，共 {4}，已用 {3}",
  'the quota of queue "{}" is used up: needs {}, {} of {} is in use':
    "队列“{1}”的配额已用完：需要 {2}，共 {4}，已用 {3}",
  'there is no node "{}", or it is being deleted: name one that is there':
    "没有节点“{1}”，或它正在被删除：请指定存在的节点",
  'in queue "{}": name that queue, or give the group another name':
    "于队列“{1}”：请指定该队列，或为组另取名称",
  'group "{}" needs {} members and would have places for {}':
    "组“{1}”需要 {2} 个成员，却只有 {3} 个位置",
  'there is no PodGroup "{}" in namespace {}, whose quota and members would count: create it first, or remove the label {}':
    "项目 {2} 中没有 PodGroup“{1}”：请先创建它，或去掉标签 {3}",
  'group "{}" starts with {} members at once: write the places of all of them into its status.placements first, or leave it to the scheduler':
    "组“{1}”的 {2} 个成员须同时启动：请先把全部位置写入其 status.placements，或交给调度器",
  // core/exit_words.c
  "the program ended with an error": "程序报错退出",
  "the program was used incorrectly or ended with an error": "程序调用有误或报错退出",
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
  "the program requested a restart": "程序请求重新运行",
  "segmentation fault, SIGSEGV": "段错误，SIGSEGV",
  "broken pipe, SIGPIPE": "管道断开，SIGPIPE",
  "terminated, SIGTERM": "被终止，SIGTERM",
  "killed, SIGKILL: out of memory, according to the kernel": "被杀死，SIGKILL：内核报告内存不足",
  "out of memory, according to the kernel": "内核报告内存不足",
  "the container could not be started": "容器无法启动",
  "killed along with its supervisor, by a user or the kernel": "随其监管进程一起被杀死",
  "evicted by the node": "被节点驱逐",
  "the pod's own activeDeadlineSeconds passed": "超过了 Pod 自身的 activeDeadlineSeconds",
  // core/pod_state.c
  "no reason given": "未说明原因",
  "{} failed without an exit code ({}){}": "{1} 失败，没有退出码（{2}）{3+}",
  "{} failed with exit code {}": "{1} 失败，退出码 {2+}",
  "{} failed with exit code {} ({}){}": "{1} 失败，退出码 {2+}（{3}）{4+}",
  ' in container "{}"': "，容器 {1}",
  "; it last said: {}": "；最后的输出：{1}",
  ": {}": "：{1}",
  // core/job_why.c
  "The job has finished successfully.": "Job 已成功结束。",
  "the job has no replicas: every entry of replicaSpecs says 0":
    "Job 没有副本：replicaSpecs 的每一项都为 0",
  'a {} "{}" exists and does not belong to this job: delete it to let the job continue':
    "已有不属于此 Job 的 {1} “{2}”：不会改动它，删除后 Job 才能继续",
  "waiting for a MASTER_PORT: all {} from {} on are leased to jobs":
    "等待端口：从 {2} 开始的 {1} 个 MASTER_PORT 端口都已分配给 Job",
  "{} of {} pods are refused: {}": "{2} 个 Pod 中有 {1} 个被拒绝创建：{3}",
  "a {} of the job is refused: {}": "Job 的 {1} 被拒绝创建：{2}",
  '{} is waiting for the scheduler "{}", which has not responded: does it exist? Without schedulerName the default scheduler places it':
    "{1} 正在等待调度器“{2}”，但它没有任何回应：它是否存在？不设置 schedulerName 则由默认调度器调度",
  "{} was lost with its node: it is replaced without using up a restart":
    "{1} 随节点丢失：将重新创建，不计入重启次数",
  "the state of {} is unknown: its node does not answer": "无法得知 {1} 的状态：其节点没有响应",
  "{} is waiting: {}": "{1} 正在等待：{2+}",
  "{}; {} of {} pods are still stopping": "{1+}；{3} 个 Pod 中还有 {2} 个正在停止",
  "{} of {} workers run and are not ready, {} is the first":
    "{2} 个 worker 中有 {1} 个尚未就绪，第一个是 {3}",
  "the job is paused: {}; runMode.pause.enabled: false resumes it":
    "Job 已暂停：{1}；将 runMode.pause.enabled 设为 false 可继续运行",
  "the job is paused: runMode.pause.enabled is true": "Job 已暂停：runMode.pause.enabled 为 true",
  "{} of {} pods are running": "{2} 个 Pod 中有 {1} 个在运行",
  // core/job_conditions.c, core/job_events.c
  "All pods are running normally or have completed successfully.":
    "所有 Pod 正在正常运行，或已成功结束。",
  "The job has been initialized successfully.": "Job 已成功初始化。",
  "{} of {} pods are running.": "{2} 个 Pod 中有 {1} 个在运行。",
  "No replica has failed.": "没有副本失败。",
  "The job is paused.": "Job 已暂停。",
  "The job is still running.": "Job 仍在运行。",
  "The job has been resumed.": "Job 已恢复。",
  "A {} has been created: {}": "已创建 {1}：{2}",
  "Create the replica[{}] again: its last pod is gone.":
    "重新创建副本 {1}：其上一个 Pod 已不存在。",
  "Create the replica[{}] for the first time.": "首次创建副本 {1}。",
  "Replace the replica[{}]: {} of {} restarts are used.": "重新创建副本 {1}：已重启 {2}/{3} 次。",
  "The job began running at {} {} UTC": "Job 于 {1} {2} UTC 开始运行",
  "The job is paused; its pods are stopped.": "Job 已暂停，其 Pod 已停止。",
  "Replace all {} replicas together: {} of {} restarts are used.":
    "重新创建全部 {1} 个副本：已重启 {2}/{3} 次。",
  // core/job_tensorboard.c
  "TensorBoard [{}] was deleted": "TensorBoard {1} 已被删除",
  "spec.tensorboardSpec names no log folder: set logDir.pvc or trainingLogFilesets":
    "spec.tensorboardSpec 没有指定日志目录：请设置 logDir.pvc 或 trainingLogFilesets",
  "TensorBoard [{}] is being created": "正在创建 TensorBoard {1}",
  "TensorBoard [{}] already exists and does not belong to this job":
    "已有 TensorBoard {1}，但它不属于此 Job",
  "TensorBoard [{}] is ready": "TensorBoard {1} 已就绪",
  "TensorBoard [{}] is not ready{}": "TensorBoard {1} 尚未就绪{2+}",
  // core/node_loss.c
  "the node has not reported for {} s": "节点已有 {1} 秒没有报告",
  "The node has not reported for {} s: it gets no new pods, and those it has are replaced after {} s":
    "节点已有 {1} 秒没有报告：不再给它新的 Pod，满 {2} 秒后替换它已有的 Pod",
  "node {} has not reported for {} s": "节点 {1} 已有 {2} 秒没有报告",
  "node {} does not exist": "节点 {1} 不存在",
  // core/replica_pod.c
  "The template's restartPolicy {} of {} is not used: pods are Never and are replaced as replicaSpecs[].restartPolicy says.":
    "{2} 模板中的 restartPolicy {1} 不起作用：Pod 一律为 Never，按 replicaSpecs[].restartPolicy 重新创建。",
  "{} sets {} itself: the replicas may not find each other.":
    "{1} 自行设置了 {2}：副本之间可能无法找到对方。",
  '{} names the type "{}", which the job does not have.': "{1} 中的类型“{2}”在此 Job 中不存在。",
  // core/notify.c
  "the receiver answered {}": "接收方返回 {1+}",
  ": redirects are not followed": "：不跟随重定向",
  "This is a test.": "这是一次测试。",
  "too many pending events: the oldest was dropped": "等待发送的事件太多，已放弃最旧的一个",
  // core/schedule_plan.c
  "it ran longer than its activeDeadlineSeconds ({})":
    "运行时间超过其 activeDeadlineSeconds（{1}）",
  'not placed: its label {} names the PodGroup of {} "{}", which has not created it':
    "不予调度：其标签 {1} 指向 {2}“{3}”的 PodGroup，但该 Pod 并非由它创建",
  'not placed: the PodGroup "{}" wants {} pod{} (spec.members), and has room for that many':
    "不予调度：PodGroup“{1}”只需要 {2} 个 Pod（spec.members），且这些位置已分配",
  'it was stopped: it lacks members, and the quota of queue "{}" no longer holds all it needs':
    "已被停止：缺少成员，而队列“{1}”的配额已容不下它所需的全部资源",
  'it was stopped: it lacks members, as does {} "{}" of queue "{}", which goes on in its place':
    "已被停止：它与队列“{3}”的“{2}”都缺少成员，由后者继续运行",
  'its room was taken by {} "{}" of queue "{}" (priority {})':
    "其资源被队列“{3}”（优先级 {4}）的“{2}”抢占",
  'it ran longer than maxDuration ({}) of queue "{}"':
    "运行时间超过了队列“{2}”的 maxDuration（{1}）",
  "Enough pods are there": "Pod 已足够",
  "Resources have been allocated to PodGroup": "已为 PodGroup 分配资源",
  "Room is being made for it": "正在为它腾出资源",
  "its job is paused": "其 Job 已暂停",
  "it wants no pods: spec.members is 0": "它不需要 Pod：spec.members 为 0",
  "for a minute it was not there, and no job creates it": "它已缺失一分钟，且没有 Job 会创建它",
  "for a minute they were not there, and no job creates them":
    "它们已缺失一分钟，且没有 Job 会创建它们",
  "Room for {} of its pods is for others now: {}": "其 {1} 个 Pod 的资源现在供其他任务使用：{2}",
  "It is no longer in line for {} of its pods: {}": "它不再为其 {1} 个 Pod 排队：{2}",
  "it is being deleted: no more of its pods are placed": "正在删除：不再调度其 Pod",
  'not placed: the PodGroup "{}" is being deleted': "不予调度：PodGroup“{1}”正在删除",
  "its pods have ended": "其 Pod 都已结束",
  "no pod has joined it: pods join by the label {}: {}":
    "还没有 Pod 加入：Pod 以标签 {1}: {2} 加入",
  "Successfully assigned {}/{} to {}": "已将 {1}/{2} 分配到节点 {3}",
  "Stopped: {}": "已停止：{1}",
  'Preempted by {} "{}" of queue "{}" (priority {})': "被队列“{3}”（优先级 {4}）的“{2}”抢占",
  '{} of its pods {} preempted by {} "{}" of queue "{}" (priority {})':
    "其 {1} 个 Pod 被队列“{5}”（优先级 {6}）的“{4}”抢占",
  "Queue is closed": "队列已关闭",
  "Queue is open": "队列已打开",
  "More than 90% of the queue's quota is in use": "队列的配额已使用 90% 以上",
  "Queue has sufficient resource quota": "队列的配额充足",
  "Job has exceeded the specified maximal number of failed indexes":
    "失败的索引数超过了 maxFailedIndexes",
  "Matched rules at index {}": "符合第 {1} 条规则",
  "Job has failed indexes": "有索引失败",
  "Job has reached the specified backoff limit": "重试次数达到了 backoffLimit",
  "Job was active longer than specified deadline": "运行时间超过了 activeDeadlineSeconds",
  "Reached expected number of succeeded pods": "成功的 Pod 已达到所需数量",
  "Job suspended": "Job 已暂停",
  "Job suspended: {}": "Job 已暂停：{1+}",
  "Job resumed": "Job 已恢复",
  "Job completed": "Job 已完成",
  "Deleted pod: {}": "已删除 Pod：{1}",
  "Created pod: {}": "已创建 Pod：{1}",
  "Error creating: {}": "创建失败：{1}",
  "Error creating job: {}": "创建 Job 失败：{1}",
  "Missed scheduled time to start a job: {}": "错过了计划的启动时间：{1}",
  "Not starting job because prior execution is running and concurrency policy is Forbid":
    "上一次执行仍在运行，而 concurrencyPolicy 为 Forbid，因此不启动 Job",
  "Created job {}": "已创建 Job {1}",
  "Container {} for pod {}/{} failed with exit code {} matching {} rule at index {}":
    "Pod {2}/{3} 的容器 {1} 以退出码 {4} 失败，符合第 {6} 条 {5} 规则",
  "Pod {}/{} has condition {} matching {} rule at index {}":
    "Pod {1}/{2} 的状况 {3} 符合第 {5} 条 {4} 规则",
  "Paused: {}; spec.{}: false lets it go on": "已暂停：{1}；设置 spec.{2}: false 可继续运行",
  "Deleted: {}": "已删除：{1}",
  // core/schedule_words.c
  "its size": "它的大小",
  'there is no node "{}"': "没有名为 {1} 的节点",
  "no node offers enough {}": "没有节点提供足够的 {1+}",
  "no node offers all of the extended resources it asks for":
    "没有节点同时提供它请求的所有扩展资源",
  'no node has the label "{}", the topologyKey of its topologySpreadConstraints':
    "没有节点带有 topologySpreadConstraints 的 topologyKey 标签 {1}",
  "no node has the labels of the nodeSelector: {}": "没有节点带有 nodeSelector 要求的标签 {1+}",
  'no node has the labels of the nodeSelector of queue "{}": {}':
    "没有节点带有队列“{1}”的 nodeSelector 要求的标签 {2+}",
  "node {}, which its nodeSelector, affinity and queue allow, has the taint {}, which it does not tolerate":
    "符合其 nodeSelector、亲和性和队列要求的节点 {1} 带有它不容忍的污点 {2}",
  "no node is one that its nodeSelector, affinity, tolerations and queue allow":
    "没有节点符合其 nodeSelector、亲和性、容忍度和队列的要求",
  "can never fit: its {} lets {} of {} pods run at once (what helps: fewer replicas or more nodes)":
    "无法调度：其 {1} 只允许 {3} 个 Pod 中的 {2} 个同时运行（可以减少副本数或增加节点）",
  "required podAntiAffinity": "强制 Pod 反亲和性",
  "required podAffinity": "强制 Pod 亲和性",
  "asks {}, the node has {}": "请求 {1}，节点只有 {2+}",
  "asks {}, the {} nodes together have {}": "请求 {1}，{2} 个节点共有 {3+}",
  "a pod asks {}, the largest node has {}": "单个 Pod 请求 {1}，最大的节点只有 {2+}",
  "a pod asks {}, the largest node that it may use has {}":
    "单个 Pod 请求 {1}，它可以使用的最大节点只有 {2+}",
  "asks {}, {} has {}": "请求 {1}，{2}只有 {3+}",
  'node "{}", {},': "节点 {1}（{2}）",
  "which its nodeName names": "由 nodeName 指定",
  "the only one that its nodeSelector, affinity, tolerations and queue allow": "唯一可以运行的节点",
  "the only ready one that its nodeSelector, affinity, tolerations and queue allow (node {} is cordoned: kubectl uncordon {})":
    "唯一可以运行的就绪节点；节点 {1} 已停止调度，可用 kubectl uncordon {2} 恢复",
  "the only ready one that its nodeSelector, affinity, tolerations and queue allow (node {} is not ready)":
    "唯一可以运行的就绪节点；节点 {1} 未就绪",
  "--gpus if the machine has more": "--gpus，如果本机还有 GPU",
  "{} (up to {} a pod)": "{1+}（每个 Pod 最多 {2}）",
  " (what helps: smaller requests)": "（可以减少请求量）",
  " (what helps: smaller requests, or a node that offers more)":
    "（可以减少请求量，或增加提供更多资源的节点）",
  " (what helps: smaller requests, or muster up with {})":
    "（可以减少请求量，或重新启动 muster up，加上 {1+}）",
  " (what helps: smaller requests, or, for node {}, a toleration of {})":
    "（可以减少请求量，或容忍节点 {1} 的污点 {2}）",
  "; node {} has room, and the taint {}, which it does not tolerate":
    "；节点 {1} 有空间，但有它不容忍的污点 {2}",
  " (what helps: smaller requests or fewer replicas)": "（可以减少请求量或副本数）",
  " (what helps: smaller requests, fewer replicas, or muster up with {})":
    "（可以减少请求量或副本数，或重新启动 muster up，加上 {1+}）",
  " or {}": "、{1}",
  'waits for its turn in sweep "{}", which runs at most {} at once':
    "等待轮到：sweep {1} 最多同时运行 {2} 个",
  "waiting for a node: none is ready": "等待节点：没有就绪的节点",
  "waiting for a node: none is ready; node {} is cordoned (kubectl uncordon {})":
    "等待节点：没有就绪的节点；节点 {1} 已停止调度（kubectl uncordon {2}）",
  "waiting for a node: none is ready; node {} and {} more are cordoned (kubectl uncordon {})":
    "等待节点：没有就绪的节点；节点 {1}、另外 {2} 个节点已停止调度（kubectl uncordon {3}）",
  "waiting for nodes that are cordoned": "等待已停止调度的节点",
  "waiting for node {}, which is cordoned (kubectl uncordon {})":
    "等待节点 {1}，它已停止调度（kubectl uncordon {2}）",
  "waiting for nodes that are cordoned: {} and {} more (kubectl uncordon {})":
    "等待已停止调度的节点：{1}、另外 {2} 个节点（kubectl uncordon {3}）",
  "can never fit: no node has room for more of its pods beside those it has: the largest pod asks {}":
    "无法调度：除已有的 Pod 外，没有节点还能容纳它更多的 Pod，最大的请求 {1+}",
  "can never fit: there is enough in all, but not where its pods would need it: the largest pod asks {}":
    "无法调度：资源总量足够，但没有节点能同时容纳它的 Pod，最大的请求 {1+}",
  "can never fit: {}": "无法调度：{1+}",
  'asks {}, the quota of queue "{}" is {}': "请求 {1}，队列“{2}”的配额只有 {3+}",
  "the quota of its queue is too small": "其队列的配额太小",
  'waiting for the quota of queue "{}": needs {}, {} is in use, more than its {}':
    "等待队列“{1}”的配额：需要 {2}，已用 {3}，超过其上限 {4+}",
  'waiting for the quota of queue "{}": needs {}, {} of {} is in use{}':
    "等待队列“{1}”的配额：需要 {2}，共 {4}，已用 {3}{5+}",
  'waiting for the quota of queue "{}"{}': "等待队列“{1}”的配额{2+}",
  'waiting for the quota of queue "{}": needs {}; {} or more are in line before it':
    "等待队列“{1}”的配额：需要 {2}；前面至少有 {3} 个",
  ", {} of it for pods that are not there": "，其中 {1} 留给尚不存在的 Pod",
  '; {} is free when {} "{}" has ended, at {} at the latest':
    "；{2}“{3}”结束后有 {1} 空闲，最迟在 {4}",
  " until {} at the latest": "，最迟到 {1}",
  ", until {} at the latest": "，最迟到 {1}",
  "; it holds {} itself": "；它自己占用 {1+}",
  '; {} "{}"{} holds {}': "；“{2}”{3+}占用 {4+}",
  " (queue {})": "（队列 {1}）",
  " there": "",
  ", {} more hold{} the rest": "，其余由另外 {1} 个占用",
  "; number {} in line": "；排第 {1} 位",
  "waiting for other pods: where there is room its affinity, their anti-affinity or its topologySpreadConstraints forbid it to run{}":
    "等待其它 Pod：在有空闲资源的节点上，Pod 亲和性、反亲和性或 topologySpreadConstraints 不允许它运行{1+}",
  'waiting for {} pod{} of {} "{}"{} to stop{}': "等待“{4}”的 {1} 个 Pod{5+} 停止{6+}",
  " and {} of others": "、另外 {1} 个 Pod",
  "it was stopped: it lacks members, and no node can take them":
    "已被停止：它缺少成员，而没有节点能容纳它们",
  "waiting for room on {} where it needs {}, and {} of {} is free{}":
    "等待{1}上的资源：需要 {2}，共 {4}，空闲 {3}{5+}",
  "; {} of {} is free, at most {} on one node{}": "；共 {2}，空闲 {1}，单个节点最多空闲 {3}{4+}",
  "waiting for resources: needs {}, {} of {} is free{}": "等待资源：需要 {1}，共 {3}，空闲 {2}{4+}",
  'waiting for resources: what is free is kept for {} "{}", which is before it in line{}':
    "等待资源：空闲的资源留给了排在前面的“{2}”{3+}",
  "waiting for resources: what is free is kept for others before it in line{}":
    "等待资源：空闲的资源留给了排在前面的其它 Job{1+}",
  "waiting for resources: there is room for {} of {} pods, the largest of {}":
    "等待资源：需要的 {2} 个 Pod 中只能容纳 {1} 个，最大的请求 {3+}",
  "waiting for resources: no node has room for a pod of {} at the moment{}":
    "等待资源：目前没有节点能容纳 {1} 的 Pod{2+}",
  "waiting for resources: where there is room for a pod of it other pods hold the {} it asks for{}":
    "等待资源：在有空位的节点上，它请求的 {1} 被其它 Pod 占用{2+}",
  "request for {}": "对 {1} 的请求",
  "at least {}": "至少 {1}",
  "waiting for its turn: {} or more are in line before it": "排队等待：前面至少有 {1} 个",
  'waiting for its turn: number {} in line behind {} "{}"': "排队等待：第 {1} 位，前面是“{3}”",
  "waiting for its turn: number {} in line, needs {}, {} of {} is free{}":
    "排队等待：第 {1} 位；需要 {2}，共 {4}，空闲 {3}{5+}",
  "waiting for its turn: number {} in line": "排队等待：第 {1} 位",
  'waiting for its PodGroup: there is none named "{}" in namespace {}':
    "等待 PodGroup：项目 {2} 中没有名为“{1}”的 PodGroup",
  "waiting for pods: {} of {} are there, and no more than {} come: spec.members is below minMember":
    "等待 Pod：共需 {2} 个，已有 {1} 个；spec.members 只有 {3}，小于 minMember",
  'waiting for pods of role "{}": {} of {} are there':
    "等待角色 {1} 的 Pod：共需 {3} 个，已有 {2} 个",
  "waiting for pods: {} of {} are there": "等待 Pod：共需 {2} 个，已有 {1} 个",
  "waiting for nodes that are not ready": "等待未就绪的节点恢复",
  "waiting for node {}, which is not ready": "等待节点 {1} 就绪",
  "waiting for nodes that are not ready: {} and {} more": "等待节点就绪：{1}、另外 {2} 个节点",
  "waiting for {} of its own pods to stop": "等待自己的 {1} 个 Pod 停止",
  "{} or more are in line before it": "前面至少有 {1} 个",
  "number {} in line": "第 {1} 位",
  "waiting again: {}; {} of its own pods {} still stopping":
    "重新排队：{1+}；自己的 {2} 个 Pod 仍在停止",
  "waiting again: {}; {} of its pods {} not created yet": "重新排队：{1+}；{2} 个 Pod 尚未重新创建",
  'there is no queue "{}" in namespace {}: make it (muster queue create {})':
    "队列“{1}”不存在：可用 muster queue create {3} 创建",
  'namespace {} may not use queue "{}": its namespaceSelector does not select it':
    "项目 {1} 无权使用队列“{2}”：其 namespaceSelector 没有选中该项目",
  'queue "{}" is closed: nothing new is started until it is opened (muster queue open {})':
    "队列“{1}”已关闭：可用 muster queue open {2} 打开",
  // core/tensorboard.c
  "{} of the claim {}": "{1+} 位于 PVC {2}",
  "{} not exist: {}. It starts once the program that writes the event files has created the folder.":
    "{1+}不存在：{2}。目录由写入事件文件的程序创建，出现后即启动。",
  "Its folder does": "日志目录",
  "None of its folders does": "各日志目录都",
  "tensorboard is not installed on this machine: pip install tensorboard, so that it is in the PATH or the virtual environment of muster up; it is looked for again every few minutes. Curves need none: muster board {}, or the Training tab of the console.":
    "本机没有安装 tensorboard：请运行 pip install tensorboard，使其位于 muster up 的 PATH 或虚拟环境中；每隔几分钟会再次查找。查看曲线不需要它：运行 muster board {1}，或打开“训练曲线”页。",
  "{} exited; it is being restarted.": "{1} 自行结束，将重新启动。",
  "{}; retrying.": "{1+}；将重试。",
  "The pod is being created.": "正在创建 Pod。",
  "Its {} is refused: {}": "它的 {1} 被拒绝创建：{2}",
  "{} is starting and does not answer yet.": "{1} 正在启动，尚未响应。",
  "Every port for pods is taken.": "可供 Pod 使用的端口已全部占用。",
  "It is suspended; setting spec.suspend to false starts it again.":
    "已挂起；将 spec.suspend 设为 false 即可重新启动。",
  "It is suspended: {}; setting spec.suspend to false starts it again.":
    "已挂起：{1+}；将 spec.suspend 设为 false 即可重新启动。",
  "It has not been used for {}: its pod was removed. Opening it starts it again.":
    "{1} 无人使用：其 Pod 已移除，打开它即可重新启动。",
  "{} {} already exists and belongs to another object.": "已有 {1} {2}，但不属于它。",
  "{} answers.": "{1} 已响应。",
  "JupyterLab is not installed on this machine: muster notebook --setup gets it from PyPI, or pip install jupyterlab, so that jupyter-lab is in the PATH or the virtual environment of muster up. It is looked for again every few minutes; pausing and resuming looks at once.":
    "本机没有安装 JupyterLab：muster notebook --setup 会从 PyPI 安装；也可以 pip install jupyterlab，使 jupyter-lab 位于 muster up 的 PATH 或虚拟环境中。每隔几分钟会再查找一次；暂停后恢复会立即查找。",
  "Another program had taken its port; retrying with another one.":
    "其端口已被其他程序占用；将换一个端口重试。",
  "On a cluster a Notebook has no ssh server: use its terminal, kubectl exec, or kubectl port-forward to one that the image starts.":
    "在集群上 Notebook 没有 SSH 服务：请使用其终端、kubectl exec，或用 kubectl port-forward 连接镜像自带的 SSH 服务。",
  "There is no ssh server on this machine: install sshd (Debian: openssh-server), then pause and resume the Notebook.":
    "本机没有 SSH 服务程序：请安装 sshd（Debian 上为 openssh-server），然后暂停并恢复 Notebook。",
  "The Secrets in spec.ssh.authorized_keys contain no public key: create them, then pause and resume the Notebook.":
    "spec.ssh.authorized_keys 所列的 Secret 中没有公钥：请创建后暂停并恢复 Notebook。",
  "The machine's sshd cannot be used; the log of the container ssh-setup says why.":
    "无法使用本机的 sshd：原因见容器 ssh-setup 的日志。",
  "The Notebook does not run.": "Notebook 没有运行。",
  "Its ssh server is on port {} of 127.0.0.1.{}": "其 SSH 服务位于 127.0.0.1 的端口 {1}。{2}",
  "Keys of these Secrets are not accepted, as an account that may not use kubectl exec in this pod wrote them: {}. Check them, run `kubectl annotate secret {} muster.dev/writer-enters-`, then pause and resume the Notebook.":
    "这些 Secret 中的公钥未被接受，因为写入者无权在此 Pod 中使用 kubectl exec：{1}。请检查后运行 `kubectl annotate secret {2} muster.dev/writer-enters-`，然后暂停并恢复 Notebook。",
  "waits for the programs of pod {}/{}, which may use the same GPUs and ports: {}":
    "等待 Pod {1}/{2} 的程序结束，它们可能占用相同的 GPU 和端口：{3}",
  "It has not been used for {}.": "{1} 内无人使用。",
  "It is never idle here.": "此处从不视为闲置。",
  "Its use is not observed here.": "此处无法得知它是否被使用。",
  "It is suspended.": "已挂起。",
  "It was used within the last {}.": "最近 {1} 内有人使用。",
  "spec.suspend is true.": "spec.suspend 为 true。",
  "spec.suspend is not true.": "spec.suspend 不为 true。",
  // agent
  'claim "{}" is the folder {}, which belongs to {} (mode {}): user {} may not write there':
    "PVC“{1}”是目录 {2}，属于 {3}（权限 {4}）：用户 {5} 不能写入",
  'in claim "{}" user {} may not write what {} made ({}); chmod -R a+rwX lets all users of the claim':
    "在 PVC“{1}”中，用户 {2} 不能写入 {3} 创建的内容（{4}）；chmod -R a+rwX 让使用该 PVC 的所有用户都能写入",
  'claim "{}" of namespace {} is the empty folder {}': "项目 {2} 的 PVC“{1}”是空目录 {3+}",
  "; --volume maps it in namespace {}": "；--volume 在项目 {1} 中映射了它",
  'Usage of EmptyDir volume "{}" exceeds the limit "{}"': "EmptyDir 卷“{1}”的用量超过上限 {2}",
  'Container {} exceeded its local ephemeral storage limit "{}"':
    "容器 {1} 超过了其临时存储上限 {2}",
  "Pod ephemeral local storage usage exceeds the total limit of containers {}":
    "Pod 的临时存储用量超过了各容器上限之和 {1}",
  "{} is {} in container {}, from {}: set it in env to change it":
    "容器 {3} 的 {1} 为 {2}，依据{4}：可在 env 中另行设置",
  "no command: the pod runs without its image; give command or args, or runtimeClassName: image":
    "没有命令：此 Pod 不在镜像中运行，请填写 command 或 args，或设置 runtimeClassName: image",
  'Pulling image "{}"': "正在拉取镜像 {1}",
  'pulling image "{}"': "正在拉取镜像 {1}",
  'pulling image "{}": {} of {} layers, {} of {} MB': "正在拉取镜像 {1}：{2}/{3} 层，{4}/{5} MB",
  'waiting to pull image "{}": another image is being pulled':
    "等待拉取镜像 {1}：正在拉取另一个镜像",
  'unpacking image "{}"': "正在解压镜像 {1}",
  'Successfully pulled image "{}" in {}s': "已拉取镜像 {1}，用时 {2} 秒",
  'Failed to pull image "{}": {}': "拉取镜像 {1} 失败：{2}",
  'image "{}" is gone again': "镜像 {1} 又被删除了",
  "Back-off pulling image: {}": "稍后重试拉取镜像：{1+}",
  'Container image "{}" is not present with pull policy of Never':
    "镜像 {1} 不在本机，而拉取策略为 Never",
  "too many containers": "容器太多",
  "no containers": "没有容器",
  "the pod was started before, but nothing of it is left on this machine":
    "此 Pod 曾经启动，但本机上已没有它的任何痕迹",
  "Stopping the pod's programs": "正在停止 Pod 中的程序",
  "Started container {} as process {}": "已启动容器 {1}（进程 {2}）",
  "the database is older than it and does not know it: it goes on, and new pods wait for it; 'kill {}' ends it":
    "数据库比它旧，不认识它：它继续运行，新的 Pod 等待它结束；“kill {1}”可结束它",
  "Started ephemeral container {}": "已启动临时容器 {1}",
  "Ephemeral container {}: {}": "临时容器 {1}：{2}",
  'the schedule "{}" names no time of the next five years': "计划“{1}”在未来五年内没有对应的时间",
  "The pod sees muster's own folder and all of the machine's devices and kernel settings: {}":
    "Pod 能看到 muster 自身的目录以及本机的全部设备和内核设置：{1}",
  "The pod's limits are measured but not enforced: {}": "只测量、不强制执行 Pod 的资源上限：{1}",
  "No token for service account {}: {}": "无法取得服务账号 {1} 的令牌：{2}",
  "The Service named by MASTER_ADDR did not appear; started without it":
    "MASTER_ADDR 所指的 Service 没有出现，已在没有它的情况下启动",
  "The image is not pulled: the program runs with this machine's own software":
    "不拉取镜像：程序使用本机已安装的软件运行",
  "Container {} is privileged, but gets no more rights than user {} has, as whom muster runs":
    "容器 {1} 设为特权容器，但 muster 以用户 {2} 运行，不会有更多权限",
  "Capabilities added to container {} count only inside the pod's own user namespace, if at all: muster runs as user {}":
    "容器 {1} 增加的 capabilities 至多只在 Pod 自己的用户命名空间内有效：muster 以用户 {2} 运行",
  "its CPU limit": "其 CPU 上限",
  "the CPU it asks for": "其 CPU 请求量",
  "the machine's cores for each of {} replicas": "本机 CPU 核数除以 {1} 个副本",
  "the machine's cores": "本机 CPU 核数",
  "{}, divided by {} processes": "{1+}除以 {2} 个进程",
  'PersistentVolumeClaim "{}" did not exist and was created; its files are in {}':
    "PersistentVolumeClaim “{1}”原先不存在，已自动创建；其文件在 {2}",
  'persistentvolumeclaim "{}" not found': "找不到 PersistentVolumeClaim “{1}”",
  // runtime
  "{} bytes of its log could not be written": "其日志有 {1} 字节未能写入",
  "back-off {}s restarting failed container={}": "容器 {2} 失败，{1} 秒后重启",
  "the program's supervisors were killed; how it ended is unknown":
    "监管进程被杀死，程序如何结束无从得知",
  "Container {} failed {}": "容器 {1} 未通过 {2+}",
  ", will be restarted": "，将重启",
  "startup probe": "启动探测",
  "liveness probe": "存活探测",
  "{} probe failed: {}": "{1} 探测失败：{2}",
  "{} of container {} failed: {}": "容器 {2} 的 {1} 失败：{3}",
  "it did not end in its grace period": "未在宽限期内结束",
  'cannot enter working directory "{}": {}': "无法进入工作目录“{1}”：{2}",
  "cannot enter the container's control group: {}": "无法进入容器的 cgroup：{1}",
  'command "{}" not found in PATH ({})': "在 PATH（{2}）中找不到命令“{1}”",
  'cannot start "{}": {}': "无法启动“{1}”：{2}",
  'cannot run command "{}": {}': "无法运行命令“{1}”：{2}",
  "its cgroup's oom_kill went from {} to {}": "其 cgroup 的 oom_kill 从 {1} 增至 {2}",
  "likely for lack of memory: the machine's oom_kill went from {} to {} meanwhile":
    "可能是内存不足：本机的 oom_kill 在此期间从 {1} 增至 {2}",
  "not for lack of memory: the kernel counts no such kill":
    "不是因为内存不足：内核没有记录此类终止",
  "the machine's memory": "本机的内存",
  "ran out of memory: {}": "内存不足：{1}",
  "{}a process it had started ran out of memory: {}": "{1+}其启动的进程内存不足：{2}",
  // server: what a pod is refused for
  "exceeded quota: {}, requested: {}={}, used: {}={}, limited: {}={}":
    "超出配额 {1}：请求 {2}={3}，已用 {4}={5}，上限 {6}={7}",
  "{} {} usage per Container is {}, but {} is {}": "每个容器的 {2} {1}为 {3}，而此处为{5}",
  maximum: "最多",
  minimum: "最少",
  "not given": "未设置",
};
