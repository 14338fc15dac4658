/** Selects the rows of a long list that are rendered. All rows of a long list have the same height. */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Up to this number of rows, all are rendered. */
export const FEW = 60;
/** Rows that are rendered before and after the visible ones. The window moves in steps of half as many. */
const MARGIN = 20;
/** Height of a row before one was measured, in pixels. */
const ESTIMATE = 52;

interface RowWindow {
  /** The indexes of the rendered rows, in order. */
  readonly shown: readonly number[];
  readonly height: number;
}

/** Follows the scroll position of the list around the rows. The row `keep` is always rendered. `version` is new if rows changed. */
export function useRowWindow(rows: RefObject<HTMLElement | null>, count: number, keep: number, version: unknown): RowWindow {
  const [range, setRange] = useState<readonly [first: number, last: number]>([0, FEW]);
  const height = useRef(ESTIMATE);
  const look = () => {
    const list = rows.current;
    const scroller = list?.closest<HTMLElement>(".side-list");
    if (!list || !scroller || count <= FEW) {
      return;
    }
    const measured = list.querySelector(".row")?.getBoundingClientRect().height || ESTIMATE;
    // Rows differ by fractions of a pixel, which must not move the window.
    if (Math.abs(measured - height.current) > 1) {
      height.current = measured;
    }
    const top = (scroller.getBoundingClientRect().top - list.getBoundingClientRect().top) / height.current;
    const step = MARGIN / 2;
    const first = Math.floor(top / step) * step - MARGIN;
    const last = first + Math.ceil(scroller.clientHeight / height.current / step) * step + 2 * MARGIN + step;
    setRange((before) => (before[0] === first && before[1] === last ? before : [first, last]));
  };
  const latest = useRef(look);
  latest.current = look;
  // Sections above may have grown. Not after a change of the window itself, which could go on for ever.
  useLayoutEffect(look, [version]);
  useEffect(() => {
    const scroller = rows.current?.closest<HTMLElement>(".side-list");
    if (!scroller || count <= FEW) {
      return;
    }
    const onScroll = () => latest.current();
    scroller.addEventListener("scroll", onScroll, { passive: true });
    const observer = new ResizeObserver(onScroll);
    observer.observe(scroller);
    return () => {
      scroller.removeEventListener("scroll", onScroll);
      observer.disconnect();
    };
  }, [count > FEW]);
  return { shown: indexes(count, count <= FEW ? [0, count] : range, keep), height: height.current };
}

/** Returns the indexes of a range that exist, and `keep`, in order. */
export function indexes(count: number, [first, last]: readonly [first: number, last: number], keep: number): number[] {
  const [from, to] = [Math.max(0, Math.min(first, count)), Math.max(0, Math.min(count, last))];
  const shown = Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);
  if (keep < 0 || keep >= count || (keep >= from && keep < to)) {
    return shown;
  }
  return keep < from ? [keep, ...shown] : [...shown, keep];
}
