/** A long list of which only what is seen is in the page. (The real one is being written; this has its props.) */

import type { ComponentChildren } from "preact";

export interface VirtualProps<T> {
  items: readonly T[];
  /** Stable over the life of the list. */
  keyOf: (item: T) => string;
  /** Guess of an item's height in pixels before it was seen. */
  estimate: (item: T) => number;
  render: (item: T) => ComponentChildren;
  /** For screen readers. */
  label: string;
  /** There is more before the first item; called when the person comes near it. */
  onNearStart?: () => void;
}

export function Virtual<T>({ items, keyOf, render, label }: VirtualProps<T>) {
  return (
    <div role="feed" aria-label={label} tabIndex={0}>
      {items.map((item) => (
        <div key={keyOf(item)}>{render(item)}</div>
      ))}
    </div>
  );
}
