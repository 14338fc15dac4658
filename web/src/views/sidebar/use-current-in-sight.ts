/** Brings the row of the open thread into sight when the thread is opened. */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Time in which the row of a thread that was opened may appear and move to its group, in milliseconds. */
const APPEARS_MS = 5_000;
/** Distance of a row that was brought into sight from the edge of the list, in pixels. */
const EDGE = 8;
/** What users do with a list. From then on, it is where they want it. */
const TAKEN_OVER = ["wheel", "touchstart", "pointerdown", "keydown"];

/** Follows the thread that is open. A new thread's row comes after its view, and moves when its turn begins. */
export function useCurrentInSight(list: RefObject<HTMLElement | null>, current: string | undefined): void {
  const wanted = useRef<{ readonly id: string | undefined; until: number }>({ id: undefined, until: 0 });
  const heard = useRef<HTMLElement | undefined>(undefined);
  if (wanted.current.id !== current) {
    wanted.current = { id: current, until: performance.now() + APPEARS_MS };
  }
  useLayoutEffect(() => {
    if (current === undefined || performance.now() > wanted.current.until) {
      return;
    }
    const row = list.current?.querySelector<HTMLElement>(`[data-thread="${CSS.escape(current)}"]`);
    const scroller = row?.closest<HTMLElement>(".side-list");
    if (!row || !scroller) {
      return;
    }
    if (heard.current !== scroller) {
      heard.current = scroller;
      // It lives as long as its listeners.
      TAKEN_OVER.forEach((type) => scroller.addEventListener(type, () => (wanted.current.until = 0), { passive: true }));
    }
    // Not `scrollIntoView`: it would also scroll the page to a drawer that is out of the window.
    const [inner, outer] = [row.getBoundingClientRect(), scroller.getBoundingClientRect()];
    if (inner.top < outer.top) {
      scroller.scrollTop -= outer.top - inner.top + EDGE;
    } else if (inner.bottom > outer.bottom) {
      scroller.scrollTop += inner.bottom - outer.bottom + EDGE;
    }
  });
}
