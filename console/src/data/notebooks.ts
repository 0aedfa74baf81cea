// Notebooks, as the API has them.
import type { KubeObject } from "./types.ts";

export interface Notebook extends KubeObject {
  spec?: {
    suspend?: boolean;
    template?: { spec?: { volumes?: { persistentVolumeClaim?: { claimName: string } }[] } };
  };
  status?: { phase?: string; url?: string; message?: string };
}
