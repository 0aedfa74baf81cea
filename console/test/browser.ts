// What modules under test want of a browser when they are loaded: as little as will do.
const kept = new Map<string, string>();
const anything = { addEventListener() {}, removeEventListener() {}, subscribe() {} };
Object.assign(globalThis, {
  localStorage: {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
  },
  sessionStorage: { clear() {} },
  document: {
    documentElement: { lang: "", dataset: {} },
    hidden: false,
    querySelector: () => null,
    ...anything,
  },
  window: {
    location: { pathname: "/", search: "", host: "", protocol: "http:" },
    matchMedia: () => ({ matches: false, ...anything }),
    ...anything,
  },
});
if (!("navigator" in globalThis)) Object.assign(globalThis, { navigator: { language: "en" } });
// Timers of modules must not keep the test from ending.
const every = globalThis.setInterval;
globalThis.setInterval = ((...args: Parameters<typeof every>) => {
  const timer = every(...args);
  (timer as unknown as { unref(): void }).unref();
  return timer;
}) as typeof every;
export {};
