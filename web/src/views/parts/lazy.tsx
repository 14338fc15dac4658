/** Views whose code is loaded when they are first shown. */

import type { ComponentType, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

import { toast } from "../../app/toasts.ts";
import { sentence } from "../../connection/connection.ts";

export interface LazyView<P> {
  (props: P): VNode | null;
  /** Loads the code before it is needed. */
  preload(): void;
}

/** Time after which views that will probably be shown are loaded, in milliseconds. */
const PRELOAD_MS = 2_000;

/** Returns whether the page has been there for a while: what is rarely needed can be loaded and shown then. */
export function useLater(): boolean {
  const [later, setLater] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLater(true), PRELOAD_MS);
    return () => clearTimeout(timer);
  }, []);
  return later;
}

/** Loads the code of views that will probably be shown, soon after the calling view. */
export function usePreload(...views: readonly Pick<LazyView<never>, "preload">[]): void {
  useEffect(() => {
    const timer = setTimeout(() => views.forEach((view) => view.preload()), PRELOAD_MS);
    return () => clearTimeout(timer);
  }, []);
}

/** Returns a view that loads its code when it is first shown, and shows another one until then. */
export function lazy<P extends object = object>(
  load: () => Promise<{ default: ComponentType<P> }>,
  Meanwhile?: ComponentType<P>,
): LazyView<P> {
  let View: ComponentType<P> | undefined;
  let loading: Promise<void> | undefined;
  const begin = () => {
    loading ??= load().then(
      (loaded) => {
        View = loaded.default;
      },
      (error: unknown) => {
        loading = undefined;
        throw error;
      },
    );
    return loading;
  };
  function Lazy(props: P) {
    const [loaded, setLoaded] = useState(View !== undefined);
    useEffect(() => {
      let over = false;
      if (!loaded) {
        // The code may have arrived since the rendering. Then this resolves at once.
        begin().then(
          () => over || setLoaded(true),
          // The daemon is unreachable, or has been updated and has other files.
          (error: unknown) => toast(`Couldn’t load this view. Reload the page. (${sentence(error)})`, { kind: "error" }),
        );
      }
      return () => void (over = true);
    }, []);
    return View ? <View {...props} /> : Meanwhile ? <Meanwhile {...props} /> : null;
  }
  return Object.assign(Lazy, { preload: () => void begin().catch(() => {}) });
}
