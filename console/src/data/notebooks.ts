// Notebooks, as the API has them.
import type { App } from "./apps.ts";

export interface Notebook extends App {
  spec?: {
    suspend?: boolean;
    template?: { spec?: { volumes?: { persistentVolumeClaim?: { claimName: string } }[] } };
  };
}
