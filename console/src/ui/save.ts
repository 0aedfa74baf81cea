// Files for the user's downloads: a plain link to the server would not show the session's key.
import { request } from "../data/api.ts";
import { tc } from "../i18n/index.ts";
import { toast } from "./toast.tsx";

/** Saves the result of make as a file; shows an error when it fails. */
export async function saveAs(name: string, make: () => Promise<Blob>): Promise<void> {
  try {
    const url = URL.createObjectURL(await make());
    Object.assign(document.createElement("a"), { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  } catch (error) {
    toast(tc("requestFailed", { message: (error as Error).message }), { kind: "error" });
  }
}

export function savePath(name: string, path: string): void {
  void saveAs(name, async () => (await request(path, { headers: { Accept: "*/*" } })).blob());
}
