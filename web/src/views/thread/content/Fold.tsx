// A collapsible section. Its content is rendered only while it is open.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

import { useThread } from "./context.ts";
import { Icon } from "./Icon.tsx";

export interface FoldProps {
  /** The key under which the user's choice is remembered. */
  id: string;
  summary: ComponentChildren;
  /** Whether it is open by default. */
  open?: boolean;
  class?: string;
  /** Whether its content is long, so that the list makes room for it when the user opens it. */
  reveals?: boolean;
  children: ComponentChildren | (() => ComponentChildren);
}

export function Fold({ id, summary, open: usual = false, class: extra = "", reveals = false, children }: FoldProps) {
  const { folds, target, following } = useThread();
  const [chosen, choose] = useState(() => folds.get(id));
  const reading = useReading(usual, following);
  const open = chosen ?? (reading || id === target);
  const toggled = (event: Event) => {
    const now = (event.currentTarget as HTMLDetailsElement).open;
    // The event also fires when the page itself opens or closes it.
    if (now === open) return;
    folds.set(id, now);
    choose(now);
  };
  return (
    <details class={`th-fold ${extra}`} open={open} onToggle={toggled}>
      <summary class="th-summary" data-reveals={reveals || undefined}>
        <Chevron />
        {summary}
      </summary>
      {open && (typeof children === "function" ? children() : children)}
    </details>
  );
}

export function Chevron() {
  return (
    <span class="th-chevron">
      <Icon name="chevron" />
    </span>
  );
}

/** Returns whether the default is to be open. What was open stays open if the user may be reading it. */
function useReading(usual: boolean, following: { readonly current: boolean } | undefined): boolean {
  const before = useRef({ usual, kept: false });
  if (before.current.usual !== usual) {
    before.current = { usual, kept: !usual && following?.current === false };
  }
  return usual || before.current.kept;
}
