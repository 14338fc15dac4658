/** A view whose code is loaded when it is first shown. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import { sentence } from "../../connection/connection.ts";
import { toast } from "../../app/toasts.ts";

interface Props<P> {
  load: () => Promise<{ default: ComponentType<P> }>;
  /** The props of the view. */
  with?: P;
}

export function Lazy<P extends object>({ load, with: props }: Props<P>) {
  const [View, setView] = useState<ComponentType<P>>();
  useEffect(() => {
    let over = false;
    load().then(
      (loaded) => over || setView(() => loaded.default),
      // The daemon is unreachable, or has been updated and has other files.
      (error: unknown) => toast(`Could not load this view. Reload the page. (${sentence(error)})`, { kind: "error" }),
    );
    return () => void (over = true);
  }, []);
  return View ? <View {...(props ?? ({} as P))} /> : null;
}
