// The API's own schema of a kind, fetched once.
import { get } from "../data/api.ts";
import type { JobKind } from "../data/kinds.ts";
import type { Resolve, Schema } from "./check.ts";

export interface KindSchema {
  schema: Schema;
  resolve: Resolve;
}

const kept = new Map<string, Promise<KindSchema | null>>();

async function load(kind: Pick<JobKind, "group" | "version" | "kind">): Promise<KindSchema | null> {
  const document = await get<{ components?: { schemas?: Record<string, Schema> } }>(
    `/openapi/v3/apis/${kind.group}/${kind.version}`,
  );
  const schemas = document.components?.schemas ?? {};
  const schema = Object.values(schemas).find((one) =>
    one["x-kubernetes-group-version-kind"]?.some(
      (gvk) => gvk.kind === kind.kind && gvk.group === kind.group,
    ),
  );
  return schema ? { schema, resolve: (ref) => schemas[ref.slice(ref.lastIndexOf("/") + 1)] } : null;
}

/** null: the server has none; then only the server itself can tell what is wrong. */
export function schemaOf(
  kind: Pick<JobKind, "group" | "version" | "kind">,
): Promise<KindSchema | null> {
  const key = `${kind.group}/${kind.version}/${kind.kind}`;
  let one = kept.get(key);
  if (!one) {
    one = load(kind).catch(() => {
      kept.delete(key);
      return null;
    });
    kept.set(key, one);
  }
  return one;
}
