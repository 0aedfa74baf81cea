// Each state has a silhouette of its own, so that neither colour nor sharp eyes are needed.
import {
  CircleCheck,
  CircleQuestionMark,
  Hourglass,
  LoaderCircle,
  OctagonX,
  Pause,
  Play,
  Square,
  TriangleAlert,
} from "lucide";
import type { IconNode } from "lucide";
import type { State } from "../lib/state.ts";

export const STATE_ICON: Record<State, IconNode> = {
  queued: Hourglass,
  starting: LoaderCircle,
  running: Play,
  paused: Pause,
  succeeded: CircleCheck,
  failed: OctagonX,
  stopped: Square,
  unknown: CircleQuestionMark,
};

/** It succeeded, but not all of it. */
export const WARN_ICON = TriangleAlert;
