// The key of this browser's session. It is kept where only pages of this origin find it, port
// included, and shown with each request; a browser sends nothing by itself. All tabs have the same:
// one that signs in or out tells the others.
import { signal } from "@preact/signals";

const PLACE = "muster-session";

/** Set when nobody is signed in: the frame then shows the login. */
export const signedOut = signal(false);

export function key(): string {
  return localStorage.getItem(PLACE) ?? "";
}

export function setKey(value: string): void {
  if (value) localStorage.setItem(PLACE, value);
  else localStorage.removeItem(PLACE);
  signedOut.value = !value;
}

/** The server does not know this key: unless another has taken its place meanwhile, nobody is
 * signed in. */
export function keyRefused(refused: string): void {
  if (key() === refused) setKey("");
}

/** As the subprotocols of a WebSocket, which cannot have a header. */
export function withKey(protocols: string[]): string[] {
  return [
    ...protocols,
    `base64url.bearer.authorization.k8s.io.${btoa(key()).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`,
  ];
}

window.addEventListener("storage", (event) => {
  if (event.key !== PLACE && event.key !== null) return;
  signedOut.value = !key();
});
