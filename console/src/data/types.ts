// The shape of what the API gives, as far as the console reads it. Everything may be missing:
// objects come from users.
export interface Meta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: {
    apiVersion: string;
    kind: string;
    name: string;
    uid: string;
    controller?: boolean;
  }[];
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: Meta;
}

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
}

export interface Resources {
  requests?: Record<string, string>;
  limits?: Record<string, string>;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: unknown;
}

export interface Container {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  env?: EnvVar[];
  resources?: Resources;
  volumeMounts?: { name: string; mountPath: string; subPath?: string; readOnly?: boolean }[];
}

export interface Volume {
  name: string;
  persistentVolumeClaim?: { claimName: string };
  emptyDir?: { medium?: string; sizeLimit?: string };
  [other: string]: unknown;
}

export interface PodSpec {
  containers?: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
  nodeName?: string;
  restartPolicy?: string;
  runtimeClassName?: string;
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: {
    exitCode: number;
    signal?: number;
    reason?: string;
    message?: string;
    startedAt?: string;
    finishedAt?: string;
  };
}

export interface Pod extends KubeObject {
  spec?: PodSpec;
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    startTime?: string;
    podIP?: string;
    conditions?: Condition[];
    containerStatuses?: {
      name: string;
      ready: boolean;
      restartCount: number;
      state?: ContainerState;
      lastState?: ContainerState;
    }[];
  };
}

export interface ReplicaSpec {
  type: string;
  replicas?: number;
  restartPolicy?: string | { policy?: string; limit?: number };
  template?: { metadata?: Partial<Meta>; spec?: PodSpec };
}

export interface ReplicaStatus {
  name?: string;
  uid?: string;
  index?: number;
  phase?: string;
  reason?: string;
  message?: string;
  containers?: unknown[];
  [other: string]: unknown;
}

export interface Progress {
  step?: number;
  loss?: number | string; // "NaN" and the infinities are words
  stepsPerSecond?: number;
  fraction?: number;
  secondsLeft?: number;
  message?: string;
  time?: string;
}

/** status.failure of a job: which replica failed and how. */
export interface JobFailure {
  replica: string;
  exitCode?: number;
  container?: string;
  reason?: string;
  message?: string;
  follower?: string;
  others?: number;
  restartPolicy?: string;
  restartLimit?: number;
  restartSeconds?: number;
}

export interface Job extends KubeObject {
  spec?: {
    replicaSpecs?: ReplicaSpec[];
    runMode?: {
      debug?: { enabled?: boolean };
      pause?: { enabled?: boolean; resumeSpecs?: unknown[] };
    };
    runPolicy?: Record<string, unknown>;
    scheduler?: { t9kScheduler?: { queue?: string; priority?: number } };
    tensorboardSpec?: unknown;
    mpiConfig?: {
      script?: string[];
      home?: string;
      mca?: Record<string, string>;
      extraArgs?: string[];
    };
    [other: string]: unknown;
  };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    startTime?: string;
    completionTime?: string;
    queue?: string;
    place?: number;
    backoffCount?: number;
    /** In runs that were interrupted before startTime. */
    ranSeconds?: number;
    interruptions?: {
      reason?: string;
      startTime?: string;
      stopTime?: string;
      resumeTime?: string;
    }[];
    conditions?: Condition[];
    tasks?: { type: string; replicas?: ReplicaStatus[] }[];
    aggregate?: Record<string, number>;
    tensorboard?: { name?: string; [other: string]: unknown };
    failure?: JobFailure;
    progress?: Progress;
    [other: string]: unknown;
  };
}

export interface Event extends KubeObject {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  firstTimestamp?: string;
  lastTimestamp?: string;
  eventTime?: string;
  involvedObject: { kind?: string; namespace?: string; name?: string; uid?: string };
}

export interface Node extends KubeObject {
  spec?: { unschedulable?: boolean };
  status?: {
    capacity?: Record<string, string>;
    allocatable?: Record<string, string>;
    conditions?: Condition[];
    nodeInfo?: Record<string, string>;
  };
}

export interface Queue extends KubeObject {
  spec?: {
    priority?: number;
    closed?: boolean;
    preemptible?: boolean;
    maxDuration?: string;
    quota?: { requests?: Record<string, string> };
  };
  status?: { allocated?: Record<string, string>; conditions?: Condition[] };
}

export interface PodGroup extends KubeObject {
  spec?: { queue?: string; priority?: number; minMember?: number };
  status?: {
    phase?: string;
    message?: string;
    reason?: string;
    place?: number;
    conditions?: Condition[];
  };
}

export interface StatusCause {
  field?: string;
  message?: string;
  reason?: string;
}

export interface Status {
  kind: "Status";
  status?: string;
  reason?: string;
  message?: string;
  code?: number;
  details?: {
    kind?: string;
    name?: string;
    causes?: StatusCause[];
  };
}
