/** Brings the row of the open thread into sight, once, when the thread is opened. */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Time in which the row of a thread that was opened may appear, in milliseconds. Later, the user has scrolled on. */
const APPEARS_MS = 5_000;
/** Distance of a row that was brought into sight from the edge of the list, in pixels. */
const EDGE = 8;

/** Follows the thread that is open. A new thread's row comes after its view. */
export function useCurrentInSight(list: RefObject<HTMLElement | null>, current: string | undefined): void {
  const wanted = useRef<{ readonly id: string | undefined; readonly until: number }>({ id: undefined, until: 0 });
  const done = useRef<string | undefined>(undefined);
  if (wanted.current.id !== current) {
    wanted.current = { id: current, until: performance.now() + APPEARS_MS };
    done.current = undefined;
  }
  useLayoutEffect(() => {
    if (current === undefined || done.current === current || performance.now() > wanted.current.until) {
      return;
    }
    const row = list.current?.querySelector<HTMLElement>(`[data-thread="${CSS.escape(current)}"]`);
    const scroller = row?.closest<HTMLElement>(".side-list");
    if (!row || !scroller) {
      return;
    }
    done.current = current;
    // Not `scrollIntoView`: it would also scroll the page to a drawer that is out of the window.
    const [inner, outer] = [row.getBoundingClientRect(), scroller.getBoundingClientRect()];
    if (inner.top < outer.top) {
      scroller.scrollTop -= outer.top - inner.top + EDGE;
    } else if (inner.bottom > outer.bottom) {
      scroller.scrollTop += inner.bottom - outer.bottom + EDGE;
    }
  });
}
