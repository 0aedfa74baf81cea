// Programs with a page of their own behind the console's proxy.
import type { Kind } from "./kinds.ts";
import type { KubeObject } from "./types.ts";

export interface App extends KubeObject {
  spec?: { suspend?: boolean };
  status?: { phase?: string; url?: string; message?: string };
}

/** "/notebook/NAMESPACE/NAME/". */
export function appHref(kind: Kind, app: App): string {
  const { namespace = "default", name } = app.metadata;
  return `/${kind.kind.toLowerCase()}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/`;
}
