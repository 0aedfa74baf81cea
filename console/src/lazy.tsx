// Pages that come when they are first wanted.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "./data/api.ts";
import { link } from "./data/stream.ts";
import { Loading, Problem } from "./ui/notice.tsx";

export function lazy<P extends object>(
  load: () => Promise<{ default: ComponentType<P> }>,
): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [failure, setFailure] = useState<Error | null>(null);
    const [, again] = useState(0);
    const fetchIt = (): void => {
      setFailure(null);
      load().then(
        (module) => {
          loaded = module.default;
          again((n) => n + 1);
        },
        (error: Error) => setFailure(new Failure(error.message, 0, "Unreachable")),
      );
    };
    useEffect(() => {
      if (!loaded) fetchIt();
    }, []);
    useEffect(() => {
      if (failure && link.value === "live") fetchIt();
    }, [link.value]);
    if (loaded) {
      const Page = loaded;
      return <Page {...props} />;
    }
    return failure ? <Problem failure={failure} onRetry={fetchIt} /> : <Loading />;
  };
}
