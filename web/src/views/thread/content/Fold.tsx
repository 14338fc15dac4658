// Something that can be opened. What is inside is drawn only while it is open.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { useThread } from "./context.ts";
import { Icon } from "./Icon.tsx";

export interface FoldProps {
  /** By which it is remembered whether a person opened or shut it. */
  id: string;
  summary: ComponentChildren;
  /** Whether it is open as long as nobody has said otherwise. */
  open?: boolean;
  class?: string;
  children: ComponentChildren | (() => ComponentChildren);
}

export function Fold({ id, summary, open: usual = false, class: extra = "", children }: FoldProps) {
  const { folds } = useThread();
  const [chosen, choose] = useState(() => folds.get(id));
  const open = chosen ?? usual;
  const toggled = (event: Event) => {
    const now = (event.currentTarget as HTMLDetailsElement).open;
    // The event also comes when the page itself opens or shuts it.
    if (now === open) return;
    folds.set(id, now);
    choose(now);
  };
  return (
    <details class={`th-fold ${extra}`} open={open} onToggle={toggled}>
      <summary class="th-summary">
        <span class="th-chevron">
          <Icon name="chevron" />
        </span>
        {summary}
      </summary>
      {open && (typeof children === "function" ? children() : children)}
    </details>
  );
}
