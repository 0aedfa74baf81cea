// Polls what has no watch, as long as the page is visible.
import { useEffect, useState } from "preact/hooks";

/** The newest answer; null before the first, and after one that failed the one before. `key`: what is
 * asked for; another one starts anew. */
export function usePolled<T>(key: string, everyMs: number, ask: () => Promise<T>): T | null {
  const [answer, setAnswer] = useState<{ key: string; value: T } | null>(null);
  useEffect(() => {
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      try {
        const value = await ask();
        if (!ended) setAnswer({ key, value });
      } catch {
        /* nobody measures there, or not now: what was known stays */
      }
      if (!ended) later();
    };
    const later = (): void => {
      timer = setTimeout(() => void (document.hidden ? later() : look()), everyMs);
    };
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [key]);
  return answer?.key === key ? answer.value : null;
}
