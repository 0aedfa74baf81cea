// Programs with a page of their own behind the console's proxy.
import type { Kind } from "./kinds.ts";
import type { Condition, KubeObject } from "./types.ts";

export interface App extends KubeObject {
  spec?: { suspend?: boolean };
  status?: {
    phase?: string;
    url?: string;
    message?: string;
    pod?: { reference?: { name?: string } };
    ssh?: { port?: number; serviceName?: string };
    conditions?: Condition[];
  };
}

/** "/notebook/NAMESPACE/NAME/". */
export function appHref(kind: Kind, app: App): string {
  const { namespace = "default", name } = app.metadata;
  return `/${kind.kind.toLowerCase()}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/`;
}

/** What the console has to say of it. */
export function appPage(kind: Kind, app: App): string {
  const { namespace = "default", name } = app.metadata;
  return `/${kind.plural}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}
