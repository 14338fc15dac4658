/** Keeps the focus in the list of threads when the row that has it moves to another section, or leaves. */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { focusWhenThere } from "../../app/focus.ts";
import type { Section } from "../../state/threads.ts";

/** Follows the rows below an element. A row that is made anew, as in another section, would take the focus out of the page. */
export function useKeptFocus(list: RefObject<HTMLElement | null>, sections: readonly Section[]): void {
  const before = useRef<readonly string[]>([]);
  // Before the rows change.
  const focused = list.current?.contains(document.activeElement)
    ? document.activeElement?.closest<HTMLElement>("[data-thread]")?.dataset.thread
    : undefined;
  useLayoutEffect(() => {
    const now = sections.flatMap(({ threads }) => threads.map(({ id }) => id));
    const order = before.current;
    before.current = now;
    if (focused !== undefined && document.activeElement === document.body) {
      const to = heir(order, now, focused);
      if (to !== undefined) {
        // A long list may render the row a moment later.
        focusWhenThere(`.side-list [data-thread="${CSS.escape(to)}"] [data-rove]`);
      }
    }
  });
}

/** Returns the thread itself if it is still there, else the next one that is, else the one before. */
export function heir(before: readonly string[], now: readonly string[], id: string): string | undefined {
  const left = new Set(now);
  const at = before.indexOf(id);
  return [id, ...before.slice(at + 1)].find((one) => left.has(one)) ?? before.slice(0, Math.max(at, 0)).findLast((one) => left.has(one));
}
