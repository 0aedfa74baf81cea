// Addresses of log folders: t9k://pvc/NAME/path. Pure.

export function fileset(claim: string, path: string): string {
  return `t9k://pvc/${claim}/${path.replace(/^\/+/, "")}`;
}
